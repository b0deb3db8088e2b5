/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-background-task-private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "ow-runner-inner-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-report-private.h"
#include "ow-runner-scratch-private.h"
#include "ow-runner-shell-script-private.h"

#define GRACE_MS     3000
/* How often it is looked whether what is to end has ended. */
#define LOOK_MS      50
/* For this long what a dead task wrote last may still be on its way through its terminal. */
#define TERMINAL_MS  100
/* Looks after which what cannot be killed is left alone. */
#define KILL_MAX_MS  5000
#define OTHERS_MAX   32u
/* One argument holds 128 KiB. */
#define ARGUMENT_MAX (64u * 1024u)
#define EXPORTED_MAX (1024u * 1024u)
#define LINES        40
#define COLUMNS      120

/* --- what is the task's --- */

typedef struct {
  OwRunnerProcess *list; /* (owned) (nullable) */
  size_t           n;
  bool             reused; /* the pid of its bash is another process's by now */
} Snapshot;

static Snapshot
make_snapshot (const OwRunnerBackgroundTask *self,
               OwRunnerProcess              *list,
               size_t                        n)
{
  Snapshot all = { .list = list, .n = n };

  for (size_t i = 0; i < n; i++)
    all.reused = all.reused || (self->gone && list[i].pid == self->pid);
  return all;
}

static Snapshot
take_snapshot (const OwRunnerBackgroundTask *self)
{
  size_t n;
  OwRunnerProcess *list = ow_runner_process_list (&n);

  return make_snapshot (self, list, n);
}

static bool
has_mark (const OwRunnerBackgroundTask *self,
          pid_t                         pid)
{
  char mark[OW_RUNNER_PROCESS_MARK_MAX];

  return ow_runner_process_read_mark (pid, mark) && strcmp (mark, self->id) == 0;
}

/* Goes up from list[at]. Whoever has lost its parent is the runner's child, and known by the
 * mark that it was started with. */
static bool
is_own (const OwRunnerBackgroundTask *self,
        const Snapshot               *all,
        size_t                        at)
{
  pid_t runner = getpid ();

  for (int depth = 0; depth < 256; depth++)
    {
      const OwRunnerProcess *process = &all->list[at];
      size_t i;

      if (!all->reused && (process->session == self->pid || process->pid == self->pid))
        return true;
      if (process->parent == runner)
        return !ow_runner_children_is_ours (self->runner->children, process->pid)
               && has_mark (self, process->pid);
      for (i = 0; i < all->n && all->list[i].pid != process->parent; i++)
        ;
      if (i == all->n || process->parent <= 1)
        return false;
      at = i;
    }
  return false;
}

/* Sends @number to all of it but its bash and, where it has one, @group. Returns how many
 * there were beside its bash. */
static size_t
signal_all (const OwRunnerBackgroundTask *self,
            int                           number,
            pid_t                         group)
{
  Snapshot all = take_snapshot (self);
  size_t n = 0;

  for (size_t i = 0; i < all.n; i++)
    {
      if (all.list[i].pid == self->pid || !is_own (self, &all, i))
        continue;
      n++;
      if (number != 0 && (group == 0 || getpgid (all.list[i].pid) != group))
        kill (all.list[i].pid, number);
    }
  free (all.list);
  return n;
}

json_t *
ow_runner_background_task_others (const OwRunnerBackgroundTask *self,
                                  OwRunnerProcess              *list,
                                  size_t                        n)
{
  Snapshot all = make_snapshot (self, list, n);
  json_t *array = json_array ();

  for (size_t i = 0; i < all.n && json_array_size (array) < OTHERS_MAX; i++)
    {
      if ((all.list[i].pid != self->pid || all.reused) && is_own (self, &all, i))
        json_array_append_new (array, ow_runner_report_process (&all.list[i]));
    }
  return array;
}

/* --- its end --- */

static void
end (OwRunnerBackgroundTask *self)
{
  ow_runner_background_output_catch_up (self->output);
  self->ended = true;
  self->changed (self, self->user_data);
}

static void
finish_stop (OwRunnerBackgroundTask *self)
{
  self->stopping = false;
  self->changed (self, self->user_data);
}

static void look (void *user_data);

static void
look_again (OwRunnerBackgroundTask *self,
            int64_t                 after_ms)
{
  self->timer.func = look;
  ow_runner_loop_start_timer (self->runner->loop, &self->timer, after_ms);
}

