/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-bubblewrap-provider-private.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-owner.h"
#include "base/ow-paths.h"
#include "base/ow-state.h"
#include "base/ow-text.h"
#include "ow-bubblewrap-args-private.h"
#include "ow-bubblewrap-explain-private.h"
#include "ow-bubblewrap-hold-private.h"
#include "ow-bubblewrap-prepare-private.h"
#include "ow-host-line-private.h"
#include "ow-landlock-check-private.h"
#include "ow-ready-process-private.h"
#include "ow-sandbox-limits-private.h"
#include "ow-wall-instance-private.h"
#include "sandbox/ow-registry.h"

#define TRIAL_MS   20000
#define READY_MS   30000
#define OUTPUT_CAP 16384

#define REFUSED "Sessions on this machine are refused"

struct _OwBubblewrapProvider {
  GObject parent_instance;

  char *program; /* (owned) */
};

static void ow_bubblewrap_provider_iface_init (OwSandboxProviderInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwBubblewrapProvider, ow_bubblewrap_provider, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_SANDBOX_PROVIDER,
                                                      ow_bubblewrap_provider_iface_init))

/* Can a sandbox forbid itself further user namespaces here? Does not change while the
 * machine is up. */
static enum { USERNS_UNKNOWN, USERNS_FORBIDDEN, USERNS_BY_FILTER } userns_state;

/* One check or start under way. */
typedef struct {
  OwSandboxPlan      *plan;   /* (nullable) NULL: a check */
  OwBubblewrapLaunch *launch; /* (owned) of the child that is being started */
  OwSandboxLimits     limits;
  OwBubblewrapHold   *hold;   /* (owned) (nullable) of the inside, until its limits hold */
  GCancellable       *stop;   /* (owned) of what is done meanwhile */
  gboolean            over;   /* ready, or failed: @plan may be gone */
  gboolean            disable_userns;
  OwReadyProcess     *proxy;  /* (owned) (nullable) */
  OwReadyProcess     *serve;  /* (owned) (nullable) */
  GBytes             *hosts;  /* (owned) (nullable) the proxy's list on its way */
} Raise;

static void
raise_free (Raise *raise)
{
  g_clear_object (&raise->serve);
  g_clear_object (&raise->proxy);
  g_clear_pointer (&raise->launch, ow_bubblewrap_launch_free);
  g_clear_pointer (&raise->hosts, g_bytes_unref);
  g_clear_pointer (&raise->hold, ow_bubblewrap_hold_free);
  g_clear_object (&raise->stop);
  g_free (raise);
}

static void
fail_task (GTask  *task,
           GError *error)
{
  g_task_return_error (task, error);
  g_object_unref (task);
}

static gboolean
check_program (const char *path,
               const char *next,
               GError    **error)
{
  struct stat st;

  if (stat (path, &st) == 0 && S_ISREG (st.st_mode) && access (path, X_OK) == 0)
    return TRUE;
  ow_error_setf (error, OW_ERROR_REFUSED, next, REFUSED ": %s is not there or cannot be run", path);
  return FALSE;
}

static gboolean
check_machine (OwBubblewrapProvider *self,
               const OwSandboxPlan  *plan,
               GError              **error)
{
  g_autofree char *runner = plan != NULL ? g_strdup (plan->runner)
                                         : ow_paths_get_libexec ("openworker-runner");
  g_autofree char *proxy = plan != NULL ? g_strdup (plan->proxy)
                                        : ow_paths_get_libexec ("openworker-proxy");

  return ow_landlock_check (error) > 0 &&
         check_program (self->program, "Run: sudo apt install bubblewrap", error) &&
         check_program (runner, "Install OpenWorker again.", error) &&
         check_program (proxy, "Install OpenWorker again.", error);
}

/* Whom bwrap runs as. */
static uid_t
get_uid (const Raise *raise)
{
  return raise->plan != NULL ? raise->plan->uid : geteuid ();
}

static char **
prepare (OwBubblewrapProvider *self,
         Raise                *raise,
         OwBubblewrapHold     *hold,
         GError              **error)
{
  g_clear_pointer (&raise->launch, ow_bubblewrap_launch_free);
  return ow_bubblewrap_prepare (self->program, raise->plan, hold, raise->disable_userns,
                                &raise->launch, error);
}

/* The environment of bwrap and the proxy themselves; by the mark a leftover is found. */
static char **
make_environment (const OwSandboxPlan *plan)
{
  char **envp = g_environ_setenv (NULL, "PATH", "/usr/bin:/bin", TRUE);

  if (plan != NULL)
    envp = g_environ_setenv (envp, "OPENWORKER_SANDBOX", plan->id, TRUE);
  return envp;
}

