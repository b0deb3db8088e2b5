/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Threads that help one call with its jobs, in the order in which these are given. They
 * begin with the first job and have ended when the crew is freed, so no call leaves one
 * behind. Where none can be had the caller does all by itself. */
typedef struct _OwRunnerCrew OwRunnerCrew;

/* Stands at the beginning of each job. */
typedef struct _OwRunnerJob {
  struct _OwRunnerJob *next;
  int                  state;
} OwRunnerJob;

typedef struct {
  /* Does a job; any thread. @desk is that thread's own. */
  void  (*work)(OwRunnerJob *job, void *desk);
  /* Whether it frees the job as well, which then cannot be waited for. */
  bool frees;
  /* A desk for one more thread, made and ended in the caller's thread; NULL: go without. */
  void *(*desk_new)(void *user_data);
  void  (*desk_free)(void *desk, void *user_data);
} OwRunnerCrewClass;

/* How many threads can run at once here, the caller's own among them, of those that are
 * worth having. */
size_t        ow_runner_crew_size   (void);

/* @desk is the caller's. NULL where it would be alone. */
OwRunnerCrew *ow_runner_crew_new    (const OwRunnerCrewClass *class,
                                     void                    *desk,
                                     void                    *user_data);
/* All jobs must have been finished or dropped. */
void          ow_runner_crew_free   (OwRunnerCrew *self);
/* Any thread may give one. */
void          ow_runner_crew_push   (OwRunnerCrew *self,
                                     OwRunnerJob  *job);
/* Whether there are not enough jobs waiting for the others to stay busy; any thread. */
bool          ow_runner_crew_wants  (OwRunnerCrew *self);
/* Returns when this job is done; does it, and others, meanwhile. The caller's thread. */
void          ow_runner_crew_finish (OwRunnerCrew *self,
                                     OwRunnerJob  *job);
/* The same for all, those that are given meanwhile included. */
void          ow_runner_crew_drain  (OwRunnerCrew *self);
/* Takes away what nobody has begun and waits for what somebody has. */
void          ow_runner_crew_drop   (OwRunnerCrew *self);
