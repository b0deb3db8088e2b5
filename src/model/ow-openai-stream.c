/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openai-stream-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "ow-openai-calls-private.h"
#include "ow-sse-private.h"

#define MAX_FINISH_BYTES 64
#define MAX_MESSAGE_CHARS 300

struct _OwOpenaiStream {
  OwSse           *sse;        /* (owned) */
  OwOpenaiCalls   *calls;      /* (owned) */
  const OwOpenaiKey *key;      /* (unowned) (nullable) what no message may hold */
  OwModelTextFunc  text_func;  /* (nullable) */
  gpointer         text_data;
  GString         *text;       /* (owned) */
  char            *finish;     /* (owned) (nullable) the last finish_reason */
  json_t          *usage;      /* (owned) (nullable) */
  char            *fault;      /* (owned) (nullable) what is wrong with what came, as a sentence */
  gboolean         by_server;  /* @fault is an error that the server told */
  guint64          n_chunks;
  gboolean         done;       /* [DONE] came */
  gboolean         is_late;    /* a piece of a call came behind the last finish_reason */
};

/* Words for an end that is none. */
static const struct { const char *finish; const char *says; } unfinished[] = {
  { "length", "it reached the most that the model may say at once" },
  { "max_tokens", "it reached the most that the model may say at once" },
  { "model_length", "it reached the most that the model may say at once" },
  { "content_filter", "the server's filter stopped it" },
  { "error", "the server reported an error and did not say which" },
  { "abort", "the server broke it off" },
  { "insufficient_system_resource", "the server broke it off" },
};

/* Words for an end that tools may run after. Servers have others, some of them for an answer that
 * they gave up, so with a word that is not here no call runs. */
static const char * const whole[] = {
  "stop", "tool_calls", "tool_call", "tool_use", "function_call", "end_turn", "stop_sequence",
  "eos", "eos_token", "complete", NULL
};

OwOpenaiStream *
ow_openai_stream_new (OwModelTextFunc text,
                      gpointer        text_data)
{
  OwOpenaiStream *self = g_new0 (OwOpenaiStream, 1);

  self->sse = ow_sse_new (OW_OPENAI_STREAM_MAX_EVENT_BYTES);
  self->calls = ow_openai_calls_new ();
  self->text_func = text;
  self->text_data = text_data;
  self->text = g_string_new (NULL);
  return self;
}

void
ow_openai_stream_set_key (OwOpenaiStream    *self,
                          const OwOpenaiKey *key)
{
  self->key = key;
}

void
ow_openai_stream_free (OwOpenaiStream *self)
{
  if (self == NULL)
    return;
  ow_sse_free (self->sse);
  ow_openai_calls_free (self->calls);
  g_string_free (self->text, TRUE);
  g_free (self->finish);
  json_decref (self->usage);
  g_free (self->fault);
  g_free (self);
}

gboolean
ow_openai_stream_has_begun (const OwOpenaiStream *self)
{
  return self->text->len > 0 || ow_openai_calls_get_n (self->calls) > 0;
}

gboolean
ow_openai_stream_is_waiting (const OwOpenaiStream *self)
{
  return self->fault == NULL && self->finish == NULL && !self->done;
}

guint64
ow_openai_stream_get_n_chunks (const OwOpenaiStream *self)
{
  return self->n_chunks;
}

/* The first fault counts; what follows it is not looked at. */
static void
set_fault (OwOpenaiStream *self,
           const char     *what)
{
  if (self->fault == NULL)
    self->fault = g_strdup (what);
}

static void G_GNUC_PRINTF (2, 3)
set_faultf (OwOpenaiStream *self,
            const char     *format,
            ...)
{
  g_autofree char *what = NULL;
  va_list arguments;

  va_start (arguments, format);
  what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  set_fault (self, what);
}

char *
ow_openai_stream_show (const char        *said,
                       const OwOpenaiKey *key)
{
  g_autofree char *text = g_strstrip (g_strdup (said));
  g_autofree char *visible = ow_text_visible (text);
  /* Before it is made short: a part of a key would not be found. */
  g_autofree char *clean = ow_openai_key_take_out (key, visible);

  return *clean != '\0' ? ow_text_shorten (clean, MAX_MESSAGE_CHARS, TRUE) : NULL;
}

/* Servers write {"error":{"message":…}}, {"error":"…"}, {"message":…}, {"detail":…}, or a
 * list of one of these. */
char *
ow_openai_stream_find_message (const json_t      *json,
                               const OwOpenaiKey *key)
{
  static const char * const keys[] = { "message", "detail", "error", "msg" };
  const json_t *at = json_is_array (json) ? json_array_get (json, 0) : json;
  const json_t *inner = json_object_get (at, "error");
  const char *message = NULL;

  if (json_is_object (inner))
    at = inner;
  if (json_is_object (json_object_get (at, "message")))
    at = json_object_get (at, "message");
  if (json_is_array (json_object_get (at, "detail")))
    at = json_array_get (json_object_get (at, "detail"), 0);
  for (gsize i = 0; i < G_N_ELEMENTS (keys) && message == NULL; i++)
    message = ow_json_get_string (at, keys[i], NULL);
  return message != NULL ? ow_openai_stream_show (message, key) : NULL;
}

