/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-file.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ow-error.h"

typedef struct {
  char *dir;
} Fixture;

static void
set_up (Fixture       *f,
        gconstpointer  data)
{
  f->dir = g_dir_make_tmp ("ow-file-XXXXXX", NULL);
  g_assert_nonnull (f->dir);
}

static void
tear_down (Fixture       *f,
           gconstpointer  data)
{
  g_autoptr (GError) error = NULL;

  ow_file_remove_tree (f->dir, &error);
  g_assert_no_error (error);
  g_assert_false (g_file_test (f->dir, G_FILE_TEST_EXISTS));
  g_free (f->dir);
}

static char *
in (Fixture    *f,
    const char *name)
{
  return g_build_filename (f->dir, name, NULL);
}

static void
put (const char *path,
     const char *text)
{
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
test_read (Fixture       *f,
           gconstpointer  data)
{
  g_autofree char *path = in (f, "a");
  g_autofree char *fifo = in (f, "fifo");
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) error = NULL;

  put (path, "12345");
  bytes = ow_file_read (path, 5, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), "12345", 5);

  g_assert_null (ow_file_read (path, 4, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
  g_clear_error (&error);

  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  g_assert_null (ow_file_read (fifo, 100, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
  g_clear_error (&error);

  g_assert_null (ow_file_read (f->dir, 100, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
  g_assert_null (ow_file_read ("/dev/zero", 100, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
}

static void
test_write (Fixture       *f,
            gconstpointer  data)
{
  g_autofree char *path = in (f, "a");
  g_autofree char *link = in (f, "link");
  g_autoptr (GBytes) one = g_bytes_new_static ("one", 3);
  g_autoptr (GBytes) two = g_bytes_new_static ("two", 3);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  struct stat st;
  GDir *dir;
  guint n = 0;

  g_assert_true (ow_file_write_atomic (path, one, 0640, &error));
  g_assert_no_error (error);
  g_assert_cmpint (g_lstat (path, &st), ==, 0);
  g_assert_cmpint (st.st_mode & 07777, ==, 0640);

  /* An existing file keeps its mode, a link stays a link. */
  g_assert_cmpint (symlink ("a", link), ==, 0);
  g_assert_true (ow_file_write_atomic (link, two, 0600, &error));
  g_assert_no_error (error);
  g_assert_cmpint (g_lstat (link, &st), ==, 0);
  g_assert_true (S_ISLNK (st.st_mode));
  g_assert_cmpint (g_lstat (path, &st), ==, 0);
  g_assert_cmpint (st.st_mode & 07777, ==, 0640);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "two");

  g_assert_false (ow_file_write_atomic (f->dir, one, 0600, &error));
  g_assert_nonnull (error);

  dir = g_dir_open (f->dir, 0, NULL);
  while (g_dir_read_name (dir) != NULL)
    n++;
  g_dir_close (dir);
  g_assert_cmpuint (n, ==, 2);
}

static guint
count_names (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

/* A file is replaced only while it is what it was. */
static void
test_replace (Fixture       *f,
              gconstpointer  data)
{
  g_autofree char *path = in (f, "a");
  g_autofree char *link = in (f, "link");
  g_autoptr (GBytes) old = g_bytes_new_static ("a = 1\n", 6);
  g_autoptr (GBytes) same_size = g_bytes_new_static ("a = 2\n", 6);
  g_autoptr (GBytes) content = g_bytes_new_static ("a = 3\n", 6);
  g_autoptr (GBytes) longer = g_bytes_new_static ("a = 3\n#", 7);
  const struct {
    GBytes   *old;
    gboolean  done;
  } rows[] = { { old, FALSE }, { NULL, FALSE }, { longer, FALSE }, { same_size, TRUE } };
  gboolean changed;
  struct stat st;

  put (path, "a = 2\n");
  g_assert_cmpint (symlink ("a", link), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *now = NULL;

      g_assert_cmpint (ow_file_replace (link, rows[i].old, content, 0600, &changed, &error), ==,
                       rows[i].done);
      g_assert_cmpint (changed, !=, rows[i].done);
      g_assert_cmpint (error == NULL, ==, rows[i].done);
      g_assert_true (g_file_get_contents (path, &now, NULL, NULL));
      g_assert_cmpstr (now, ==, rows[i].done ? "a = 3\n" : "a = 2\n");
      g_assert_cmpuint (count_names (f->dir), ==, 2);
    }
  g_assert_true (g_file_test (link, G_FILE_TEST_IS_SYMLINK));

  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_false (ow_file_replace (path, content, old, 0600, &changed, NULL));
  g_assert_true (changed);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  g_assert_true (ow_file_replace (path, NULL, content, 0640, &changed, NULL));
  g_assert_cmpint (stat (path, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 0777, ==, 0640);
}

/* A rename asks for rights to the directory alone, so the file's own are looked at. */
static void
test_replace_rights (Fixture       *f,
                     gconstpointer  data)
{
  g_autofree char *path = in (f, "a");
  g_autoptr (GBytes) old = g_bytes_new_static ("1", 1);
  g_autoptr (GBytes) content = g_bytes_new_static ("2", 1);
  g_autoptr (GError) error = NULL;
  gboolean changed;
  struct stat st;

  put (path, "1");
  g_assert_cmpint (g_chmod (path, 0444), ==, 0);
  g_assert_false (ow_file_replace (path, old, content, 0600, &changed, &error));
  g_assert_false (changed);
  g_assert_nonnull (strstr (error->message, "Permission denied"));
  g_assert_cmpint (g_chmod (path, 0640), ==, 0);
  if (geteuid () == 0)
    g_assert_cmpint (chown (path, 65534, 65533), ==, 0);
  g_assert_true (ow_file_replace (path, old, content, 0600, &changed, NULL));
  g_assert_cmpint (stat (path, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 0777, ==, 0640);
  g_assert_cmpuint (st.st_uid, ==, geteuid () == 0 ? 65534 : geteuid ());
  g_assert_cmpuint (st.st_gid, ==, geteuid () == 0 ? 65533 : getegid ());
}

/* Links out of the tree are removed, what they point to is not. */
static void
test_remove_links (Fixture       *f,
                   gconstpointer  data)
{
  g_autofree char *tree = in (f, "tree");
  g_autofree char *sub = in (f, "tree/sub");
  g_autofree char *keep = in (f, "keep");
  g_autofree char *kept = in (f, "keep/file");
  g_autofree char *link = in (f, "tree/sub/out");
  g_autofree char *top = in (f, "top");
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (g_mkdir_with_parents (sub, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (keep, 0700), ==, 0);
  put (kept, "x");
  g_assert_cmpint (symlink (keep, link), ==, 0);
  g_assert_cmpint (g_chmod (sub, 0500), ==, 0);
  g_assert_true (ow_file_remove_tree (tree, &error));
  g_assert_no_error (error);
  g_assert_false (g_file_test (tree, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (kept, G_FILE_TEST_EXISTS));

  g_assert_cmpint (symlink (keep, top), ==, 0);
  g_assert_false (ow_file_remove_tree (top, &error));
  g_assert_nonnull (error);
  g_assert_true (g_file_test (kept, G_FILE_TEST_EXISTS));
  g_clear_error (&error);

  g_assert_true (ow_file_remove_tree (tree, &error));
  g_assert_no_error (error);
}

static void
test_remove_deep (Fixture       *f,
                  gconstpointer  data)
{
  g_autofree char *tree = in (f, "deep");
  g_autoptr (GError) error = NULL;
  int fd, next;

  g_assert_cmpint (g_mkdir (tree, 0700), ==, 0);
  fd = open (tree, O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 10000; i++)
    {
      g_assert_cmpint (mkdirat (fd, "d", 0700), ==, 0);
      next = openat (fd, "d", O_RDONLY | O_DIRECTORY);
      g_assert_cmpint (next, >=, 0);
      close (fd);
      fd = next;
      if (i % 100 == 0)
        close (openat (fd, "file", O_CREAT | O_WRONLY, 0600));
    }
  close (fd);

  g_assert_true (ow_file_remove_tree (tree, &error));
  g_assert_no_error (error);
  g_assert_false (g_file_test (tree, G_FILE_TEST_EXISTS));
}

/* As an ordinary user: folders that their owner may not read, enter or change. */
static int
remove_without_modes (const char *dir)
{
  static const mode_t modes[] = { 0, 0100, 0400, 0500, 0555, 0200 };
  g_autofree char *tree = g_build_filename (dir, "tree", NULL);

  if (geteuid () == 0 && (setgroups (0, NULL) < 0 || setresgid (65534, 65534, 65534) < 0 ||
                          setresuid (65534, 65534, 65534) < 0))
    return 77;
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    for (gsize k = 0; k < G_N_ELEMENTS (modes); k++)
      {
        g_autofree char *outer = g_strdup_printf ("%s/%zu-%zu", tree, i, k);
        g_autofree char *inner = g_build_filename (outer, "in", NULL);
        g_autofree char *file = g_build_filename (inner, "file", NULL);

        if (g_mkdir_with_parents (inner, 0700) < 0 || !g_file_set_contents (file, "x", 1, NULL) ||
            chmod (file, 0) < 0 || chmod (inner, modes[k]) < 0 || chmod (outer, modes[i]) < 0)
          return 1;
      }
  if (chmod (tree, 0) < 0 || !ow_file_remove_tree (tree, NULL))
    return 2;
  return access (tree, F_OK) < 0 ? 0 : 3;
}

static void
test_remove_modes (Fixture       *f,
                   gconstpointer  data)
{
  int status;
  pid_t pid;

  g_assert_cmpint (g_chmod (f->dir, 0777), ==, 0);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    _exit (remove_without_modes (f->dir));
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
}

/* In a child with mounts of its own: a folder bound into the tree, and one bound over
 * the tree itself, keep their content. */
static int
remove_with_mounts (const char *tree,
                    const char *sub,
                    const char *keep,
                    const char *kept)
{
  if (unshare (CLONE_NEWNS) < 0 || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
    return 77;
  if (mount (keep, sub, NULL, MS_BIND, NULL) < 0)
    return 77;
  if (ow_file_remove_tree (tree, NULL) || access (kept, F_OK) < 0)
    return 1;
  umount (sub);
  if (mount (keep, tree, NULL, MS_BIND, NULL) < 0)
    return 77;
  if (ow_file_remove_tree (tree, NULL) || access (kept, F_OK) < 0)
    return 2;
  return 0;
}

static void
test_remove_mounts (Fixture       *f,
                    gconstpointer  data)
{
  g_autofree char *tree = in (f, "tree");
  g_autofree char *sub = in (f, "tree/sub");
  g_autofree char *keep = in (f, "keep");
  g_autofree char *kept = in (f, "keep/file");
  int status;
  pid_t pid;

  g_assert_cmpint (g_mkdir_with_parents (sub, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (keep, 0700), ==, 0);
  put (kept, "x");

  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    _exit (remove_with_mounts (tree, sub, keep, kept));
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  if (WEXITSTATUS (status) == 77)
    {
      g_test_skip ("no mount namespace for this user");
      return;
    }
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add ("/file/read", Fixture, NULL, set_up, test_read, tear_down);
  g_test_add ("/file/write", Fixture, NULL, set_up, test_write, tear_down);
  g_test_add ("/file/R04/replace", Fixture, NULL, set_up, test_replace, tear_down);
  g_test_add ("/file/R04/rights", Fixture, NULL, set_up, test_replace_rights, tear_down);
  g_test_add ("/file/remove/links", Fixture, NULL, set_up, test_remove_links, tear_down);
  g_test_add ("/file/remove/deep", Fixture, NULL, set_up, test_remove_deep, tear_down);
  g_test_add ("/file/remove/modes", Fixture, NULL, set_up, test_remove_modes, tear_down);
  g_test_add ("/file/remove/mounts", Fixture, NULL, set_up, test_remove_mounts, tear_down);

  return g_test_run ();
}
