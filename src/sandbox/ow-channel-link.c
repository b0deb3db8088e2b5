/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-channel-link-private.h"

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "base/ow-text.h"
#include "ow-channel-once-private.h"
#include "ow-channel-stream-private.h"
#include "openshell/ow-openshell-error.h"
#include "config.h"

#define INSTANCE_LENGTH 32
/* Of what a relay said, in characters, as the reason of a break. */
#define COMPLAINT_CHARS 400

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
  OwChannelOnce        *once;         /* (owned) (nullable) does all instead */
  GByteArray           *batch;        /* (owned) (nullable) all that is said, before it is open */
  OwChannelStream      *stream;       /* (owned) */
  OwMcpClient          *client;       /* (owned) */
  GHashTable           *requests;     /* (owned) id → LinkRequest */
  GSource              *deadline;     /* (owned) (nullable) hello and initialize */
  GSource              *keep_alive;   /* (owned) (nullable) */
  guint                 keep_alive_ms;
  gboolean              pinging;      /* a ping of keep_alive has no reply yet */
  char                 *instance;     /* (owned) (nullable) */
  char                 *failure;      /* (owned) (nullable) why it ends soon */
  guint                 violations;   /* besides the client's */
  guint                 banners;      /* of the client's, before the hello */
};

typedef struct {
  OwChannelLink *link;       /* (unowned) */
  json_int_t     id;
  OwMcpReplyFunc reply;
  gpointer       user_data;
} LinkRequest;

G_DEFINE_FINAL_TYPE (OwChannelLink, ow_channel_link, G_TYPE_OBJECT)

/* (transfer full) @reason with what the relay said of it. */
static char *
ow_channel_link_explain (OwChannelLink *self,
                         const char    *reason)
{
  g_autofree char *plain = ow_openshell_text_plain (ow_channel_link_get_complaint (self), -1);
  g_autofree char *said = ow_text_shorten (g_strstrip (plain), COMPLAINT_CHARS, TRUE);

  return *said == '\0' ? g_strdup (reason) : g_strdup_printf ("%s: %s", reason, said);
}