static void
take_error (OwOpenaiStream *self,
            const json_t   *chunk)
{
  g_autofree char *message = ow_openai_stream_find_message (chunk, self->key);

  self->by_server = TRUE;
  if (message != NULL)
    set_faultf (self, "the server reported an error: \"%s\"", message);
  else
    set_fault (self, "the server reported an error and did not say which");
}

static void
append_text (OwOpenaiStream *self,
             const json_t   *value)
{
  const char *text = json_string_value (value);
  gsize       length = json_string_length (value);

  if (length == 0 || self->fault != NULL)
    return;
  if (length > OW_OPENAI_STREAM_MAX_TEXT_BYTES - self->text->len)
    {
      set_fault (self, "its text is longer than 512 KiB");
      return;
    }
  g_string_append_len (self->text, text, (gssize) length);
  if (self->text_func != NULL)
    self->text_func (text, self->text_data);
}

/* A text, nothing, or a list of parts of which those of the kind "text" are said. */
static void
take_content (OwOpenaiStream *self,
              const json_t   *content)
{
  if (content == NULL || json_is_null (content))
    return;
  if (json_is_string (content))
    {
      append_text (self, content);
      return;
    }
  if (!json_is_array (content))
    {
      set_fault (self, "a piece of its text is no text");
      return;
    }
  for (size_t i = 0; i < json_array_size (content); i++)
    {
      const json_t *part = json_array_get (content, i);

      if (g_str_equal (ow_json_get_string (part, "type", ""), "text"))
        append_text (self, json_object_get (part, "text"));
    }
}

static void
take_delta (OwOpenaiStream *self,
            const json_t   *delta)
{
  const json_t *refusal = json_object_get (delta, "refusal");
  const char   *fault;

  if (delta == NULL || json_is_null (delta))
    return;
  if (!json_is_object (delta))
    {
      set_fault (self, "a piece of it is no object");
      return;
    }
  take_content (self, json_object_get (delta, "content"));
  /* What a model says when it will not: it takes the place of its text. */
  if (json_is_string (refusal))
    append_text (self, refusal);
  if (self->fault != NULL)
    return;
  fault = ow_openai_calls_add (self->calls, json_object_get (delta, "tool_calls"));
  if (fault != NULL)
    set_fault (self, fault);
}

/* Why an answer that ends with @finish is not whole; NULL: nothing is known against it. */
static const char *
find_unfinished (const char *finish)
{
  for (gsize i = 0; finish != NULL && i < G_N_ELEMENTS (unfinished); i++)
    {
      if (g_str_equal (finish, unfinished[i].finish))
        return unfinished[i].says;
    }
  return NULL;
}

static void
take_choice (OwOpenaiStream *self,
             const json_t   *choice)
{
  const json_t *finish = json_object_get (choice, "finish_reason");

  if (!json_is_object (choice))
    {
      set_fault (self, "a choice of it is no object");
      return;
    }
  /* One was asked for. */
  if (ow_json_get_int (choice, "index", 0) != 0)
    return;
  take_delta (self, json_object_get (choice, "delta"));
  if (json_array_size (json_object_get (json_object_get (choice, "delta"), "tool_calls")) > 0)
    self->is_late = self->finish != NULL;
  if (finish == NULL || json_is_null (finish))
    return;
  if (!json_is_string (finish) || json_string_length (finish) > MAX_FINISH_BYTES)
    {
      set_fault (self, "its finish_reason is no word");
      return;
    }
  /* What was once said to be cut is not made whole by a later word. */
  if (json_string_length (finish) > 0 && find_unfinished (self->finish) == NULL)
    {
      g_free (self->finish);
      self->finish = ow_text_visible (json_string_value (finish));
      self->is_late = FALSE;
    }
}

static void
take_usage (OwOpenaiStream *self,
            const json_t   *usage)
{
  json_int_t input = ow_json_get_int (usage, "prompt_tokens", -1);
  json_int_t output = ow_json_get_int (usage, "completion_tokens", -1);

  if (input < 0 || output < 0)
    return;
  json_decref (self->usage);
  self->usage = json_object ();
  json_object_set_new (self->usage, "input_tokens", json_integer (input));
  json_object_set_new (self->usage, "output_tokens", json_integer (output));
}

static void
take_chunk (OwOpenaiStream *self,
            const json_t   *chunk)
{
  const json_t *choices = json_object_get (chunk, "choices");
  const json_t *error = json_object_get (chunk, "error");

  if (!json_is_object (chunk))
    {
      set_fault (self, "a chunk of it is no object");
      return;
    }
  if (error != NULL && !json_is_null (error) && !json_is_false (error))
    {
      take_error (self, chunk);
      return;
    }
  if (choices != NULL && !json_is_null (choices) && !json_is_array (choices))
    {
      set_fault (self, "its choices are no list");
      return;
    }
  for (size_t i = 0; i < json_array_size (choices) && self->fault == NULL; i++)
    take_choice (self, json_array_get (choices, i));
  take_usage (self, json_object_get (chunk, "usage"));
}