/* Whatever a program of the wall fails at, the wall cannot be used. Only what has been
 * refused with a reason of its own and a person's stop are said as they are. Takes @reason. */
static void
refuse_start (GTask  *task,
              GError *reason)
{
  GError *error = NULL;

  if (g_error_matches (reason, OW_ERROR, OW_ERROR_INTERRUPTED) ||
      g_error_matches (reason, OW_ERROR, OW_ERROR_REFUSED) ||
      g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    {
      fail_task (task, reason);
      return;
    }
  ow_error_setf (&error, OW_ERROR_REFUSED, "Install OpenWorker again if this stays.",
                 REFUSED ": %s", reason->message);
  g_error_free (reason);
  fail_task (task, error);
}

static void run_trial (GTask *task);
static void start_proxy (GTask *task);

/* TRUE when the next trial, without --disable-userns, was begun. */
static gboolean
take_trial (GTask           *task,
            OwProcessResult *result)
{
  Raise *raise = g_task_get_task_data (task);
  OwBubblewrapFacts facts;
  g_autofree char *text = NULL;
  g_autofree char *shown = NULL;
  GError *error = NULL;

  if (WIFEXITED (result->status) && WEXITSTATUS (result->status) == 0)
    {
      userns_state = raise->disable_userns ? USERNS_FORBIDDEN : USERNS_BY_FILTER;
      return FALSE;
    }
  if (raise->disable_userns)
    {
      raise->disable_userns = FALSE;
      run_trial (task);
      return TRUE;
    }
  text = ow_text_from_bytes (g_bytes_get_data (result->error_output, NULL),
                             (gssize) g_bytes_get_size (result->error_output));
  shown = ow_text_visible (text);
  ow_bubblewrap_explain_read (&facts, get_uid (raise));
  ow_bubblewrap_explain (&facts, g_strstrip (shown), &error);
  refuse_start (task, error);
  return TRUE;
}

static void
on_trial (GObject      *object,
          GAsyncResult *async_result,
          gpointer      user_data)
{
  GTask *task = user_data;
  Raise *raise = g_task_get_task_data (task);
  GError *error = NULL;
  g_autoptr (OwProcessResult) result = ow_process_run_finish (async_result, &error);

  if (result == NULL)
    {
      refuse_start (task, error);
      return;
    }
  if (take_trial (task, result))
    return;
  if (raise->plan != NULL)
    {
      start_proxy (task);
      return;
    }
  g_task_return_boolean (task, TRUE);
  g_object_unref (task);
}

static void
run_trial (GTask *task)
{
  OwBubblewrapProvider *self = g_task_get_source_object (task);
  Raise *raise = g_task_get_task_data (task);
  GError *error = NULL;
  g_auto (GStrv) argv = prepare (self, raise, NULL, &error);
  g_auto (GStrv) envp = make_environment (raise->plan);
  OwProcessOptions options = {
    .argv = (const char * const *) argv, .envp = (const char * const *) envp,
    .stdout_pipe = TRUE, .stderr_pipe = TRUE,
  };

  if (argv == NULL)
    {
      refuse_start (task, error);
      return;
    }
  ow_bubblewrap_launch_apply (raise->launch, &options);
  ow_process_run_async (&options, TRIAL_MS, OUTPUT_CAP, g_task_get_cancellable (task), on_trial,
                        task);
}

static void
on_serve_ready (GObject      *object,
                GAsyncResult *result,
                gpointer      user_data)
{
  GTask *task = user_data;
  Raise *raise = g_task_get_task_data (task);
  g_autofree char *text = NULL;
  g_autoptr (GError) reason = NULL;
  GError *error = NULL;

  raise->over = TRUE;
  g_cancellable_cancel (raise->stop);
  if (ow_ready_process_wait_finish (OW_READY_PROCESS (object), result, &reason))
    {
      g_task_return_pointer (task,
                             ow_wall_instance_new (raise->plan, g_steal_pointer (&raise->serve),
                                                   g_steal_pointer (&raise->proxy)),
                             g_object_unref);
      g_object_unref (task);
      return;
    }
  text = ow_ready_process_get_errors (OW_READY_PROCESS (object));
  if (g_error_matches (reason, OW_ERROR, OW_ERROR_FAILED) &&
      (g_str_has_prefix (text, "bwrap:") ||
       g_str_has_prefix (text, OW_BUBBLEWRAP_LAUNCH_FAULT)))
    {
      OwBubblewrapFacts facts;

      ow_bubblewrap_explain_read (&facts, get_uid (raise));
      ow_bubblewrap_explain (&facts, text, &error);
      refuse_start (task, error);
      return;
    }
  refuse_start (task, g_steal_pointer (&reason));
}

/* What cannot be limited is said, and no reason to stay held; the end of the start is. */
static void
on_limited (GObject      *object,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Raise *raise = g_task_get_task_data (task);
  g_autofree char *notice = NULL;

  if (!ow_sandbox_limits_apply_finish (result, &notice, NULL) || raise->over)
    return;
  raise->plan->notice = g_steal_pointer (&notice);
  ow_bubblewrap_hold_release (raise->hold);
}

/* Without the inside's number it is not let go, and never gets ready. */
static void
on_held (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Raise *raise = g_task_get_task_data (task);
  pid_t pids[2] = { -1, ow_bubblewrap_hold_wait_finish (result, NULL) };

  if (pids[1] < 0 || raise->over)
    return;
  pids[0] = ow_process_get_pid (ow_ready_process_get_process (raise->serve));
  ow_sandbox_limits_apply_async (&raise->limits, raise->plan->id, pids, raise->plan->uid,
                                 raise->stop, on_limited, g_object_ref (task));
}

static gboolean
record_serve (const OwSandboxPlan *plan,
              OwProcess           *process,
              GError             **error)
{
  OwRegistryEntry entry = {
    .id = plan->id, .session = plan->session, .provider = (char *) "bubblewrap",
    .home = plan->home, .run_dir = plan->run_dir, .main_pid = ow_process_get_pid (process),
  };

  entry.main_start = ow_owner_process_start (entry.main_pid);
  return ow_registry_put (&entry, error);
}

static void
start_serve (GTask *task)
{
  OwBubblewrapProvider *self = g_task_get_source_object (task);
  Raise *raise = g_task_get_task_data (task);
  GError *error = NULL;
  g_auto (GStrv) argv = NULL;
  g_auto (GStrv) envp = make_environment (raise->plan);
  OwProcessOptions options = {
    .envp = (const char * const *) envp, .stdout_pipe = TRUE, .stderr_pipe = TRUE,
  };
  OwProcess *process;

  raise->hold = ow_bubblewrap_hold_new (&error);
  argv = raise->hold != NULL ? prepare (self, raise, raise->hold, &error) : NULL;
  if (argv == NULL)
    {
      refuse_start (task, error);
      return;
    }
  options.argv = (const char * const *) argv;
  ow_bubblewrap_launch_apply (raise->launch, &options);
  process = ow_process_spawn (&options, &error);
  ow_bubblewrap_hold_started (raise->hold);
  /* With its copies of bwrap's ends. */
  g_clear_pointer (&raise->launch, ow_bubblewrap_launch_free);
  if (process == NULL)
    {
      refuse_start (task, error);
      return;
    }
  raise->serve = ow_ready_process_new (process, "openworker-runner");
  if (!record_serve (raise->plan, process, &error))
    {
      refuse_start (task, error);
      return;
    }
  ow_state_reach ("bwrap-started");
  ow_ready_process_wait_async (raise->serve, READY_MS, g_task_get_cancellable (task),
                               on_serve_ready, task);
  ow_bubblewrap_hold_wait_async (raise->hold, raise->stop, on_held, g_object_ref (task));
}

static void
on_proxy_ready (GObject      *object,
                GAsyncResult *result,
                gpointer      user_data)
{
  GTask *task = user_data;
  GError *error = NULL;

  if (!ow_ready_process_wait_finish (OW_READY_PROCESS (object), result, &error))
    {
      refuse_start (task, error);
      return;
    }
  ow_state_reach ("proxy-started");
  start_serve (task);
}

/* A list that cannot be written means a proxy that never says "ready". */
static void
on_hosts_written (GObject      *object,
                  GAsyncResult *result,
                  gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;

  g_output_stream_write_all_finish (G_OUTPUT_STREAM (object), result, NULL, NULL);
}

static OwProcess *
spawn_proxy (Raise   *raise,
             GError **error)
{
  const OwSandboxPlan *plan = raise->plan;
  g_autoptr (OwBubblewrapLaunch) launch = ow_bubblewrap_launch_new (plan->uid, plan->gid);
  g_autofree char *program = ow_bubblewrap_launch_reach_path (launch, plan->proxy, error);
  g_autofree char *dir = program != NULL
                           ? ow_bubblewrap_launch_reach_path (launch, plan->run_dir, error) : NULL;
  g_autofree char *socket = dir != NULL ? g_build_filename (dir, "proxy.sock", NULL) : NULL;
  const char *argv[] = { program, "--socket", socket, NULL };
  g_auto (GStrv) envp = make_environment (plan);
  OwProcessOptions options = {
    .argv = argv, .envp = (const char * const *) envp, .stdin_pipe = TRUE, .stdout_pipe = TRUE,
    .stderr_pipe = TRUE,
  };

  if (socket == NULL)
    return NULL;
  ow_bubblewrap_launch_apply (launch, &options);
  return ow_process_spawn (&options, error);
}

static void
start_proxy (GTask *task)
{
  Raise *raise = g_task_get_task_data (task);
  GError *error = NULL;
  OwProcess *process = spawn_proxy (raise, &error);

  if (process == NULL)
    {
      refuse_start (task, error);
      return;
    }
  raise->proxy = ow_ready_process_new (process, "openworker-proxy");
  raise->hosts = ow_host_line_new (raise->plan->hosts);
  g_output_stream_write_all_async (ow_process_get_stdin (process),
                                   g_bytes_get_data (raise->hosts, NULL),
                                   g_bytes_get_size (raise->hosts), G_PRIORITY_DEFAULT, NULL,
                                   on_hosts_written, g_object_ref (task));
  ow_ready_process_wait_async (raise->proxy, READY_MS, g_task_get_cancellable (task),
                               on_proxy_ready, task);
}

static GTask *
begin (OwBubblewrapProvider *self,
       OwSandboxPlan        *plan,
       gpointer              tag,
       GCancellable         *cancellable,
       GAsyncReadyCallback   callback,
       gpointer              user_data)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);
  Raise *raise = g_new0 (Raise, 1);

  raise->plan = plan;
  raise->stop = g_cancellable_new ();
  raise->disable_userns = userns_state != USERNS_BY_FILTER;
  g_task_set_source_tag (task, tag);
  g_task_set_task_data (task, raise, (GDestroyNotify) raise_free);
  return task;
}

