/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-local-engine.h"

/* The commands about the audit record. They need no open session and no lock: the record
 * is read as it stands. */
void ow_engine_records_verify (OwLocalEngine *self,
                               const json_t  *params,
                               GTask         *task);
void ow_engine_records_show   (OwLocalEngine *self,
                               const json_t  *params,
                               GTask         *task);

/* Ends @task with a command's result, which is stolen. */
void ow_engine_return_json    (GTask         *task,
                               json_t        *result);
/* The same with what a part of the command, a task of its own, came to. @user_data is the command's
 * task, owned. */
void ow_engine_return_part    (GObject       *source,
                               GAsyncResult  *result,
                               gpointer       user_data);