static gboolean
is_done_mark (const OwSseEvent *event)
{
  const char *start = event->data;
  gsize       length = event->length;

  while (length > 0 && g_ascii_isspace (*start))
    start++, length--;
  while (length > 0 && g_ascii_isspace (start[length - 1]))
    length--;
  return length == strlen ("[DONE]") && memcmp (start, "[DONE]", length) == 0;
}

static gboolean
on_event (const OwSseEvent *event,
          gpointer          user_data)
{
  OwOpenaiStream *self = user_data;
  char    message[OW_WIRE_ERROR_SIZE];
  json_t *chunk;

  self->n_chunks++;
  if (is_done_mark (event))
    {
      self->done = TRUE;
      return FALSE;
    }
  chunk = ow_json_parse (event->data, event->length, message);
  if (g_strcmp0 (event->event, "error") == 0)
    take_error (self, chunk);
  else if (chunk == NULL)
    set_faultf (self, "a chunk of it cannot be read: %s", message);
  else
    take_chunk (self, chunk);
  json_decref (chunk);
  return self->fault == NULL;
}

gboolean
ow_openai_stream_feed (OwOpenaiStream *self,
                       const char     *data,
                       gsize           length)
{
  g_autoptr (GError) error = NULL;

  if (self->fault != NULL || self->done)
    return FALSE;
  if (!ow_sse_feed (self->sse, data, length, on_event, self, &error))
    set_fault (self, "a line or an event of it is longer than 4 MiB");
  return self->fault == NULL && !self->done;
}

/* Whether the calls of an answer that ends with @finish may be made. */
static gboolean
is_whole (const char *finish)
{
  for (gsize i = 0; whole[i] != NULL; i++)
    {
      if (g_ascii_strcasecmp (finish, whole[i]) == 0)
        return TRUE;
    }
  return FALSE;
}

/* Sets the fault of an answer that came to its end in good order and is not whole all the same. */
static void
check_end (OwOpenaiStream *self)
{
  guint       n_calls = ow_openai_calls_get_n (self->calls);
  const char *says = find_unfinished (self->finish);

  if (says != NULL)
    set_fault (self, says);
  else if (g_str_equal (self->finish, "tool_calls") && n_calls == 0)
    set_fault (self, "it says that it calls tools, and calls none");
  else if (n_calls > 0 && !is_whole (self->finish))
    set_faultf (self, "it ended for a reason that is not known here, \"%s\"", self->finish);
  /* Its last word about its end came before what it asks for, and the end of a body alone says
   * nothing about that. */
  else if (self->is_late && !self->done)
    set_fault (self, "it went on with a tool call after its end, and ended without saying so "
               "again");
}

/* The tool calls of a whole answer; NULL: it is not whole, and the fault is set. */
static json_t *
conclude (OwOpenaiStream *self,
          const GError   *cause)
{
  const char *fault = NULL;
  json_t     *calls;

  /* What comes after [DONE] is no part of the answer, and how the connection ends neither. */
  if (cause != NULL && !self->done)
    set_fault (self, cause->message);
  if (self->finish == NULL)
    set_fault (self, "it ended without saying that it is at its end");
  if (self->fault != NULL)
    return NULL;
  check_end (self);
  if (self->fault != NULL)
    return NULL;
  calls = ow_openai_calls_make (self->calls, &fault);
  if (calls == NULL)
    set_fault (self, fault);
  return calls;
}

static void
set_end_error (OwOpenaiStream  *self,
               const GError    *cause,
               GError         **error)
{
  if (cause != NULL && g_strcmp0 (self->fault, cause->message) == 0)
    g_propagate_error (error, g_error_copy (cause));
  else
    ow_error_set (error, self->by_server ? OW_ERROR_FAILED : OW_ERROR_DATA,
                  "The model gave no answer", self->fault, NULL);
}

/* A sentence of its own, for a face that says in front of it that the answer is not whole. */
static char *
make_cut (OwOpenaiStream *self)
{
  char *cut = g_strconcat (self->fault, g_str_has_suffix (self->fault, ".") ? "" : ".", NULL);

  *cut = g_ascii_toupper (*cut);
  return cut;
}

OwModelTurn *
ow_openai_stream_end (OwOpenaiStream  *self,
                      const GError    *cause,
                      GError         **error)
{
  json_t      *calls = conclude (self, cause);
  OwModelTurn *turn;

  if (calls == NULL && !ow_openai_stream_has_begun (self))
    {
      set_end_error (self, cause, error);
      return NULL;
    }
  turn = g_new0 (OwModelTurn, 1);
  turn->text = g_strdup (self->text->str);
  turn->tool_calls = calls != NULL ? calls : json_array ();
  turn->usage = self->usage != NULL ? json_incref (self->usage) : NULL;
  turn->finish = g_strdup (calls != NULL ? self->finish : "cut");
  if (calls == NULL)
    turn->cut = make_cut (self);
  return turn;
}
