/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "events/ow-event.h"
#include "ow-face-private.h"
#include "ow-transcript-private.h"
#include "ow-watch-private.h"

static gboolean as_json;

static void
show_list (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  const json_t *sessions = json_object_get (result, "sessions");

  for (size_t i = 0; i < json_array_size (sessions); i++)
    {
      const json_t *session = json_array_get (sessions, i);
      g_autofree char *title = NULL;
      g_autofree char *visible = NULL;

      if (as_json)
        {
          ow_face_print_json (session);
          continue;
        }
      visible = ow_text_visible (ow_json_get_string (session, "title", ""));
      title = ow_text_shorten (visible, 60, TRUE);
      g_print ("%s  %s  %-11s %-10s %s\n", ow_json_get_string (session, "session", "?"),
               ow_json_get_string (session, "started", "?"),
               ow_json_get_string (session, "state", "?"),
               ow_json_get_string (session, "level", "?"), title);
    }
  if (json_array_size (sessions) == 0 && !as_json)
    g_print ("No sessions yet. “openworker run” makes one.\n");
  ow_face_finish (face, 0);
}

static const char *shown_session; /* borrowed from argv */
static json_int_t shown_from = 1;

static void
show_end (OwFace *face)
{
  ow_transcript_end ();
  ow_face_finish (face, 0);
}

static void
show_events (OwFace       *face,
             const json_t *result,
             gpointer      user_data)
{
  const json_t *events = json_object_get (result, "events");

  for (size_t i = 0; i < json_array_size (events); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwEvent) event = NULL;

      if (as_json)
        {
          ow_face_print_json (json_array_get (events, i));
          continue;
        }
      event = ow_event_from_json (json_array_get (events, i), &error);
      if (event == NULL)
        {
          ow_face_fail (face, error);
          return;
        }
      ow_transcript_print (event);
    }
  if (ow_face_has_more (face, result, &shown_from))
    ow_face_command (face, "session.show", json_pack ("{s:s, s:I}", "session", shown_session,
                                                      "from", shown_from), show_events, NULL);
  else
    show_end (face);
}

static void
show_deleted (OwFace       *face,
              const json_t *result,
              gpointer      user_data)
{
  g_print ("Session %s is deleted. The audit record keeps what it did.\n", shown_session);
  ow_face_finish (face, 0);
}

static void
show_event (OwEvent  *event,
            gpointer  user_data)
{
  if (as_json)
    {
      json_t *value = ow_event_to_json (event);

      ow_face_print_json (value);
      json_decref (value);
      return;
    }
  ow_transcript_print (event);
}

static void
on_resumed (OwFace       *face,
            const json_t *result,
            gpointer      user_data)
{
  ow_watch_follow (user_data, shown_session);
}

/* It goes on where it was, and somebody has to be its engine. */
static void
resume (OwFace *face)
{
  OwWatchOptions options = { .event = show_event, .steers = TRUE };
  OwWatch *watch;

  face->kind = OW_FACE_COMMAND;
  watch = ow_watch_new (face, &options);
  ow_face_command (face, "session.resume", json_pack ("{s:s}", "session", shown_session),
                   on_resumed, watch);
}

void
ow_command_sessions (OwFace  *face,
                     int      argc,
                     char   **argv)
{
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print JSON lines", NULL },
    { NULL }
  };
  const char *verb = ow_face_take_verb (&argc, &argv);

  if (g_strcmp0 (verb, "folders") == 0)
    {
      ow_command_sessions_folders (face, argc, argv);
      return;
    }
  if (g_strcmp0 (verb, "changes") == 0)
    {
      ow_command_sessions_changes (face, argc, argv);
      return;
    }
  if (g_strcmp0 (verb, "undo") == 0)
    {
      ow_command_sessions_undo (face, argc, argv);
      return;
    }
  if (!ow_face_parse (face, "list | show SESSION | folders SESSION | changes SESSION | "
                      "undo SESSION | resume SESSION | delete SESSION",
                      "Lists the sessions, shows one, its folders or what it changed, takes "
                      "changes back, goes on with one that has ended, or deletes one that does "
                      "not run.", entries, FALSE, &argc, &argv))
    return;
  shown_session = argc == 2 ? argv[1] : NULL;
  if (g_strcmp0 (verb, "list") == 0 && argc == 1)
    ow_face_command (face, "session.list", NULL, show_list, NULL);
  else if (g_strcmp0 (verb, "show") == 0 && argc == 2)
    ow_face_command (face, "session.show", json_pack ("{s:s}", "session", argv[1]),
                     show_events, NULL);
  else if (g_strcmp0 (verb, "delete") == 0 && argc == 2 && !as_json)
    ow_face_command (face, "session.delete", json_pack ("{s:s}", "session", argv[1]),
                     show_deleted, NULL);
  else if (g_strcmp0 (verb, "resume") == 0 && argc == 2)
    resume (face);
  else
    ow_face_usage (face, "“sessions” takes “list”, or “show”, “folders”, “changes”, “undo”, "
                   "“resume” or “delete” and a session.");
}
