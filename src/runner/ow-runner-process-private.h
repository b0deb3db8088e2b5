/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Processes: starting one, and finding and ending all that came from one. Whoever
 * loses its parent comes to the runner, which is a subreaper, so that walking the
 * parents finds it whatever sessions and groups it made. */

typedef struct {
  pid_t              pid;
  pid_t              parent;
  pid_t              session;
  char               state;
  unsigned long long start; /* clock ticks after boot */
  char               name[32];
} OwRunnerProcess;

typedef struct {
  const char *const *argv;
  const char *cwd;      /* NULL: stays */
  int         stdin_fd; /* -1: /dev/null, for each of the three */
  int         stdout_fd;
  int         stderr_fd;
  const char *mark;     /* (nullable) what ow_runner_process_read_mark() finds in it */
  bool        terminal; /* stdin is a terminal, which becomes its own */
} OwRunnerSpawn;

#define OW_RUNNER_PROCESS_MARK_MAX 32u

/* Starts a program in a session of its own, with default signals and the environment
 * of a shell without a person. Returns its pid, or -1 with errno: what could not be
 * done in the child, exec included, is reported here. */
pid_t  ow_runner_process_spawn    (const OwRunnerSpawn *spawn);

/* The same in this process and behind no further wall. @parent has it as its child, which is this
 * process or, with @sibling, the one that has this one. */
pid_t  ow_runner_process_start    (const OwRunnerSpawn *spawn,
                                   pid_t                parent,
                                   bool                 sibling);

/* Ends this process with @parent, or at once where that one has ended. */
void   ow_runner_process_die_with (pid_t parent);

/* What a child of fork() must undo before it does anything: signals as by default, and
 * the end of the runner is its end. */
void   ow_runner_process_reset    (void);

/* All living processes; zombies are left out. Returns: (owned, free()) or NULL. */
OwRunnerProcess *ow_runner_process_list (size_t *n);

/* Whether list[at] comes from @root, by parents, @root itself not counted. */
bool   ow_runner_process_is_below (const OwRunnerProcess *list,
                                   size_t                 n,
                                   size_t                 at,
                                   pid_t                  root);

/* Whether @pid comes from this process; one of which nothing can be told any more does. */
bool   ow_runner_process_is_own (pid_t pid);

/* By a signal, or by who traces it. */
bool   ow_runner_process_is_stopped (pid_t pid);

/* The mark that a process was started with, or whatever it came from: also where it has
 * left that one's session and lost its parent. False: none, or it cannot be told, also
 * because too much was looked through in the last second. */
bool   ow_runner_process_read_mark (pid_t pid,
                                    char  mark[OW_RUNNER_PROCESS_MARK_MAX]);

/* Clock ticks after boot, the unit of OwRunnerProcess.start. */
unsigned long long ow_runner_process_now (void);

/* Kills all that comes from this process until nothing is left, at most @max_ms. */
void   ow_runner_process_kill_all (int max_ms);

/* "TERM" of SIGTERM; NULL for a number without a name. */
const char *ow_runner_process_signal_name (int number);
