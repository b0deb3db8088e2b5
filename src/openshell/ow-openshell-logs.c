/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell-logs.h"

#include <string.h>

#include "base/ow-process.h"
#include "base/ow-source.h"
#include "base/ow-text.h"
#include "openshell/ow-openshell-names.h"

#define CHUNK_BYTES 16384
#define LINE_CAP    8192
/* Lines that the command is asked for when it begins, and more than that of those told, so that
 * a line of them is known again. */
#define TAIL_LINES  "200"
#define TOLD_MAX    512
/* Between two starts; longer while they bring nothing, as when the gateway is away. */
#define RESTART_MS     1000
#define RESTART_MAX_MS 10000

struct _OwOpenshellLogs {
  GObject parent_instance;

  OwOpenshell  *openshell;   /* (owned) */
  char         *name;        /* (owned) */
  OwProcess    *process;     /* (owned) (nullable) */
  GCancellable *closing;     /* (owned) */
  GSource      *restart;     /* (owned) (nullable) */
  GString      *line;        /* (owned) not whole yet */
  GQueue        told;        /* of (owned) lines as they came, oldest first */
  GHashTable   *before;      /* (owned) line → how often it was told before this start */
  guint         delay_ms;
};

enum { SIGNAL_LINE, SIGNAL_REFUSED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (OwOpenshellLogs, ow_openshell_logs, G_TYPE_OBJECT)

static void start (OwOpenshellLogs *self);

static void
ow_openshell_logs_dispose (GObject *object)
{
  OwOpenshellLogs *self = OW_OPENSHELL_LOGS (object);

  g_cancellable_cancel (self->closing);
  ow_source_clear (&self->restart);
  g_clear_object (&self->process);
  G_OBJECT_CLASS (ow_openshell_logs_parent_class)->dispose (object);
}

static void
ow_openshell_logs_finalize (GObject *object)
{
  OwOpenshellLogs *self = OW_OPENSHELL_LOGS (object);

  g_clear_object (&self->openshell);
  g_clear_object (&self->closing);
  g_free (self->name);
  g_string_free (self->line, TRUE);
  g_queue_clear_full (&self->told, g_free);
  g_hash_table_unref (self->before);
  G_OBJECT_CLASS (ow_openshell_logs_parent_class)->finalize (object);
}

static void
ow_openshell_logs_class_init (OwOpenshellLogsClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_openshell_logs_dispose;
  object_class->finalize = ow_openshell_logs_finalize;
  signals[SIGNAL_LINE] = g_signal_new ("line", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0,
                                       NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[SIGNAL_REFUSED] = g_signal_new ("refused", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST,
                                          0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_POINTER);
}

static void
ow_openshell_logs_init (OwOpenshellLogs *self)
{
  self->closing = g_cancellable_new ();
  self->line = g_string_new (NULL);
  self->before = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->delay_ms = RESTART_MS;
  g_queue_init (&self->told);
}

/* A command that begins again tells its last lines again. They are the same to the millisecond;
 * what is told twice within one start is really there twice. */
static gboolean
was_told_before (OwOpenshellLogs *self,
                 const char      *line)
{
  guint times = GPOINTER_TO_UINT (g_hash_table_lookup (self->before, line));

  if (times == 0)
    return FALSE;
  g_hash_table_insert (self->before, g_strdup (line), GUINT_TO_POINTER (times - 1));
  return TRUE;
}

static void
remember_told (OwOpenshellLogs *self)
{
  g_hash_table_remove_all (self->before);
  for (GList *link = self->told.head; link != NULL; link = link->next)
    {
      guint times = GPOINTER_TO_UINT (g_hash_table_lookup (self->before, link->data));

      g_hash_table_insert (self->before, g_strdup (link->data), GUINT_TO_POINTER (times + 1));
    }
}

/* While lines are told only the reading's own reference is sure: when no other is left, who
 * listened has dropped the follower from within, and may be gone. */
static gboolean
is_dropped (OwOpenshellLogs *self)
{
  return g_atomic_int_get ((gint *) &G_OBJECT (self)->ref_count) == 1;
}

static void
tell_line (OwOpenshellLogs *self)
{
  g_autofree char *valid = ow_text_from_bytes (self->line->str, (gssize) self->line->len);
  g_autofree char *stripped = ow_text_strip_ansi (valid);
  g_autofree char *visible = NULL;
  g_autoptr (OwOpenshellRefusal) refusal = NULL;

  g_string_truncate (self->line, 0);
  g_strchomp (stripped);
  if (*stripped == '\0')
    return;
  self->delay_ms = RESTART_MS;
  if (was_told_before (self, stripped))
    return;
  g_queue_push_tail (&self->told, g_strdup (stripped));
  if (self->told.length > TOLD_MAX)
    g_free (g_queue_pop_head (&self->told));

  visible = ow_text_visible (stripped);
  g_signal_emit (self, signals[SIGNAL_LINE], 0, visible);
  refusal = ow_openshell_refusal_from_line (visible);
  if (refusal != NULL && !is_dropped (self))
    g_signal_emit (self, signals[SIGNAL_REFUSED], 0, refusal);
}

static void
take (OwOpenshellLogs *self,
      const char      *data,
      gsize            length)
{
  for (gsize i = 0; i < length && !is_dropped (self); i++)
    {
      if (data[i] == '\n')
        tell_line (self);
      else if (self->line->len < LINE_CAP)
        g_string_append_c (self->line, data[i]);
    }
}

static gboolean
on_restart (gpointer user_data)
{
  OwOpenshellLogs *self = user_data;

  ow_source_clear (&self->restart);
  start (self);
  return G_SOURCE_REMOVE;
}

static void
plan_restart (OwOpenshellLogs *self)
{
  g_clear_object (&self->process);
  remember_told (self);
  ow_source_clear (&self->restart);
  self->restart = ow_source_timeout (self->delay_ms, on_restart, self, NULL);
  self->delay_ms = MIN (self->delay_ms * 2, RESTART_MAX_MS);
}

static void read_on (OwOpenshellLogs *self, GInputStream *stream);

static void
on_read (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  g_autoptr (OwOpenshellLogs) self = g_weak_ref_get (user_data);
  GInputStream *stream = G_INPUT_STREAM (object);
  g_autoptr (GBytes) bytes = g_input_stream_read_bytes_finish (stream, result, NULL);
  gsize length = 0;
  const char *data = bytes != NULL ? g_bytes_get_data (bytes, &length) : NULL;

  g_weak_ref_clear (user_data);
  g_free (user_data);
  if (self == NULL || g_cancellable_is_cancelled (self->closing))
    return;
  if (length > 0)
    take (self, data, length);
  else if (self->line->len > 0)
    tell_line (self);
  if (is_dropped (self))
    return;
  if (length > 0)
    read_on (self, stream);
  else
    plan_restart (self);
}

/* The reading does not keep the follower alive. */
static void
read_on (OwOpenshellLogs *self,
         GInputStream    *stream)
{
  GWeakRef *weak = g_new0 (GWeakRef, 1);

  g_weak_ref_init (weak, self);
  g_input_stream_read_bytes_async (stream, CHUNK_BYTES, G_PRIORITY_DEFAULT, self->closing, on_read,
                                   weak);
}

static void
start (OwOpenshellLogs *self)
{
  const char *argv[] = { ow_openshell_get_program (self->openshell), "logs", self->name, "--tail",
                         "-n", TAIL_LINES, "--source", "sandbox", NULL };
  /* It would follow for ever what nobody reads. */
  OwProcessOptions options = { .argv = argv, .stdout_pipe = TRUE, .dies_with_us = TRUE,
                               .envp = ow_openshell_get_environment (self->openshell) };

  self->process = ow_process_spawn (&options, NULL);
  if (self->process != NULL)
    read_on (self, ow_process_get_stdout (self->process));
  else
    plan_restart (self);
}

OwOpenshellLogs *
ow_openshell_logs_new (OwOpenshell *openshell,
                       const char  *name)
{
  OwOpenshellLogs *self = g_object_new (OW_TYPE_OPENSHELL_LOGS, NULL);

  self->openshell = g_object_ref (openshell);
  self->name = g_strdup (name);
  /* A name that could be an option is followed by nobody. */
  if (ow_openshell_name_is_safe (name))
    start (self);
  return self;
}