/* Ends the link and says so to its owner, in the way its state asks for. */
static void
ow_channel_link_end (OwChannelLink *self,
                     OwErrorKind    kind,
                     const char    *reason,
                     const char    *next)
{
  g_autoptr (OwChannelLink) keep = g_object_ref (self);
  g_autofree char *full = ow_channel_link_explain (self, reason);
  g_autoptr (GError) error = NULL;
  LinkState state = self->state;

  if (state == LINK_CLOSED)
    return;
  ow_channel_link_close (self);
  if (state == LINK_READY)
    {
      self->handlers.broken (self, full, kind == OW_ERROR_DATA, self->user_data);
      return;
    }
  ow_error_set (&error, kind, "The sandbox's runner cannot be used", full, next);
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
ow_channel_link_on_write (const char *line,
                          size_t      length,
                          void       *user_data)
{
  OwChannelLink *self = user_data;

  if (self->batch != NULL && self->state == LINK_NEW)
    g_byte_array_append (self->batch, (const guint8 *) line, (guint) length);
  if (self->batch != NULL || self->state == LINK_CLOSED || self->state == LINK_HELLO
      || self->state == LINK_NEW)
    return;
  if (!ow_channel_stream_write (self->stream, line, length))
    ow_channel_link_fail_soon (self, "it does not read what is sent to it");
}

static void
ow_channel_link_kept_alive (json_t *result,
                            json_t *error,
                            void   *user_data)
{
  OwChannelLink *self = user_data;

  self->pinging = FALSE;
}

/* The far end ends by itself when it hears nothing. While a ping has no answer an empty line,
 * which is nothing to whom reads messages, does as well. */
static gboolean
ow_channel_link_keep_alive (gpointer user_data)
{
  OwChannelLink *self = user_data;
  gint64 quiet_us = g_get_monotonic_time () - ow_channel_stream_get_written_us (self->stream);

  if (ow_channel_stream_is_writing (self->stream)
      || quiet_us < (gint64) self->keep_alive_ms * 900)
    return G_SOURCE_CONTINUE;
  if (self->pinging)
    {
      ow_channel_stream_write (self->stream, "\n", 1);
      return G_SOURCE_CONTINUE;
    }
  self->pinging = TRUE;
  ow_channel_link_request (self, OW_MCP_PING, NULL, ow_channel_link_kept_alive, self);
  return G_SOURCE_CONTINUE;
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
  if (self->batch == NULL)
    ow_channel_link_notify (self, OW_MCP_INITIALIZED, NULL);
  if (self->state != LINK_INITIALIZING)
    return;
  self->state = LINK_READY;
  ow_source_clear (&self->deadline);
  /* Half the time: what is sent between two looks counts from when it was sent. */
  if (self->keep_alive_ms > 0)
    self->keep_alive = ow_source_timeout (MAX (1, self->keep_alive_ms / 2),
                                          ow_channel_link_keep_alive, self, NULL);
  self->handlers.ready (self, NULL, self->user_data);
}

static void
ow_channel_link_initialize (OwChannelLink *self)
{
  ow_channel_link_request (self, OW_MCP_INITIALIZE,
                           json_pack ("{s:s, s:{}, s:{s:s, s:s}}",
                                      "protocolVersion", OW_MCP_PROTOCOL_VERSION,
                                      "capabilities",
                                      "clientInfo", "name", "openworker",
                                      "version", OW_VERSION),
                           ow_channel_link_initialized, self);
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
  self->banners = ow_mcp_client_get_violations (self->client);
  ow_channel_stream_accept (self->stream);
  self->state = LINK_INITIALIZING;
  if (self->batch == NULL)
    ow_channel_link_initialize (self);
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

/* --- the stream --- */

static void
ow_channel_link_on_received (const char *data,
                             gsize       length,
                             gpointer    user_data)
{
  /* What a message leads to may let go of the link. */
  g_autoptr (OwChannelLink) self = g_object_ref (user_data);
  char error[OW_WIRE_ERROR_SIZE] = "";

  if (!ow_mcp_client_feed (self->client, data, length, error))
    ow_channel_link_end (self, OW_ERROR_DATA, error, NULL);
  else if (self->state != LINK_CLOSED)
    self->handlers.received (self, self->user_data);
}

static void
ow_channel_link_on_ended (const char *reason,
                          gpointer    user_data)
{
  OwChannelLink *self = user_data;

  ow_channel_link_end (self, OW_ERROR_FAILED,
                       self->state == LINK_HELLO ? "it ended before it said hello" : reason, NULL);
}

/* --- the face --- */

void
ow_channel_link_open (OwChannelLink  *self,
                      const OwAttach *attach,
                      guint           hello_ms)
{
  g_autoptr (GError) error = NULL;

  g_return_if_fail (self->state == LINK_NEW);
  self->state = LINK_HELLO;
  self->keep_alive_ms = attach->keep_alive_ms;
  if (!ow_channel_stream_open (self->stream, (const char * const *) attach->argv,
                               (const char * const *) attach->envp, attach->terminal, &error))
    {
      ow_channel_link_fail_soon (self, error->message);
      return;
    }
  self->deadline = ow_source_timeout (hello_ms, ow_channel_link_too_late, self, NULL);
  if (self->batch == NULL)
    return;
  ow_channel_stream_write (self->stream, (const char *) self->batch->data, self->batch->len);
  ow_channel_stream_shut (self->stream);
}

void
ow_channel_link_begin_batch (OwChannelLink *self)
{
  g_return_if_fail (self->state == LINK_NEW && self->batch == NULL);
  self->batch = g_byte_array_new ();
  ow_channel_link_initialize (self);
  ow_channel_link_notify (self, OW_MCP_INITIALIZED, NULL);
}

void
ow_channel_link_open_once (OwChannelLink  *self,
                           const OwAttach *attach,
                           guint           hello_ms)
{
  g_return_if_fail (self->state == LINK_NEW && self->once == NULL);
  self->once = ow_channel_once_new (self, &self->handlers, self->user_data);
  ow_channel_once_open (self->once, attach, hello_ms);
}

void
ow_channel_link_close (OwChannelLink *self)
{
  if (self->state == LINK_CLOSED)
    return;
  self->state = LINK_CLOSED;
  ow_source_clear (&self->deadline);
  ow_source_clear (&self->keep_alive);
  ow_channel_stream_close (self->stream);
  if (self->once != NULL)
    ow_channel_once_close (self->once);
}

const char *
ow_channel_link_get_complaint (OwChannelLink *self)
{
  if (self->once != NULL)
    return ow_channel_once_get_complaint (self->once);
  return ow_channel_stream_get_complaint (self->stream);
}

const char *
ow_channel_link_get_instance (OwChannelLink *self)
{
  return self->once != NULL ? ow_channel_once_get_instance (self->once) : self->instance;
}

guint
ow_channel_link_get_violations (OwChannelLink *self)
{
  guint violations = ow_mcp_client_get_violations (self->client);

  if (self->once != NULL)
    return ow_channel_once_get_violations (self->once);
  /* Before the hello it is the relay that speaks, and nothing is acted upon. */
  if (self->instance == NULL)
    return self->violations;
  return self->violations + violations - self->banners;
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
  LinkRequest *request;

  if (self->once != NULL)
    return ow_channel_once_request (self->once, method, params, reply, user_data);
  request = g_new0 (LinkRequest, 1);
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
  if (self->once != NULL)
    {
      ow_channel_once_forget (self->once, id);
      return;
    }
  ow_mcp_client_cancel (self->client, id, false, NULL);
  g_hash_table_remove (self->requests, &id);
}

gboolean
ow_channel_link_has_sent (OwChannelLink *self,
                          json_int_t     id)
{
  return self->once == NULL || ow_channel_once_has_sent (self->once, id);
}

void
ow_channel_link_notify (OwChannelLink *self,
                        const char    *method,
                        json_t        *params)
{
  if (self->once != NULL)
    ow_channel_once_notify (self->once, method, params);
  else
    ow_mcp_client_notify (self->client, method, params);
}

static void
ow_channel_link_dispose (GObject *object)
{
  OwChannelLink *self = OW_CHANNEL_LINK (object);

  ow_channel_link_close (self);
  G_OBJECT_CLASS (ow_channel_link_parent_class)->dispose (object);
}

static void
ow_channel_link_finalize (GObject *object)
{
  OwChannelLink *self = OW_CHANNEL_LINK (object);

  ow_channel_once_free (self->once);
  g_clear_pointer (&self->batch, g_byte_array_unref);
  ow_mcp_client_free (self->client);
  g_hash_table_unref (self->requests);
  g_object_unref (self->stream);
  g_free (self->instance);
  g_free (self->failure);
  G_OBJECT_CLASS (ow_channel_link_parent_class)->finalize (object);
}

static void
ow_channel_link_class_init (OwChannelLinkClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_channel_link_dispose;
  object_class->finalize = ow_channel_link_finalize;
}

static void
ow_channel_link_init (OwChannelLink *self)
{
  static const OwMcpClientHandlers handlers = {
    .write = ow_channel_link_on_write,
    .notification = ow_channel_link_on_notification,
  };
  static const OwChannelStreamHandlers stream_handlers = {
    .received = ow_channel_link_on_received,
    .ended = ow_channel_link_on_ended,
  };

  self->client = ow_mcp_client_new (&handlers, self);
  self->stream = ow_channel_stream_new (&stream_handlers, self);
  self->requests = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, g_free);
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
