/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-channel-once-private.h"

#include "base/ow-source.h"

/* What initialize and the frame of each message may take besides the params. */
#define BATCH_HEAD_BYTES 1024u
#define MESSAGE_BYTES    256u
#define REFUSED          (-1)

struct _OwChannelOnce
{
  OwChannelLink        *owner;       /* (unowned) */
  OwChannelLinkHandlers handlers;
  gpointer              user_data;
  OwAttach             *attach;      /* (owned) (nullable) */
  guint                 hello_ms;
  gsize                 max_bytes;   /* of a batch */
  char                 *too_large;   /* (owned) what is said of a request that is larger */
  char                 *instance;    /* (owned) (nullable) */
  OwChannelLink        *batch;       /* (owned) (nullable) */
  OwChannelLink        *leaving;     /* (owned) (nullable) the one before it: its last words */
  GQueue                requests;    /* (owned) OnceRequest, in the order of their ids */
  json_int_t            last_id;
  gboolean              batch_ready; /* the runner has what the batch says */
  gboolean              closed;
  GSource              *flush;       /* (owned) (nullable) */
  guint                 violations;  /* of batches that are gone */
  char                 *complaint;   /* (owned) (nullable) of the batch that ended badly */
};

typedef struct {
  OwChannelOnce *once;     /* (unowned) */
  json_int_t     id;
  char          *method;   /* (owned) */
  json_t        *params;   /* (owned) (nullable) */
  gsize          size;     /* about, as a line */
  OwMcpReplyFunc reply;
  gpointer       user_data;
  json_int_t     sub_id;   /* in the present batch; 0: not in it; REFUSED: in none */
  gboolean       told;     /* the runner has it */
  json_t        *cancel;   /* (owned) (nullable) the params of its cancelling */
  gboolean       stopping; /* cancel is in the present batch */
} OnceRequest;

static void ow_channel_once_schedule (OwChannelOnce *self);

static void
once_request_free (gpointer data)
{
  OnceRequest *request = data;

  json_decref (request->params);
  json_decref (request->cancel);
  g_free (request->method);
  g_free (request);
}

static gboolean
once_request_is_call (const OnceRequest *request)
{
  return g_str_equal (request->method, OW_MCP_TOOLS_CALL);
}

static OnceRequest *
ow_channel_once_find (OwChannelOnce *self,
                      json_int_t     id)
{
  for (GList *l = self->requests.head; l != NULL; l = l->next)
    {
      OnceRequest *request = l->data;

      if (request->id == id)
        return request;
    }
  return NULL;
}

/* --- ending --- */

static void
ow_channel_once_drop (OwChannelOnce  *self,
                      OwChannelLink **link)
{
  g_autoptr (OwChannelLink) gone = g_steal_pointer (link);

  if (gone == NULL)
    return;
  self->violations += ow_channel_link_get_violations (gone);
  ow_channel_link_close (gone);
}

static void
ow_channel_once_fail (OwChannelOnce *self,
                      const GError  *error)
{
  gboolean was_ready = self->instance != NULL;

  g_free (self->complaint);
  self->complaint = g_strdup (ow_channel_link_get_complaint (self->batch));
  ow_channel_once_close (self);
  if (was_ready)
    self->handlers.broken (self->owner, error->message, FALSE, self->user_data);
  else
    self->handlers.ready (self->owner, error, self->user_data);
}

/* --- what a batch tells --- */

static void
ow_channel_once_replied (json_t *result,
                         json_t *error,
                         void   *user_data)
{
  OnceRequest *request = user_data;
  OwChannelOnce *self = request->once;
  g_autoptr (OwChannelLink) keep = g_object_ref (self->owner);

  g_queue_remove (&self->requests, request);
  if (!self->closed)
    request->reply (result, error, request->user_data);
  once_request_free (request);
  if (!self->closed)
    ow_channel_once_schedule (self);
}

