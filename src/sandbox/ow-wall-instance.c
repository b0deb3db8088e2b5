/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-wall-instance-private.h"

#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "ow-wall-hosts-private.h"

#define GRACE_MS   2000
/* How long the kernel may take to end what was killed: a thousand processes take seconds. */
#define GONE_MS    20000
#define DISPOSE_MS 500

struct _OwWallInstance {
  GObject parent_instance;

  OwReadyProcess *main_process; /* (owned) (nullable) NULL once stopped */
  OwReadyProcess *proxy;        /* (owned) (nullable) */
  OwWallHosts    *hosts;        /* (owned) (nullable) the proxy's */
  OwAttach       *attach;       /* (owned) */
  GPid            main_pid;
  int             inner_fd;     /* pidfd of the first process inside, -1: none */
  gboolean        over;
  char           *reason;       /* (owned) (nullable) */
};

static void ow_wall_instance_iface_init (OwSandboxInstanceInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwWallInstance, ow_wall_instance, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_SANDBOX_INSTANCE,
                                                      ow_wall_instance_iface_init))

/* The child of bwrap is the first process of the inside. All others there end with it,
 * and it is not gone before they are; bwrap itself can be gone long before. */
static int
open_inner (GPid main_pid)
{
  g_autofree char *name = g_strdup_printf ("/proc/%d/task/%d/children", main_pid, main_pid);
  g_autofree char *text = NULL;
  long pid;

  if (!g_file_get_contents (name, &text, NULL, NULL))
    return -1;
  pid = strtol (text, NULL, 10);
  return pid > 1 ? (int) syscall (SYS_pidfd_open, pid, 0) : -1;
}

static void
kill_inner (OwWallInstance *self)
{
  if (self->inner_fd >= 0)
    syscall (SYS_pidfd_send_signal, self->inner_fd, SIGKILL, NULL, 0);
}

static void
drop_children (OwWallInstance *self)
{
  if (self->main_process != NULL)
    g_signal_handlers_disconnect_by_data (self->main_process, self);
  if (self->proxy != NULL)
    g_signal_handlers_disconnect_by_data (self->proxy, self);
  g_clear_object (&self->main_process);
  g_clear_pointer (&self->hosts, ow_wall_hosts_free);
  g_clear_object (&self->proxy);
}

static gboolean
tell_end (gpointer user_data)
{
  OwWallInstance *self = user_data;

  g_signal_emit_by_name (self, "ended", self->reason);
  return G_SOURCE_REMOVE;
}

/* Told from an idle: an end right after the start is not told before whoever started
 * has had the instance and could listen. */
static void
on_ended (OwReadyProcess *process,
          const char     *reason,
          OwWallInstance *self)
{
  if (self->over)
    return;
  self->over = TRUE;
  self->reason = g_strdup (reason);
  kill_inner (self);
  drop_children (self);
  ow_source_idle (G_PRIORITY_DEFAULT_IDLE, tell_end, g_object_ref (self), g_object_unref);
}

/* What was counted is told while it is being stopped too: the last of it comes then. */
static void
on_line (OwReadyProcess *process,
         const char     *line,
         OwWallInstance *self)
{
  if (g_str_has_prefix (line, "{\"traffic\":"))
    g_signal_emit_by_name (self, "traffic", line);
  else if (!self->over && !ow_wall_hosts_take (self->hosts, line))
    g_signal_emit_by_name (self, "decision", line);
}

static void
ow_wall_instance_dispose (GObject *object)
{
  OwWallInstance *self = OW_WALL_INSTANCE (object);

  self->over = TRUE;
  kill_inner (self);
  drop_children (self);
  /* Dropped without a stop: its folders are removed next, so nothing may write there. The
   * wait is short, all of it has been killed. */
  if (self->inner_fd >= 0)
    {
      struct pollfd gone = { .fd = self->inner_fd, .events = POLLIN };

      poll (&gone, 1, DISPOSE_MS);
      close (g_steal_fd (&self->inner_fd));
    }
  G_OBJECT_CLASS (ow_wall_instance_parent_class)->dispose (object);
}

static void
ow_wall_instance_finalize (GObject *object)
{
  OwWallInstance *self = OW_WALL_INSTANCE (object);

  ow_attach_free (self->attach);
  g_free (self->reason);
  G_OBJECT_CLASS (ow_wall_instance_parent_class)->finalize (object);
}

static void
ow_wall_instance_class_init (OwWallInstanceClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_wall_instance_dispose;
  G_OBJECT_CLASS (klass)->finalize = ow_wall_instance_finalize;
}

static void
ow_wall_instance_init (OwWallInstance *self)
{
  self->inner_fd = -1;
}

static const OwAttach *
get_attach (OwSandboxInstance *instance)
{
  return OW_WALL_INSTANCE (instance)->attach;
}

static GPid
get_main_pid (OwSandboxInstance *instance)
{
  return OW_WALL_INSTANCE (instance)->main_pid;
}

static gboolean
is_inner_gone (OwWallInstance *self)
{
  struct pollfd gone = { .fd = self->inner_fd, .events = POLLIN };

  return self->inner_fd < 0 || poll (&gone, 1, 0) == 1;
}

