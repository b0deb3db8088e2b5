/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "ow-mount-table-private.h"
#include "sandbox/ow-folder.h"

/* A home with what REQ-W12 names, made anew for each test. HOME is the same all the time:
 * GLib asks for it once. */
static char *top;

typedef struct {
  char *dir;
  char *home;
} Fixture;

static const char * const made[] = {
  ".config/coworker/sandbox-runtime", ".local/share/coworker", ".local/state/coworker/registry",
  ".ssh/keys", ".gnupg/private-keys-v1.d", ".config/systemd/user", ".config/autostart",
  ".config/openshell/gateways", "work/sub", "work2", "Documents", ".configuration", ".sshd",
};

static void
set_up (Fixture      *fixture,
        gconstpointer data)
{
  fixture->dir = g_build_filename (top, "all", NULL);
  fixture->home = g_build_filename (fixture->dir, "people", "ann", NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (made); i++)
    {
      g_autofree char *path = g_build_filename (fixture->home, made[i], NULL);

      g_assert_cmpint (g_mkdir_with_parents (path, 0700), ==, 0);
    }
  g_unsetenv ("DOCKER_HOST");
  g_unsetenv ("OPENWORKER_LIBEXEC");
}

static void
tear_down (Fixture      *fixture,
           gconstpointer data)
{
  g_assert_true (ow_file_remove_tree (fixture->dir, NULL));
  g_free (fixture->dir);
  g_free (fixture->home);
}

static void
assert_refused_text (const char *text,
                     int         kind)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwFolder) folder = ow_folder_open (text, &error);

  if (folder != NULL)
    g_error ("%s was not refused", text);
  g_assert_error (error, OW_ERROR, kind);
}

static void
assert_refused (const char *base,
                const char *name)
{
  g_autofree char *path = g_build_filename (base, name, NULL);
  g_autofree char *read_only = g_strconcat (path, ":ro", NULL);

  assert_refused_text (path, OW_ERROR_REFUSED);
  assert_refused_text (read_only, OW_ERROR_REFUSED);
}

static OwFolder *
open_allowed (const char *base,
              const char *name)
{
  g_autofree char *path = g_build_filename (base, name, NULL);
  g_autoptr (GError) error = NULL;
  OwFolder *folder = ow_folder_open (path, &error);

  g_assert_no_error (error);
  return folder;
}

static void
assert_allowed (const char *base,
                const char *name)
{
  g_autoptr (OwFolder) folder = open_allowed (base, name);

  g_assert_true (ow_folder_check (folder, NULL));
}

static const char * const refused_in_home[] = {
  "", ".config", ".local", ".local/share", ".local/state", ".config/coworker",
  ".config/coworker/sandbox-runtime", ".local/share/coworker", ".local/state/coworker",
  ".local/state/coworker/registry", ".ssh", ".ssh/keys", ".gnupg", ".gnupg/private-keys-v1.d",
  ".config/systemd", ".config/systemd/user", ".config/autostart", ".config/openshell",
  ".config/openshell/gateways", "work/..", "work/../.ssh", ".ssh/", "./.ssh/.", "work2/../.config//",
};

static void
test_home (Fixture      *fixture,
           gconstpointer data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (refused_in_home); i++)
    assert_refused (fixture->home, refused_in_home[i]);
  assert_refused (fixture->dir, "");
  assert_refused (fixture->dir, "people");
  assert_allowed (fixture->home, "work");
  assert_allowed (fixture->home, "work/sub");
  assert_allowed (fixture->home, "Documents");
  /* Names that only begin like a forbidden one. */
  assert_allowed (fixture->home, ".configuration");
  assert_allowed (fixture->home, ".sshd");
}

static const char * const refused_in_system[] = {
  "/", "/etc", "/etc/ssl", "/usr", "/usr/share", "/boot", "/proc", "/proc/self", "/proc/self/root",
  "/proc/self/cwd", "/sys", "/dev", "/dev/shm", "/run", "/var/run", "/var", "/bin", "/lib", "/sbin",
  "//", "/./", "/home/..", "/opt/openworker",
};

static void
test_system (Fixture      *fixture,
             gconstpointer data)
{
  g_assert_cmpint (chdir ("/"), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (refused_in_system); i++)
    if (g_file_test (refused_in_system[i], G_FILE_TEST_IS_DIR))
      assert_refused (refused_in_system[i], NULL);
}

