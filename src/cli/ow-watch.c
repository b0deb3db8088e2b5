/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-watch-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-text.h"
#include "ow-output-private.h"
#include "ow-terminal-private.h"

struct _OwWatch
{
  OwFace         *face;
  char           *command;   /* (owned) */
  json_t         *params;    /* (owned) (nullable) until it is sent */
  char           *session;   /* (owned) (nullable) */
  OwWatchOptions  options;
  guint           interrupts;
};

static void send_start (OwWatch *self);

static void
ignore_result (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  json_decref (value);
}

static gboolean
on_interrupt (gpointer user_data)
{
  OwWatch *self = user_data;

  self->interrupts++;
  if (self->session == NULL || self->interrupts > 2)
    {
      ow_face_finish (self->face, 130);
      return G_SOURCE_CONTINUE;
    }
  if (self->interrupts == 1)
    ow_engine_command_async (self->face->engine, "session.stop",
                             json_pack ("{s:s}", "session", self->session),
                             NULL, ignore_result, NULL);
  return G_SOURCE_CONTINUE;
}

static void
answer (OwWatch    *self,
        const char *request,
        const char *decision)
{
  ow_engine_command_async (self->face->engine, "consent.answer",
                           json_pack ("{s:s, s:s}", "request", request, "decision", decision),
                           NULL, ignore_result, NULL);
}

typedef struct
{
  OwWatch *watch;
  char    *request; /* (owned) */
} Question;

static void ask_person (OwWatch    *self,
                        const char *request);

static void
person_answered (GObject      *source,
                 GAsyncResult *result,
                 gpointer      user_data)
{
  Question *question = user_data;
  g_autoptr (GError) error = NULL;
  g_autofree char *line = ow_terminal_ask_finish (result, &error);

  if (line != NULL)
    g_strstrip (line);
  /* Whole words only: "don't approve" must never count as yes. */
  if (line == NULL || *line == '\0' || g_str_equal (line, "no") || g_str_equal (line, "n"))
    answer (question->watch, question->request, "deny");
  else if (g_str_equal (line, "yes") || g_str_equal (line, "once"))
    answer (question->watch, question->request, "once");
  else if (g_str_equal (line, "session"))
    answer (question->watch, question->request, "session");
  else
    ask_person (question->watch, question->request);

  g_free (question->request);
  g_free (question);
}

static void
ask_person (OwWatch    *self,
            const char *request)
{
  Question *question = g_new0 (Question, 1);

  question->watch = self;
  question->request = g_strdup (request);
  ow_terminal_ask_async ("Allow this? yes, session (the same again without asking), no [no]: ",
                         NULL, person_answered, question);
}

static void
on_consent_asked (OwWatch *self,
                  OwEvent *event)
{
  const char *request = ow_event_get_string (event, "request");

  if (self->options.consent == OW_WATCH_ALLOW_OWN_COMMAND)
    answer (self, request, "once");
  else if (ow_terminal_is_interactive ())
    {
      g_autofree char *subject = ow_text_visible (ow_event_get_string (event, "subject"));

      g_printerr ("\nThe agent asks to run “%s” [%s]:\n  %s\n",
                  ow_event_get_string (event, "title"), ow_event_get_string (event, "level"),
                  subject);
      ask_person (self, request);
    }
  else
    answer (self, request, "deny");
}

static void
on_event (OwEngine *engine,
          OwEvent  *event,
          gpointer  user_data)
{
  OwWatch *self = user_data;

  self->options.event (event, self->options.user_data);
  if (ow_event_get_kind (event) == OW_EVENT_CONSENT_ASKED)
    on_consent_asked (self, event);
  else if (ow_event_get_kind (event) == OW_EVENT_SESSION_ENDED)
    ow_face_finish (self->face, (int) ow_event_get_int (event, "exit", 1));
}

static void
on_started (OwFace       *face,
            const json_t *result,
            gpointer      user_data)
{
  OwWatch *self = user_data;

  self->session = g_strdup (ow_json_get_string (result, "session", ""));
}

static void
provider_answered (GObject      *source,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  OwWatch *self = user_data;
  g_autoptr (GError) error = NULL;
  g_autofree char *line = ow_terminal_ask_finish (result, &error);

  if (line != NULL)
    g_strstrip (line);
  if (line != NULL && (g_str_equal (line, "bubblewrap") || g_str_equal (line, "direct")))
    {
      json_object_set_new (self->params, "provider", json_string (line));
      send_start (self);
      return;
    }
  g_printerr ("openworker: Nothing was chosen, so nothing was run.\n");
  ow_face_finish (self->face, 69);
}

static void
on_config (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  OwWatch *self = user_data;

  /* Where nothing is set and nobody can be asked, the engine refuses with the reason. */
  if (ow_json_get_string (result, "provider", NULL) != NULL || !ow_terminal_is_interactive ())
    {
      send_start (self);
      return;
    }
  ow_terminal_ask_async ("Nothing is set that says how commands should run on this machine.\n"
                         "  bubblewrap  in a sandbox that holds the session's folders\n"
                         "  direct      directly on this machine, with the same access as your "
                         "user account\nWhich one, this time? ",
                         NULL, provider_answered, self);
}

static void
send_start (OwWatch *self)
{
  ow_face_command (self->face, self->command, g_steal_pointer (&self->params), on_started, self);
}

void
ow_watch_start (OwFace               *face,
                const char           *command,
                json_t               *params,
                const OwWatchOptions *options)
{
  OwWatch *self = g_new0 (OwWatch, 1);

  self->face = face;
  self->command = g_strdup (command);
  self->params = params;
  self->options = *options;
  json_object_set_new (params, "interactive",
                       json_boolean (options->consent == OW_WATCH_ALLOW_OWN_COMMAND ||
                                     ow_terminal_is_interactive ()));
  ow_output_watch (on_interrupt, self);
  g_signal_connect (face->engine, "event", G_CALLBACK (on_event), self);
  if (json_object_get (params, "provider") == NULL)
    ow_face_command (face, "config.get", NULL, on_config, self);
  else
    send_start (self);
}