/* @task is moved in. */
static void
finish_stop (GTask *moved)
{
  g_autoptr (GTask) task = moved;
  OwWallInstance *self = g_task_get_source_object (task);
  GError *error = NULL;

  drop_children (self);
  if (is_inner_gone (self))
    {
      g_task_return_boolean (task, TRUE);
      return;
    }
  ow_error_set (&error, OW_ERROR_FAILED, "The sandbox did not end",
                "a process in it is still there, although it was killed",
                "Its folders are removed by a later start");
  g_task_return_error (task, error);
}

static void
on_proxy_stopped (GObject      *object,
                  GAsyncResult *result,
                  gpointer      user_data)
{
  finish_stop (user_data);
}

static void
on_main_stopped (GObject      *object,
                 GAsyncResult *result,
                 gpointer      user_data)
{
  GTask *task = user_data;
  OwWallInstance *self = g_task_get_source_object (task);

  if (self->proxy != NULL)
    ow_process_stop_async (ow_ready_process_get_process (self->proxy), GRACE_MS,
                           on_proxy_stopped, task);
  else
    finish_stop (task);
}

static void
stop_main (GTask *task)
{
  OwWallInstance *self = g_task_get_source_object (task);

  /* Both are dropped where one of them ended by itself. */
  if (self->main_process != NULL)
    ow_process_stop_async (ow_ready_process_get_process (self->main_process), GRACE_MS,
                           on_main_stopped, task);
  else
    finish_stop (task);
}

/* Also after a time in which the kernel should have done it. */
static gboolean
on_inner_gone (int          fd,
               GIOCondition condition,
               gpointer     user_data)
{
  stop_main (user_data);
  return G_SOURCE_REMOVE;
}

static void
stop_async (OwSandboxInstance  *instance,
            GAsyncReadyCallback callback,
            gpointer            user_data)
{
  OwWallInstance *self = OW_WALL_INSTANCE (instance);
  GTask *task = g_task_new (self, NULL, callback, user_data);
  GSource *gone;

  g_task_set_source_tag (task, stop_async);
  self->over = TRUE;
  if (self->inner_fd < 0)
    {
      stop_main (task);
      return;
    }
  kill_inner (self);
  gone = g_unix_fd_source_new (self->inner_fd, G_IO_IN);
  g_source_set_ready_time (gone, g_get_monotonic_time () + GONE_MS * G_TIME_SPAN_MILLISECOND);
  g_source_set_callback (gone, G_SOURCE_FUNC (on_inner_gone), task, NULL);
  g_source_attach (gone, g_task_get_context (task));
  g_source_unref (gone);
}

static gboolean
stop_finish (OwSandboxInstance *instance,
             GAsyncResult      *result,
             GError           **error)
{
  g_return_val_if_fail (g_task_is_valid (result, instance), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

static gboolean
can_allow (OwSandboxInstance *instance)
{
  return OW_WALL_INSTANCE (instance)->hosts != NULL;
}

static void
allow_async (OwSandboxInstance  *instance,
             const OwHost       *host,
             GCancellable       *cancellable,
             GAsyncReadyCallback callback,
             gpointer            user_data)
{
  OwWallInstance *self = OW_WALL_INSTANCE (instance);
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, allow_async);
  ow_wall_hosts_allow (self->hosts, host, task);
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
ow_wall_instance_iface_init (OwSandboxInstanceInterface *iface)
{
  iface->can_allow = can_allow;
  iface->allow_async = allow_async;
  iface->allow_finish = allow_finish;
  iface->get_attach = get_attach;
  iface->get_main_pid = get_main_pid;
  iface->stop_async = stop_async;
  iface->stop_finish = stop_finish;
}

OwWallInstance *
ow_wall_instance_new (const OwSandboxPlan *plan,
                      OwReadyProcess      *main_process,
                      OwReadyProcess      *proxy)
{
  OwWallInstance *self = g_object_new (OW_TYPE_WALL_INSTANCE, NULL);

  self->main_process = main_process;
  self->proxy = proxy;
  self->main_pid = ow_process_get_pid (ow_ready_process_get_process (main_process));
  if (proxy != NULL)
    self->inner_fd = open_inner (self->main_pid);
  self->attach = g_new0 (OwAttach, 1);
  self->attach->argv = g_new0 (char *, 5);
  self->attach->argv[0] = g_strdup (plan->runner);
  self->attach->argv[1] = g_strdup ("attach");
  self->attach->argv[2] = g_strdup ("--socket");
  self->attach->argv[3] = g_build_filename (plan->run_dir, "runner.sock", NULL);
  g_signal_connect (main_process, "ended", G_CALLBACK (on_ended), self);
  if (proxy != NULL)
    {
      g_signal_connect (proxy, "ended", G_CALLBACK (on_ended), self);
      g_signal_connect (proxy, "line", G_CALLBACK (on_line), self);
      self->hosts = ow_wall_hosts_new (proxy, plan->hosts);
    }
  if (ow_ready_process_is_over (main_process))
    on_ended (main_process, "it ended right after its start", self);
  else if (proxy != NULL && ow_ready_process_is_over (proxy))
    on_ended (proxy, "its network proxy has ended", self);
  return self;
}
