/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-provider-private.h"

#include "ow-openshell-check-private.h"
#include "ow-openshell-policy-private.h"
#include "ow-openshell-start-private.h"
#include "ow-private-names-private.h"

struct _OwOpenshellProvider {
  GObject parent_instance;
};

static void ow_openshell_provider_iface_init (OwSandboxProviderInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwOpenshellProvider, ow_openshell_provider, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_SANDBOX_PROVIDER,
                                                      ow_openshell_provider_iface_init))

static void
on_checked (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  g_autoptr (OwOpenshellFacts) facts = ow_openshell_check_finish (result, &error);

  if (facts != NULL)
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

static void
check_async (OwSandboxProvider  *provider,
             GCancellable       *cancellable,
             GAsyncReadyCallback callback,
             gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (provider, cancellable, callback, user_data);

  g_task_set_source_tag (task, check_async);
  g_task_set_check_cancellable (task, FALSE);
  ow_openshell_check_async (cancellable, on_checked, g_steal_pointer (&task));
}

static gboolean
check_finish (OwSandboxProvider *provider,
              GAsyncResult      *result,
              GError           **error)
{
  g_return_val_if_fail (g_task_is_valid (result, provider), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

static void
on_started (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  OwSandboxInstance *instance = ow_openshell_start_finish (result, &error);

  if (instance != NULL)
    g_task_return_pointer (task, instance, g_object_unref);
  else
    g_task_return_error (task, error);
}

/* OpenShell takes a name on the list for consent to wherever it leads. */
static void
on_names (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwSandboxPlan *plan = g_task_get_task_data (task);
  g_autoptr (GPtrArray) names = ow_private_names_find_finish (result);
  g_autofree char *ports = NULL;
  g_autofree char *left_out = ow_private_names_leave_out (plan->hosts, names);
  GCancellable *cancellable;

  ports = ow_openshell_policy_tell_ports (plan);
  g_free (plan->notice);
  plan->notice = ports != NULL && left_out != NULL ? g_strconcat (ports, " ", left_out, NULL)
                                                   : g_strdup (ports != NULL ? ports : left_out);
  cancellable = g_task_get_cancellable (task);
  ow_openshell_start_async (plan, cancellable, on_started, g_steal_pointer (&task));
}

static void
start_async (OwSandboxProvider  *provider,
             OwSandboxPlan      *plan,
             GCancellable       *cancellable,
             GAsyncReadyCallback callback,
             gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (provider, cancellable, callback, user_data);

  g_task_set_source_tag (task, start_async);
  /* A start that was stopped has something to take away, or has done so. */
  g_task_set_check_cancellable (task, FALSE);
  g_task_set_task_data (task, plan, NULL);
  ow_private_names_find_async (plan->hosts, cancellable, on_names, g_steal_pointer (&task));
}

static OwSandboxInstance *
start_finish (OwSandboxProvider *provider,
              GAsyncResult      *result,
              GError           **error)
{
  g_return_val_if_fail (g_task_is_valid (result, provider), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

static OwLevel
get_level (OwSandboxProvider *provider)
{
  return OW_LEVEL_OPENSHELL;
}

static void
ow_openshell_provider_iface_init (OwSandboxProviderInterface *iface)
{
  iface->get_level = get_level;
  iface->check_async = check_async;
  iface->check_finish = check_finish;
  iface->start_async = start_async;
  iface->start_finish = start_finish;
}

static void
ow_openshell_provider_class_init (OwOpenshellProviderClass *klass)
{
}

static void
ow_openshell_provider_init (OwOpenshellProvider *self)
{
}

OwOpenshellProvider *
ow_openshell_provider_new (void)
{
  return g_object_new (OW_TYPE_OPENSHELL_PROVIDER, NULL);
}
