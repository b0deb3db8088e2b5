/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "ow-runner-inner-private.h"
#include "ow-runner-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-report-private.h"
#include "ow-runner-scratch-private.h"
#include "ow-runner-shell-script-private.h"
#include "ow-runner-watch-private.h"

/* The one bash and its commands, which wait for each other: who starts it, gives it the
 * script of a command, hears of that one's end by the marker pipe or by bash's own, and
 * stops it. When bash itself ends, its wait status is the command's. */

#define COMMAND_MAX       (4u * 1024u * 1024u)
#define TIMEOUT_DEFAULT_S 120
#define TIMEOUT_MAX_S     600
#define GRACE_MS          3000
/* How often it is looked whether bash has read its script without telling the end. It is told
 * to exit at the second such look, and is killed at the last. */
#define LOOK_MS           150
#define UNTOLD_MAX        14

typedef struct _Command Command;
struct _Command {
  OwRunnerShell *shell;
  Command       *next;
  OwRunnerTask  *task;
  char          *text;      /* (owned) */
  int            timeout_s;
};

struct _OwRunnerShell {
  OwRunner        *runner;
  Command         *queue;        /* the first one runs */
  char            *cwd;          /* (owned) the last known */

  pid_t            pid;          /* 0: no shell */
  pid_t            inner_pid;    /* what shows it our descriptors */
  int              script_fd;    /* writing end; the reading end is bash's stdin */
  int              marker_fds[2];
  int              nonce_fds[2];
  int              state_fd;     /* variables and functions of a shell that SIGINT ended */
  int              text_fd;      /* a long command */
  int              exported_fd;  /* what the shell exports, for a background task */
  bool             restore;      /* the next shell begins with what is in it */
  bool             names_hidden; /* functions have taken names that we need */

  OwRunnerSource  *script_source;
  char            *script;       /* (owned) not written yet */
  size_t           script_length;
  size_t           script_at;
  OwRunnerSource  *marker_source;
  char             marker[256];
  size_t           marker_length;
  char             nonce[33];
  char             tag[17];
  bool             asked;

  OwRunnerCapture *capture;      /* of the running command */
  int64_t          started;
  unsigned long long started_ticks;
  bool             timed_out;
  bool             stopping;
  OwRunnerTimer    timer;
  OwRunnerTimer    look;
  unsigned int     untold;       /* looks in a row that found the script read */
  bool             was_lost;     /* it ended where nobody was there to be told */
  bool             began_anew;   /* the running command is the one that tells it */

  int64_t          began;        /* by ow_runner_watch_clock() */
  bool             waiting;      /* for the folders to be looked at: no command begins */
  OwRunnerTask    *told;         /* (nullable) ended, but for what it changed */
  json_t          *result;       /* (owned) (nullable) of that one */
};

static void start_next (OwRunnerShell *self);

