/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-replay-file-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-text.h"

/* In front of every pattern: PCRE then gives up on one that backtracks without end
 * instead of working for hours. A pattern can only lower these. */
#define MATCH_LIMITS "(*LIMIT_MATCH=2000000)(*LIMIT_DEPTH=100000)(*LIMIT_HEAP=65536)"

#define MAX_PATTERN_BYTES (64u * 1024u)

static void
replay_call_free (OwReplayCall *call)
{
  g_free (call->id);
  g_free (call->name);
  g_free (call->pattern);
  g_clear_pointer (&call->regex, g_regex_unref);
  g_free (call);
}

static void
replay_turn_free (OwReplayTurn *turn)
{
  g_free (turn->text);
  json_decref (turn->tool_calls);
  g_free (turn->finish);
  g_free (turn);
}

void
ow_replay_file_free (OwReplayFile *file)
{
  if (file == NULL)
    return;
  g_free (file->path);
  g_clear_pointer (&file->turns, g_ptr_array_unref);
  g_clear_pointer (&file->calls, g_hash_table_unref);
  g_free (file);
}

static void G_GNUC_PRINTF (4, 5)
fault (GError             **error,
       const OwReplayFile  *file,
       guint                line,
       const char          *format,
       ...)
{
  g_autofree char *shown = ow_text_visible (file->path);
  g_autofree char *why = NULL;
  va_list arguments;

  va_start (arguments, format);
  why = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  ow_error_setf (error, OW_ERROR_DATA, "Write it as docs/recordings.md has it, or record it again.",
                 "The recording %s cannot be replayed: line %u %s", shown, line, why);
}

static gboolean
read_tool_call (OwReplayFile *file,
                guint         line,
                json_t       *call,
                GError      **error)
{
  const char   *id = ow_json_get_string (call, "id", "");
  const char   *name = ow_json_get_string (call, "name", "");
  OwReplayCall *entry;

  if (*id == '\0' || *name == '\0' || !json_is_object (json_object_get (call, "arguments")))
    {
      fault (error, file, line,
             "has a tool call without an id, a name or an object of arguments");
      return FALSE;
    }
  if (g_hash_table_contains (file->calls, id))
    {
      fault (error, file, line, "uses the call id \"%.64s\" a second time", id);
      return FALSE;
    }
  entry = g_new0 (OwReplayCall, 1);
  entry->id = g_strdup (id);
  entry->name = g_strdup (name);
  entry->turn = file->turns->len;
  entry->line = line;
  g_hash_table_insert (file->calls, entry->id, entry);
  return TRUE;
}

static gboolean
read_model_message (OwReplayFile *file,
                    guint         line,
                    json_t       *event,
                    GError      **error)
{
  json_t       *calls = json_object_get (event, "tool_calls");
  json_t       *text = json_object_get (event, "text");
  OwReplayTurn *turn;

  if ((calls != NULL && !json_is_array (calls)) || (text != NULL && !json_is_string (text)))
    {
      fault (error, file, line, "has a text that is no string or tool_calls that are no array");
      return FALSE;
    }
  if (json_array_size (calls) == 0 && json_string_length (text) == 0)
    {
      fault (error, file, line, "is a model-message with neither text nor tool calls");
      return FALSE;
    }
  for (size_t i = 0; i < json_array_size (calls); i++)
    {
      if (!read_tool_call (file, line, json_array_get (calls, i), error))
        return FALSE;
    }
  turn = g_new0 (OwReplayTurn, 1);
  turn->text = g_strdup (text != NULL ? json_string_value (text) : "");
  turn->tool_calls = calls != NULL ? json_incref (calls) : json_array ();
  turn->finish = g_strdup (ow_json_get_string (event, "finish",
                                               json_array_size (calls) > 0 ? "tool_calls"
                                                                           : "stop"));
  g_ptr_array_add (file->turns, turn);
  return TRUE;
}

static GRegex *
compile_pattern (OwReplayFile *file,
                 guint         line,
                 const char   *pattern,
                 GError      **error)
{
  g_autofree char *limited = g_strconcat (MATCH_LIMITS, pattern, NULL);
  g_autoptr (GRegex) regex = NULL;
  g_autoptr (GError) cause = NULL;
  gboolean matches_empty;

  if (strlen (pattern) > MAX_PATTERN_BYTES)
    {
      fault (error, file, line, "has a pattern of more than 64 KiB");
      return NULL;
    }
  regex = g_regex_new (limited, G_REGEX_DOTALL, 0, &cause);
  if (regex == NULL)
    {
      fault (error, file, line, "has a result_pattern that is no regular expression (%s)",
             cause->message);
      return NULL;
    }
  matches_empty = g_regex_match_full (regex, "", 0, 0, 0, NULL, &cause);
  if (matches_empty || cause != NULL)
    {
      fault (error, file, line, "has a result_pattern that matches an empty result, so that it "
             "would hold for everything");
      return NULL;
    }
  return g_steal_pointer (&regex);
}

