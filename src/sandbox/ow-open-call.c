/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-open-call-private.h"

#include "base/ow-error.h"
#include "base/ow-source.h"

/* What is kept of an error message of the runner's. */
#define ERROR_BYTES 4096u
/* A structured result over this, as JSON, is not kept. */
#define STRUCTURED_BYTES (2u * 1024u * 1024u)

/* The runner cuts its results itself; one that does not is cut here. */
#define CUT_NOTE "\n[longer than 1 MiB: cut off here]"

/* What a runner that is still there says of a call after a break. Its word alone: it is asked for
 * nothing a second time. */
#define ON_ITS_WAY \
        "the connection to the sandbox broke while the call was on its way, and the runner says " \
        "that it never got it. It was not asked again; look whether it had an effect before you " \
        "do. The shell is as it was."
#define NOT_KEPT \
        "the call has run, but its result came too late to be had: the runner no longer keeps " \
        "it. It is not run again. The shell is as the call left it."

typedef enum {
  STOP_NONE,
  STOP_PERSON,
  STOP_DEADLINE,
} StopCause;

struct _OwOpenCall {
  char                     *id;          /* (owned) */
  char                     *tool;        /* (owned) */
  json_t                   *arguments;   /* (owned) */
  OwToolOutputFunc          output;      /* (nullable) */
  gpointer                  output_data;
  GTask                    *task;        /* (owned) */
  const OwOpenCallHandlers *handlers;    /* (unowned) */
  gpointer                  user_data;
  OwChannelLink            *link;        /* (owned) (nullable) where it is asked now */
  json_int_t                request;     /* its id on that link */
  gboolean                  sent;        /* the runner may know of it */
  gboolean                  known;       /* so it was before it was asked on this link */
  StopCause                 stop;
  guint64                   bytes;       /* output that the host saw */
  GSource                  *cancelled;   /* (owned) (nullable) */
  GSource                  *deadline;    /* (owned) (nullable) stopping, or the whole call */
};

/* --- ending --- */

static void
ow_open_call_release (OwOpenCall *self)
{
  ow_source_clear (&self->cancelled);
  ow_source_clear (&self->deadline);
  ow_open_call_unlink (self);
}

/* Takes @result or @error; @self is gone afterwards. */
static void
ow_open_call_end (OwOpenCall   *self,
                  OwToolResult *result,
                  GError       *error)
{
  g_autoptr (GTask) task = g_steal_pointer (&self->task);

  if (result != NULL)
    result->bytes = self->bytes;
  ow_open_call_release (self);
  self->handlers->ended (self, self->user_data);
  if (result != NULL)
    g_task_return_pointer (task, result, (GDestroyNotify) ow_tool_result_free);
  else
    g_task_return_error (task, error);
}

static void
ow_open_call_end_text (OwOpenCall   *self,
                       OwToolOutcome outcome,
                       gboolean      state_lost,
                       const char   *text)
{
  OwToolResult *result = ow_tool_result_new (outcome, text);

  result->state_lost = state_lost;
  ow_open_call_end (self, result, NULL);
}

void
ow_open_call_lose (OwOpenCall *self,
                   const char *reason)
{
  GError *error = NULL;
  g_autofree char *text = NULL;

  if (!self->sent)
    {
      ow_error_set (&error, OW_ERROR_FAILED, "The tool was not run", reason,
                    "Start the session's sandbox again");
      ow_open_call_end (self, NULL, error);
      return;
    }
  text = g_strdup_printf ("Interrupted: %s. Whether the call had an effect is not known, "
                          "and the shell's state is lost.", reason);
  ow_open_call_end_text (self, OW_OUTCOME_INTERRUPTED, TRUE, text);
}

/* --- results --- */

/* Appends at most what is left up to @max of @text, never half a character. */
static gboolean
append_capped (GString    *string,
               const char *text,
               gsize       max)
{
  gsize length = strlen (text);
  gsize room = max - MIN (max, string->len);
  const char *end = text + length;

  if (length > room)
    end = g_utf8_find_prev_char (text, text + room + 1);
  if (end == NULL)
    end = text;
  g_string_append_len (string, text, end - text);
  return length <= room;
}

static char *
result_text (const json_t *content)
{
  GString *text = g_string_new (NULL);
  gboolean whole = TRUE;
  size_t i;
  json_t *part;

  json_array_foreach (content, i, part)
    {
      if (whole && g_str_equal (ow_json_get_string (part, "type", ""), "text"))
        whole = append_capped (text, ow_json_get_string (part, "text", ""),
                               OW_OPEN_CALL_TEXT_BYTES - strlen (CUT_NOTE));
    }
  if (!whole)
    g_string_append (text, CUT_NOTE);
  return g_string_free (text, FALSE);
}

static json_t *
result_structured (json_t *result)
{
  json_t *structured = json_object_get (result, "structuredContent");

  if (!json_is_object (structured)
      || json_dumpb (structured, NULL, 0, JSON_COMPACT) > STRUCTURED_BYTES)
    return NULL;
  return json_incref (structured);
}

