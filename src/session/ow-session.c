/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-private.h"

#include "base/ow-error.h"
#include "base/ow-random.h"
#include "base/ow-source.h"
#include "base/ow-state.h"
#include "ow-session-events-private.h"
#include "ow-session-hosts-private.h"
#include "ow-session-resume-private.h"
#include "ow-session-setup-private.h"
#include "ow-store-private.h"

#define ID_BYTES     8

G_DEFINE_FINAL_TYPE (OwSession, ow_session, G_TYPE_OBJECT)

void
ow_session_drop_sandbox (OwSession *self)
{
  if (self->sandbox != NULL)
    g_signal_handlers_disconnect_by_data (self->sandbox, self);
  g_clear_object (&self->sandbox);
}

static void
ow_session_dispose (GObject *object)
{
  OwSession *self = OW_SESSION (object);

  ow_session_drop_sandbox (self);
  if (self->events != NULL)
    g_signal_handlers_disconnect_by_data (self->events, self);
  g_clear_object (&self->agent);
  g_clear_object (&self->consent);
  g_clear_object (&self->events);
  g_clear_object (&self->audit);
  g_clear_object (&self->model);
  ow_source_clear (&self->look_timer);
  g_clear_object (&self->look);
  g_clear_object (&self->stop);
  g_clear_object (&self->turn);
  G_OBJECT_CLASS (ow_session_parent_class)->dispose (object);
}

static void
ow_session_finalize (GObject *object)
{
  OwSession *self = OW_SESSION (object);

  json_decref (self->folders);
  json_decref (self->beginning);
  json_decref (self->argv);
  g_clear_pointer (&self->record, ow_recording_place_free);
  g_clear_error (&self->error);
  g_clear_pointer (&self->noticed, g_hash_table_unref);
  g_clear_pointer (&self->hosts, ow_session_hosts_free);
  g_clear_pointer (&self->review, ow_session_review_free);
  G_OBJECT_CLASS (ow_session_parent_class)->finalize (object);
}

static void
ow_session_class_init (OwSessionClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_session_dispose;
  G_OBJECT_CLASS (klass)->finalize = ow_session_finalize;
}