static gboolean
read_tool_ended (OwReplayFile *file,
                 guint         line,
                 json_t       *event,
                 GError      **error)
{
  const char   *id = ow_json_get_string (event, "model_call", NULL);
  const char   *pattern = ow_json_get_string (event, "result_pattern", NULL);
  OwReplayCall *call;

  if (id == NULL || pattern == NULL)
    {
      fault (error, file, line, "is a tool-ended without model_call or without result_pattern");
      return FALSE;
    }
  call = g_hash_table_lookup (file->calls, id);
  if (call == NULL || call->turn + 1 != file->turns->len)
    {
      fault (error, file, line,
             "ends the call \"%.64s\", which the model-message before it does not ask for", id);
      return FALSE;
    }
  if (call->regex != NULL)
    {
      fault (error, file, line, "ends the call \"%.64s\" a second time", id);
      return FALSE;
    }
  call->regex = compile_pattern (file, line, pattern, error);
  call->pattern = g_strdup (pattern);
  return call->regex != NULL;
}

static gboolean
read_line (OwReplayFile *file,
           guint         line,
           const char   *text,
           gsize         length,
           GError      **error)
{
  char        message[OW_WIRE_ERROR_SIZE];
  json_t     *event = ow_json_parse (text, length, message);
  const char *type;
  gboolean    good = FALSE;

  if (event == NULL)
    {
      fault (error, file, line, "is not JSON (%s)", message);
      return FALSE;
    }
  type = ow_json_get_string (event, "type", NULL);
  if (type == NULL)
    fault (error, file, line, "is no event: it has no type");
  else if (g_str_equal (type, "model-message"))
    good = read_model_message (file, line, event, error);
  else if (g_str_equal (type, "tool-ended"))
    good = read_tool_ended (file, line, event, error);
  else if (g_str_equal (type, "user-message"))
    good = TRUE;
  else
    fault (error, file, line, "has the type \"%.64s\", which a recording does not have", type);
  json_decref (event);
  return good;
}

static gboolean
check_complete (OwReplayFile *file,
                guint         last_line,
                GError      **error)
{
  GHashTableIter iter;
  gpointer       value;

  if (file->turns->len == 0)
    {
      fault (error, file, last_line, "is the end, and no model-message came before it");
      return FALSE;
    }
  g_hash_table_iter_init (&iter, file->calls);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const OwReplayCall *call = value;

      if (call->regex == NULL)
        {
          fault (error, file, call->line,
                 "asks for the call \"%.64s\", and no tool-ended with its pattern follows",
                 call->id);
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
read_lines (OwReplayFile *file,
            const char   *text,
            gsize         length,
            GError      **error)
{
  guint line = 1;

  for (gsize at = 0; at < length; line++)
    {
      const char *end = memchr (text + at, '\n', length - at);
      gsize       size = end != NULL ? (gsize) (end - text) - at : length - at;
      gsize       trimmed = size > 0 && text[at + size - 1] == '\r' ? size - 1 : size;

      if (trimmed > 0 && !read_line (file, line, text + at, trimmed, error))
        return FALSE;
      at += size + 1;
    }
  return check_complete (file, line, error);
}

OwReplayFile *
ow_replay_file_read (const char  *path,
                     GError     **error)
{
  g_autoptr (OwReplayFile) file = NULL;
  g_autoptr (GBytes) bytes = NULL;
  gconstpointer data;
  gsize length = 0;

  g_return_val_if_fail (path != NULL, NULL);

  bytes = ow_file_read (path, OW_REPLAY_FILE_MAX_BYTES, error);
  if (bytes == NULL)
    {
      g_autofree char *shown = ow_text_visible (path);

      g_prefix_error (error, "The recording %s cannot be read: ", shown);
      return NULL;
    }
  file = g_new0 (OwReplayFile, 1);
  file->path = g_strdup (path);
  file->turns = g_ptr_array_new_with_free_func ((GDestroyNotify) replay_turn_free);
  file->calls = g_hash_table_new_full (g_str_hash, g_str_equal, NULL,
                                       (GDestroyNotify) replay_call_free);
  data = g_bytes_get_data (bytes, &length);
  if (!read_lines (file, data != NULL ? data : "", length, error))
    return NULL;
  return g_steal_pointer (&file);
}

gboolean
ow_replay_call_match (const OwReplayCall *call,
                      const char         *text,
                      GError            **error)
{
  g_autoptr (GError) cause = NULL;

  /* NOTEMPTY: a pattern that matches nothing at some place (a mere look-ahead) says
   * nothing about the result. */
  if (g_regex_match_full (call->regex, text, -1, 0, G_REGEX_MATCH_NOTEMPTY, NULL, &cause))
    return TRUE;
  if (cause != NULL)
    ow_error_setf (error, OW_ERROR_DATA, "Write a pattern that backtracks less.",
                   "The pattern of the call \"%.64s\" takes too much work to match: %s", call->id,
                   cause->message);
  return FALSE;
}
