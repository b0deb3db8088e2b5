/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ow-runner-private.h"
#include "ow-runner-utf8-private.h"
#include "ow-runner-worker-private.h"
#include "wire/ow-frame.h"

/* The processes that run file tools and probes, one call at a time each. One that ended a
 * call cleanly waits for the next; whatever ends a call otherwise ends its process, and no
 * other call. */

/* Arguments up to this fit into a socket that nobody has read from yet. */
#define ORDER_MAX (64u * 1024)
/* So many of those that wait are left when it is looked, which is some time after there were more.
 * Until then as many wait as there were calls at once, for the next calls of that kind. */
#define IDLE_LEFT 1u
#define IDLE_MS   5000

typedef struct _Fork Fork;
struct _Fork {
  Fork            *next;
  OwRunner        *runner;
  pid_t            pid;
  int              fd;      /* -1: closed */
  OwRunnerSource  *source;
  char            *text;    /* (owned) (nullable) of an answer that is not whole yet */
  size_t           length;
  size_t           room;
  bool             waiting; /* it has no order and may be given one */
  bool             spent;   /* it will get no more */
  bool             killed;  /* by us */
  bool             ended;
  int              status;
  OwRunnerForkDone done;    /* (nullable) NULL: it has no order, or was answered */
  void            *done_data;
  OwRunnerToolFunc func;
  json_t          *arguments; /* (owned) (nullable) of the order */
  uint32_t         number;  /* of the order */
  uint32_t        *begun;   /* (owned) the child's memory too: the order that it began last */
  bool             again;   /* the order was another child's, which did not begin it */
};

struct _OwRunnerForks {
  Fork         *list; /* (owned), the last that was given back first */
  unsigned int  waiting;
  uint32_t      orders; /* given */
  OwRunnerTimer idle;
};

/* --- its end --- */

static void
set_waiting (Fork *self,
             bool  waiting)
{
  OwRunnerForks *forks = self->runner->forks;

  if (self->waiting == waiting)
    return;
  self->waiting = waiting;
  forks->waiting += waiting ? 1 : -1u;
}

static void
fork_unlink (Fork *self)
{
  for (Fork **at = &self->runner->forks->list; *at != NULL; at = &(*at)->next)
    {
      if (*at == self)
        {
          *at = self->next;
          break;
        }
    }
}

static void
fork_close (Fork *self)
{
  set_waiting (self, false);
  self->spent = true;
  ow_runner_loop_remove (self->runner->loop, self->source);
  self->source = NULL;
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
  free (self->text);
  self->text = NULL;
  self->length = 0;
}

static void
fork_free (Fork *self)
{
  fork_unlink (self);
  fork_close (self);
  json_decref (self->arguments);
  munmap (self->begun, sizeof *self->begun);
  free (self);
}

static void
fork_kill (Fork *self)
{
  self->spent = true;
  self->killed = true;
  if (!self->ended)
    kill (self->pid, SIGKILL);
}

/* The call gets what there is of an answer: @answer NULL is none. */
static void
fork_answer (Fork                     *self,
             const OwRunnerForkAnswer *answer)
{
  OwRunnerForkDone done = self->done;

  self->done = NULL;
  json_decref (self->arguments);
  self->arguments = NULL;
  done (answer, self->status, self->done_data);
  /* The client has its answer: now there is time for what the next call would wait for. */
  ow_runner_fork_prepare (self->runner);
}

static bool start (OwRunner         *runner,
                   OwRunnerToolFunc  func,
                   json_t           *arguments,
                   OwRunnerForkDone  done,
                   void             *done_data,
                   bool              again);

/* One that was killed while it waited (by a kernel short of memory, for one) costs no call. */
static bool
begin_again (Fork *self)
{
  if (self->again || self->killed
      || __atomic_load_n (self->begun, __ATOMIC_ACQUIRE) == self->number
      || !start (self->runner, self->func, self->arguments, self->done, self->done_data, true))
    return false;
  self->done = NULL;
  return true;
}

/* Why there is no answer is told by the child's end. */
static void
finish_when_ended (Fork *self)
{
  if (!self->ended)
    return;
  /* What it has written before is in the socket still. */
  if (self->fd >= 0 && self->done != NULL)
    return;
  if (self->done != NULL && !begin_again (self))
    fork_answer (self, NULL);
  fork_free (self);
}

