/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-resume-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "session/ow-session.h"

#define MAX_CALLS      10
#define MAX_CALL_CHARS 160

/* The event that says which folders the session has: its first one, or the last change of them,
 * also one that the end of the program kept from coming into force. */
static const OwEvent *
find_folders (OwEventList *events)
{
  const OwEvent *found = ow_event_list_get_n (events) > 0 ? ow_event_list_get (events, 0) : NULL;

  if (found == NULL || ow_event_get_kind (found) != OW_EVENT_SESSION_STARTED)
    return NULL;
  for (guint i = 1; i < ow_event_list_get_n (events); i++)
    if (ow_event_get_kind (ow_event_list_get (events, i)) == OW_EVENT_FOLDERS_CHANGED)
      found = ow_event_list_get (events, i);
  return found;
}

char **
ow_session_resume_folders (OwEventList *events,
                           GError     **error)
{
  const OwEvent *said = find_folders (events);
  const json_t  *folders = NULL;

  if (said != NULL)
    folders = json_object_get (ow_event_get_members (said), "folders");
  if (json_array_size (folders) == 0)
    {
      ow_error_set (error, OW_ERROR_DATA, "The session cannot go on",
                    "its beginning is not in the store", "Start another session.");
      return NULL;
    }
  return ow_session_folders_texts (folders);
}

gboolean
ow_session_resume_check_folders (OwEventList  *events,
                                 const json_t *folders,
                                 GError      **error)
{
  const OwEvent *said = find_folders (events);
  const json_t  *stored = json_object_get (ow_event_get_members (said), "folders");

  for (size_t i = 0; i < json_array_size (stored); i++)
    {
      const char *was = ow_json_get_string (json_array_get (stored, i), "path", "");
      const char *is = ow_json_get_string (json_array_get (folders, i), "path", "");
      g_autofree char *shown = ow_text_visible (was);

      if (g_str_equal (was, is))
        continue;
      ow_error_setf (error, OW_ERROR_REFUSED, "Put the folder back, or start another session.",
                     "The session cannot go on: its folder %s leads to another place now", shown);
      return FALSE;
    }
  return TRUE;
}

static gboolean
is_of_a_turn (const OwEvent *event)
{
  switch (ow_event_get_kind (event))
    {
    case OW_EVENT_USER_MESSAGE:
    case OW_EVENT_MODEL_MESSAGE:
      return TRUE;
    case OW_EVENT_TOOL_ASKED:
      return ow_event_get_string (event, "model_call") != NULL;
    default:
      return FALSE;
    }
}

/* A session that is parked at work says so in its end; one that was killed does not get to
 * end its turn. Going on adds nothing that would close it, so that a second kill does not
 * lose it. */
gboolean
ow_session_resume_is_cut (OwEventList *events)
{
  gboolean cut = FALSE;

  for (guint i = 0; i < ow_event_list_get_n (events); i++)
    {
      const OwEvent *event = ow_event_list_get (events, i);

      if (is_of_a_turn (event))
        cut = TRUE;
      else if (ow_event_get_kind (event) == OW_EVENT_TURN_ENDED)
        cut = FALSE;
      else if (ow_event_get_kind (event) == OW_EVENT_SESSION_ENDED &&
               g_str_equal (ow_event_get_string (event, "outcome"), "parked"))
        cut = ow_json_get_bool (ow_event_get_members (event), "cut", FALSE);
    }
  return cut;
}

/* The events of the last run that the conversation went on in. */
static guint
find_last_run (OwEventList *events)
{
  for (guint i = ow_event_list_get_n (events); i > 0; i--)
    {
      const OwEvent *event = ow_event_list_get (events, i - 1);
      OwEventType    kind = ow_event_get_kind (event);

      if ((kind == OW_EVENT_SESSION_RESUMED && ow_event_get_string (event, "purpose") == NULL) ||
          kind == OW_EVENT_SESSION_STARTED)
        return i - 1;
    }
  return 0;
}