/* The bash first, or it goes on to its next command when it loses one. */
static void
kill_all (OwRunnerBackgroundTask *self)
{
  if (!self->gone)
    kill (self->pid, SIGKILL);
  for (int round = 0; round < 50 && signal_all (self, SIGKILL, 0) > 0; round++)
    usleep (500);
}

/* Once something is to end: whether it has. */
static void
look (void *user_data)
{
  OwRunnerBackgroundTask *self = user_data;
  int64_t now = ow_runner_loop_now ();
  size_t left;

  if (self->gone && !self->ended)
    end (self);
  if (!self->stopping)
    return;
  if (now >= self->stop_by)
    kill_all (self);
  left = self->gone ? signal_all (self, self->asked_again ? 0 : SIGTERM, 0) : 1;
  self->asked_again = self->asked_again || self->gone;
  if ((left == 0 && self->ended) || now >= self->stop_by + KILL_MAX_MS)
    finish_stop (self);
  else
    look_again (self, LOOK_MS);
}

static void
on_ended (int   status,
          void *user_data)
{
  OwRunnerBackgroundTask *self = user_data;

  self->gone = true;
  self->status = status;
  self->duration_ms = ow_runner_loop_now () - self->started;
  ow_runner_background_output_catch_up (self->output);
  /* A terminal hands on what was written to it in its own time. */
  if (self->terminal && !ow_runner_background_output_is_closed (self->output))
    {
      look_again (self, TERMINAL_MS);
      return;
    }
  end (self);
  if (self->stopping)
    look (self);
}

static void
on_output (void *user_data)
{
  OwRunnerBackgroundTask *self = user_data;

  if (self->gone && !self->ended && ow_runner_background_output_is_closed (self->output))
    look_again (self, 0);
  self->changed (self, self->user_data);
}

void
ow_runner_background_task_stop (OwRunnerBackgroundTask *self)
{
  if (self->stopping)
    return;
  self->stopping = true;
  self->was_stopped = self->was_stopped || !self->gone;
  self->stop_by = ow_runner_loop_now () + GRACE_MS;
  self->asked_again = false;
  /* Once each, for many take a second one as "at once". The group together, or bash goes on
   * to its next command when it is alone. */
  if (!self->gone)
    {
      kill (-self->pid, SIGINT);
      signal_all (self, SIGINT, self->pid);
    }
  look_again (self, self->gone ? 0 : LOOK_MS);
}

int64_t
ow_runner_background_task_duration (const OwRunnerBackgroundTask *self)
{
  return self->gone ? self->duration_ms : ow_runner_loop_now () - self->started;
}

/* --- its begin --- */

