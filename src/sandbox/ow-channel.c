/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-channel.h"

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "ow-open-calls-private.h"
#include "ow-open-requests-private.h"
#include "ow-silence-private.h"

/* Breaks of the protocol after which a runner is not believed any more. */
#define MAX_VIOLATIONS 8
/* Attaches that may follow each other within the window before the runner is lost. */
#define MAX_ATTACHES 6
#define ATTACH_WINDOW_US (30 * G_USEC_PER_SEC)

static const guint attach_delay_ms[MAX_ATTACHES] = { 0, 50, 200, 500, 1000, 2000 };
/* With patience: one more for each of the longest of those delays. */
#define PATIENT_ATTACH_MS 2000

typedef enum {
  CHANNEL_NEW,
  CHANNEL_CONNECTING,
  CHANNEL_UP,          /* connected once; link is NULL while attaching again */
  CHANNEL_LOST,
  CHANNEL_CLOSED,
} ChannelState;

struct _OwChannel
{
  GObject        parent_instance;

  OwAttach      *attach;           /* (owned) */
  OwChannelTimes times;
  ChannelState   state;
  OwChannelLink *link;             /* (owned) (nullable) ready */
  OwChannelLink *next;             /* (owned) (nullable) being attached */
  char          *instance;         /* (owned) (nullable) */
  GTask         *connecting;       /* (owned) (nullable) */
  OwOpenCalls   *calls;            /* (owned) */
  OwOpenRequests *requests;        /* (owned) */
  guint          violations;       /* of links that are gone */
  guint          attaches;         /* in the window */
  gint64         window_us;
  GSource       *retry;            /* (owned) (nullable) */
  guint          failures;         /* attaches that failed since one last held */
  gint64         failing_us;       /* since when */
  char          *complaint;        /* (owned) (nullable) of the last that failed or broke */
  char          *cause;            /* (owned) (nullable) what the owner makes of it */
  gboolean       once;             /* attach by once_argv */
  GSource       *tick;             /* (owned) (nullable) */
  OwSilence      silence;
  gboolean       pinging;
};

