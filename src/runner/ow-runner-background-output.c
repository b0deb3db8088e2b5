/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-background-output-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ow-runner-utf8-private.h"

/* What an account may have without being root. */
#define PIPE_SIZE   (1024 * 1024)
#define READ_SIZE   OW_RUNNER_BACKGROUND_HALF
/* A terminal gives 4 KiB at a time. */
#define READS_MAX   16
/* After that much at once there is a pause: at most 200 MiB a second pass. */
#define BUSY_BYTES  (32u * 1024u)
#define BUSY_MS     5
#define HELD_MAX    4u

struct _OwRunnerBackgroundOutput {
  OwRunnerLoop                *loop;
  OwRunnerBackgroundOutputFunc changed;
  void                        *user_data;
  int                          fd;      /* -1: closed */
  int                          null_fd; /* -1: there is none */
  bool                         terminal;
  OwRunnerSource              *source;  /* (nullable) NULL in a pause */
  OwRunnerTimer                pause;
  OwRunnerOutput              *unread;  /* (owned) (nullable) */
  char                         held[HELD_MAX];
  size_t                       held_length;
  uint64_t                     bytes;
};

static void
stop_listening (OwRunnerBackgroundOutput *self)
{
  ow_runner_loop_remove (self->loop, self->source);
  self->source = NULL;
  ow_runner_loop_stop_timer (self->loop, &self->pause);
}

static void
close_all (OwRunnerBackgroundOutput *self)
{
  stop_listening (self);
  if (self->fd >= 0)
    close (self->fd);
  if (self->null_fd >= 0)
    close (self->null_fd);
  self->fd = self->null_fd = -1;
}

static void
keep (OwRunnerBackgroundOutput *self,
      const char               *data,
      size_t                    length)
{
  if (self->unread == NULL)
    self->unread = ow_runner_output_new (false, 2 * OW_RUNNER_BACKGROUND_HALF, 0);
  if (self->unread != NULL)
    ow_runner_output_add (self->unread, OW_RUNNER_STDOUT, data, length);
}

/* The @length bytes at @read, before which there is room for what was held. */
static void
take_in (OwRunnerBackgroundOutput *self,
         char                     *read,
         size_t                    length)
{
  size_t before = self->held_length;
  char *data = read - before;

  memcpy (data, self->held, before);
  length += before;
  self->held_length = ow_runner_utf8_incomplete (data, length);
  memcpy (self->held, data + length - self->held_length, self->held_length);
  if (length > self->held_length)
    keep (self, data, length - self->held_length);
}

