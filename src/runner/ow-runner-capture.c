/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-capture-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIPE_SIZE        (256 * 1024)
/* The tail's pipe, the most that is put into it (what is in pieces takes more room than its bytes),
 * and how much has to wait before anything is passed over. */
#define TAIL_PIPE_SIZE   (1024 * 1024)
#define TAIL_MOST        (960u * 1024u)
#define SKIP_FROM        (16 * 1024)
/* A flood that has been quiet for so long is over for now: its end is given to the function. */
#define QUIET_MS         200
#define MAX_DRAINS       128
#define DRAIN_PAUSE_MS   50
#define DRAIN_ROUND_SIZE (64 * 1024)

typedef struct _Drain Drain;
struct _Drain {
  OwRunnerDrains *drains;
  Drain          *next;
  int             fd;
  OwRunnerSource *source; /* NULL while pausing */
  OwRunnerTimer   timer;
};

struct _OwRunnerDrains {
  OwRunnerLoop *loop;
  Drain        *list;
  unsigned int  n;
  char          buffer[DRAIN_ROUND_SIZE];
};

typedef struct {
  OwRunnerCapture *capture;
  OwRunnerStream   stream;
  int              read_fd;
  int              write_fd;
  OwRunnerSource  *source;
} Pipe;

struct _OwRunnerCapture {
  OwRunnerLoop       *loop;
  OwRunnerDrains     *drains;
  OwRunnerCaptureFunc func;
  void               *user_data;
  Pipe                pipes[2];
  bool                paused;
  const OwRunnerCaptureSkip *skip; /* (nullable) */
  int                 tail_fds[2]; /* what was passed over last, unread; -1: not opened */
  int                 null_fd;
  Pipe               *tail_of;     /* (nullable) whose it is */
  size_t              tail_length;
  bool                tail_moved;  /* since it was last looked whether the flood is over */
  OwRunnerTimer       quiet;
  char                buffer[64 * 1024];
};

OwRunnerDrains *
ow_runner_drains_new (OwRunnerLoop *loop)
{
  OwRunnerDrains *self = calloc (1, sizeof *self);

  if (self != NULL)
    self->loop = loop;
  return self;
}

static void
drain_free (Drain *drain)
{
  OwRunnerDrains *drains = drain->drains;

  for (Drain **at = &drains->list; *at != NULL; at = &(*at)->next)
    {
      if (*at == drain)
        {
          *at = drain->next;
          drains->n--;
          break;
        }
    }
  ow_runner_loop_stop_timer (drains->loop, &drain->timer);
  ow_runner_loop_remove (drains->loop, drain->source);
  close (drain->fd);
  free (drain);
}

void
ow_runner_drains_free (OwRunnerDrains *self)
{
  if (self == NULL)
    return;
  while (self->list != NULL)
    drain_free (self->list);
  free (self);
}

/* One read, then a pause: a daemon that writes for ever gets a slow reader and not a
 * core of its own. */
static void
on_drain_ready (uint32_t events,
                void    *user_data)
{
  Drain *drain = user_data;
  ssize_t got = read (drain->fd, drain->drains->buffer, sizeof drain->drains->buffer);

  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
    {
      drain_free (drain);
      return;
    }
  ow_runner_loop_remove (drain->drains->loop, drain->source);
  drain->source = NULL;
  ow_runner_loop_start_timer (drain->drains->loop, &drain->timer, DRAIN_PAUSE_MS);
}

static void
on_drain_timer (void *user_data)
{
  Drain *drain = user_data;

  drain->source = ow_runner_loop_add (drain->drains->loop, drain->fd, EPOLLIN, on_drain_ready,
                                      drain);
  if (drain->source == NULL)
    drain_free (drain);
}

void
ow_runner_drains_add (OwRunnerDrains *self,
                      int             fd)
{
  Drain *drain = self->n < MAX_DRAINS ? calloc (1, sizeof *drain) : NULL;

  if (drain == NULL)
    {
      close (fd);
      return;
    }
  *drain = (Drain) { .drains = self, .next = self->list, .fd = fd,
                     .timer = { .func = on_drain_timer, .user_data = drain } };
  self->list = drain;
  self->n++;
  on_drain_timer (drain);
}

static void
pipe_stop (Pipe *pipe)
{
  ow_runner_loop_remove (pipe->capture->loop, pipe->source);
  pipe->source = NULL;
  close (pipe->read_fd);
  pipe->read_fd = -1;
}