enum { SIGNAL_LOST, SIGNAL_UNREACHED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (OwChannel, ow_channel, G_TYPE_OBJECT)

static void ow_channel_attach (OwChannel *self);
static void ow_channel_attach_again (OwChannel *self, const char *reason);
static void ow_channel_schedule_tick (OwChannel *self);

/* --- the end --- */

static void
ow_channel_drop_link (OwChannel      *self,
                      OwChannelLink **link)
{
  g_autoptr (OwChannelLink) gone = g_steal_pointer (link);

  if (gone == NULL)
    return;
  self->violations += ow_channel_link_get_violations (gone);
  ow_channel_link_close (gone);
}

static void
ow_channel_stop (OwChannel   *self,
                 ChannelState state,
                 const char  *reason)
{
  self->state = state;
  ow_source_clear (&self->retry);
  ow_source_clear (&self->tick);
  ow_channel_drop_link (self, &self->link);
  ow_channel_drop_link (self, &self->next);
  ow_open_requests_fail (self->requests, NULL, reason);
  ow_open_calls_lose (self->calls, reason);
}

static void
ow_channel_fail_connect (OwChannel *self,
                         GError    *error)
{
  g_autoptr (GTask) task = g_steal_pointer (&self->connecting);

  ow_channel_stop (self, CHANNEL_CLOSED, "the runner is not connected");
  g_task_return_error (task, error);
}

static void
ow_channel_lose (OwChannel  *self,
                 const char *reason)
{
  g_autoptr (OwChannel) keep = g_object_ref (self);
  g_autofree char *text = g_strdup (reason);
  GError *error = NULL;

  if (self->state == CHANNEL_CONNECTING)
    {
      ow_error_set (&error, OW_ERROR_FAILED, "The sandbox's runner cannot be used", reason,
                    NULL);
      ow_channel_fail_connect (self, error);
    }
  else if (self->state == CHANNEL_UP)
    {
      ow_channel_stop (self, CHANNEL_LOST, text);
      g_signal_emit (self, signals[SIGNAL_LOST], 0, text);
    }
}

/* --- violations --- */

/* TRUE when the runner is still believed. */
static gboolean
ow_channel_check_trust (OwChannel *self)
{
  guint count = self->violations + ow_open_calls_get_violations (self->calls);
  g_autofree char *reason = NULL;

  if (self->link != NULL)
    count += ow_channel_link_get_violations (self->link);
  if (self->next != NULL)
    count += ow_channel_link_get_violations (self->next);
  if (count <= MAX_VIOLATIONS)
    return TRUE;
  reason = g_strdup_printf ("the runner broke the protocol %u times and is not trusted "
                            "any more", count);
  ow_channel_lose (self, reason);
  return FALSE;
}

/* --- calls --- */

static void
ow_channel_on_notification (OwChannelLink *link,
                            const char    *method,
                            json_t        *params,
                            gpointer       user_data)
{
  OwChannel *self = user_data;

  if (self->instance == NULL
      || !g_str_equal (ow_channel_link_get_instance (link), self->instance))
    return; /* not yet, or no longer, the runner that was asked */
  if (!g_str_equal (method, OW_MCP_OUTPUT))
    return; /* MCP lets a server notify of what a client need not know */
  ow_open_calls_output (self->calls, params);
}

void
ow_channel_call_async (OwChannel          *self,
                       const char         *call_id,
                       const char         *tool,
                       const json_t       *arguments,
                       OwToolOutputFunc    output,
                       gpointer            output_data,
                       GCancellable       *cancellable,
                       GAsyncReadyCallback callback,
                       gpointer            user_data)
{
  OwOpenCallRequest request = { call_id, tool, arguments, output, output_data };
  g_autoptr (GTask) task = NULL;
  const char *refusal = "the sandbox's runner is not there any more";
  GError *error = NULL;
  OwOpenCall *call;

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_channel_call_async);
  g_task_set_check_cancellable (task, FALSE);
  if (self->state == CHANNEL_UP)
    refusal = ow_open_calls_refusal (self->calls, call_id, arguments);
  if (refusal != NULL)
    {
      ow_error_set (&error, OW_ERROR_FAILED, "The tool was not run", refusal, NULL);
      g_task_return_error (task, error);
      return;
    }
  if (g_cancellable_is_cancelled (cancellable))
    {
      g_task_return_pointer (task, ow_tool_result_new (OW_OUTCOME_CANCELLED,
                                                       "Stopped before it ran."),
                             (GDestroyNotify) ow_tool_result_free);
      return;
    }
  call = ow_open_calls_add (self->calls, &request, g_steal_pointer (&task));
  /* A link that may be replaced throws away what is on its way: the one that stays gets it. */
  if (self->link != NULL && self->next == NULL && self->retry == NULL)
    ow_open_call_send (call, self->link);
  /* What was quiet before there was anything to say is no silence. */
  ow_silence_heard (&self->silence, ow_silence_clocks ());
  ow_channel_schedule_tick (self);
}

OwToolResult *
ow_channel_call_finish (OwChannel    *self,
                        GAsyncResult *result,
                        GError      **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* --- extension requests --- */

void
ow_channel_request_async (OwChannel          *self,
                          const char         *method,
                          json_t             *params,
                          GCancellable       *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer            user_data)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, ow_channel_request_async);
  ow_open_requests_ask (self->requests, self->link, method, params, task);
}