static void
close_fd (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

OwRunnerShell *
ow_runner_shell_new (OwRunner *runner)
{
  OwRunnerShell *self = calloc (1, sizeof *self);

  if (self == NULL)
    return NULL;
  self->runner = runner;
  self->script_fd = -1;
  self->marker_fds[0] = self->marker_fds[1] = -1;
  self->nonce_fds[0] = self->nonce_fds[1] = -1;
  self->state_fd = ow_runner_scratch_open ();
  self->text_fd = ow_runner_scratch_open ();
  self->exported_fd = ow_runner_scratch_open ();
  self->cwd = strdup (runner->roots.folders[0]);
  if (self->cwd == NULL)
    {
      ow_runner_shell_free (self);
      return NULL;
    }
  return self;
}

/* Forgets the bash that has ended or never was. */
static void
shell_clear (OwRunnerShell *self)
{
  ow_runner_loop_remove (self->runner->loop, self->script_source);
  ow_runner_loop_remove (self->runner->loop, self->marker_source);
  self->script_source = NULL;
  self->marker_source = NULL;
  close_fd (&self->script_fd);
  close_fd (&self->marker_fds[0]);
  close_fd (&self->marker_fds[1]);
  close_fd (&self->nonce_fds[0]);
  close_fd (&self->nonce_fds[1]);
  free (self->script);
  self->script = NULL;
  self->pid = 0;
  self->names_hidden = false;
}

static void
command_free (Command *command)
{
  free (command->text);
  free (command);
}

void
ow_runner_shell_free (OwRunnerShell *self)
{
  if (self == NULL)
    return;
  while (self->queue != NULL)
    {
      Command *command = self->queue;

      self->queue = command->next;
      command_free (command);
    }
  ow_runner_loop_stop_timer (self->runner->loop, &self->timer);
  ow_runner_loop_stop_timer (self->runner->loop, &self->look);
  if (self->capture != NULL)
    ow_runner_capture_finish (self->capture);
  json_decref (self->result);
  shell_clear (self);
  close_fd (&self->state_fd);
  close_fd (&self->text_fd);
  close_fd (&self->exported_fd);
  free (self->cwd);
  free (self);
}

/* Where bash is now; a folder that is gone is told as it was called. */
static void
update_cwd (OwRunnerShell *self)
{
  char path[64];
  char target[4097];
  ssize_t length;
  char *copy;

  snprintf (path, sizeof path, "/proc/%d/cwd", (int) self->pid);
  length = readlink (path, target, sizeof target - 1);
  if (length <= 0)
    return;
  target[length] = '\0';
  copy = strdup (target);
  if (copy == NULL)
    return;
  free (self->cwd);
  self->cwd = copy;
}

/* The command's changes are known, and with them its whole result. */
static void
on_looked (json_t *changes,
           void   *user_data)
{
  OwRunnerShell *self = user_data;
  OwRunnerTask *task = self->told;
  json_t *result = self->result;

  json_object_set (json_object_get (result, "structuredContent"), "changes", changes);
  self->told = NULL;
  self->result = NULL;
  self->waiting = false;
  ow_runner_task_finish (task, result);
  start_next (self);
}

static void
on_may_begin (json_t *changes,
              void   *user_data)
{
  OwRunnerShell *self = user_data;

  self->waiting = false;
  start_next (self);
}

/* Nothing else keeps the command's pipes open but what the command has left behind. */
static void
drop_capture (OwRunnerShell *self)
{
  const int fds[] = { ow_runner_capture_get_fd (self->capture, OW_RUNNER_STDOUT),
                      ow_runner_capture_get_fd (self->capture, OW_RUNNER_STDERR) };

  ow_runner_inner_hide (fds, sizeof fds / sizeof fds[0]);
  ow_runner_capture_finish (self->capture);
  self->capture = NULL;
}

static void
finish_command (OwRunnerShell  *self,
                OwRunnerReport *report,
                pid_t           except)
{
  Command *command = self->queue;

  ow_runner_loop_stop_timer (self->runner->loop, &self->timer);
  ow_runner_loop_stop_timer (self->runner->loop, &self->look);
  drop_capture (self);
  report->is_shell = true;
  report->began_anew = self->began_anew;
  report->spill = command->task->spill;
  report->cwd = self->cwd;
  report->duration_ms = ow_runner_loop_now () - self->started;
  report->timed_out = self->timed_out;
  report->timeout_s = command->timeout_s;
  report->cancelled = command->task->cancelled;
  report->leftovers = ow_runner_report_leftovers (self->runner, self->pid, except, 0);
  self->result = ow_runner_report_result (report, command->task->output);
  self->told = command->task;
  self->queue = command->next;
  self->waiting = true;
  command->task->cancel = NULL;
  command_free (command);
  ow_runner_watch_look (self->runner->watch, self->began, on_looked, self);
}

/* A new shell exports what this program does. */
static void
forget_exported (OwRunnerShell *self)
{
  if (ftruncate (self->exported_fd, 0) < 0)
    return;
}

static void
on_shell_ended (int   status,
                void *user_data)
{
  OwRunnerShell *self = user_data;
  OwRunnerReport report = { .shell_restarted = true };
  off_t state_size = lseek (self->state_fd, 0, SEEK_END);

  ow_runner_report_set_status (&report, status);
  if (self->queue == NULL || self->capture == NULL)
    {
      /* It ended between two commands: the next one says so. */
      self->was_lost = true;
      forget_exported (self);
      shell_clear (self);
      return;
    }
  if (self->stopping)
    {
      ow_runner_report_kill (self->runner, self->pid, self->started_ticks);
      report.state_kept = state_size > 0;
      self->restore = report.state_kept;
    }
  if (!report.state_kept)
    forget_exported (self);
  finish_command (self, &report, 0);
  shell_clear (self);
  start_next (self);
}

static void
on_script_ready (uint32_t events,
                 void    *user_data)
{
  OwRunnerShell *self = user_data;
  ssize_t n = write (self->script_fd, self->script + self->script_at,
                     self->script_length - self->script_at);

  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n > 0)
    self->script_at += (size_t) n;
  /* Failed: bash is gone, which its wait status will tell. */
  if (n > 0 && self->script_at < self->script_length)
    return;
  free (self->script);
  self->script = NULL;
  ow_runner_loop_remove (self->runner->loop, self->script_source);
  self->script_source = NULL;
}

