/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config.h"

#include "ow-runner-client-private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* A reader that lets this much wait is as good as gone. */
#define PENDING_MAX (64u * 1024u * 1024u)

struct _OwRunnerClient {
  OwRunnerLoop                 *loop;
  int                           in_fd;
  int                           out_fd;
  int                           out_flags; /* as they were: the descriptor may be shared */
  OwRunnerSource               *in_source;
  OwRunnerSource               *out_source; /* the same when in_fd is out_fd */
  OwMcpServer                  *mcp;
  const OwRunnerClientHandlers *handlers;
  void                         *user_data;
  char                         *out; /* (owned) */
  size_t                        out_at;
  size_t                        out_length;
  size_t                        out_capacity;
  bool                          active;
  bool                          broken;
  bool                          feeding;
  bool                          freed; /* while feeding */
};

static void
update_events (OwRunnerClient *self)
{
  uint32_t out = self->out_at < self->out_length ? EPOLLOUT : 0;
  uint32_t in = self->broken ? 0 : EPOLLIN;

  if (self->out_source == self->in_source)
    {
      ow_runner_loop_set_events (self->loop, self->in_source, in | out);
      return;
    }
  ow_runner_loop_set_events (self->loop, self->in_source, in);
  ow_runner_loop_set_events (self->loop, self->out_source, out);
}

static void
write_some (OwRunnerClient *self)
{
  while (self->out_at < self->out_length && !self->broken)
    {
      ssize_t n = write (self->out_fd, self->out + self->out_at, self->out_length - self->out_at);

      if (n > 0)
        self->out_at += (size_t) n;
      else if (n < 0 && errno == EAGAIN)
        break;
      else if (n < 0 && errno != EINTR)
        self->broken = true;
    }
  if (self->out_at == self->out_length)
    {
      self->out_at = 0;
      self->out_length = 0;
    }
}

static void
on_write (const char *line,
          size_t      length,
          void       *user_data)
{
  OwRunnerClient *self = user_data;
  size_t waiting = self->out_length - self->out_at;

  if (self->broken)
    return;
  if (waiting + length > PENDING_MAX)
    {
      self->broken = true;
      return;
    }
  if (self->out_length + length > self->out_capacity)
    {
      size_t capacity = waiting + length + 65536;
      char *out = malloc (capacity);

      if (out == NULL)
        {
          self->broken = true;
          return;
        }
      if (waiting > 0)
        memcpy (out, self->out + self->out_at, waiting);
      free (self->out);
      self->out = out;
      self->out_capacity = capacity;
      self->out_at = 0;
      self->out_length = waiting;
    }
  memcpy (self->out + self->out_length, line, length);
  self->out_length += length;
  write_some (self);
  update_events (self);
}

static void
on_call (OwMcpServer  *mcp,
         const json_t *id,
         const char   *name,
         json_t       *arguments,
         json_t       *meta,
         void         *user_data)
{
  OwRunnerClient *self = user_data;

  self->active = true;
  self->handlers->call (self, id, name, arguments, meta, self->user_data);
}

static bool
on_request (OwMcpServer  *mcp,
            const json_t *id,
            const char   *method,
            json_t       *params,
            void         *user_data)
{
  OwRunnerClient *self = user_data;

  self->active = true;
  return self->handlers->request (self, id, method, params, self->user_data);
}

static void
on_cancelled (OwMcpServer  *mcp,
              const json_t *id,
              const char   *reason,
              void         *user_data)
{
  OwRunnerClient *self = user_data;

  self->handlers->cancelled (self, id, self->user_data);
}

static const OwMcpServerHandlers mcp_handlers = {
  .write = on_write,
  .call = on_call,
  .request = on_request,
  .cancelled = on_cancelled,
};

static void
really_free (OwRunnerClient *self)
{
  ow_mcp_server_free (self->mcp);
  free (self->out);
  free (self);
}

