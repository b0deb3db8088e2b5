/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-proxy-server-private.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ow-proxy-connection-private.h"
#include "ow-proxy-harden-private.h"
#include "ow-proxy-listener-private.h"
#include "wire/ow-frame.h"

#define MAX_LIST_BYTES (1024u * 1024u)
/* After the process ran out of descriptors. */
#define ACCEPT_PAUSE_MS 1000

enum {
  POLL_STDIN,
  POLL_STDOUT,
  POLL_LISTENER,
  POLL_RESOLVER,
  POLL_FIRST_CONNECTION,
};

typedef struct {
  const OwProxyServerOptions *options;
  OwProxyContext              context;
  OwFrameReader              *reader;
  int                         listener;   /* -1 until there is a list */
  int64_t                     accept_at;
  uint64_t                    last_ticket;
  uint64_t                    n_lists;
  OwProxyConnection          *connections[OW_PROXY_SERVER_MAX_CONNECTIONS];
  size_t                      n_connections;
  bool                        over;
  int                         status;
} Server;

static int64_t
now_ms (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void fail (Server *self, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

static void
fail (Server     *self,
      const char *format,
      ...)
{
  va_list arguments;

  fputs ("openworker-proxy: ", stderr);
  va_start (arguments, format);
  vfprintf (stderr, format, arguments);
  va_end (arguments);
  fputc ('\n', stderr);
  self->over = true;
  self->status = 1;
}

/* After the first list: from now on there is something to decide by. */
static void
start_listening (Server *self)
{
  char error[OW_WIRE_ERROR_SIZE];
  char directory[PATH_MAX];
  static const char ready[] = "ready\n";

  snprintf (directory, sizeof directory, "%s", self->options->socket_path);
  self->listener = ow_proxy_listener_open (self->options->socket_path, error);
  if (self->listener < 0)
    fail (self, "%s", error);
  else if (!ow_proxy_harden_calls (dirname (directory)))
    fail (self, "The kernel does not let this program give up what it does not need: %s",
          strerror (errno));
  else if (write (STDOUT_FILENO, ready, sizeof ready - 1) != (ssize_t) (sizeof ready - 1))
    fail (self, "Nobody reads the decisions: %s", strerror (errno));
}

static bool
on_list (const char *line,
         size_t      length,
         void       *user_data)
{
  Server *self = user_data;
  char error[OW_WIRE_ERROR_SIZE];
  OwHostList *list = ow_host_list_parse (line, length, error);

  if (list == NULL)
    {
      /* Going on with the old list could allow what the new one takes back. */
      fail (self, "A list of hosts could not be read: %s", error);
      return false;
    }
  ow_host_list_free (self->context.list);
  self->context.list = list;
  for (size_t i = 0; i < self->n_connections; i++)
    ow_proxy_connection_list_changed (self->connections[i], now_ms ());
  self->n_lists++;
  if (self->listener < 0)
    start_listening (self);
  else
    ow_proxy_report_take (self->context.report,
                          json_pack ("{s:I}", "list", (json_int_t) self->n_lists));
  return !self->over;
}

static void
read_stdin (Server *self)
{
  char bytes[65536];
  char error[OW_WIRE_ERROR_SIZE];
  ssize_t got = read (STDIN_FILENO, bytes, sizeof bytes);

  if (got < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  if (got <= 0)
    self->over = true;
  else if (!ow_frame_reader_feed (self->reader, bytes, (size_t) got, on_list, self, error))
    fail (self, "A list of hosts could not be read: %s", error);
}

static void
accept_client (Server *self,
               int64_t now)
{
  int client = accept4 (self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

  if (client < 0)
    {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        self->accept_at = now + ACCEPT_PAUSE_MS;
      return;
    }
  self->connections[self->n_connections++] =
    ow_proxy_connection_new (&self->context, client, ++self->last_ticket, now);
}

static void
take_answers (Server *self,
              int64_t now)
{
  OwProxyAnswer answer;

  while (ow_proxy_resolver_take (self->context.resolver, &answer))
    {
      for (size_t i = 0; i < self->n_connections; i++)
        {
          if (ow_proxy_connection_get_ticket (self->connections[i]) == answer.ticket)
            ow_proxy_connection_resolved (self->connections[i], &answer, now);
        }
    }
}

static void
drop_finished (Server *self,
               int64_t now)
{
  size_t kept = 0;

  for (size_t i = 0; i < self->n_connections; i++)
    {
      OwProxyConnection *connection = self->connections[i];

      ow_proxy_connection_expire (connection, now);
      if (ow_proxy_connection_is_over (connection))
        ow_proxy_connection_free (connection);
      else
        self->connections[kept++] = connection;
    }
  self->n_connections = kept;
}

static int
prepare (Server        *self,
         struct pollfd *polled,
         int64_t        now)
{
  bool accepts = self->n_connections < OW_PROXY_SERVER_MAX_CONNECTIONS && now >= self->accept_at;
  int64_t wake = ow_proxy_traffic_tell (self->context.traffic, now);

  if (now < self->accept_at && self->accept_at < wake)
    wake = self->accept_at;

  polled[POLL_STDIN] = (struct pollfd) { .fd = STDIN_FILENO, .events = POLLIN };
  polled[POLL_STDOUT] = (struct pollfd) { .fd = STDOUT_FILENO };
  if (ow_proxy_report_wants_to_write (self->context.report))
    polled[POLL_STDOUT].events = POLLOUT;
  polled[POLL_LISTENER] = (struct pollfd) { .fd = accepts ? self->listener : -1, .events = POLLIN };
  polled[POLL_RESOLVER] = (struct pollfd) {
    .fd = ow_proxy_resolver_get_fd (self->context.resolver), .events = POLLIN,
  };
  for (size_t i = 0; i < self->n_connections; i++)
    {
      int64_t deadline = ow_proxy_connection_get_deadline (self->connections[i]);

      ow_proxy_connection_prepare (self->connections[i], &polled[POLL_FIRST_CONNECTION + 2 * i]);
      if (deadline < wake)
        wake = deadline;
    }
  if (wake == INT64_MAX)
    return -1;
  return wake <= now ? 0 : wake - now > 60000 ? 60000 : (int) (wake - now);
}

/* Before the bytes that follow from them: a session may end on a refusal's answer, and whoever
 * has that answer finds its decision told. */
static void
write_decisions (Server *self,
                 short   events)
{
  struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT, .revents = events };

  while (out.revents != 0)
    {
      /* Decisions that nobody will see must not be made. */
      if ((out.revents & (POLLERR | POLLHUP | POLLNVAL)) ||
          !ow_proxy_report_write (self->context.report))
        {
          fail (self, "Nobody reads the decisions any more.");
          return;
        }
      out.revents = 0;
      if (ow_proxy_report_wants_to_write (self->context.report))
        poll (&out, 1, 0);
    }
}

static void
handle (Server              *self,
        const struct pollfd *polled,
        int64_t              now)
{
  size_t n_polled = self->n_connections;

  write_decisions (self, polled[POLL_STDOUT].revents);
  for (size_t i = 0; i < n_polled; i++)
    ow_proxy_connection_handle (self->connections[i], &polled[POLL_FIRST_CONNECTION + 2 * i], now);
  if (polled[POLL_RESOLVER].revents != 0)
    take_answers (self, now);
  if (polled[POLL_LISTENER].revents != 0)
    accept_client (self, now);
  if (polled[POLL_STDIN].revents != 0)
    read_stdin (self);
  drop_finished (self, now);
}

static volatile sig_atomic_t asked_to_end;

static void
on_terminate (int number)
{
  asked_to_end = true;
}

/* SIGTERM comes while the loop waits and at no other time. Returns the mask to wait with. */
static sigset_t
take_terminate (void)
{
  const struct sigaction action = { .sa_handler = on_terminate };
  sigset_t blocked;
  sigset_t former;

  sigemptyset (&blocked);
  sigaddset (&blocked, SIGTERM);
  sigprocmask (SIG_BLOCK, &blocked, &former);
  sigaction (SIGTERM, &action, NULL);
  sigdelset (&former, SIGTERM);
  return former;
}

static void
wait_and_handle (Server         *self,
                 struct pollfd  *polled,
                 const sigset_t *mask)
{
  int timeout = prepare (self, polled, now_ms ());
  const struct timespec limit = { timeout / 1000, timeout % 1000 * 1000000L };
  int ready = ppoll (polled, POLL_FIRST_CONNECTION + 2 * self->n_connections,
                     timeout < 0 ? NULL : &limit, mask);

  if (asked_to_end)
    self->over = true;
  else if (ready < 0 && errno != EINTR)
    fail (self, "Waiting for something to happen failed: %s", strerror (errno));
  else if (ready >= 0)
    handle (self, polled, now_ms ());
}

/* The last of what was counted, as far as someone reads without being waited for. */
static void
write_rest (Server *self)
{
  struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

  ow_proxy_traffic_flush (self->context.traffic);
  if (self->status == 0 && ow_proxy_report_wants_to_write (self->context.report) &&
      poll (&out, 1, 0) == 1)
    write_decisions (self, out.revents);
}

static void
clear (Server *self)
{
  for (size_t i = 0; i < self->n_connections; i++)
    ow_proxy_connection_free (self->connections[i]);
  write_rest (self);
  if (self->listener >= 0)
    ow_proxy_listener_close (self->listener, self->options->socket_path);
  ow_frame_reader_free (self->reader);
  ow_proxy_traffic_free (self->context.traffic);
  ow_proxy_report_free (self->context.report);
  ow_host_list_free (self->context.list);
}

int
ow_proxy_server_run (const OwProxyServerOptions *options)
{
  OwProxyReport *report = ow_proxy_report_new (STDOUT_FILENO);
  const sigset_t mask = take_terminate ();
  static struct pollfd polled[POLL_FIRST_CONNECTION + 2 * OW_PROXY_SERVER_MAX_CONNECTIONS];
  Server self = {
    .options = options,
    .listener = -1,
    .context = {
      .resolver = ow_proxy_resolver_new (),
      .report = report,
      .traffic = ow_proxy_traffic_new (report),
      .time_scale = options->time_scale,
    },
    .reader = ow_frame_reader_new (MAX_LIST_BYTES),
  };

  while (!self.over)
    wait_and_handle (&self, polled, &mask);
  clear (&self);
  return self.status;
}
