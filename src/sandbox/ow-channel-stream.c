/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-channel-stream-private.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <gio/gunixoutputstream.h>
#include <glib-unix.h>

#include "base/ow-process.h"
#include "base/ow-source.h"
#include "base/ow-text.h"
#include "ow-channel-pty-private.h"
#include "wire/ow-frame.h"

#define READ_BYTES (64 * 1024)
/* What waits to be written to a process that does not read. */
#define WRITE_MAX_BYTES (2 * OW_FRAME_MAX_BYTES)
#define COMPLAINT_BYTES (16 * 1024)
/* How long the other ends of a process that goes are waited for: why it went is on stderr. */
#define DRAIN_MS 500

struct _OwChannelStream
{
  GObject                 parent_instance;

  OwChannelStreamHandlers handlers;
  gpointer                user_data;
  OwProcess              *process;     /* (owned) (nullable) */
  GOutputStream          *input;       /* (owned) (nullable) the process' stdin */
  int                     master;      /* -1: stdin is a pipe; else input's descriptor */
  GSource                *terminal;    /* (owned) (nullable) what comes back on it */
  GCancellable           *cancellable; /* (owned) ends reads and writes */
  GQueue                  writes;      /* (owned) GBytes; the head is being written */
  gsize                   waiting;     /* bytes in writes */
  gint64                  written_us;
  char                   *buffer;      /* (owned) READ_BYTES, what is read now */
  char                   *error_buffer; /* (owned) likewise, of stderr */
  GString                *said;        /* (owned) stderr, its end */
  GString                *early;       /* (owned) stdout before it was accepted, its end */
  char                   *complaint;   /* (owned) (nullable) */
  const char             *reason;      /* (nullable) why it ends soon */
  GSource                *drain;       /* (owned) (nullable) then it ends */
  gboolean                stderr_open;
  gboolean                shutting;
  gboolean                accepted;
  gboolean                closed;
};

G_DEFINE_FINAL_TYPE (OwChannelStream, ow_channel_stream, G_TYPE_OBJECT)

static void ow_channel_stream_read (OwChannelStream *self);
static void ow_channel_stream_read_error (OwChannelStream *self);
static void ow_channel_stream_write_next (OwChannelStream *self);

/* --- the end --- */

static gboolean
ow_channel_stream_end (gpointer user_data)
{
  g_autoptr (OwChannelStream) self = g_object_ref (OW_CHANNEL_STREAM (user_data));

  if (self->closed)
    return G_SOURCE_REMOVE;
  ow_channel_stream_close (self);
  self->handlers.ended (self->reason, self->user_data);
  return G_SOURCE_REMOVE;
}

static void
ow_channel_stream_end_soon (OwChannelStream *self,
                            const char      *reason)
{
  if (self->closed || self->drain != NULL)
    return;
  self->reason = reason;
  self->drain = ow_source_timeout (DRAIN_MS, ow_channel_stream_end, self, NULL);
}

/* --- writing --- */

static void
ow_channel_stream_shut_now (OwChannelStream *self)
{
  self->shutting = FALSE;
  g_output_stream_close_async (self->input, G_PRIORITY_DEFAULT, NULL, NULL, NULL);
}

static void
ow_channel_stream_written (GObject      *source,
                           GAsyncResult *result,
                           gpointer      user_data)
{
  g_autoptr (OwChannelStream) self = user_data;
  g_autoptr (GBytes) bytes = NULL;

  if (!g_output_stream_write_all_finish (G_OUTPUT_STREAM (source), result, NULL, NULL))
    {
      /* A half-written line must not be followed. What is still to be read may say more. */
      ow_channel_stream_end_soon (self, "its stream broke while writing");
      return;
    }
  bytes = g_queue_pop_head (&self->writes);
  self->waiting -= g_bytes_get_size (bytes);
  self->written_us = g_get_monotonic_time ();
  if (!self->closed)
    ow_channel_stream_write_next (self);
}

static void
ow_channel_stream_write_next (OwChannelStream *self)
{
  GBytes *bytes = g_queue_peek_head (&self->writes);
  gsize size;
  gconstpointer data;

  if (bytes == NULL)
    {
      if (self->shutting)
        ow_channel_stream_shut_now (self);
      return;
    }
  data = g_bytes_get_data (bytes, &size);
  g_output_stream_write_all_async (self->input, data, size, G_PRIORITY_DEFAULT,
                                   self->cancellable, ow_channel_stream_written,
                                   g_object_ref (self));
}

