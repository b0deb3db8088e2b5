/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "session/ow-session.h"

#include <stdlib.h>
#include <string.h>

#include "agent/ow-agent.h"
#include "base/ow-error.h"

/* A pattern is compiled: longer texts go past what PCRE takes. */
#define LITERAL_BYTES (4u * 1024u)

/* What differs from run to run, in the order in which it is looked for at each place. */
static const struct {
  const char *found;
  const char *written;
} general[] = {
  { "/[^\\s:'\"`()]*/sandbox-runtime/[^\\s:'\"`()]+", "/[^\\n]+?" },
  { "/(?:var/)?tmp/[^\\s:'\"`()]+", "/[^\\n]*?tmp/[^\\n]+?" },
  { "\\d{4}-\\d\\d-\\d\\d(?:[T ]\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?Z?)?", "\\d{4}-[-\\dT :.Z]+" },
  { "\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?", "\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?" },
  { "\\d+(?:\\.\\d+)? (?:s|ms|µs|us|seconds?|sec)\\b", "\\d+(?:\\.\\d+)? \\w+" },
  { "\\d+(?:\\.\\d+)?(?:s|ms|µs|us)\\b", "\\d+(?:\\.\\d+)?\\w+" },
  { "\\b(?:pid|PID)[ =:]?\\d+", "(?:pid|PID)[ =:]?\\d+" },
  { "\\[\\d+\\] \\d+", "\\[\\d+\\] \\d+" },
};

/* One expression that finds any of the above or one of @roots; the group that took part
 * says which. */
static GRegex *
make_finder (GPtrArray *roots)
{
  g_autoptr (GString) pattern = g_string_new ("(");

  for (guint i = 0; i < roots->len; i++)
    {
      g_autofree char *escaped = g_regex_escape_string (g_ptr_array_index (roots, i), -1);

      g_string_append_printf (pattern, "%s%s(?![^/\\s:'\"`(),\\]])", i > 0 ? "|" : "", escaped);
    }
  if (roots->len == 0)
    g_string_append (pattern, "(*FAIL)");
  g_string_append_c (pattern, ')');
  for (gsize i = 0; i < G_N_ELEMENTS (general); i++)
    g_string_append_printf (pattern, "|(%s)", general[i].found);
  return g_regex_new (pattern->str, G_REGEX_OPTIMIZE, 0, NULL);
}

static void
append_literal (GString    *pattern,
                const char *text,
                gsize       length)
{
  g_autofree char *escaped = g_regex_escape_string (text, (int) length);

  g_string_append (pattern, escaped);
}

static const char *
what_is_written (GMatchInfo *match)
{
  for (int group = 2; group < (int) G_N_ELEMENTS (general) + 2; group++)
    {
      int start = -1;

      if (g_match_info_fetch_pos (match, group, &start, NULL) && start >= 0)
        return general[group - 2].written;
    }
  return "/[^\\n]+?";
}

static void
append_pattern (GString    *pattern,
                GRegex     *finder,
                const char *text)
{
  g_autoptr (GMatchInfo) match = NULL;
  int at = 0;

  g_regex_match_full (finder, text, -1, 0, G_REGEX_MATCH_NOTEMPTY, &match, NULL);
  while (g_match_info_matches (match))
    {
      int start = 0;
      int end = 0;

      g_match_info_fetch_pos (match, 0, &start, &end);
      append_literal (pattern, text + at, (gsize) (start - at));
      g_string_append (pattern, what_is_written (match));
      at = end;
      if (!g_match_info_next (match, NULL))
        break;
    }
  append_literal (pattern, text + at, strlen (text + at));
}

/* The pattern is never one that matches the empty text: the model is given no empty
 * result, and nothing above is written as less than one character. */
static char *
make_pattern (GRegex     *finder,
              const char *result)
{
  g_autofree char *text = ow_agent_result_for_model (NULL, result);
  gsize    length = strlen (text);
  GString *pattern = g_string_new ("\\A");

  if (length <= 2 * LITERAL_BYTES)
    {
      append_pattern (pattern, finder, text);
    }
  else
    {
      const char      *end = g_utf8_find_prev_char (text, text + LITERAL_BYTES + 1);
      g_autofree char *head = g_strndup (text, (gsize) (end - text));

      append_pattern (pattern, finder, head);
      g_string_append (pattern, ".*");
      append_pattern (pattern, finder,
                      g_utf8_find_next_char (text + length - LITERAL_BYTES - 1, NULL));
    }
  g_string_append (pattern, "\\z");
  return g_string_free (pattern, FALSE);
}

