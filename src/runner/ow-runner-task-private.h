/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-calls-private.h"
#include "ow-runner-capture-private.h"
#include "ow-runner-client-private.h"
#include "ow-runner-loop-private.h"
#include "ow-runner-output-private.h"
#include "ow-runner-spill-private.h"

/* The calls that run now, and the one client that their output and results go to. */

typedef struct _OwRunnerTask OwRunnerTask;

typedef struct {
  OwRunnerLoop   *loop;
  OwRunnerCalls  *calls;   /* (owned) */
  OwRunnerClient *client;  /* (nullable) the present one; the server's */
  unsigned int    unnamed; /* ids given to calls without one */
  OwRunnerTask   *list[OW_RUNNER_CALLS_RUNNING_MAX]; /* (owned) (nullable) */
} OwRunnerTasks;

/* One running call. Whatever runs it sets @cancel and @job, reports output, and ends
 * it exactly once with ow_runner_task_finish(), after which the task is gone. */
struct _OwRunnerTask {
  OwRunnerTasks  *tasks;
  OwRunnerCall   *call;
  OwRunnerOutput *output;
  OwRunnerSpill  *spill;     /* (owned) (nullable) where what is too long goes whole */
  json_t         *waiters;   /* (owned) request ids of the present client */
  bool            cancelled;
  bool            named;     /* the id is the client's: output is sent */
  bool            lossless;  /* output is neither paced nor dropped: @flow is there */
  OwRunnerTimer   pace;
  int64_t         sent_at;   /* of the last output message */
  int64_t         looked_at; /* how much there was */
  uint64_t        looked_of; /* that */
  bool            flood;     /* more comes than anybody reads */
  void          (*cancel) (void *job);
  void          (*flow) (void *job, bool paused); /* stops and restarts the reading */
  void           *job;
};

/* False without memory. */
bool          ow_runner_tasks_init   (OwRunnerTasks *self,
                                      OwRunnerLoop  *loop);
/* Drops what still runs: whoever runs it must not come back to its task. */
void          ow_runner_tasks_clear  (OwRunnerTasks *self);

/* Answers one request of the present client with a tools/call result, @length bytes of JSON. */
void          ow_runner_tasks_answer (OwRunnerTasks *self,
                                      const json_t  *id,
                                      const char    *result,
                                      size_t         length);

/* Asks whoever runs the call that the request @id waits for to stop it. */
void          ow_runner_tasks_cancel (OwRunnerTasks *self,
                                      const json_t  *id);

/* The client is gone, and with it all that it waited for; the calls go on. */
void          ow_runner_tasks_leave  (OwRunnerTasks *self);

/* @call_id NULL: the client gave none. NULL: too many calls run or have run. */
OwRunnerTask *ow_runner_task_new     (OwRunnerTasks *tasks,
                                      const json_t  *id,
                                      const char    *call_id,
                                      bool           lossless);

/* One more request waits for the call. False: too many do. */
bool          ow_runner_task_join    (OwRunnerTask  *task,
                                      const json_t  *id);

void          ow_runner_task_output  (OwRunnerTask   *task,
                                      OwRunnerStream  stream,
                                      const char     *data,
                                      size_t          length);

/* What lets a capture pass over a flood of the task, which is its user data: nobody waits for more
 * of it, and of its result only the end is missing. */
extern const OwRunnerCaptureSkip ow_runner_task_skip;

/* Steals @result, a tools/call result. */
void          ow_runner_task_finish  (OwRunnerTask   *task,
                                      json_t         *result);
/* The same with one that is JSON already, @length bytes on one line. */
void          ow_runner_task_finish_text (OwRunnerTask   *task,
                                          char           *result,
                                          size_t          length);

/* Ends the call with one sentence and isError. */
void          ow_runner_task_refuse  (OwRunnerTask   *task,
                                      const char     *format,
                                      ...) __attribute__ ((format (printf, 2, 3)));
