/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-command-private.h"

/* Whoever starts us may have closed them, and a socket under one of their numbers would get
 * what is meant for a person. */
static void
fill_standard_fds (void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    {
      if (fcntl (fd, F_GETFD) < 0 && errno == EBADF)
        open ("/dev/null", O_RDWR);
    }
}

int
main (int    argc,
      char **argv)
{
  const char *command = argc > 1 ? argv[1] : "";

  fill_standard_fds ();

  if (strcmp (command, "serve") == 0)
    return ow_runner_serve (argc - 2, argv + 2);
  if (strcmp (command, "attach") == 0)
    return ow_runner_attach (argc - 2, argv + 2);
  if (strcmp (command, "connect") == 0)
    return ow_runner_connect (argc - 2, argv + 2);
  if (strcmp (command, "--version") == 0 && argc == 2)
    {
      printf ("openworker-runner %s\n", OW_VERSION);
      return 0;
    }
  fprintf (stderr, "Usage: openworker-runner serve | attach | connect | --version\n");
  return OW_RUNNER_EXIT_USAGE;
}
