/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "wire/ow-mcp-server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/ow-frame.h"

/* Open requests of one client; the owner has a lower limit of its own for calls. */
#define MAX_OPEN 1024

struct _OwMcpServer {
  char               *name;
  char               *version;
  json_t             *tools;
  json_t             *server_meta;  /* (nullable) */
  OwMcpServerHandlers handlers;
  void               *user_data;
  OwFrameReader      *reader;
  json_t             *open;         /* a set: the ids as id_key() writes them */
  bool                initialized;
};

/* Long enough for the longest id with its mark. */
typedef char IdKey[OW_RPC_MAX_ID_BYTES + 8];

/* 7 and "7" are two ids. */
static bool
id_key (const json_t *id,
        IdKey         key)
{
  if (json_is_integer (id))
    snprintf (key, sizeof (IdKey), "i%" JSON_INTEGER_FORMAT, json_integer_value (id));
  else if (json_is_string (id) && json_string_length (id) <= OW_RPC_MAX_ID_BYTES)
    snprintf (key, sizeof (IdKey), "s%s", json_string_value (id));
  else
    return false;
  return true;
}

static bool
is_open (OwMcpServer  *self,
         const json_t *id)
{
  IdKey key;

  return id_key (id, key) && json_object_get (self->open, key) != NULL;
}

OwMcpServer *
ow_mcp_server_new (const char                *name,
                   const char                *version,
                   json_t                    *tools,
                   json_t                    *server_meta,
                   const OwMcpServerHandlers *handlers,
                   void                      *user_data)
{
  OwMcpServer *self = calloc (1, sizeof *self);

  if (self == NULL)
    abort ();
  self->name = strdup (name);
  self->version = strdup (version);
  if (self->name == NULL || self->version == NULL)
    abort ();
  self->tools = json_incref (tools);
  self->server_meta = json_incref (server_meta);
  self->handlers = *handlers;
  self->user_data = user_data;
  self->reader = ow_frame_reader_new (OW_FRAME_MAX_BYTES);
  self->open = json_object ();
  return self;
}

void
ow_mcp_server_free (OwMcpServer *self)
{
  if (self == NULL)
    return;
  ow_frame_reader_free (self->reader);
  json_decref (self->open);
  json_decref (self->tools);
  json_decref (self->server_meta);
  free (self->name);
  free (self->version);
  free (self);
}

