/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "wire/ow-rpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/ow-frame.h"

static bool
is_id (const json_t *id)
{
  return json_is_integer (id) ||
         (json_is_string (id) && json_string_length (id) <= OW_RPC_MAX_ID_BYTES);
}

static bool
is_error (const json_t *error)
{
  return json_is_object (error) && json_is_integer (json_object_get (error, "code")) &&
         json_is_string (json_object_get (error, "message"));
}

/* Both classifiers return what is wrong with the message, or NULL. */
static const char *
classify_call (OwRpcMessage *message)
{
  json_t *method = json_object_get (message->root, "method");

  if (!json_is_string (method) || json_string_length (method) == 0)
    return "The message's method is not a name.";
  if (message->result != NULL || message->error != NULL)
    return "The message is a call and a reply at the same time.";
  if (message->id != NULL && !is_id (message->id))
    return "The message's id is neither an integer nor a short string.";
  if (message->params != NULL && !json_is_object (message->params) &&
      !json_is_array (message->params))
    return "The message's params are neither an object nor an array.";

  message->method = json_string_value (method);
  message->kind = message->id != NULL ? OW_RPC_REQUEST : OW_RPC_NOTIFICATION;
  return NULL;
}

static const char *
classify_reply (OwRpcMessage *message)
{
  if ((message->result == NULL) == (message->error == NULL))
    return "The message is neither a call nor a reply.";
  /* An error may answer a frame whose id could not be read. */
  if (message->error != NULL && json_is_null (message->id))
    message->id = NULL;
  else if (!is_id (message->id))
    return "The reply's id is neither an integer nor a short string.";
  if (message->error != NULL && !is_error (message->error))
    return "The reply's error has no code or no message.";

  message->kind = message->error != NULL ? OW_RPC_ERROR : OW_RPC_RESULT;
  return NULL;
}

static const char *
classify (OwRpcMessage *message)
{
  json_t *root = message->root;

  if (json_is_array (root))
    return "Batches of messages are not supported.";
  if (!json_is_object (root))
    return "The frame is not a JSON object.";
  if (strcmp (ow_json_get_string (root, "jsonrpc", ""), "2.0") != 0)
    return "The message is not JSON-RPC 2.0.";

  message->id = json_object_get (root, "id");
  message->params = json_object_get (root, "params");
  message->result = json_object_get (root, "result");
  message->error = json_object_get (root, "error");
  if (json_object_get (root, "method") != NULL)
    return classify_call (message);
  return classify_reply (message);
}

bool
ow_rpc_message_parse (OwRpcMessage *message,
                      const char   *line,
                      size_t        length,
                      int          *code,
                      char          error[OW_WIRE_ERROR_SIZE])
{
  const char *wrong;

  memset (message, 0, sizeof *message);
  message->root = ow_json_parse (line, length, error);
  if (message->root == NULL)
    {
      *code = OW_RPC_PARSE_ERROR;
      return false;
    }
  wrong = classify (message);
  if (wrong != NULL)
    {
      ow_rpc_message_clear (message);
      *code = OW_RPC_INVALID_REQUEST;
      snprintf (error, OW_WIRE_ERROR_SIZE, "%s", wrong);
      return false;
    }
  return true;
}

void
ow_rpc_message_clear (OwRpcMessage *message)
{
  json_decref (message->root);
  memset (message, 0, sizeof *message);
}

static json_t *
new_message (void)
{
  json_t *message = json_object ();

  json_object_set_new (message, "jsonrpc", json_string ("2.0"));
  return message;
}

json_t *
ow_rpc_request (json_t     *id,
                const char *method,
                json_t     *params)
{
  json_t *message = new_message ();

  json_object_set_new (message, "id", id);
  json_object_set_new (message, "method", json_string (method));
  if (params != NULL)
    json_object_set_new (message, "params", params);
  return message;
}

json_t *
ow_rpc_notification (const char *method,
                     json_t     *params)
{
  json_t *message = new_message ();

  json_object_set_new (message, "method", json_string (method));
  if (params != NULL)
    json_object_set_new (message, "params", params);
  return message;
}

json_t *
ow_rpc_result (json_t *id,
               json_t *result)
{
  json_t *message = new_message ();

  json_object_set_new (message, "id", id);
  json_object_set_new (message, "result", result != NULL ? result : json_object ());
  return message;
}

json_t *
ow_rpc_error (json_t     *id,
              int         code,
              const char *message,
              json_t     *data)
{
  json_t *reply = new_message ();
  json_t *error = json_object ();
  json_t *sentence = json_string (message);

  json_object_set_new (reply, "id", id != NULL ? id : json_null ());
  json_object_set_new (error, "code", json_integer (code));
  /* A message that is not UTF-8 must not turn into a reply without one. */
  json_object_set_new (error, "message",
                       sentence != NULL ? sentence : json_string ("The request failed."));
  if (data != NULL)
    json_object_set_new (error, "data", data);
  json_object_set_new (reply, "error", error);
  return reply;
}

char *
ow_rpc_line (json_t *message,
             size_t *length)
{
  size_t bytes = 0;
  char *line = ow_json_dump (message, &bytes);

  json_decref (message);
  if (line == NULL || bytes > OW_FRAME_MAX_BYTES)
    {
      free (line);
      *length = 0;
      return NULL;
    }
  /* The terminator's place is the newline's: a line goes out by its length. */
  line[bytes] = '\n';
  *length = bytes + 1;
  return line;
}
