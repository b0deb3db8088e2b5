/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openai-model-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-http.h"
#include "base/ow-source.h"
#include "base/ow-text.h"
#include "ow-openai-key-private.h"
#include "ow-openai-request-private.h"
#include "ow-openai-retry-private.h"
#include "ow-openai-status-private.h"
#include "ow-openai-stream-private.h"

#define MAX_NAME_BYTES 256
#define MAX_TYPE_CHARS 64
#define MAX_ANSWER_BYTES (64u * 1024u * 1024u)

/* An answer that went on for longer than this without a word is not asked for again. */
#define MAX_SILENT_BYTES (1024u * 1024u)

/* As docs/models.md tells them. A server of one's own may have to load the model before its first
 * byte; other servers send comments for minutes while the model thinks. */
static const OwOpenaiTiming default_timing = {
  .connect = 30 * 1000,
  .first_byte = 120 * 1000,
  .idle = 60 * 1000,
  .chunk = 300 * 1000,
  .total = 30 * 60 * 1000,
  .retry_base = 500,
  .retry_total = 180 * 1000,
  .max_tries = 5,
};

struct _OwOpenaiModel {
  GObject parent_instance;

  OwHttp        *http;      /* (owned) */
  OwOpenaiKey   *key;       /* (owned) (nullable) */
  char          *name;      /* (owned) */
  char          *base_url;  /* (owned) */
  char          *url;       /* (owned) */
  OwOpenaiTiming timing;
  gboolean       no_usage;  /* the server does not know how to tell tokens */
};

/* One answer, over all tries for it. */
typedef struct {
  OwOpenaiModel  *model;      /* (unowned) the task has it */
  json_t         *history;    /* (owned) */
  json_t         *tools;      /* (owned) */
  OwModelTextFunc text;       /* (nullable) */
  gpointer        text_data;
  OwOpenaiStream *stream;     /* (owned) of this try */
  GSource        *wait;       /* (owned) (nullable) until the next one */
  GSource        *stop;       /* (owned) (nullable) the caller gives up while it waits */
  guint           tries;
  gint64          started;    /* monotonic, µs */
  gboolean        has_head;   /* of this try: an answer has begun that is a stream */
  gboolean        is_late;    /* of this try: nothing but comments */
  guint64         received;
  guint64         n_chunks;
  gint64          last_chunk; /* monotonic, µs */
} Completion;

static void ow_openai_model_iface_init (OwModelInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwOpenaiModel, ow_openai_model, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_MODEL, ow_openai_model_iface_init))

static void try_once (GTask *task);

static void
completion_free (Completion *completion)
{
  json_decref (completion->history);
  json_decref (completion->tools);
  ow_openai_stream_free (completion->stream);
  ow_source_clear (&completion->wait);
  ow_source_clear (&completion->stop);
  g_free (completion);
}

static void
ow_openai_model_finalize (GObject *object)
{
  OwOpenaiModel *self = OW_OPENAI_MODEL (object);

  g_clear_object (&self->http);
  g_clear_pointer (&self->key, ow_openai_key_free);
  g_free (self->name);
  g_free (self->base_url);
  g_free (self->url);
  G_OBJECT_CLASS (ow_openai_model_parent_class)->finalize (object);
}

static void
ow_openai_model_class_init (OwOpenaiModelClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_openai_model_finalize;
}

static void
ow_openai_model_init (OwOpenaiModel *self)
{
  self->timing = default_timing;
}

static gboolean
check_name (const char  *name,
            GError     **error)
{
  g_autofree char *visible = NULL;
  gsize length = strlen (name);

  if (length <= MAX_NAME_BYTES && g_utf8_validate (name, -1, NULL))
    {
      visible = ow_text_visible (name);
      if (g_str_equal (visible, name) && strpbrk (name, "\n\t") == NULL)
        return TRUE;
    }
  ow_error_set (error, OW_ERROR_USAGE, "The model's name cannot be used",
                "it is longer than 256 bytes or holds characters that cannot be shown", NULL);
  return FALSE;
}

OwOpenaiModel *
ow_openai_model_new (const char            *name,
                     const OwModelOptions  *options,
                     GError               **error)
{
  g_autoptr (OwOpenaiModel) self = g_object_new (OW_TYPE_OPENAI_MODEL, NULL);

  if (!check_name (name, error))
    return NULL;
  self->base_url = ow_model_find_base_url (options->name, options->base_url, error);
  if (self->base_url == NULL)
    return NULL;
  if (options->key != NULL && !g_str_has_prefix (self->base_url, "https:") &&
      !ow_http_url_is_loopback (self->base_url))
    {
      g_autofree char *what = g_strdup_printf ("The key is not sent to %s", self->base_url);

      ow_error_set (error, OW_ERROR_REFUSED, what,
                    "the address begins with http:, so that everybody on the way could read it",
                    "Use an address that begins with https:, or none of your keys.");
      return NULL;
    }
  if (options->key != NULL)
    {
      self->key = ow_openai_key_new (options->key, error);
      if (self->key == NULL)
        return NULL;
    }
  self->http = ow_http_new (options->ca_file, options->proxy, error);
  if (self->http == NULL)
    return NULL;
  self->name = g_strdup (name);
  self->url = g_strconcat (self->base_url, "/chat/completions", NULL);
  return g_steal_pointer (&self);
}