/* Takes @text. */
static bool
send_script (OwRunnerShell *self,
             char          *text,
             size_t         length)
{
  free (self->script);
  self->script = text;
  self->script_length = length;
  self->script_at = 0;
  if (self->script_source == NULL)
    self->script_source = ow_runner_loop_add (self->runner->loop, self->script_fd, EPOLLOUT,
                                              on_script_ready, self);
  return self->script_source != NULL;
}

static void
give_nonce (OwRunnerShell *self)
{
  int waiting = 0;

  /* One is enough; a second is only for a marker that somebody else has read away. */
  if (ioctl (self->nonce_fds[0], FIONREAD, &waiting) < 0 || waiting > 0)
    return;
  if (dprintf (self->nonce_fds[1], "%s", self->nonce) < 0)
    return;
}

static void
on_marker_line (OwRunnerShell *self,
                const char    *line)
{
  OwRunnerReport report = { 0 };
  int status;
  int pid;
  int hidden;

  if (self->queue == NULL || self->capture == NULL)
    return;
  if (strcmp (line, "d") == 0)
    {
      give_nonce (self);
      return;
    }
  if (strncmp (line, self->nonce, 32) != 0
      || sscanf (line + 32, " %d %d %d", &status, &pid, &hidden) != 3)
    return;
  self->names_hidden = hidden != 0;
  report.exit_status = status & 0xff;
  update_cwd (self);
  finish_command (self, &report, pid);
  start_next (self);
}

static void
on_marker_ready (uint32_t events,
                 void    *user_data)
{
  OwRunnerShell *self = user_data;
  OwRunnerSource *source = self->marker_source;
  char buffer[1024];
  ssize_t got = read (self->marker_fds[0], buffer, sizeof buffer);

  for (ssize_t i = 0; i < got && self->marker_source == source; i++)
    {
      if (buffer[i] == '\n')
        {
          self->marker[self->marker_length] = '\0';
          self->marker_length = 0;
          on_marker_line (self, self->marker);
        }
      else if (self->marker_length < sizeof self->marker - 1)
        {
          self->marker[self->marker_length++] = buffer[i];
        }
    }
}

static bool
open_pipes (OwRunnerShell *self,
            int            script[2])
{
  if (pipe2 (script, O_CLOEXEC) < 0)
    return false;
  self->script_fd = script[1];
  if (pipe2 (self->marker_fds, O_CLOEXEC | O_NONBLOCK) < 0
      || pipe2 (self->nonce_fds, O_CLOEXEC | O_NONBLOCK) < 0)
    {
      close (script[0]);
      return false;
    }
  fcntl (script[1], F_SETFL, O_NONBLOCK);
  self->marker_length = 0;
  self->marker_source = ow_runner_loop_add (self->runner->loop, self->marker_fds[0], EPOLLIN,
                                            on_marker_ready, self);
  if (self->marker_source == NULL)
    close (script[0]);
  return self->marker_source != NULL;
}

static bool
start_bash (OwRunnerShell *self)
{
  static const char *const argv[] = { "bash", "--noprofile", "--norc", "-s", NULL };
  int script[2];
  OwRunnerSpawn spawn = { .argv = argv, .cwd = self->cwd, .stdout_fd = -1, .stderr_fd = -1 };

  if (!open_pipes (self, script))
    return false;
  spawn.stdin_fd = script[0];
  if (access (self->cwd, X_OK) < 0)
    {
      char *first = strdup (self->runner->roots.folders[0]);

      if (first != NULL)
        {
          free (self->cwd);
          self->cwd = first;
        }
      spawn.cwd = self->cwd;
    }
  self->pid = ow_runner_process_spawn (&spawn);
  close (script[0]);
  if (self->pid < 0)
    {
      int error = errno;

      self->pid = 0;
      shell_clear (self);
      errno = error;
      return false;
    }
  ow_runner_children_watch (self->runner->children, self->pid, on_shell_ended, self);
  return true;
}

static bool
make_nonce (OwRunnerShell *self)
{
  unsigned char bytes[16];
  char rest[256];

  while (read (self->nonce_fds[0], rest, sizeof rest) > 0)
    ;
  if (getrandom (bytes, sizeof bytes, 0) != (ssize_t) sizeof bytes)
    return false;
  for (size_t i = 0; i < sizeof bytes; i++)
    snprintf (self->nonce + 2 * i, 3, "%02x", bytes[i]);
  if (getrandom (bytes, sizeof bytes, 0) != (ssize_t) sizeof bytes)
    return false;
  for (size_t i = 0; i < sizeof self->tag / 2; i++)
    snprintf (self->tag + 2 * i, 3, "%02x", bytes[i]);
  return true;
}

