/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ow-runner-bridge-private.h"
#include "ow-runner-command-private.h"
#include "ow-runner-loop-private.h"
#include "ow-runner-proxy-private.h"

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

/* Whether nothing has come for too long. What waits to be read has come: this process may have
 * been stopped or frozen longer than its host was silent. */
static bool
is_silent (const Flow *up,
           int64_t     heard_at,
           int64_t     silence_ms)
{
  struct pollfd waiting = { .fd = up->from, .events = POLLIN };

  return silence_ms > 0 && !up->ended && ow_runner_loop_now () - heard_at >= silence_ms
         && (poll (&waiting, 1, 0) < 1 || (waiting.revents & POLLIN) == 0);
}

static void
copy (int     fd,
      Flow   *up,
      Flow   *down,
      int64_t silence_ms)
{
  int64_t deadline = INT64_MAX;
  int64_t heard_at = ow_runner_loop_now ();
  bool ticking = silence_ms > 0;

  while (ow_runner_loop_now () < deadline && !is_silent (up, heard_at, silence_ms))
    {
      struct pollfd fds[3] = {
        { .fd = up->ended || up->length > 0 ? -1 : up->from, .events = POLLIN },
        { .fd = fd, .events = (short) ((up->length > 0 ? POLLOUT : 0)
                                       | (down->length == 0 ? POLLIN : 0)) },
        { .fd = down->length > 0 ? down->to : -1, .events = POLLOUT },
      };

      if (poll (fds, 3, ticking || deadline != INT64_MAX ? 1000 : -1) < 0 && errno != EINTR)
        break;
      if ((fds[0].revents & POLLIN) != 0)
        heard_at = ow_runner_loop_now ();
      if (!up->ended && !flow_move (up, fds[0].revents, fds[1].revents))
        {
          up->ended = true;
          deadline = ow_runner_loop_now () + LINGER_MS;
          shutdown (fd, SHUT_WR);
        }
      if (!flow_move (down, (short) (fds[1].revents & ~POLLOUT), fds[2].revents))
        break;
    }
}

void
ow_runner_bridge (int         fd,
                  const char *first,
                  size_t      first_length,
                  int64_t     silence_ms)
{
  static Flow up;
  static Flow down;
  int flags = fcntl (STDOUT_FILENO, F_GETFL);

  up = (Flow) { .from = STDIN_FILENO, .to = fd };
  down = (Flow) { .from = fd, .to = STDOUT_FILENO, .length = first_length };
  memcpy (down.data, first, first_length);
  fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) | O_NONBLOCK);
  /* A write that waits for a reader that is gone would never look at the clock again, and what
   * is said on stdin has to pass a flood on stdout. Given back as it was: it may be shared. */
  if (flags >= 0)
    fcntl (STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK);
  copy (fd, &up, &down, silence_ms);
  if (flags >= 0)
    fcntl (STDOUT_FILENO, F_SETFL, flags);
  close (fd);
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
  ow_runner_bridge (answer.fd, answer.body, answer.body_length, 0);
  return 0;
}
