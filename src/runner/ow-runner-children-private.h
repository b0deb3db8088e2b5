/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The processes that somebody waits for. Any other child that ends (an orphan that
 * came to us) is reaped and forgotten. */

typedef struct _OwRunnerChildren OwRunnerChildren;

/* @status is that of waitpid(). */
typedef void (*OwRunnerChildFunc) (int   status,
                                   void *user_data);

OwRunnerChildren *ow_runner_children_new     (void);
void              ow_runner_children_free    (OwRunnerChildren *self);
void              ow_runner_children_watch   (OwRunnerChildren *self,
                                              pid_t             pid,
                                              OwRunnerChildFunc func,
                                              void             *user_data);
/* Whether somebody waits for @pid: it is one of the runner's own, no orphan. */
bool              ow_runner_children_is_ours (OwRunnerChildren *self,
                                              pid_t             pid);
void              ow_runner_children_reap    (OwRunnerChildren *self);
