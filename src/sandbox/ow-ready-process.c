/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-ready-process-private.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "base/ow-text.h"
#include "wire/ow-frame.h"

#define CHUNK      16384
#define LINE_CAP   65536
#define ERRORS_CAP 8192

struct _OwReadyProcess {
  GObject parent_instance;

  OwProcess     *process;  /* (owned) */
  char          *name;     /* (owned) */
  OwFrameReader *frames;   /* (owned) */
  GString       *errors;   /* (owned) */
  GCancellable  *closing;  /* (owned) ends our reading */
  GTask         *waiting;  /* (owned) (nullable) */
  GSource       *deadline; /* (owned) (nullable) */
  gulong         cancelled_id;
  guint          open_streams;
  gboolean       exited;
  gboolean       ready;
  gboolean       ended;
};

enum { SIGNAL_LINE, SIGNAL_ENDED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (OwReadyProcess, ow_ready_process, G_TYPE_OBJECT)

/* One stream's reading; it does not keep the owner alive. */
typedef struct {
  GWeakRef      owner;
  GInputStream *stream; /* (owned) */
  gboolean      errors;
} Reading;

static void read_on (Reading *reading, OwReadyProcess *self);

static void
reading_free (Reading *reading)
{
  g_weak_ref_clear (&reading->owner);
  g_object_unref (reading->stream);
  g_free (reading);
}

static void
stop_deadline (OwReadyProcess *self)
{
  if (self->deadline != NULL)
    g_source_destroy (self->deadline);
  g_clear_pointer (&self->deadline, g_source_unref);
}

/* Answers the wait; takes @error. */
static void
answer (OwReadyProcess *self,
        GError         *error)
{
  g_autoptr (GTask) task = g_steal_pointer (&self->waiting);

  stop_deadline (self);
  if (task == NULL)
    {
      g_clear_error (&error);
      return;
    }
  if (self->cancelled_id != 0)
    g_signal_handler_disconnect (g_task_get_cancellable (task), self->cancelled_id);
  self->cancelled_id = 0;
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_boolean (task, TRUE);
}

static void
answer_failed (OwReadyProcess *self,
               OwErrorKind     kind,
               const char     *why)
{
  g_autofree char *text = ow_ready_process_get_errors (self);
  GError *error = NULL;

  if (text[0] != '\0')
    ow_error_setf (&error, kind, NULL, "%s did not start: %s: %s", self->name, why, text);
  else
    ow_error_setf (&error, kind, NULL, "%s did not start: %s", self->name, why);
  answer (self, error);
}

/* The end is told when the child is reaped and both streams are read to their end, so
 * that its last words are part of the reason; a descendant that holds a stream open
 * does not delay it for long. */
static void
tell_end (OwReadyProcess *self)
{
  int status = ow_process_get_status (self->process);
  g_autofree char *reason = NULL;
  g_autofree char *text = NULL;

  if (self->ended)
    return;
  self->ended = TRUE;
  if (WIFSIGNALED (status))
    reason = g_strdup_printf ("it was killed by signal %d", WTERMSIG (status));
  else
    reason = g_strdup_printf ("it ended with status %d", WEXITSTATUS (status));
  text = g_strdup_printf ("%s: %s", self->name, reason);
  if (self->waiting != NULL)
    answer_failed (self, OW_ERROR_FAILED, reason);
  g_signal_emit (self, signals[SIGNAL_ENDED], 0, text);
}

static gboolean
on_streams_late (gpointer user_data)
{
  g_autoptr (OwReadyProcess) self = g_weak_ref_get (user_data);

  if (self != NULL)
    tell_end (self);
  return G_SOURCE_REMOVE;
}

static void
free_weak (gpointer data)
{
  g_weak_ref_clear (data);
  g_free (data);
}

static GWeakRef *
make_weak (OwReadyProcess *self)
{
  GWeakRef *weak = g_new0 (GWeakRef, 1);

  g_weak_ref_init (weak, self);
  return weak;
}

static void
on_exited (GObject      *object,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwReadyProcess) self = g_weak_ref_get (user_data);
  gboolean waited = ow_process_wait_finish (OW_PROCESS (object), result, NULL);

