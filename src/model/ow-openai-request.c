/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openai-request-private.h"

#include <stdlib.h>
#include <string.h>

/* What servers take as the name of a function. */
#define MAX_NAME_BYTES 64

#define NO_RESULT "[This call has no result; whether it had an effect is not known.]"
#define EMPTY_RESULT "(no output)"

/* One message that is being made of several: of the user, or none. */
typedef struct {
  json_t  *messages;  /* (owned) */
  GString *said;      /* (owned) what the user says, until someone else speaks */
  gboolean leading;   /* only what stands at the very beginning is the system's */
} Conversation;

static json_t *
append_message (json_t     *messages,
                const char *role,
                const char *content)
{
  json_t *message = json_object ();

  json_object_set_new (message, "role", json_string (role));
  json_object_set_new (message, "content", json_string (content));
  json_array_append_new (messages, message);
  return message;
}

static void
flush_said (Conversation *self)
{
  if (self->said->len == 0)
    return;
  append_message (self->messages, "user", self->said->str);
  g_string_truncate (self->said, 0);
}

static void
say (Conversation *self,
     const char   *text)
{
  if (*text == '\0')
    return;
  if (self->said->len > 0)
    g_string_append (self->said, "\n\n");
  g_string_append (self->said, text);
}

static char *
make_name (const char *name)
{
  g_autoptr (GString) made = g_string_new (NULL);

  for (const char *at = name; *at != '\0' && made->len < MAX_NAME_BYTES; at++)
    g_string_append_c (made, g_ascii_isalnum (*at) || *at == '_' || *at == '-' ? *at : '_');
  return g_strdup (made->len > 0 ? made->str : "unnamed");
}

static json_t *
make_arguments (const json_t *arguments)
{
  char   *text = json_is_object (arguments) ? ow_json_dump (arguments, NULL) : NULL;
  json_t *made = json_string (text != NULL ? text : "{}");

  free (text);
  return made;
}

/* The id of call @n of a message that has @ids so far, kept in @ids. */
static const char *
take_id (const json_t *call,
         size_t        n,
         GHashTable   *ids)
{
  char *id = g_strdup (ow_json_get_string (call, "id", ""));

  for (guint try = 0; *id == '\0' || g_hash_table_contains (ids, id); try++)
    {
      g_free (id);
      id = g_strdup_printf ("call_%u_%u", (guint) n, try);
    }
  g_hash_table_add (ids, id);
  return id;
}

/* The result of call @id in what follows @from, as far as the model's next words; only the
 * first counts. */
static const char *
find_result (const json_t *history,
             size_t        from,
             const char   *id)
{
  for (size_t i = from; i < json_array_size (history); i++)
    {
      const json_t *entry = json_array_get (history, i);
      const char   *role = ow_json_get_string (entry, "role", "");

      if (g_str_equal (role, "assistant"))
        return NULL;
      if (g_str_equal (role, "tool") && g_str_equal (ow_json_get_string (entry, "id", ""), id))
        return ow_json_get_string (entry, "text", "");
    }
  return NULL;
}

static void
append_result (Conversation *self,
               const char   *id,
               const char   *text)
{
  json_t *message;

  if (text == NULL)
    text = NO_RESULT;
  else if (*text == '\0')
    text = EMPTY_RESULT;
  message = append_message (self->messages, "tool", text);
  json_object_set_new (message, "tool_call_id", json_string (id));
}

static void
append_calls (Conversation *self,
              json_t       *message,
              const json_t *history,
              size_t        at,
              const json_t *calls)
{
  g_autoptr (GHashTable) ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  json_t *made = json_array ();

  json_object_set_new (message, "tool_calls", made);
  for (size_t i = 0; i < json_array_size (calls); i++)
    {
      const json_t *call = json_array_get (calls, i);
      const char   *asked = ow_json_get_string (call, "id", "");
      const char   *id = take_id (call, i, ids);
      g_autofree char *name = make_name (ow_json_get_string (call, "name", ""));
      json_t *function = json_object ();
      json_t *entry = json_object ();

      json_object_set_new (function, "name", json_string (name));
      json_object_set_new (function, "arguments",
                           make_arguments (json_object_get (call, "arguments")));
      json_object_set_new (entry, "id", json_string (id));
      json_object_set_new (entry, "type", json_string ("function"));
      json_object_set_new (entry, "function", function);
      json_array_append_new (made, entry);
      append_result (self, id, g_str_equal (asked, id) ? find_result (history, at + 1, id) : NULL);
    }
}

