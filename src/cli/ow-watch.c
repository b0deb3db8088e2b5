/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-watch-private.h"

#include <errno.h>
#include <signal.h>

#include "base/ow-text.h"
#include "ow-output-private.h"
#include "ow-questions-private.h"
#include "ow-terminal-private.h"
#include "ow-transcript-private.h"

struct _OwWatch
{
  OwFace         *face;
  OwWatchOptions  options;
  OwQuestions    *questions;  /* (owned) (nullable) where a person answers */
  char           *command;    /* (owned) (nullable) that starts the session */
  json_t         *params;     /* (owned) (nullable) until it is sent */
  char           *session;    /* (owned) (nullable) until it is known */
  guint64         next;       /* number of the event that comes next */
  GQueue          early;      /* of OwEvent (owned): came before their turn */
  gboolean        loading;    /* the events from next on were asked for */
  OwEvent        *ended;      /* (owned) (nullable) the session's end, where none follows it */
  gboolean        stops;      /* an interrupt came before the session was known */
  GCancellable   *starting;   /* (owned) the command that starts it */
  guint           interrupts;
};

static void load (OwWatch *self);
static void send_start (OwWatch *self);

static void
finish (OwWatch *self,
        OwEvent *event)
{
  if (self->questions != NULL)
    ow_questions_close (self->questions);
  ow_terminal_listen (NULL, NULL);
  ow_transcript_end ();
  ow_face_finish (self->face, (int) ow_event_get_int (event, "exit", 1));
}

static void
on_consent_asked (OwWatch *self,
                  OwEvent *event)
{
  /* The command was typed; that it may reach more hosts, or anything else, was not. */
  const char *decision = g_strcmp0 (ow_event_get_string (event, "kind"), "tool") == 0
                         ? "once" : "deny";

  if (self->options.consent == OW_WATCH_ALLOW_OWN_COMMAND)
    ow_face_send (self->face, "consent.answer",
                  json_pack ("{s:s, s:s}", "request", ow_event_get_string (event, "request"),
                             "decision", decision), TRUE);
  else if (self->questions != NULL)
    ow_questions_asked (self->questions, event, !self->loading);
}

/* What was asked in a run that has ended waits for nobody. */
static void
set_ended (OwWatch *self,
           OwEvent *event)
{
  g_clear_pointer (&self->ended, ow_event_unref);
  if (event == NULL)
    return;
  self->ended = ow_event_ref (event);
  if (self->questions != NULL)
    ow_questions_close (self->questions);
}

static void
deliver (OwWatch *self,
         OwEvent *event)
{
  self->options.event (event, self->options.user_data);
  switch ((int) ow_event_get_kind (event))
    {
    case OW_EVENT_CONSENT_ASKED:
      on_consent_asked (self, event);
      break;
    case OW_EVENT_CONSENT_ANSWERED:
      if (self->questions != NULL)
        ow_questions_answered (self->questions, event);
      break;
    case OW_EVENT_SESSION_RESUMED:
      set_ended (self, NULL);
      break;
    case OW_EVENT_SESSION_ENDED:
      set_ended (self, event);
      if (!self->loading)
        finish (self, event);
      break;
    default:
      break;
    }
  /* Who only looks has nothing left to do; a session that is this face's own goes on. */
  if (self->options.detaches && ow_output_get_fault () != 0)
    ow_face_finish (self->face, ow_output_get_fault () == EPIPE ? 128 + SIGPIPE : 1);
}

/* Events come numbered and once, whatever became of the connection: what is missing is
 * asked for, and what was asked for may come a second time. */
static void
take (OwWatch *self,
      OwEvent *event)
{
  guint64 seq = ow_event_get_seq (event);

  if (self->face->status >= 0)
    return;
  /* Of a session that could not be stored the end has no number, and nothing follows it. */
  if (seq == 0 && ow_event_get_kind (event) == OW_EVENT_SESSION_ENDED)
    {
      deliver (self, event);
    }
  else if (seq == 0)
    {
      if (!self->loading)
        self->options.event (event, self->options.user_data);
    }
  else if (seq == self->next && !self->loading)
    {
      self->next++;
      deliver (self, event);
    }
  else if (seq >= self->next)
    {
      g_queue_push_tail (&self->early, ow_event_ref (event));
      load (self);
    }
}