gboolean
ow_channel_stream_write (OwChannelStream *self,
                         const char      *data,
                         gsize            length)
{
  gboolean idle = g_queue_is_empty (&self->writes);

  if (self->closed || self->input == NULL)
    return TRUE;
  if (length > WRITE_MAX_BYTES - self->waiting)
    return FALSE;
  g_queue_push_tail (&self->writes, g_bytes_new (data, length));
  self->waiting += length;
  if (idle)
    ow_channel_stream_write_next (self);
  return TRUE;
}

void
ow_channel_stream_shut (OwChannelStream *self)
{
  g_return_if_fail (self->master < 0);

  self->shutting = TRUE;
  if (!self->closed && self->input != NULL && g_queue_is_empty (&self->writes))
    ow_channel_stream_shut_now (self);
}

gint64
ow_channel_stream_get_written_us (OwChannelStream *self)
{
  return self->written_us;
}

gboolean
ow_channel_stream_is_writing (OwChannelStream *self)
{
  return !g_queue_is_empty (&self->writes);
}

/* --- reading --- */

static void
keep_end (GString    *string,
          const char *data,
          gsize       length)
{
  g_string_append_len (string, data, (gssize) length);
  if (string->len > COMPLAINT_BYTES)
    g_string_erase (string, 0, (gssize) (string->len - COMPLAINT_BYTES));
}

static void
ow_channel_stream_got (GObject      *source,
                       GAsyncResult *result,
                       gpointer      user_data)
{
  g_autoptr (OwChannelStream) self = user_data;
  gssize length = g_input_stream_read_finish (G_INPUT_STREAM (source), result, NULL);

  if (self->closed)
    return;
  if (length <= 0)
    {
      ow_channel_stream_end_soon (self, "its stream has ended");
      if (!self->stderr_open)
        ow_channel_stream_end (self);
      return;
    }
  if (!self->accepted)
    keep_end (self->early, self->buffer, (gsize) length);
  self->handlers.received (self->buffer, (gsize) length, self->user_data);
  if (!self->closed)
    ow_channel_stream_read (self);
}

static void
ow_channel_stream_read (OwChannelStream *self)
{
  g_input_stream_read_async (ow_process_get_stdout (self->process), self->buffer, READ_BYTES,
                             G_PRIORITY_DEFAULT, self->cancellable, ow_channel_stream_got,
                             g_object_ref (self));
}

static void
ow_channel_stream_got_error (GObject      *source,
                             GAsyncResult *result,
                             gpointer      user_data)
{
  g_autoptr (OwChannelStream) self = user_data;
  gssize length = g_input_stream_read_finish (G_INPUT_STREAM (source), result, NULL);

  if (self->closed)
    return;
  if (length > 0)
    {
      keep_end (self->said, self->error_buffer, (gsize) length);
      ow_channel_stream_read_error (self);
      return;
    }
  self->stderr_open = FALSE;
  if (self->drain != NULL)
    ow_channel_stream_end (self);
}

static void
ow_channel_stream_read_error (OwChannelStream *self)
{
  g_input_stream_read_async (ow_process_get_stderr (self->process), self->error_buffer,
                             READ_BYTES, G_PRIORITY_DEFAULT, self->cancellable,
                             ow_channel_stream_got_error, g_object_ref (self));
}

/* What the process writes to its terminal is for a person; unread, it would block there. */
static gboolean
ow_channel_stream_on_terminal (int          fd,
                               GIOCondition condition,
                               gpointer     user_data)
{
  OwChannelStream *self = user_data;
  char thrown_away[4096];
  gssize length = read (fd, thrown_away, sizeof thrown_away);

  if (length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR)))
    return G_SOURCE_CONTINUE;
  ow_channel_stream_end_soon (self, "its terminal was closed");
  return G_SOURCE_REMOVE;
}

/* --- the face --- */

static void
ow_channel_stream_watch_terminal (OwChannelStream *self)
{
  self->input = g_unix_output_stream_new (self->master, TRUE);
  self->terminal = g_unix_fd_source_new (self->master, G_IO_IN | G_IO_HUP | G_IO_ERR);
  g_source_set_callback (self->terminal, G_SOURCE_FUNC (ow_channel_stream_on_terminal), self,
                         NULL);
  g_source_attach (self->terminal, g_main_context_get_thread_default ());
}

