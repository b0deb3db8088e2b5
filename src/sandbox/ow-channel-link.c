/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-channel-link-private.h"

#include <signal.h>

#include "base/ow-error.h"
#include "base/ow-process.h"
#include "base/ow-source.h"
#include "base/ow-text.h"
#include "wire/ow-frame.h"
#include "config.h"

#define READ_BYTES (64 * 1024)
/* What waits to be written to a runner that does not read. */
#define WRITE_MAX_BYTES (2 * OW_FRAME_MAX_BYTES)
#define INSTANCE_LENGTH 32

typedef enum {
  LINK_NEW,
  LINK_HELLO,        /* waiting for the hello */
  LINK_INITIALIZING,
  LINK_READY,
  LINK_CLOSED,
} LinkState;

struct _OwChannelLink
{
  GObject               parent_instance;

  OwChannelLinkHandlers handlers;
  gpointer              user_data;
  LinkState             state;
  OwProcess            *process;      /* (owned) (nullable) */
  OwMcpClient          *client;       /* (owned) */
  GCancellable         *cancellable;  /* (owned) ends reads and writes */
  GHashTable           *requests;     /* (owned) id → LinkRequest */
  GQueue                writes;       /* (owned) GBytes; the head is being written */
  gsize                 waiting;      /* bytes in writes */
  GSource              *deadline;     /* (owned) (nullable) hello and initialize */
  char                 *instance;     /* (owned) (nullable) */
  char                 *failure;      /* (owned) (nullable) why it ends soon */
  guint                 violations;   /* besides the client's */
  char                 *buffer;       /* (owned) READ_BYTES, what is read now */
};

typedef struct {
  OwChannelLink *link;       /* (unowned) */
  json_int_t     id;
  OwMcpReplyFunc reply;
  gpointer       user_data;
} LinkRequest;

G_DEFINE_FINAL_TYPE (OwChannelLink, ow_channel_link, G_TYPE_OBJECT)

static void ow_channel_link_read (OwChannelLink *self);
static void ow_channel_link_write_next (OwChannelLink *self);

/* Ends the link and says so to its owner, in the way its state asks for. */
static void
ow_channel_link_end (OwChannelLink *self,
                     OwErrorKind    kind,
                     const char    *reason,
                     const char    *next)
{
  g_autoptr (GError) error = NULL;
  LinkState state = self->state;

  if (state == LINK_CLOSED)
    return;
  ow_channel_link_close (self);
  if (state == LINK_READY)
    {
      self->handlers.broken (self, reason, kind == OW_ERROR_DATA, self->user_data);
      return;
    }
  ow_error_set (&error, kind, "The sandbox's runner cannot be used", reason, next);
  self->handlers.ready (self, error, self->user_data);
}

/* For failures inside a function that the owner called: it must not find itself
 * called back from there. */
static gboolean
ow_channel_link_failed (gpointer user_data)
{
  OwChannelLink *self = user_data;

  ow_channel_link_end (self, OW_ERROR_FAILED, self->failure, NULL);
  return G_SOURCE_REMOVE;
}

static void
ow_channel_link_fail_soon (OwChannelLink *self,
                           const char    *reason)
{
  if (self->failure != NULL)
    return;
  self->failure = g_strdup (reason);
  ow_source_idle (G_PRIORITY_DEFAULT, ow_channel_link_failed, g_object_ref (self),
                  g_object_unref);
}

/* --- writing --- */

static void
ow_channel_link_written (GObject      *source,
                         GAsyncResult *result,
                         gpointer      user_data)
{
  g_autoptr (OwChannelLink) self = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;

  if (!g_output_stream_write_all_finish (G_OUTPUT_STREAM (source), result, NULL, &error))
    {
      /* The read side tells what happened; a half-written line must not be followed. */
      if (self->state != LINK_CLOSED)
        ow_channel_link_end (self, OW_ERROR_FAILED, "its stream broke while writing", NULL);
      return;
    }
  bytes = g_queue_pop_head (&self->writes);
  self->waiting -= g_bytes_get_size (bytes);
  if (self->state != LINK_CLOSED)
    ow_channel_link_write_next (self);
}

static void
ow_channel_link_write_next (OwChannelLink *self)
{
  GBytes *bytes = g_queue_peek_head (&self->writes);
  gsize size;
  gconstpointer data;

  if (bytes == NULL)
    return;
  data = g_bytes_get_data (bytes, &size);
  g_output_stream_write_all_async (ow_process_get_stdin (self->process), data, size,
                                   G_PRIORITY_DEFAULT, self->cancellable,
                                   ow_channel_link_written, g_object_ref (self));
}

static void
ow_channel_link_on_write (const char *line,
                          size_t      length,
                          void       *user_data)
{
  OwChannelLink *self = user_data;
  gboolean idle = g_queue_is_empty (&self->writes);

  if (self->state == LINK_CLOSED || self->state == LINK_HELLO || self->state == LINK_NEW)
    return;
  if (length > WRITE_MAX_BYTES - self->waiting)
    {
      ow_channel_link_fail_soon (self, "it does not read what is sent to it");
      return;
    }
  g_queue_push_tail (&self->writes, g_bytes_new (line, length));
  self->waiting += length;
  if (idle)
    ow_channel_link_write_next (self);
}