void
ow_openai_model_set_timing (OwOpenaiModel        *self,
                            const OwOpenaiTiming *timing)
{
  g_return_if_fail (OW_IS_OPENAI_MODEL (self));

  self->timing = *timing;
}

/* A server that says our key back is no reason to show or keep it. */
static void
return_error (GTask  *task,
              GError *error)
{
  Completion *completion = g_task_get_task_data (task);
  g_autofree char *message = ow_openai_key_take_out (completion->model->key, error->message);
  GError *cleaned = g_error_new_literal (error->domain, error->code, message);

  g_error_free (error);
  g_task_return_error (task, cleaned);
}

static void
return_turn (GTask       *task,
             OwModelTurn *turn)
{
  Completion *completion = g_task_get_task_data (task);
  g_autofree char *cut = turn->cut;
  g_autofree char *finish = turn->finish;

  /* Words of the server's that are no words of the model's. */
  turn->cut = cut != NULL ? ow_openai_key_take_out (completion->model->key, cut) : NULL;
  turn->finish = finish != NULL ? ow_openai_key_take_out (completion->model->key, finish) : NULL;
  g_task_return_pointer (task, turn, (GDestroyNotify) ow_model_turn_free);
}

static void
return_stopped (GTask *task)
{
  GError *error = NULL;

  ow_error_set (&error, OW_ERROR_INTERRUPTED, "The model was stopped before it answered", NULL,
                NULL);
  return_error (task, error);
}

static void
clear_wait (Completion *completion)
{
  ow_source_clear (&completion->wait);
  ow_source_clear (&completion->stop);
}

static gboolean
on_wait_over (gpointer user_data)
{
  g_autoptr (GTask) task = g_object_ref (user_data);

  clear_wait (g_task_get_task_data (task));
  try_once (task);
  return G_SOURCE_REMOVE;
}

static gboolean
on_wait_stopped (gpointer user_data)
{
  g_autoptr (GTask) task = g_object_ref (user_data);

  clear_wait (g_task_get_task_data (task));
  return_stopped (task);
  return G_SOURCE_REMOVE;
}

/* FALSE: it was asked often enough, or for long enough. */
static gboolean
wait_and_try_again (GTask  *task,
                    gint64  after_ms)
{
  Completion *completion = g_task_get_task_data (task);
  const OwOpenaiTiming *timing = &completion->model->timing;
  guint  ms = ow_openai_retry_wait_ms (completion->tries, after_ms, timing->retry_base,
                                       g_random_double ());
  gint64 passed = (g_get_monotonic_time () - completion->started) / 1000;

  if (completion->tries >= timing->max_tries || passed + ms > timing->retry_total)
    return FALSE;
  completion->wait = ow_source_timeout (ms, on_wait_over, g_object_ref (task), g_object_unref);
  completion->stop = ow_source_cancelled (g_task_get_cancellable (task), on_wait_stopped,
                                          g_object_ref (task), g_object_unref);
  return TRUE;
}

static gboolean
on_head (const OwHttpAnswer *answer,
         gpointer            user_data,
         GError            **error)
{
  Completion *completion = user_data;
  const char *type = answer->content_type;
  g_autofree char *why = NULL;
  g_autofree char *shown = NULL;

  if (g_strcmp0 (type, "text/event-stream") == 0)
    {
      completion->has_head = TRUE;
      completion->last_chunk = g_get_monotonic_time ();
      return TRUE;
    }
  if (type != NULL)
    shown = ow_text_shorten (type, MAX_TYPE_CHARS, TRUE);
  why = shown != NULL ? g_strdup_printf ("it is %s", shown)
                      : g_strdup ("it does not say what it is");
  ow_error_set (error, OW_ERROR_DATA,
                "What answers at the model's address sends no stream of events", why,
                "A network that wants a login first answers like that, and so does a server of "
                "another kind: check both.");
  return FALSE;
}

static gboolean
on_data (const char *data,
         gsize       length,
         gpointer    user_data)
{
  Completion *completion = user_data;
  gboolean more = ow_openai_stream_feed (completion->stream, data, length);
  guint64  n_chunks = ow_openai_stream_get_n_chunks (completion->stream);
  gint64   now = g_get_monotonic_time ();

  completion->received += length;
  if (n_chunks != completion->n_chunks)
    completion->last_chunk = now;
  completion->n_chunks = n_chunks;
  completion->is_late = now - completion->last_chunk >
                        (gint64) completion->model->timing.chunk * 1000;
  return more && !completion->is_late;
}

