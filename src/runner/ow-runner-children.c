/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-children-private.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>

typedef struct _Watch Watch;
struct _Watch {
  Watch            *next;
  pid_t             pid;
  OwRunnerChildFunc func;
  void             *user_data;
};

struct _OwRunnerChildren {
  Watch *watches;
};

OwRunnerChildren *
ow_runner_children_new (void)
{
  return calloc (1, sizeof (OwRunnerChildren));
}

void
ow_runner_children_free (OwRunnerChildren *self)
{
  if (self == NULL)
    return;
  while (self->watches != NULL)
    {
      Watch *watch = self->watches;

      self->watches = watch->next;
      free (watch);
    }
  free (self);
}

void
ow_runner_children_watch (OwRunnerChildren *self,
                          pid_t             pid,
                          OwRunnerChildFunc func,
                          void             *user_data)
{
  Watch *watch = malloc (sizeof *watch);

  /* A child whose end nobody hears of would be a call without an end. */
  if (watch == NULL)
    abort ();
  *watch = (Watch) { .next = self->watches, .pid = pid, .func = func, .user_data = user_data };
  self->watches = watch;
}

bool
ow_runner_children_is_ours (OwRunnerChildren *self,
                            pid_t             pid)
{
  for (Watch *watch = self->watches; watch != NULL; watch = watch->next)
    {
      if (watch->pid == pid)
        return true;
    }
  return false;
}

void
ow_runner_children_reap (OwRunnerChildren *self)
{
  int status;
  pid_t pid;

  while ((pid = waitpid (-1, &status, WNOHANG)) > 0)
    {
      for (Watch **at = &self->watches; *at != NULL; at = &(*at)->next)
        {
          Watch *watch = *at;

          if (watch->pid != pid)
            continue;
          *at = watch->next;
          watch->func (status, watch->user_data);
          free (watch);
          break;
        }
    }
}
