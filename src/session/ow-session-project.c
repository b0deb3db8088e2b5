/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-private.h"

#include "base/ow-text.h"
#include "events/ow-event-words.h"
#include "tools/ow-tool-call.h"

/* A project's own settings, .coworker in a folder of the session, which could turn the wall off if
 * anything read them. Nothing does, and the person is told that once, because whoever put them
 * there may think otherwise. The program opens no file of such a folder itself: it is seen by
 * calls like any other. */

#define NAME ".coworker"
#define PURPOSE "project"
/* In the first folders: each is a call. */
#define MAX_FOLDERS 8
#define MAX_NAMES 8
#define MAX_CHARS 1000

typedef struct
{
  OwSession *self;    /* (owned) */
  GString   *found;   /* (owned) paths */
  guint      n_found;
  guint      at;      /* the folder that is looked at */
} Look;

static void look_next (Look *look);

static void
look_free (Look *look)
{
  g_object_unref (look->self);
  g_string_free (look->found, TRUE);
  g_free (look);
}

static const char *
get_path (Look *look)
{
  return ow_json_get_string (json_array_get (look->self->folders, look->at), "path", "");
}

/* @name (nullable): in the project's, else they are something else or cannot be looked at. */
static void
take_name (Look       *look,
           const char *name)
{
  if (look->n_found++ < MAX_NAMES)
    g_string_append_printf (look->found, "%s%s/" NAME "%s%s", look->found->len > 0 ? ", " : "",
                            get_path (look), name != NULL ? "/" : "", name != NULL ? name : "");
}

static void
take_names (Look         *look,
            const json_t *entries)
{
  for (size_t i = 0; i < json_array_size (entries); i++)
    take_name (look, ow_json_get_string (json_array_get (entries, i), "name", "?"));
}

/* The end of the call that was the last to end. */
static gboolean
is_absent (OwEventList *events)
{
  for (guint i = ow_event_list_get_n (events); i > 0; i--)
    if (ow_event_get_kind (ow_event_list_get (events, i - 1)) == OW_EVENT_TOOL_ENDED)
      return ow_event_words_is_absent (ow_event_list_get (events, i - 1));
  return TRUE;
}

static void
tell (Look *look)
{
  g_autofree char *visible = ow_text_visible (look->found->str);
  g_autofree char *shown = ow_text_shorten (visible, MAX_CHARS, TRUE);
  g_autofree char *text = NULL;

  text = g_strdup_printf ("Settings of the project are ignored: %s%s. Only this machine's own "
                          "settings say how commands run.", shown,
                          look->n_found > MAX_NAMES ? " and more" : "");
  if (look->self->error == NULL && !look->self->ending)
    ow_session_append_notice (look->self, text);
}

static void
finish (Look *look)
{
  OwSession *self = g_object_ref (look->self);

  if (look->n_found > 0)
    tell (look);
  look_free (look);
  ow_session_project_looked (self);
  g_object_unref (self);
}

static void
on_listed (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  Look *look = user_data;
  g_autoptr (OwToolResult) outcome = NULL;
  GError *error = NULL;

  outcome = ow_tool_call_run_finish (OW_TOOL_CALL (source), result, &error);
  if (outcome == NULL)
    ow_session_fail (look->self, error);
  else if (outcome->outcome == OW_OUTCOME_OK)
    take_names (look, json_object_get (outcome->structured, "entries"));
  else if (outcome->outcome == OW_OUTCOME_FAILED && !is_absent (look->self->events))
    take_name (look, NULL);
  look->at++;
  look_next (look);
}

static void
look_next (Look *look)
{
  OwSession *self = look->self;
  g_autofree char *path = NULL;
  g_autoptr (OwToolCall) call = NULL;
  json_t *arguments;

  if (look->at >= MIN (json_array_size (self->folders), MAX_FOLDERS) || self->error != NULL ||
      self->ending)
    {
      finish (look);
      return;
    }
  path = g_build_filename (get_path (look), NAME, NULL);
  arguments = json_pack ("{s:s}", "path", path);
  call = ow_tool_call_new (self->events, self->consent, self->audit, OW_TOOL_HOST (self->sandbox),
                           "list", arguments, NULL);
  json_decref (arguments);
  ow_tool_call_set_purpose (call, PURPOSE);
  ow_tool_call_run_async (call, self->stop, on_listed, look);
}

void
ow_session_project_look (OwSession *self)
{
  Look *look;

  if (self->resumed || ow_model_is_recorded (self->model))
    {
      ow_session_project_looked (self);
      return;
    }
  look = g_new0 (Look, 1);
  look->self = g_object_ref (self);
  look->found = g_string_new (NULL);
  look_next (look);
}