/* "shell (make -j4)": what a call was, on one line. */
static void
append_call (GString       *text,
             const OwEvent *started)
{
  json_t *arguments = json_object_get (ow_event_get_members (started), "arguments");
  const char *known = ow_json_get_string (arguments, "command", NULL);
  char *dumped = known == NULL ? ow_json_dump (arguments, NULL) : NULL;
  g_autofree char *shown = NULL;
  g_autofree char *tool = ow_text_visible (ow_event_get_string (started, "tool"));
  g_autofree char *line = NULL;

  if (known == NULL)
    known = ow_json_get_string (arguments, "path", dumped != NULL ? dumped : "");
  shown = ow_text_visible (known);
  line = ow_text_shorten (shown, MAX_CALL_CHARS, TRUE);
  g_string_append_printf (text, "\n- %s: %s", tool, line);
  free (dumped);
}

/* Begun in the last run and not come to their own end, by id. */
static GHashTable *
find_broken (OwEventList *events,
             guint        from)
{
  GHashTable *broken = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = from; i < ow_event_list_get_n (events); i++)
    {
      OwEvent    *event = ow_event_list_get (events, i);
      const char *call = ow_event_get_string (event, "call");
      const char *outcome = ow_event_get_string (event, "outcome");

      if (ow_event_get_kind (event) == OW_EVENT_TOOL_STARTED)
        g_hash_table_insert (broken, (gpointer) call, event);
      else if (ow_event_get_kind (event) == OW_EVENT_TOOL_ENDED &&
               !g_str_equal (outcome, "interrupted") && !g_str_equal (outcome, "cancelled"))
        g_hash_table_remove (broken, call);
    }
  return broken;
}

static void
append_calls (GString     *text,
              OwEventList *events)
{
  guint from = find_last_run (events);
  g_autoptr (GHashTable) broken = find_broken (events, from);
  guint shown = 0;

  if (g_hash_table_size (broken) == 0)
    return;
  g_string_append (text, " These calls were interrupted, and whether they had an effect is not "
                   "known:");
  for (guint i = from; i < ow_event_list_get_n (events) && shown < MAX_CALLS; i++)
    {
      const OwEvent *event = ow_event_list_get (events, i);

      if (ow_event_get_kind (event) != OW_EVENT_TOOL_STARTED ||
          !g_hash_table_contains (broken, ow_event_get_string (event, "call")))
        continue;
      append_call (text, event);
      shown++;
    }
  if (g_hash_table_size (broken) > shown)
    g_string_append_printf (text, "\n- and %u more", g_hash_table_size (broken) - shown);
}

char *
ow_session_resume_describe (OwEventList *events,
                            OwLevel      level)
{
  GString *text = g_string_new ("The session goes on in a new sandbox. Shell state was lost: "
                                "directory, variables, functions, tasks and what else ran in "
                                "the background are gone.");
  const OwEvent *last = ow_event_list_get (events, find_last_run (events));
  const char    *was = ow_event_get_string (last, "level");

  if (g_strcmp0 (was, ow_level_to_string (level)) != 0)
    g_string_append_printf (text, " Its enforcement level is %s now; it was %s.",
                            ow_level_to_string (level), was);
  append_calls (text, events);
  return g_string_free (text, FALSE);
}

/* As the session was left: a look at it, or an undo, does not change how it stands. */
json_t *
ow_session_resume_review_end (OwEventList *events)
{
  gboolean review = FALSE;

  for (guint i = ow_event_list_get_n (events); i > 0; i--)
    {
      const OwEvent *event = ow_event_list_get (events, i - 1);

      if (ow_event_get_kind (event) == OW_EVENT_SESSION_ENDED && review)
        return json_deep_copy (ow_event_get_members (event));
      if (ow_event_get_kind (event) == OW_EVENT_SESSION_RESUMED && !review)
        {
          review = ow_event_get_string (event, "purpose") != NULL;
          if (!review)
            return NULL;
        }
    }
  return NULL;
}
