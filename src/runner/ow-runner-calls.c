/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-calls-private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096u

struct _OwRunnerCalls {
  OwRunnerCall *buckets[BUCKETS];
  OwRunnerCall *oldest; /* finished and kept */
  OwRunnerCall *newest;
  unsigned int  running;
  unsigned int  kept;
  size_t        kept_bytes;
  unsigned int  ids;
};

OwRunnerCalls *
ow_runner_calls_new (void)
{
  return calloc (1, sizeof (OwRunnerCalls));
}

void
ow_runner_calls_free (OwRunnerCalls *self)
{
  if (self == NULL)
    return;
  for (size_t i = 0; i < BUCKETS; i++)
    {
      while (self->buckets[i] != NULL)
        {
          OwRunnerCall *call = self->buckets[i];

          self->buckets[i] = call->chain;
          free (call->result);
          free (call);
        }
    }
  free (self);
}

bool
ow_runner_calls_is_id (const char *id)
{
  size_t length = strlen (id);

  if (length == 0 || length > 64)
    return false;
  for (size_t i = 0; i < length; i++)
    {
      if (!isalnum ((unsigned char) id[i]) && id[i] != '_' && id[i] != '-')
        return false;
    }
  return true;
}

static size_t
bucket_of (const char *id)
{
  uint32_t hash = 2166136261u;

  for (; *id != '\0'; id++)
    hash = (hash ^ (unsigned char) *id) * 16777619u;
  return hash % BUCKETS;
}

static void
forget_oldest (OwRunnerCalls *self)
{
  OwRunnerCall *call = self->oldest;

  self->oldest = call->next;
  if (self->oldest == NULL)
    self->newest = NULL;
  self->kept--;
  self->kept_bytes -= call->size;
  free (call->result);
  call->result = NULL;
  call->next = NULL;
  call->state = OW_RUNNER_CALL_FORGOTTEN;
}

static void
expire (OwRunnerCalls *self,
        int64_t        now)
{
  while (self->oldest != NULL
         && (self->kept > OW_RUNNER_CALLS_KEPT_MAX
             || self->kept_bytes > OW_RUNNER_CALLS_KEPT_BYTES
             || now - self->oldest->finished_at > OW_RUNNER_CALLS_KEPT_MS))
    forget_oldest (self);
}

OwRunnerCallState
ow_runner_calls_look_up (OwRunnerCalls *self,
                         const char    *id,
                         int64_t        now,
                         OwRunnerCall **call)
{
  expire (self, now);
  for (*call = self->buckets[bucket_of (id)]; *call != NULL; *call = (*call)->chain)
    {
      if (strcmp ((*call)->id, id) == 0)
        return (*call)->state;
    }
  return OW_RUNNER_CALL_UNKNOWN;
}

OwRunnerCall *
ow_runner_calls_begin (OwRunnerCalls *self,
                       const char    *id)
{
  OwRunnerCall **bucket = &self->buckets[bucket_of (id)];
  OwRunnerCall *call;

  if (self->running >= OW_RUNNER_CALLS_RUNNING_MAX || self->ids >= OW_RUNNER_CALLS_IDS_MAX)
    return NULL;
  call = calloc (1, sizeof *call);
  if (call == NULL)
    return NULL;
  memcpy (call->id, id, strlen (id));
  call->state = OW_RUNNER_CALL_RUNNING;
  call->chain = *bucket;
  *bucket = call;
  self->running++;
  self->ids++;
  return call;
}

void
ow_runner_calls_finish (OwRunnerCalls *self,
                        OwRunnerCall  *call,
                        char          *result,
                        size_t         size,
                        int64_t        now)
{
  call->state = OW_RUNNER_CALL_FINISHED;
  call->result = result;
  call->size = size;
  call->finished_at = now;
  call->user_data = NULL;
  if (self->newest == NULL)
    self->oldest = call;
  else
    self->newest->next = call;
  self->newest = call;
  self->running--;
  self->kept++;
  self->kept_bytes += size;
  expire (self, now);
}

void
ow_runner_calls_drop (OwRunnerCalls *self,
                      OwRunnerCall  *call)
{
  for (OwRunnerCall **at = &self->buckets[bucket_of (call->id)]; *at != NULL; at = &(*at)->chain)
    {
      if (*at == call)
        {
          *at = call->chain;
          break;
        }
    }
  self->ids--;
  self->running--;
  free (call);
}

unsigned int
ow_runner_calls_get_running (const OwRunnerCalls *self)
{
  return self->running;
}