static void on_pipe_ready (uint32_t events,
                           void    *user_data);

void
ow_runner_capture_set_paused (OwRunnerCapture *self,
                              bool             paused)
{
  if (self->paused == paused)
    return;
  self->paused = paused;
  for (int i = 0; i < 2; i++)
    {
      Pipe *pipe = &self->pipes[i];

      if (pipe->read_fd < 0)
        continue;
      if (paused)
        {
          ow_runner_loop_remove (self->loop, pipe->source);
          pipe->source = NULL;
        }
      else
        {
          pipe->source = ow_runner_loop_add (self->loop, pipe->read_fd, EPOLLIN, on_pipe_ready,
                                             pipe);
        }
    }
}

/* --- floods --- */

/* A flood is moved and not copied: its pages go from the pipe to a second one, which holds the end
 * of what came, and from there to nowhere. */

void
ow_runner_capture_set_skip (OwRunnerCapture           *self,
                            const OwRunnerCaptureSkip *skip)
{
  self->skip = skip;
}

static bool
open_tail (OwRunnerCapture *self)
{
  if (self->null_fd >= 0)
    return true;
  self->null_fd = open ("/dev/null", O_WRONLY | O_CLOEXEC);
  if (self->null_fd >= 0 && pipe2 (self->tail_fds, O_CLOEXEC | O_NONBLOCK) == 0
      && fcntl (self->tail_fds[1], F_SETPIPE_SZ, TAIL_PIPE_SIZE) >= TAIL_PIPE_SIZE)
    return true;
  /* Such a pipe is not to be had here: everything is read. */
  self->skip = NULL;
  return false;
}

/* Gives what the tail holds to the function, as if it came now. */
static void
read_tail (OwRunnerCapture *self)
{
  Pipe *pipe = self->tail_of;

  self->tail_of = NULL;
  while (self->tail_length > 0)
    {
      ssize_t got = read (self->tail_fds[0], self->buffer, sizeof self->buffer);

      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        break;
      self->tail_length -= (size_t) got;
      self->func (pipe->stream, self->buffer, (size_t) got, self->user_data);
    }
}

/* Nothing else would come to give it: what was passed over last may be all there is for long. */
static void
on_quiet (void *user_data)
{
  OwRunnerCapture *self = user_data;

  if (self->tail_of == NULL)
    return;
  if (self->tail_moved)
    ow_runner_loop_start_timer (self->loop, &self->quiet, QUIET_MS);
  else
    read_tail (self);
  self->tail_moved = false;
}

/* Makes room for @wanted bytes by throwing away the oldest, and never what has to be kept. */
static void
shorten_tail (OwRunnerCapture *self,
              size_t           wanted)
{
  while (self->tail_length + wanted > TAIL_MOST && self->tail_length > OW_RUNNER_CAPTURE_TAIL)
    {
      ssize_t gone = splice (self->tail_fds[0], NULL, self->null_fd, NULL,
                             self->tail_length - OW_RUNNER_CAPTURE_TAIL, SPLICE_F_NONBLOCK);

      if (gone <= 0)
        break;
      self->tail_length -= (size_t) gone;
      self->skip->skipped ((size_t) gone, self->user_data);
    }
}

/* Returns whether it took what is in the pipe now, or a part of it. */
static bool
pass_over (Pipe *pipe)
{
  OwRunnerCapture *self = pipe->capture;
  int waiting = 0;
  ssize_t moved;

  if (self->skip == NULL || ioctl (pipe->read_fd, FIONREAD, &waiting) < 0
      || waiting < (self->tail_of == NULL ? SKIP_FROM : 1)
      || (self->tail_of != NULL && self->tail_of != pipe)
      || !self->skip->may (self->user_data) || !open_tail (self))
    return false;
  if (waiting > PIPE_SIZE)
    waiting = PIPE_SIZE;
  shorten_tail (self, (size_t) waiting);
  moved = splice (pipe->read_fd, NULL, self->tail_fds[1], NULL, (size_t) waiting,
                  SPLICE_F_NONBLOCK);
  /* Many small pieces fill it before its bytes do. */
  if (moved <= 0)
    return false;
  self->tail_of = pipe;
  self->tail_length += (size_t) moved;
  self->tail_moved = true;
  if (!self->quiet.armed)
    ow_runner_loop_start_timer (self->loop, &self->quiet, QUIET_MS);
  return true;
}