static void
ow_channel_once_on_ready (OwChannelLink *batch,
                          const GError  *error,
                          gpointer       user_data)
{
  OwChannelOnce *self = user_data;
  g_autoptr (OwChannelLink) keep = g_object_ref (self->owner);

  if (batch != self->batch)
    return;
  if (error != NULL)
    {
      ow_channel_once_fail (self, error);
      return;
    }
  self->batch_ready = TRUE;
  for (GList *l = self->requests.head; l != NULL; l = l->next)
    {
      OnceRequest *request = l->data;

      request->told = request->told || request->sub_id > 0;
    }
  if (self->instance == NULL)
    {
      self->instance = g_strdup (ow_channel_link_get_instance (batch));
      self->handlers.ready (self->owner, NULL, self->user_data);
    }
  if (!self->closed)
    ow_channel_once_schedule (self);
}

static void
ow_channel_once_on_received (OwChannelLink *batch,
                             gpointer       user_data)
{
  OwChannelOnce *self = user_data;
  g_autoptr (OwChannelLink) keep = g_object_ref (self->owner);

  self->handlers.received (self->owner, self->user_data);
}

static void
ow_channel_once_on_notification (OwChannelLink *batch,
                                 const char    *method,
                                 json_t        *params,
                                 gpointer       user_data)
{
  OwChannelOnce *self = user_data;
  g_autoptr (OwChannelLink) keep = g_object_ref (self->owner);

  self->handlers.notification (self->owner, method, params, self->user_data);
}

static gboolean
ow_channel_once_is_waiting (OwChannelOnce *self,
                            gboolean       for_calls_too)
{
  for (GList *l = self->requests.head; l != NULL; l = l->next)
    {
      OnceRequest *request = l->data;

      if (request->sub_id > 0 && (for_calls_too || !once_request_is_call (request)))
        return TRUE;
    }
  return FALSE;
}

static void
ow_channel_once_on_broken (OwChannelLink *batch,
                           const char    *reason,
                           gboolean       hostile,
                           gpointer       user_data)
{
  OwChannelOnce *self = user_data;
  g_autoptr (OwChannelLink) keep = g_object_ref (self->owner);

  if (batch == self->leaving && !hostile)
    {
      ow_channel_once_drop (self, &self->leaving);
      return;
    }
  if (batch == self->batch && !hostile && !ow_channel_once_is_waiting (self, TRUE))
    {
      ow_channel_once_drop (self, &self->batch);
      ow_channel_once_schedule (self);
      return;
    }
  g_free (self->complaint);
  self->complaint = g_strdup (ow_channel_link_get_complaint (batch));
  ow_channel_once_close (self);
  self->handlers.broken (self->owner, reason, hostile, self->user_data);
}

/* --- a batch --- */

/* A call that the runner has is joined: what it is to do is not said again, as it need not fit. */
static json_t *
once_request_params (const OnceRequest *request)
{
  json_t *params;

  if (!request->told || !once_request_is_call (request))
    return json_incref (request->params);
  params = json_copy (request->params);
  json_object_set_new (params, "arguments", json_object ());
  return params;
}

static void
once_request_cancel (OnceRequest *request)
{
  json_t *params = json_copy (request->cancel);

  json_object_set_new (params, "requestId", json_integer (request->sub_id));
  ow_channel_link_notify (request->once->batch, OW_MCP_CANCELLED, params);
  request->stopping = TRUE;
}

static void
ow_channel_once_fill (OwChannelOnce *self)
{
  gsize size = BATCH_HEAD_BYTES;

  for (GList *l = self->requests.head; l != NULL; l = l->next)
    {
      OnceRequest *request = l->data;
      gboolean joins = request->told && once_request_is_call (request);
      gsize more = MESSAGE_BYTES + (joins ? MESSAGE_BYTES : request->size);

      if (request->sub_id == REFUSED)
        continue;
      request->sub_id = 0;
      request->stopping = FALSE;
      if (size + more > self->max_bytes)
        continue; /* in a later one */
      size += more;
      request->sub_id = ow_channel_link_request (self->batch, request->method,
                                                 once_request_params (request),
                                                 ow_channel_once_replied, request);
      if (request->cancel != NULL)
        once_request_cancel (request);
    }
}