static void
on_status (GTask              *task,
           const OwHttpAnswer *answer)
{
  Completion *completion = g_task_get_task_data (task);
  OwOpenaiModel *self = completion->model;
  g_autofree char *message = NULL;
  GError *error = NULL;
  gint64 after_ms;

  if (ow_openai_status_is_usage (answer) && !self->no_usage)
    {
      self->no_usage = TRUE;
      completion->tries--;
      try_once (task);
      return;
    }
  after_ms = ow_openai_retry_read_after (answer->retry_after, g_get_real_time () / G_USEC_PER_SEC);
  if (ow_openai_retry_is_worth (answer->status) && !ow_openai_status_is_final (answer) &&
      wait_and_try_again (task, after_ms))
    return;
  message = ow_openai_status_find_message (answer, self->key);
  ow_openai_status_set_error (&error, answer, message, self->name, self->base_url,
                              self->key != NULL, completion->tries);
  return_error (task, error);
}

/* Nothing of an answer came, and that was the connection's fault. */
static gboolean
may_ask_again (const Completion *completion,
               const GError     *cause)
{
  if (ow_openai_stream_has_begun (completion->stream) || completion->is_late)
    return FALSE;
  if (!completion->has_head)
    return g_error_matches (cause, OW_ERROR, OW_ERROR_FAILED);
  return ow_openai_stream_is_waiting (completion->stream) &&
         completion->received < MAX_SILENT_BYTES &&
         (cause == NULL || g_error_matches (cause, OW_ERROR, OW_ERROR_DATA));
}

static void
conclude (GTask        *task,
          const GError *cause)
{
  Completion *completion = g_task_get_task_data (task);
  GError *error = NULL;
  OwModelTurn *turn = ow_openai_stream_end (completion->stream, cause, &error);

  if (turn != NULL)
    return_turn (task, turn);
  else
    return_error (task, error);
}

static void
on_sent (GObject      *source,
         GAsyncResult *result,
         gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) cause = NULL;
  g_autoptr (OwHttpAnswer) answer = NULL;
  Completion *completion = g_task_get_task_data (task);

  answer = ow_http_send_finish (OW_HTTP (source), result, &cause);
  if (completion->is_late)
    ow_error_setf (&cause, OW_ERROR_TIMED_OUT, "Try again; if it stays so, look at the server.",
                   "The model's server said for %u s only that it is still there",
                   completion->model->timing.chunk / 1000);
  if (answer != NULL && (answer->status < 200 || answer->status > 299))
    on_status (task, answer);
  else if (!may_ask_again (completion, cause) || !wait_and_try_again (task, -1))
    conclude (task, cause);
}

static void
try_once (GTask *task)
{
  Completion *completion = g_task_get_task_data (task);
  OwOpenaiModel *self = completion->model;
  static const char * const headers[] = { "Accept", "text/event-stream", NULL };
  g_autoptr (GBytes) body = ow_openai_request_make (self->name, completion->history,
                                                    completion->tools, !self->no_usage);
  OwHttpRequest request = {
    .method = "POST",
    .url = self->url,
    .headers = headers,
    .body = body,
    .content_type = "application/json",
    .connect_ms = self->timing.connect,
    .first_byte_ms = self->timing.first_byte,
    .idle_ms = self->timing.idle,
    .total_ms = self->timing.total,
    .max_bytes = MAX_ANSWER_BYTES,
  };

  if (self->key != NULL)
    {
      request.secret_name = "Authorization";
      request.secret_value = ow_openai_key_get_header (self->key);
    }
  completion->tries++;
  completion->has_head = FALSE;
  completion->is_late = FALSE;
  completion->received = 0;
  completion->n_chunks = 0;
  ow_openai_stream_free (completion->stream);
  completion->stream = ow_openai_stream_new (completion->text, completion->text_data);
  ow_openai_stream_set_key (completion->stream, self->key);
  ow_http_send_async (self->http, &request, on_head, on_data, completion,
                      g_task_get_cancellable (task), on_sent, g_object_ref (task));
}

static void
ow_openai_model_complete_async (OwModel             *model,
                                const json_t        *history,
                                const json_t        *tools,
                                OwModelTextFunc      text,
                                gpointer             text_data,
                                GCancellable        *cancellable,
                                GAsyncReadyCallback  callback,
                                gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (model, cancellable, callback, user_data);
  Completion *completion = g_new0 (Completion, 1);

  g_task_set_source_tag (task, ow_openai_model_complete_async);
  /* What was said before a stop is a turn that was cut. */
  g_task_set_check_cancellable (task, FALSE);
  completion->model = OW_OPENAI_MODEL (model);
  completion->history = json_incref ((json_t *) history);
  completion->tools = json_incref ((json_t *) tools);
  completion->text = text;
  completion->text_data = text_data;
  completion->started = g_get_monotonic_time ();
  g_task_set_task_data (task, completion, (GDestroyNotify) completion_free);
  if (g_cancellable_is_cancelled (cancellable))
    return_stopped (task);
  else
    try_once (task);
}

static OwModelTurn *
ow_openai_model_complete_finish (OwModel       *model,
                                 GAsyncResult  *result,
                                 GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, model), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
ow_openai_model_iface_init (OwModelInterface *iface)
{
  iface->complete_async = ow_openai_model_complete_async;
  iface->complete_finish = ow_openai_model_complete_finish;
}
