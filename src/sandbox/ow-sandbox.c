/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-sandbox.h"

#include <stdlib.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-source.h"
#include "base/ow-state.h"
#include "config/ow-config-credentials.h"
#include "config/ow-config-programs.h"
#include "ow-decision-private.h"
#include "ow-mount-proof-private.h"
#include "ow-sandbox-private.h"
#include "sandbox/ow-programs.h"
#include "sandbox/ow-reaper.h"
#include "sandbox/ow-registry.h"

enum { SIGNAL_LOST, SIGNAL_DECISION, SIGNAL_TRAFFIC, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE_WITH_CODE (OwSandbox, ow_sandbox, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_TOOL_HOST,
                                                      ow_sandbox_host_init))

static void
ow_sandbox_leave_caller (OwSandbox *self)
{
  ow_source_clear (&self->caller);
}

/* --- the end, in the order that leaves nothing behind --- */

static void
ow_sandbox_ended (OwSandbox *self,
                  GError    *stop_error)
{
  g_autoptr (OwSandbox) keep = g_object_ref (self);
  g_autoptr (GPtrArray) stops = g_steal_pointer (&self->stops);
  g_autoptr (GTask) starting = g_steal_pointer (&self->starting);

  self->stops = g_ptr_array_new_with_free_func (g_object_unref);
  self->state = OW_SANDBOX_STOPPED;
  ow_sandbox_leave_caller (self);
  ow_state_reach ("stopped");
  ow_sandbox_change_failed (self);
  if (starting != NULL)
    g_task_return_error (starting, g_steal_pointer (&self->failure));
  for (guint i = 0; i < stops->len; i++)
    {
      if (stop_error != NULL)
        g_task_return_error (g_ptr_array_index (stops, i), g_error_copy (stop_error));
      else
        g_task_return_boolean (g_ptr_array_index (stops, i), TRUE);
    }
}

static void
ow_sandbox_instance_stopped (GObject      *source,
                             GAsyncResult *result,
                             gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;
  g_autoptr (GError) error = NULL;

  ow_sandbox_instance_stop_finish (OW_SANDBOX_INSTANCE (source), result, &error);
  ow_state_reach ("wall-stopped");
  g_clear_object (&self->instance);
  /* What did not end may still write in its folders: they stay, for the reaper. */
  if (self->plan != NULL)
    self->plan->abandoned = error != NULL;
  g_clear_pointer (&self->plan, ow_sandbox_plan_free);
  ow_sandbox_ended (self, error);
}

static void
ow_sandbox_tear_down (OwSandbox *self)
{
  self->state = OW_SANDBOX_STOPPING;
  ow_state_reach ("stopping");
  if (self->channel != NULL)
    ow_channel_close (self->channel);
  g_clear_object (&self->channel);
  if (self->instance != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->instance, self);
      ow_sandbox_instance_stop_async (self->instance, ow_sandbox_instance_stopped,
                                      g_object_ref (self));
      return;
    }
  g_clear_pointer (&self->plan, ow_sandbox_plan_free);
  ow_sandbox_ended (self, NULL);
}

void
ow_sandbox_fail (OwSandbox *self,
                 GError    *error)
{
  self->failure = error;
  ow_sandbox_tear_down (self);
}

/* TRUE when the start is to go on after a step that gave @error or none. */
static gboolean
ow_sandbox_go_on (OwSandbox *self,
                  GError    *error)
{
  if (error == NULL && g_cancellable_is_cancelled (self->cancellable))
    ow_error_set (&error, OW_ERROR_INTERRUPTED, "The sandbox was not started",
                  "it was stopped", NULL);
  if (error == NULL)
    return TRUE;
  ow_sandbox_fail (self, error);
  return FALSE;
}

/* --- what comes while it is up --- */

static void
ow_sandbox_on_lost (OwChannel  *channel,
                    const char *reason,
                    gpointer    user_data)
{
  OwSandbox *self = user_data;

  /* What was proven does not hold any more, while the rest of the start is waited for. */
  if (self->state == OW_SANDBOX_STARTING && self->proven && self->unproven == NULL)
    ow_error_set (&self->unproven, OW_ERROR_FAILED, "The sandbox's runner cannot be used", reason,
                  NULL);
  if (self->state != OW_SANDBOX_UP)
    return;
  self->state = OW_SANDBOX_LOST;
  g_signal_emit (self, signals[SIGNAL_LOST], 0, reason);
}

