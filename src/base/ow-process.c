/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ow-error.h"

/* Linux 6.9; EINVAL before. */
#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1u << 2)
#endif

struct _OwProcess{
  GObject parent_instance;

  GSubprocess *subprocess;  /* (owned) */
  GPid         pid;
  int          pidfd;       /* -1: the kernel gave none, or the child ended before */
};

G_DEFINE_FINAL_TYPE (OwProcess, ow_process, G_TYPE_OBJECT)

typedef struct {
  int                  pid_fd;
  pid_t                parent;  /* 0: the child may outlive it */
  GSpawnChildSetupFunc func;
  gpointer             data;
} ChildSetup;

/* GSubprocess reaps on a thread of its own, so a pid can be free before we hear of
 * its end. A number that is still the id of a group is not given out again; one that
 * is a process although our child was reaped is somebody else's. */
static void
signal_group (OwProcess *self,
              int        signum)
{
  if (self->pid <= 1)
    return;

  if (self->pidfd >= 0 &&
      (syscall (SYS_pidfd_send_signal, self->pidfd, signum, NULL,
                PIDFD_SIGNAL_PROCESS_GROUP) == 0 || errno == ESRCH))
    return;

  if (g_subprocess_get_identifier (self->subprocess) == NULL &&
      (kill (self->pid, 0) == 0 || errno != ESRCH))
    return;

  kill (-self->pid, signum);
}

static void
ow_process_dispose (GObject *object)
{
  OwProcess *self = OW_PROCESS (object);

  if (self->subprocess != NULL)
    signal_group (self, SIGKILL);
  g_clear_object (&self->subprocess);
  if (self->pidfd >= 0)
    close (g_steal_fd (&self->pidfd));

  G_OBJECT_CLASS (ow_process_parent_class)->dispose (object);
}

static void
ow_process_class_init (OwProcessClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_process_dispose;
}

static void
ow_process_init (OwProcess *self)
{
  self->pidfd = -1;
}

/* More than a hundred sessions need, and no number that a loop over all of them takes long for. */
#define MOST_FILES 65536

/* What the program was started with, once it raised its own. */
static struct rlimit started_with;
static gboolean has_raised;

void
ow_process_raise_files (void)
{
  struct rlimit limit;

  if (has_raised || getrlimit (RLIMIT_NOFILE, &limit) < 0)
    return;
  started_with = limit;
  limit.rlim_cur = MAX (limit.rlim_cur, MIN (limit.rlim_max, MOST_FILES));
  has_raised = setrlimit (RLIMIT_NOFILE, &limit) == 0;
}

