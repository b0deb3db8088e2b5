/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-proxy-resolver-private.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* getaddrinfo() keeps whole answers and a parsed resolv.conf on the stack. */
#define STACK_BYTES (512u * 1024u)

typedef struct _Job Job;

struct _Job {
  Job             *next;
  OwProxyResolver *resolver;
  OwHostName      host;
  unsigned int     port;
  OwProxyAnswer    answer;
};

struct _OwProxyResolver {
  pthread_mutex_t mutex;
  int             event_fd;
  unsigned int    n_threads;
  Job            *first;      /* finished, in their order */
  Job            *last;
};

/* Lives as long as the process: threads may come back to it at any time. */
OwProxyResolver *
ow_proxy_resolver_new (void)
{
  OwProxyResolver *self = calloc (1, sizeof *self);

  if (self == NULL)
    abort ();
  pthread_mutex_init (&self->mutex, NULL);
  self->event_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (self->event_fd < 0)
    abort ();
  return self;
}

int
ow_proxy_resolver_get_fd (const OwProxyResolver *self)
{
  return self->event_fd;
}

static void
look_up (Job *job)
{
  const struct addrinfo hints = {
    .ai_family = AF_UNSPEC,
    .ai_socktype = SOCK_STREAM,
    .ai_flags = AI_NUMERICSERV | (job->host.is_address ? AI_NUMERICHOST : 0),
  };
  OwProxyAnswer *answer = &job->answer;
  struct addrinfo *found = NULL;
  char service[16];

  snprintf (service, sizeof service, "%u", job->port);
  if (getaddrinfo (job->host.text, service, &hints, &found) != 0)
    return;
  for (struct addrinfo *one = found; one != NULL; one = one->ai_next)
    {
      if (answer->n_addresses == OW_PROXY_RESOLVER_MAX_ADDRESSES ||
          one->ai_addrlen > sizeof answer->addresses[0])
        break;
      memcpy (&answer->addresses[answer->n_addresses++], one->ai_addr, one->ai_addrlen);
    }
  freeaddrinfo (found);
}

static void *
run (void *user_data)
{
  Job *job = user_data;
  OwProxyResolver *self = job->resolver;

  look_up (job);
  pthread_mutex_lock (&self->mutex);
  if (self->last != NULL)
    self->last->next = job;
  else
    self->first = job;
  self->last = job;
  self->n_threads--;
  pthread_mutex_unlock (&self->mutex);
  eventfd_write (self->event_fd, 1);
  return NULL;
}

static bool
start_thread (Job *job)
{
  pthread_attr_t attributes;
  pthread_t thread;
  bool started;

  pthread_attr_init (&attributes);
  pthread_attr_setdetachstate (&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize (&attributes, STACK_BYTES);
  started = pthread_create (&thread, &attributes, run, job) == 0;
  pthread_attr_destroy (&attributes);
  return started;
}

bool
ow_proxy_resolver_start (OwProxyResolver   *self,
                         uint64_t           ticket,
                         const OwHostName *host,
                         unsigned int       port)
{
  bool room;
  Job *job;

  pthread_mutex_lock (&self->mutex);
  room = self->n_threads < OW_PROXY_RESOLVER_MAX_THREADS;
  if (room)
    self->n_threads++;
  pthread_mutex_unlock (&self->mutex);
  if (!room)
    return false;

  job = calloc (1, sizeof *job);
  if (job == NULL)
    abort ();
  job->resolver = self;
  job->host = *host;
  job->port = port;
  job->answer.ticket = ticket;
  if (start_thread (job))
    return true;
  free (job);
  pthread_mutex_lock (&self->mutex);
  self->n_threads--;
  pthread_mutex_unlock (&self->mutex);
  return false;
}

bool
ow_proxy_resolver_take (OwProxyResolver *self,
                        OwProxyAnswer   *answer)
{
  eventfd_t ignored;
  Job *job;

  pthread_mutex_lock (&self->mutex);
  job = self->first;
  if (job != NULL)
    self->first = job->next;
  if (self->first == NULL)
    {
      self->last = NULL;
      eventfd_read (self->event_fd, &ignored);
    }
  pthread_mutex_unlock (&self->mutex);
  if (job == NULL)
    return false;
  *answer = job->answer;
  free (job);
  return true;
}