/* The channel goes on trying; whose wall it is may know that there is nothing to be reached. */
static void
ow_sandbox_on_unreached (OwChannel  *channel,
                         const char *complaint,
                         gpointer    user_data)
{
  OwSandbox *self = user_data;
  gboolean over = FALSE;
  g_autofree char *reason = NULL;

  if (self->instance != NULL)
    reason = ow_sandbox_instance_judge_complaint (self->instance, complaint, &over);
  if (over)
    ow_channel_give_up (channel, reason);
  else
    ow_channel_set_cause (channel, reason);
}

static void
ow_sandbox_on_ended (OwSandboxInstance *instance,
                     const char        *reason,
                     gpointer           user_data)
{
  OwSandbox *self = user_data;

  /* Before it is up this makes the step fail that is under way. */
  if (self->channel != NULL)
    ow_channel_give_up (self->channel, reason);
}

static void
ow_sandbox_on_decision (OwSandboxInstance *instance,
                        const char        *line,
                        gpointer           user_data)
{
  OwSandbox *self = user_data;
  json_t *decision = ow_decision_parse (line);
  char *checked;

  /* The proxy is ours, but it reads what strangers send: one that writes other lines
   * is not repeated into events. */
  if (decision == NULL)
    return;
  checked = ow_json_dump (decision, NULL);
  json_decref (decision);
  if (checked == NULL)
    return;
  g_signal_emit (self, signals[SIGNAL_DECISION], 0, checked);
  free (checked);
}

static void
ow_sandbox_on_traffic (OwSandboxInstance *instance,
                       const char        *line,
                       OwSandbox         *self)
{
  g_signal_emit (self, signals[SIGNAL_TRAFFIC], 0, line);
}

/* --- start, step by step --- */

static void
ow_sandbox_explained (GObject      *source,
                      GAsyncResult *result,
                      gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;

  ow_sandbox_fail (self, ow_sandbox_instance_explain_finish (OW_SANDBOX_INSTANCE (source),
                                                             result));
}

/* Ends a start whose wall is up but cannot be used, once nothing of it is under way. */
static void
ow_sandbox_refuse (OwSandbox *self)
{
  g_autoptr (GError) unproven = g_steal_pointer (&self->unproven);
  g_autoptr (GError) unverified = g_steal_pointer (&self->unverified);

  if (!ow_sandbox_go_on (self, NULL))
    return;
  if (unverified != NULL)
    ow_sandbox_fail (self, g_steal_pointer (&unverified));
  else
    ow_sandbox_instance_explain_async (self->instance, unproven, self->cancellable,
                                       ow_sandbox_explained, g_object_ref (self));
}

/* The wall is used when both are through: what was proven through the channel, and what its
 * provider had to look at besides. */
static void
ow_sandbox_settle (OwSandbox *self)
{
  g_autoptr (GTask) task = NULL;

  if (!self->proven || !self->verified)
    return;
  if (self->unproven != NULL || self->unverified != NULL)
    {
      ow_sandbox_refuse (self);
      return;
    }
  /* It has long ended, unless there was something to be taken away. */
  self->waits = self->reaping;
  if (self->waits || !ow_sandbox_go_on (self, NULL))
    return;
  ow_state_reach ("mounts-proven");
  self->state = OW_SANDBOX_UP;
  ow_sandbox_leave_caller (self);
  task = g_steal_pointer (&self->starting);
  if (task != NULL)
    g_task_return_boolean (task, TRUE);
  else
    ow_sandbox_changed (self);
}

static void
ow_sandbox_proven (GObject      *source,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;

  ow_mount_proof_run_finish (result, &self->unproven);
  self->proven = TRUE;
  ow_sandbox_settle (self);
}

