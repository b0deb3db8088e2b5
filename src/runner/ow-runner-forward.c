/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ow-runner-asker-private.h"
#include "ow-runner-setup-private.h"

#define CONNECTIONS_MAX 256u
#define BUFFER_SIZE     65536u
/* A socket whose owner is slow to accept says "again": asked anew, so often. */
#define RETRY_MS        10
#define RETRIES_MAX     500

typedef struct _Connection Connection;

/* One direction: what was read from one end and not yet written to the other. */
typedef struct {
  char   data[BUFFER_SIZE];
  size_t start;
  size_t length;
  bool   ended; /* the end it comes from has no more */
  bool   shut;  /* and the other end was told */
} Flow;

typedef struct {
  Connection     *connection;
  int             fd;
  OwRunnerSource *source;
  Flow            out; /* to be written to this end */
} End;

struct _Connection {
  OwRunnerForward *forward;
  Connection      *next;
  OwRunnerTimer    retry;
  unsigned int     retries;
  End              ends[2];
};

struct _OwRunnerForward {
  OwRunnerLoop      *loop;
  struct sockaddr_un address;
  unsigned int       port;
  OwRunnerAsker      asker;
  int                listen_fd;
  OwRunnerSource    *source;
  Connection        *connections;
  unsigned int       n;
};

static void
connection_free (Connection *self)
{
  OwRunnerForward *forward = self->forward;

  for (Connection **at = &forward->connections; *at != NULL; at = &(*at)->next)
    {
      if (*at == self)
        {
          *at = self->next;
          forward->n--;
          break;
        }
    }
  ow_runner_loop_stop_timer (forward->loop, &self->retry);
  for (int i = 0; i < 2; i++)
    {
      ow_runner_loop_remove (forward->loop, self->ends[i].source);
      if (self->ends[i].fd >= 0)
        close (self->ends[i].fd);
    }
  free (self);
}

static End *
other_end (End *end)
{
  return &end->connection->ends[end == &end->connection->ends[0] ? 1 : 0];
}

static void
update_events (End *end)
{
  Flow *in = &other_end (end)->out;
  uint32_t events = 0;

  if (end->out.length > 0)
    events |= EPOLLOUT;
  if (!in->ended && in->length == 0)
    events |= EPOLLIN;
  ow_runner_loop_set_events (end->connection->forward->loop, end->source, events);
}

/* Returns false when the connection is broken. */
static bool
end_write (End *end)
{
  Flow *flow = &end->out;

  while (flow->length > 0)
    {
      ssize_t n = send (end->fd, flow->data + flow->start, flow->length, MSG_NOSIGNAL);

      if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
      if (n <= 0)
        return false;
      flow->start += (size_t) n;
      flow->length -= (size_t) n;
    }
  if (flow->ended && !flow->shut)
    {
      flow->shut = true;
      shutdown (end->fd, SHUT_WR);
    }
  return true;
}

static bool
end_read (End *end)
{
  Flow *flow = &other_end (end)->out;
  ssize_t got;

  if (flow->ended || flow->length > 0)
    return true;
  got = read (end->fd, flow->data, sizeof flow->data);
  if (got < 0)
    return errno == EAGAIN || errno == EINTR;
  flow->start = 0;
  flow->length = (size_t) got;
  flow->ended = got == 0;
  return end_write (other_end (end));
}

static void
on_end_ready (uint32_t events,
              void    *user_data)
{
  End *end = user_data;
  Connection *self = end->connection;
  bool ok = true;

  if ((events & EPOLLOUT) != 0)
    ok = end_write (end);
  if (ok && (events & (EPOLLIN | EPOLLHUP)) != 0)
    ok = end_read (end);
  if ((events & EPOLLERR) != 0)
    ok = false;
  /* Hung up in both directions while there is nothing left to tell it. */
  if ((events & EPOLLHUP) != 0 && other_end (end)->out.ended && other_end (end)->out.length == 0)
    ok = false;
  if (!ok || (self->ends[0].out.shut && self->ends[1].out.shut))
    {
      connection_free (self);
      return;
    }
  update_events (&self->ends[0]);
  update_events (&self->ends[1]);
}