json_t *
ow_channel_request_finish (OwChannel    *self,
                           GAsyncResult *result,
                           GError      **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* --- after a break: what became of the open calls --- */

typedef struct {
  OwChannel     *channel; /* (owned) */
  OwChannelLink *link;    /* (owned) the one that was asked */
  char          *id;      /* (owned) */
} Resume;

static void
resume_free (Resume *resume)
{
  g_object_unref (resume->channel);
  g_object_unref (resume->link);
  g_free (resume->id);
  g_free (resume);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Resume, resume_free)

static void
ow_channel_keep_complaint (OwChannel     *self,
                           OwChannelLink *link)
{
  g_free (self->complaint);
  self->complaint = g_strdup (ow_channel_link_get_complaint (link));
}

/* A link that is of no use: its process has ended, or it does not say what it was asked. */
static void
ow_channel_break_link (OwChannel  *self,
                       const char *reason)
{
  ow_channel_keep_complaint (self, self->link);
  ow_open_calls_unlink (self->calls);
  ow_channel_drop_link (self, &self->link);
  ow_open_requests_fail (self->requests, NULL, reason);
}

static void
ow_channel_resumed (GObject      *source,
                    GAsyncResult *result,
                    gpointer      user_data)
{
  g_autoptr (Resume) resume = user_data;
  OwChannel *self = resume->channel;
  g_autoptr (GError) error = NULL;
  json_t *answer = ow_channel_request_finish (self, result, &error);
  OwOpenCall *call = ow_open_calls_find (self->calls, resume->id);

  /* Broken again meanwhile: the next link asks anew. */
  if (self->link == resume->link && call != NULL)
    {
      if (g_str_equal (ow_json_get_string (answer, "state", ""), "running"))
        ow_open_call_send (call, self->link);
      else if (!g_error_matches (error, OW_ERROR, OW_ERROR_TIMED_OUT))
        ow_open_call_settle (call, answer);
      else
        {
          ow_channel_break_link (self, error->message);
          ow_channel_attach_again (self, error->message);
        }
    }
  json_decref (answer);
}

static void
ow_channel_resume_all (OwChannel *self)
{
  g_autoptr (GList) calls = ow_open_calls_list (self->calls);

  for (GList *l = calls; l != NULL; l = l->next)
    {
      OwOpenCall *call = l->data;
      Resume *resume;

      if (!ow_open_call_is_sent (call))
        {
          ow_open_call_send (call, self->link);
          continue;
        }
      resume = g_new0 (Resume, 1);
      resume->channel = g_object_ref (self);
      resume->link = g_object_ref (self->link);
      resume->id = g_strdup (ow_open_call_get_id (call));
      ow_channel_request_async (self, OW_MCP_RESUME,
                                json_pack ("{s:s}", "callId", resume->id), NULL,
                                ow_channel_resumed, resume);
    }
}

/* --- attaching --- */

static gint64
ow_channel_silence_ms (OwChannel *self)
{
  return ow_silence_measure (&self->silence, ow_silence_clocks ());
}

static gboolean
ow_channel_retry (gpointer user_data)
{
  OwChannel *self = user_data;

  ow_source_clear (&self->retry);
  ow_channel_attach (self);
  return G_SOURCE_REMOVE;
}

static void
ow_channel_lose_unreached (OwChannel  *self,
                           const char *reason)
{
  g_autofree char *text = g_strdup_printf ("the runner could not be reached again (%s)",
                                           self->cause != NULL ? self->cause : reason);

  ow_channel_lose (self, text);
}

static guint
ow_channel_max_attaches (OwChannel *self)
{
  return MAX_ATTACHES + self->attach->patience_ms / PATIENT_ATTACH_MS;
}

/* Attaches again, soon; too often in a short time means lost. */
static void
ow_channel_attach_again (OwChannel  *self,
                         const char *reason)
{
  gint64 now = g_get_monotonic_time ();
  gint64 window_us = MAX (ATTACH_WINDOW_US, (gint64) self->attach->patience_ms * 1000);
  guint delay_ms;

  if (self->next != NULL || self->retry != NULL)
    return;
  if (self->attaches == 0 || now - self->window_us > window_us)
    {
      self->attaches = 0;
      self->window_us = now;
    }
  if (self->attaches == ow_channel_max_attaches (self))
    {
      ow_channel_lose_unreached (self, reason);
      return;
    }
  delay_ms = attach_delay_ms[MIN (self->attaches, MAX_ATTACHES - 1)];
  self->attaches++;
  self->retry = ow_source_timeout (delay_ms, ow_channel_retry, self, NULL);
}

/* Whether it has failed for so long, however long each attempt took: one that never says hello
 * is not there. */
static gboolean
ow_channel_is_out_of_patience (OwChannel *self)
{
  gint64 now = g_get_monotonic_time ();

  if (self->failures++ == 0)
    self->failing_us = now;
  return self->failures >= MAX_ATTACHES
         && now - self->failing_us >= (gint64) self->attach->patience_ms * 1000;
}

static void
ow_channel_try_on (OwChannel  *self,
                   const char *reason)
{
  ow_channel_attach_again (self, reason);
  /* Who hears it may close the channel. */
  if (self->state == CHANNEL_UP)
    g_signal_emit (self, signals[SIGNAL_UNREACHED], 0, self->complaint);
}

/* A stream that says nothing may be one that this relay cannot carry; a command of its own for
 * each thing said is another way, and when that fails as well the first one is tried again.
 * TRUE: there is another way now. */
static gboolean
ow_channel_change_way (OwChannel    *self,
                       const GError *error)
{
  gboolean mute = g_error_matches (error, OW_ERROR, OW_ERROR_TIMED_OUT)
                  && ow_channel_link_get_instance (self->next) == NULL;
  gboolean was_once = self->once;

  self->once = !was_once && mute && self->attach->once_argv != NULL;
  if (self->once)
    g_debug ("no live stream to the runner (%s): going on with single commands", error->message);
  return self->once;
}

/* The link that was doubted is the one after all. */
static void
ow_channel_stay (OwChannel *self)
{
  g_autoptr (GList) calls = ow_open_calls_list (self->calls);

  for (GList *l = calls; l != NULL; l = l->next)
    if (!ow_open_call_is_sent (l->data))
      ow_open_call_send (l->data, self->link);
  ow_channel_schedule_tick (self);
}

static void
ow_channel_attach_failed (OwChannel    *self,
                          const GError *error)
{
  gboolean other_way = ow_channel_change_way (self, error);

  ow_channel_keep_complaint (self, self->next);
  ow_channel_drop_link (self, &self->next);
  if (self->state == CHANNEL_CONNECTING && other_way)
    ow_channel_attach (self);
  else if (self->state == CHANNEL_CONNECTING)
    ow_channel_fail_connect (self, g_error_copy (error));
  else if (g_error_matches (error, OW_ERROR, OW_ERROR_REFUSED)
           || g_error_matches (error, OW_ERROR, OW_ERROR_DATA))
    ow_channel_lose (self, error->message);
  else if (self->link != NULL && ow_channel_silence_ms (self) < self->times.silence_ms)
    ow_channel_stay (self); /* the old one has spoken meanwhile */
  else if (ow_channel_is_out_of_patience (self))
    ow_channel_lose_unreached (self, error->message);
  else
    ow_channel_try_on (self, error->message);
}

static void
ow_channel_take_link (OwChannel *self)
{
  g_autoptr (OwChannelLink) old = g_steal_pointer (&self->link);

  self->link = g_steal_pointer (&self->next);
  self->pinging = FALSE;
  self->failures = 0;
  g_clear_pointer (&self->cause, g_free);
  if (old != NULL)
    {
      ow_open_calls_unlink (self->calls);
      ow_open_requests_fail (self->requests, old, "its stream was replaced");
      ow_channel_drop_link (self, &old);
    }
  ow_silence_heard (&self->silence, ow_silence_clocks ());
  ow_channel_schedule_tick (self);
}

static void
ow_channel_on_ready (OwChannelLink *link,
                     const GError  *error,
                     gpointer       user_data)
{
  g_autoptr (OwChannel) self = g_object_ref (OW_CHANNEL (user_data));
  const char *instance = ow_channel_link_get_instance (link);
  GTask *task;

  if (error != NULL)
    {
      ow_channel_attach_failed (self, error);
      return;
    }
  if (self->state == CHANNEL_CONNECTING)
    {
      self->state = CHANNEL_UP;
      self->instance = g_strdup (instance);
      ow_channel_take_link (self);
      task = g_steal_pointer (&self->connecting);
      g_task_return_boolean (task, TRUE);
      g_object_unref (task);
      return;
    }
  if (!g_str_equal (instance, self->instance))
    {
      ow_channel_lose (self, "the sandbox was started anew: its runner has ended and another one "
                       "is in its place");
      return;
    }
  ow_channel_take_link (self);
  if (self->state == CHANNEL_UP && self->link != NULL)
    ow_channel_resume_all (self);
}

static void
ow_channel_on_received (OwChannelLink *link,
                        gpointer       user_data)
{
  g_autoptr (OwChannel) self = g_object_ref (OW_CHANNEL (user_data));

  if (link == self->link)
    ow_silence_heard (&self->silence, ow_silence_clocks ());
  ow_channel_check_trust (self);
}

static void
ow_channel_on_broken (OwChannelLink *link,
                      const char    *reason,
                      gboolean       hostile,
                      gpointer       user_data)
{
  g_autoptr (OwChannel) self = g_object_ref (OW_CHANNEL (user_data));

  if (link != self->link)
    return;
  ow_channel_break_link (self, reason);
  if (self->state != CHANNEL_UP)
    return;
  if (hostile)
    ow_channel_lose (self, reason);
  else if (ow_channel_check_trust (self))
    ow_channel_attach_again (self, reason);
}

static void
ow_channel_attach (OwChannel *self)
{
  static const OwChannelLinkHandlers handlers = {
    .ready = ow_channel_on_ready,
    .received = ow_channel_on_received,
    .notification = ow_channel_on_notification,
    .broken = ow_channel_on_broken,
  };

  self->next = ow_channel_link_new (&handlers, self);
  if (self->once)
    ow_channel_link_open_once (self->next, self->attach, self->times.hello_ms);
  else
    ow_channel_link_open (self->next, self->attach, self->times.hello_ms);
}

/* --- silence --- */

static void
ow_channel_pinged (GObject      *source,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  OwChannel *self = OW_CHANNEL (source);
  json_t *pong = ow_channel_request_finish (self, result, NULL);

  if (pong == NULL)
    return; /* stays pinging: silence decides */
  json_decref (pong);
  self->pinging = FALSE;
}

static gboolean
ow_channel_on_tick (gpointer user_data)
{
  OwChannel *self = user_data;
  gint64 silence_ms = ow_channel_silence_ms (self);
  gboolean busy = ow_open_calls_get_n (self->calls) > 0 || self->pinging;

  ow_source_clear (&self->tick);
  if (self->link == NULL || self->next != NULL)
    return G_SOURCE_REMOVE; /* attaching again; the new link starts it anew */
  if (busy && silence_ms >= self->times.silence_ms)
    {
      ow_channel_attach_again (self, "it gave no sign of life");
      return G_SOURCE_REMOVE;
    }
  if (!self->pinging && silence_ms >= self->times.silence_ms / 2)
    {
      self->pinging = TRUE;
      ow_channel_request_async (self, OW_MCP_PING, NULL, NULL, ow_channel_pinged, NULL);
    }
  ow_channel_schedule_tick (self);
  return G_SOURCE_REMOVE;
}

static void
ow_channel_schedule_tick (OwChannel *self)
{
  gboolean busy = ow_open_calls_get_n (self->calls) > 0 || self->pinging;

  ow_source_clear (&self->tick);
  if (self->link != NULL)
    self->tick = ow_source_timeout (busy ? MAX (1, self->times.silence_ms / 8)
                                         : self->times.idle_ms, ow_channel_on_tick, self, NULL);
}

/* --- the face --- */

void
ow_channel_connect_async (OwChannel          *self,
                          GCancellable       *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer            user_data)
{
  g_return_if_fail (self->state == CHANNEL_NEW);
  self->connecting = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (self->connecting, ow_channel_connect_async);
  self->state = CHANNEL_CONNECTING;
  ow_channel_attach (self);
}

gboolean
ow_channel_connect_finish (OwChannel    *self,
                           GAsyncResult *result,
                           GError      **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

const char *
ow_channel_get_instance (OwChannel *self)
{
  return self->instance;
}

gboolean
ow_channel_is_once (OwChannel *self)
{
  return self->once;
}

const char *
ow_channel_get_complaint (OwChannel *self)
{
  return self->complaint != NULL ? self->complaint : "";
}

void
ow_channel_set_cause (OwChannel  *self,
                      const char *cause)
{
  g_free (self->cause);
  self->cause = g_strdup (cause);
}

void
ow_channel_give_up (OwChannel  *self,
                    const char *reason)
{
  ow_channel_lose (self, reason);
}

void
ow_channel_close (OwChannel *self)
{
  g_autoptr (OwChannel) keep = g_object_ref (self);

  if (self->state == CHANNEL_CONNECTING)
    ow_channel_lose (self, "it was stopped");
  else if (self->state != CHANNEL_CLOSED)
    ow_channel_stop (self, CHANNEL_CLOSED, "the sandbox was stopped");
}

static void
ow_channel_dispose (GObject *object)
{
  OwChannel *self = OW_CHANNEL (object);

  /* An open call or request holds a reference by its task, so none is left here. */
  ow_source_clear (&self->retry);
  ow_source_clear (&self->tick);
  ow_channel_drop_link (self, &self->link);
  ow_channel_drop_link (self, &self->next);
  G_OBJECT_CLASS (ow_channel_parent_class)->dispose (object);
}

static void
ow_channel_finalize (GObject *object)
{
  OwChannel *self = OW_CHANNEL (object);

  ow_open_calls_free (self->calls);
  ow_open_requests_free (self->requests);
  ow_attach_free (self->attach);
  g_free (self->instance);
  g_free (self->complaint);
  g_free (self->cause);
  G_OBJECT_CLASS (ow_channel_parent_class)->finalize (object);
}

static void
ow_channel_class_init (OwChannelClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_channel_dispose;
  object_class->finalize = ow_channel_finalize;
  signals[SIGNAL_LOST] = g_signal_new ("lost", OW_TYPE_CHANNEL, G_SIGNAL_RUN_LAST, 0, NULL,
                                       NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[SIGNAL_UNREACHED] = g_signal_new ("unreached", OW_TYPE_CHANNEL, G_SIGNAL_RUN_LAST, 0,
                                            NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
ow_channel_init (OwChannel *self)
{
}

static guint
or_default (guint value,
            guint fallback)
{
  return value != 0 ? value : fallback;
}

OwChannel *
ow_channel_new (const OwAttach       *attach,
                const OwChannelTimes *times)
{
  OwChannel *self = g_object_new (OW_TYPE_CHANNEL, NULL);
  OwChannelTimes given = { 0 };

  if (times != NULL)
    given = *times;
  self->attach = ow_attach_copy (attach);
  self->times.hello_ms = or_default (given.hello_ms, 5000);
  self->times.silence_ms = or_default (given.silence_ms, 10000);
  self->times.request_ms = or_default (given.request_ms, 10000);
  self->requests = ow_open_requests_new (self->times.request_ms);
  self->times.cancel_ms = or_default (given.cancel_ms, 6000);
  self->times.call_ms = or_default (given.call_ms, 660000);
  self->times.idle_ms = or_default (given.idle_ms, 60000);
  self->calls = ow_open_calls_new (self->times.cancel_ms, self->times.call_ms);
  return self;
}