/* Words of the model that nothing separates from its words before are told as one with them. */
static json_t *
join_or_append (Conversation *self,
                const char   *text)
{
  size_t      n = json_array_size (self->messages);
  json_t     *last = n > 0 ? json_array_get (self->messages, n - 1) : NULL;
  const char *before = ow_json_get_string (last, "content", "");
  g_autofree char *joined = NULL;

  if (!g_str_equal (ow_json_get_string (last, "role", ""), "assistant"))
    return append_message (self->messages, "assistant", text);
  joined = g_strconcat (before, *text != '\0' ? "\n\n" : "", text, NULL);
  json_object_set_new (last, "content", json_string (joined));
  return last;
}

static void
append_assistant (Conversation *self,
                  const json_t *history,
                  size_t        at)
{
  const json_t *entry = json_array_get (history, at);
  const char   *text = ow_json_get_string (entry, "text", "");
  const json_t *calls = json_object_get (entry, "tool_calls");
  json_t       *message;

  if (*text == '\0' && json_array_size (calls) == 0)
    return;
  flush_said (self);
  message = join_or_append (self, text);
  if (json_array_size (calls) > 0)
    append_calls (self, message, history, at, calls);
}

static json_t *
make_messages (const json_t *history)
{
  Conversation conversation = { json_array (), g_string_new (NULL), TRUE };

  for (size_t i = 0; i < json_array_size (history); i++)
    {
      const json_t *entry = json_array_get (history, i);
      const char   *role = ow_json_get_string (entry, "role", "");
      const char   *text = ow_json_get_string (entry, "text", "");

      if (g_str_equal (role, "system") && conversation.leading && *text != '\0')
        append_message (conversation.messages, "system", text);
      else if (g_str_equal (role, "system") || g_str_equal (role, "user"))
        say (&conversation, text);
      else if (g_str_equal (role, "assistant"))
        append_assistant (&conversation, history, i);
      conversation.leading = FALSE;
    }
  flush_said (&conversation);
  g_string_free (conversation.said, TRUE);
  return conversation.messages;
}

static json_t *
make_tools (const json_t *tools)
{
  json_t *made = json_array ();

  for (size_t i = 0; i < json_array_size (tools); i++)
    {
      const json_t *tool = json_array_get (tools, i);
      json_t *function = json_object ();
      json_t *entry = json_object ();

      json_object_set_new (function, "name", json_string (ow_json_get_string (tool, "name", "")));
      json_object_set_new (function, "description",
                           json_string (ow_json_get_string (tool, "description", "")));
      json_object_set (function, "parameters", json_object_get (tool, "schema"));
      json_object_set_new (entry, "type", json_string ("function"));
      json_object_set_new (entry, "function", function);
      json_array_append_new (made, entry);
    }
  return made;
}

GBytes *
ow_openai_request_make (const char   *model,
                        const json_t *history,
                        const json_t *tools,
                        gboolean      ask_usage)
{
  json_t *body = json_object ();
  size_t  length = 0;
  char   *text;

  json_object_set_new (body, "model", json_string (model));
  json_object_set_new (body, "messages", make_messages (history));
  if (json_array_size (tools) > 0)
    json_object_set_new (body, "tools", make_tools (tools));
  json_object_set_new (body, "stream", json_true ());
  if (ask_usage)
    {
      json_t *options = json_object ();

      json_object_set_new (options, "include_usage", json_true ());
      json_object_set_new (body, "stream_options", options);
    }
  text = ow_json_dump (body, &length);
  json_decref (body);
  return g_bytes_new_with_free_func (text, length, free, text);
}
