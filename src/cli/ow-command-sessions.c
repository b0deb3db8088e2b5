/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "events/ow-event.h"
#include "ow-face-private.h"
#include "ow-transcript-private.h"

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
  ow_face_finish (face, 0);
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

  if (!ow_face_parse (face, "list | show SESSION", "Lists the sessions, or shows one.", entries,
                      FALSE, &argc, &argv))
    return;
  if (g_strcmp0 (verb, "list") == 0 && argc == 1)
    ow_face_command (face, "session.list", NULL, show_list, NULL);
  else if (g_strcmp0 (verb, "show") == 0 && argc == 2)
    ow_face_command (face, "session.show", json_pack ("{s:s}", "session", argv[1]),
                     show_events, NULL);
  else
    ow_face_usage (face, "“sessions” takes “list” or “show SESSION”.");
}
