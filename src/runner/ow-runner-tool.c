/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ow-runner-private.h"
#include "ow-runner-report-private.h"
#include "ow-runner-watch-private.h"

/* One call of a file tool: what came of it is told to the client, and it is ended where it is
 * cancelled or takes too long. */

#define TOOL_MAX_MS (120 * 1000)
/* A tool that changes files has so long to come to its end when it is cancelled: it may have
 * made its change already, and that is then told like any other. */
#define GRACE_MS 80

typedef struct {
  OwRunner     *runner;
  OwRunnerTask *task;
  bool          timed_out;
  bool          changes_files;
  OwRunnerTimer timer;
} Tool;

static void
on_tool_done (const OwRunnerForkAnswer *answer,
              int                       status,
              void                     *user_data)
{
  Tool *self = user_data;

  ow_runner_loop_stop_timer (self->runner->loop, &self->timer);
  if (answer != NULL)
    {
      size_t length = 0;
      char *result = ow_runner_report_dump (answer, &length);

      ow_runner_watch_note (self->runner->watch, answer->structured);
      ow_runner_task_finish_text (self->task, result, length);
    }
  else if (self->task->cancelled)
    {
      json_t *structured = json_object ();

      json_object_set_new (structured, "cancelled", json_true ());
      ow_runner_task_finish (self->task, ow_runner_report_text ("[cancelled]", 11, structured,
                                                                true));
    }
  else if (self->timed_out)
    {
      ow_runner_task_refuse (self->task, "This took longer than %d s and was stopped. Ask for "
                             "less at once.", TOOL_MAX_MS / 1000);
    }
  else if (WIFSIGNALED (status))
    {
      ow_runner_task_refuse (self->task, "The tool ended by signal %d before it had an answer. "
                             "Ask for less at once, or use the shell.", WTERMSIG (status));
    }
  else
    {
      ow_runner_task_refuse (self->task, "The tool broke off without an answer. Ask for less at "
                             "once, or use the shell.");
    }
  free (self);
}

static void
kill_tool (void *user_data)
{
  Tool *self = user_data;

  ow_runner_fork_kill (self->runner, self);
}

static void
cancel_tool (void *job)
{
  Tool *self = job;

  if (!self->changes_files)
    {
      kill_tool (self);
      return;
    }
  self->task->cancel = NULL;
  self->timer.func = kill_tool;
  ow_runner_loop_start_timer (self->runner->loop, &self->timer, GRACE_MS);
}

static void
on_tool_timeout (void *user_data)
{
  Tool *self = user_data;

  self->timed_out = true;
  ow_runner_fork_kill (self->runner, self);
}

void
ow_runner_tool_run (OwRunner         *runner,
                    OwRunnerTask     *task,
                    OwRunnerToolFunc  func,
                    json_t           *arguments)
{
  Tool *self = calloc (1, sizeof *self);

  if (self != NULL)
    {
      self->runner = runner;
      self->task = task;
      self->changes_files = func == ow_tool_write || func == ow_tool_edit || func == ow_tool_undo;
    }
  if (self == NULL || !ow_runner_fork_start (runner, func, arguments, on_tool_done, self))
    {
      free (self);
      ow_runner_task_refuse (task, "No process could be made for the tool: %s.",
                             strerror (errno));
      return;
    }
  task->job = self;
  task->cancel = cancel_tool;
  self->timer.func = on_tool_timeout;
  self->timer.user_data = self;
  ow_runner_loop_start_timer (runner->loop, &self->timer, TOOL_MAX_MS);
}
