/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-change-private.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "config-fixture.h"

#define TABLE(n) "[[models]]\nname = \"" n "\"\nprovider = \"openai\"\nmodel = \"m\"\n" \
  "base_url = \"http://127.0.0.1:1/v1\"\n"

static void
assert_holds (const char *path,
              const char *wanted)
{
  g_autofree char *content = NULL;

  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  g_assert_cmpstr (content, ==, wanted);
}

static gboolean
add (const char  *path,
     const char  *name,
     GError     **error)
{
  const OwModelSettings settings = {
    .name = (char *) name, .provider = (char *) "openai", .model = (char *) "m",
    .base_url = (char *) "http://127.0.0.1:1/v1",
  };

  return ow_config_add_model (path, &settings, error);
}

static void
assert_refused (const char *path,
                const char *says)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (add (path, "new", &error));
  g_assert_nonnull (error);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, says));
  g_assert_nonnull (strstr (error->message, path));
}

/* Values come back as they were given, whatever is in them. */
static void
test_quoting (Fixture       *f,
              gconstpointer  data)
{
  g_autofree char *backslashes = g_strnfill (256, '\\');
  const char * const models[] = {
    "a\"b", "a\\b", "\\", "\"", "a'b", "'''", "\"\"\"", "#", "]", "a # b", "\xc3\xa9/\xe4\xbd\xa0",
    "\\u0041", "org/model:70b@q4", " x ", backslashes,
  };

  for (guint form = 0; form < 2; form++)
    {
      g_autoptr (OwConfig) config = NULL;

      config_put (f->path, form == 0 ? "" : "models = []", -1);
      for (guint i = 0; i < G_N_ELEMENTS (models); i++)
        {
          g_autofree char *name = g_strdup_printf ("m%u", i);
          const OwModelSettings settings = {
            name, (char *) "openai", (char *) models[i], (char *) "https://a.example",
            (char *) "/etc/ \"ca\".pem", (char *) "",
          };
          g_autoptr (GError) error = NULL;

          ow_config_add_model (f->path, &settings, &error);
          g_assert_no_error (error);
        }
      config = ow_config_load (f->path, NULL);
      g_assert_nonnull (config);
      g_assert_cmpuint (ow_config_get_models (config)->len, ==, G_N_ELEMENTS (models));
      for (guint i = 0; i < G_N_ELEMENTS (models); i++)
        {
          const OwModelSettings *read = g_ptr_array_index (ow_config_get_models (config), i);

          g_assert_cmpstr (read->model, ==, models[i]);
          g_assert_cmpstr (read->ca_file, ==, "/etc/ \"ca\".pem");
          g_assert_cmpstr (read->proxy, ==, "");
        }
    }
}

static void
test_text_values (Fixture       *f,
                  gconstpointer  data)
{
  g_autoptr (GError) error = NULL;

  config_put (f->path, "a = 1\n", -1);
  g_assert_true (ow_config_change_text (f->path, "x", "\x01\t\n\r\x7f\"\\\xc3\xa9", &error));
  g_assert_no_error (error);
  assert_holds (f->path, "a = 1\nx = \"\\u0001\\u0009\\u000A\\u000D\\u007F\\\"\\\\\xc3\xa9\"\n");

  /* A setting that would stop the machine is not written. */
  g_assert_false (ow_config_change_text (f->path, "sandbox_provider", "none", &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "\"none\""));
  assert_holds (f->path, "a = 1\nx = \"\\u0001\\u0009\\u000A\\u000D\\u007F\\\"\\\\\xc3\xa9\"\n");

  /* Nor is one over what is no text. */
  g_clear_error (&error);
  g_assert_false (ow_config_change_text (f->path, "a", "x", &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "line 1"));
}