/* The script of one command. @first: bash has just been started. */
static char *
make_script (OwRunnerShell *self,
             const char    *command,
             bool           first,
             size_t        *length)
{
  const OwRunnerShellScript script = {
    .first = first,
    .restore = self->restore,
    .names_hidden = self->names_hidden,
    .state_fd = self->state_fd,
    .text_fd = self->text_fd,
    .exported_fd = self->exported_fd,
    .stdout_fd = ow_runner_capture_get_fd (self->capture, OW_RUNNER_STDOUT),
    .stderr_fd = ow_runner_capture_get_fd (self->capture, OW_RUNNER_STDERR),
    .marker_fd = self->marker_fds[1],
    .nonce_fd = self->nonce_fds[0],
    .tag = self->tag,
  };

  return ow_runner_shell_script_make (&script, command, length);
}

/* Shows bash all that its next script opens. False with errno. */
static bool
show_descriptors (OwRunnerShell *self,
                  bool           first)
{
  const int fds[] = {
    ow_runner_capture_get_fd (self->capture, OW_RUNNER_STDOUT),
    ow_runner_capture_get_fd (self->capture, OW_RUNNER_STDERR),
    self->state_fd, self->text_fd, self->exported_fd, self->marker_fds[1], self->nonce_fds[0],
  };
  bool shown = ow_runner_inner_show (fds, sizeof fds / sizeof fds[0]);

  if (shown && first)
    self->inner_pid = ow_runner_inner_get_pid ();
  if (shown && self->inner_pid == ow_runner_inner_get_pid ())
    return true;
  /* It is behind another wall than what is shown now. */
  kill (self->pid, SIGKILL);
  errno = shown ? EPIPE : errno;
  return false;
}

void
ow_runner_shell_on_inner_lost (pid_t inner_pid,
                               void *user_data)
{
  OwRunnerShell *self = user_data;

  if (self->pid != 0 && self->inner_pid == inner_pid)
    kill (self->pid, SIGKILL);
}

static void
stop_hard (void *user_data)
{
  OwRunnerShell *self = user_data;

  if (self->pid == 0)
    return;
  kill (self->pid, SIGKILL);
  ow_runner_report_kill (self->runner, self->pid, self->started_ticks);
}

/* SIGINT first: it ends the foreground command, and bash by its trap, so that nothing
 * that stands after that command is begun. */
static void
stop_command (OwRunnerShell *self)
{
  if (self->stopping)
    return;
  self->stopping = true;
  update_cwd (self);
  if (ftruncate (self->state_fd, 0) < 0)
    self->restore = false;
  kill (-self->pid, SIGINT);
  self->timer.func = stop_hard;
  self->timer.user_data = self;
  ow_runner_loop_start_timer (self->runner->loop, &self->timer, GRACE_MS);
}

/* The script has been read and its end was not told: what ran has taken from bash what it
 * tells it with, or has read the script itself. */
static void
on_look (void *user_data)
{
  OwRunnerShell *self = user_data;
  int waiting = 1;

  if (self->pid == 0 || self->capture == NULL)
    return;
  if (self->script == NULL)
    ioctl (self->script_fd, FIONREAD, &waiting);
  self->untold = waiting == 0 ? self->untold + 1 : 0;
  if (self->untold >= UNTOLD_MAX)
    {
      update_cwd (self);
      stop_hard (self);
      return;
    }
  if (self->untold == 2)
    {
      char *text = strdup ("\\exit\n");

      update_cwd (self);
      if (text != NULL)
        send_script (self, text, strlen (text));
    }
  ow_runner_loop_start_timer (self->runner->loop, &self->look, LOOK_MS);
}

static void
on_timeout (void *user_data)
{
  OwRunnerShell *self = user_data;

  self->timed_out = true;
  stop_command (self);
}

static void
on_output (OwRunnerStream stream,
           const char    *data,
           size_t         length,
           void          *user_data)
{
  ow_runner_task_output (user_data, stream, data, length);
}

static void
refuse_first (OwRunnerShell *self,
              const char    *why,
              int            error)
{
  Command *command = self->queue;

  self->queue = command->next;
  if (self->capture != NULL)
    drop_capture (self);
  ow_runner_task_refuse (command->task, "%s: %s. Nothing was run.", why, strerror (error));
  command_free (command);
}