/* What does not exist yet may be made later: its parents are refused all the same. */
static void
test_missing (Fixture      *fixture,
              gconstpointer data)
{
  g_autofree char *config = g_build_filename (fixture->home, ".config", NULL);
  g_autofree char *local = g_build_filename (fixture->home, ".local", NULL);

  g_assert_true (ow_file_remove_tree (config, NULL));
  g_assert_true (ow_file_remove_tree (local, NULL));
  g_assert_cmpint (mkdir (config, 0700), ==, 0);
  assert_refused (fixture->home, ".config");
  assert_refused (fixture->home, "");
  assert_refused (fixture->dir, "people");
}

static void
test_links (Fixture      *fixture,
            gconstpointer data)
{
  g_autofree char *ssh = g_build_filename (fixture->home, ".ssh", NULL);
  g_autofree char *link = g_build_filename (fixture->home, "work", "link", NULL);
  g_autofree char *chain = g_build_filename (fixture->home, "work", "chain", NULL);
  g_autofree char *moved = g_build_filename (fixture->home, "Documents", "keys", NULL);

  g_assert_cmpint (symlink ("../.ssh", link), ==, 0);
  g_assert_cmpint (symlink ("link/keys", chain), ==, 0);
  assert_refused (fixture->home, "work/link");
  assert_refused (fixture->home, "work/chain");
  /* And the other way round: the forbidden name is a link to somewhere harmless. */
  g_assert_cmpint (rename (ssh, moved), ==, 0);
  g_assert_cmpint (symlink (moved, ssh), ==, 0);
  assert_refused (fixture->home, "Documents/keys");
  assert_refused (fixture->home, "Documents");
  assert_refused (fixture->home, "Documents/keys/keys");
  assert_allowed (fixture->home, "work");
}

/* Our settings may be a link into a folder of the person's. */
static void
test_linked_file (Fixture      *fixture,
                  gconstpointer data)
{
  g_autofree char *real = g_build_filename (fixture->home, "work", "dotfiles.toml", NULL);
  g_autofree char *link = g_build_filename (fixture->home, ".config/coworker/config.toml", NULL);

  assert_allowed (fixture->home, "work");
  g_assert_true (g_file_set_contents (real, "", 0, NULL));
  g_assert_cmpint (symlink (real, link), ==, 0);
  assert_refused (fixture->home, "work");
  assert_allowed (fixture->home, "work/sub");
}

static void
bind_mount (const char *from_base,
            const char *from,
            const char *to_base,
            const char *to)
{
  g_autofree char *source = g_build_filename (from_base, from, NULL);
  g_autofree char *target = g_build_filename (to_base, to, NULL);

  g_assert_cmpint (mount (source, target, NULL, MS_BIND, NULL), ==, 0);
}

static void
look_through_binds (Fixture *fixture)
{
  g_autoptr (OwFolder) before = open_allowed (fixture->home, "work");
  g_autofree char *proc = g_build_filename (fixture->home, "work2", NULL);

  /* Of a forbidden folder itself, of what lies in it, and of what holds it. */
  bind_mount (fixture->home, ".ssh", fixture->home, "Documents");
  assert_refused (fixture->home, "Documents");
  bind_mount (fixture->home, ".ssh/keys", fixture->home, "Documents");
  assert_refused (fixture->home, "Documents");
  bind_mount (fixture->dir, "people", fixture->home, "Documents");
  assert_refused (fixture->home, "Documents");
  bind_mount ("/etc", "ssl", fixture->home, "Documents");
  assert_refused (fixture->home, "Documents");
  bind_mount ("/", "", fixture->home, "Documents");
  assert_refused (fixture->home, "Documents");
  /* Below a folder. */
  g_assert_true (ow_folder_check (before, NULL));
  bind_mount (fixture->home, ".gnupg", fixture->home, "work/sub");
  assert_refused (fixture->home, "work");
  g_assert_false (ow_folder_check (before, NULL));
  /* The machine, mounted anew. */
  g_assert_cmpint (mount ("proc", proc, "proc", 0, NULL), ==, 0);
  assert_refused (fixture->home, "work2");
  /* A harmless bind is none. */
  bind_mount (fixture->home, ".sshd", fixture->home, ".configuration");
  assert_allowed (fixture->home, ".configuration");
}

