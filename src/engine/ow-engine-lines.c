/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-lines-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-source.h"
#include "wire/ow-frame.h"
#include "wire/ow-rpc.h"

#define READ_BYTES 65536
/* What is written at once; more waits its turn, so that one write is not all that waits. */
#define WRITE_BYTES (256u * 1024u)
#define FLUSH_MS   2000

struct _OwEngineLines
{
  GObject parent_instance;

  GIOStream                   *stream;      /* (owned) (nullable) until closed */
  GCancellable                *cancellable; /* (owned) */
  const OwEngineLinesHandlers *handlers;    /* borrowed (nullable) until closed */
  gpointer                     user_data;
  OwFrameReader               *reader;      /* (owned) */
  char                        *buffer;      /* (owned) */
  GByteArray                  *waiting;     /* (owned) */
  gsize                        taken;       /* of it, from its beginning */
  GBytes                      *writing;     /* (owned) (nullable) */
  GSource                     *flush;       /* (owned) (nullable) the end of the last writes */
  gboolean                     reading;
  gboolean                     paused;
  gboolean                     over;        /* nothing is read any more */
};

G_DEFINE_FINAL_TYPE (OwEngineLines, ow_engine_lines, G_TYPE_OBJECT)

static void read_more (OwEngineLines *self);

static void
forget_waiting (OwEngineLines *self)
{
  /* An array that never held anything has no bytes either. */
  if (self->waiting->len > 0)
    explicit_bzero (self->waiting->data, self->waiting->len);
  g_byte_array_set_size (self->waiting, 0);
  self->taken = 0;
}

static void
drop_stream (OwEngineLines *self)
{
  ow_source_clear (&self->flush);
  /* What is under way ends with this, and the stream, whose last reference it has, with it. */
  g_cancellable_cancel (self->cancellable);
  forget_waiting (self);
  g_clear_object (&self->stream);
}

static void
ow_engine_lines_dispose (GObject *object)
{
  OwEngineLines *self = OW_ENGINE_LINES (object);

  self->handlers = NULL;
  drop_stream (self);
  G_OBJECT_CLASS (ow_engine_lines_parent_class)->dispose (object);
}

/* A line may hold a key on its way to the keyring. */
static void
ow_engine_lines_finalize (GObject *object)
{
  OwEngineLines *self = OW_ENGINE_LINES (object);

  explicit_bzero (self->buffer, READ_BYTES);
  g_free (self->buffer);
  ow_frame_reader_free (self->reader);
  g_byte_array_unref (self->waiting);
  g_clear_pointer (&self->writing, g_bytes_unref);
  g_clear_object (&self->cancellable);
  G_OBJECT_CLASS (ow_engine_lines_parent_class)->finalize (object);
}

static void
ow_engine_lines_class_init (OwEngineLinesClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_engine_lines_dispose;
  G_OBJECT_CLASS (klass)->finalize = ow_engine_lines_finalize;
}

static void
ow_engine_lines_init (OwEngineLines *self)
{
  self->cancellable = g_cancellable_new ();
  self->reader = ow_frame_reader_new (OW_FRAME_MAX_BYTES);
  self->buffer = g_malloc (READ_BYTES);
  self->waiting = g_byte_array_new ();
}

OwEngineLines *
ow_engine_lines_new (GIOStream                   *stream,
                     const OwEngineLinesHandlers *handlers,
                     gpointer                     user_data)
{
  OwEngineLines *self = g_object_new (OW_TYPE_ENGINE_LINES, NULL);

  self->stream = g_object_ref (stream);
  self->handlers = handlers;
  self->user_data = user_data;
  return self;
}

static void
end (OwEngineLines *self,
     const char    *reason)
{
  const OwEngineLinesHandlers *handlers = self->handlers;

  if (self->over)
    return;
  self->over = TRUE;
  if (handlers != NULL)
    handlers->ended (reason, self->user_data);
}

static bool
on_line (const char *line,
         size_t      length,
         void       *user_data)
{
  OwEngineLines *self = user_data;

  if (self->handlers != NULL)
    self->handlers->line ((char *) line, length, self->user_data);
  explicit_bzero ((char *) line, length);
  return self->handlers != NULL && !self->over;
}