/* Of a flood only the end will be kept: what stands before it is not even read. */
static size_t
pass_over (OwRunnerBackgroundOutput *self,
           size_t                    waiting)
{
  ssize_t gone = 0;

  if (self->null_fd >= 0 && self->unread != NULL && waiting > 2 * READ_SIZE
      && ow_runner_output_is_full (self->unread))
    gone = splice (self->fd, NULL, self->null_fd, NULL, waiting - READ_SIZE,
                   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (gone <= 0)
    return 0;
  ow_runner_output_skip (self->unread, (uint64_t) gone + self->held_length);
  self->held_length = 0;
  return (size_t) gone;
}

/* One round. Returns the bytes that went by. */
static size_t
pump (OwRunnerBackgroundOutput *self)
{
  char buffer[HELD_MAX + READ_SIZE];
  int waiting = 0;
  size_t gone = 0;
  ssize_t got;

  if (!self->terminal && ioctl (self->fd, FIONREAD, &waiting) == 0 && waiting > 0)
    gone = pass_over (self, (size_t) waiting);
  for (int i = 0; i < (self->terminal ? READS_MAX : 1); i++)
    {
      got = read (self->fd, buffer + HELD_MAX, READ_SIZE);
      if (got < 0 && (errno == EAGAIN || errno == EINTR))
        break;
      if (got <= 0)
        {
          close_all (self);
          break;
        }
      take_in (self, buffer + HELD_MAX, (size_t) got);
      gone += (size_t) got;
    }
  self->bytes += gone;
  return gone;
}

static void
on_ready (uint32_t events,
          void    *user_data)
{
  OwRunnerBackgroundOutput *self = user_data;
  size_t gone = pump (self);

  if (gone >= BUSY_BYTES && self->fd >= 0)
    {
      ow_runner_loop_remove (self->loop, self->source);
      self->source = NULL;
      ow_runner_loop_start_timer (self->loop, &self->pause, BUSY_MS);
    }
  self->changed (self->user_data);
}

static void
listen_on (void *user_data)
{
  OwRunnerBackgroundOutput *self = user_data;

  self->source = ow_runner_loop_add (self->loop, self->fd, EPOLLIN, on_ready, self);
  /* There is no memory now: later there may be. */
  if (self->source == NULL)
    ow_runner_loop_start_timer (self->loop, &self->pause, 1000);
}

OwRunnerBackgroundOutput *
ow_runner_background_output_new (OwRunnerLoop                *loop,
                                 int                          fd,
                                 bool                         terminal,
                                 OwRunnerBackgroundOutputFunc changed,
                                 void                        *user_data)
{
  OwRunnerBackgroundOutput *self = calloc (1, sizeof *self);

  if (self == NULL)
    {
      close (fd);
      return NULL;
    }
  self->loop = loop;
  self->changed = changed;
  self->user_data = user_data;
  self->fd = fd;
  self->terminal = terminal;
  self->pause = (OwRunnerTimer) { .func = listen_on, .user_data = self };
  self->null_fd = terminal ? -1 : open ("/dev/null", O_WRONLY | O_CLOEXEC);
  fcntl (fd, F_SETFL, O_NONBLOCK);
  if (!terminal)
    fcntl (fd, F_SETPIPE_SZ, PIPE_SIZE);
  listen_on (self);
  return self;
}

void
ow_runner_background_output_free (OwRunnerBackgroundOutput *self,
                                  OwRunnerDrains           *drains)
{
  if (self == NULL)
    return;
  stop_listening (self);
  if (self->fd >= 0)
    ow_runner_drains_add (drains, self->fd);
  self->fd = -1;
  close_all (self);
  ow_runner_output_free (self->unread);
  free (self);
}

void
ow_runner_background_output_catch_up (OwRunnerBackgroundOutput *self)
{
  uint64_t end;
  int waiting = 0;

  /* Not more than was there when this began: one who writes for ever would keep us. */
  if (self->fd >= 0 && ioctl (self->fd, FIONREAD, &waiting) < 0)
    waiting = 0;
  end = self->bytes + (uint64_t) waiting;
  while (self->fd >= 0 && self->bytes < end && pump (self) > 0)
    ;
  /* Once more, for the end. */
  if (self->fd >= 0)
    pump (self);
}

bool
ow_runner_background_output_is_closed (const OwRunnerBackgroundOutput *self)
{
  return self->fd < 0;
}

uint64_t
ow_runner_background_output_get_unread (const OwRunnerBackgroundOutput *self)
{
  return (self->unread == NULL ? 0 : ow_runner_output_get_bytes (self->unread))
         + self->held_length;
}

bool
ow_runner_background_output_has_unread (const OwRunnerBackgroundOutput *self)
{
  return self->unread != NULL || (self->fd < 0 && self->held_length > 0);
}

uint64_t
ow_runner_background_output_get_bytes (const OwRunnerBackgroundOutput *self)
{
  return self->bytes;
}

char *
ow_runner_background_output_take (OwRunnerBackgroundOutput *self,
                                  bool                      last,
                                  size_t                   *length,
                                  uint64_t                 *cut)
{
  char *text;

  if (last && self->held_length > 0)
    {
      keep (self, self->held, self->held_length);
      self->held_length = 0;
    }
  *length = 0;
  *cut = 0;
  if (self->unread == NULL)
    return calloc (1, 1);
  text = ow_runner_output_text (self->unread, length);
  *cut = ow_runner_output_get_cut (self->unread);
  ow_runner_output_free (self->unread);
  self->unread = NULL;
  return text;
}
