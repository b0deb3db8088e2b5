/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-direct-provider-private.h"

#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-owner.h"
#include "base/ow-paths.h"
#include "base/ow-state.h"
#include "ow-ready-process-private.h"
#include "ow-wall-instance-private.h"
#include "sandbox/ow-registry.h"

#define READY_MS 30000

struct _OwDirectProvider {
  GObject parent_instance;
};

static void ow_direct_provider_iface_init (OwSandboxProviderInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwDirectProvider, ow_direct_provider, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_SANDBOX_PROVIDER,
                                                      ow_direct_provider_iface_init))

typedef struct {
  OwSandboxPlan  *plan;
  OwReadyProcess *serve; /* (owned) (nullable) */
} Start;

static void
start_free (Start *start)
{
  g_clear_object (&start->serve);
  g_free (start);
}

char **
ow_direct_provider_environment (const char * const *environment,
                                const char         *id)
{
  GPtrArray *kept = g_ptr_array_new ();

  for (guint i = 0; environment[i] != NULL; i++)
    if (!g_str_has_prefix (environment[i], "OPENWORKER_"))
      g_ptr_array_add (kept, g_strdup (environment[i]));
  g_ptr_array_add (kept, g_strdup_printf ("OPENWORKER_SANDBOX=%s", id));
  g_ptr_array_add (kept, NULL);
  return (char **) g_ptr_array_free (kept, FALSE);
}

static gboolean
check_runner (const char *runner,
              GError    **error)
{
  if (access (runner, X_OK) == 0)
    return TRUE;
  ow_error_setf (error, OW_ERROR_REFUSED, "Install OpenWorker again.",
                 "Sessions on this machine are refused: %s is not there or cannot be run", runner);
  return FALSE;
}

static char **
make_argv (const OwSandboxPlan *plan)
{
  GPtrArray *argv = g_ptr_array_new ();

  g_ptr_array_add (argv, g_strdup (plan->runner));
  g_ptr_array_add (argv, g_strdup ("serve"));
  g_ptr_array_add (argv, g_strdup ("--socket"));
  g_ptr_array_add (argv, g_build_filename (plan->run_dir, "runner.sock", NULL));
  g_ptr_array_add (argv, g_strdup ("--die-with-parent"));
  for (guint i = 0; i < plan->folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (plan->folders, i);

      g_ptr_array_add (argv, g_strdup (folder->read_only ? "--folder-ro" : "--folder"));
      g_ptr_array_add (argv, g_strdup (folder->path));
    }
  if (plan->undo != NULL)
    {
      g_ptr_array_add (argv, g_strdup ("--undo"));
      g_ptr_array_add (argv, g_strdup (plan->undo));
    }
  g_ptr_array_add (argv, NULL);
  return (char **) g_ptr_array_free (argv, FALSE);
}

static OwReadyProcess *
spawn_serve (const OwSandboxPlan *plan,
             GError             **error)
{
  const OwFolder *first = g_ptr_array_index (plan->folders, 0);
  g_auto (GStrv) own = g_get_environ ();
  g_auto (GStrv) envp = ow_direct_provider_environment ((const char * const *) own, plan->id);
  g_auto (GStrv) argv = make_argv (plan);
  OwProcessOptions options = {
    .argv = (const char * const *) argv, .envp = (const char * const *) envp,
    .cwd = first->path, .stdout_pipe = TRUE, .stderr_pipe = TRUE,
  };
  OwRegistryEntry entry = {
    .id = plan->id, .session = plan->session, .provider = (char *) "direct",
    .home = plan->home, .run_dir = plan->run_dir,
  };
  g_autoptr (OwReadyProcess) serve = NULL;
  OwProcess *process = ow_process_spawn (&options, error);

  if (process == NULL)
    return NULL;
  serve = ow_ready_process_new (process, "openworker-runner");
  entry.main_pid = ow_process_get_pid (process);
  entry.main_start = ow_owner_process_start (entry.main_pid);
  return ow_registry_put (&entry, error) ? g_steal_pointer (&serve) : NULL;
}

static void
check_async (OwSandboxProvider  *provider,
             GCancellable       *cancellable,
             GAsyncReadyCallback callback,
             gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (provider, cancellable, callback, user_data);
  g_autofree char *runner = ow_paths_get_libexec ("openworker-runner");
  GError *error = NULL;

  g_task_set_source_tag (task, check_async);
  if (check_runner (runner, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
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
on_ready (GObject      *object,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Start *start = g_task_get_task_data (task);
  GError *error = NULL;

  if (!ow_ready_process_wait_finish (OW_READY_PROCESS (object), result, &error))
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task,
                           ow_wall_instance_new (start->plan, g_steal_pointer (&start->serve),
                                                 NULL),
                           g_object_unref);
}

static void
start_async (OwSandboxProvider  *provider,
             OwSandboxPlan      *plan,
             GCancellable       *cancellable,
             GAsyncReadyCallback callback,
             gpointer            user_data)
{
  GTask *task = g_task_new (provider, cancellable, callback, user_data);
  Start *start = g_new0 (Start, 1);
  GError *error = NULL;

  g_task_set_source_tag (task, start_async);
  g_task_set_task_data (task, start, (GDestroyNotify) start_free);
  start->plan = plan;
  for (guint i = 0; error == NULL && i < plan->folders->len; i++)
    ow_folder_check (g_ptr_array_index (plan->folders, i), &error);
  if (error == NULL && check_runner (plan->runner, &error))
    start->serve = spawn_serve (plan, &error);
  if (start->serve == NULL)
    {
      g_task_return_error (task, error);
      g_object_unref (task);
      return;
    }
  ow_state_reach ("direct-started");
  ow_ready_process_wait_async (start->serve, READY_MS, cancellable, on_ready, task);
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
  return OW_LEVEL_DIRECT;
}

static void
ow_direct_provider_iface_init (OwSandboxProviderInterface *iface)
{
  iface->get_level = get_level;
  iface->check_async = check_async;
  iface->check_finish = check_finish;
  iface->start_async = start_async;
  iface->start_finish = start_finish;
}

static void
ow_direct_provider_class_init (OwDirectProviderClass *klass)
{
}

static void
ow_direct_provider_init (OwDirectProvider *self)
{
}

OwDirectProvider *
ow_direct_provider_new (void)
{
  return g_object_new (OW_TYPE_DIRECT_PROVIDER, NULL);
}