gboolean
ow_channel_stream_open (OwChannelStream    *self,
                        const char * const *argv,
                        const char * const *envp,
                        gboolean            terminal,
                        GError            **error)
{
  static const int target = STDIN_FILENO;
  int slave = -1;
  OwProcessOptions options = {
    .argv = argv, .envp = envp, .stdin_pipe = !terminal, .stdout_pipe = TRUE,
    .stderr_pipe = TRUE, .fds = &slave, .target_fds = &target, .n_fds = terminal ? 1 : 0,
    /* A command that is not told that its terminal is gone would stay until the inside lets it
     * go. */
    .dies_with_us = TRUE,
  };

  g_return_val_if_fail (self->process == NULL && !self->closed, FALSE);
  if (terminal && !ow_channel_pty_open (&self->master, &slave, error))
    return FALSE;
  self->process = ow_process_spawn (&options, error);
  /* The last copy is the process' own: its end must be seen here. */
  if (slave >= 0)
    close (slave);
  if (self->process == NULL)
    {
      if (self->master >= 0)
        close (g_steal_fd (&self->master));
      return FALSE;
    }
  if (terminal)
    ow_channel_stream_watch_terminal (self);
  else
    self->input = g_object_ref (ow_process_get_stdin (self->process));
  self->written_us = g_get_monotonic_time ();
  self->stderr_open = TRUE;
  ow_channel_stream_read (self);
  ow_channel_stream_read_error (self);
  return TRUE;
}

void
ow_channel_stream_close (OwChannelStream *self)
{
  if (self->closed)
    return;
  self->closed = TRUE;
  ow_source_clear (&self->drain);
  ow_source_clear (&self->terminal);
  g_cancellable_cancel (self->cancellable);
  /* Only the relay ends with this; the runner and its work go on. */
  if (self->process != NULL)
    ow_process_signal (self->process, SIGKILL);
}

void
ow_channel_stream_accept (OwChannelStream *self)
{
  self->accepted = TRUE;
  g_string_truncate (self->early, 0);
}

const char *
ow_channel_stream_get_complaint (OwChannelStream *self)
{
  GString *text = self->said->len > 0 ? self->said : self->early;

  g_free (self->complaint);
  self->complaint = ow_text_from_bytes (text->str, (gssize) text->len);
  return self->complaint;
}

static void
ow_channel_stream_dispose (GObject *object)
{
  OwChannelStream *self = OW_CHANNEL_STREAM (object);

  ow_channel_stream_close (self);
  g_clear_object (&self->input);
  g_clear_object (&self->process);
  G_OBJECT_CLASS (ow_channel_stream_parent_class)->dispose (object);
}

static void
ow_channel_stream_finalize (GObject *object)
{
  OwChannelStream *self = OW_CHANNEL_STREAM (object);

  g_queue_clear_full (&self->writes, (GDestroyNotify) g_bytes_unref);
  g_object_unref (self->cancellable);
  g_string_free (self->said, TRUE);
  g_string_free (self->early, TRUE);
  g_free (self->complaint);
  g_free (self->buffer);
  g_free (self->error_buffer);
  G_OBJECT_CLASS (ow_channel_stream_parent_class)->finalize (object);
}

static void
ow_channel_stream_class_init (OwChannelStreamClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_channel_stream_dispose;
  object_class->finalize = ow_channel_stream_finalize;

  /* A relay that has just ended makes a write fail, which is dealt with; the signal
   * would end the whole program. */
  signal (SIGPIPE, SIG_IGN);
}

static void
ow_channel_stream_init (OwChannelStream *self)
{
  self->master = -1;
  self->buffer = g_malloc (READ_BYTES);
  self->error_buffer = g_malloc (READ_BYTES);
  self->said = g_string_new (NULL);
  self->early = g_string_new (NULL);
  self->cancellable = g_cancellable_new ();
  g_queue_init (&self->writes);
}

OwChannelStream *
ow_channel_stream_new (const OwChannelStreamHandlers *handlers,
                       gpointer                       user_data)
{
  OwChannelStream *self = g_object_new (OW_TYPE_CHANNEL_STREAM, NULL);

  self->handlers = *handlers;
  self->user_data = user_data;
  return self;
}