  free_weak (user_data);
  if (self == NULL || !waited)
    return;
  self->exited = TRUE;
  if (self->open_streams == 0)
    tell_end (self);
  else
    {
      g_autoptr (GSource) late = ow_source_timeout (500, on_streams_late, make_weak (self),
                                                    free_weak);
    }
}

static bool
on_line (const char *line,
         size_t      length,
         void       *user_data)
{
  OwReadyProcess *self = user_data;
  g_autofree char *text = ow_text_from_bytes (line, (gssize) length);

  if (self->ready)
    {
      g_signal_emit (self, signals[SIGNAL_LINE], 0, text);
    }
  else if (strcmp (text, "ready") == 0)
    {
      self->ready = TRUE;
      answer (self, NULL);
    }
  else
    {
      answer_failed (self, OW_ERROR_DATA, "it said something else than \"ready\"");
    }
  return true;
}

static void
take_bytes (OwReadyProcess *self,
            Reading        *reading,
            GBytes         *bytes)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);
  char error[OW_WIRE_ERROR_SIZE];

  if (reading->errors)
    {
      gsize room = ERRORS_CAP - self->errors->len;

      g_string_append_len (self->errors, data, (gssize) MIN (room, length));
    }
  else if (!ow_frame_reader_feed (self->frames, data, length, on_line, self, error))
    {
      answer_failed (self, OW_ERROR_DATA, error);
    }
}

static void
on_bytes (GObject      *object,
          GAsyncResult *result,
          gpointer      user_data)
{
  Reading *reading = user_data;
  g_autoptr (GBytes) bytes = g_input_stream_read_bytes_finish (G_INPUT_STREAM (object), result,
                                                               NULL);
  g_autoptr (OwReadyProcess) self = g_weak_ref_get (&reading->owner);

  if (self != NULL && bytes != NULL && g_bytes_get_size (bytes) > 0)
    {
      take_bytes (self, reading, bytes);
      read_on (reading, self);
      return;
    }
  reading_free (reading);
  if (self == NULL)
    return;
  self->open_streams--;
  if (self->open_streams == 0 && self->exited)
    tell_end (self);
}

static void
read_on (Reading        *reading,
         OwReadyProcess *self)
{
  g_input_stream_read_bytes_async (reading->stream, CHUNK, G_PRIORITY_DEFAULT, self->closing,
                                   on_bytes, reading);
}

static void
start_reading (OwReadyProcess *self,
               GInputStream   *stream,
               gboolean        errors)
{
  Reading *reading;

  if (stream == NULL)
    return;
  reading = g_new0 (Reading, 1);
  g_weak_ref_init (&reading->owner, self);
  reading->stream = g_object_ref (stream);
  reading->errors = errors;
  self->open_streams++;
  read_on (reading, self);
}

static void
ow_ready_process_dispose (GObject *object)
{
  OwReadyProcess *self = OW_READY_PROCESS (object);

  g_cancellable_cancel (self->closing);
  self->ended = TRUE;
  answer (self, g_error_new_literal (OW_ERROR, OW_ERROR_INTERRUPTED, "The start was given up"));
  /* Our wait holds the process too until the main loop runs again, if it ever does. */
  if (self->process != NULL)
    ow_process_signal (self->process, SIGKILL);
  g_clear_object (&self->process);
  G_OBJECT_CLASS (ow_ready_process_parent_class)->dispose (object);
}

static void
ow_ready_process_finalize (GObject *object)
{
  OwReadyProcess *self = OW_READY_PROCESS (object);

  g_clear_object (&self->closing);
  g_clear_pointer (&self->frames, ow_frame_reader_free);
  g_string_free (self->errors, TRUE);
  g_free (self->name);
  G_OBJECT_CLASS (ow_ready_process_parent_class)->finalize (object);
}