/* Between fork and exec: async-signal-safe calls only. */
static void
set_up_child (gpointer user_data)
{
  const ChildSetup *setup = user_data;
  pid_t pid = getpid ();
  sigset_t none;

  if (setsid () < 0)
    _exit (127);
  /* Ignored signals and the mask would be inherited. */
  for (int signum = 1; signum < NSIG; signum++)
    if (signum != SIGKILL && signum != SIGSTOP)
      signal (signum, SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  if (has_raised)
    setrlimit (RLIMIT_NOFILE, &started_with);

  /* Of a parent that is gone already no end is told. */
  if (setup->parent != 0 && (prctl (PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid () != setup->parent))
    _exit (127);
  if (write (setup->pid_fd, &pid, sizeof pid) != (ssize_t) sizeof pid)
    _exit (127);
  if (setup->func != NULL)
    setup->func (setup->data);
}

static char **
build_environment (const OwProcessOptions *options)
{
  char **envp;

  if (options->envp != NULL)
    envp = g_strdupv ((char **) options->envp);
  else
    envp = g_environ_setenv (NULL, "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", TRUE);

  return g_environ_setenv (envp, "LC_ALL", "C.UTF-8", TRUE);
}

static gboolean
hands_fd (const OwProcessOptions *options,
          int                     target)
{
  for (guint i = 0; i < options->n_fds; i++)
    if (options->target_fds[i] == target)
      return TRUE;
  return FALSE;
}

static GSubprocessFlags
get_flags (const OwProcessOptions *options)
{
  GSubprocessFlags flags = G_SUBPROCESS_FLAGS_NONE;

  if (options->stdin_pipe && !hands_fd (options, STDIN_FILENO))
    flags |= G_SUBPROCESS_FLAGS_STDIN_PIPE;

  if (!hands_fd (options, STDOUT_FILENO))
    flags |= options->stdout_pipe ? G_SUBPROCESS_FLAGS_STDOUT_PIPE
                                  : G_SUBPROCESS_FLAGS_STDOUT_SILENCE;

  if (!hands_fd (options, STDERR_FILENO))
    {
      if (options->stderr_pipe)
        flags |= G_SUBPROCESS_FLAGS_STDERR_PIPE;
      else if (!options->inherit_stderr)
        flags |= G_SUBPROCESS_FLAGS_STDERR_SILENCE;
    }

  return flags;
}

/* The launcher closes what it takes, so it gets duplicates. */
static gboolean
hand_fds (GSubprocessLauncher    *launcher,
          const OwProcessOptions *options,
          GError                **error)
{
  for (guint i = 0; i < options->n_fds; i++)
    {
      int fd = fcntl (options->fds[i], F_DUPFD_CLOEXEC, 3);

      if (fd < 0)
        {
          ow_error_setf (error, OW_ERROR_FAILED, NULL,
                         "Cannot start %s: descriptor %d cannot be handed on: %s",
                         options->argv[0], options->fds[i], g_strerror (errno));
          return FALSE;
        }

      switch (options->target_fds[i])
        {
        case STDIN_FILENO:
          g_subprocess_launcher_take_stdin_fd (launcher, fd);
          break;
        case STDOUT_FILENO:
          g_subprocess_launcher_take_stdout_fd (launcher, fd);
          break;
        case STDERR_FILENO:
          g_subprocess_launcher_take_stderr_fd (launcher, fd);
          break;
        default:
          g_subprocess_launcher_take_fd (launcher, fd, options->target_fds[i]);
        }
    }

  return TRUE;
}

/* Where the child says its pid: a descriptor number that no target can be put over. */
static int
open_pid_pipe (const OwProcessOptions *options,
               int                    *read_fd)
{
  int pid_pipe[2], write_fd;
  int above = STDERR_FILENO;

  for (guint i = 0; i < options->n_fds; i++)
    above = MAX (above, options->target_fds[i]);

  if (pipe2 (pid_pipe, O_CLOEXEC) < 0)
    return -1;
  write_fd = fcntl (pid_pipe[1], F_DUPFD_CLOEXEC, above + 1);
  close (pid_pipe[1]);
  if (write_fd < 0)
    close (pid_pipe[0]);
  else
    *read_fd = pid_pipe[0];

  return write_fd;
}

static GSubprocess *
launch (const OwProcessOptions *options,
        ChildSetup             *setup,
        GError                **error)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (get_flags (options));
  g_autoptr (GError) reason = NULL;
  g_auto (GStrv) envp = build_environment (options);
  GSubprocess *subprocess;

  g_subprocess_launcher_set_environ (launcher, envp);
  g_subprocess_launcher_set_cwd (launcher, options->cwd != NULL ? options->cwd : "/");
  if (!hand_fds (launcher, options, error))
    return NULL;
  g_subprocess_launcher_set_child_setup (launcher, set_up_child, setup, NULL);

  subprocess = g_subprocess_launcher_spawnv (launcher, options->argv, &reason);
  if (subprocess == NULL)
    ow_error_setf (error, OW_ERROR_FAILED, NULL, "Cannot start %s: %s", options->argv[0],
                   reason->message);

  return subprocess;
}

/* Set in threads other than the first that live as long as what they start. */
static __thread gboolean thread_stays;

void
ow_process_set_thread_stays (void)
{
  thread_stays = TRUE;
}

static gboolean
check_options (const OwProcessOptions *options,
               GError                **error)
{
  if (options->argv == NULL || options->argv[0] == NULL ||
      !g_path_is_absolute (options->argv[0]))
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL, "Cannot start %s: not the full path of a program",
                     options->argv != NULL && options->argv[0] != NULL ? options->argv[0]
                                                                       : "(none)");
      return FALSE;
    }
  if (gettid () != getpid () && !thread_stays)
    {
      ow_error_setf (error, OW_ERROR_FAILED, NULL,
                     "Cannot start %s: the thread that asks for it may end before the program does",
                     options->argv[0]);
      return FALSE;
    }

  return TRUE;
}