/* --- hello and initialize --- */

static gboolean
is_instance (const char *text)
{
  return strlen (text) == INSTANCE_LENGTH
         && strspn (text, "0123456789abcdef") == INSTANCE_LENGTH;
}

static void
ow_channel_link_initialized (json_t *result,
                             json_t *error,
                             void   *user_data)
{
  OwChannelLink *self = user_data;
  json_t *meta = json_object_get (result, "_meta");
  const char *instance = ow_json_get_string (meta, OW_MCP_META_INSTANCE, "");
  const char *version = ow_json_get_string (meta, OW_MCP_META_VERSION, "");

  if (self->state != LINK_INITIALIZING)
    return;
  if (result == NULL || !g_str_equal (instance, self->instance)
      || !g_str_equal (version, OW_VERSION)
      || !g_str_equal (ow_json_get_string (result, "protocolVersion", ""),
                       OW_MCP_PROTOCOL_VERSION))
    {
      ow_channel_link_end (self, OW_ERROR_REFUSED,
                           "its answer to initialize does not agree with its hello",
                           "Install the programs of one version together");
      return;
    }
  ow_channel_link_notify (self, OW_MCP_INITIALIZED, NULL);
  if (self->state != LINK_INITIALIZING)
    return;
  self->state = LINK_READY;
  ow_source_clear (&self->deadline);
  self->handlers.ready (self, NULL, self->user_data);
}

static void
ow_channel_link_hello (OwChannelLink *self,
                       json_t        *params)
{
  const char *instance = ow_json_get_string (params, "instance", "");
  const char *version = ow_json_get_string (params, "version", "");
  g_autofree char *shown = NULL;
  g_autofree char *short_version = NULL;
  g_autofree char *reason = NULL;

  if (!is_instance (instance))
    {
      ow_channel_link_end (self, OW_ERROR_REFUSED, "its hello names no instance", NULL);
      return;
    }
  if (!g_str_equal (version, OW_VERSION))
    {
      shown = ow_text_visible (version);
      short_version = ow_text_shorten (shown, 32, TRUE);
      reason = g_strdup_printf ("it is version %s and this program is version %s",
                                short_version, OW_VERSION);
      ow_channel_link_end (self, OW_ERROR_REFUSED, reason,
                           "Install the programs of one version together");
      return;
    }
  self->instance = g_strdup (instance);
  self->state = LINK_INITIALIZING;
  ow_channel_link_request (self, OW_MCP_INITIALIZE,
                           json_pack ("{s:s, s:{}, s:{s:s, s:s}}",
                                      "protocolVersion", OW_MCP_PROTOCOL_VERSION,
                                      "capabilities",
                                      "clientInfo", "name", "openworker",
                                      "version", OW_VERSION),
                           ow_channel_link_initialized, self);
}

static void
ow_channel_link_on_notification (const char *method,
                                 json_t     *params,
                                 void       *user_data)
{
  OwChannelLink *self = user_data;
  gboolean hello = g_str_equal (method, OW_MCP_HELLO);

  if (self->state == LINK_HELLO && hello)
    ow_channel_link_hello (self, params);
  else if ((self->state == LINK_READY || self->state == LINK_INITIALIZING) && !hello)
    self->handlers.notification (self, method, params, self->user_data);
  else if (self->state != LINK_CLOSED)
    self->violations++;
}

static gboolean
ow_channel_link_too_late (gpointer user_data)
{
  g_autoptr (OwChannelLink) self = g_object_ref (OW_CHANNEL_LINK (user_data));

  ow_source_clear (&self->deadline);
  ow_channel_link_end (self, OW_ERROR_TIMED_OUT,
                       self->state == LINK_HELLO ? "it did not say hello in time"
                                                 : "it did not answer initialize in time",
                       NULL);
  return G_SOURCE_REMOVE;
}

/* --- reading --- */

static void
ow_channel_link_got (GObject      *source,
                     GAsyncResult *result,
                     gpointer      user_data)
{
  g_autoptr (OwChannelLink) self = user_data;
  char error[OW_WIRE_ERROR_SIZE] = "";
  gssize length = g_input_stream_read_finish (G_INPUT_STREAM (source), result, NULL);

  if (self->state == LINK_CLOSED)
    return;
  if (length <= 0)
    {
      ow_channel_link_end (self, OW_ERROR_FAILED,
                           self->state == LINK_HELLO ? "it ended before it said hello"
                                                   : "its stream has ended", NULL);
      return;
    }
  if (!ow_mcp_client_feed (self->client, self->buffer, (size_t) length, error))
    {
      ow_channel_link_end (self, OW_ERROR_DATA, error, NULL);
      return;
    }
  if (self->state == LINK_CLOSED)
    return;
  self->handlers.received (self, self->user_data);
  if (self->state != LINK_CLOSED)
    ow_channel_link_read (self);
}

