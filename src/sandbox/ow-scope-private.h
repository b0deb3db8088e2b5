/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>
#include <sys/types.h>

/* Puts running processes into a transient scope of systemd, whose cgroup limits them and
 * all that they start: of the account's own service manager, or of the machine's where the
 * program is root. A bus that does not run is not started, and one that has not answered
 * after two seconds is given up.
 *
 * Source: org.freedesktop.systemd1(5), StartTransientUnit(); systemd.resource-control(5).
 * The thread's own main context. */

typedef struct {
  const char  *unit;        /* "….scope" */
  const char  *description;
  const pid_t *pids;
  guint        n_pids;
  double       cpu;         /* processors, 0: no limit */
  guint64      memory;      /* bytes, 0: no limit; nothing of it is swapped then */
  guint64      tasks;       /* processes and threads */
} OwScopeOptions;

/* @options are copied. */
void     ow_scope_place_async  (const OwScopeOptions *options, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer user_data);
/* TRUE once the manager has placed them. The error's message is a part of a sentence, and says
 * why it has not. */
gboolean ow_scope_place_finish (GAsyncResult *result, GError **error);