static void
ow_channel_once_begin_batch (OwChannelOnce *self)
{
  static const OwChannelLinkHandlers handlers = {
    .ready = ow_channel_once_on_ready,
    .received = ow_channel_once_on_received,
    .notification = ow_channel_once_on_notification,
    .broken = ow_channel_once_on_broken,
  };
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  OwAttach attach = { .envp = self->attach->envp };

  g_strv_builder_addv (builder, (const char **) self->attach->once_argv);
  if (self->instance != NULL)
    {
      g_strv_builder_add (builder, "--instance");
      g_strv_builder_add (builder, self->instance);
    }
  attach.argv = g_strv_builder_end (builder);
  ow_channel_once_drop (self, &self->leaving);
  self->leaving = g_steal_pointer (&self->batch);
  self->batch_ready = FALSE;
  self->batch = ow_channel_link_new (&handlers, self);
  ow_channel_link_begin_batch (self->batch);
  if (self->instance != NULL)
    ow_channel_once_fill (self);
  ow_channel_link_open (self->batch, &attach, self->hello_ms);
  g_strfreev (attach.argv);
}

/* Takes what the present batch waits for off it: the next one will ask for it. */
static void
ow_channel_once_leave_batch (OwChannelOnce *self)
{
  for (GList *l = self->requests.head; self->batch != NULL && l != NULL; l = l->next)
    {
      OnceRequest *request = l->data;

      if (request->sub_id > 0)
        ow_channel_link_forget (self->batch, request->sub_id);
    }
}

static gboolean
ow_channel_once_has_news (OwChannelOnce *self)
{
  for (GList *l = self->requests.head; l != NULL; l = l->next)
    {
      OnceRequest *request = l->data;

      if (request->sub_id == 0 || (request->cancel != NULL && !request->stopping))
        return TRUE;
    }
  return FALSE;
}

static gboolean
ow_channel_once_flush (gpointer user_data)
{
  OwChannelOnce *self = user_data;

  ow_source_clear (&self->flush);
  if (!ow_channel_once_has_news (self) || (self->batch != NULL && !self->batch_ready)
      || ow_channel_once_is_waiting (self, FALSE))
    return G_SOURCE_REMOVE; /* looked at again when that has changed */
  ow_channel_once_leave_batch (self);
  ow_channel_once_begin_batch (self);
  return G_SOURCE_REMOVE;
}

/* Soon, so that what is said in one go is one batch. */
static void
ow_channel_once_schedule (OwChannelOnce *self)
{
  if (self->flush == NULL && self->instance != NULL && !self->closed)
    self->flush = ow_source_timeout (0, ow_channel_once_flush, self, NULL);
}

/* --- the face --- */

void
ow_channel_once_open (OwChannelOnce  *self,
                      const OwAttach *attach,
                      guint           hello_ms)
{
  self->attach = ow_attach_copy (attach);
  self->hello_ms = hello_ms;
  if (attach->once_bytes > 0 && attach->once_bytes < self->max_bytes)
    self->max_bytes = attach->once_bytes;
  self->too_large = g_strdup_printf ("It was not run, because it is larger than the %u KiB that "
                                     "one command to this sandbox may carry. Do it in smaller "
                                     "parts.", (guint) (self->max_bytes / 1024));
  ow_channel_once_begin_batch (self);
}

void
ow_channel_once_close (OwChannelOnce *self)
{
  self->closed = TRUE;
  ow_source_clear (&self->flush);
  ow_channel_once_drop (self, &self->batch);
  ow_channel_once_drop (self, &self->leaving);
}

const char *
ow_channel_once_get_instance (OwChannelOnce *self)
{
  return self->instance;
}

guint
ow_channel_once_get_violations (OwChannelOnce *self)
{
  guint violations = self->violations;

  if (self->batch != NULL)
    violations += ow_channel_link_get_violations (self->batch);
  if (self->leaving != NULL)
    violations += ow_channel_link_get_violations (self->leaving);
  return violations;
}

const char *
ow_channel_once_get_complaint (OwChannelOnce *self)
{
  return self->complaint != NULL ? self->complaint : "";
}

typedef struct {
  OwChannelLink *owner; /* (owned) */
  OwChannelOnce *once;
  json_int_t     id;
  int            code;
  const char    *message;
} Refusal;

static void
refusal_free (gpointer data)
{
  Refusal *refusal = data;

  g_object_unref (refusal->owner);
  g_free (refusal);
}