static void
test_binds (Fixture      *fixture,
            gconstpointer data)
{
  pid_t pid;
  int status = 0;

  if (geteuid () != 0)
    {
      g_test_skip ("needs root to mount");
      return;
    }
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      if (unshare (CLONE_NEWNS) != 0 || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        _exit (77);
      look_through_binds (fixture);
      _exit (0);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
}

static void
make_socket (const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_assert_cmpuint (strlen (path), <, sizeof address.sun_path);
  strcpy (address.sun_path, path);
  g_assert_cmpint (bind (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
  close (fd);
}

static void
test_sockets (Fixture      *fixture,
              gconstpointer data)
{
  static const char * const names[] = { "docker.sock", "podman.sock", "sub/containerd.sock" };
  g_autofree char *harmless = g_build_filename (fixture->home, "work", "app.sock", NULL);
  g_autofree char *plain = g_build_filename (fixture->home, "work", "docker.sock", NULL);

  make_socket (harmless);
  g_assert_true (g_file_set_contents (plain, "a file", -1, NULL));
  assert_allowed (fixture->home, "work");
  g_assert_cmpint (unlink (plain), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (fixture->home, "work", names[i], NULL);

      make_socket (path);
      assert_refused (fixture->home, "work");
      g_assert_cmpint (unlink (path), ==, 0);
    }
  assert_allowed (fixture->home, "work");
}

/* One that is listened on is found however deep it lies, and one that DOCKER_HOST names
 * whatever it is called. */
static void
test_live_sockets (Fixture      *fixture,
                   gconstpointer data)
{
  g_autofree char *deep = g_build_filename (fixture->home, "work/sub/a/b/c", NULL);
  g_autofree char *path = g_build_filename (deep, "podman.sock", NULL);
  g_autofree char *named = g_build_filename (deep, "engine", NULL);
  g_autofree char *variable = g_strconcat ("unix://", named, NULL);
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_assert_cmpint (g_mkdir_with_parents (deep, 0700), ==, 0);
  strcpy (address.sun_path, path);
  g_assert_cmpint (bind (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
  g_assert_cmpint (listen (fd, 1), ==, 0);
  assert_refused (fixture->home, "work");
  close (fd);
  assert_allowed (fixture->home, "work");
  make_socket (named);
  g_setenv ("DOCKER_HOST", variable, TRUE);
  assert_refused (fixture->home, "work");
  g_unsetenv ("DOCKER_HOST");
  assert_allowed (fixture->home, "work");
}

/* Whatever its name and kind: somebody outside answers on it. One that nobody holds is
 * only a name. */
static void
test_listeners (Fixture      *fixture,
                gconstpointer data)
{
  static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM };
  static const char * const names[] = { "work/default", "work/sub/agent.1", "work/a b/c" };

  for (gsize i = 0; i < G_N_ELEMENTS (types); i++)
    {
      g_autofree char *path = g_build_filename (fixture->home, names[i], NULL);
      g_autofree char *parent = g_path_get_dirname (path);
      struct sockaddr_un address = { .sun_family = AF_UNIX };
      int fd = socket (AF_UNIX, types[i] | SOCK_CLOEXEC, 0);

      g_assert_cmpint (g_mkdir_with_parents (parent, 0700), ==, 0);
      strcpy (address.sun_path, path);
      g_assert_cmpint (bind (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
      g_assert_true (types[i] == SOCK_DGRAM || listen (fd, 1) == 0);
      assert_refused (fixture->home, "work");
      close (fd);
      assert_allowed (fixture->home, "work");
    }
}

/* What was checked is what counts: names may change meanwhile. */
static void
test_swapped (Fixture      *fixture,
              gconstpointer data)
{
  g_autofree char *work = g_build_filename (fixture->home, "work", NULL);
  g_autofree char *away = g_build_filename (fixture->home, "away", NULL);
  g_autofree char *into = g_build_filename (fixture->home, ".ssh", "work", NULL);
  g_autoptr (OwFolder) folder = ow_folder_open (work, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (folder);
  g_assert_cmpint (rename (work, away), ==, 0);
  g_assert_false (ow_folder_check (folder, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_cmpint (symlink (".ssh", work), ==, 0);
  g_assert_false (ow_folder_check (folder, NULL));
  g_assert_cmpint (unlink (work), ==, 0);
  g_assert_cmpint (mkdir (work, 0700), ==, 0);
  g_assert_false (ow_folder_check (folder, NULL));
  g_assert_cmpint (rename (away, into), ==, 0);
  g_assert_false (ow_folder_check (folder, NULL));
  g_assert_cmpint (rmdir (work), ==, 0);
  g_assert_cmpint (rename (into, work), ==, 0);
  g_assert_true (ow_folder_check (folder, NULL));
  g_assert_true (ow_file_remove_tree (work, NULL));
  g_assert_false (ow_folder_check (folder, NULL));
}

static const char * const odd_names[] = {
  "with space", "with\nnewline", "with\ttab", "\"quoted\"", "it's", "back\\slash", "a:b", "$HOME",
  "`id`", "-rf", "--", "*", "\xc3\xa9\xe4\xbd\xa0", "trailing ", " (deleted)", "gone (deleted)",
  "a,b=c", "%s%n", "~", "#", ";reboot",
};

static void
test_odd_names (Fixture      *fixture,
                gconstpointer data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (odd_names); i++)
    {
      g_autofree char *path = g_build_filename (fixture->home, "work", odd_names[i], NULL);
      g_autofree char *text = g_strconcat (path, ":ro", NULL);
      g_autoptr (OwFolder) folder = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (mkdir (path, 0700), ==, 0);
      folder = ow_folder_open (text, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (folder->path, ==, path);
      g_assert_true (folder->read_only);
      g_assert_true (ow_folder_check (folder, NULL));
    }
}

static void
test_text (Fixture      *fixture,
           gconstpointer data)
{
  static const char * const usage[] = { "", "work", "./work", "../x", ":ro", "~", "~/work", "work:ro" };
  g_autofree char *work = g_build_filename (fixture->home, "work", NULL);
  g_autofree char *writable = g_strconcat (work, ":rw", NULL);
  g_autofree char *file = g_build_filename (work, "file", NULL);
  g_autofree char *bad = g_strconcat (work, "/\xff\xfe", NULL);
  g_autofree char *long_name = g_strnfill (5000, 'a');
  g_autofree char *long_path = g_strconcat ("/", long_name, NULL);
  g_autoptr (OwFolder) folder = ow_folder_open (writable, NULL);

  g_assert_nonnull (folder);
  g_assert_false (folder->read_only);
  g_assert_cmpstr (folder->path, ==, work);
  for (gsize i = 0; i < G_N_ELEMENTS (usage); i++)
    assert_refused_text (usage[i], OW_ERROR_USAGE);
  assert_refused_text (long_path, OW_ERROR_USAGE);
  g_assert_cmpint (mkdir (bad, 0700), ==, 0);
  assert_refused_text (bad, OW_ERROR_USAGE);
  g_assert_true (g_file_set_contents (file, "x", 1, NULL));
  assert_refused_text (file, OW_ERROR_USAGE);
  assert_refused_text ("/no/such/folder", OW_ERROR_USAGE);
}

static void
test_set (Fixture      *fixture,
          gconstpointer data)
{
  g_autoptr (GPtrArray) folders =
    g_ptr_array_new_with_free_func ((GDestroyNotify) ow_folder_free);
  g_autoptr (GError) error = NULL;
  g_autofree char *other = g_build_filename (fixture->home, "Documents", NULL);

  g_assert_false (ow_folder_check_set (folders, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
  g_clear_error (&error);
  g_ptr_array_add (folders, open_allowed (fixture->home, "work"));
  g_ptr_array_add (folders, open_allowed (fixture->home, "work/sub"));
  g_assert_true (ow_folder_check_set (folders, NULL));
  g_ptr_array_add (folders, open_allowed (fixture->home, "work/../work"));
  g_assert_false (ow_folder_check_set (folders, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
  g_clear_error (&error);
  g_ptr_array_set_size (folders, 2);
  if (geteuid () == 0)
    {
      g_assert_cmpint (chown (other, 12345, 12345), ==, 0);
      g_ptr_array_add (folders, open_allowed (fixture->home, "Documents"));
      g_assert_false (ow_folder_check_set (folders, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
    }
}

/* What runs outside the wall must not be in the agent's hands. */
static void
test_own_programs (Fixture      *fixture,
                   gconstpointer data)
{
  g_autofree char *work = g_build_filename (fixture->home, "work", NULL);
  g_autofree char *libexec = g_build_filename (work, "libexec", NULL);
  g_autofree char *proxy = g_build_filename (libexec, "openworker-proxy", NULL);
  g_autofree char *read_only = g_strconcat (work, ":ro", NULL);
  g_autoptr (OwFolder) folder = NULL;

  g_assert_cmpint (mkdir (libexec, 0700), ==, 0);
  g_assert_true (g_file_set_contents (proxy, "", 0, NULL));
  g_setenv ("OPENWORKER_LIBEXEC", libexec, TRUE);
  assert_refused_text (work, OW_ERROR_REFUSED);
  folder = ow_folder_open (read_only, NULL);
  g_assert_nonnull (folder);
  assert_allowed (fixture->home, "work/sub");
}

static const char * const bad_tables[] = {
  "x", "1 2 3", "1 2 8:1 / /x rw", "1 2 8 / /x rw - ext4 d rw", "x 2 8:1 / /x rw - ext4 d rw",
  "1 2 8:y / /x rw - ext4 d rw", "1 2 8:1 / /x rw -",
};

static void
test_mount_table (Fixture      *fixture,
                  gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) table =
    ow_mount_table_parse ("36 35 98:0 /mnt\\0401 /a\\012b rw,noatime master:1 shared:2 - ext3 d rw\n"
                          "37 35 0:5 / /c\\134d rw - tmpfs none rw\n", &error);
  const OwMount *mount;

  g_assert_no_error (error);
  g_assert_cmpuint (table->len, ==, 2);
  mount = g_ptr_array_index (table, 0);
  g_assert_cmpstr (mount->place.path, ==, "/mnt 1");
  g_assert_cmpstr (mount->point, ==, "/a\nb");
  g_assert_cmpstr (mount->type, ==, "ext3");
  g_assert_cmpuint (mount->place.major, ==, 98);
  mount = g_ptr_array_index (table, 1);
  g_assert_cmpstr (mount->point, ==, "/c\\d");
  for (gsize i = 0; i < G_N_ELEMENTS (bad_tables); i++)
    {
      g_assert_null (ow_mount_table_parse (bad_tables[i], &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_clear_error (&error);
    }
}

static void
test_contains (Fixture      *fixture,
               gconstpointer data)
{
  g_assert_true (ow_path_contains ("/a", "/a"));
  g_assert_true (ow_path_contains ("/a", "/a/b"));
  g_assert_true (ow_path_contains ("/a/", "/a/b"));
  g_assert_true (ow_path_contains ("/", "/a"));
  g_assert_true (ow_path_contains ("/", "/"));
  g_assert_false (ow_path_contains ("/a", "/ab"));
  g_assert_false (ow_path_contains ("/a/b", "/a"));
  g_assert_false (ow_path_contains ("/a", "/"));
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int    argc,
      char **argv)
{
  g_autofree char *home = NULL;
  int status;

  top = g_dir_make_tmp ("ow-folder-XXXXXX", NULL);
  home = g_build_filename (top, "all", "people", "ann", NULL);
  g_setenv ("HOME", home, TRUE);
  g_unsetenv ("XDG_RUNTIME_DIR");
  g_unsetenv ("XDG_STATE_HOME");
  g_unsetenv ("XDG_CONFIG_HOME");
  g_unsetenv ("XDG_DATA_HOME");
  g_test_init (&argc, &argv, NULL);
  ADD ("/folder/S24/home", test_home);
  ADD ("/folder/S24/system", test_system);
  ADD ("/folder/S24/missing", test_missing);
  ADD ("/folder/S24/links", test_links);
  ADD ("/folder/S24/linked-file", test_linked_file);
  ADD ("/folder/S24/binds", test_binds);
  ADD ("/folder/S24/sockets", test_sockets);
  ADD ("/folder/S24/live-sockets", test_live_sockets);
  ADD ("/folder/S24/listeners", test_listeners);
  ADD ("/folder/S24/swapped", test_swapped);
  ADD ("/folder/S24/own-programs", test_own_programs);
  ADD ("/folder/odd-names", test_odd_names);
  ADD ("/folder/text", test_text);
  ADD ("/folder/set", test_set);
  ADD ("/folder/mount-table", test_mount_table);
  ADD ("/folder/contains", test_contains);
  status = g_test_run ();
  ow_file_remove_tree (top, NULL);
  g_free (top);
  return status;
}
