/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* Runs other programs: the only user of GSubprocess. A child gets exactly the
 * argument vector and environment given (LC_ALL=C.UTF-8 added), a session and process group of its
 * own, stdin from /dev/null unless the caller asks for a pipe or hands a
 * descriptor, and no other descriptor of ours. Never a shell string.
 *
 * OwProcess (final, GObject) owns the child: disposing it kills the group. It must be spawned
 * from the program's first thread or one that ends after all it starts, because a child that
 * asks to die with its parent dies with the spawning *thread*. */

#define OW_TYPE_PROCESS (ow_process_get_type ())
G_DECLARE_FINAL_TYPE (OwProcess, ow_process, OW, PROCESS, GObject)

/* Bytes of stdout as they come, those over the cap too; not once the run is finished. */
typedef void (*OwProcessOutputFunc) (const char *data, gsize length, gpointer user_data);

typedef struct {
  const char * const *argv;        /* (not nullable) argv[0] is a full path */
  const char * const *envp;        /* (nullable) the whole environment; NULL: a minimal one */
  const char         *cwd;         /* (nullable) NULL: / */
  gboolean            stdin_pipe;  /* ow_process_get_stdin() is there */
  gboolean            stdout_pipe; /* else /dev/null */
  gboolean            stderr_pipe; /* else inherited from us when inherit_stderr, or /dev/null */
  gboolean            inherit_stderr;
  const int          *fds;         /* (nullable) n_fds descriptors for the child, each under the
                                    * number that target_fds gives; duplicated, not taken */
  const int          *target_fds;
  guint               n_fds;
  gboolean            dies_with_us; /* killed when this program ends, in whatever way */
  /* Runs in the child between fork and exec: async-signal-safe calls only. */
  GSpawnChildSetupFunc child_setup;
  gpointer             child_setup_data;
  OwProcessOutputFunc  output_func;   /* (nullable) for ow_process_run_async() only */
  gpointer             output_data;
} OwProcessOptions;

/* As many open files as this program may have, for many sessions at once. What it starts gets the
 * limit that it was started with itself: programs exist that cannot do with more. */
void           ow_process_raise_files (void);

/* Says of the calling thread, which is not the program's first, that it ends after
 * everything it starts: only then may it start anything. */
void           ow_process_set_thread_stays (void);

OwProcess     *ow_process_spawn       (const OwProcessOptions  *options,
                                       GError                 **error);
GPid           ow_process_get_pid     (OwProcess               *self);
GOutputStream *ow_process_get_stdin   (OwProcess               *self);
GInputStream  *ow_process_get_stdout  (OwProcess               *self);
GInputStream  *ow_process_get_stderr  (OwProcess               *self);

/* Sends @signum to the whole process group. */
void           ow_process_signal      (OwProcess               *self,
                                       int                      signum);
/* SIGTERM, then SIGKILL after @grace_ms; completes when the child is reaped. */
void           ow_process_stop_async  (OwProcess               *self,
                                       guint                    grace_ms,
                                       GAsyncReadyCallback      callback,
                                       gpointer                 user_data);
gboolean       ow_process_stop_finish (OwProcess               *self,
                                       GAsyncResult            *result,
                                       GError                 **error);
/* Completes when the child has ended; FALSE only when cancelled. */
void           ow_process_wait_async  (OwProcess               *self,
                                       GCancellable            *cancellable,
                                       GAsyncReadyCallback      callback,
                                       gpointer                 user_data);
gboolean       ow_process_wait_finish (OwProcess               *self,
                                       GAsyncResult            *result,
                                       GError                 **error);
/* waitpid() status; valid once wait has finished, -1 before. */
int            ow_process_get_status  (OwProcess               *self);

/* One call: spawn, collect, end. Output over @output_cap bytes a stream is cut; over
 * @deadline_ms (0: none) the group is killed and OW_ERROR_TIMED_OUT is set. stdout is
 * always a pipe here, stderr unless it is inherited; stdin never. */
typedef struct {
  int      status;           /* waitpid() status */
  GBytes  *output;           /* (owned) */
  GBytes  *error_output;     /* (owned) */
  gboolean cut;
} OwProcessResult;

void             ow_process_run_async   (const OwProcessOptions  *options,
                                         guint                    deadline_ms,
                                         gsize                    output_cap,
                                         GCancellable            *cancellable,
                                         GAsyncReadyCallback      callback,
                                         gpointer                 user_data);
OwProcessResult *ow_process_run_finish  (GAsyncResult            *result,
                                         GError                 **error);
void             ow_process_result_free (OwProcessResult         *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwProcessResult, ow_process_result_free)