static gboolean
ow_channel_once_on_refused (gpointer user_data)
{
  Refusal *refusal = user_data;
  OnceRequest *request = ow_channel_once_find (refusal->once, refusal->id);
  json_t *error;

  if (request == NULL || refusal->once->closed)
    return G_SOURCE_REMOVE;
  error = json_pack ("{s:i, s:s}", "code", refusal->code, "message", refusal->message);
  ow_channel_once_replied (NULL, error, request);
  json_decref (error);
  return G_SOURCE_REMOVE;
}

/* Answers in the runner's place, later: the asker must not find itself called back. */
static void
ow_channel_once_refuse (OnceRequest *request,
                        int          code,
                        const char  *message)
{
  Refusal *refusal = g_new0 (Refusal, 1);

  refusal->owner = g_object_ref (request->once->owner);
  refusal->once = request->once;
  refusal->id = request->id;
  refusal->code = code;
  refusal->message = message;
  ow_source_idle (G_PRIORITY_DEFAULT, ow_channel_once_on_refused, refusal, refusal_free);
}

json_int_t
ow_channel_once_request (OwChannelOnce *self,
                         const char    *method,
                         json_t        *params,
                         OwMcpReplyFunc reply,
                         gpointer       user_data)
{
  OnceRequest *request = g_new0 (OnceRequest, 1);

  request->once = self;
  request->id = ++self->last_id;
  request->method = g_strdup (method);
  request->params = params;
  request->size = params != NULL ? json_dumpb (params, NULL, 0, JSON_COMPACT) : 0;
  request->reply = reply;
  request->user_data = user_data;
  g_queue_push_tail (&self->requests, request);
  if (request->size + BATCH_HEAD_BYTES + 2 * MESSAGE_BYTES > self->max_bytes)
    {
      request->sub_id = REFUSED;
      ow_channel_once_refuse (request, OW_RPC_INVALID_PARAMS, self->too_large);
    }
  else
    {
      ow_channel_once_schedule (self);
    }
  return request->id;
}

void
ow_channel_once_forget (OwChannelOnce *self,
                        json_int_t     id)
{
  OnceRequest *request = ow_channel_once_find (self, id);

  if (request == NULL)
    return;
  if (request->sub_id > 0 && self->batch != NULL)
    ow_channel_link_forget (self->batch, request->sub_id);
  g_queue_remove (&self->requests, request);
  once_request_free (request);
}

gboolean
ow_channel_once_has_sent (OwChannelOnce *self,
                          json_int_t     id)
{
  OnceRequest *request = ow_channel_once_find (self, id);

  return request == NULL || request->told || request->sub_id > 0;
}

void
ow_channel_once_notify (OwChannelOnce *self,
                        const char    *method,
                        json_t        *params)
{
  OnceRequest *request = ow_channel_once_find (self, ow_json_get_int (params, "requestId", 0));

  if (request == NULL || !g_str_equal (method, OW_MCP_CANCELLED) || request->cancel != NULL)
    {
      json_decref (params);
      return;
    }
  request->cancel = params;
  if (request->sub_id == 0 && !request->told)
    {
      request->sub_id = REFUSED;
      ow_channel_once_refuse (request, OW_RPC_CANCELLED, "Stopped before it ran.");
    }
  else
    {
      ow_channel_once_schedule (self);
    }
}

OwChannelOnce *
ow_channel_once_new (OwChannelLink               *owner,
                     const OwChannelLinkHandlers *handlers,
                     gpointer                     user_data)
{
  OwChannelOnce *self = g_new0 (OwChannelOnce, 1);

  self->owner = owner;
  self->handlers = *handlers;
  self->user_data = user_data;
  self->max_bytes = OW_CHANNEL_ONCE_BYTES;
  g_queue_init (&self->requests);
  return self;
}

void
ow_channel_once_free (OwChannelOnce *self)
{
  if (self == NULL)
    return;
  ow_channel_once_close (self);
  g_queue_clear_full (&self->requests, once_request_free);
  ow_attach_free (self->attach);
  g_free (self->instance);
  g_free (self->complaint);
  g_free (self->too_large);
  g_free (self);
}
