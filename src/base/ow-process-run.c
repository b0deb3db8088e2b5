/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-process.h"

#include <signal.h>

#include "base/ow-error.h"
#include "base/ow-source.h"

#define CHUNK_BYTES 65536
/* How long output is waited for after the child's own end: something that left its
 * group may keep the pipe open for ever. */
#define DRAIN_MS 2000

typedef struct _Run Run;

typedef struct {
  Run          *run;
  GInputStream *stream;  /* (owned) (nullable) */
  GByteArray   *bytes;   /* (owned) */
  gboolean      cut;
} Output;

/* Lives until every callback that knows it has run: @pending counts them. */
struct _Run{
  GTask        *task;      /* (owned) */
  OwProcess    *process;   /* (owned) */
  char         *program;   /* (owned) */
  GCancellable *reading;   /* (owned) */
  GSource      *deadline;  /* (owned) (nullable) */
  GSource      *drain;     /* (owned) (nullable) */
  GSource      *cancelled; /* (owned) (nullable) */
  Output        outputs[2];
  gsize         cap;
  guint         deadline_ms;
  guint         pending;
  gboolean      timed_out;
  gpointer      output_data;
  OwProcessOutputFunc output_func; /* (nullable) */
};

static void read_more (Output *output);

static void
clear_source (GSource **source)
{
  if (*source != NULL)
    g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

static void
run_free (Run *run)
{
  clear_source (&run->deadline);
  clear_source (&run->drain);
  clear_source (&run->cancelled);
  for (guint i = 0; i < G_N_ELEMENTS (run->outputs); i++)
    {
      g_clear_object (&run->outputs[i].stream);
      g_clear_pointer (&run->outputs[i].bytes, g_byte_array_unref);
    }
  g_clear_object (&run->reading);
  g_clear_object (&run->process);
  g_clear_object (&run->task);
  g_free (run->program);
  g_free (run);
}

void
ow_process_result_free (OwProcessResult *result)
{
  if (result == NULL)
    return;

  g_clear_pointer (&result->output, g_bytes_unref);
  g_clear_pointer (&result->error_output, g_bytes_unref);
  g_free (result);
}

static void
complete (Run *run)
{
  OwProcessResult *result;

  /* A cancelled task returns that by itself. */
  if (run->timed_out)
    {
      GError *error = NULL;

      ow_error_setf (&error, OW_ERROR_TIMED_OUT, NULL,
                     "%s did not end within %u.%u seconds and was stopped", run->program,
                     run->deadline_ms / 1000, run->deadline_ms % 1000 / 100);
      g_task_return_error (run->task, error);
      return;
    }

  result = g_new0 (OwProcessResult, 1);
  result->status = ow_process_get_status (run->process);
  result->output = g_byte_array_free_to_bytes (g_steal_pointer (&run->outputs[0].bytes));
  result->error_output = g_byte_array_free_to_bytes (g_steal_pointer (&run->outputs[1].bytes));
  result->cut = run->outputs[0].cut || run->outputs[1].cut;
  g_task_return_pointer (run->task, result, (GDestroyNotify) ow_process_result_free);
}

static void
finish_one (Run *run)
{
  if (--run->pending > 0)
    return;

  complete (run);
  run_free (run);
}

static void
on_read (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  Output *output = user_data;
  g_autoptr (GBytes) bytes = g_input_stream_read_bytes_finish (G_INPUT_STREAM (object), result,
                                                               NULL);
  gsize length = 0;
  gconstpointer data = bytes != NULL ? g_bytes_get_data (bytes, &length) : NULL;
  gsize room = output->run->cap - output->bytes->len;

  if (length == 0)
    {
      finish_one (output->run);
      return;
    }

  if (output == &output->run->outputs[0] && output->run->output_func != NULL)
    output->run->output_func (data, length, output->run->output_data);
  /* Over the cap it is still read: a child that writes on must not hang on us. */
  if (length > room)
    output->cut = TRUE;
  g_byte_array_append (output->bytes, data, (guint) MIN (length, room));
  read_more (output);
}

static void
read_more (Output *output)
{
  g_input_stream_read_bytes_async (output->stream, CHUNK_BYTES, G_PRIORITY_DEFAULT,
                                   output->run->reading, on_read, output);
}

static gboolean
on_drained (gpointer user_data)
{
  Run *run = user_data;

  g_cancellable_cancel (run->reading);
  return G_SOURCE_REMOVE;
}

static void
on_ended (GObject      *object,
          GAsyncResult *result,
          gpointer      user_data)
{
  Run *run = user_data;

  ow_process_wait_finish (OW_PROCESS (object), result, NULL);
  clear_source (&run->deadline);
  /* What it left in its group has nobody to work for. */
  ow_process_signal (run->process, SIGKILL);
  run->drain = g_timeout_source_new (DRAIN_MS);
  g_source_set_callback (run->drain, on_drained, run, NULL);
  g_source_attach (run->drain, g_task_get_context (run->task));
  finish_one (run);
}

static gboolean
on_deadline (gpointer user_data)
{
  Run *run = user_data;

  run->timed_out = TRUE;
  ow_process_signal (run->process, SIGKILL);
  return G_SOURCE_REMOVE;
}

static gboolean
on_cancelled (gpointer user_data)
{
  Run *run = user_data;

  ow_process_signal (run->process, SIGKILL);
  return G_SOURCE_REMOVE;
}

static void
watch (Run *run)
{
  GMainContext *context = g_task_get_context (run->task);

  if (run->deadline_ms > 0)
    {
      run->deadline = g_timeout_source_new (run->deadline_ms);
      g_source_set_callback (run->deadline, on_deadline, run, NULL);
      g_source_attach (run->deadline, context);
    }
  run->cancelled = ow_source_cancelled (g_task_get_cancellable (run->task), on_cancelled, run,
                                        NULL);
}

void
ow_process_run_async (const OwProcessOptions *options,
                      guint                   deadline_ms,
                      gsize                   output_cap,
                      GCancellable           *cancellable,
                      GAsyncReadyCallback     callback,
                      gpointer                user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_autoptr (OwProcess) process = NULL;
  OwProcessOptions piped = *options;
  GError *error = NULL;
  Run *run;

  g_task_set_source_tag (task, ow_process_run_async);
  if (g_task_return_error_if_cancelled (task))
    return;

  piped.stdout_pipe = TRUE;
  piped.stderr_pipe = !options->inherit_stderr;
  piped.stdin_pipe = FALSE;
  process = ow_process_spawn (&piped, &error);
  if (process == NULL)
    {
      g_task_return_error (task, error);
      return;
    }

  run = g_new0 (Run, 1);
  run->program = g_strdup (options->argv[0]);
  run->task = g_steal_pointer (&task);
  run->process = g_steal_pointer (&process);
  run->reading = g_cancellable_new ();
  run->cap = MIN (output_cap, (gsize) G_MAXINT);
  run->deadline_ms = deadline_ms;
  run->output_func = options->output_func;
  run->output_data = options->output_data;
  run->pending = 1;
  for (guint i = 0; i < G_N_ELEMENTS (run->outputs); i++)
    {
      Output *output = &run->outputs[i];
      GInputStream *stream = i == 0 ? ow_process_get_stdout (run->process)
                                    : ow_process_get_stderr (run->process);

      output->run = run;
      output->bytes = g_byte_array_new ();
      if (stream == NULL)
        continue;
      output->stream = g_object_ref (stream);
      run->pending++;
      read_more (output);
    }
  watch (run);
  ow_process_wait_async (run->process, NULL, on_ended, run);
}

OwProcessResult *
ow_process_run_finish (GAsyncResult  *result,
                       GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, NULL), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