/* All that waits in the pipe, and not a part of it: the loop takes the two pipes in the order in
 * which they were written to, and what is left behind here would come after the other's. */
static void
on_pipe_ready (uint32_t events,
               void    *user_data)
{
  Pipe *pipe = user_data;
  OwRunnerCapture *self = pipe->capture;
  int waiting = 0;
  ssize_t got;

  if (pass_over (pipe))
    return;
  if (self->tail_of != NULL)
    read_tail (self);
  if (ioctl (pipe->read_fd, FIONREAD, &waiting) < 0)
    waiting = 0;
  do
    {
      got = read (pipe->read_fd, self->buffer, sizeof self->buffer);
      if (got > 0)
        self->func (pipe->stream, self->buffer, (size_t) got, self->user_data);
      waiting -= (int) got;
    }
  while (got > 0 && waiting > 0 && !self->paused);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
    pipe_stop (pipe);
}

OwRunnerCapture *
ow_runner_capture_new (OwRunnerLoop       *loop,
                       OwRunnerDrains     *drains,
                       OwRunnerCaptureFunc func,
                       void               *user_data)
{
  OwRunnerCapture *self = calloc (1, sizeof *self);

  if (self == NULL)
    return NULL;
  *self = (OwRunnerCapture) { .loop = loop, .drains = drains, .func = func,
                              .user_data = user_data, .tail_fds = { -1, -1 }, .null_fd = -1,
                              .quiet = { .func = on_quiet, .user_data = self } };
  for (int i = 0; i < 2; i++)
    {
      const Pipe closed = { .capture = self, .stream = (OwRunnerStream) i, .read_fd = -1,
                            .write_fd = -1 };

      self->pipes[i] = closed;
    }
  for (int i = 0; i < 2; i++)
    {
      Pipe *pipe = &self->pipes[i];
      int fds[2];

      if (pipe2 (fds, O_CLOEXEC) == 0)
        {
          pipe->read_fd = fds[0];
          pipe->write_fd = fds[1];
          fcntl (fds[0], F_SETFL, O_NONBLOCK);
          fcntl (fds[0], F_SETPIPE_SZ, PIPE_SIZE);
          pipe->source = ow_runner_loop_add (loop, fds[0], EPOLLIN, on_pipe_ready, pipe);
        }
      if (pipe->source == NULL)
        {
          ow_runner_capture_finish (self);
          return NULL;
        }
    }
  return self;
}

int
ow_runner_capture_get_fd (OwRunnerCapture *self,
                          OwRunnerStream   stream)
{
  return self->pipes[stream].write_fd;
}

void
ow_runner_capture_close_fds (OwRunnerCapture *self)
{
  for (int i = 0; i < 2; i++)
    {
      if (self->pipes[i].write_fd >= 0)
        close (self->pipes[i].write_fd);
      self->pipes[i].write_fd = -1;
    }
}

/* Exactly the bytes that are there now: one who writes for ever would keep us. */
static void
pipe_take_rest (Pipe *pipe)
{
  OwRunnerCapture *self = pipe->capture;
  int waiting = 0;

  if (ioctl (pipe->read_fd, FIONREAD, &waiting) < 0)
    return;
  while (waiting > 0)
    {
      size_t wanted = (size_t) waiting < sizeof self->buffer ? (size_t) waiting
                                                             : sizeof self->buffer;
      ssize_t got = read (pipe->read_fd, self->buffer, wanted);

      if (got <= 0)
        break;
      self->func (pipe->stream, self->buffer, (size_t) got, self->user_data);
      waiting -= (int) got;
    }
}

void
ow_runner_capture_finish (OwRunnerCapture *self)
{
  ow_runner_capture_close_fds (self);
  ow_runner_loop_stop_timer (self->loop, &self->quiet);
  if (self->tail_of != NULL)
    read_tail (self);
  for (int i = 0; i < 2; i++)
    {
      if (self->tail_fds[i] >= 0)
        close (self->tail_fds[i]);
    }
  if (self->null_fd >= 0)
    close (self->null_fd);
  for (int i = 0; i < 2; i++)
    {
      Pipe *pipe = &self->pipes[i];

      if (pipe->read_fd < 0)
        continue;
      pipe_take_rest (pipe);
      ow_runner_loop_remove (self->loop, pipe->source);
      ow_runner_drains_add (self->drains, pipe->read_fd);
    }
  free (self);
}