static void
ow_sandbox_verified (GObject      *source,
                     GAsyncResult *result,
                     gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;

  ow_sandbox_instance_verify_finish (OW_SANDBOX_INSTANCE (source), result, &self->unverified);
  self->verified = TRUE;
  ow_sandbox_settle (self);
}

static void
ow_sandbox_connected (GObject      *source,
                      GAsyncResult *result,
                      gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;

  if (!ow_channel_connect_finish (OW_CHANNEL (source), result, &self->unproven))
    {
      self->proven = TRUE;
      ow_sandbox_settle (self);
      return;
    }
  ow_state_reach ("channel-up");
  ow_mount_proof_run_async (self->channel, self->plan,
                            ow_level_is_walled (ow_sandbox_get_level (self)),
                            self->cancellable, ow_sandbox_proven, g_object_ref (self));
}

/* Sentences of several steps, one text. @more is moved in. */
static void
ow_sandbox_add_notice (OwSandbox *self,
                       char      *more)
{
  g_autofree char *old = g_steal_pointer (&self->notice);
  g_autofree char *taken = more;

  if (old != NULL && taken != NULL)
    self->notice = g_strconcat (old, " ", taken, NULL);
  else
    self->notice = old != NULL ? g_steal_pointer (&old) : g_steal_pointer (&taken);
}

static void
ow_sandbox_raised (GObject      *source,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;
  GError *error = NULL;

  self->instance = ow_sandbox_provider_start_finish (OW_SANDBOX_PROVIDER (source), result,
                                                     &error);
  if (!ow_sandbox_go_on (self, error))
    return;
  ow_sandbox_add_notice (self, g_steal_pointer (&self->plan->notice));
  ow_state_reach ("wall-up");
  self->proven = FALSE;
  self->verified = FALSE;
  self->channel = ow_channel_new (ow_sandbox_instance_get_attach (self->instance), NULL);
  g_signal_connect (self->channel, "lost", G_CALLBACK (ow_sandbox_on_lost), self);
  g_signal_connect (self->channel, "unreached", G_CALLBACK (ow_sandbox_on_unreached), self);
  g_signal_connect (self->instance, "ended", G_CALLBACK (ow_sandbox_on_ended), self);
  g_signal_connect (self->instance, "decision", G_CALLBACK (ow_sandbox_on_decision), self);
  g_signal_connect (self->instance, "traffic", G_CALLBACK (ow_sandbox_on_traffic), self);
  ow_channel_connect_async (self->channel, self->cancellable, ow_sandbox_connected,
                            g_object_ref (self));
  ow_sandbox_instance_verify_async (self->instance, self->cancellable, ow_sandbox_verified,
                                    g_object_ref (self));
}

/* Without a wall a read-only folder is only as good as the tools that honour it. */
static void
ow_sandbox_note_read_only (OwSandbox *self)
{
  gboolean read_only = FALSE;

  for (guint i = 0; i < self->plan->folders->len; i++)
    read_only |= ((const OwFolder *) g_ptr_array_index (self->plan->folders, i))->read_only;
  g_clear_pointer (&self->notice, g_free);
  if (read_only && !ow_level_is_walled (ow_sandbox_get_level (self)))
    self->notice = g_strdup ("There is no sandbox around this session: the file tools do "
                             "not write into its read-only folders, but a command that is "
                             "run can.");
}

/* Each wall that this sandbox has gets them. */
static GPtrArray *
copy_hosts (GPtrArray *hosts)
{
  GPtrArray *copy = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);

  for (guint i = 0; hosts != NULL && i < hosts->len; i++)
    {
      const OwHost *host = g_ptr_array_index (hosts, i);

      g_ptr_array_add (copy, ow_host_copy (host));
    }
  return copy;
}

static void
ow_sandbox_start_wall (OwSandbox *self)
{
  ow_state_reach ("wall-starting");
  ow_sandbox_provider_start_async (self->provider, self->plan, self->cancellable,
                                   ow_sandbox_raised, g_object_ref (self));
}

static void
ow_sandbox_took_credentials (GObject      *source,
                             GAsyncResult *result,
                             gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;
  g_autofree char *notice = NULL;
  GError *error = NULL;

  ow_sandbox_plan_take_credentials_finish (self->plan, result, &notice, &error);
  if (!ow_sandbox_go_on (self, error))
    return;
  ow_sandbox_add_notice (self, g_steal_pointer (&notice));
  ow_sandbox_start_wall (self);
}

