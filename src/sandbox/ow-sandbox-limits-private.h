/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>
#include <sys/types.h>

/* What one sandbox of bubblewrap may use of the machine. Applied while it is held still
 * (ow-bubblewrap-hold-private.h), to the processes from which all others of it come.
 *
 * Core files: none, and no program of the host is given one. Processes and threads: a fixed
 * number, by RLIMIT_NPROC, which Linux 5.14 and later count in each user namespace; it does not
 * hold for an inside that is uid 0. Processors and memory: by a scope of systemd; where there is
 * none memory is limited for each process (RLIMIT_DATA), processors are not. */

#define OW_SANDBOX_MAX_TASKS 4096

typedef struct {
  double  cpu;    /* processors, 0: no limit */
  guint64 memory; /* bytes, 0: no limit */
} OwSandboxLimits;

typedef enum {
  OW_SANDBOX_LIMIT_CPU    = 1 << 0,
  OW_SANDBOX_LIMIT_MEMORY = 1 << 1,
  OW_SANDBOX_LIMIT_TASKS  = 1 << 2,
} OwSandboxLimitKinds;

/* From the words of the configuration, which it has checked; NULL: no limit. */
void                ow_sandbox_limits_parse (OwSandboxLimits *self, const char *cpu,
                                             const char *memory);
/* From the machine's configuration. */
gboolean            ow_sandbox_limits_read  (OwSandboxLimits *self, GError **error);
/* What of @self the cgroup of @pid keeps, as the files of the kernel below @root ("") say; a
 * cgroup that is not the one of @unit keeps nothing. */
OwSandboxLimitKinds ow_sandbox_limits_held  (const OwSandboxLimits *self, const char *root,
                                             pid_t pid, const char *unit);
/* How many processes and threads the runner is to allow, 0: that cannot be counted by sandbox. */
guint               ow_sandbox_limits_max_processes (uid_t uid);
/* @pids: all processes of the sandbox @id, whose inside is @uid. */
void                ow_sandbox_limits_apply_async (const OwSandboxLimits *self, const char *id,
                                                   const pid_t pids[2], uid_t uid,
                                                   GCancellable *cancellable,
                                                   GAsyncReadyCallback callback,
                                                   gpointer user_data);
/* FALSE only when cancelled. @notice: (transfer full) (nullable) what does not hold, for the
 * person. */
gboolean            ow_sandbox_limits_apply_finish (GAsyncResult *result, char **notice,
                                                    GError **error);
