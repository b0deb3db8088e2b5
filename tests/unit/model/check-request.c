/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "check-request.h"

#include <string.h>

static char *
check_name (const char *name)
{
  if (name == NULL || *name == '\0' || strlen (name) > 64)
    return g_strdup ("a name that is empty or longer than 64");
  if (strspn (name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
      strlen (name))
    return g_strdup_printf ("a name \"%s\"", name);
  return NULL;
}

static char *
check_call (const json_t *call,
            GHashTable   *open)
{
  const json_t *function = json_object_get (call, "function");
  const char   *id = ow_json_get_string (call, "id", "");
  const char   *text = ow_json_get_string (function, "arguments", NULL);
  char    message[OW_WIRE_ERROR_SIZE];
  json_t *arguments;
  gboolean good;

  if (!g_str_equal (ow_json_get_string (call, "type", ""), "function") || *id == '\0')
    return g_strdup ("a call without a type or an id");
  if (!g_hash_table_add (open, g_strdup (id)))
    return g_strdup_printf ("the id \"%s\" twice", id);
  if (text == NULL)
    return g_strdup ("arguments that are no text");
  arguments = ow_json_parse (text, strlen (text), message);
  good = json_is_object (arguments);
  json_decref (arguments);
  if (!good)
    return g_strdup_printf ("arguments that parse to no object: %s", text);
  return check_name (ow_json_get_string (function, "name", NULL));
}

static char *
check_message (const json_t *message,
               size_t        at,
               GHashTable   *open)
{
  const char   *role = ow_json_get_string (message, "role", "");
  const json_t *calls = json_object_get (message, "tool_calls");
  char         *fault = NULL;

  if (!json_is_string (json_object_get (message, "content")))
    return g_strdup_printf ("message %u has no content", (guint) at);
  if (g_str_equal (role, "tool"))
    {
      if (!g_hash_table_remove (open, ow_json_get_string (message, "tool_call_id", "")))
        return g_strdup_printf ("message %u is a result that no call waits for", (guint) at);
      return NULL;
    }
  if (g_hash_table_size (open) > 0)
    return g_strdup_printf ("message %u comes before all results", (guint) at);
  if (g_str_equal (role, "system") && at > 0)
    return g_strdup ("a system message is not the first");
  if (!g_str_equal (role, "system") && !g_str_equal (role, "user") &&
      !g_str_equal (role, "assistant"))
    return g_strdup_printf ("message %u has the role \"%s\"", (guint) at, role);
  if (json_string_length (json_object_get (message, "content")) == 0 && calls == NULL)
    return g_strdup_printf ("message %u says nothing", (guint) at);
  if (calls != NULL && (!g_str_equal (role, "assistant") || json_array_size (calls) == 0))
    return g_strdup ("calls that are none, or not the assistant's");
  for (size_t i = 0; i < json_array_size (calls) && fault == NULL; i++)
    fault = check_call (json_array_get (calls, i), open);
  return fault;
}

static char *
check_messages (const json_t *messages)
{
  g_autoptr (GHashTable) open = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  char *fault = NULL;

  if (json_array_size (messages) == 0)
    return g_strdup ("no messages");
  for (size_t i = 0; i < json_array_size (messages) && fault == NULL; i++)
    {
      const json_t *message = json_array_get (messages, i);
      const json_t *last = i > 0 ? json_array_get (messages, i - 1) : NULL;

      fault = check_message (message, i, open);
      /* As the strictest templates have it: one speaks after the other. */
      if (fault == NULL && last != NULL &&
          !g_str_equal (ow_json_get_string (message, "role", ""), "tool") &&
          json_equal (json_object_get (message, "role"), json_object_get (last, "role")))
        fault = g_strdup_printf ("messages %u and %u have the same role", (guint) i - 1,
                                 (guint) i);
    }
  if (fault == NULL && g_hash_table_size (open) > 0)
    fault = g_strdup ("a call without a result");
  return fault;
}

char *
check_request (const char *body,
               gsize       length)
{
  char    message[OW_WIRE_ERROR_SIZE];
  json_t *json = ow_json_parse (body, length, message);
  const json_t *tools = json_object_get (json, "tools");
  char   *fault = NULL;

  if (!json_is_object (json))
    fault = g_strdup ("no JSON object");
  else if (*ow_json_get_string (json, "model", "") == '\0')
    fault = g_strdup ("no model");
  else if (!json_is_true (json_object_get (json, "stream")))
    fault = g_strdup ("no stream");
  else if (tools != NULL && json_array_size (tools) == 0)
    fault = g_strdup ("tools that are none");
  else
    fault = check_messages (json_object_get (json, "messages"));
  for (size_t i = 0; i < json_array_size (tools) && fault == NULL; i++)
    {
      const json_t *function = json_object_get (json_array_get (tools, i), "function");

      fault = check_name (ow_json_get_string (function, "name", NULL));
      if (fault == NULL && !json_is_object (json_object_get (function, "parameters")))
        fault = g_strdup ("a tool without parameters");
    }
  json_decref (json);
  return fault;
}