static void
ow_session_init (OwSession *self)
{
  self->stop = g_cancellable_new ();
  self->hosts = ow_session_hosts_new ();
  self->noticed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

void
ow_session_fail (OwSession *self,
                 GError    *error)
{
  g_autoptr (GError) owned = error;

  if (self->error != NULL)
    return;
  self->error = g_steal_pointer (&owned);
  if (self->agent != NULL)
    ow_agent_fail (self->agent, self->error);
  g_cancellable_cancel (self->stop);
  if (self->phase == OW_SESSION_WAITING)
    ow_session_leave_soon (self);
}

gboolean
ow_session_append (OwSession   *self,
                   OwEventType  type,
                   json_t      *members)
{
  g_autoptr (OwEvent) event = NULL;
  GError *error = NULL;

  event = ow_event_list_append (self->events, type, members, &error);
  if (event == NULL)
    ow_session_fail (self, error);
  return event != NULL;
}

void
ow_session_append_notice (OwSession  *self,
                          const char *text)
{
  GError *error = NULL;

  if (!ow_event_list_append_text (self->events, OW_EVENT_NOTICE, text, &error))
    ow_session_fail (self, error);
}

void
ow_session_tell (OwSession  *self,
                 const char *text)
{
  g_return_if_fail (OW_IS_SESSION (self));

  if (self->phase != OW_SESSION_NEW && self->phase < OW_SESSION_LEAVING && self->error == NULL)
    ow_session_append_notice (self, text);
}

static void
append_record (OwSession *self,
               OwEvent   *event)
{
  GError *error = NULL;

  if (!ow_audit_append (self->audit, event, FALSE, &error))
    ow_session_fail (self, error);
}

/* Tool events go into the record through OwToolCall, which has to know whether they
 * could be stored before it goes on; all others that belong there go here. */
static void
on_appended (OwEventList *events,
             OwEvent     *event,
             OwSession   *self)
{
  OwEventType kind = ow_event_get_kind (event);

  if (kind == OW_EVENT_TOOL_STARTED || kind == OW_EVENT_TOOL_ENDED)
    ow_session_hosts_call (self, event);
  else if (ow_audit_wants (kind))
    append_record (self, event);
}

static void
on_lost (OwSandbox  *sandbox,
         const char *reason,
         OwSession  *self)
{
  GError *error = NULL;

  if (!self->wall_up)
    return;
  self->wall_up = FALSE;
  ow_session_append (self, OW_EVENT_WALL, ow_session_events_wall ("lost", self->level, reason));
  ow_error_set (&error, OW_ERROR_FAILED, "The sandbox was lost", reason,
                "Start the task again: there is no other wall to go on behind.");
  ow_session_fail (self, error);
}

static void
on_decision (OwSandbox  *sandbox,
             const char *line,
             OwSession  *self)
{
  ow_session_hosts_decided (self, line);
}

static void
on_traffic (OwSandbox  *sandbox,
            const char *line,
            OwSession  *self)
{
  ow_session_hosts_traffic (self, line);
}

/* What both ways to a session share: its sandbox of @options, not started. */
static OwSession *
make_session (OwStore                 *store,
              OwAudit                 *audit,
              OwEventList             *events,
              gboolean                 resumed,
              const OwSessionOptions  *options,
              GError                 **error)
{
  g_autoptr (OwSession) self = g_object_new (OW_TYPE_SESSION, NULL);
  const char *id = ow_event_list_get_session (events);
  json_t *hosts = NULL;

  self->sandbox = ow_session_setup_sandbox (id, options, &self->folders, &hosts, error);
  if (self->sandbox == NULL)
    return NULL;
  self->resumed = resumed;
  self->level = ow_sandbox_get_level (self->sandbox);
  self->beginning = ow_session_events_started (options, self->level,
                                               resumed ? NULL : self->folders, hosts);
  json_decref (hosts);
  if (options->record != NULL)
    {
      self->record = ow_recording_place_open (options->record, self->folders, error);
      if (self->record == NULL)
        return NULL;
    }
  g_signal_connect (self->sandbox, "lost", G_CALLBACK (on_lost), self);
  g_signal_connect (self->sandbox, "decision", G_CALLBACK (on_decision), self);
  g_signal_connect (self->sandbox, "traffic", G_CALLBACK (on_traffic), self);
  self->audit = g_object_ref (audit);
  self->events = g_object_ref (events);
  self->consent = ow_consent_new (self->events, options->approve);
  ow_consent_set_parks (self->consent, options->parks);
  if (options->rules != NULL)
    ow_consent_set_rules (self->consent, options->rules,
                          ow_json_get_string (json_array_get (self->folders, 0), "path", ""));
  g_set_object (&self->model, options->model);
  self->keep = options->keep;
  ow_store_attach (store, self->events);
  g_signal_connect (self->events, "appended", G_CALLBACK (on_appended), self);
  return g_steal_pointer (&self);
}

OwSession *
ow_session_new (OwStore                 *store,
                OwAudit                 *audit,
                const OwSessionOptions  *options,
                GError                 **error)
{
  g_autoptr (OwEventList) events = NULL;
  g_autofree char *id = NULL;
  OwSession *self;

  g_return_val_if_fail (OW_IS_STORE (store), NULL);
  g_return_val_if_fail (OW_IS_AUDIT (audit), NULL);
  g_return_val_if_fail (options != NULL, NULL);

  /* Random, so that nobody can name a session before it is there. */
  id = ow_random_hex (ID_BYTES, error);
  if (id == NULL)
    {
      g_prefix_error (error, "The session cannot be started: ");
      return NULL;
    }
  events = ow_event_list_new (id);
  self = make_session (store, audit, events, FALSE, options, error);
  if (self != NULL)
    ow_state_reach ("session-created");
  return self;
}

OwSession *
ow_session_resume (OwStore                 *store,
                   OwAudit                 *audit,
                   const char              *id,
                   const OwSessionOptions  *options,
                   GError                 **error)
{
  g_autoptr (OwEventList) events = NULL;
  g_auto (GStrv) folders = NULL;
  OwSessionOptions  own;
  OwSession        *self;

  g_return_val_if_fail (OW_IS_STORE (store), NULL);
  g_return_val_if_fail (OW_IS_AUDIT (audit), NULL);
  g_return_val_if_fail (id != NULL, NULL);
  g_return_val_if_fail (options != NULL, NULL);

  /* One whose program was killed since the start is ended first, so that what it left
   * open is known. */
  if (!ow_store_close_interrupted (store, audit, error) ||
      !ow_store_check_ended (store, id, "taken up", error))
    return NULL;
  events = ow_store_load (store, id, error);
  if (events == NULL)
    return NULL;
  folders = ow_session_resume_folders (events, error);
  if (folders == NULL)
    return NULL;
  own = *options;
  own.folders = (const char * const *) folders;
  self = make_session (store, audit, events, TRUE, &own, error);
  if (self == NULL)
    return NULL;
  self->open_turn = ow_session_resume_is_cut (events);
  if (ow_session_resume_check_folders (events, self->folders, error))
    return self;
  g_object_unref (self);
  return NULL;
}

const char *
ow_session_get_id (OwSession *self)
{
  g_return_val_if_fail (OW_IS_SESSION (self), NULL);

  return ow_event_list_get_session (self->events);
}

OwEventList *
ow_session_get_events (OwSession *self)
{
  g_return_val_if_fail (OW_IS_SESSION (self), NULL);

  return self->events;
}

OwConsent *
ow_session_get_consent (OwSession *self)
{
  g_return_val_if_fail (OW_IS_SESSION (self), NULL);

  return self->consent;
}