static int
int_in (const json_t *object,
        const char   *key,
        int           low,
        int           high,
        int           fallback)
{
  json_int_t value = ow_json_get_int (object, key, fallback);

  return value >= low && value <= high ? (int) value : fallback;
}

/* A tools/call result of the runner's as the host's. The runner's word for "cancelled"
 * counts only where the host has asked for it. NULL when it is no such result. */
static OwToolResult *
ow_open_call_read_result (OwOpenCall *self,
                          json_t     *answer)
{
  json_t *content = json_object_get (answer, "content");
  g_autofree char *text = NULL;
  OwToolResult *result;
  gboolean cancelled;

  if (!json_is_array (content))
    return NULL;
  text = result_text (content);
  result = ow_tool_result_new (OW_OUTCOME_OK, text);
  result->structured = result_structured (answer);
  result->exit_status = int_in (result->structured, "exit_status", 0, 255, -1);
  result->signal = int_in (result->structured, "signal", 1, 64, 0);
  /* One that was stopped may have handed its variables and functions to the next. */
  result->state_lost = ow_json_get_bool (result->structured, "shell_restarted", FALSE) != 0
                       && ow_json_get_bool (result->structured, "state_kept", FALSE) == 0;
  cancelled = ow_json_get_bool (result->structured, "cancelled", FALSE) != 0;
  if (cancelled && self->stop == STOP_PERSON)
    result->outcome = OW_OUTCOME_CANCELLED;
  else if (cancelled || ow_json_get_bool (answer, "isError", FALSE) != 0)
    result->outcome = OW_OUTCOME_FAILED;
  return result;
}

static void
ow_open_call_garbled (OwOpenCall *self)
{
  self->handlers->violation (self, self->user_data);
  ow_open_call_end_text (self, OW_OUTCOME_INTERRUPTED, FALSE,
                         "Interrupted: the runner's answer is no tool result. Whether "
                         "the call had an effect is not known.");
}

void
ow_open_call_finish (OwOpenCall *self,
                     json_t     *result)
{
  OwToolResult *read = ow_open_call_read_result (self, result);

  if (read != NULL)
    ow_open_call_end (self, read, NULL);
  else
    ow_open_call_garbled (self);
}

/* Over, with no result that could be had: stopped where the person had asked for that. */
static void
ow_open_call_end_without (OwOpenCall *self,
                          const char *text)
{
  gboolean stopped = self->stop == STOP_PERSON;
  g_autofree char *full = g_strdup_printf ("%s: %s", stopped ? "Stopped" : "Interrupted", text);

  ow_open_call_end_text (self, stopped ? OW_OUTCOME_CANCELLED : OW_OUTCOME_INTERRUPTED, FALSE,
                         full);
}

void
ow_open_call_settle (OwOpenCall *self,
                     json_t     *answer)
{
  const char *state = ow_json_get_string (answer, "state", "");

  if (g_str_equal (state, "finished"))
    ow_open_call_finish (self, json_object_get (answer, "result"));
  else if (g_str_equal (state, "unknown"))
    ow_open_call_end_without (self, ON_ITS_WAY);
  else if (g_str_equal (state, "forgotten"))
    ow_open_call_end_without (self, NOT_KEPT);
  else
    ow_open_call_garbled (self);
}

static void
ow_open_call_refused (OwOpenCall *self,
                      json_t     *error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean stopped = self->stop == STOP_PERSON
                     && ow_json_get_int (error, "code", 0) == OW_RPC_CANCELLED;

  if (ow_json_get_int (error, "code", 0) == OW_RPC_UNKNOWN_CALL)
    {
      ow_open_call_end_without (self, NOT_KEPT);
      return;
    }
  append_capped (text, ow_json_get_string (error, "message", "The runner refused the call."),
                 ERROR_BYTES);
  ow_open_call_end_text (self, stopped ? OW_OUTCOME_CANCELLED : OW_OUTCOME_FAILED, FALSE,
                         text->str);
}

static void
ow_open_call_replied (json_t *result,
                      json_t *error,
                      void   *user_data)
{
  OwOpenCall *self = user_data;

  self->request = 0;
  if (result != NULL)
    ow_open_call_finish (self, result);
  else
    ow_open_call_refused (self, error);
}

/* --- output --- */

gboolean
ow_open_call_output (OwOpenCall   *self,
                     const json_t *params)
{
  const char *stream = ow_json_get_string (params, "stream", "");
  const char *text = ow_json_get_string (params, "text", NULL);
  const char *data = ow_json_get_string (params, "data", NULL);
  g_autofree guchar *decoded = NULL;
  gsize length;

  if ((!g_str_equal (stream, "stdout") && !g_str_equal (stream, "stderr"))
      || (text == NULL) == (data == NULL))
    return FALSE;
  if (text != NULL)
    {
      length = strlen (text);
    }
  else
    {
      decoded = g_base64_decode (data, &length);
      if (strlen (data) != (length + 2) / 3 * 4)
        return FALSE;
    }
  if (length > OW_OPEN_CALL_OUTPUT_BYTES)
    return FALSE;
  self->bytes += length;
  if (self->output != NULL)
    self->output (stream, text != NULL ? text : (const char *) decoded, length,
                  self->output_data);
  return TRUE;
}