/* @programs: (nullable) of OwPrograms. */
static void
ow_sandbox_raise (OwSandbox *self,
                  GPtrArray *programs)
{
  GError *error = NULL;

  self->plan = ow_sandbox_plan_new (self->session, g_steal_pointer (&self->folders),
                                    copy_hosts (self->hosts), &error);
  if (!ow_sandbox_go_on (self, error))
    return;
  ow_state_reach ("plan-made");
  ow_sandbox_note_read_only (self);
  if (programs != NULL && self->notice == NULL)
    self->notice = ow_sandbox_plan_take_programs (self->plan, programs);
  if (self->shares && self->settings != NULL)
    ow_sandbox_plan_take_credentials_async (self->plan,
                                            ow_config_get_credentials (self->settings),
                                            self->cancellable, ow_sandbox_took_credentials,
                                            g_object_ref (self));
  else
    ow_sandbox_start_wall (self);
}

static void
ow_sandbox_looked (GObject      *source,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;
  GError *error = NULL;
  g_autoptr (GPtrArray) programs = ow_programs_look_finish (result, &error);

  if (ow_sandbox_go_on (self, error))
    ow_sandbox_raise (self, programs);
}

/* Each time anew: a login may have come to lie in a folder that was shared before. */
static void
ow_sandbox_look_for_programs (OwSandbox *self)
{
  g_autofree char *path = ow_paths_get_config_file ();
  GError *error = NULL;
  g_autoptr (OwConfig) config = ow_config_load (path, &error);

  if (!ow_sandbox_go_on (self, error))
    return;
  g_set_object (&self->settings, config);
  if (ow_config_get_programs (config)->len == 0)
    ow_sandbox_raise (self, NULL);
  else
    ow_programs_look_async (ow_config_get_programs (config), self->cancellable, ow_sandbox_looked,
                            g_object_ref (self));
}

static void
ow_sandbox_checked (GObject      *source,
                    GAsyncResult *result,
                    gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;
  OwSandboxProvider *provider = OW_SANDBOX_PROVIDER (source);
  GError *error = NULL;

  ow_sandbox_provider_check_finish (provider, result, &error);
  if (!ow_sandbox_go_on (self, error))
    return;
  if (ow_level_is_walled (ow_sandbox_get_level (self)))
    ow_sandbox_look_for_programs (self);
  else
    ow_sandbox_raise (self, NULL);
}

static void
ow_sandbox_check (OwSandbox *self)
{
  ow_state_reach ("wall-checking");
  ow_sandbox_provider_check_async (self->provider, self->cancellable, ow_sandbox_checked,
                                   g_object_ref (self));
}

static void
ow_sandbox_reaped (GObject      *source,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;
  g_autoptr (GError) reason = NULL;

  /* What stays is tried again at the next start; the check says whether this one can be. */
  if (!ow_reaper_run_finish (result, NULL, NULL, &reason))
    g_debug ("%s", reason->message);
  if (ow_sandbox_go_on (self, NULL))
    ow_sandbox_check (self);
}

static void
ow_sandbox_reaped_aside (GObject      *source,
                         GAsyncResult *result,
                         gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;
  g_autoptr (GError) reason = NULL;

  if (!ow_reaper_run_finish (result, NULL, NULL, &reason))
    g_debug ("%s", reason->message);
  if (self == NULL)
    return;
  self->reaping = FALSE;
  if (self->waits)
    ow_sandbox_settle (self);
}

/* What a killed run left goes first. What only OpenShell can take away does not hold up a wall
 * of another kind. What its gateway has without an entry, because it came to be later than anybody
 * waited, goes while this one is being made. */