static void
test_values (Fixture       *f,
             gconstpointer  data)
{
  static const struct {
    const char *fields[6];
    const char *says;
  } rows[] = {
    { { NULL, "openai", "m", "http://a", NULL, NULL }, "a model needs name" },
    { { "a", NULL, "m", "http://a", NULL, NULL }, "a model needs provider" },
    { { "a", "openai", NULL, "http://a", NULL, NULL }, "a model needs model" },
    { { "a", "openai", "m", NULL, NULL, NULL }, "a model needs base_url" },
    { { "Upper", "openai", "m", "http://a", NULL, NULL }, "lower case" },
    { { "a\n", "openai", "m", "http://a", NULL, NULL }, "lower case" },
    { { "a", "other", "m", "http://a", NULL, NULL }, "it can be \"openai\"" },
    { { "a", "openai", "m\nx", "http://a", NULL, NULL }, "printable" },
    { { "a", "openai", "\xff", "http://a", NULL, NULL }, "printable" },
    { { "a", "openai", "m", "ftp://a", NULL, NULL }, "http:// or https://" },
    { { "a", "openai", "m", "http://u:secret@a", NULL, NULL }, "keyring" },
    { { "a", "openai", "m", "http://a", "ca.pem", NULL }, "whole path" },
    { { "a", "openai", "m", "http://a", NULL, "http://u:secret@p:1" }, "keyring" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const char * const *v = rows[i].fields;
      const OwModelSettings settings = {
        (char *) v[0], (char *) v[1], (char *) v[2], (char *) v[3], (char *) v[4], (char *) v[5],
      };
      g_autoptr (GError) error = NULL;

      g_assert_false (ow_config_add_model (f->path, &settings, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, rows[i].says));
      g_assert_null (strstr (error->message, "secret"));
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      g_assert_false (g_file_test (f->path, G_FILE_TEST_EXISTS));
    }
}

static mode_t
mode_of (const char *path)
{
  struct stat st;

  g_assert_cmpint (lstat (path, &st), ==, 0);
  return st.st_mode & 07777;
}

static void
test_new_file (Fixture       *f,
               gconstpointer  data)
{
  g_autofree char *dir = g_build_filename (f->dir, "a", "b", NULL);
  g_autofree char *path = g_build_filename (dir, "config.toml", NULL);
  g_autofree char *backup = g_strconcat (path, ".bak", NULL);
  g_autoptr (GError) error = NULL;
  mode_t mask = umask (0);

  g_assert_false (ow_config_remove_model (path, "old", &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
  g_assert_false (g_file_test (dir, G_FILE_TEST_EXISTS));

  g_assert_true (add (path, "new", NULL));
  assert_holds (path, TABLE ("new"));
  g_assert_cmpuint (mode_of (path), ==, 0600);
  g_assert_cmpuint (mode_of (dir), ==, 0700);
  g_assert_false (g_file_test (backup, G_FILE_TEST_EXISTS));
  umask (mask);
}

static void
test_mode_and_owner (Fixture       *f,
                     gconstpointer  data)
{
  static const mode_t modes[] = { 0600, 0640, 0644, 0664, 0700 };
  struct stat st;

  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      config_put (f->path, "a = 1\n", -1);
      g_assert_cmpint (g_chmod (f->path, modes[i]), ==, 0);
      g_assert_true (add (f->path, "new", NULL));
      g_assert_cmpuint (mode_of (f->path), ==, modes[i]);
      g_assert_cmpuint (mode_of (f->backup), ==, modes[i]);
    }
  if (geteuid () != 0)
    return;

  g_assert_cmpint (chown (f->path, 65534, 65533), ==, 0);
  g_assert_true (add (f->path, "second", NULL));
  g_assert_cmpint (stat (f->path, &st), ==, 0);
  g_assert_cmpuint (st.st_uid, ==, 65534);
  g_assert_cmpuint (st.st_gid, ==, 65533);
}

/* A link is followed once, to what it is then; it stays a link. */
static void
test_link (Fixture       *f,
           gconstpointer  data)
{
  g_autofree char *dir = g_build_filename (f->dir, "dotfiles", NULL);
  g_autofree char *target = g_build_filename (dir, "my.toml", NULL);
  g_autofree char *other = g_build_filename (f->dir, "other", NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *read = NULL;

  g_assert_cmpint (g_mkdir (dir, 0755), ==, 0);
  config_put (target, "a = 1\n", -1);
  g_assert_cmpint (g_chmod (target, 0640), ==, 0);
  g_assert_cmpint (symlink ("dotfiles/my.toml", f->path), ==, 0);
  config_put (other, "keep", -1);
  /* What bears the backup's name is replaced, never written through. */
  g_assert_cmpint (symlink ("other", f->backup), ==, 0);

  g_assert_true (add (f->path, "new", &error));
  g_assert_no_error (error);
  assert_holds (target, "a = 1\n\n" TABLE ("new"));
  g_assert_cmpuint (mode_of (target), ==, 0640);
  read = g_file_read_link (f->path, NULL);
  g_assert_cmpstr (read, ==, "dotfiles/my.toml");
  g_assert_false (g_file_test (f->backup, G_FILE_TEST_IS_SYMLINK));
  assert_holds (f->backup, "a = 1\n");
  assert_holds (other, "keep");

  g_assert_cmpint (g_unlink (target), ==, 0);
  assert_refused (f->path, "No such file");
  g_assert_false (g_file_test (target, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (f->path, G_FILE_TEST_IS_SYMLINK));
}

static void
test_read_only (Fixture       *f,
                gconstpointer  data)
{
  g_autofree char *big = g_strnfill (1024 * 1024 - 20, '#');

  config_put (f->path, "a = 1\n", -1);
  g_assert_cmpint (g_chmod (f->path, 0400), ==, 0);
  assert_refused (f->path, "Permission denied");
  assert_holds (f->path, "a = 1\n");
  g_assert_cmpuint (mode_of (f->path), ==, 0400);
  g_assert_cmpint (g_chmod (f->path, 0600), ==, 0);

  config_put (f->path, big, -1);
  assert_refused (f->path, "by hand");
  assert_holds (f->path, big);
  g_assert_cmpint (g_unlink (f->path), ==, 0);

  g_assert_cmpint (mkfifo (f->path, 0600), ==, 0);
  assert_refused (f->path, "not a regular file");
  g_assert_cmpint (g_unlink (f->path), ==, 0);
  g_assert_cmpint (g_mkdir (f->path, 0700), ==, 0);
  assert_refused (f->path, "not a regular file");
}

static void
fill (const char *path,
      guint       blocks)
{
  static const char block[4096] = "x";
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

  g_assert_cmpint (fd, >=, 0);
  for (guint i = 0; i < blocks && write (fd, block, sizeof block) == sizeof block; i++)
    continue;
  close (fd);
}

static void
assert_nothing_left (const char *path)
{
  g_autoptr (GDir) names = g_dir_open (path, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (names)) != NULL)
    g_assert_false (g_str_has_suffix (name, ".tmp"));
}

/* No room for the backup, then for it alone: the old file is whole, and nothing is left. */
static void
try_on_small_disk (Fixture    *f,
                   const char *old)
{
  g_autofree char *filler = g_build_filename (f->dir, "filler", NULL);
  const guint blocks = 1024 / 4;
  const guint file = 60000 / 4096 + 1;

  if (unshare (CLONE_NEWNS) < 0 || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
      mount ("tmpfs", f->dir, "tmpfs", 0, "size=1m,mode=0700") < 0)
    _exit (2);

  config_put (f->path, old, -1);
  for (guint room = 0; room < 2 * file; room += file)
    {
      fill (filler, blocks - file - room - (room > 0 ? 2 : 0));
      assert_refused (f->path, "No space left");
      assert_holds (f->path, old);
      assert_nothing_left (f->dir);
      g_assert_cmpint (g_file_test (f->backup, G_FILE_TEST_EXISTS), ==, room > 0);
    }
  fill (filler, 10);
  _exit (add (f->path, "new", NULL) ? 0 : 3);
}

/* An account that may not mount has a limit on the size of files instead. */
static void
try_with_limit (Fixture    *f,
                const char *old)
{
  const struct rlimit limit = { 4096, 4096 };

  config_put (f->path, old, -1);
  signal (SIGXFSZ, SIG_IGN);
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  assert_refused (f->path, "File too large");
  assert_holds (f->path, old);
  assert_nothing_left (f->dir);
  _exit (0);
}

static void
test_full_disk (Fixture       *f,
                gconstpointer  data)
{
  g_autofree char *old = g_strnfill (60000, '#');
  int status = 0;
  pid_t pid;

  g_assert_cmpint (fflush (stdout), ==, 0);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0 && geteuid () == 0)
    try_on_small_disk (f, old);
  else if (pid == 0)
    try_with_limit (f, old);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
}

#define WRITERS 4
#define EACH    20

static void
write_models (const char *path,
              guint       writer)
{
  for (guint i = 0; i < EACH; i++)
    {
      g_autofree char *name = g_strdup_printf ("w%u-%u", writer, i);

      if (!add (path, name, NULL) ||
          (i % 4 == 3 && !ow_config_remove_model (path, name, NULL)))
        _exit (1);
    }
  _exit (0);
}

/* Several of ours at once: each change is there in the end. */
static void
test_at_once (Fixture       *f,
              gconstpointer  data)
{
  g_autoptr (OwConfig) config = NULL;
  pid_t pids[WRITERS];

  config_put (f->path, "# first\r\n", -1);
  for (guint w = 0; w < WRITERS; w++)
    {
      pids[w] = fork ();
      g_assert_cmpint (pids[w], >=, 0);
      if (pids[w] == 0)
        write_models (f->path, w);
    }
  for (guint w = 0; w < WRITERS; w++)
    {
      int status;

      g_assert_cmpint (waitpid (pids[w], &status, 0), ==, pids[w]);
      g_assert_cmpint (status, ==, 0);
    }
  config = ow_config_load (f->path, NULL);
  g_assert_nonnull (config);
  g_assert_cmpuint (ow_config_get_models (config)->len, ==, WRITERS * EACH * 3 / 4);
}

/* Runs this program to add a model, and stops it between its reading and its replacing. */
static pid_t
start_adding (Fixture *f)
{
  pid_t pid = fork ();
  int status;

  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      g_setenv ("OPENWORKER_TEST_STATE", "config-backed-up", TRUE);
      execl ("/proc/self/exe", "test", "--add", f->path, NULL);
      _exit (9);
    }
  g_assert_cmpint (waitpid (pid, &status, WUNTRACED), ==, pid);
  g_assert_true (WIFSTOPPED (status));
  return pid;
}

/* Lets it go on, also where it stops again; its exit status. */
static int
go_on (pid_t pid)
{
  int status;

  do
    {
      g_assert_cmpint (kill (pid, SIGCONT), ==, 0);
      g_assert_cmpint (waitpid (pid, &status, WUNTRACED), ==, pid);
    }
  while (WIFSTOPPED (status));
  g_assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

/* What another program writes while a change is being made is not lost: the change is made
 * again on it. Where the model is there then, or the file is broken, it is refused. */
static void
test_foreign_writer (Fixture       *f,
                     gconstpointer  data)
{
  static const struct {
    const char *before;
    const char *meanwhile;
    const char *after;  /* NULL: as it is then */
  } rows[] = {
    { "a = 1\n", "a = 2\n", "a = 2\n\n" TABLE ("new") },
    { "a = 1\n", "a = 1\nb = 2\n", "a = 1\nb = 2\n\n" TABLE ("new") },
    { "a = 1\n", "", TABLE ("new") },
    { NULL, "a = 1\n", "a = 1\n\n" TABLE ("new") },
    { "a = 1\n", TABLE ("new"), NULL },
    { "a = 1\n", "a = \n", NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      pid_t pid;

      g_unlink (f->path);
      if (rows[i].before != NULL)
        config_put (f->path, rows[i].before, -1);
      pid = start_adding (f);
      config_put (f->path, rows[i].meanwhile, -1);
      g_assert_cmpint (go_on (pid), ==, rows[i].after != NULL ? 0 : 1);
      assert_holds (f->path, rows[i].after != NULL ? rows[i].after : rows[i].meanwhile);
    }
}

/* One that never stops writing is said to be there. */
static void
test_endless_writer (Fixture       *f,
                     gconstpointer  data)
{
  pid_t pid;
  int status;

  config_put (f->path, "a = 0\n", -1);
  pid = start_adding (f);
  for (guint i = 1; i < 100; i++)
    {
      g_autofree char *text = g_strdup_printf ("a = %u\n", i);

      config_put (f->path, text, -1);
      g_assert_cmpint (kill (pid, SIGCONT), ==, 0);
      g_assert_cmpint (waitpid (pid, &status, WUNTRACED), ==, pid);
      if (!WIFSTOPPED (status))
        {
          assert_holds (f->path, text);
          break;
        }
    }
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 1);
}

/* Killed in the middle: the file is as it was, and the next one is not held up. */
static void
test_killed (Fixture       *f,
             gconstpointer  data)
{
  pid_t pid;

  config_put (f->path, "a = 1\n", -1);
  pid = start_adding (f);
  g_assert_cmpint (kill (pid, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);
  assert_holds (f->path, "a = 1\n");
  g_assert_true (add (f->path, "new", NULL));
  assert_holds (f->path, "a = 1\n\n" TABLE ("new"));
}

/* Who holds the lock and does not let go is waited for, and not for ever. */
static void
test_lock (Fixture       *f,
           gconstpointer  data)
{
  int fd = open (f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  gint64 begin = g_get_monotonic_time ();

  config_put (f->path, "a = 1\n", -1);
  g_assert_cmpint (flock (fd, LOCK_EX), ==, 0);
  assert_refused (f->path, "another program");
  g_assert_cmpint (g_get_monotonic_time () - begin, <, 60 * G_USEC_PER_SEC);
  assert_holds (f->path, "a = 1\n");
  close (fd);
  g_assert_true (add (f->path, "new", NULL));
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, config_set_up, func, config_tear_down)

int
main (int   argc,
      char *argv[])
{
  if (argc == 3 && strcmp (argv[1], "--add") == 0)
    return add (argv[2], "new", NULL) ? 0 : 1;

  g_test_init (&argc, &argv, NULL);

  ADD ("/config/R04/quoting", test_quoting);
  ADD ("/config/R04/text-values", test_text_values);
  ADD ("/config/R04/values", test_values);
  ADD ("/config/R04/new-file", test_new_file);
  ADD ("/config/R04/mode-and-owner", test_mode_and_owner);
  ADD ("/config/R04/link", test_link);
  ADD ("/config/R04/read-only", test_read_only);
  ADD ("/config/R04/full-disk", test_full_disk);
  ADD ("/config/R04/at-once", test_at_once);
  ADD ("/config/R04/foreign-writer", test_foreign_writer);
  ADD ("/config/R04/endless-writer", test_endless_writer);
  ADD ("/config/R04/killed", test_killed);
  ADD ("/config/R04/lock", test_lock);

  return g_test_run ();
}
