/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "ow-proxy-harden-private.h"
#include "ow-proxy-server-private.h"

static int
usage (void)
{
  fputs ("Usage: openworker-proxy --socket PATH\n"
         "Serves the hosts that it reads from stdin to the clients of a socket.\n", stderr);
  return 2;
}

static bool
parse_scale (const char *text,
             double     *scale)
{
  char *end = NULL;

  *scale = strtod (text, &end);
  return end != text && *end == '\0' && *scale >= 0.001 && *scale <= 1000;
}

int
main (int    argc,
      char **argv)
{
  static const struct option names[] = {
    { "socket", required_argument, NULL, 's' },
    { "time-scale", required_argument, NULL, 't' },
    { "version", no_argument, NULL, 'v' },
    { 0 },
  };
  OwProxyServerOptions options = { .time_scale = 1 };
  int option;

  while ((option = getopt_long (argc, argv, "", names, NULL)) != -1)
    {
      if (option == 'v')
        return puts ("openworker-proxy " OW_VERSION) < 0;
      if (option == 's')
        options.socket_path = optarg;
      else if (option != 't' || !parse_scale (optarg, &options.time_scale))
        return usage ();
    }
  if (options.socket_path == NULL || optind != argc)
    return usage ();
  if (!ow_proxy_harden_process ())
    {
      fprintf (stderr, "openworker-proxy: The process cannot give up its rights: %s\n",
               strerror (errno));
      return 1;
    }
  return ow_proxy_server_run (&options);
}
