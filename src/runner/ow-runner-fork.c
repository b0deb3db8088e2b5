/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ow-runner-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-report-private.h"
#include "wire/ow-frame.h"

/* AddressSanitizer takes terabytes of addresses: gcc says that it is there, and clang is asked. */
#if defined (__SANITIZE_ADDRESS__)
#define HAS_SHADOW_MEMORY 1
#elif defined (__has_feature)
#if __has_feature (address_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif

#define MEMORY_MAX (2ull * 1024 * 1024 * 1024)
#define TOOL_MAX_MS (120 * 1000)
/* The roots are opened first, so their descriptors are low. */
#define KEPT_FDS_MAX 512

/* One function in a child process, its answer coming back as one JSON text. */
typedef struct {
  OwRunner        *runner;
  pid_t            pid;
  int              fd;
  OwRunnerSource  *source;
  char            *text;   /* (owned) */
  size_t           length;
  bool             closed;
  bool             ended;
  int              status;
  OwRunnerForkDone done;
  void            *done_data;
} Fork;

static void
write_all (int         fd,
           const char *data,
           size_t      length)
{
  while (length > 0)
    {
      ssize_t n = write (fd, data, length);

      if (n < 0 && errno != EINTR)
        _exit (1);
      if (n > 0)
        {
          data += n;
          length -= (size_t) n;
        }
    }
}

/* A copy of a client's socket here would keep that client from seeing its end. */
static void
close_others (const OwRunnerRoots *roots)
{
  for (int fd = 3; fd < KEPT_FDS_MAX; fd++)
    {
      bool keep = false;

      for (size_t i = 0; i < roots->n && !keep; i++)
        keep = fd == roots->fds[i];
      if (!keep)
        close (fd);
    }
  close_range (KEPT_FDS_MAX, ~0u, 0);
}

static void
child_main (const OwRunnerRoots *roots,
            OwRunnerForkFunc     func,
            const json_t        *arguments,
            void                *func_data,
            int                  fd,
            pid_t                parent)
{
  json_t *value;
  char *text;
  size_t length;

  ow_runner_process_reset ();
  signal (SIGPIPE, SIG_IGN);
  if (getppid () != parent)
    _exit (1);
  /* stdin is the one descriptor that no tool needs. */
  if (dup2 (fd, STDIN_FILENO) < 0)
    _exit (1);
  fd = STDIN_FILENO;
  close_others (roots);
#ifndef HAS_SHADOW_MEMORY
  struct rlimit memory = { .rlim_cur = MEMORY_MAX, .rlim_max = MEMORY_MAX };

  setrlimit (RLIMIT_AS, &memory);
#endif
  value = func (roots, arguments, func_data);
  text = value == NULL ? NULL : ow_json_dump (value, &length);
  if (text == NULL)
    _exit (1);
  write_all (fd, text, length);
  _exit (0);
}

static void
finish_when_done (Fork *self)
{
  char error[OW_WIRE_ERROR_SIZE];
  json_t *value = NULL;

  if (!self->ended || !self->closed)
    return;
  if (WIFEXITED (self->status) && WEXITSTATUS (self->status) == 0 && self->length > 0)
    value = ow_json_parse (self->text, self->length, error);
  self->done (value, self->status, self->done_data);
  json_decref (value);
  free (self->text);
  free (self);
}

static void
on_child_ended (int   status,
                void *user_data)
{
  Fork *self = user_data;

  self->ended = true;
  self->status = status;
  finish_when_done (self);
}

static void
on_child_output (uint32_t events,
                 void    *user_data)
{
  Fork *self = user_data;
  char buffer[65536];
  ssize_t got = read (self->fd, buffer, sizeof buffer);
  char *more = NULL;

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got > 0 && self->length + (size_t) got <= OW_FRAME_MAX_BYTES)
    more = realloc (self->text, self->length + (size_t) got);
  if (more != NULL)
    {
      self->text = more;
      memcpy (self->text + self->length, buffer, (size_t) got);
      self->length += (size_t) got;
      return;
    }
  if (got > 0)
    {
      self->length = 0;
      kill (self->pid, SIGKILL);
    }
  ow_runner_loop_remove (self->runner->loop, self->source);
  close (self->fd);
  self->closed = true;
  finish_when_done (self);
}

pid_t
ow_runner_fork_start (OwRunner         *runner,
                      OwRunnerForkFunc  func,
                      const json_t     *arguments,
                      void             *func_data,
                      OwRunnerForkDone  done,
                      void             *done_data)
{
  pid_t parent = getpid ();
  Fork *self = calloc (1, sizeof *self);
  int fds[2];

  if (self == NULL)
    return -1;
  if (pipe2 (fds, O_CLOEXEC) < 0)
    {
      free (self);
      return -1;
    }
  *self = (Fork) { .runner = runner, .fd = fds[0], .done = done, .done_data = done_data };
  self->pid = fork ();
  if (self->pid == 0)
    child_main (&runner->roots, func, arguments, func_data, fds[1], parent);
  close (fds[1]);
  if (self->pid > 0)
    self->source = ow_runner_loop_add (runner->loop, fds[0], EPOLLIN, on_child_output, self);
  if (self->pid < 0 || self->source == NULL)
    {
      if (self->pid > 0)
        kill (self->pid, SIGKILL);
      close (fds[0]);
      free (self);
      return -1;
    }
  fcntl (fds[0], F_SETFL, O_NONBLOCK);
  ow_runner_children_watch (runner->children, self->pid, on_child_ended, self);
  return self->pid;
}

typedef struct {
  OwRunner        *runner;
  OwRunnerTask    *task;
  OwRunnerToolFunc func;
  pid_t            pid;
  bool             timed_out;
  OwRunnerTimer    timer;
} Tool;

static json_t *
run_tool (const OwRunnerRoots *roots,
          const json_t        *arguments,
          void                *user_data)
{
  Tool *tool = user_data;
  OwRunnerToolResult result = { 0 };

  tool->func (roots, arguments, &result);
  if (result.length > OW_RUNNER_TEXT_MAX)
    result.length = 0;
  return ow_runner_report_text (result.text == NULL ? "" : result.text, result.length,
                                result.structured, result.is_error);
}

static void
on_tool_done (json_t *value,
              int     status,
              void   *user_data)
{
  Tool *self = user_data;

  ow_runner_loop_stop_timer (self->runner->loop, &self->timer);
  if (value != NULL)
    {
      ow_runner_task_finish (self->task, json_incref (value));
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
cancel_tool (void *job)
{
  Tool *self = job;

  kill (self->pid, SIGKILL);
}

static void
on_tool_timeout (void *user_data)
{
  Tool *self = user_data;

  self->timed_out = true;
  kill (self->pid, SIGKILL);
}

void
ow_runner_fork_run (OwRunner         *runner,
                    OwRunnerTask     *task,
                    OwRunnerToolFunc  func,
                    const json_t     *arguments)
{
  Tool *self = calloc (1, sizeof *self);

  if (self != NULL)
    {
      *self = (Tool) { .runner = runner, .task = task, .func = func };
      self->pid = ow_runner_fork_start (runner, run_tool, arguments, self, on_tool_done, self);
    }
  if (self == NULL || self->pid < 0)
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