void
ow_runner_client_free (OwRunnerClient *self)
{
  if (self == NULL || self->freed)
    return;
  ow_runner_loop_remove (self->loop, self->in_source);
  if (self->out_source != self->in_source)
    ow_runner_loop_remove (self->loop, self->out_source);
  fcntl (self->out_fd, F_SETFL, self->out_flags);
  if (self->out_fd != self->in_fd)
    close (self->out_fd);
  close (self->in_fd);
  self->broken = true;
  self->freed = true;
  if (!self->feeding)
    really_free (self);
}

static void
on_readable (OwRunnerClient *self)
{
  char buffer[65536];
  char error[OW_WIRE_ERROR_SIZE];
  ssize_t got = read (self->in_fd, buffer, sizeof buffer);
  bool alive;

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got <= 0)
    {
      self->broken = true;
      return;
    }
  self->handlers->heard (self, self->user_data);
  self->feeding = true;
  alive = ow_mcp_server_feed (self->mcp, buffer, (size_t) got, error);
  self->feeding = false;
  if (!alive)
    self->broken = true;
}

static void
on_events (OwRunnerClient *self,
           uint32_t        events,
           bool            in)
{
  if ((events & EPOLLOUT) != 0)
    write_some (self);
  if (in && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !self->broken)
    on_readable (self);
  else if (!in && (events & EPOLLERR) != 0)
    self->broken = true;
  if (self->freed)
    {
      really_free (self);
      return;
    }
  if (self->broken)
    self->handlers->closed (self, self->user_data);
  else
    update_events (self);
}

static void
on_in (uint32_t events,
       void    *user_data)
{
  on_events (user_data, events, true);
}

static void
on_out (uint32_t events,
        void    *user_data)
{
  on_events (user_data, events, false);
}

OwRunnerClient *
ow_runner_client_new (OwRunnerLoop                 *loop,
                      int                           in_fd,
                      int                           out_fd,
                      json_t                       *tools,
                      json_t                       *meta,
                      const OwRunnerClientHandlers *handlers,
                      void                         *user_data)
{
  OwRunnerClient *self = calloc (1, sizeof *self);

  if (self == NULL)
    return NULL;
  *self = (OwRunnerClient) { .loop = loop, .in_fd = in_fd, .out_fd = out_fd,
                             .handlers = handlers, .user_data = user_data };
  self->out_flags = fcntl (out_fd, F_GETFL);
  fcntl (out_fd, F_SETFL, self->out_flags | O_NONBLOCK);
  self->mcp = ow_mcp_server_new ("openworker-runner", OW_VERSION, tools, meta, &mcp_handlers,
                                 self);
  self->in_source = ow_runner_loop_add (loop, in_fd, EPOLLIN, on_in, self);
  self->out_source = in_fd == out_fd ? self->in_source
                                     : ow_runner_loop_add (loop, out_fd, 0, on_out, self);
  if (self->mcp == NULL || self->in_source == NULL || self->out_source == NULL)
    {
      ow_runner_client_free (self);
      return NULL;
    }
  return self;
}

OwMcpServer *
ow_runner_client_get_mcp (OwRunnerClient *self)
{
  return self->mcp;
}

bool
ow_runner_client_is_active (const OwRunnerClient *self)
{
  return self->active;
}

size_t
ow_runner_client_get_pending (const OwRunnerClient *self)
{
  return self->out_length - self->out_at;
}

void
ow_runner_client_send (OwRunnerClient *self,
                       json_t         *message)
{
  size_t length;
  char *text = ow_json_dump (message, &length);

  if (text != NULL)
    {
      /* The terminator's place takes the newline. */
      text[length] = '\n';
      on_write (text, length + 1, self);
    }
  free (text);
  json_decref (message);
}

void
ow_runner_client_flush (OwRunnerClient *self,
                        int             max_ms)
{
  int64_t deadline = ow_runner_loop_now () + max_ms;

  while (self->out_at < self->out_length && !self->broken)
    {
      struct pollfd pollfd = { .fd = self->out_fd, .events = POLLOUT };
      int64_t left = deadline - ow_runner_loop_now ();

      if (left <= 0 || poll (&pollfd, 1, (int) left) <= 0)
        break;
      write_some (self);
    }
}
