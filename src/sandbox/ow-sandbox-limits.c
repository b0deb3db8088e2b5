/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-sandbox-limits-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "config/ow-config.h"
#include "ow-scope-private.h"

/* What a settings file says is rounded by the kernel, to pages and to microseconds. */
#define ROUNDED  1.01

#define NEXT "The whole limit needs systemd as the service manager of this account, with version " \
             "2 of cgroups."

typedef struct {
  OwSandboxLimits limits;
  char           *unit;   /* (owned) */
  pid_t           pids[2];
  char           *notice; /* (owned) (nullable) */
} Apply;

static void
apply_free (gpointer data)
{
  Apply *apply = data;

  g_free (apply->unit);
  g_free (apply->notice);
  g_free (apply);
}

void
ow_sandbox_limits_parse (OwSandboxLimits *self,
                         const char      *cpu,
                         const char      *memory)
{
  char *end = NULL;

  *self = (OwSandboxLimits) { 0 };
  if (cpu != NULL)
    {
      self->cpu = g_ascii_strtod (cpu, &end);
      if (strcmp (end, "m") == 0)
        self->cpu /= 1000;
    }
  if (memory != NULL)
    self->memory = ow_config_memory_bytes (memory);
}

gboolean
ow_sandbox_limits_read (OwSandboxLimits *self,
                        GError         **error)
{
  g_autofree char *path = ow_paths_get_config_file ();
  g_autoptr (OwConfig) config = ow_config_load (path, error);

  if (config == NULL)
    return FALSE;
  ow_sandbox_limits_parse (self, ow_config_get_sandbox_cpu (config),
                           ow_config_get_sandbox_memory (config));
  return TRUE;
}

/* --- what the kernel says --- */

/* The path of the cgroup of @pid in the hierarchy of @controller, NULL: version 2. */
static char *
read_cgroup (const char *root,
             pid_t       pid,
             const char *controller)
{
  g_autofree char *name = g_strdup_printf ("%s/proc/%d/cgroup", root, (int) pid);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents (name, &text, NULL, NULL))
    return NULL;
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (lines[i], ":", 3);
      g_auto (GStrv) names = NULL;

      if (g_strv_length (parts) != 3)
        continue;
      names = g_strsplit (parts[1], ",", -1);
      if (controller == NULL ? *parts[1] == '\0'
                             : g_strv_contains ((const char * const *) names, controller))
        return g_strdup (parts[2]);
    }
  return NULL;
}

static gboolean
is_in_unit (const char *cgroup,
            const char *unit)
{
  g_autofree char *name = g_path_get_basename (cgroup);

  return strcmp (name, unit) == 0;
}

/* Both numbers of a file such as "max 100000" or "1234"; FALSE: no limit there. */
static gboolean
read_amounts (const char *path,
              double      amounts[2])
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return FALSE;
  return sscanf (text, "%lf %lf", &amounts[0], &amounts[1]) > 0 && amounts[0] > 0;
}

/* What the file @modern of a cgroup of version 2 holds, or @old of the controller's own
 * hierarchy of version 1. */
static gboolean
read_limit (const char *root,
            pid_t       pid,
            const char *unit,
            const char *controller,
            const char *modern,
            const char *old,
            double      amounts[2])
{
  static const char * const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
  g_autofree char *cgroup = read_cgroup (root, pid, NULL);
  g_autofree char *path = NULL;

  for (gsize i = 0; cgroup != NULL && is_in_unit (cgroup, unit) && i < G_N_ELEMENTS (places); i++)
    {
      g_autofree char *name = g_strconcat (root, places[i], cgroup, "/", modern, NULL);

      if (read_amounts (name, amounts))
        return TRUE;
    }
  g_free (cgroup);
  cgroup = read_cgroup (root, pid, controller);
  if (cgroup == NULL || !is_in_unit (cgroup, unit))
    return FALSE;
  path = g_strconcat (root, "/sys/fs/cgroup/", controller, cgroup, "/", old, NULL);
  return read_amounts (path, amounts);
}

OwSandboxLimitKinds
ow_sandbox_limits_held (const OwSandboxLimits *self,
                        const char            *root,
                        pid_t                  pid,
                        const char            *unit)
{
  OwSandboxLimitKinds held = 0;
  double amounts[2] = { 0, 100000 };

  if (read_limit (root, pid, unit, "pids", "pids.max", "pids.max", amounts) &&
      amounts[0] <= OW_SANDBOX_MAX_TASKS)
    held |= OW_SANDBOX_LIMIT_TASKS;
  if (self->memory > 0 &&
      read_limit (root, pid, unit, "memory", "memory.max", "memory.limit_in_bytes", amounts) &&
      amounts[0] <= (double) self->memory * ROUNDED)
    held |= OW_SANDBOX_LIMIT_MEMORY;
  amounts[1] = 100000;
  if (self->cpu > 0 &&
      read_limit (root, pid, unit, "cpu", "cpu.max", "cpu.cfs_quota_us", amounts) &&
      amounts[1] > 0 && amounts[0] / amounts[1] <= self->cpu * ROUNDED)
    held |= OW_SANDBOX_LIMIT_CPU;
  return held;
}