static void
on_read (GObject      *source,
         GAsyncResult *result,
         gpointer      user_data)
{
  g_autoptr (OwEngineLines) self = user_data;
  g_autoptr (GError) error = NULL;
  char why[OW_WIRE_ERROR_SIZE];
  gssize n = g_input_stream_read_finish (G_INPUT_STREAM (source), result, &error);

  self->reading = FALSE;
  if (self->handlers == NULL || self->over)
    return;
  if (n < 0)
    end (self, error->message);
  else if (n == 0)
    end (self, NULL);
  else if (!ow_frame_reader_feed (self->reader, self->buffer, n, on_line, self, why))
    end (self, why);
  else
    read_more (self);
}

static void
read_more (OwEngineLines *self)
{
  if (self->reading || self->paused || self->over || self->stream == NULL ||
      self->handlers == NULL)
    return;
  self->reading = TRUE;
  g_input_stream_read_async (g_io_stream_get_input_stream (self->stream), self->buffer, READ_BYTES,
                             G_PRIORITY_DEFAULT, self->cancellable, on_read,
                             g_object_ref (self));
}

void
ow_engine_lines_start (OwEngineLines *self)
{
  read_more (self);
}

void
ow_engine_lines_pause (OwEngineLines *self)
{
  self->paused = TRUE;
}

void
ow_engine_lines_resume (OwEngineLines *self)
{
  self->paused = FALSE;
  read_more (self);
}

gsize
ow_engine_lines_get_waiting (OwEngineLines *self)
{
  return self->waiting->len - self->taken +
         (self->writing != NULL ? g_bytes_get_size (self->writing) : 0);
}

static void write_more (OwEngineLines *self);

static void
on_written (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (OwEngineLines) self = user_data;
  g_autoptr (GError) error = NULL;
  gboolean good = g_output_stream_write_all_finish (G_OUTPUT_STREAM (source), result, NULL, &error);
  gsize size = 0;

  explicit_bzero ((char *) g_bytes_get_data (self->writing, &size),
                  g_bytes_get_size (self->writing));
  g_clear_pointer (&self->writing, g_bytes_unref);
  if (!good)
    {
      forget_waiting (self);
      end (self, error->message);
      if (self->flush != NULL)
        drop_stream (self);
      return;
    }
  write_more (self);
}

static void
write_more (OwEngineLines *self)
{
  gsize length = MIN (self->waiting->len - self->taken, WRITE_BYTES);

  if (self->writing != NULL || self->stream == NULL)
    return;
  if (length == 0)
    {
      if (self->flush != NULL)
        drop_stream (self);
      else if (self->handlers != NULL && self->handlers->drained != NULL)
        self->handlers->drained (self->user_data);
      return;
    }
  self->writing = g_bytes_new (self->waiting->data + self->taken, length);
  self->taken += length;
  if (self->taken == self->waiting->len)
    forget_waiting (self);
  else if (self->taken > self->waiting->len / 2)
    {
      g_byte_array_remove_range (self->waiting, 0, self->taken);
      self->taken = 0;
    }
  g_output_stream_write_all_async (g_io_stream_get_output_stream (self->stream),
                                   g_bytes_get_data (self->writing, NULL), length,
                                   G_PRIORITY_DEFAULT, self->cancellable, on_written,
                                   g_object_ref (self));
}

void
ow_engine_lines_write_line (OwEngineLines *self,
                            const char    *line,
                            gsize          length)
{
  if (self->stream == NULL || self->handlers == NULL)
    return;
  g_byte_array_append (self->waiting, (const guint8 *) line, length);
  write_more (self);
}

gboolean
ow_engine_lines_write (OwEngineLines *self,
                       json_t        *message)
{
  size_t length = 0;
  char *line = ow_rpc_line (message, &length);

  if (line == NULL || self->stream == NULL || self->handlers == NULL)
    {
      free (line);
      return FALSE;
    }
  ow_engine_lines_write_line (self, line, length);
  explicit_bzero (line, length);
  free (line);
  return TRUE;
}

static gboolean
on_flush_over (gpointer user_data)
{
  drop_stream (user_data);
  return G_SOURCE_REMOVE;
}

void
ow_engine_lines_close (OwEngineLines *self,
                       gboolean       flush)
{
  self->over = TRUE;
  self->handlers = NULL;
  if (!flush || self->stream == NULL || ow_engine_lines_get_waiting (self) == 0)
    {
      drop_stream (self);
      return;
    }
  /* What is written keeps us until then. */
  self->flush = ow_source_timeout (FLUSH_MS, on_flush_over, self, NULL);
  write_more (self);
}
