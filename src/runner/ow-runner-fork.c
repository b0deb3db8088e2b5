/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ow-runner-keep-private.h"
#include "ow-runner-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-report-private.h"
#include "ow-runner-watch-private.h"
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
/* Arguments up to this fit into a socket that nobody has read from yet. */
#define ORDER_MAX (64u * 1024)

typedef struct _Fork Fork;

/* One child process: it waits for an order, carries it out, answers with one JSON text and ends.
 * None does two, so nothing that one call leaves behind is there in the next. */
struct _Fork {
  Fork            *next;
  OwRunner        *runner;
  pid_t            pid;
  int              fd;     /* -1: closed */
  OwRunnerSource  *source; /* (nullable) once it has an order */
  char            *text;   /* (owned) */
  size_t           length;
  bool             ended;
  int              status;
  OwRunnerForkDone done;   /* (nullable) NULL: it has no order, or was answered */
  void            *done_data;
};

struct _OwRunnerForks {
  Fork *list;  /* (owned) */
  Fork *spare; /* (nullable) waits for its order */
};

/* What goes ahead of the arguments: the child is a copy of this process, so addresses hold. */
typedef struct {
  OwRunnerForkFunc func;
  OwRunnerToolFunc tool;
  size_t           length;
} Order;

/* --- in the child --- */

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

static void
read_all (int    fd,
          void  *data,
          size_t length)
{
  for (size_t at = 0; at < length;)
    {
      ssize_t n = read (fd, (char *) data + at, length - at);

      if (n == 0 || (n < 0 && errno != EINTR))
        _exit (1);
      if (n > 0)
        at += (size_t) n;
    }
}

/* A copy of a client's socket here would keep that client from seeing its end. */
static void
close_others (const OwRunnerRoots *roots)
{
  for (unsigned int first = STDERR_FILENO + 1;;)
    {
      unsigned int kept = ~0u;

      if (roots->keep != NULL && (unsigned int) roots->keep->fd >= first)
        kept = (unsigned int) roots->keep->fd;
      for (size_t i = 0; i < roots->n; i++)
        {
          unsigned int fd = (unsigned int) roots->fds[i];

          if (fd >= first && fd < kept)
            kept = fd;
        }
      if (kept > first)
        close_range (first, kept == ~0u ? kept : kept - 1, 0);
      if (kept == ~0u)
        return;
      first = kept + 1;
    }
}

static json_t *
read_order (Order *order)
{
  char error[OW_WIRE_ERROR_SIZE];
  json_t *arguments;
  char *text;

  read_all (STDIN_FILENO, order, sizeof *order);
  text = malloc (order->length);
  if (text == NULL)
    _exit (1);
  read_all (STDIN_FILENO, text, order->length);
  arguments = ow_json_parse (text, order->length, error);
  free (text);
  if (arguments == NULL)
    _exit (1);
  return arguments;
}

/* @order NULL: it is still to come. */
static void
child_main (const OwRunnerRoots *roots,
            const Order         *order,
            const json_t        *arguments,
            int                  fd,
            pid_t                parent)
{
  Order read;
  json_t *value;
  char *text;
  size_t length;

  ow_runner_process_reset ();
  signal (SIGPIPE, SIG_IGN);
  if (getppid () != parent)
    _exit (1);
  /* No tool needs these two, and where a client's stream is among them it is no child's. */
  if (dup2 (fd, STDIN_FILENO) < 0 || dup2 (fd, STDOUT_FILENO) < 0)
    _exit (1);
  close_others (roots);
#ifndef HAS_SHADOW_MEMORY
  struct rlimit memory = { .rlim_cur = MEMORY_MAX, .rlim_max = MEMORY_MAX };

  setrlimit (RLIMIT_AS, &memory);
#endif
  if (order == NULL)
    {
      arguments = read_order (&read);
      order = &read;
    }
  value = order->func (roots, arguments, order->tool);
  text = value == NULL ? NULL : ow_json_dump (value, &length);
  if (text == NULL)
    _exit (1);
  write_all (STDOUT_FILENO, text, length);
  /* Its end is seen before this process is taken apart. */
  shutdown (STDOUT_FILENO, SHUT_RDWR);
  _exit (0);
}

/* --- its end --- */

static void
fork_free (Fork *self)
{
  for (Fork **at = &self->runner->forks->list; *at != NULL; at = &(*at)->next)
    {
      if (*at == self)
        {
          *at = self->next;
          break;
        }
    }
  if (self->runner->forks->spare == self)
    self->runner->forks->spare = NULL;
  ow_runner_loop_remove (self->runner->loop, self->source);
  if (self->fd >= 0)
    close (self->fd);
  free (self->text);
  free (self);
}

