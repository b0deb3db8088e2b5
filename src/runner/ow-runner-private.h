/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-calls-private.h"
#include "ow-runner-capture-private.h"
#include "ow-runner-children-private.h"
#include "ow-runner-loop-private.h"
#include "ow-runner-output-private.h"
#include "ow-runner-tool-private.h"

/* What the parts of one running server share, and the call as they see it. */

typedef struct _OwRunnerShell OwRunnerShell;
typedef struct _OwRunnerServer OwRunnerServer;
typedef struct _OwRunnerTask OwRunnerTask;

typedef struct {
  OwRunnerLoop     *loop;
  OwRunnerChildren *children;
  OwRunnerDrains   *drains;
  OwRunnerRoots     roots;
  OwRunnerShell    *shell;
  char              instance[33];
} OwRunner;

/* One running call. Whatever runs it sets @cancel and @job, reports output, and ends
 * it exactly once with ow_runner_task_finish(), after which the task is gone. */
struct _OwRunnerTask {
  OwRunner       *runner;
  OwRunnerServer *server;
  OwRunnerCall   *call;
  OwRunnerOutput *output;
  json_t         *waiters;   /* (owned) request ids of the present client */
  bool            cancelled;
  bool            named;     /* the id is the client's: output is sent */
  bool            lossless;  /* output is neither paced nor dropped: @flow is there */
  OwRunnerTimer   pace;
  int64_t         sent_at;   /* of the last output message */
  void          (*cancel) (void *job);
  void          (*flow) (void *job, bool paused); /* stops and restarts the reading */
  void           *job;
};

void    ow_runner_task_output (OwRunnerTask   *task,
                               OwRunnerStream  stream,
                               const char     *data,
                               size_t          length);

/* Steals @result, a tools/call result. */
void    ow_runner_task_finish (OwRunnerTask   *task,
                               json_t         *result);

/* Ends the call with one sentence and isError. */
void    ow_runner_task_refuse (OwRunnerTask   *task,
                               const char     *format,
                               ...) __attribute__ ((format (printf, 2, 3)));

/* The one persistent shell; commands wait for each other. */
OwRunnerShell *ow_runner_shell_new  (OwRunner      *runner);
void           ow_runner_shell_free (OwRunnerShell *self);
void           ow_runner_shell_run  (OwRunnerShell *self,
                                     OwRunnerTask  *task,
                                     const json_t  *arguments);

void    ow_runner_exec_run    (OwRunner         *runner,
                               OwRunnerTask     *task,
                               const json_t     *arguments);

/* Runs a file tool in a child process. */
void    ow_runner_fork_run    (OwRunner         *runner,
                               OwRunnerTask     *task,
                               OwRunnerToolFunc  func,
                               const json_t     *arguments);

/* Runs @func in a child process and gives what it returns (NULL: it broke off). */
typedef json_t *(*OwRunnerForkFunc) (const OwRunnerRoots *roots,
                                     const json_t        *arguments,
                                     void                *user_data);
typedef void    (*OwRunnerForkDone) (json_t              *value,
                                     int                  status,
                                     void                *user_data);
/* Returns the child's pid, -1 when there is none and @done will not be called. */
pid_t   ow_runner_fork_start  (OwRunner         *runner,
                               OwRunnerForkFunc  func,
                               const json_t     *arguments,
                               void             *func_data,
                               OwRunnerForkDone  done,
                               void             *done_data);

/* One openworker/probe, blocking. Returns: (new reference) its result */
json_t *ow_runner_probe       (const json_t     *params);

/* The array that tools/list answers. Returns: (new reference) */
json_t *ow_runner_schema_new  (void);
