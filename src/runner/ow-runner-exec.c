/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-report-private.h"

#define ARGUMENTS_MAX 4096u
#define GRACE_MS      3000

typedef struct {
  OwRunner          *runner;
  OwRunnerTask      *task;
  OwRunnerCapture   *capture;
  pid_t              pid;
  int                timeout_s;
  bool               timed_out;
  bool               stopping;
  int64_t            started;
  unsigned long long started_ticks;
  OwRunnerTimer      timer;
} Exec;

static void
on_output (OwRunnerStream stream,
           const char    *data,
           size_t         length,
           void          *user_data)
{
  Exec *self = user_data;

  ow_runner_task_output (self->task, stream, data, length);
}

/* The program's own end ends the call: what it left behind may hold the pipes. */
static void
on_ended (int   status,
          void *user_data)
{
  Exec *self = user_data;
  OwRunnerReport report = { 0 };

  ow_runner_loop_stop_timer (self->runner->loop, &self->timer);
  self->task->flow = NULL;
  if (self->stopping)
    ow_runner_report_kill (self->runner, self->pid, self->started_ticks);
  ow_runner_capture_finish (self->capture);
  ow_runner_report_set_status (&report, status);
  report.duration_ms = ow_runner_loop_now () - self->started;
  report.timed_out = self->timed_out;
  report.timeout_s = self->timeout_s;
  report.cancelled = self->task->cancelled;
  report.leftovers = ow_runner_report_leftovers (self->runner, self->pid, 0,
                                                 self->started_ticks);
  ow_runner_task_finish (self->task, ow_runner_report_result (&report, self->task->output));
  free (self);
}

/* The output of a program that a person runs is passed on whole: who reads slowly
 * slows the program down, as a pipe would. */
static void
pace (void *job,
      bool  paused)
{
  Exec *self = job;

  ow_runner_capture_set_paused (self->capture, paused);
}

static void
stop_hard (void *user_data)
{
  Exec *self = user_data;

  kill (self->pid, SIGKILL);
  ow_runner_report_kill (self->runner, self->pid, self->started_ticks);
}

static void
stop (void *job)
{
  Exec *self = job;

  if (self->stopping)
    return;
  self->stopping = true;
  kill (-self->pid, SIGINT);
  self->timer.func = stop_hard;
  ow_runner_loop_start_timer (self->runner->loop, &self->timer, GRACE_MS);
}

static void
on_timeout (void *user_data)
{
  Exec *self = user_data;

  self->timed_out = true;
  stop (self);
}

/* Returns: (owned, free(); the texts are borrowed) or NULL when it is no such array. */
static const char **
read_argv (const json_t *array)
{
  size_t n = json_array_size (array);
  const char **argv;

  if (n == 0 || n > ARGUMENTS_MAX)
    return NULL;
  argv = calloc (n + 1, sizeof *argv);
  if (argv == NULL)
    return NULL;
  for (size_t i = 0; i < n; i++)
    {
      argv[i] = json_string_value (json_array_get (array, i));
      if (argv[i] == NULL || (i == 0 && argv[i][0] == '\0'))
        {
          free (argv);
          return NULL;
        }
    }
  return argv;
}

/* As a shell does: the reason on stderr, and 127 for a program that is not there, 126 for
 * one that cannot be run. */
static void
refuse_start (OwRunnerTask        *task,
              const OwRunnerSpawn *spawn,
              int                  error)
{
  OwRunnerReport report = { 0 };
  char line[1024];
  int length;

  length = snprintf (line, sizeof line, "\"%s\" could not be started in \"%s\": %s.\n",
                     spawn->argv[0], spawn->cwd, strerror (error));
  if (length > 0)
    ow_runner_task_output (task, OW_RUNNER_STDERR, line,
                           (size_t) length < sizeof line ? (size_t) length : sizeof line - 1);
  ow_runner_report_set_status (&report, (error == ENOENT || error == ENOTDIR ? 127 : 126) << 8);
  report.leftovers = json_array ();
  ow_runner_task_finish (task, ow_runner_report_result (&report, task->output));
}

static void
start (OwRunner      *runner,
       OwRunnerTask  *task,
       OwRunnerSpawn *spawn,
       int            timeout_s)
{
  Exec *self = calloc (1, sizeof *self);

  if (self != NULL)
    self->capture = ow_runner_capture_new (runner->loop, runner->drains, on_output, self);
  if (self == NULL || self->capture == NULL)
    {
      free (self);
      ow_runner_task_refuse (task, "No pipes could be made for the program: %s. Nothing was run.",
                             strerror (errno));
      return;
    }
  self->runner = runner;
  self->task = task;
  self->timeout_s = timeout_s;
  self->started = ow_runner_loop_now ();
  self->started_ticks = ow_runner_process_now ();
  self->timer.user_data = self;
  spawn->stdin_fd = -1;
  spawn->stdout_fd = ow_runner_capture_get_fd (self->capture, OW_RUNNER_STDOUT);
  spawn->stderr_fd = ow_runner_capture_get_fd (self->capture, OW_RUNNER_STDERR);
  self->pid = ow_runner_process_spawn (spawn);
  if (self->pid < 0)
    {
      int error = errno;

      ow_runner_capture_finish (self->capture);
      free (self);
      refuse_start (task, spawn, error);
      return;
    }
  ow_runner_capture_close_fds (self->capture);
  ow_runner_children_watch (runner->children, self->pid, on_ended, self);
  task->job = self;
  task->cancel = stop;
  task->flow = pace;
  if (timeout_s > 0)
    {
      self->timer.func = on_timeout;
      ow_runner_loop_start_timer (runner->loop, &self->timer, (int64_t) timeout_s * 1000);
    }
}

/* (owned, malloc) Where the command starts: the first folder, or what is asked for, from there. */
static char *
choose_cwd (OwRunner     *runner,
            const json_t *arguments)
{
  const char *first = runner->roots.folders[0];
  const char *cwd = ow_json_get_string (arguments, "cwd", NULL);
  OwRunnerBuffer path;

  if (cwd == NULL)
    return ow_runner_buffer_copy (first, strlen (first));
  if (cwd[0] == '/')
    return ow_runner_buffer_copy (cwd, strlen (cwd));
  ow_runner_buffer_init (&path, strlen (first) + strlen (cwd) + 1);
  ow_runner_buffer_printf (&path, "%s/%s", first, cwd);
  return ow_runner_buffer_steal (&path, NULL);
}

void
ow_runner_exec_run (OwRunner     *runner,
                    OwRunnerTask *task,
                    const json_t *arguments)
{
  const char **argv = read_argv (json_object_get (arguments, "argv"));
  json_t *timeout = json_object_get (arguments, "timeout_s");
  double timeout_s = json_number_value (timeout);
  char *cwd = choose_cwd (runner, arguments);
  OwRunnerSpawn spawn = { .argv = argv, .cwd = cwd };

  if (argv == NULL)
    ow_runner_task_refuse (task, "\"argv\" must be an array of 1 to %u texts.", ARGUMENTS_MAX);
  else if ((timeout != NULL && !json_is_number (timeout) && !json_is_null (timeout))
           || timeout_s < 0 || timeout_s > 86400)
    ow_runner_task_refuse (task, "\"timeout_s\" must be a number of seconds from 0 (no limit) to "
                           "86400.");
  else
    start (runner, task, &spawn, timeout_s > 0 && timeout_s < 1 ? 1 : (int) timeout_s);
  free (argv);
  free (cwd);
}
