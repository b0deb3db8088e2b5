/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-loop-private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct _OwRunnerSource {
  int                fd;
  uint32_t           events;
  bool               always;  /* a regular file: epoll refuses it, it is always ready */
  bool               removed;
  OwRunnerSourceFunc func;
  void              *user_data;
  OwRunnerSource    *next;
};

struct _OwRunnerLoop {
  int             epoll_fd;
  OwRunnerSource *sources;
  OwRunnerTimer  *timers;
  bool            removed_any;
  bool            quit;
  int             status;
};

int64_t
ow_runner_loop_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

OwRunnerLoop *
ow_runner_loop_new (void)
{
  OwRunnerLoop *self = calloc (1, sizeof *self);

  if (self == NULL)
    return NULL;
  self->epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
  if (self->epoll_fd < 0)
    {
      free (self);
      return NULL;
    }
  return self;
}

void
ow_runner_loop_free (OwRunnerLoop *self)
{
  if (self == NULL)
    return;
  while (self->sources != NULL)
    {
      OwRunnerSource *source = self->sources;

      self->sources = source->next;
      free (source);
    }
  close (self->epoll_fd);
  free (self);
}

OwRunnerSource *
ow_runner_loop_add (OwRunnerLoop      *self,
                    int                fd,
                    uint32_t           events,
                    OwRunnerSourceFunc func,
                    void              *user_data)
{
  OwRunnerSource *source = calloc (1, sizeof *source);
  struct epoll_event event = { .events = events, .data.ptr = source };

  if (source == NULL)
    return NULL;
  *source = (OwRunnerSource) { .fd = fd, .events = events, .func = func, .user_data = user_data };
  if (epoll_ctl (self->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
    {
      if (errno != EPERM)
        {
          free (source);
          return NULL;
        }
      source->always = true;
    }
  source->next = self->sources;
  self->sources = source;
  return source;
}

void
ow_runner_loop_set_events (OwRunnerLoop   *self,
                           OwRunnerSource *source,
                           uint32_t        events)
{
  struct epoll_event event = { .events = events, .data.ptr = source };

  if (source->events == events)
    return;
  source->events = events;
  if (!source->always)
    epoll_ctl (self->epoll_fd, EPOLL_CTL_MOD, source->fd, &event);
}

void
ow_runner_loop_remove (OwRunnerLoop   *self,
                       OwRunnerSource *source)
{
  if (source == NULL || source->removed)
    return;
  if (!source->always)
    epoll_ctl (self->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
  /* Events of it may be in the batch that is handed out now: freed after that. */
  source->removed = true;
  self->removed_any = true;
}

void
ow_runner_loop_start_timer (OwRunnerLoop  *self,
                            OwRunnerTimer *timer,
                            int64_t        after_ms)
{
  ow_runner_loop_stop_timer (self, timer);
  timer->deadline = ow_runner_loop_now () + after_ms;
  timer->armed = true;
  timer->next = self->timers;
  self->timers = timer;
}

void
ow_runner_loop_stop_timer (OwRunnerLoop  *self,
                           OwRunnerTimer *timer)
{
  if (!timer->armed)
    return;
  for (OwRunnerTimer **at = &self->timers; *at != NULL; at = &(*at)->next)
    {
      if (*at == timer)
        {
          *at = timer->next;
          break;
        }
    }
  timer->armed = false;
  timer->next = NULL;
}

static void
sweep_sources (OwRunnerLoop *self)
{
  OwRunnerSource **at = &self->sources;

  if (!self->removed_any)
    return;
  self->removed_any = false;
  while (*at != NULL)
    {
      OwRunnerSource *source = *at;

      if (source->removed)
        {
          *at = source->next;
          free (source);
        }
      else
        {
          at = &source->next;
        }
    }
}

/* Returns the milliseconds to the first timer, -1 without one. */
static int
run_timers (OwRunnerLoop *self)
{
  int64_t now = ow_runner_loop_now ();
  int64_t first = INT64_MAX;
  OwRunnerTimer *timer = self->timers;

  while (timer != NULL && !self->quit)
    {
      if (timer->deadline <= now)
        {
          ow_runner_loop_stop_timer (self, timer);
          timer->func (timer->user_data);
          /* The callback may have changed the list. */
          timer = self->timers;
          first = INT64_MAX;
          continue;
        }
      if (timer->deadline < first)
        first = timer->deadline;
      timer = timer->next;
    }
  if (first == INT64_MAX)
    return -1;
  return first - now > 60000 ? 60000 : (int) (first - now);
}

static bool
run_always (OwRunnerLoop *self,
            bool          dispatch)
{
  bool any = false;

  for (OwRunnerSource *source = self->sources; source != NULL; source = source->next)
    {
      if (!source->always || source->removed || source->events == 0)
        continue;
      any = true;
      if (dispatch)
        source->func (source->events, source->user_data);
    }
  return any;
}

int
ow_runner_loop_run (OwRunnerLoop *self)
{
  struct epoll_event events[32];

  while (!self->quit)
    {
      int timeout = run_timers (self);
      int n;

      if (self->quit)
        break;
      sweep_sources (self);
      if (run_always (self, false))
        timeout = 0;
      n = epoll_wait (self->epoll_fd, events, 32, timeout);
      if (n < 0 && errno != EINTR)
        return 1;
      for (int i = 0; i < n && !self->quit; i++)
        {
          OwRunnerSource *source = events[i].data.ptr;

          if (!source->removed)
            source->func (events[i].events, source->user_data);
        }
      if (!self->quit)
        run_always (self, true);
    }
  return self->status;
}

void
ow_runner_loop_quit (OwRunnerLoop *self,
                     int           status)
{
  if (self->quit)
    return;
  self->quit = true;
  self->status = status;
}
