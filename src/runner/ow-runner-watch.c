/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-watch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ow-runner-path-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-watcher-private.h"
#include "ow-runner-worker-private.h"

/* A command waits that long for the first look. */
#define FIRST_MAX_MS 100

struct _OwRunnerWatch {
  OwRunner         *runner;
  pid_t             pid;      /* 0: none runs */
  int               fd;       /* -1: none */
  OwRunnerSource   *source;
  uint32_t          number;   /* of the last look that was asked for */
  bool              busy;     /* its answer is still to come */
  bool              blind;    /* changes since the last look may have been missed */
  OwRunnerTimer     timer;
  OwRunnerWatchFunc func;     /* (nullable) who waits */
  void             *user_data;
  bool              looking;  /* for an answer, and not only to begin */
};

int64_t
ow_runner_watch_clock (void)
{
  struct timespec now;

  clock_gettime (CLOCK_REALTIME_COARSE, &now);
  return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool
has_folder (const OwRunner *runner)
{
  for (size_t i = 0; i < runner->roots.n; i++)
    {
      if (!runner->roots.read_only[i])
        return true;
    }
  return false;
}

/* --- in the process that looks --- */

static void
child_main (const OwRunnerRoots *roots,
            int                  fd,
            pid_t                parent)
{
  ow_runner_process_reset ();
  signal (SIGPIPE, SIG_IGN);
  if (getppid () != parent || dup2 (fd, STDIN_FILENO) < 0 || dup2 (fd, STDOUT_FILENO) < 0)
    _exit (1);
  ow_runner_worker_close_others (roots);
  ow_runner_watcher_run (roots, STDIN_FILENO);
  _exit (0);
}

/* --- in the server --- */

/* Whoever waits gets @changes, or that nothing could be followed. */
static void
call_waiter (OwRunnerWatch *self,
             json_t        *changes)
{
  OwRunnerWatchFunc func = self->func;
  json_t *none = NULL;

  if (func == NULL)
    return;
  self->func = NULL;
  ow_runner_loop_stop_timer (self->runner->loop, &self->timer);
  if (self->looking && changes == NULL)
    {
      none = json_object ();
      json_object_set_new (none, "files", json_array ());
      json_object_set_new (none, "total", json_integer (0));
      json_object_set_new (none, "between", json_integer (0));
      json_object_set_new (none, "cut", json_boolean (has_folder (self->runner)));
      json_object_set_new (none, "undoable", json_false ());
    }
  func (self->looking && changes == NULL ? none : changes, self->user_data);
  json_decref (none);
}

static void
stop (OwRunnerWatch *self)
{
  ow_runner_loop_remove (self->runner->loop, self->source);
  self->source = NULL;
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
  if (self->pid > 0)
    kill (self->pid, SIGKILL);
  self->busy = false;
  self->blind = true;
}

static void
on_ended (int   status,
          void *user_data)
{
  OwRunnerWatch *self = user_data;

  self->pid = 0;
  stop (self);
  call_waiter (self, NULL);
}

static void
on_answer (uint32_t events,
           void    *user_data)
{
  OwRunnerWatch *self = user_data;
  char *text = malloc (OW_RUNNER_WATCHER_MESSAGE_MAX);
  ssize_t got = text == NULL ? -1 : recv (self->fd, text, OW_RUNNER_WATCHER_MESSAGE_MAX, 0);
  char error[OW_WIRE_ERROR_SIZE];
  json_t *object = got > 0 ? ow_json_parse (text, (size_t) got, error) : NULL;

  free (text);
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (object == NULL)
    {
      /* Its end is heard of as a child's. */
      stop (self);
      call_waiter (self, NULL);
      return;
    }
  if (ow_json_get_int (object, "number", 0) == (json_int_t) self->number)
    {
      self->busy = false;
      json_object_del (object, "number");
      if (self->blind && self->looking)
        json_object_set_new (object, "cut", json_true ());
      self->blind = false;
      call_waiter (self, self->looking ? object : NULL);
    }
  json_decref (object);
}

static bool
ask (OwRunnerWatch *self,
     int64_t        since)
{
  OwRunnerWatcherRequest request = { .kind = OW_RUNNER_WATCHER_LOOK, .number = self->number + 1,
                                     .since = since };

  if (self->fd < 0 || self->busy
      || send (self->fd, &request, sizeof request, MSG_NOSIGNAL) != (ssize_t) sizeof request)
    {
      self->blind = true;
      return false;
    }
  self->number++;
  self->busy = true;
  return true;
}

void
ow_runner_watch_start (OwRunnerWatch *self)
{
  pid_t parent = getpid ();
  int fds[2];

  if (self->fd >= 0 || self->pid > 0 || !has_folder (self->runner)
      || socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
    return;
  self->pid = fork ();
  if (self->pid == 0)
    child_main (&self->runner->roots, fds[1], parent);
  close (fds[1]);
  if (self->pid < 0)
    {
      self->pid = 0;
      close (fds[0]);
      return;
    }
  self->fd = fds[0];
  fcntl (self->fd, F_SETFL, O_NONBLOCK);
  ow_runner_children_watch (self->runner->children, self->pid, on_ended, self);
  self->source = ow_runner_loop_add (self->runner->loop, self->fd, EPOLLIN, on_answer, self);
  if (self->source == NULL || !ask (self, 0))
    stop (self);
  else
    self->looking = self->blind = false;
}

static void
on_timeout (void *user_data)
{
  OwRunnerWatch *self = user_data;

  self->blind = true;
  call_waiter (self, NULL);
}

static void
wait_for_answer (OwRunnerWatch    *self,
                 bool              looking,
                 int               max_ms,
                 OwRunnerWatchFunc func,
                 void             *user_data)
{
  self->looking = looking;
  self->func = func;
  self->user_data = user_data;
  self->timer.func = on_timeout;
  self->timer.user_data = self;
  ow_runner_loop_start_timer (self->runner->loop, &self->timer, max_ms);
}

bool
ow_runner_watch_ready (OwRunnerWatch    *self,
                       OwRunnerWatchFunc func,
                       void             *user_data)
{
  ow_runner_watch_start (self);
  /* One that was too slow before is not waited for again. */
  if (!self->busy || self->blind)
    return true;
  wait_for_answer (self, false, FIRST_MAX_MS, func, user_data);
  return false;
}

void
ow_runner_watch_look (OwRunnerWatch    *self,
                      int64_t           since,
                      OwRunnerWatchFunc func,
                      void             *user_data)
{
  bool asked = ask (self, since);

  wait_for_answer (self, true, asked ? OW_RUNNER_WATCH_MAX_MS : 0, func, user_data);
}

/* --- what the tools did --- */

typedef struct {
  OwRunnerWatch *watch;
  char          *message; /* (owned) */
  size_t         length;
} Notes;

static void
send_notes (Notes *self)
{
  if (self->length > sizeof (OwRunnerWatcherRequest)
      && send (self->watch->fd, self->message, self->length, MSG_NOSIGNAL)
      != (ssize_t) self->length)
    self->watch->blind = true;
  self->length = sizeof (OwRunnerWatcherRequest);
}

static void
add_note (Notes        *self,
          const json_t *path)
{
  size_t length = json_string_length (path) + 1;

  if (!json_is_string (path) || length > OW_RUNNER_PATH_MAX + 1)
    return;
  if (self->length + length > OW_RUNNER_WATCHER_MESSAGE_MAX)
    send_notes (self);
  memcpy (self->message + self->length, json_string_value (path), length);
  self->length += length;
}

void
ow_runner_watch_note (OwRunnerWatch *self,
                      const json_t  *structured)
{
  const json_t *change = json_object_get (structured, "change");
  const json_t *files = json_object_get (structured, "files");
  const OwRunnerWatcherRequest request = { .kind = OW_RUNNER_WATCHER_NOTE };
  Notes notes = { .watch = self, .length = sizeof request };

  if (self->fd < 0 || (change == NULL && files == NULL))
    return;
  notes.message = malloc (OW_RUNNER_WATCHER_MESSAGE_MAX);
  if (notes.message == NULL)
    return;
  memcpy (notes.message, &request, sizeof request);
  add_note (&notes, json_object_get (change, "path"));
  for (size_t i = 0; i < json_array_size (files); i++)
    {
      const json_t *file = json_array_get (files, i);

      if (json_object_get (file, "change") != NULL)
        add_note (&notes, json_object_get (file, "path"));
    }
  send_notes (&notes);
  free (notes.message);
}

OwRunnerWatch *
ow_runner_watch_new (OwRunner *runner)
{
  OwRunnerWatch *self = calloc (1, sizeof *self);

  if (self == NULL)
    return NULL;
  self->runner = runner;
  self->fd = -1;
  return self;
}

void
ow_runner_watch_free (OwRunnerWatch *self)
{
  if (self == NULL)
    return;
  ow_runner_loop_stop_timer (self->runner->loop, &self->timer);
  self->func = NULL;
  stop (self);
  free (self);
}