static void
check_async (OwSandboxProvider  *provider,
             GCancellable       *cancellable,
             GAsyncReadyCallback callback,
             gpointer            user_data)
{
  OwBubblewrapProvider *self = OW_BUBBLEWRAP_PROVIDER (provider);
  GTask *task = begin (self, NULL, check_async, cancellable, callback, user_data);
  GError *error = NULL;

  if (check_machine (self, NULL, &error))
    run_trial (task);
  else
    refuse_start (task, error);
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
start_async (OwSandboxProvider  *provider,
             OwSandboxPlan      *plan,
             GCancellable       *cancellable,
             GAsyncReadyCallback callback,
             gpointer            user_data)
{
  OwBubblewrapProvider *self = OW_BUBBLEWRAP_PROVIDER (provider);
  GTask *task = begin (self, plan, start_async, cancellable, callback, user_data);
  GError *error = NULL;

  if (!check_machine (self, plan, &error) ||
      !ow_sandbox_limits_read (&((Raise *) g_task_get_task_data (task))->limits, &error))
    refuse_start (task, error);
  else if (userns_state == USERNS_UNKNOWN)
    run_trial (task);
  else
    start_proxy (task);
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
  return OW_LEVEL_BUBBLEWRAP;
}

static void
ow_bubblewrap_provider_iface_init (OwSandboxProviderInterface *iface)
{
  iface->get_level = get_level;
  iface->check_async = check_async;
  iface->check_finish = check_finish;
  iface->start_async = start_async;
  iface->start_finish = start_finish;
}

static void
ow_bubblewrap_provider_finalize (GObject *object)
{
  g_free (OW_BUBBLEWRAP_PROVIDER (object)->program);
  G_OBJECT_CLASS (ow_bubblewrap_provider_parent_class)->finalize (object);
}

static void
ow_bubblewrap_provider_class_init (OwBubblewrapProviderClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_bubblewrap_provider_finalize;
}

static void
ow_bubblewrap_provider_init (OwBubblewrapProvider *self)
{
}

OwBubblewrapProvider *
ow_bubblewrap_provider_new (void)
{
  return ow_bubblewrap_provider_new_with (OW_BUBBLEWRAP_PROGRAM);
}

OwBubblewrapProvider *
ow_bubblewrap_provider_new_with (const char *program)
{
  OwBubblewrapProvider *self = g_object_new (OW_TYPE_BUBBLEWRAP_PROVIDER, NULL);

  self->program = g_strdup (program);
  return self;
}
