/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "ow-runner-bridge-private.h"
#include "ow-runner-command-private.h"
#include "ow-runner-once-private.h"
#include "ow-runner-setup-private.h"

#define SILENCE_MAX_S (24 * 3600)

typedef struct {
  const char *socket;
  const char *instance; /* (nullable) */
  bool        once;
  int         silence_s;
} Options;

static int
usage (void)
{
  fprintf (stderr,
           "Usage: openworker-runner attach --socket PATH [--silence SECONDS]\n"
           "         [--once [--instance ID]]\n");
  return OW_RUNNER_EXIT_USAGE;
}

static int
read_seconds (const char *text)
{
  char *end;
  long value;

  errno = 0;
  value = strtol (text, &end, 10);
  return errno != 0 || *text == '\0' || *end != '\0' || value < 1 || value > SILENCE_MAX_S
         ? 0 : (int) value;
}

static bool
parse_options (Options *options,
               int      argc,
               char   **argv)
{
  *options = (Options) { 0 };
  for (int i = 0; i < argc; i++)
    {
      if (strcmp (argv[i], "--once") == 0)
        options->once = true;
      else if (i + 1 == argc || *argv[i + 1] == '\0')
        return false;
      else if (strcmp (argv[i], "--socket") == 0)
        options->socket = argv[++i];
      else if (strcmp (argv[i], "--instance") == 0)
        options->instance = argv[++i];
      else if (strcmp (argv[i], "--silence") != 0
               || (options->silence_s = read_seconds (argv[++i])) == 0)
        return false;
    }
  return options->socket != NULL && (options->once || options->instance == NULL);
}

/* A terminal between us and the client would echo and change what passes. */
static bool
make_raw (int             fd,
          bool            input,
          struct termios *before)
{
  struct termios raw;

  if (tcgetattr (fd, before) < 0)
    return false;
  raw = *before;
  if (input)
    cfmakeraw (&raw);
  else
    raw.c_oflag &= ~(tcflag_t) OPOST;
  return tcsetattr (fd, TCSANOW, &raw) == 0;
}

static int
attach (const Options *options)
{
  int64_t silence_ms = (int64_t) options->silence_s * 1000;
  char error[OW_RUNNER_ERROR_SIZE];
  int fd;

  if (options->once)
    return ow_runner_once (options->socket, options->instance, silence_ms);
  fd = ow_runner_socket_connect (options->socket, error);
  if (fd < 0)
    {
      fprintf (stderr, "openworker-runner: %s\n", error);
      return 1;
    }
  /* The end of whatever the relay has written into the line before us. */
  ow_runner_bridge (fd, "\n", isatty (STDIN_FILENO) ? 1 : 0, silence_ms);
  return 0;
}

int
ow_runner_attach (int    argc,
                  char **argv)
{
  struct termios before_in;
  struct termios before_out;
  Options options;
  bool raw_in;
  bool raw_out;
  int status;

  if (!parse_options (&options, argc, argv))
    return usage ();
  signal (SIGPIPE, SIG_IGN);
  /* Setting up a terminal in the background would stop us. */
  signal (SIGTTOU, SIG_IGN);
  raw_in = make_raw (STDIN_FILENO, true, &before_in);
  raw_out = make_raw (STDOUT_FILENO, false, &before_out);
  status = attach (&options);
  if (raw_out)
    tcsetattr (STDOUT_FILENO, TCSANOW, &before_out);
  if (raw_in)
    tcsetattr (STDIN_FILENO, TCSANOW, &before_in);
  return status;
}
