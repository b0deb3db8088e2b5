/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "openshell/ow-openshell.h"
#include "wire/ow-json.h"

/* One call of `openshell`, for the files of this room that know a verb each. Owned by the task
 * that runs it; the engine's thread. */

/* What the command answered. All borrowed for the time of the call. */
typedef struct {
  int         status;         /* its exit status; -1 when a signal ended it */
  const char *output;         /* stdout, with a NUL behind it */
  gsize       output_length;
  const char *errors;         /* stderr, with a NUL behind it */
  gsize       errors_length;
  gboolean    cut;            /* one of the two was over the cap */
  guint64     elapsed_ms;
} OwOpenshellAnswer;

/* Completes @task with what @answer means. Not called where there is no answer (the command could
 * not be started, the deadline passed, the call was cancelled): then @task has failed already. */
typedef void (*OwOpenshellAnswerFunc) (GTask *task, const OwOpenshellAnswer *answer);

/* All borrowed, copied as needed; the functions must outlive the call. */
typedef struct {
  const char * const     *arguments;   /* without the program */
  const char             *what;        /* literal: begins the error text, "Cannot …" */
  guint                   deadline_ms;
  gsize                   cap;         /* bytes a stream; 0: OW_OPENSHELL_CAP */
  OwOpenshellAnswerFunc   answer;
  OwOpenshellProgressFunc progress;    /* (nullable) whole lines of stdout as they come */
  gpointer                progress_data;
} OwOpenshellCall;

#define OW_OPENSHELL_CAP        (1024u * 1024u)
#define OW_OPENSHELL_READ_MS    10000
#define OW_OPENSHELL_DELETE_MS  30000
#define OW_OPENSHELL_CREATE_MS  120000
/* `policy update --wait`, of which 1 to 9 s were measured. */
#define OW_OPENSHELL_ALLOW_MS   30000

/* A task that reports a cancelled call as this room's error and not as GIO's. */
GTask  *ow_openshell_call_task        (OwOpenshell *self, gpointer tag, GCancellable *cancellable,
                                       GAsyncReadyCallback callback, gpointer user_data);
/* Runs @call for @task. (transfer full) @task */
void    ow_openshell_call_run         (GTask *task, const OwOpenshellCall *call);

/* An error of the three parts for @fault; @note (nullable) is a fact of ours about it. */
GError *ow_openshell_call_error       (const char *what, OwOpenshellFault fault, const char *note);
/* The same with the command's own words, plain text. */
GError *ow_openshell_call_error_said  (const char *what, OwOpenshellFault fault, const char *said);
/* The error that @answer's stderr tells. */
GError *ow_openshell_call_error_of    (const char *what, const OwOpenshellAnswer *answer);
/* Whether the command failed by its status or by an error that it wrote all the same. */
gboolean ow_openshell_call_failed     (const OwOpenshellAnswer *answer);
/* (new reference) @answer's stdout as JSON; NULL with @error of fault UNREADABLE. */
json_t *ow_openshell_call_json        (const char *what, const OwOpenshellAnswer *answer,
                                       GError **error);
/* FALSE and the task failed (fault INVALID) when @name could not be a sandbox's. */
gboolean ow_openshell_call_check_name (GTask *task, const char *what, const char *name);
