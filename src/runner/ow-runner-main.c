/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config.h"

#include <stdio.h>
#include <string.h>

#include "ow-runner-command-private.h"

int
main (int    argc,
      char **argv)
{
  const char *command = argc > 1 ? argv[1] : "";

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