/* A terminal of its own: the master, and in @slave what it is started with. */
static int
open_terminal (int *slave)
{
  struct winsize size = { .ws_row = LINES, .ws_col = COLUMNS };
  struct termios mode;
  int master = posix_openpt (O_RDWR | O_NOCTTY | O_CLOEXEC);

  *slave = -1;
  if (master < 0)
    return -1;
  /* Not by its name: what a name leads to is another's to say. */
  if (grantpt (master) == 0 && unlockpt (master) == 0)
    *slave = ioctl (master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (*slave < 0)
    {
      int error = errno;

      close (master);
      errno = error;
      return -1;
    }
  ioctl (master, TIOCSWINSZ, &size);
  /* Lines end as a file's do: nobody looks at this on a screen. */
  if (tcgetattr (*slave, &mode) == 0)
    {
      mode.c_oflag &= ~(tcflag_t) ONLCR;
      tcsetattr (*slave, TCSANOW, &mode);
    }
  return master;
}

static int
open_pipe (int *writing)
{
  int fds[2];

  *writing = -1;
  if (pipe2 (fds, O_CLOEXEC) < 0)
    return -1;
  *writing = fds[1];
  return fds[0];
}

/* What its script opens. Returns how many. */
static size_t
own_fds (const OwRunnerBackgroundTask *self,
         int                           fds[2])
{
  size_t n = 0;

  if (self->exported_fd >= 0)
    fds[n++] = self->exported_fd;
  if (self->text_fd >= 0)
    fds[n++] = self->text_fd;
  return n;
}

/* bash's own script: the command as one text, behind what the shell exports. */
static char *
make_script (OwRunnerBackgroundTask *self)
{
  size_t length = strlen (self->command);
  int fds[2];
  int pid;
  char *script = NULL;
  size_t size;
  size_t n;
  FILE *out;

  if (length > ARGUMENT_MAX)
    {
      self->text_fd = ow_runner_scratch_open ();
      if (self->text_fd < 0 || !ow_runner_scratch_put (self->text_fd, self->command, length))
        return NULL;
    }
  n = own_fds (self, fds);
  if (n > 0 && !ow_runner_inner_show (fds, n))
    return NULL;
  pid = (int) ow_runner_inner_get_pid ();
  out = open_memstream (&script, &size);
  if (out == NULL)
    return NULL;
  if (self->exported_fd >= 0)
    fprintf (out, "\\. /proc/%d/fd/%d\n", pid, self->exported_fd);
  /* The shell may be in another directory than the one that it exports by now. */
  fprintf (out, "[ \"$PWD\" -ef . ] || \\cd .\n");
  if (self->text_fd >= 0)
    fprintf (out, "\\eval \"$(</proc/%d/fd/%d)\"", pid, self->text_fd);
  else
    ow_runner_shell_script_eval (out, self->command);
  if (fclose (out) != 0)
    {
      free (script);
      return NULL;
    }
  return script;
}

static bool
start (OwRunnerBackgroundTask *self,
       int                     writing,
       const char             *script)
{
  const char *argv[] = { "bash", "--noprofile", "--norc", "-c", script, "bash", NULL };
  OwRunnerSpawn spawn = {
    .argv = argv, .cwd = self->cwd, .stdin_fd = self->terminal ? writing : -1,
    .stdout_fd = writing, .stderr_fd = writing, .mark = self->id, .terminal = self->terminal,
  };

  self->pid = ow_runner_process_spawn (&spawn);
  if (self->pid < 0)
    return false;
  self->started = ow_runner_loop_now ();
  ow_runner_children_watch (self->runner->children, self->pid, on_ended, self);
  return true;
}

static bool
prepare (OwRunnerBackgroundTask *self,
         const char             *command)
{
  OwRunnerShellPlace place = ow_runner_shell_get_place (self->runner->shell);

  self->command = strdup (command);
  self->cwd = strdup (place.cwd);
  if (place.exported_fd >= 0)
    {
      self->exported_fd = ow_runner_scratch_open ();
      if (self->exported_fd < 0
          || !ow_runner_scratch_copy (place.exported_fd, self->exported_fd, EXPORTED_MAX))
        return false;
    }
  return self->command != NULL && self->cwd != NULL;
}

OwRunnerBackgroundTask *
ow_runner_background_task_new (OwRunner                  *runner,
                               const char                *id,
                               const char                *command,
                               bool                       terminal,
                               OwRunnerBackgroundTaskFunc changed,
                               void                      *user_data)
{
  OwRunnerBackgroundTask *self = calloc (1, sizeof *self);
  char *script = NULL;
  bool started = false;
  int writing = -1;
  int reading;
  int error;

  if (self == NULL)
    return NULL;
  *self = (OwRunnerBackgroundTask) {
    .runner = runner, .changed = changed, .user_data = user_data, .terminal = terminal,
    .text_fd = -1, .exported_fd = -1, .timer = { .user_data = self },
  };
  snprintf (self->id, sizeof self->id, "%s", id);
  if (prepare (self, command))
    script = make_script (self);
  reading = script == NULL ? -1 : terminal ? open_terminal (&writing) : open_pipe (&writing);
  if (reading >= 0)
    self->output = ow_runner_background_output_new (runner->loop, reading, terminal, on_output,
                                                    self);
  if (self->output != NULL)
    started = start (self, writing, script);
  error = errno;
  free (script);
  if (writing >= 0)
    close (writing);
  if (started)
    return self;
  ow_runner_background_task_free (self);
  errno = error;
  return NULL;
}

void
ow_runner_background_task_free (OwRunnerBackgroundTask *self)
{
  int fds[2];

  ow_runner_inner_hide (fds, own_fds (self, fds));
  ow_runner_loop_stop_timer (self->runner->loop, &self->timer);
  ow_runner_background_output_free (self->output, self->runner->drains);
  if (self->text_fd >= 0)
    close (self->text_fd);
  if (self->exported_fd >= 0)
    close (self->exported_fd);
  free (self->command);
  free (self->cwd);
  free (self);
}