void
ow_sandbox_begin (OwSandbox *self)
{
  gboolean openshell = ow_sandbox_get_level (self) == OW_LEVEL_OPENSHELL;
  GError *error = NULL;

  self->state = OW_SANDBOX_STARTING;
  self->waits = FALSE;
  ow_registry_reap (NULL, &error);
  if (!ow_sandbox_go_on (self, error))
    return;
  if (ow_reaper_has_work () && openshell)
    {
      ow_reaper_run_async (TRUE, self->cancellable, ow_sandbox_reaped, g_object_ref (self));
      return;
    }
  if (openshell)
    {
      self->reaping = TRUE;
      ow_reaper_run_async (TRUE, self->cancellable, ow_sandbox_reaped_aside, g_object_ref (self));
    }
  else if (ow_reaper_has_work ())
    {
      ow_reaper_run_async (FALSE, NULL, ow_sandbox_reaped_aside, NULL);
    }
  ow_sandbox_check (self);
}

static gboolean
ow_sandbox_on_caller_cancelled (gpointer user_data)
{
  OwSandbox *self = user_data;

  g_cancellable_cancel (self->cancellable);
  return G_SOURCE_REMOVE;
}

void
ow_sandbox_start_async (OwSandbox          *self,
                        GCancellable       *cancellable,
                        GAsyncReadyCallback callback,
                        gpointer            user_data)
{
  g_return_if_fail (self->state == OW_SANDBOX_NEW);
  self->state = OW_SANDBOX_STARTING;
  self->starting = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (self->starting, ow_sandbox_start_async);
  g_task_set_check_cancellable (self->starting, FALSE);
  self->caller = ow_source_cancelled (cancellable, ow_sandbox_on_caller_cancelled, self, NULL);
  ow_sandbox_begin (self);
}

gboolean
ow_sandbox_start_finish (OwSandbox    *self,
                         GAsyncResult *result,
                         GError      **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

void
ow_sandbox_stop_async (OwSandbox          *self,
                       GAsyncReadyCallback callback,
                       gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);

  g_task_set_source_tag (task, ow_sandbox_stop_async);
  if (self->state == OW_SANDBOX_NEW || self->state == OW_SANDBOX_STOPPED)
    {
      self->state = OW_SANDBOX_STOPPED;
      g_task_return_boolean (task, TRUE);
      return;
    }
  g_ptr_array_add (self->stops, g_steal_pointer (&task));
  if (self->state == OW_SANDBOX_STARTING || self->state == OW_SANDBOX_CHANGING)
    g_cancellable_cancel (self->cancellable);
  else if (self->state != OW_SANDBOX_STOPPING)
    ow_sandbox_tear_down (self);
}

gboolean
ow_sandbox_stop_finish (OwSandbox    *self,
                        GAsyncResult *result,
                        GError      **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

OwLevel
ow_sandbox_get_level (OwSandbox *self)
{
  return ow_sandbox_provider_get_level (self->provider);
}

GPtrArray *
ow_sandbox_get_bins (OwSandbox *self)
{
  return self->plan != NULL && self->plan->bins != NULL && self->plan->bins->len > 0
         ? self->plan->bins : NULL;
}

GPtrArray *
ow_sandbox_get_credentials (OwSandbox *self)
{
  return self->plan != NULL ? self->plan->credentials : NULL;
}

GPtrArray *
ow_sandbox_get_hosts (OwSandbox *self)
{
  return self->plan != NULL ? self->plan->hosts : NULL;
}

void
ow_sandbox_share_credentials (OwSandbox *self)
{
  self->shares = TRUE;
}

const char *
ow_sandbox_get_id (OwSandbox *self)
{
  return self->plan != NULL ? self->plan->id : NULL;
}

gboolean
ow_sandbox_can_allow (OwSandbox *self)
{
  return self->state == OW_SANDBOX_UP && ow_sandbox_instance_can_allow (self->instance);
}

static void
ow_sandbox_allowed (GObject      *source,
                    GAsyncResult *result,
                    gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwSandbox *self = g_task_get_source_object (task);
  const OwHost *host = g_task_get_task_data (task);
  GError *error = NULL;

  if (ow_sandbox_instance_allow_finish (OW_SANDBOX_INSTANCE (source), result, &error))
    {
      /* The next wall of this session has it from the start. */
      if (self->hosts == NULL)
        self->hosts = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);
      g_ptr_array_add (self->hosts, ow_host_copy (host));
      g_task_return_boolean (task, TRUE);
    }
  else
    g_task_return_error (task, error);
}

