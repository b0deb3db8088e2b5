/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-questions-private.h"

#include "base/ow-text.h"
#include "events/ow-event-words.h"
#include "ow-output-private.h"
#include "ow-reply-private.h"
#include "ow-terminal-private.h"

struct _OwQuestions
{
  OwFace  *face;
  GQueue   waiting; /* of OwEvent (owned): asked, and not answered by anybody */
  OwEvent *open;    /* (nullable) borrowed: the one of them that stands on the terminal */
  gboolean answered; /* it was, here, and what came of it has not been told yet */
};

static void ask (OwQuestions *self);

static GList *
find (OwQuestions *self,
      const char  *request)
{
  for (GList *link = self->waiting.head; link != NULL; link = link->next)
    if (g_strcmp0 (ow_event_get_string (link->data, "request"), request) == 0)
      return link;
  return NULL;
}

typedef struct
{
  OwQuestions *self;
  OwEvent     *event; /* (owned) */
} Answer;

/* The end of a question is its own event. An answer that could not be taken (a rule that could
 * not be stored) has decided nothing. */
static void
answer_done (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autofree Answer *answer = user_data;
  g_autoptr (OwEvent) event = answer->event;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  json_decref (value);
  if (value != NULL)
    return;
  if (answer->self->face->status < 0)
    {
      g_autofree char *text = ow_text_visible (error->message);

      g_printerr ("openworker: %s\n", text);
    }
  if (answer->self->open == event)
    ask (answer->self);
}

static void
answer (OwQuestions *self,
        const char  *decision,
        const char  *reason)
{
  Answer *answer = g_new0 (Answer, 1);
  json_t *params = json_pack ("{s:s, s:s}", "request", ow_event_get_string (self->open, "request"),
                              "decision", decision);

  if (reason != NULL && *reason != '\0')
    json_object_set_new (params, "reason", json_string (reason));
  *answer = (Answer) { self, ow_event_ref (self->open) };
  self->answered = TRUE;
  ow_engine_command_async (OW_ENGINE (self->face->engine), "consent.answer", params, NULL,
                           answer_done, answer);
}

static void
on_line (const char *line,
         gpointer    user_data)
{
  OwQuestions *self = user_data;
  g_autofree char *reason = NULL;
  OwReply reply = ow_reply_parse (line, ow_event_get_string (self->open, "always") != NULL,
                                  &reason);

  if (reply == OW_REPLY_AGAIN)
    ask (self);
  else
    answer (self, ow_reply_decision (reply), reason);
}

static void
ask (OwQuestions *self)
{
  const char *always = ow_event_get_string (self->open, "always");
  g_autofree char *visible = ow_text_visible (always != NULL ? always : "");
  g_autofree char *exact = ow_output_escape (visible);
  g_autofree char *offer = NULL;
  g_autofree char *question = NULL;

  if (g_strcmp0 (ow_event_get_string (self->open, "kind"), "host") == 0)
    {
      question = g_strdup_printf ("Allow this? yes (every program, for this session), always (on "
                                  "this machine, every later session too: %s), "
                                  "no [REASON] [no]: ", exact);
      ow_terminal_ask (question, on_line, self);
      return;
    }
  offer = always == NULL ? g_strdup ("")
                         : g_strdup_printf (", always (in this folder, exactly: %s)", exact);
  question = g_strdup_printf ("Allow this? yes, session (the same again without asking)%s, "
                              "no [REASON] [no]: ", offer);
  ow_terminal_ask (question, on_line, self);
}

static const char *
ask_words (OwEvent *event)
{
  const char *kind = ow_event_get_string (event, "kind");

  if (g_strcmp0 (kind, "limit") == 0)
    return "The agent has reached a limit and asks to go on";
  if (g_strcmp0 (kind, "host") == 0)
    return "The agent asks to reach a host";
  return "The agent asks to run";
}

/* All of it, whatever its length: what is shown is what is allowed. */
static void
show (OwEvent *event)
{
  g_autofree char *subject = ow_event_words_subject (event);
  g_autofree char *exact = NULL;
  g_autofree char *title = ow_text_visible (ow_event_get_string (event, "title"));
  const char *level = ow_event_get_string (event, "level");
  gint64 timeout = ow_event_get_int (event, "timeout_s", 0);
  g_auto (GStrv) lines = NULL;

  g_strchomp (subject);
  exact = ow_output_escape (subject);
  lines = g_strsplit (exact, "\n", -1);
  g_printerr ("\n%s: “%s” [%s]\n", ask_words (event), title, level);
  for (guint i = 0; lines[i] != NULL; i++)
    g_printerr ("  %s\n", lines[i]);
  if (ow_event_words_has_hidden (event))
    g_printerr ("  (It holds characters that cannot be seen; they are shown escaped.)\n");
  if (timeout > 0)
    g_printerr ("  (Without an answer it is denied in %" G_GINT64_FORMAT " s.)\n", timeout);
}

static void
ask_next (OwQuestions *self)
{
  if (self->open != NULL || g_queue_is_empty (&self->waiting))
    return;
  self->open = g_queue_peek_head (&self->waiting);
  self->answered = FALSE;
  show (self->open);
  ask (self);
}

void
ow_questions_asked (OwQuestions *self,
                    OwEvent     *event,
                    gboolean     now)
{
  g_queue_push_tail (&self->waiting, ow_event_ref (event));
  if (now)
    ask_next (self);
}

void
ow_questions_ask_open (OwQuestions *self)
{
  ask_next (self);
}

/* Why the question is gone that nobody answered here. */
static void
say_how (const char *approval)
{
  if (g_strcmp0 (approval, "denied:timeout") == 0)
    g_printerr ("\nopenworker: Nobody answered in time: it is denied.\n");
  else if (g_strcmp0 (approval, "denied:cancelled") == 0 ||
           g_strcmp0 (approval, "denied:closed") == 0)
    g_printerr ("\nopenworker: The question is closed: it is denied.\n");
  else
    g_printerr ("\nopenworker: It was answered elsewhere: %s.\n",
                g_str_has_prefix (approval, "denied:") ? "denied" : "allowed");
}

void
ow_questions_answered (OwQuestions *self,
                       OwEvent     *event)
{
  GList *link = find (self, ow_event_get_string (event, "request"));

  if (link == NULL)
    return;
  if (link->data == self->open)
    {
      if (!self->answered)
        {
          ow_terminal_withdraw ();
          say_how (ow_event_get_string (event, "approval"));
        }
      self->open = NULL;
    }
  ow_event_unref (link->data);
  g_queue_delete_link (&self->waiting, link);
  ask_next (self);
}

void
ow_questions_leave (OwQuestions *self)
{
  if (self->open != NULL && !self->answered)
    g_printerr ("\n");
  ow_questions_close (self);
}

void
ow_questions_close (OwQuestions *self)
{
  if (self->open != NULL)
    ow_terminal_withdraw ();
  self->open = NULL;
  g_queue_clear_full (&self->waiting, (GDestroyNotify) ow_event_unref);
}

OwQuestions *
ow_questions_new (OwFace *face)
{
  OwQuestions *self = g_new0 (OwQuestions, 1);

  self->face = face;
  g_queue_init (&self->waiting);
  return self;
}
