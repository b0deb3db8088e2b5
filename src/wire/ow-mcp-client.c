/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "wire/ow-mcp-client.h"

#include <stdlib.h>
#include <string.h>

#include "wire/ow-frame.h"

/* Cancelled ids whose reply may still come; beyond that the oldest are forgotten. */
#define MAX_CANCELLED 256

typedef struct {
  json_int_t     id;
  OwMcpReplyFunc reply;
  void          *user_data;
} Open;

struct _OwMcpClient {
  OwMcpClientHandlers handlers;
  void               *user_data;
  OwFrameReader      *reader;
  json_int_t          last_id;
  Open               *open;        /* in the order of their ids */
  size_t              n_open;
  size_t              open_room;
  json_int_t          cancelled[MAX_CANCELLED];
  size_t              n_cancelled; /* all that ever were put in; 0 marks a free place */
  bool                seen_frame;
  unsigned int        violations;
  unsigned int        banner_lines;
  unsigned int        late_replies;
};

OwMcpClient *
ow_mcp_client_new (const OwMcpClientHandlers *handlers,
                   void                      *user_data)
{
  OwMcpClient *self = calloc (1, sizeof *self);

  if (self == NULL)
    abort ();
  self->handlers = *handlers;
  self->user_data = user_data;
  self->reader = ow_frame_reader_new (OW_FRAME_MAX_BYTES);
  return self;
}

void
ow_mcp_client_free (OwMcpClient *self)
{
  if (self == NULL)
    return;
  ow_frame_reader_free (self->reader);
  free (self->open);
  free (self);
}

/* The counters stop at their end: a server must not be able to count itself clean. */
static void
count (unsigned int *counter)
{
  if (*counter < 0x7fffffffu)
    (*counter)++;
}

/* Steals @message. */
static bool
send_message (OwMcpClient *self,
              json_t      *message)
{
  size_t length = 0;
  char *line = ow_rpc_line (message, &length);

  if (line == NULL)
    return false;
  self->handlers.write (line, length, self->user_data);
  free (line);
  return true;
}

static bool
take_open (OwMcpClient *self,
           json_int_t   id,
           Open        *taken)
{
  for (size_t i = 0; i < self->n_open; i++)
    {
      if (self->open[i].id != id)
        continue;
      *taken = self->open[i];
      self->n_open--;
      memmove (&self->open[i], &self->open[i + 1], (self->n_open - i) * sizeof (Open));
      return true;
    }
  return false;
}

static bool
take_cancelled (OwMcpClient *self,
                json_int_t   id)
{
  if (id <= 0)
    return false;
  for (size_t i = 0; i < MAX_CANCELLED; i++)
    {
      if (self->cancelled[i] != id)
        continue;
      self->cancelled[i] = 0;
      return true;
    }
  return false;
}

static void
handle_reply (OwMcpClient        *self,
              const OwRpcMessage *message)
{
  json_int_t id = json_is_integer (message->id) ? json_integer_value (message->id) : 0;
  json_t *refusal;
  Open open;

  if (take_cancelled (self, id))
    {
      count (&self->late_replies);
      return;
    }
  if (!take_open (self, id, &open))
    {
      count (&self->violations);
      return;
    }
  if (message->kind == OW_RPC_ERROR || json_is_object (message->result))
    {
      open.reply (message->result, message->error, open.user_data);
      return;
    }

  /* Its request is over all the same, and whoever waits for it has to hear so. */
  count (&self->violations);
  refusal = json_pack ("{s:i, s:s}", "code", OW_RPC_INTERNAL_ERROR,
                       "message", "The server's result is not an object.");
  open.reply (NULL, refusal, open.user_data);
  json_decref (refusal);
}

static void
handle_request (OwMcpClient        *self,
                const OwRpcMessage *message)
{
  if (strcmp (message->method, OW_MCP_PING) == 0)
    send_message (self, ow_rpc_result (json_incref (message->id), NULL));
  else
    send_message (self, ow_rpc_error (json_incref (message->id), OW_RPC_METHOD_NOT_FOUND,
                                      "This client does not know the method.", NULL));
}

static bool
on_line (const char *line,
         size_t      length,
         void       *user_data)
{
  OwMcpClient *self = user_data;
  OwRpcMessage message;
  char error[OW_WIRE_ERROR_SIZE];
  int code;

  if (!ow_rpc_message_parse (&message, line, length, &code, error))
    {
      bool banner = code == OW_RPC_PARSE_ERROR && !self->seen_frame;

      count (banner ? &self->banner_lines : &self->violations);
      return true;
    }

  self->seen_frame = true;
  switch (message.kind)
    {
    case OW_RPC_REQUEST:
      handle_request (self, &message);
      break;
    case OW_RPC_NOTIFICATION:
      if (self->handlers.notification != NULL)
        self->handlers.notification (message.method, message.params, self->user_data);
      break;
    case OW_RPC_RESULT:
    case OW_RPC_ERROR:
      handle_reply (self, &message);
      break;
    }
  ow_rpc_message_clear (&message);
  return true;
}

bool
ow_mcp_client_feed (OwMcpClient *self,
                    const char  *data,
                    size_t       length,
                    char         error[OW_WIRE_ERROR_SIZE])
{
  return ow_frame_reader_feed (self->reader, data, length, on_line, self, error);
}

static void
add_open (OwMcpClient    *self,
          json_int_t      id,
          OwMcpReplyFunc  reply,
          void           *user_data)
{
  if (self->n_open == self->open_room)
    {
      self->open_room = self->open_room == 0 ? 8 : self->open_room * 2;
      self->open = reallocarray (self->open, self->open_room, sizeof (Open));
      if (self->open == NULL)
        abort ();
    }
  self->open[self->n_open++] = (Open) { id, reply, user_data };
}

json_int_t
ow_mcp_client_request (OwMcpClient    *self,
                       const char     *method,
                       json_t         *params,
                       OwMcpReplyFunc  reply,
                       void           *user_data)
{
  json_int_t id = ++self->last_id;
  Open unsent;

  /* Open before it is sent: the write may bring the reply with it. */
  add_open (self, id, reply, user_data);
  if (send_message (self, ow_rpc_request (json_integer (id), method, params)))
    return id;
  take_open (self, id, &unsent);
  return 0;
}

void
ow_mcp_client_notify (OwMcpClient *self,
                      const char  *method,
                      json_t      *params)
{
  send_message (self, ow_rpc_notification (method, params));
}

void
ow_mcp_client_cancel (OwMcpClient *self,
                      json_int_t   id,
                      bool         notify_server,
                      const char  *reason)
{
  json_t *params;
  Open open;

  if (!take_open (self, id, &open))
    return;
  self->cancelled[self->n_cancelled++ % MAX_CANCELLED] = id;
  if (!notify_server)
    return;
  params = json_pack ("{s:I}", "requestId", id);
  if (reason != NULL)
    json_object_set_new (params, "reason", json_string (reason));
  ow_mcp_client_notify (self, OW_MCP_CANCELLED, params);
}

unsigned int
ow_mcp_client_get_violations (const OwMcpClient *self)
{
  return self->violations;
}

unsigned int
ow_mcp_client_get_banner_lines (const OwMcpClient *self)
{
  return self->banner_lines;
}

unsigned int
ow_mcp_client_get_late_replies (const OwMcpClient *self)
{
  return self->late_replies;
}