void
ow_sandbox_allow_async (OwSandbox          *self,
                        const OwHost       *host,
                        GCancellable       *cancellable,
                        GAsyncReadyCallback callback,
                        gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  GError *error = NULL;

  g_task_set_source_tag (task, ow_sandbox_allow_async);
  g_task_set_task_data (task, ow_host_copy (host), (GDestroyNotify) ow_host_free);
  if (self->state == OW_SANDBOX_UP)
    {
      ow_sandbox_instance_allow_async (self->instance, host, cancellable, ow_sandbox_allowed,
                                       g_steal_pointer (&task));
      return;
    }
  ow_error_set (&error, OW_ERROR_FAILED, "The host was not allowed",
                "the session's sandbox is not up", "Start the session again");
  g_task_return_error (task, error);
}

gboolean
ow_sandbox_allow_finish (OwSandbox    *self,
                         GAsyncResult *result,
                         GError      **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

const char *
ow_sandbox_get_notice (OwSandbox *self)
{
  return self->notice;
}

OwChannel *
ow_sandbox_get_channel (OwSandbox *self)
{
  return self->channel;
}

/* --- life --- */

static void
ow_sandbox_dispose (GObject *object)
{
  OwSandbox *self = OW_SANDBOX (object);

  ow_sandbox_leave_caller (self);
  if (self->channel != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->channel, self);
      ow_channel_close (self->channel);
    }
  g_clear_object (&self->channel);
  if (self->instance != NULL)
    g_signal_handlers_disconnect_by_data (self->instance, self);
  g_clear_object (&self->instance);
  g_clear_pointer (&self->plan, ow_sandbox_plan_free);
  g_clear_object (&self->provider);
  G_OBJECT_CLASS (ow_sandbox_parent_class)->dispose (object);
}

static void
ow_sandbox_finalize (GObject *object)
{
  OwSandbox *self = OW_SANDBOX (object);

  g_clear_pointer (&self->folders, g_ptr_array_unref);
  g_clear_pointer (&self->hosts, g_ptr_array_unref);
  g_ptr_array_unref (self->stops);
  g_ptr_array_unref (self->changes);
  g_ptr_array_unref (self->held);
  g_clear_error (&self->failure);
  g_clear_error (&self->unproven);
  g_clear_error (&self->unverified);
  g_object_unref (self->cancellable);
  g_clear_object (&self->settings);
  g_free (self->session);
  g_free (self->notice);
  g_free (self->only);
  G_OBJECT_CLASS (ow_sandbox_parent_class)->finalize (object);
}

static void
ow_sandbox_class_init (OwSandboxClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_sandbox_dispose;
  object_class->finalize = ow_sandbox_finalize;
  signals[SIGNAL_LOST] = g_signal_new ("lost", OW_TYPE_SANDBOX, G_SIGNAL_RUN_LAST, 0, NULL,
                                       NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[SIGNAL_TRAFFIC] = g_signal_new ("traffic", OW_TYPE_SANDBOX, G_SIGNAL_RUN_LAST, 0, NULL,
                                          NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[SIGNAL_DECISION] = g_signal_new ("decision", OW_TYPE_SANDBOX, G_SIGNAL_RUN_LAST,
                                           0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                                           G_TYPE_STRING);
}

static void
ow_sandbox_init (OwSandbox *self)
{
  self->cancellable = g_cancellable_new ();
  self->stops = g_ptr_array_new_with_free_func (g_object_unref);
  self->changes = g_ptr_array_new_with_free_func (g_object_unref);
  self->held = g_ptr_array_new_with_free_func (ow_sandbox_held_free);
}

OwSandbox *
ow_sandbox_new (OwSandboxProvider *provider,
                const char        *session,
                GPtrArray         *folders,
                GPtrArray         *hosts)
{
  OwSandbox *self = g_object_new (OW_TYPE_SANDBOX, NULL);

  self->provider = g_object_ref (provider);
  self->session = g_strdup (session);
  self->folders = folders;
  self->hosts = hosts;
  return self;
}