static void
ow_ready_process_class_init (OwReadyProcessClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_ready_process_dispose;
  object_class->finalize = ow_ready_process_finalize;
  signals[SIGNAL_LINE] = g_signal_new ("line", OW_TYPE_READY_PROCESS, G_SIGNAL_RUN_LAST, 0, NULL,
                                       NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[SIGNAL_ENDED] = g_signal_new ("ended", OW_TYPE_READY_PROCESS, G_SIGNAL_RUN_LAST, 0,
                                        NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
ow_ready_process_init (OwReadyProcess *self)
{
  self->closing = g_cancellable_new ();
  self->frames = ow_frame_reader_new (LINE_CAP);
  self->errors = g_string_new (NULL);
}

OwReadyProcess *
ow_ready_process_new (OwProcess  *process,
                      const char *name)
{
  OwReadyProcess *self = g_object_new (OW_TYPE_READY_PROCESS, NULL);

  self->process = process;
  self->name = g_strdup (name);
  start_reading (self, ow_process_get_stdout (process), FALSE);
  start_reading (self, ow_process_get_stderr (process), TRUE);
  ow_process_wait_async (process, self->closing, on_exited, make_weak (self));
  return self;
}

static gboolean
on_deadline (gpointer user_data)
{
  OwReadyProcess *self = user_data;

  answer_failed (self, OW_ERROR_TIMED_OUT, "it was not ready in time");
  return G_SOURCE_REMOVE;
}

static gboolean
on_cancelled_idle (gpointer user_data)
{
  g_autoptr (OwReadyProcess) self = g_weak_ref_get (user_data);

  if (self != NULL)
    answer (self, g_error_new_literal (OW_ERROR, OW_ERROR_INTERRUPTED, "The start was stopped"));
  return G_SOURCE_REMOVE;
}

/* A handler cannot be disconnected while it runs, so the answer waits for the loop. */
static void
on_cancelled (GCancellable   *cancellable,
              OwReadyProcess *self)
{
  ow_source_idle (G_PRIORITY_DEFAULT, on_cancelled_idle, make_weak (self), free_weak);
}

void
ow_ready_process_wait_async (OwReadyProcess     *self,
                             guint               deadline_ms,
                             GCancellable       *cancellable,
                             GAsyncReadyCallback callback,
                             gpointer            user_data)
{
  g_return_if_fail (OW_IS_READY_PROCESS (self));
  g_return_if_fail (self->waiting == NULL);

  self->waiting = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (self->waiting, ow_ready_process_wait_async);
  g_task_set_check_cancellable (self->waiting, FALSE);
  if (self->ready || self->ended)
    {
      if (self->ready)
        answer (self, NULL);
      else
        answer_failed (self, OW_ERROR_FAILED, "it has ended");
      return;
    }
  self->deadline = ow_source_timeout (deadline_ms, on_deadline, self, NULL);
  if (cancellable != NULL)
    {
      if (g_cancellable_is_cancelled (cancellable))
        on_cancelled (cancellable, self);
      else
        self->cancelled_id = g_signal_connect (cancellable, "cancelled",
                                               G_CALLBACK (on_cancelled), self);
    }
}

gboolean
ow_ready_process_wait_finish (OwReadyProcess *self,
                              GAsyncResult   *result,
                              GError        **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

char *
ow_ready_process_get_errors (OwReadyProcess *self)
{
  g_autofree char *text = NULL;
  g_autofree char *plain = NULL;
  g_autofree char *visible = NULL;

  g_return_val_if_fail (OW_IS_READY_PROCESS (self), NULL);

  text = ow_text_from_bytes (self->errors->str, (gssize) self->errors->len);
  plain = ow_text_strip_ansi (text);
  visible = ow_text_visible (plain);
  return g_strdup (g_strstrip (visible));
}

gboolean
ow_ready_process_is_over (OwReadyProcess *self)
{
  g_return_val_if_fail (OW_IS_READY_PROCESS (self), TRUE);

  return self->ended;
}

OwProcess *
ow_ready_process_get_process (OwReadyProcess *self)
{
  g_return_val_if_fail (OW_IS_READY_PROCESS (self), NULL);

  return self->process;
}