static void
fork_answer (Fork   *self,
             json_t *value)
{
  OwRunnerForkDone done = self->done;

  self->done = NULL;
  done (value, self->status, self->done_data);
  json_decref (value);
  /* The client has its answer: now there is time for what the next call would wait for. */
  ow_runner_fork_prepare (self->runner);
}

/* A whole answer counts as soon as it is there; why there is none is told by the child's end. */
static void
finish_when_done (Fork *self)
{
  char error[OW_WIRE_ERROR_SIZE];
  json_t *value = NULL;

  if (self->fd < 0 && self->done != NULL && self->length > 0
      && (!self->ended || (WIFEXITED (self->status) && WEXITSTATUS (self->status) == 0)))
    value = ow_json_parse (self->text, self->length, error);
  if (value != NULL || (self->fd < 0 && self->ended && self->done != NULL))
    fork_answer (self, value);
  if (self->ended && self->done == NULL)
    fork_free (self);
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
  self->source = NULL;
  close (self->fd);
  self->fd = -1;
  finish_when_done (self);
}

/* --- its begin --- */

/* @order and @arguments NULL: to be sent later. */
static Fork *
fork_new (OwRunner     *runner,
          const Order  *order,
          const json_t *arguments)
{
  pid_t parent = getpid ();
  Fork *self = calloc (1, sizeof *self);
  int fds[2];

  if (self == NULL)
    return NULL;
  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
    {
      free (self);
      return NULL;
    }
  *self = (Fork) { .runner = runner, .fd = fds[0] };
  self->pid = fork ();
  if (self->pid == 0)
    child_main (&runner->roots, order, arguments, fds[1], parent);
  close (fds[1]);
  if (self->pid < 0)
    {
      close (fds[0]);
      free (self);
      return NULL;
    }
  fcntl (fds[0], F_SETFL, O_NONBLOCK);
  self->next = runner->forks->list;
  runner->forks->list = self;
  ow_runner_children_watch (runner->children, self->pid, on_child_ended, self);
  return self;
}

static bool
send_order (int          fd,
            const Order *order,
            char        *text)
{
  struct iovec parts[] = {
    { .iov_base = (void *) order, .iov_len = sizeof *order },
    { .iov_base = text, .iov_len = order->length },
  };
  struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

  return sendmsg (fd, &message, MSG_NOSIGNAL) == (ssize_t) (sizeof *order + order->length);
}

/* Gives it to the child that waits, if one does and it can be given. */
static Fork *
use_spare (OwRunner     *runner,
           Order        *order,
           const json_t *arguments)
{
  Fork *spare = runner->forks->spare;
  char *text = spare == NULL ? NULL : ow_json_dump (arguments, &order->length);
  bool given = text != NULL && order->length <= ORDER_MAX;

  if (given)
    {
      runner->forks->spare = NULL;
      given = send_order (spare->fd, order, text);
      /* It is gone, or will not get the rest. */
      if (!given)
        kill (spare->pid, SIGKILL);
    }
  free (text);
  return given ? spare : NULL;
}

pid_t
ow_runner_fork_start (OwRunner         *runner,
                      OwRunnerForkFunc  func,
                      const json_t     *arguments,
                      OwRunnerToolFunc  tool,
                      OwRunnerForkDone  done,
                      void             *done_data)
{
  Order order = { .func = func, .tool = tool };
  Fork *self = use_spare (runner, &order, arguments);

  if (self == NULL)
    self = fork_new (runner, &order, arguments);
  if (self == NULL)
    return -1;
  self->source = ow_runner_loop_add (runner->loop, self->fd, EPOLLIN, on_child_output, self);
  if (self->source == NULL)
    {
      kill (self->pid, SIGKILL);
      return -1;
    }
  self->done = done;
  self->done_data = done_data;
  return self->pid;
}

void
ow_runner_fork_prepare (OwRunner *runner)
{
  if (runner->forks->spare == NULL)
    runner->forks->spare = fork_new (runner, NULL, NULL);
}

OwRunnerForks *
ow_runner_forks_new (void)
{
  return calloc (1, sizeof (OwRunnerForks));
}

void
ow_runner_forks_free (OwRunnerForks *self)
{
  if (self == NULL)
    return;
  while (self->list != NULL)
    fork_free (self->list);
  free (self);
}

/* --- file tools --- */

typedef struct {
  OwRunner     *runner;
  OwRunnerTask *task;
  pid_t         pid;
  bool          timed_out;
  OwRunnerTimer timer;
} Tool;

static json_t *
run_tool (const OwRunnerRoots *roots,
          const json_t        *arguments,
          OwRunnerToolFunc     tool)
{
  OwRunnerToolResult result = { 0 };

  tool (roots, arguments, &result);
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
      ow_runner_watch_note (self->runner->watch, json_object_get (value, "structuredContent"));
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
      *self = (Tool) { .runner = runner, .task = task };
      self->pid = ow_runner_fork_start (runner, run_tool, arguments, func, on_tool_done, self);
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