OwProcess *
ow_process_spawn (const OwProcessOptions  *options,
                  GError                 **error)
{
  g_autoptr (GSubprocess) subprocess = NULL;
  ChildSetup setup = { -1, options->dies_with_us ? getpid () : 0, options->child_setup,
                       options->child_setup_data };
  OwProcess *self;
  int read_fd;
  pid_t pid = 0;

  if (!check_options (options, error))
    return NULL;

  /* A child that ends at once is reaped before its pid could be asked for, so it
   * says the number itself, before exec. */
  setup.pid_fd = open_pid_pipe (options, &read_fd);
  if (setup.pid_fd < 0)
    {
      ow_error_setf (error, OW_ERROR_FAILED, NULL, "Cannot start %s: %s", options->argv[0],
                     g_strerror (errno));
      return NULL;
    }
  subprocess = launch (options, &setup, error);
  close (setup.pid_fd);
  if (subprocess != NULL && read (read_fd, &pid, sizeof pid) != (ssize_t) sizeof pid)
    pid = 0;
  close (read_fd);
  if (subprocess == NULL)
    return NULL;

  self = g_object_new (OW_TYPE_PROCESS, NULL);
  self->subprocess = g_steal_pointer (&subprocess);
  self->pid = pid;
  self->pidfd = pid > 0 ? (int) syscall (SYS_pidfd_open, pid, 0) : -1;
  /* Reaped meanwhile: the descriptor may be of another process by now. */
  if (self->pidfd >= 0 && g_subprocess_get_identifier (self->subprocess) == NULL)
    close (g_steal_fd (&self->pidfd));

  return self;
}

GPid
ow_process_get_pid (OwProcess *self)
{
  g_return_val_if_fail (OW_IS_PROCESS (self), 0);

  return self->pid;
}

GOutputStream *
ow_process_get_stdin (OwProcess *self)
{
  g_return_val_if_fail (OW_IS_PROCESS (self), NULL);

  return g_subprocess_get_stdin_pipe (self->subprocess);
}

GInputStream *
ow_process_get_stdout (OwProcess *self)
{
  g_return_val_if_fail (OW_IS_PROCESS (self), NULL);

  return g_subprocess_get_stdout_pipe (self->subprocess);
}

GInputStream *
ow_process_get_stderr (OwProcess *self)
{
  g_return_val_if_fail (OW_IS_PROCESS (self), NULL);

  return g_subprocess_get_stderr_pipe (self->subprocess);
}

void
ow_process_signal (OwProcess *self,
                   int        signum)
{
  g_return_if_fail (OW_IS_PROCESS (self));

  signal_group (self, signum);
}

int
ow_process_get_status (OwProcess *self)
{
  g_return_val_if_fail (OW_IS_PROCESS (self), -1);

  if (g_subprocess_get_identifier (self->subprocess) != NULL)
    return -1;

  return g_subprocess_get_status (self->subprocess);
}

static void
on_waited (GObject      *object,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;

  if (g_subprocess_wait_finish (G_SUBPROCESS (object), result, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

void
ow_process_wait_async (OwProcess           *self,
                       GCancellable        *cancellable,
                       GAsyncReadyCallback  callback,
                       gpointer             user_data)
{
  GTask *task;

  g_return_if_fail (OW_IS_PROCESS (self));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_process_wait_async);
  g_subprocess_wait_async (self->subprocess, cancellable, on_waited, task);
}

gboolean
ow_process_wait_finish (OwProcess     *self,
                        GAsyncResult  *result,
                        GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

static gboolean
on_grace_over (gpointer user_data)
{
  signal_group (user_data, SIGKILL);
  return G_SOURCE_REMOVE;
}

static void
on_stopped (GObject      *object,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GSource *grace = g_task_get_task_data (task);

  if (grace != NULL)
    g_source_destroy (grace);
  /* What the child left behind in its group. */
  signal_group (g_task_get_source_object (task), SIGKILL);
  g_task_return_boolean (task, TRUE);
}

void
ow_process_stop_async (OwProcess           *self,
                       guint                grace_ms,
                       GAsyncReadyCallback  callback,
                       gpointer             user_data)
{
  GTask *task;

  g_return_if_fail (OW_IS_PROCESS (self));

  task = g_task_new (self, NULL, callback, user_data);
  g_task_set_source_tag (task, ow_process_stop_async);
  if (grace_ms > 0)
    {
      GSource *grace = g_timeout_source_new (grace_ms);

      g_source_set_callback (grace, on_grace_over, g_object_ref (self), g_object_unref);
      g_source_attach (grace, g_task_get_context (task));
      g_task_set_task_data (task, grace, (GDestroyNotify) g_source_unref);
      signal_group (self, SIGTERM);
      /* A stopped group would not see it. */
      signal_group (self, SIGCONT);
    }
  else
    {
      signal_group (self, SIGKILL);
    }
  g_subprocess_wait_async (self->subprocess, NULL, on_stopped, task);
}

gboolean
ow_process_stop_finish (OwProcess     *self,
                        GAsyncResult  *result,
                        GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}