/* --- the processes --- */

static gboolean
limit_both (const pid_t         pids[2],
            __rlimit_resource_t resource,
            rlim_t              value)
{
  const struct rlimit limit = { value, value };

  return prlimit (pids[0], resource, &limit, NULL) == 0 &&
         prlimit (pids[1], resource, &limit, NULL) == 0;
}

/* Older kernels count all processes of the account, wherever they are, and those of uid 0 never. */
guint
ow_sandbox_limits_max_processes (uid_t uid)
{
  struct utsname name;
  int major = 0;
  int minor = 0;

  if (uid == 0 || uname (&name) != 0 || sscanf (name.release, "%d.%d", &major, &minor) != 2 ||
      major < 5 || (major == 5 && minor < 14))
    return 0;
  return OW_SANDBOX_MAX_TASKS;
}

/* Where cores go to a program of the machine's a limit of none does not stop them, but one of a
 * single byte does (core(5), "RLIMIT_CORE is set to 1"), and it is too small for a file. */
static void
limit_cores (const pid_t pids[2])
{
  if (!limit_both (pids, RLIMIT_CORE, 1))
    limit_both (pids, RLIMIT_CORE, 0);
}

/* --- applying --- */

static void
take_held (Apply              *apply,
           OwSandboxLimitKinds held,
           const char         *why)
{
  gboolean cpu = apply->limits.cpu <= 0 || (held & OW_SANDBOX_LIMIT_CPU) != 0;
  gboolean memory = apply->limits.memory == 0 || (held & OW_SANDBOX_LIMIT_MEMORY) != 0;
  const char *each = NULL;

  if (!memory)
    each = limit_both (apply->pids, RLIMIT_DATA, apply->limits.memory)
             ? "memory is limited for each process by itself only" : "memory is not limited";
  if (cpu && memory)
    return;
  apply->notice = g_strdup_printf ("The limits of this machine's settings do not hold for this "
                                   "session as they stand: %s%s%s, because %s. " NEXT,
                                   cpu ? "" : "processors are not limited",
                                   !cpu && each != NULL ? " and " : "", each != NULL ? each : "",
                                   why);
}

static void
on_placed (GObject      *object,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Apply *apply = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;

  if (ow_scope_place_finish (result, &error))
    take_held (apply, ow_sandbox_limits_held (&apply->limits, "", apply->pids[0], apply->unit) &
               ow_sandbox_limits_held (&apply->limits, "", apply->pids[1], apply->unit),
               "the service manager may not limit them here");
  else
    take_held (apply, 0, error->message);
  g_task_return_boolean (task, TRUE);
}

void
ow_sandbox_limits_apply_async (const OwSandboxLimits *self,
                               const char            *id,
                               const pid_t            pids[2],
                               uid_t                  uid,
                               GCancellable          *cancellable,
                               GAsyncReadyCallback    callback,
                               gpointer               user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_autofree char *description = g_strdup_printf ("OpenWorker sandbox %s", id);
  Apply *apply = g_new0 (Apply, 1);
  OwScopeOptions options = {
    .description = description, .pids = pids, .n_pids = 2,
    .cpu = self->cpu, .memory = self->memory, .tasks = OW_SANDBOX_MAX_TASKS,
  };

  apply->limits = *self;
  apply->unit = g_strdup_printf ("openworker-%s.scope", id);
  apply->pids[0] = pids[0];
  apply->pids[1] = pids[1];
  options.unit = apply->unit;
  g_task_set_source_tag (task, ow_sandbox_limits_apply_async);
  g_task_set_task_data (task, apply, apply_free);
  limit_cores (pids);
  if (ow_sandbox_limits_max_processes (uid) > 0 && self->cpu <= 0 && self->memory == 0)
    {
      g_task_return_boolean (task, TRUE);
      return;
    }
  ow_scope_place_async (&options, cancellable, on_placed, g_object_ref (task));
}

gboolean
ow_sandbox_limits_apply_finish (GAsyncResult *result,
                                char        **notice,
                                GError      **error)
{
  g_return_val_if_fail (g_task_is_valid (result, NULL), FALSE);

  if (!g_task_propagate_boolean (G_TASK (result), error))
    return FALSE;
  *notice = g_strdup (((Apply *) g_task_get_task_data (G_TASK (result)))->notice);
  return TRUE;
}
