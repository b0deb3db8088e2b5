/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <sys/types.h>

#include "ow-runner-private.h"
#include "ow-runner-process-private.h"

/* How the end of a command is told: the text with its last line, and the structured
 * content. */

typedef struct {
  int         exit_status;     /* -1: none */
  int         signal;          /* 0: none */
  const char *cwd;             /* NULL: not told */
  int64_t     duration_ms;
  int         timeout_s;       /* of which @timed_out speaks */
  bool        timed_out;
  bool        cancelled;
  bool        is_shell;
  bool        shell_restarted;
  bool        began_anew;      /* it ran in a new one, since the last had ended by itself */
  bool        state_kept;      /* variables and functions went over to the new shell */
  const OwRunnerSpill *spill;  /* (nullable) where the output is kept whole */
  json_t     *leftovers;       /* (owned) array, stolen by ow_runner_report_result() */
} OwRunnerReport;

/* Fills in exit status and signal from a waitpid() status. */
void    ow_runner_report_set_status (OwRunnerReport *self,
                                     int             status);

/* Returns: (new reference) a tools/call result, of at most OW_RUNNER_TEXT_MAX text. */
json_t *ow_runner_report_result     (OwRunnerReport *self,
                                     OwRunnerOutput *output);

/* Returns: (new reference) {pid, name} */
json_t *ow_runner_report_process    (const OwRunnerProcess *process);

/* What still runs of what @root started: [{pid, name}]. Orphans count where they are in
 * the session of @root or not older than @since; of a shell (@since 0) all do. */
json_t *ow_runner_report_leftovers  (OwRunner           *runner,
                                     pid_t               root,
                                     pid_t               except,
                                     unsigned long long  since);

/* SIGKILL to the same, as far as it is not older than @since. Whoever kills @root as
 * well does so first, or a script goes on to its next command when it loses one. */
void    ow_runner_report_kill       (OwRunner           *runner,
                                     pid_t               root,
                                     unsigned long long  since);

/* What a file tool has answered as a tools/call result in JSON, without ever making values of it.
 * Returns: (owned) the text, or NULL without memory. */
char   *ow_runner_report_dump       (const OwRunnerForkAnswer *answer,
                                     size_t                   *length);

/* A result of one sentence or text. @structured (nullable) is stolen. */
json_t *ow_runner_report_text       (const char *text,
                                     size_t      length,
                                     json_t     *structured,
                                     bool        is_error);