static json_t *
recorded_event (const OwEvent *event,
                GRegex        *finder)
{
  json_t *json = ow_event_to_json (event);
  g_autofree char *pattern = NULL;

  if (ow_event_get_kind (event) != OW_EVENT_TOOL_ENDED)
    return json;
  pattern = make_pattern (finder, ow_event_get_string (event, "result"));
  json_object_del (json, "result");
  json_object_del (json, "structured");
  json_object_set_new (json, "result_pattern", json_string (pattern));
  return json;
}

/* One that was cut, or says nothing, is no turn that can be spoken again. */
static gboolean
is_whole (const OwEvent *event)
{
  const json_t *calls = json_object_get (ow_event_get_members (event), "tool_calls");

  return ow_event_get_string (event, "cut") == NULL &&
         (json_array_size (calls) > 0 || *ow_event_get_string (event, "text") != '\0');
}

/* exec's call and ones that a model did not ask for have no place in a replay. */
static gboolean
is_recorded (const OwEvent *event)
{
  OwEventType kind = ow_event_get_kind (event);

  return kind == OW_EVENT_USER_MESSAGE || (kind == OW_EVENT_MODEL_MESSAGE && is_whole (event)) ||
         (kind == OW_EVENT_TOOL_ENDED && ow_event_get_string (event, "model_call") != NULL);
}

/* The folders' paths, longest first so that an inner one is not taken for its parent. */
static int
compare_length (gconstpointer a,
                gconstpointer b)
{
  gsize one = strlen (*(const char * const *) a);
  gsize two = strlen (*(const char * const *) b);

  return one < two ? 1 : one > two ? -1 : 0;
}

static void
add_roots (GPtrArray     *roots,
           const OwEvent *event)
{
  const json_t *folders = json_object_get (ow_event_get_members (event), "folders");

  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      const char *path = ow_json_get_string (json_array_get (folders, i), "path", "");

      if (*path != '\0' && !g_ptr_array_find_with_equal_func (roots, path, g_str_equal, NULL))
        g_ptr_array_add (roots, (gpointer) path);
    }
}

/* All that the session ever had. */
static GPtrArray *
find_roots (OwEventList *list)
{
  GPtrArray *roots = g_ptr_array_new ();

  for (guint i = 0; i < ow_event_list_get_n (list); i++)
    {
      const OwEvent *event = ow_event_list_get (list, i);

      if (ow_event_get_kind (event) == OW_EVENT_SESSION_STARTED ||
          ow_event_get_kind (event) == OW_EVENT_FOLDERS_CHANGED)
        add_roots (roots, event);
    }
  g_ptr_array_sort (roots, compare_length);
  return roots;
}

gboolean
ow_recording_write (OwEventList      *list,
                    OwRecordingPlace *place,
                    GError          **error)
{
  g_autoptr (GPtrArray) roots = NULL;
  g_autoptr (GRegex) finder = NULL;
  g_autoptr (GString) lines = g_string_new (NULL);
  g_autoptr (GBytes) bytes = NULL;

  g_return_val_if_fail (OW_IS_EVENT_LIST (list), FALSE);
  g_return_val_if_fail (place != NULL, FALSE);

  roots = find_roots (list);
  finder = make_finder (roots);
  if (finder == NULL)
    {
      ow_error_set (error, OW_ERROR_FAILED, "The recording could not be written",
                    "the folders' paths are too long", NULL);
      return FALSE;
    }
  for (guint i = 0; i < ow_event_list_get_n (list); i++)
    {
      const OwEvent *event = ow_event_list_get (list, i);
      json_t *json;
      char   *line;

      if (!is_recorded (event))
        continue;
      json = recorded_event (event, finder);
      line = ow_json_dump (json, NULL);
      json_decref (json);
      g_string_append_printf (lines, "%s\n", line);
      free (line);
    }
  bytes = g_string_free_to_bytes (g_steal_pointer (&lines));
  return ow_recording_place_write (place, bytes, error);
}
