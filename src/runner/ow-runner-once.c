/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-once-private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-setup-private.h"
#include "wire/ow-frame.h"
#include "wire/ow-mcp.h"
#include "wire/ow-rpc.h"

#define WAIT_MS     60000
#define BUFFER_SIZE 65536u

typedef struct {
  int         fd;       /* the server */
  int         wait_ms;
  const char *instance; /* (nullable) */
  char       *requests; /* (owned) */
  size_t      length;
  json_t     *open;     /* (owned) ids without a reply */
  bool        greeted;
  bool        failed;
} Once;

static bool
complain (const char *message)
{
  fprintf (stderr, "openworker-runner: %s\n", message);
  return false;
}

/* --- stdin --- */

static bool
read_requests (Once *self)
{
  struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

  self->requests = malloc (OW_RUNNER_ONCE_MAX + 1);
  if (self->requests == NULL)
    return complain ("There is no memory to begin with.");
  for (;;)
    {
      ssize_t got;

      if (poll (&input, 1, self->wait_ms) == 0)
        return complain ("stdin does not end, so nothing was sent.");
      got = read (STDIN_FILENO, self->requests + self->length,
                  OW_RUNNER_ONCE_MAX + 1 - self->length);
      if (got < 0 && (errno == EINTR || errno == EAGAIN))
        continue;
      if (got <= 0)
        return got == 0 || complain ("stdin cannot be read, so nothing was sent.");
      self->length += (size_t) got;
      if (self->length > OW_RUNNER_ONCE_MAX)
        return complain ("The requests are larger than 4 MiB together, so none was sent.");
    }
}

static bool
note_request (const char *line,
              size_t      length,
              void       *user_data)
{
  Once *self = user_data;
  char error[OW_WIRE_ERROR_SIZE];
  OwRpcMessage message;
  int code;

  if (!ow_rpc_message_parse (&message, line, length, &code, error))
    {
      self->failed = true;
      return false;
    }
  if (message.kind == OW_RPC_REQUEST)
    json_array_append (self->open, message.id);
  ow_rpc_message_clear (&message);
  return true;
}

/* One half of a request could do half of what was meant: all of them must be whole. */
static bool
note_requests (Once *self)
{
  OwFrameReader *reader = ow_frame_reader_new (OW_FRAME_MAX_BYTES);
  char error[OW_WIRE_ERROR_SIZE];

  if (!ow_frame_reader_feed (reader, self->requests, self->length, note_request, self, error)
      || ow_frame_reader_pending (reader) > 0)
    self->failed = true;
  ow_frame_reader_free (reader);
  return !self->failed || complain ("stdin has a line that is no message, so nothing was sent.");
}

/* --- the server --- */

static bool
put (Once       *self,
     int         fd,
     const char *data,
     size_t      length)
{
  while (length > 0)
    {
      struct pollfd output = { .fd = fd, .events = POLLOUT };
      ssize_t n;

      if (poll (&output, 1, self->wait_ms) == 0)
        return false; /* whoever was to read it is gone */
      n = write (fd, data, length);
      if (n < 0 && (errno == EINTR || errno == EAGAIN))
        continue;
      if (n < 0)
        return false;
      data += n;
      length -= (size_t) n;
    }
  return true;
}

static void
take_reply (Once         *self,
            const json_t *id)
{
  size_t i;
  json_t *open;

  json_array_foreach (self->open, i, open)
    {
      if (json_equal (open, id))
        {
          json_array_remove (self->open, i);
          return;
        }
    }
}

/* The hello: only now is it known who would be asked. */
static void
greet (Once               *self,
       const OwRpcMessage *message)
{
  const char *instance = ow_json_get_string (message->params, "instance", "");

  self->greeted = true;
  if (message->kind != OW_RPC_NOTIFICATION || strcmp (message->method, OW_MCP_HELLO) != 0)
    self->failed = !complain ("What answers is no runner, so nothing was sent.");
  else if (self->instance != NULL && strcmp (instance, self->instance) != 0)
    self->failed = !complain ("Another runner has taken the place of the one that was meant, "
                              "so nothing was sent.");
  else if (!put (self, self->fd, self->requests, self->length))
    self->failed = !complain ("The server has ended while it was asked.");
}

static bool
pass_line (const char *line,
           size_t      length,
           void       *user_data)
{
  Once *self = user_data;
  char error[OW_WIRE_ERROR_SIZE];
  OwRpcMessage message;
  int code;

  if (!put (self, STDOUT_FILENO, line, length) || !put (self, STDOUT_FILENO, "\n", 1)
      || !ow_rpc_message_parse (&message, line, length, &code, error))
    {
      self->failed = true;
      return false;
    }
  if (!self->greeted)
    greet (self, &message);
  else if (message.kind == OW_RPC_RESULT || message.kind == OW_RPC_ERROR)
    take_reply (self, message.id);
  ow_rpc_message_clear (&message);
  return !self->failed && json_array_size (self->open) > 0;
}

static bool
pass_replies (Once *self)
{
  struct pollfd fds[2] = {
    { .fd = self->fd, .events = POLLIN },
    { .fd = STDOUT_FILENO, .events = 0 },
  };
  OwFrameReader *reader = ow_frame_reader_new (OW_FRAME_MAX_BYTES);
  char error[OW_WIRE_ERROR_SIZE];
  static char buffer[BUFFER_SIZE];

  /* The end of whatever the relay has written into the line before us. */
  self->failed = !put (self, STDOUT_FILENO, "\n", 1);
  while (!self->failed && (!self->greeted || json_array_size (self->open) > 0))
    {
      ssize_t got;

      if (poll (fds, 2, -1) < 0 || (fds[0].revents == 0 && fds[1].revents == 0))
        continue;
      if ((fds[1].revents & (POLLERR | POLLHUP)) != 0)
        break; /* nobody is there to read it */
      got = read (self->fd, buffer, sizeof buffer);
      if (got < 0 && (errno == EINTR || errno == EAGAIN))
        continue;
      if (got <= 0)
        self->failed = !complain ("The server has ended, or has turned to a newer connection.");
      else if (!ow_frame_reader_feed (reader, buffer, (size_t) got, pass_line, self, error))
        self->failed = !complain (error);
    }
  ow_frame_reader_free (reader);
  return !self->failed && self->greeted && json_array_size (self->open) == 0;
}

/* Not before all that will be asked is there: connecting takes the place of who is connected. */
static bool
reach (Once       *self,
       const char *path)
{
  char error[OW_RUNNER_ERROR_SIZE];

  self->fd = ow_runner_socket_connect (path, error);
  if (self->fd < 0)
    return complain (error);
  fcntl (self->fd, F_SETFL, fcntl (self->fd, F_GETFL) | O_NONBLOCK);
  return true;
}

int
ow_runner_once (const char *path,
                const char *instance,
                int64_t     silence_ms)
{
  Once self = { .fd = -1, .instance = instance, .open = json_array (),
                .wait_ms = silence_ms > 0 ? (int) silence_ms : WAIT_MS };
  int flags = fcntl (STDOUT_FILENO, F_GETFL);
  bool ok;

  if (flags >= 0)
    fcntl (STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK);
  ok = read_requests (&self) && note_requests (&self) && reach (&self, path)
       && pass_replies (&self);
  if (flags >= 0)
    fcntl (STDOUT_FILENO, F_SETFL, flags);
  if (self.fd >= 0)
    close (self.fd);
  free (self.requests);
  json_decref (self.open);
  return ok ? 0 : 1;
}
