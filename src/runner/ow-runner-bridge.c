/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "ow-runner-command-private.h"
#include "ow-runner-loop-private.h"
#include "ow-runner-proxy-private.h"
#include "ow-runner-setup-private.h"

#define BUFFER_SIZE 65536u
#define CONNECT_MS  30000
/* How long the other side may go on after stdin has ended. */
#define LINGER_MS   30000

typedef struct {
  int    from;
  int    to;
  bool   ended;
  size_t start;
  size_t length;
  char   data[BUFFER_SIZE];
} Flow;

/* Returns false when the direction is over. */
static bool
flow_move (Flow *flow,
           short from_events,
           short to_events)
{
  if (flow->length == 0 && (from_events & (POLLIN | POLLHUP | POLLERR)) != 0)
    {
      ssize_t got = read (flow->from, flow->data, sizeof flow->data);

      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        return false;
      flow->start = 0;
      flow->length = got > 0 ? (size_t) got : 0;
      return true;
    }
  if (flow->length > 0 && (to_events & (POLLOUT | POLLHUP | POLLERR)) != 0)
    {
      ssize_t n = write (flow->to, flow->data + flow->start, flow->length);

      if (n < 0)
        return errno == EAGAIN || errno == EINTR;
      flow->start += (size_t) n;
      flow->length -= (size_t) n;
    }
  return true;
}

/* Copies stdin to @fd and @fd to stdout until @fd ends; when stdin ends, @fd is told. */
static void
bridge (int         fd,
        const char *first,
        size_t      first_length)
{
  static Flow up;
  static Flow down;
  int64_t deadline = INT64_MAX;

  up = (Flow) { .from = STDIN_FILENO, .to = fd };
  down = (Flow) { .from = fd, .to = STDOUT_FILENO, .length = first_length };
  memcpy (down.data, first, first_length);
  fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) | O_NONBLOCK);
  while (ow_runner_loop_now () < deadline)
    {
      struct pollfd fds[3] = {
        { .fd = up.ended || up.length > 0 ? -1 : up.from, .events = POLLIN },
        { .fd = fd, .events = (short) ((up.length > 0 ? POLLOUT : 0)
                                       | (down.length == 0 ? POLLIN : 0)) },
        { .fd = down.length > 0 ? down.to : -1, .events = POLLOUT },
      };

      if (poll (fds, 3, deadline == INT64_MAX ? -1 : 1000) < 0 && errno != EINTR)
        break;
      if (!up.ended && !flow_move (&up, fds[0].revents, fds[1].revents))
        {
          up.ended = true;
          deadline = ow_runner_loop_now () + LINGER_MS;
          shutdown (fd, SHUT_WR);
        }
      if (!flow_move (&down, (short) (fds[1].revents & ~POLLOUT), fds[2].revents))
        break;
    }
  close (fd);
}

/* A terminal between us and the client would echo and change what passes. */
static bool
make_raw (struct termios *before)
{
  struct termios raw;

  if (tcgetattr (STDIN_FILENO, before) < 0)
    return false;
  raw = *before;
  cfmakeraw (&raw);
  return tcsetattr (STDIN_FILENO, TCSANOW, &raw) == 0;
}

int
ow_runner_attach (int    argc,
                  char **argv)
{
  char error[OW_RUNNER_ERROR_SIZE];
  struct termios before;
  bool raw;
  int fd;

  if (argc != 2 || strcmp (argv[0], "--socket") != 0)
    {
      fprintf (stderr, "Usage: openworker-runner attach --socket PATH\n");
      return OW_RUNNER_EXIT_USAGE;
    }
  raw = make_raw (&before);
  signal (SIGPIPE, SIG_IGN);
  fd = ow_runner_socket_connect (argv[1], error);
  if (fd >= 0)
    bridge (fd, "", 0);
  else
    fprintf (stderr, "openworker-runner: %s\n", error);
  if (raw)
    tcsetattr (STDIN_FILENO, TCSANOW, &before);
  return fd >= 0 ? 0 : 1;
}

int
ow_runner_connect (int    argc,
                   char **argv)
{
  OwRunnerProxyAnswer answer;
  uint16_t port = argc == 2 ? ow_runner_proxy_port (argv[1]) : 0;

  if (port == 0 || argv[0][0] == '\0' || argv[0][0] == '-')
    {
      fprintf (stderr, "Usage: openworker-runner connect HOST PORT\n");
      return OW_RUNNER_EXIT_USAGE;
    }
  signal (SIGPIPE, SIG_IGN);
  if (!ow_runner_proxy_connect (argv[0], port, CONNECT_MS, &answer))
    {
      fprintf (stderr, "openworker-runner: %s\n", answer.reason);
      if (answer.body_length > 0)
        fprintf (stderr, "%.*s\n", (int) answer.body_length, answer.body);
      return 1;
    }
  bridge (answer.fd, answer.body, answer.body_length);
  return 0;
}
