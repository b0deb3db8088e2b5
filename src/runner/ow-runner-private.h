/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-capture-private.h"
#include "ow-runner-children-private.h"
#include "ow-runner-loop-private.h"
#include "ow-runner-task-private.h"
#include "ow-runner-tool-private.h"

/* What the parts of one running server share, and the ways in which a call is run. */

typedef struct _OwRunnerShell OwRunnerShell;
typedef struct _OwRunnerForks OwRunnerForks;
typedef struct _OwRunnerWatch OwRunnerWatch;
typedef struct _OwRunnerBackground OwRunnerBackground;

typedef struct {
  OwRunnerLoop     *loop;
  OwRunnerChildren *children;
  OwRunnerDrains   *drains;
  OwRunnerRoots     roots;
  OwRunnerShell    *shell;
  OwRunnerForks    *forks;
  OwRunnerWatch    *watch;   /* what commands change */
  OwRunnerBackground *background;
  OwRunnerSpills   *spills;
  char              instance[33];
} OwRunner;

/* The one persistent shell; commands wait for each other. */
OwRunnerShell *ow_runner_shell_new  (OwRunner      *runner);
void           ow_runner_shell_free (OwRunnerShell *self);
void           ow_runner_shell_run  (OwRunnerShell *self,
                                     OwRunnerTask  *task,
                                     const json_t  *arguments);

/* An OwRunnerInnerLost; @user_data is the shell. */
void           ow_runner_shell_on_inner_lost (pid_t          pid,
                                              void          *user_data);

/* Where the shell is, and what it exports, as of its last command. */
typedef struct {
  const char *cwd;         /* the shell's */
  int         exported_fd; /* the shell's: a script that exports the same; -1: none */
} OwRunnerShellPlace;
OwRunnerShellPlace ow_runner_shell_get_place (OwRunnerShell *self);

void    ow_runner_exec_run    (OwRunner         *runner,
                               OwRunnerTask     *task,
                               const json_t     *arguments);

/* Runs a file tool in a process of the pool. */
void    ow_runner_tool_run    (OwRunner         *runner,
                               OwRunnerTask     *task,
                               OwRunnerToolFunc  func,
                               json_t           *arguments);

/* The pool: processes that run file tools and probes, each one call at a time, as many as there are
 * calls. Few are kept without work. Their descriptors are the roots'. Freed after the last of them
 * has ended. */
OwRunnerForks *ow_runner_forks_new  (void);
void           ow_runner_forks_free (OwRunnerForks *self);
/* Has one ready, so that the next call does not wait for one to be made. */
void           ow_runner_fork_prepare (OwRunner *runner);

/* All of it is borrowed. */
typedef struct {
  const char *text;            /* UTF-8 without a NUL, not terminated */
  size_t      length;
  const char *structured_text; /* JSON without a newline, not terminated */
  size_t      structured_length;
  json_t     *structured;      /* the same, an object */
  bool        is_error;
} OwRunnerForkAnswer;

/* @answer NULL: it ended without one, with @status of waitpid(). */
typedef void (*OwRunnerForkDone) (const OwRunnerForkAnswer *answer,
                                  int                       status,
                                  void                     *user_data);
/* Runs @func in one of them. False: there is none, and @done will not be called. */
bool    ow_runner_fork_start  (OwRunner         *runner,
                               OwRunnerToolFunc  func,
                               json_t           *arguments,
                               OwRunnerForkDone  done,
                               void             *done_data);
/* Ends the process that runs the call of @done_data, which ends the call. */
void    ow_runner_fork_kill   (OwRunner         *runner,
                               void             *done_data);

/* The background tasks, and the tools of theirs. */
OwRunnerBackground *ow_runner_background_new     (OwRunner           *runner);
/* Ends none of them. */
void                ow_runner_background_free    (OwRunnerBackground *self);
bool                ow_runner_background_is_tool (const char         *name);
void                ow_runner_background_run     (OwRunnerBackground *self,
                                                  OwRunnerTask       *task,
                                                  const char         *tool,
                                                  const json_t       *arguments);

/* One openworker/probe, blocking. Returns: (new reference) its result */
json_t *ow_runner_probe       (const json_t     *params);

/* The array that tools/list answers. Returns: (new reference) */
json_t *ow_runner_schema_new  (void);