static void
ow_channel_link_read (OwChannelLink *self)
{
  g_input_stream_read_async (ow_process_get_stdout (self->process), self->buffer,
                             READ_BYTES, G_PRIORITY_DEFAULT, self->cancellable,
                             ow_channel_link_got, g_object_ref (self));
}

/* --- the face --- */

void
ow_channel_link_open (OwChannelLink      *self,
                      const OwAttach      *attach,
                      guint               hello_ms)
{
  OwProcessOptions options = {
    .argv = (const char * const *) attach->argv,
    .envp = (const char * const *) attach->envp, .stdin_pipe = TRUE, .stdout_pipe = TRUE,
  };
  g_autoptr (GError) error = NULL;

  g_return_if_fail (self->state == LINK_NEW);
  self->state = LINK_HELLO;
  self->process = ow_process_spawn (&options, &error);
  if (self->process == NULL)
    {
      ow_channel_link_fail_soon (self, error->message);
      return;
    }
  self->deadline = ow_source_timeout (hello_ms, ow_channel_link_too_late, self, NULL);
  ow_channel_link_read (self);
}

void
ow_channel_link_close (OwChannelLink *self)
{
  if (self->state == LINK_CLOSED)
    return;
  self->state = LINK_CLOSED;
  ow_source_clear (&self->deadline);
  g_cancellable_cancel (self->cancellable);
  /* Only the bridge ends with this; the runner and its work go on. */
  if (self->process != NULL)
    ow_process_signal (self->process, SIGKILL);
}

const char *
ow_channel_link_get_instance (OwChannelLink *self)
{
  return self->instance;
}

guint
ow_channel_link_get_violations (OwChannelLink *self)
{
  return self->violations + ow_mcp_client_get_violations (self->client);
}

static void
ow_channel_link_replied (json_t *result,
                         json_t *error,
                         void   *user_data)
{
  LinkRequest request = *(LinkRequest *) user_data;

  g_hash_table_remove (request.link->requests, &request.id);
  if (request.link->state != LINK_CLOSED)
    request.reply (result, error, request.user_data);
}

json_int_t
ow_channel_link_request (OwChannelLink *self,
                         const char    *method,
                         json_t        *params,
                         OwMcpReplyFunc reply,
                         gpointer       user_data)
{
  LinkRequest *request = g_new0 (LinkRequest, 1);

  request->link = self;
  request->reply = reply;
  request->user_data = user_data;
  request->id = ow_mcp_client_request (self->client, method, params,
                                       ow_channel_link_replied, request);
  if (request->id == 0)
    {
      g_free (request);
      ow_channel_link_fail_soon (self, "a request could not be written");
      return 0;
    }
  g_hash_table_insert (self->requests, &request->id, request);
  return request->id;
}

void
ow_channel_link_forget (OwChannelLink *self,
                        json_int_t     id)
{
  ow_mcp_client_cancel (self->client, id, false, NULL);
  g_hash_table_remove (self->requests, &id);
}

void
ow_channel_link_notify (OwChannelLink *self,
                        const char    *method,
                        json_t        *params)
{
  ow_mcp_client_notify (self->client, method, params);
}

static void
ow_channel_link_dispose (GObject *object)
{
  OwChannelLink *self = OW_CHANNEL_LINK (object);

  ow_channel_link_close (self);
  g_clear_object (&self->process);
  G_OBJECT_CLASS (ow_channel_link_parent_class)->dispose (object);
}

static void
ow_channel_link_finalize (GObject *object)
{
  OwChannelLink *self = OW_CHANNEL_LINK (object);

  ow_mcp_client_free (self->client);
  g_hash_table_unref (self->requests);
  g_queue_clear_full (&self->writes, (GDestroyNotify) g_bytes_unref);
  g_object_unref (self->cancellable);
  g_free (self->instance);
  g_free (self->failure);
  g_free (self->buffer);
  G_OBJECT_CLASS (ow_channel_link_parent_class)->finalize (object);
}

static void
ow_channel_link_class_init (OwChannelLinkClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_channel_link_dispose;
  object_class->finalize = ow_channel_link_finalize;

  /* A bridge that has just ended makes a write fail, which is dealt with; the signal
   * would end the whole program. */
  signal (SIGPIPE, SIG_IGN);
}

static void
ow_channel_link_init (OwChannelLink *self)
{
  static const OwMcpClientHandlers handlers = {
    .write = ow_channel_link_on_write,
    .notification = ow_channel_link_on_notification,
  };

  self->client = ow_mcp_client_new (&handlers, self);
  self->buffer = g_malloc (READ_BYTES);
  self->cancellable = g_cancellable_new ();
  self->requests = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, g_free);
  g_queue_init (&self->writes);
}

OwChannelLink *
ow_channel_link_new (const OwChannelLinkHandlers *handlers,
                     gpointer                     user_data)
{
  OwChannelLink *self = g_object_new (OW_TYPE_CHANNEL_LINK, NULL);

  self->handlers = *handlers;
  self->user_data = user_data;
  return self;
}