static void
take_early (OwWatch *self)
{
  GQueue early = self->early;

  g_queue_init (&self->early);
  while (!g_queue_is_empty (&early))
    {
      g_autoptr (OwEvent) event = g_queue_pop_head (&early);

      if (g_strcmp0 (ow_event_get_session (event), self->session) == 0)
        take (self, event);
    }
}

static gboolean
take_loaded (OwWatch      *self,
             const json_t *events)
{
  for (size_t i = 0; i < json_array_size (events); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwEvent) event = ow_event_from_json (json_array_get (events, i), &error);

      if (event == NULL)
        {
          ow_face_fail (self->face, error);
          return FALSE;
        }
      if (g_strcmp0 (ow_event_get_session (event), self->session) != 0 ||
          ow_event_get_seq (event) > self->next)
        {
          ow_face_fail_data (self->face);
          return FALSE;
        }
      if (ow_event_get_seq (event) < self->next)
        continue;
      self->next = ow_event_get_seq (event) + 1;
      deliver (self, event);
    }
  return TRUE;
}

static void
on_loaded (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  OwWatch *self = user_data;
  json_int_t from = (json_int_t) self->next;

  if (!take_loaded (self, json_object_get (result, "events")))
    return;
  self->loading = FALSE;
  if (ow_face_has_more (self->face, result, &from))
    {
      load (self);
      return;
    }
  if (self->ended != NULL)
    {
      finish (self, self->ended);
      return;
    }
  if (self->questions != NULL)
    ow_questions_ask_open (self->questions);
  take_early (self);
}

static void
load (OwWatch *self)
{
  json_t *params;

  if (self->loading)
    return;
  self->loading = TRUE;
  params = json_pack ("{s:s}", "session", self->session);
  if (self->next > 1)
    json_object_set_new (params, "from", json_integer ((json_int_t) self->next));
  ow_face_command (self->face, "session.show", params, on_loaded, self);
}

static void
on_event (OwEngine *engine,
          OwEvent  *event,
          gpointer  user_data)
{
  OwWatch *self = user_data;

  /* The first events may come before the answer that names their session. */
  if (self->session == NULL)
    g_queue_push_tail (&self->early, ow_event_ref (event));
  else if (g_strcmp0 (ow_event_get_session (event), self->session) == 0)
    take (self, event);
}

/* Another engine, or the same one after a break: it tells how the session stands now. */
static void
on_changed (OwSharedEngine *engine,
            gpointer        user_data)
{
  OwWatch *self = user_data;

  if (self->session != NULL && self->face->status < 0 && self->next > 1)
    load (self);
}

static void
stop (OwWatch *self)
{
  ow_face_send (self->face, "session.stop", json_pack ("{s:s}", "session", self->session), TRUE);
}

static gboolean
on_interrupt (gpointer user_data)
{
  OwWatch *self = user_data;

  self->interrupts++;
  if (self->options.detaches)
    {
      if (self->questions != NULL)
        ow_questions_leave (self->questions);
      g_printerr ("openworker: Detached; the session goes on. “openworker attach %s” follows it "
                  "again.\n", self->session);
      ow_face_finish (self->face, 0);
    }
  else if (self->params != NULL || self->interrupts > 2)
    {
      self->face->parks = TRUE;
      ow_face_finish (self->face, 130);
    }
  /* There is no engine yet that could do it, and none may come. */
  else if (self->session == NULL &&
           ow_shared_engine_get_role (self->face->engine) == OW_ENGINE_NONE)
    {
      ow_face_finish (self->face, 130);
    }
  else if (self->session == NULL)
    {
      self->stops = TRUE;
      /* What it waits for may be a keyring that is silent. An engine elsewhere could have begun
       * the session meanwhile, which then had nobody: its answer is waited for. */
      if (ow_shared_engine_get_role (self->face->engine) != OW_ENGINE_CLIENT)
        g_cancellable_cancel (self->starting);
    }
  else if (self->interrupts == 1)
    {
      stop (self);
    }
  return G_SOURCE_CONTINUE;
}

static void
on_typed (const char *line,
          gpointer    user_data)
{
  OwWatch *self = user_data;
  g_autofree char *text = g_strstrip (g_strdup (line != NULL ? line : ""));

  if (*text != '\0' && self->session != NULL)
    ow_face_send (self->face, "session.say",
                  json_pack ("{s:s, s:s}", "session", self->session, "text", text), FALSE);
}

