/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ow-proxy-harden-private.h"

static void *
in_thread (void *user_data)
{
  *(int *) user_data = 7;
  return NULL;
}

/* What is left: the resolver, threads, the network. */
static int knows_localhost;

static int
check_left (void)
{
  struct addrinfo *found = NULL;
  pthread_t thread;
  int said = 0;

  /* A machine without /etc/hosts may not know the name: then it knew none before either. */
  if (knows_localhost && (getaddrinfo ("localhost", "443", NULL, &found) != 0 || found == NULL))
    return 10;
  if (found != NULL)
    freeaddrinfo (found);
  if (pthread_create (&thread, NULL, in_thread, &said) != 0 || pthread_join (thread, NULL) != 0 ||
      said != 7)
    return 11;
  if (socket (AF_INET, SOCK_STREAM, 0) < 0 || socket (AF_UNIX, SOCK_STREAM, 0) < 0)
    return 12;
  if (open ("/etc/passwd", O_RDONLY) < 0)
    return 13;
  return 0;
}

static int
check_gone (int leaked)
{
  char *const argv[] = { (char *) "/bin/true", NULL };

  if (fcntl (leaked, F_GETFD) >= 0)
    return 20;
  if (getenv ("HOSTALIASES") != NULL)
    return 21;
  if (execve ("/bin/true", argv, NULL) != -1 || (errno != EPERM && errno != EACCES))
    return 22;
  if (syscall (SYS_clone, 17, NULL, NULL, NULL, NULL) != -1 || errno != EPERM)
    return 23;
  if (socket (AF_PACKET, SOCK_RAW, 0) >= 0 || errno != EAFNOSUPPORT)
    return 24;
  if (syscall (SYS_ptrace, 0, 0, 0, 0) != -1 || errno != EPERM)
    return 25;
  if (syscall (SYS_unshare, 0x10000000) != -1 || errno != EPERM)
    return 26;
  if (prctl (PR_GET_DUMPABLE) != 0 || prctl (PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
    return 27;
  if (listen (socket (AF_INET, SOCK_STREAM, 0), 1) != -1 || errno != EPERM)
    return 28;
  return 0;
}

/* Landlock is a layer that a kernel may be without. */
static int
check_files (const char *secret)
{
  if (syscall (SYS_landlock_create_ruleset, NULL, 0, 1) < 0)
    return 0;
  if (open (secret, O_RDONLY) >= 0 || errno != EACCES)
    return 30;
  if (open (secret, O_WRONLY) >= 0 || errno != EACCES)
    return 31;
  if (unlink (secret) != -1 || errno != EACCES)
    return 33;
  if (open ("/var/tmp/ow-proxy-made", O_WRONLY | O_CREAT, 0600) >= 0 || errno != EACCES)
    return 32;
  return 0;
}

static int
run_hardened (const char *secret)
{
  int leaked = open ("/etc/passwd", O_RDONLY);
  struct addrinfo *found = NULL;
  int result;

  knows_localhost = getaddrinfo ("localhost", "443", NULL, &found) == 0;
  if (found != NULL)
    freeaddrinfo (found);

  setenv ("HOSTALIASES", secret, 1);
  if (!ow_proxy_harden_process () || !ow_proxy_harden_calls ("/usr"))
    return 1;
  result = check_gone (leaked);
  if (result == 0)
    result = check_files (secret);
  return result != 0 ? result : check_left ();
}

static void
test_harden (void)
{
  g_autofree char *secret = g_build_filename (g_get_tmp_dir (), "ow-proxy-secret-XXXXXX", NULL);
  int fd = g_mkstemp (secret);
  int status = 0;
  pid_t child;

  g_assert_cmpint (fd, >=, 0);
  close (fd);
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    _exit (run_hardened (secret));
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFEXITED (status));
  /* The number says which check above did not hold. */
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_unlink (secret);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/harden/gives-up", test_harden);
  return g_test_run ();
}