/* --- stopping --- */

static gboolean
ow_open_call_unanswered (gpointer user_data)
{
  OwOpenCall *self = user_data;

  ow_source_clear (&self->deadline);
  if (self->stop == STOP_PERSON)
    ow_open_call_end_text (self, OW_OUTCOME_CANCELLED, TRUE,
                           "Stopped. The runner did not confirm that the command has "
                           "ended, so the shell's state may be lost.");
  else
    ow_open_call_end_text (self, OW_OUTCOME_INTERRUPTED, TRUE,
                           "Interrupted: the runner gave no answer in time. Whether the "
                           "call had an effect is not known, and the shell's state may "
                           "be lost.");
  return G_SOURCE_REMOVE;
}

static void
ow_open_call_tell_stop (OwOpenCall *self)
{
  if (self->link == NULL || self->request == 0)
    return;
  ow_channel_link_notify (self->link, OW_MCP_CANCELLED,
                          json_pack ("{s:I, s:s}", "requestId", self->request, "reason",
                                     self->stop == STOP_PERSON ? "stopped" : "deadline"));
}

static void
ow_open_call_stop (OwOpenCall *self,
                   StopCause   cause)
{
  self->stop = cause;
  if (!self->sent)
    {
      ow_open_call_end_text (self, OW_OUTCOME_CANCELLED, FALSE, "Stopped before it ran.");
      return;
    }
  ow_open_call_tell_stop (self);
  ow_source_clear (&self->deadline);
  self->deadline = ow_source_timeout (self->handlers->cancel_ms, ow_open_call_unanswered, self,
                                      NULL);
}

static gboolean
ow_open_call_on_cancelled (gpointer user_data)
{
  OwOpenCall *self = user_data;

  if (self->stop != STOP_PERSON)
    ow_open_call_stop (self, STOP_PERSON);
  return G_SOURCE_REMOVE;
}

static gboolean
ow_open_call_too_long (gpointer user_data)
{
  OwOpenCall *self = user_data;

  ow_source_clear (&self->deadline);
  ow_open_call_stop (self, STOP_DEADLINE);
  return G_SOURCE_REMOVE;
}

/* --- links --- */

void
ow_open_call_unlink (OwOpenCall *self)
{
  if (self->link != NULL && self->request != 0)
    {
      self->sent = self->known || ow_channel_link_has_sent (self->link, self->request);
      ow_channel_link_forget (self->link, self->request);
    }
  self->request = 0;
  g_clear_object (&self->link);
}

void
ow_open_call_send (OwOpenCall    *self,
                   OwChannelLink *link)
{
  json_t *params = json_pack ("{s:s, s:O, s:{s:s}}", "name", self->tool,
                              "arguments", self->arguments,
                              "_meta", OW_MCP_META_CALL_ID, self->id);

  ow_open_call_unlink (self);
  self->link = g_object_ref (link);
  self->known = self->sent;
  self->sent = TRUE;
  self->request = ow_channel_link_request (link, OW_MCP_TOOLS_CALL, params,
                                           ow_open_call_replied, self);
  if (self->stop != STOP_NONE)
    ow_open_call_tell_stop (self);
}

const char *
ow_open_call_get_id (const OwOpenCall *self)
{
  return self->id;
}

gboolean
ow_open_call_is_sent (const OwOpenCall *self)
{
  return self->sent;
}

OwOpenCall *
ow_open_call_new (const OwOpenCallRequest  *request,
                  GTask                    *task,
                  const OwOpenCallHandlers *handlers,
                  gpointer                  user_data)
{
  OwOpenCall *self = g_new0 (OwOpenCall, 1);

  self->id = g_strdup (request->id);
  self->tool = g_strdup (request->tool);
  self->arguments = json_deep_copy (request->arguments);
  self->output = request->output;
  self->output_data = request->output_data;
  self->task = task;
  self->handlers = handlers;
  self->user_data = user_data;
  /* A source and not the signal: ending inside the signal would wait for itself. */
  self->cancelled = ow_source_cancelled (g_task_get_cancellable (task),
                                         ow_open_call_on_cancelled, self, NULL);
  /* exec is what a person started in a terminal: it may take as long as it takes. */
  if (!g_str_equal (self->tool, "exec"))
    self->deadline = ow_source_timeout (handlers->call_ms, ow_open_call_too_long, self, NULL);
  return self;
}

void
ow_open_call_free (OwOpenCall *self)
{
  ow_open_call_release (self);
  g_clear_object (&self->task);
  json_decref (self->arguments);
  g_free (self->id);
  g_free (self->tool);
  g_free (self);
}