static void
try_connect (void *user_data)
{
  Connection *self = user_data;
  OwRunnerForward *forward = self->forward;

  if (connect (self->ends[1].fd, (struct sockaddr *) &forward->address,
               sizeof forward->address) < 0)
    {
      if (errno == EAGAIN && self->retries++ < RETRIES_MAX)
        ow_runner_loop_start_timer (forward->loop, &self->retry, RETRY_MS);
      else
        connection_free (self);
      return;
    }
  for (int i = 0; i < 2; i++)
    {
      self->ends[i].source = ow_runner_loop_add (forward->loop, self->ends[i].fd, EPOLLIN,
                                                 on_end_ready, &self->ends[i]);
      if (self->ends[i].source == NULL)
        {
          connection_free (self);
          return;
        }
    }
  update_events (&self->ends[1]);
}

/* The first line to the proxy is ours (docs/proxy.md): whatever a client sends comes behind it, and
 * so is none. */
static void
name_program (Connection  *self,
              unsigned int peer_port)
{
  OwRunnerForward *forward = self->forward;
  Flow *flow = &self->ends[1].out;
  char program[OW_RUNNER_ASKER_SIZE];

  ow_runner_asker_find (&forward->asker, peer_port, forward->port, program);
  flow->length = (size_t) snprintf (flow->data, sizeof flow->data, "\x01%s\n", program);
}

static void
start_connection (OwRunnerForward *self,
                  int              fd,
                  unsigned int     peer_port)
{
  Connection *connection = self->n < CONNECTIONS_MAX ? calloc (1, sizeof *connection) : NULL;

  if (connection == NULL)
    {
      close (fd);
      return;
    }
  connection->forward = self;
  connection->next = self->connections;
  connection->retry = (OwRunnerTimer) { .func = try_connect, .user_data = connection };
  self->connections = connection;
  self->n++;
  for (int i = 0; i < 2; i++)
    connection->ends[i].connection = connection;
  connection->ends[0].fd = fd;
  connection->ends[1].fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (connection->ends[1].fd < 0)
    {
      connection_free (connection);
      return;
    }
  name_program (connection, peer_port);
  try_connect (connection);
}

static void
on_connection (uint32_t events,
               void    *user_data)
{
  OwRunnerForward *self = user_data;
  struct sockaddr_in peer = { 0 };
  socklen_t length = sizeof peer;
  int fd = accept4 (self->listen_fd, (struct sockaddr *) &peer, &length,
                    SOCK_CLOEXEC | SOCK_NONBLOCK);

  if (fd >= 0)
    start_connection (self, fd, ntohs (peer.sin_port));
}

OwRunnerForward *
ow_runner_forward_new (OwRunnerLoop *loop,
                       const char   *path,
                       unsigned int  port,
                       char          error[OW_RUNNER_ERROR_SIZE])
{
  OwRunnerForward *self = calloc (1, sizeof *self);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons ((uint16_t) port),
                                 .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  int one = 1;

  if (self == NULL)
    return NULL;
  self->loop = loop;
  self->port = port;
  self->listen_fd = -1;
  self->address.sun_family = AF_UNIX;
  if (strlen (path) >= sizeof self->address.sun_path)
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "The path of the proxy's socket is too long.");
      free (self);
      return NULL;
    }
  memcpy (self->address.sun_path, path, strlen (path));
  self->listen_fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (self->listen_fd >= 0)
    setsockopt (self->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (self->listen_fd < 0
      || bind (self->listen_fd, (struct sockaddr *) &address, sizeof address) < 0
      || listen (self->listen_fd, 64) < 0)
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "127.0.0.1:%u cannot be listened on: %s.", port,
                strerror (errno));
      ow_runner_forward_free (self);
      return NULL;
    }
  self->source = ow_runner_loop_add (loop, self->listen_fd, EPOLLIN, on_connection, self);
  if (self->source != NULL)
    return self;
  ow_runner_forward_free (self);
  return NULL;
}

void
ow_runner_forward_free (OwRunnerForward *self)
{
  if (self == NULL)
    return;
  while (self->connections != NULL)
    connection_free (self->connections);
  ow_runner_loop_remove (self->loop, self->source);
  if (self->listen_fd >= 0)
    close (self->listen_fd);
  free (self);
}
