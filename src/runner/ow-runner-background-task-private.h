/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <sys/types.h>

#include "ow-runner-background-output-private.h"
#include "ow-runner-private.h"
#include "ow-runner-process-private.h"

/* One background task: a bash of its own with one command, in a session of its own, and all
 * that comes from it. It ends with its bash; what that leaves behind is still the task's,
 * found by its session and by a mark in its environment. */

typedef struct _OwRunnerBackgroundTask OwRunnerBackgroundTask;

/* It has written something, has ended, or was stopped. May be called for nothing. */
typedef void (*OwRunnerBackgroundTaskFunc) (OwRunnerBackgroundTask *task,
                                            void                   *user_data);

struct _OwRunnerBackgroundTask {
  OwRunnerBackgroundTask    *next;        /* the set's */
  OwRunner                  *runner;
  OwRunnerBackgroundTaskFunc changed;
  void                      *user_data;
  char                       id[16];
  char                      *command;     /* (owned) */
  char                      *cwd;         /* (owned) where it was started */
  bool                       terminal;
  OwRunnerBackgroundOutput  *output;      /* (owned) */
  int                        text_fd;     /* the command, -1: it is an argument */
  int                        exported_fd; /* what the shell exports, -1: nothing */

  pid_t                      pid;         /* also that of the session */
  int64_t                    started;     /* ms */
  int64_t                    duration_ms; /* once it has ended */
  bool                       gone;        /* its bash is, and has a status */
  bool                       ended;       /* and what it wrote is here */
  int                        status;      /* of waitpid() */

  bool                       stopping;    /* and has not been stopped yet */
  bool                       was_stopped; /* somebody asked for it */
  int64_t                    stop_by;     /* ms: what is there then is killed */
  bool                       asked_again; /* what is left was sent SIGTERM */
  OwRunnerTimer              timer;
};

/* Starts @command where the shell is now, with what it exports. NULL with errno. */
OwRunnerBackgroundTask *
ow_runner_background_task_new       (OwRunner                  *runner,
                                     const char                *id,
                                     const char                *command,
                                     bool                       terminal,
                                     OwRunnerBackgroundTaskFunc changed,
                                     void                      *user_data);

/* Does not end what runs. */
void   ow_runner_background_task_free      (OwRunnerBackgroundTask *self);

/* SIGINT, and after 3 s SIGKILL, to all that is the task's; once its bash has ended what is
 * left gets SIGTERM. */
void   ow_runner_background_task_stop      (OwRunnerBackgroundTask *self);

int64_t ow_runner_background_task_duration (const OwRunnerBackgroundTask *self);

/* What of the @n processes runs of it beside its bash. Returns: (new reference) [{pid, name}] */
json_t *ow_runner_background_task_others   (const OwRunnerBackgroundTask *self,
                                            OwRunnerProcess              *list,
                                            size_t                        n);
