/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-crew-private.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-buffer-private.h"

#define MAX_THREADS 8
#define STACK_BYTES (1024u * 1024u)

enum {
  WAITING,
  RUNNING,
  DONE,
};

typedef struct {
  OwRunnerCrew *crew;
  void         *desk;   /* (owned) */
  pthread_t     thread;
} Helper;

struct _OwRunnerCrew {
  const OwRunnerCrewClass *class;
  void           *desk;      /* (borrowed) */
  void           *user_data;
  Helper          helpers[MAX_THREADS];
  size_t          wanted;
  size_t          n;
  pthread_mutex_t lock;
  pthread_cond_t  given;     /* a job is there, or the end */
  pthread_cond_t  done;      /* a job was done */
  OwRunnerJob    *first;     /* those that wait */
  OwRunnerJob    *last;
  size_t          waiting;
  size_t          running;
  bool            ending;
};

size_t
ow_runner_crew_size (void)
{
  cpu_set_t set;
  int n = 1;

  if (sched_getaffinity (0, sizeof set, &set) == 0)
    n = CPU_COUNT (&set);
  return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (size_t) n;
}

OwRunnerCrew *
ow_runner_crew_new (const OwRunnerCrewClass *class,
                    void                    *desk,
                    void                    *user_data)
{
  size_t size = ow_runner_crew_size ();
  OwRunnerCrew *self;

  if (size < 2)
    return NULL;
  self = ow_runner_buffer_alloc (sizeof *self);
  memset (self, 0, sizeof *self);
  self->class = class;
  self->desk = desk;
  self->user_data = user_data;
  self->wanted = size - 1;
  pthread_mutex_init (&self->lock, NULL);
  pthread_cond_init (&self->given, NULL);
  pthread_cond_init (&self->done, NULL);
  return self;
}

/* The first job that waits; the lock is held. */
static OwRunnerJob *
take (OwRunnerCrew *self)
{
  OwRunnerJob *job = self->first;

  self->first = job->next;
  if (self->first == NULL)
    self->last = NULL;
  self->waiting--;
  self->running++;
  job->state = RUNNING;
  return job;
}

/* Does it, with the lock given up meanwhile. */
static void
work (OwRunnerCrew *self,
      OwRunnerJob  *job,
      void         *desk)
{
  pthread_mutex_unlock (&self->lock);
  self->class->work (job, desk);
  pthread_mutex_lock (&self->lock);
  if (!self->class->frees)
    job->state = DONE;
  self->running--;
  pthread_cond_signal (&self->done);
}

static void *
help (void *data)
{
  Helper *helper = data;
  OwRunnerCrew *self = helper->crew;

  pthread_mutex_lock (&self->lock);
  for (;;)
    {
      while (self->first == NULL && !self->ending)
        pthread_cond_wait (&self->given, &self->lock);
      if (self->first == NULL)
        break;
      work (self, take (self), helper->desk);
    }
  pthread_mutex_unlock (&self->lock);
  return NULL;
}

static void
start_helpers (OwRunnerCrew *self)
{
  pthread_attr_t attributes;
  sigset_t all;
  sigset_t before;

  /* Signals are the first thread's. */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  pthread_attr_init (&attributes);
  pthread_attr_setstacksize (&attributes, STACK_BYTES);
  while (self->n < self->wanted)
    {
      Helper *helper = &self->helpers[self->n];

      helper->crew = self;
      helper->desk = self->class->desk_new (self->user_data);
      if (helper->desk == NULL)
        break;
      if (pthread_create (&helper->thread, &attributes, help, helper) != 0)
        {
          self->class->desk_free (helper->desk, self->user_data);
          break;
        }
      self->n++;
    }
  pthread_attr_destroy (&attributes);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  /* One attempt: what cannot be had now is not asked for with each job. */
  self->wanted = self->n;
}

void
ow_runner_crew_push (OwRunnerCrew *self,
                     OwRunnerJob  *job)
{
  if (self->n < self->wanted)
    start_helpers (self);
  job->next = NULL;
  pthread_mutex_lock (&self->lock);
  job->state = WAITING;
  if (self->last != NULL)
    self->last->next = job;
  else
    self->first = job;
  self->last = job;
  self->waiting++;
  pthread_cond_signal (&self->given);
  pthread_mutex_unlock (&self->lock);
}

bool
ow_runner_crew_wants (OwRunnerCrew *self)
{
  bool wants;

  pthread_mutex_lock (&self->lock);
  wants = self->wanted > 0 && self->waiting < self->wanted * 2;
  pthread_mutex_unlock (&self->lock);
  return wants;
}

void
ow_runner_crew_finish (OwRunnerCrew *self,
                       OwRunnerJob  *job)
{
  pthread_mutex_lock (&self->lock);
  while (job->state != DONE)
    {
      if (self->first != NULL)
        work (self, take (self), self->desk);
      else
        pthread_cond_wait (&self->done, &self->lock);
    }
  pthread_mutex_unlock (&self->lock);
}

void
ow_runner_crew_drain (OwRunnerCrew *self)
{
  pthread_mutex_lock (&self->lock);
  while (self->first != NULL || self->running > 0)
    {
      if (self->first != NULL)
        work (self, take (self), self->desk);
      else
        pthread_cond_wait (&self->done, &self->lock);
    }
  pthread_mutex_unlock (&self->lock);
}

void
ow_runner_crew_drop (OwRunnerCrew *self)
{
  pthread_mutex_lock (&self->lock);
  self->first = NULL;
  self->last = NULL;
  self->waiting = 0;
  while (self->running > 0)
    pthread_cond_wait (&self->done, &self->lock);
  pthread_mutex_unlock (&self->lock);
}

void
ow_runner_crew_free (OwRunnerCrew *self)
{
  if (self == NULL)
    return;
  pthread_mutex_lock (&self->lock);
  self->ending = true;
  pthread_cond_broadcast (&self->given);
  pthread_mutex_unlock (&self->lock);
  for (size_t i = 0; i < self->n; i++)
    {
      pthread_join (self->helpers[i].thread, NULL);
      self->class->desk_free (self->helpers[i].desk, self->user_data);
    }
  pthread_mutex_destroy (&self->lock);
  pthread_cond_destroy (&self->given);
  pthread_cond_destroy (&self->done);
  free (self);
}