static void
on_child_ended (int   status,
                void *user_data)
{
  Fork *self = user_data;

  self->ended = true;
  self->status = status;
  finish_when_ended (self);
}

/* No answer will come, or none that is looked at. */
static void
give_up (Fork *self)
{
  fork_kill (self);
  fork_close (self);
  finish_when_ended (self);
}

/* --- its answers --- */

static void
on_idle (void *user_data)
{
  OwRunnerForks *self = user_data;
  unsigned int kept = 0;

  for (Fork *fork = self->list; fork != NULL; fork = fork->next)
    {
      /* It ends when it sees the end of its socket. */
      if (fork->waiting && ++kept > IDLE_LEFT)
        fork_close (fork);
    }
}

/* The one that worked last is asked first: what it needs is nearest to the processor. */
static void
give_back (Fork *self)
{
  OwRunnerForks *forks = self->runner->forks;

  set_waiting (self, true);
  if (forks->list != self)
    {
      fork_unlink (self);
      self->next = forks->list;
      forks->list = self;
    }
  if (forks->waiting > IDLE_LEFT && !forks->idle.armed)
    ow_runner_loop_start_timer (self->runner->loop, &forks->idle, IDLE_MS);
}

/* What a child says is only taken as what it must be: one that a hostile file has taken over can
 * make up the answer to its own call, and nothing else. */
static bool
read_answer (const OwRunnerAnswer *head,
             const char           *data,
             OwRunnerForkAnswer   *answer)
{
  char error[OW_WIRE_ERROR_SIZE];

  *answer = (OwRunnerForkAnswer) {
    .text = data, .length = head->text_length, .is_error = head->is_error,
    .structured_text = data + head->text_length, .structured_length = head->structured_length,
  };
  if (!ow_runner_utf8_is_valid (answer->text, answer->length)
      || memchr (answer->structured_text, '\n', answer->structured_length) != NULL)
    return false;
  answer->structured = ow_json_parse (answer->structured_text, answer->structured_length, error);
  return json_is_object (answer->structured);
}

/* Takes a whole answer and returns true, or false where more has to come. @data is @length bytes
 * from its beginning. */
static bool
take_answer (Fork       *self,
             const char *data,
             size_t      length)
{
  OwRunnerForkAnswer answer = { 0 };
  OwRunnerAnswer head;
  size_t whole;

  if (length < sizeof head)
    return false;
  memcpy (&head, data, sizeof head);
  whole = sizeof head + head.text_length + head.structured_length;
  if (head.text_length > OW_RUNNER_TEXT_MAX || head.structured_length > OW_FRAME_MAX_BYTES
      || length > whole || self->done == NULL)
    {
      give_up (self);
      return true;
    }
  if (length < whole)
    return false;
  if (!read_answer (&head, data + sizeof head, &answer))
    {
      give_up (self);
    }
  else
    {
      if (head.goes_on && !self->spent && !self->ended)
        give_back (self);
      else
        self->spent = true;
      fork_answer (self, &answer);
    }
  json_decref (answer.structured);
  return true;
}

static bool
keep_part (Fork       *self,
           const char *data,
           size_t      length)
{
  if (self->length + length > self->room)
    {
      size_t room = 2 * self->length + length;
      char *text = realloc (self->text, room);

      if (text == NULL)
        return false;
      self->text = text;
      self->room = room;
    }
  memcpy (self->text + self->length, data, length);
  self->length += length;
  return true;
}

static void
on_child_output (uint32_t events,
                 void    *user_data)
{
  Fork *self = user_data;
  char buffer[65536];
  ssize_t got = read (self->fd, buffer, sizeof buffer);

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got <= 0)
    {
      fork_close (self);
      finish_when_ended (self);
      return;
    }
  if (self->length == 0 && take_answer (self, buffer, (size_t) got))
    return;
  if (!keep_part (self, buffer, (size_t) got))
    {
      give_up (self);
      return;
    }
  if (self->length > (size_t) got)
    {
      char *text = self->text;
      size_t length = self->length;
      size_t room = self->room;

      /* Its callback may give it its next order. */
      self->text = NULL;
      self->length = 0;
      self->room = 0;
      if (take_answer (self, text, length))
        {
          free (text);
        }
      else
        {
          self->text = text;
          self->length = length;
          self->room = room;
        }
    }
}

/* --- its begin --- */