/* From here on the session is this watch's. */
static void
set_session (OwWatch    *self,
             const char *session)
{
  self->session = g_strdup (session);
  if (self->options.consent == OW_WATCH_ASK_PERSON)
    ow_face_send (self->face, "face.watch",
                  json_pack ("{s:s, s:b}", "session", session, "answers",
                             self->questions != NULL), TRUE);
  if (self->options.steers && ow_terminal_is_interactive ())
    ow_terminal_listen (on_typed, self);
}

static void
on_started (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  OwWatch *self = user_data;
  g_autoptr (GError) error = NULL;
  g_autofree char *session = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  if (self->stops && g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    {
      g_printerr ("openworker: The session was stopped before it began.\n");
      ow_face_finish (self->face, 130);
      return;
    }
  if (value == NULL)
    {
      ow_face_fail (self->face, error);
      return;
    }
  session = g_strdup (ow_json_get_string (value, "session", ""));
  json_decref (value);
  if (*session == '\0')
    {
      ow_face_fail_data (self->face);
      return;
    }
  set_session (self, session);
  if (self->stops)
    stop (self);
  take_early (self);
}

static void
provider_answered (const char *line,
                   gpointer    user_data)
{
  OwWatch *self = user_data;
  g_autofree char *word = g_strstrip (g_strdup (line != NULL ? line : ""));

  if (g_str_equal (word, "bubblewrap") || g_str_equal (word, "direct"))
    {
      json_object_set_new (self->params, "provider", json_string (word));
      send_start (self);
      return;
    }
  g_printerr ("openworker: Nothing was chosen, so nothing was run.\n");
  ow_face_finish (self->face, 69);
}

static void
ask_provider (OwWatch *self)
{
  ow_terminal_ask ("Nothing is set that says how commands should run on this machine.\n"
                   "  bubblewrap  in a sandbox that holds the session's folders\n"
                   "  direct      directly on this machine, with the same access as your "
                   "user account\nWhich one, this time? ",
                   provider_answered, self);
}

/* An engine without a window chooses by itself where nothing is set (REQ-M01). */
static void
on_status (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  if (g_strcmp0 (ow_json_get_string (result, "host", NULL), "up") == 0)
    send_start (user_data);
  else
    ask_provider (user_data);
}

static void
on_config (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  OwWatch *self = user_data;

  /* Where nothing is set and nobody can be asked, the engine refuses with the reason. */
  if (ow_json_get_string (result, "provider", NULL) != NULL || !ow_terminal_is_interactive ())
    send_start (self);
  else if (ow_shared_engine_get_role (face->engine) == OW_ENGINE_CLIENT)
    ow_face_command (face, "engine.status", NULL, on_status, self);
  else
    ask_provider (self);
}

static void
send_start (OwWatch *self)
{
  self->starting = g_cancellable_new ();
  ow_engine_command_async (ow_face_get_engine (self->face), self->command,
                           g_steal_pointer (&self->params), self->starting, on_started, self);
}

OwWatch *
ow_watch_new (OwFace               *face,
              const OwWatchOptions *options)
{
  OwWatch *self = g_new0 (OwWatch, 1);

  self->face = face;
  self->options = *options;
  self->next = 1;
  g_queue_init (&self->early);
  if (options->consent == OW_WATCH_ASK_PERSON && ow_terminal_is_interactive ())
    self->questions = ow_questions_new (face);
  ow_output_watch (on_interrupt, self);
  g_signal_connect (ow_face_get_engine (face), "event", G_CALLBACK (on_event), self);
  g_signal_connect (face->engine, "changed", G_CALLBACK (on_changed), self);
  return self;
}

void
ow_watch_start (OwWatch    *self,
                const char *command,
                json_t     *params)
{
  self->command = g_strdup (command);
  self->params = params;
  json_object_set_new (params, "interactive",
                       json_boolean (self->options.consent == OW_WATCH_ALLOW_OWN_COMMAND ||
                                     self->questions != NULL));
  if (json_object_get (params, "provider") == NULL)
    ow_face_command (self->face, "config.get", NULL, on_config, self);
  else
    send_start (self);
}

void
ow_watch_follow (OwWatch    *self,
                 const char *session)
{
  set_session (self, session);
  load (self);
}