/* Returns false when the first command was refused. */
static bool
try_start (OwRunnerShell *self)
{
  Command *command = self->queue;
  bool first = self->pid == 0;
  size_t length = 0;
  char *script = NULL;

  self->capture = ow_runner_capture_new (self->runner->loop, self->runner->drains, on_output,
                                         command->task);
  if (self->capture != NULL)
    ow_runner_capture_set_skip (self->capture, &ow_runner_task_skip);
  if (self->capture == NULL)
    {
      refuse_first (self, "No pipes could be made for the command", errno);
      return false;
    }
  if (first && !start_bash (self))
    {
      refuse_first (self, "The shell (bash) could not be started", errno);
      return false;
    }
  if (!show_descriptors (self, first))
    {
      refuse_first (self, "The shell was lost and is started anew", errno);
      return false;
    }
  if (command->task->spill == NULL)
    command->task->spill = ow_runner_spill_new (self->runner->spills);
  self->started = ow_runner_loop_now ();
  self->started_ticks = ow_runner_process_now ();
  self->began = ow_runner_watch_clock ();
  self->timed_out = false;
  self->stopping = false;
  self->untold = 0;
  self->began_anew = self->was_lost;
  self->was_lost = false;
  if (make_nonce (self))
    script = make_script (self, command->text, first, &length);
  self->restore = false;
  if (script == NULL || !send_script (self, script, length))
    {
      refuse_first (self, "The command could not be given to the shell", ENOMEM);
      return false;
    }
  self->timer.func = on_timeout;
  self->timer.user_data = self;
  ow_runner_loop_start_timer (self->runner->loop, &self->timer, command->timeout_s * 1000);
  self->look.func = on_look;
  self->look.user_data = self;
  ow_runner_loop_start_timer (self->runner->loop, &self->look, LOOK_MS);
  return true;
}

static void
start_next (OwRunnerShell *self)
{
  while (self->queue != NULL && self->capture == NULL && !self->waiting)
    {
      self->waiting = !ow_runner_watch_ready (self->runner->watch, on_may_begin, self);
      if (self->waiting || try_start (self))
        break;
    }
}

static void
cancel_command (void *job)
{
  Command *command = job;
  OwRunnerShell *self = command->shell;
  OwRunnerReport report = { .exit_status = -1, .is_shell = true, .cancelled = true };

  if (self->queue == command && self->capture != NULL)
    {
      stop_command (self);
      return;
    }
  for (Command **at = &self->queue; *at != NULL; at = &(*at)->next)
    {
      if (*at == command)
        {
          *at = command->next;
          break;
        }
    }
  report.cwd = self->cwd;
  ow_runner_task_finish (command->task,
                         ow_runner_report_result (&report, command->task->output));
  command_free (command);
}

OwRunnerShellPlace
ow_runner_shell_get_place (OwRunnerShell *self)
{
  if (self->pid != 0 && self->capture == NULL)
    update_cwd (self);
  return (OwRunnerShellPlace) { .cwd = self->cwd, .exported_fd = self->exported_fd };
}

void
ow_runner_shell_run (OwRunnerShell *self,
                     OwRunnerTask  *task,
                     const json_t  *arguments)
{
  const char *text = ow_json_get_string (arguments, "command", NULL);
  json_t *timeout = json_object_get (arguments, "timeout_s");
  double timeout_s = timeout == NULL || json_is_null (timeout) ? TIMEOUT_DEFAULT_S
                                                               : json_number_value (timeout);
  Command *command;
  Command **end = &self->queue;

  if (text == NULL || strlen (text) > COMMAND_MAX)
    {
      ow_runner_task_refuse (task, "\"command\" must be a text of at most %u bytes.", COMMAND_MAX);
      return;
    }
  if (!(timeout_s > 0) || timeout_s > TIMEOUT_MAX_S)
    {
      ow_runner_task_refuse (task, "\"timeout_s\" must be a number of seconds over 0 and at most "
                             "%d. For longer work start it in the background and look at it "
                             "later.", TIMEOUT_MAX_S);
      return;
    }
  command = calloc (1, sizeof *command);
  if (command == NULL || (command->text = strdup (text)) == NULL)
    {
      free (command);
      ow_runner_task_refuse (task, "There is no memory for the command. Nothing was run.");
      return;
    }
  command->shell = self;
  command->task = task;
  command->timeout_s = timeout_s < 1 ? 1 : (int) timeout_s;
  task->job = command;
  task->cancel = cancel_command;
  while (*end != NULL)
    end = &(*end)->next;
  *end = command;
  start_next (self);
}