/* @order and @arguments NULL: to be sent later. */
static Fork *
fork_new (OwRunner            *runner,
          const OwRunnerOrder *order,
          const json_t        *arguments)
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
  fcntl (fds[0], F_SETFL, O_NONBLOCK);
  self->begun = mmap (NULL, sizeof *self->begun, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (self->begun != MAP_FAILED)
    self->source = ow_runner_loop_add (runner->loop, self->fd, EPOLLIN, on_child_output, self);
  self->pid = self->source == NULL ? -1 : fork ();
  if (self->pid == 0)
    ow_runner_worker_main (&runner->roots, order, arguments, fds[1], self->begun, parent);
  close (fds[1]);
  if (self->pid < 0)
    {
      fork_close (self);
      if (self->begun != MAP_FAILED)
        munmap (self->begun, sizeof *self->begun);
      free (self);
      return NULL;
    }
  self->next = runner->forks->list;
  runner->forks->list = self;
  ow_runner_children_watch (runner->children, self->pid, on_child_ended, self);
  return self;
}

static bool
send_order (int                  fd,
            const OwRunnerOrder *order,
            char                *text)
{
  struct iovec parts[] = {
    { .iov_base = (void *) order, .iov_len = sizeof *order },
    { .iov_base = text, .iov_len = order->length },
  };
  struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

  return sendmsg (fd, &message, MSG_NOSIGNAL) == (ssize_t) (sizeof *order + order->length);
}

/* Gives it to a child that waits, where it can be given; one is made if none does. */
static Fork *
use_waiting (OwRunner      *runner,
             OwRunnerOrder *order,
             const json_t  *arguments)
{
  char *text = ow_json_dump (arguments, &order->length);
  Fork *self = NULL;

  if (text != NULL && order->length <= ORDER_MAX)
    {
      ow_runner_fork_prepare (runner);
      self = runner->forks->list;
    }
  for (; self != NULL; self = self->next)
    {
      if (!self->waiting)
        continue;
      set_waiting (self, false);
      if (send_order (self->fd, order, text))
        break;
      /* It is gone, or will not get the rest. */
      fork_kill (self);
    }
  free (text);
  return self;
}

/* Never 0, which stands where nothing was begun. */
static uint32_t
next_number (OwRunnerForks *self)
{
  if (++self->orders == 0)
    self->orders = 1;
  return self->orders;
}

static bool
start (OwRunner         *runner,
       OwRunnerToolFunc  func,
       json_t           *arguments,
       OwRunnerForkDone  done,
       void             *done_data,
       bool              again)
{
  OwRunnerOrder order = { .func = func, .number = next_number (runner->forks) };
  Fork *self = again ? NULL : use_waiting (runner, &order, arguments);

  if (self == NULL)
    self = fork_new (runner, &order, arguments);
  if (self == NULL)
    return false;
  self->done = done;
  self->done_data = done_data;
  self->func = func;
  self->arguments = json_incref (arguments);
  self->number = order.number;
  self->again = again;
  return true;
}

bool
ow_runner_fork_start (OwRunner         *runner,
                      OwRunnerToolFunc  func,
                      json_t           *arguments,
                      OwRunnerForkDone  done,
                      void             *done_data)
{
  return start (runner, func, arguments, done, done_data, false);
}

void
ow_runner_fork_kill (OwRunner *runner,
                     void     *done_data)
{
  for (Fork *self = runner->forks->list; self != NULL; self = self->next)
    {
      if (self->done != NULL && self->done_data == done_data)
        fork_kill (self);
    }
}

void
ow_runner_fork_prepare (OwRunner *runner)
{
  Fork *self = runner->forks->waiting == 0 ? fork_new (runner, NULL, NULL) : NULL;

  if (self != NULL)
    set_waiting (self, true);
}

OwRunnerForks *
ow_runner_forks_new (void)
{
  OwRunnerForks *self = calloc (1, sizeof *self);

  if (self != NULL)
    {
      self->idle.func = on_idle;
      self->idle.user_data = self;
    }
  return self;
}

void
ow_runner_forks_free (OwRunnerForks *self)
{
  if (self == NULL)
    return;
  if (self->list != NULL)
    ow_runner_loop_stop_timer (self->list->runner->loop, &self->idle);
  while (self->list != NULL)
    fork_free (self->list);
  free (self);
}
