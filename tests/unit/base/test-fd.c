/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-fd.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static gpointer
drain (gpointer data)
{
  int fd = GPOINTER_TO_INT (data);
  char buffer[1000];
  gsize total = 0;
  ssize_t got;

  while ((got = read (fd, buffer, sizeof buffer)) > 0)
    total += (gsize) got;
  return GSIZE_TO_POINTER (total);
}

/* More than a socket holds, so that it goes in pieces. */
static void
test_write_in_pieces (void)
{
  gsize length = 4 * 1024 * 1024;
  g_autofree char *data = g_malloc0 (length);
  GThread *reader;
  int fds[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
  reader = g_thread_new ("reader", drain, GINT_TO_POINTER (fds[1]));
  g_assert_true (ow_fd_write_all (fds[0], data, length));
  close (fds[0]);
  g_assert_cmpuint (GPOINTER_TO_SIZE (g_thread_join (reader)), ==, length);
  close (fds[1]);
}

static void
test_write_fails (void)
{
  int full = open ("/dev/full", O_WRONLY | O_CLOEXEC);
  int fds[2];

  g_assert_false (ow_fd_write_all (full, "x", 1));
  g_assert_cmpint (errno, ==, ENOSPC);
  close (full);

  signal (SIGPIPE, SIG_IGN);
  g_assert_cmpint (pipe (fds), ==, 0);
  close (fds[0]);
  g_assert_false (ow_fd_write_all (fds[1], "x", 1));
  g_assert_cmpint (errno, ==, EPIPE);
  g_assert_true (ow_fd_write_all (fds[1], "", 0));
  close (fds[1]);
}

static void
test_path (void)
{
  g_autofree char *made = g_dir_make_tmp ("ow-fd-XXXXXX", NULL);
  g_autofree char *moved = g_strconcat (made, "-moved", NULL);
  int fd = open (made, O_PATH | O_DIRECTORY | O_CLOEXEC);
  g_autofree char *before = ow_fd_get_path (fd);
  g_autofree char *after = NULL;
  int fds[2];

  g_assert_cmpstr (before, ==, made);
  g_assert_cmpint (g_rename (made, moved), ==, 0);
  after = ow_fd_get_path (fd);
  g_assert_cmpstr (after, ==, moved);
  close (fd);
  g_rmdir (moved);

  g_assert_cmpint (pipe (fds), ==, 0);
  g_assert_null (ow_fd_get_path (fds[0]));
  close (fds[0]);
  close (fds[1]);
  g_assert_null (ow_fd_get_path (fds[0]));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fd/write-in-pieces", test_write_in_pieces);
  g_test_add_func ("/fd/write-fails", test_write_fails);
  g_test_add_func ("/fd/path", test_path);
  return g_test_run ();
}
