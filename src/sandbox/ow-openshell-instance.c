/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-instance-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-state.h"
#include "openshell/ow-openshell-names.h"
#include "ow-openshell-explain-private.h"
#include "ow-openshell-policy-private.h"
#include "ow-openshell-refuse-private.h"
#include "ow-openshell-spec-private.h"
#include "ow-openshell-watch-private.h"

/* `attach` inside ends when it has heard nothing for this long: the command that carries it
 * can die without anybody inside being told. */
#define SILENCE_S     "30"
#define KEEP_ALIVE_MS 10000
/* A gateway that is started anew restarts the container too, which takes some seconds. */
#define PATIENCE_VARIABLE "OPENWORKER_SANDBOX_PATIENCE"
#define PATIENCE_S        60
#define PATIENCE_MAX_S    3600

struct _OwOpenshellInstance {
  GObject parent_instance;

  OwSandboxPlan    *plan;   /* (unowned) outlives this */
  OwOpenshellFacts *facts;  /* (owned) */
  OwOpenshellWatch *watch;  /* (owned) (nullable) */
  OwAttach         *attach; /* (owned) */
  char             *name;   /* (owned) */
  gboolean          over;   /* deleted, or being it */
};

static void ow_openshell_instance_iface_init (OwSandboxInstanceInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwOpenshellInstance, ow_openshell_instance, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_SANDBOX_INSTANCE,
                                                      ow_openshell_instance_iface_init))

static void
on_decision (const char *decision,
             gpointer    user_data)
{
  OwOpenshellInstance *self = user_data;

  if (!self->over)
    g_signal_emit_by_name (self, "decision", decision);
}

static void
on_traffic (const char *line,
            gpointer    user_data)
{
  OwOpenshellInstance *self = user_data;

  if (!self->over)
    g_signal_emit_by_name (self, "traffic", line);
}

static void
ow_openshell_instance_dispose (GObject *object)
{
  OwOpenshellInstance *self = OW_OPENSHELL_INSTANCE (object);

  g_clear_pointer (&self->watch, ow_openshell_watch_free);
  if (!self->over)
    self->plan->abandoned = TRUE;
  self->over = TRUE;
  G_OBJECT_CLASS (ow_openshell_instance_parent_class)->dispose (object);
}

static void
ow_openshell_instance_finalize (GObject *object)
{
  OwOpenshellInstance *self = OW_OPENSHELL_INSTANCE (object);

  ow_attach_free (self->attach);
  g_clear_pointer (&self->facts, ow_openshell_facts_unref);
  g_free (self->name);
  G_OBJECT_CLASS (ow_openshell_instance_parent_class)->finalize (object);
}

static void
ow_openshell_instance_class_init (OwOpenshellInstanceClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_openshell_instance_dispose;
  G_OBJECT_CLASS (klass)->finalize = ow_openshell_instance_finalize;
}

static void
ow_openshell_instance_init (OwOpenshellInstance *self)
{
}

static const OwAttach *
get_attach (OwSandboxInstance *instance)
{
  return OW_OPENSHELL_INSTANCE (instance)->attach;
}

/* What runs here of it are commands that come and go. */
static GPid
get_main_pid (OwSandboxInstance *instance)
{
  return 0;
}

/* --- its end --- */

static void
on_deleted (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) reason = NULL;
  GError *error = NULL;

  if (ow_openshell_delete_finish (OW_OPENSHELL (source), result, &reason))
    {
      g_task_return_boolean (task, TRUE);
      return;
    }
  ow_error_setf (&error, OW_ERROR_FAILED, "It is deleted at a later start, or with \"openworker "
                 "sandbox reap\".", "The sandbox could not be ended: %s",
                 ow_openshell_refuse_why (reason));
  g_task_return_error (task, error);
}