/* Steals @message. */
static bool
send_message (OwMcpServer *self,
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

static void
send_error (OwMcpServer  *self,
            const json_t *id,
            int           code,
            const char   *sentence)
{
  send_message (self, ow_rpc_error (id != NULL ? json_deep_copy (id) : NULL, code, sentence, NULL));
}

static void
send_result (OwMcpServer  *self,
             const json_t *id,
             json_t       *result)
{
  if (!send_message (self, ow_rpc_result (json_deep_copy (id), result)))
    send_error (self, id, OW_RPC_INTERNAL_ERROR, "The result is too large for one message.");
}

/* Replies go out as revision 2025-06-18 has them; a 2024-11-05 client reads those too.
 * 2025-03-26 is not granted because it obliges a server to accept batches. */
static const char *
negotiate (const char *wanted)
{
  return strcmp (wanted, "2024-11-05") == 0 ? "2024-11-05" : OW_MCP_PROTOCOL_VERSION;
}

static void
handle_initialize (OwMcpServer        *self,
                   const OwRpcMessage *message)
{
  const char *wanted = ow_json_get_string (message->params, "protocolVersion", NULL);
  json_t *result;

  if (self->initialized)
    {
      send_error (self, message->id, OW_RPC_INVALID_REQUEST,
                  "initialize was already answered on this connection.");
      return;
    }
  if (wanted == NULL)
    {
      send_error (self, message->id, OW_RPC_INVALID_PARAMS, "initialize needs a protocolVersion.");
      return;
    }

  self->initialized = true;
  result = json_pack ("{s:s, s:{s:{}}, s:{s:s, s:s}}",
                      "protocolVersion", negotiate (wanted),
                      "capabilities", "tools",
                      "serverInfo", "name", self->name, "version", self->version);
  if (self->server_meta != NULL)
    json_object_set (result, "_meta", self->server_meta);
  send_result (self, message->id, result);
}

static void
handle_tools_list (OwMcpServer        *self,
                   const OwRpcMessage *message)
{
  json_t *result;

  if (json_object_get (message->params, "cursor") != NULL)
    {
      send_error (self, message->id, OW_RPC_INVALID_PARAMS,
                  "The list has one page, so no cursor is known.");
      return;
    }
  result = json_object ();
  json_object_set (result, "tools", self->tools);
  send_result (self, message->id, result);
}

static void
hand_over_call (OwMcpServer        *self,
                const OwRpcMessage *message)
{
  const char *name = ow_json_get_string (message->params, "name", NULL);
  json_t *arguments = json_object_get (message->params, "arguments");
  json_t *meta = json_object_get (message->params, "_meta");
  json_t *empty;

  if (name == NULL || (arguments != NULL && !json_is_object (arguments)) ||
      (meta != NULL && !json_is_object (meta)))
    {
      ow_mcp_server_reply_error (self, message->id, OW_RPC_INVALID_PARAMS,
                                 "tools/call needs a name, and an object for its arguments.", NULL);
      return;
    }
  empty = arguments == NULL ? json_object () : NULL;
  self->handlers.call (self, message->id, name, arguments != NULL ? arguments : empty, meta,
                       self->user_data);
  json_decref (empty);
}

/* The requests that the owner answers, now or later. */
static void
hand_over (OwMcpServer        *self,
           const OwRpcMessage *message)
{
  IdKey key;

  if (!id_key (message->id, key))
    return;
  if (json_object_size (self->open) >= MAX_OPEN)
    {
      send_error (self, message->id, OW_RPC_INTERNAL_ERROR, "Too many requests are open.");
      return;
    }
  json_object_set_new (self->open, key, json_true ());

  if (strcmp (message->method, OW_MCP_TOOLS_CALL) == 0)
    hand_over_call (self, message);
  else if (self->handlers.request == NULL ||
           !self->handlers.request (self, message->id, message->method, message->params,
                                    self->user_data))
    ow_mcp_server_reply_error (self, message->id, OW_RPC_METHOD_NOT_FOUND,
                               "This server does not know the method.", NULL);
}

static void
handle_request (OwMcpServer        *self,
                const OwRpcMessage *message)
{
  const char *method = message->method;

  /* An answer under an id that is still open would be taken for the first request's. */
  if (is_open (self, message->id))
    send_error (self, NULL, OW_RPC_INVALID_REQUEST, "A request with this id is still open.");
  else if (strcmp (method, OW_MCP_PING) == 0)
    send_result (self, message->id, json_object ());
  else if (strcmp (method, OW_MCP_INITIALIZE) == 0)
    handle_initialize (self, message);
  else if (!self->initialized)
    send_error (self, message->id, OW_RPC_INVALID_REQUEST, "initialize has to come first.");
  else if (strcmp (method, OW_MCP_TOOLS_LIST) == 0)
    handle_tools_list (self, message);
  else
    hand_over (self, message);
}

static void
handle_notification (OwMcpServer        *self,
                     const OwRpcMessage *message)
{
  const json_t *id = json_object_get (message->params, "requestId");

  if (strcmp (message->method, OW_MCP_CANCELLED) != 0 || self->handlers.cancelled == NULL)
    return;
  /* Unknown and finished ids are no fault: the reply may have been on its way. */
  if (is_open (self, id))
    self->handlers.cancelled (self, id, ow_json_get_string (message->params, "reason", NULL),
                              self->user_data);
}

static bool
on_line (const char *line,
         size_t      length,
         void       *user_data)
{
  OwMcpServer *self = user_data;
  OwRpcMessage message;
  char error[OW_WIRE_ERROR_SIZE];
  int code;

  if (!ow_rpc_message_parse (&message, line, length, &code, error))
    {
      send_error (self, NULL, code, error);
      return true;
    }
  if (message.kind == OW_RPC_REQUEST)
    handle_request (self, &message);
  else if (message.kind == OW_RPC_NOTIFICATION)
    handle_notification (self, &message);
  /* This server asks nothing, so a reply can be to no question of its own. */
  ow_rpc_message_clear (&message);
  return true;
}

bool
ow_mcp_server_feed (OwMcpServer *self,
                    const char  *data,
                    size_t       length,
                    char         error[OW_WIRE_ERROR_SIZE])
{
  return ow_frame_reader_feed (self->reader, data, length, on_line, self, error);
}

static bool
close_id (OwMcpServer  *self,
          const json_t *id)
{
  IdKey key;

  return id_key (id, key) && json_object_del (self->open, key) == 0;
}

bool
ow_mcp_server_reply (OwMcpServer  *self,
                     const json_t *id,
                     json_t       *result)
{
  if (!close_id (self, id))
    {
      json_decref (result);
      return false;
    }
  send_result (self, id, result);
  return true;
}

static bool
send_text (OwMcpServer  *self,
           const json_t *id,
           const char   *result,
           size_t        length)
{
  static const char begin[] = "{\"jsonrpc\":\"2.0\",\"id\":";
  static const char middle[] = ",\"result\":";
  size_t id_length = 0;
  char *id_text = ow_json_dump (id, &id_length);
  size_t whole = sizeof begin - 1 + id_length + sizeof middle - 1 + length + 1;
  char *line = id_text != NULL && result != NULL && whole <= OW_FRAME_MAX_BYTES
               ? malloc (whole + 1) : NULL;
  char *at = line;

  if (line != NULL)
    {
      at = mempcpy (at, begin, sizeof begin - 1);
      at = mempcpy (at, id_text, id_length);
      at = mempcpy (at, middle, sizeof middle - 1);
      at = mempcpy (at, result, length);
      at = mempcpy (at, "}\n", 2);
      self->handlers.write (line, (size_t) (at - line), self->user_data);
    }
  free (id_text);
  free (line);
  return line != NULL;
}

bool
ow_mcp_server_reply_text (OwMcpServer  *self,
                          const json_t *id,
                          const char   *result,
                          size_t        length)
{
  if (!close_id (self, id))
    return false;
  if (!send_text (self, id, result, length))
    send_error (self, id, OW_RPC_INTERNAL_ERROR, "The result is too large for one message.");
  return true;
}

bool
ow_mcp_server_reply_error (OwMcpServer  *self,
                           const json_t *id,
                           int           code,
                           const char   *message,
                           json_t       *data)
{
  if (!close_id (self, id))
    {
      json_decref (data);
      return false;
    }
  if (!send_message (self, ow_rpc_error (json_deep_copy (id), code, message, data)))
    send_error (self, id, OW_RPC_INTERNAL_ERROR, "The error is too large for one message.");
  return true;
}

void
ow_mcp_server_notify (OwMcpServer *self,
                      const char  *method,
                      json_t      *params)
{
  send_message (self, ow_rpc_notification (method, params));
}
