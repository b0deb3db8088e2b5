/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "files-fixture.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

/* A tenth of a second is the promise; tests get ten times that. */
#define PROMPTLY (1 * G_USEC_PER_SEC)

static void
make_socket (const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_assert_cmpuint (strlen (path), <, sizeof address.sun_path);
  memcpy (address.sun_path, path, strlen (path));
  g_assert_cmpint (bind (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
  g_assert_cmpint (listen (fd, 1), ==, 0);
  close (fd);
}

static void
assert_refused_promptly (Files      *files,
                         const char *path,
                         const char *kind)
{
  static const struct {
    const char *tool;
    const char *rest;
  } calls[] = {
    { "read", "" },
    { "grep", ", 'pattern': 'x'" },
    { "write", ", 'content': 'x'" },
    { "edit", ", 'old_text': 'x', 'new_text': 'y'" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      gint64 start = g_get_monotonic_time ();

      files_call (files, calls[i].tool, "{'path': '%s'%s}", path, calls[i].rest);
      g_assert_cmpint (g_get_monotonic_time () - start, <, PROMPTLY);
      files_assert_refused (files, kind);
    }
}

static void
test_special_files (void)
{
  Files *files = files_new ();
  gint64 start;
  gboolean devices;

  g_assert_cmpint (mkfifo (files_path (files, "work/pipe"), 0666), ==, 0);
  make_socket (files_path (files, "work/socket"));
  files_link (files, "work/to-pipe", "pipe");
  files_put (files, "work/good", "needle x\n");
  assert_refused_promptly (files, "pipe", "FIFO");
  assert_refused_promptly (files, "to-pipe", "FIFO");
  assert_refused_promptly (files, "socket", "socket");

  /* Only root can make devices; elsewhere the other kinds have to do. */
  devices = mknod (files_path (files, "work/zero"), S_IFCHR | 0666, makedev (1, 5)) == 0;
  if (devices)
    {
      mknod (files_path (files, "work/block"), S_IFBLK | 0666, makedev (7, 255));
      assert_refused_promptly (files, "zero", "character device");
      assert_refused_promptly (files, "block", "block device");
    }

  /* A walk goes past all of them. */
  start = g_get_monotonic_time ();
  files_assert_has (files_call (files, "grep", "{'pattern': 'needle'}"), "good:1:needle");
  files_assert_done (files);
  files_assert_has (files_call (files, "list", "{}"), "[FIFO (named pipe)]");
  files_assert_has (files_call (files, "list", "{}"), "[socket]");
  files_assert_has (files_call (files, "glob", "{'pattern': 'good'}"), "good");
  g_assert_cmpint (g_get_monotonic_time () - start, <, PROMPTLY);
  files_free (files);
}

/* A FIFO that somebody writes to all the time is no file either. */
static void
test_fifo_with_writer (void)
{
  Files *files = files_new ();
  int fd;

  g_assert_cmpint (mkfifo (files_path (files, "work/pipe"), 0666), ==, 0);
  fd = open (files_path (files, "work/pipe"), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, "x needle\n", 9), ==, 9);
  assert_refused_promptly (files, "pipe", "FIFO");
  files_assert_has (files_call (files, "grep", "{'pattern': 'needle'}"), "No match");
  close (fd);
  files_free (files);
}

/* Nor is what a walk would read on its way. */
static void
test_ignore_that_is_no_file (void)
{
  Files *files = files_new ();
  gint64 start = g_get_monotonic_time ();

  files_put (files, "work/a/kept", "needle\n");
  files_put (files, "work/b/kept", "needle\n");
  files_put (files, "work/c/kept", "needle\n");
  files_put (files, "outside/rules", "kept\n");
  g_assert_cmpint (mkfifo (files_path (files, "work/a/.gitignore"), 0666), ==, 0);
  files_link (files, "work/b/.gitignore", "../../outside/rules");
  g_assert_cmpint (g_mkdir (files_path (files, "work/c/.gitignore"), 0755), ==, 0);
  files_assert_has (files_call (files, "grep", "{'pattern': 'needle'}"),
                    "a/kept:1:needle\nb/kept:1:needle\nc/kept:1:needle\n");
  files_call (files, "glob", "{'pattern': '*/kept'}");
  g_assert_cmpint (files_int (files, "total"), ==, 3);
  g_assert_cmpint (g_get_monotonic_time () - start, <, PROMPTLY);
  files_free (files);
}

static void
test_link_to_device (void)
{
  Files *files = files_new ();

  files_link (files, "work/zero", "/dev/zero");
  files_link (files, "work/tty", "/dev/tty");
  files_link (files, "work/memory", "/proc/self/mem");
  assert_refused_promptly (files, "zero", "leads out");
  assert_refused_promptly (files, "tty", "leads out");
  assert_refused_promptly (files, "memory", "leads out");
  files_free (files);
}

/* A file system that the kernel makes up, shared as a folder. */
static void
test_proc (void)
{
  Files *files = files_new ();
  const char *folders[] = { "/proc/self" };
  bool read_only[] = { false };
  int fds[] = { open ("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC) };
  OwRunnerRoots roots = files->roots;

  files->roots = (OwRunnerRoots) { folders, read_only, fds, 1 };
  for (gsize i = 0; i < 4; i++)
    {
      static const char *const names[] = { "mem", "status", "environ", "clear_refs" };
      gint64 start = g_get_monotonic_time ();

      files_call (files, "read", "{'path': '%s'}", names[i]);
      g_assert_cmpint (g_get_monotonic_time () - start, <, PROMPTLY);
      g_assert_true (files->result.is_error);
      files_assert_has (files->result.text, "proc");
      files_call (files, "edit", "{'path': '%s', 'old_text': 'a', 'new_text': 'b'}", names[i]);
      g_assert_true (files->result.is_error);
    }
  files_call (files, "grep", "{'pattern': 'Name'}");
  files_assert_has (files->result.text, "No match");
  files_call (files, "read", "{'path': 'fd/0'}");
  g_assert_true (files->result.is_error);
  files_call (files, "read", "{'path': 'root/etc/passwd'}");
  g_assert_true (files->result.is_error);
  files_assert_has (files->result.text, "leads out");
  files->roots = roots;
  close (fds[0]);
  files_free (files);
}

void
files_add_kind_tests (void)
{
  g_test_add_func ("/files/S04/A33/special-files", test_special_files);
  g_test_add_func ("/files/S04/A33/fifo-with-writer", test_fifo_with_writer);
  g_test_add_func ("/files/S04/A33/ignore-that-is-no-file", test_ignore_that_is_no_file);
  g_test_add_func ("/files/S04/A33/link-to-device", test_link_to_device);
  g_test_add_func ("/files/S04/proc", test_proc);
}