static void
stop_async (OwSandboxInstance  *instance,
            GAsyncReadyCallback callback,
            gpointer            user_data)
{
  OwOpenshellInstance *self = OW_OPENSHELL_INSTANCE (instance);
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);

  g_task_set_source_tag (task, stop_async);
  self->over = TRUE;
  ow_state_reach ("openshell-deleting");
  ow_openshell_delete_async (self->facts->openshell, self->name, NULL, on_deleted,
                             g_steal_pointer (&task));
  /* Lines of its last moments are still read while it is being deleted. */
}

static gboolean
stop_finish (OwSandboxInstance *instance,
             GAsyncResult      *result,
             GError           **error)
{
  g_return_val_if_fail (g_task_is_valid (result, instance), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/* --- what must hold, and why it does not --- */

/* A provider of credentials is never attached to what we make: one that is there all the same
 * would hand the inside keys that nobody gave it. */
static void
on_verified (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwOpenshellInstance *self = g_task_get_source_object (task);
  GError *error = NULL;
  int has_providers = ow_openshell_has_providers_finish (OW_OPENSHELL (source), result, &error);

  ow_state_reach ("openshell-verified");
  /* Behind the attach, which is waited for: the log tells what it told before as well. */
  if (self->watch == NULL)
    self->watch = ow_openshell_watch_new (self->facts->openshell, self->name, self->plan->session,
                                          on_decision, on_traffic, self);
  if (has_providers < 0)
    {
      g_task_return_error (task, ow_openshell_refuse (error));
      return;
    }
  if (has_providers == 0)
    {
      g_task_return_boolean (task, TRUE);
      return;
    }
  ow_error_set (&error, OW_ERROR_REFUSED, OW_OPENSHELL_REFUSED,
                "OpenShell attached a credential provider to the sandbox, which would hand it "
                "keys", "Look at \"openshell provider list\" and take the automatic one away.");
  g_task_return_error (task, error);
}

static void
verify_async (OwSandboxInstance  *instance,
              GCancellable       *cancellable,
              GAsyncReadyCallback callback,
              gpointer            user_data)
{
  OwOpenshellInstance *self = OW_OPENSHELL_INSTANCE (instance);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, verify_async);
  ow_openshell_has_providers_async (self->facts->openshell, self->name, cancellable, on_verified,
                                    g_steal_pointer (&task));
}

static gboolean
verify_finish (OwSandboxInstance *instance,
               GAsyncResult      *result,
               GError           **error)
{
  g_return_val_if_fail (g_task_is_valid (result, instance), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

static void
on_explained (GObject      *source,
              GAsyncResult *result,
              gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;

  g_task_return_error (task, ow_openshell_explain_finish (result));
}

static void
explain_async (OwSandboxInstance  *instance,
               const GError       *failure,
               GCancellable       *cancellable,
               GAsyncReadyCallback callback,
               gpointer            user_data)
{
  OwOpenshellInstance *self = OW_OPENSHELL_INSTANCE (instance);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, explain_async);
  g_task_set_check_cancellable (task, FALSE);
  ow_openshell_explain_async (self->facts, self->name, failure, cancellable, on_explained,
                              g_steal_pointer (&task));
}

static GError *
explain_finish (OwSandboxInstance *instance,
                GAsyncResult      *result)
{
  GError *error = NULL;

  g_return_val_if_fail (g_task_is_valid (result, instance), NULL);

  g_task_propagate_boolean (G_TASK (result), &error);
  return error;
}

/* While a gateway starts again the phase is Provisioning, and the sandbox comes back. */
static char *
judge_complaint (OwSandboxInstance *instance,
                 const char        *complaint,
                 gboolean          *over)
{
  OwOpenshellFault fault = ow_openshell_fault_of_text (complaint);
  g_autofree char *plain = ow_openshell_text_plain (complaint, -1);

  *over = TRUE;
  switch (fault)
    {
    case OW_OPENSHELL_FAULT_NOT_FOUND:
      return g_strdup ("the sandbox is not there any more: it was deleted, or its container was "
                       "removed");

    case OW_OPENSHELL_FAULT_NOT_READY:
      if (strstr (plain, "(phase: Error)") != NULL)
        return g_strdup ("the sandbox has ended by itself (OpenShell's phase Error): its main "
                         "command was killed, or its container was stopped or paused");
      if (strstr (plain, "(phase: Completed)") != NULL
          || strstr (plain, "(phase: Deleting)") != NULL)
        return g_strdup ("the sandbox has ended");
      *over = FALSE;
      return g_strdup ("OpenShell starts the sandbox again, and that took too long");

    default:
      *over = FALSE;
      return fault == OW_OPENSHELL_FAULT_OTHER ? NULL : g_strdup (ow_openshell_fault_why (fault));
    }
}

/* --- hosts while it runs --- */

static void
on_allowed (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;

  if (ow_openshell_allow_finish (OW_OPENSHELL (source), result, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

static void
allow_async (OwSandboxInstance  *instance,
             const OwHost       *host,
             GCancellable       *cancellable,
             GAsyncReadyCallback callback,
             gpointer            user_data)
{
  OwOpenshellInstance *self = OW_OPENSHELL_INSTANCE (instance);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  g_autofree char *name = ow_openshell_policy_host (host->host);

  g_task_set_source_tag (task, allow_async);
  ow_openshell_allow_async (self->facts->openshell, self->name, name, host->port, FALSE,
                            cancellable, on_allowed, g_steal_pointer (&task));
}

static gboolean
allow_finish (OwSandboxInstance *instance,
              GAsyncResult      *result,
              GError           **error)
{
  g_return_val_if_fail (g_task_is_valid (result, instance), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

static void
ow_openshell_instance_iface_init (OwSandboxInstanceInterface *iface)
{
  iface->get_attach = get_attach;
  iface->get_main_pid = get_main_pid;
  iface->stop_async = stop_async;
  iface->stop_finish = stop_finish;
  iface->verify_async = verify_async;
  iface->verify_finish = verify_finish;
  iface->explain_async = explain_async;
  iface->explain_finish = explain_finish;
  iface->judge_complaint = judge_complaint;
  iface->allow_async = allow_async;
  iface->allow_finish = allow_finish;
}

static guint
get_patience_ms (void)
{
  const char *text = g_getenv (PATIENCE_VARIABLE);
  guint64 value = PATIENCE_S;

  if (text != NULL && !g_ascii_string_to_unsigned (text, 10, 1, PATIENCE_MAX_S, &value, NULL))
    value = PATIENCE_S;
  return (guint) value * 1000;
}

static OwAttach *
make_attach (OwOpenshell *openshell,
             const char  *name)
{
  static const char * const stream[] = {
    OW_OPENSHELL_RUNNER, "attach", "--socket", OW_OPENSHELL_SOCKET, "--silence", SILENCE_S, NULL,
  };
  static const char * const once[] = {
    OW_OPENSHELL_RUNNER, "attach", "--socket", OW_OPENSHELL_SOCKET, "--once", NULL,
  };
  OwAttach *attach = g_new0 (OwAttach, 1);

  attach->argv = ow_openshell_stream_argv (openshell, name, stream);
  attach->once_argv = ow_openshell_once_argv (openshell, name, once);
  attach->envp = g_strdupv ((char **) ow_openshell_get_environment (openshell));
  attach->once_bytes = OW_OPENSHELL_STDIN_BYTES;
  attach->terminal = TRUE;
  attach->keep_alive_ms = KEEP_ALIVE_MS;
  attach->patience_ms = get_patience_ms ();
  return attach;
}

OwSandboxInstance *
ow_openshell_instance_new (OwSandboxPlan    *plan,
                           OwOpenshellFacts *facts,
                           const char       *name)
{
  OwOpenshellInstance *self = g_object_new (OW_TYPE_OPENSHELL_INSTANCE, NULL);

  self->plan = plan;
  self->facts = ow_openshell_facts_ref (facts);
  self->name = g_strdup (name);
  self->attach = make_attach (facts->openshell, name);
  return OW_SANDBOX_INSTANCE (self);
}
