/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* Whether folders answer at all. Whoever opens one on a server that is gone waits as long as the
 * server does, and cannot be stopped: who must not wait has a thread look first. Any thread with a
 * main context of its own. */

#define OW_FOLDER_ANSWER_MS 10000

/* @texts: as for ow_folder_open(). TRUE too where one cannot be used: opening it says why.
 * Errors: OW_ERROR_TIMED_OUT, that names the folder; what @cancellable was cancelled with. */
void     ow_folder_answer_async  (const char * const *texts, GCancellable *cancellable,
                                  GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_folder_answer_finish (GAsyncResult *result, GError **error);
