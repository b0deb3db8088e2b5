/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-face-private.h"
#include "ow-transcript-private.h"
#include "ow-watch-private.h"

/* As long as the program lives. */
typedef struct
{
  OwFace   *face;
  char     *session; /* (owned) */
  char     *say;     /* (owned) (nullable) */
  gint64    from;
  gboolean  stop;
  gboolean  json;
  gboolean  stopped; /* the engine took the wish to stop */
  OwWatch  *watch;
} Attach;

static void
show_event (OwEvent  *event,
            gpointer  user_data)
{
  Attach *attach = user_data;
  guint64 seq = ow_event_get_seq (event);

  /* All of it is followed, so that what was asked earlier is known. */
  if (seq != 0 && seq < (guint64) attach->from)
    return;
  if (attach->json)
    {
      json_t *value = ow_event_to_json (event);

      ow_face_print_json (value);
      json_decref (value);
    }
  else
    {
      ow_transcript_print (event);
    }
  /* A session that stays open has no end to wait for. */
  if (attach->stopped && ow_event_get_kind (event) == OW_EVENT_TURN_ENDED)
    ow_face_finish (attach->face, 0);
}

static void
follow (Attach *attach)
{
  /* What is under way has begun before. */
  if (!attach->json)
    ow_transcript_skip_piece ();
  ow_watch_follow (attach->watch, attach->session);
}

static void
on_said (OwFace       *face,
         const json_t *result,
         gpointer      user_data)
{
  follow (user_data);
}

/* It is there, or the face has failed. */
static void
on_found (OwFace       *face,
          const json_t *result,
          gpointer      user_data)
{
  Attach *attach = user_data;

  g_printerr ("openworker: There is nothing to stop: session %s does not work now.\n",
              attach->session);
  ow_face_finish (face, 1);
}

static void
on_stopped (OwFace       *face,
            const json_t *result,
            gpointer      user_data)
{
  Attach *attach = user_data;

  if (!ow_json_get_bool (result, "stopped", FALSE))
    {
      /* None of its events, only whether there is such a session. */
      ow_face_command (face, "session.show",
                       json_pack ("{s:s, s:I}", "session", attach->session, "from",
                                  (json_int_t) G_MAXINT64), on_found, attach);
      return;
    }
  attach->stopped = TRUE;
  follow (attach);
}

static void
start (Attach *attach)
{
  OwFace *face = attach->face;
  OwWatchOptions options = {
    .event = show_event, .user_data = attach, .steers = TRUE, .detaches = TRUE,
  };

  /* A session that has ended goes on where it is told something: then somebody has to be its
   * engine. */
  if (attach->say != NULL)
    face->kind = OW_FACE_COMMAND;
  attach->watch = ow_watch_new (face, &options);
  if (attach->say != NULL)
    ow_face_command (face, "session.say", json_pack ("{s:s, s:s}", "session", attach->session,
                                                     "text", attach->say), on_said, attach);
  else if (attach->stop)
    ow_face_command (face, "session.stop", json_pack ("{s:s}", "session", attach->session),
                     on_stopped, attach);
  else
    follow (attach);
}

void
ow_command_attach (OwFace  *face,
                   int      argc,
                   char   **argv)
{
  Attach *attach = g_new0 (Attach, 1);
  const GOptionEntry entries[] = {
    { "say", 's', 0, G_OPTION_ARG_STRING, &attach->say,
      "Tell the agent this; a session that has ended goes on with it", "TEXT" },
    { "stop", 0, 0, G_OPTION_ARG_NONE, &attach->stop, "Stop what it does", NULL },
    { "from", 0, 0, G_OPTION_ARG_INT64, &attach->from,
      "Begin at this event in place of the first", "NUMBER" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &attach->json,
      "Print events as JSON lines (docs/events.md)", NULL },
    { NULL }
  };

  attach->from = 1;
  if (!ow_face_parse (face, "SESSION", "Follows a session from its start, answers what it asks, "
                      "and says to its agent what is typed. Ctrl+C leaves it at work.", entries,
                      FALSE, &argc, &argv))
    return;
  attach->face = face;
  if (argc != 2 || *argv[1] == '\0')
    ow_face_usage (face, "“attach” takes one session.");
  else if (attach->from < 1)
    ow_face_usage (face, "--from takes the number of an event, from 1 on.");
  else if (attach->say != NULL && *attach->say == '\0')
    ow_face_usage (face, "--say needs something to say.");
  else if (attach->say != NULL && attach->stop)
    ow_face_usage (face, "--say and --stop do not go together.");
  else
    {
      attach->session = g_strdup (argv[1]);
      start (attach);
    }
}
