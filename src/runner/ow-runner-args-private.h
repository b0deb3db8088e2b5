/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-buffer-private.h"
#include "ow-runner-tool-private.h"

/* Arguments in and answers out of a file tool. A getter that returns false has put
 * the sentence that says so into @result. */

bool ow_runner_args_string (const json_t       *arguments,
                            const char         *key,
                            const char        **value,
                            size_t             *length,
                            OwRunnerToolResult *result);
/* @value keeps what it has when the member is missing or null. */
bool ow_runner_args_string_or (const json_t       *arguments,
                               const char         *key,
                               const char        **value,
                               size_t             *length,
                               OwRunnerToolResult *result);
bool ow_runner_args_int    (const json_t       *arguments,
                            const char         *key,
                            json_int_t          min,
                            json_int_t          max,
                            json_int_t         *value,
                            OwRunnerToolResult *result);
bool ow_runner_args_bool   (const json_t       *arguments,
                            const char         *key,
                            bool               *value,
                            OwRunnerToolResult *result);

/* Makes @result an error with this text, which may be anything. */
void ow_runner_args_fail   (OwRunnerToolResult *result,
                            const char         *format,
                            ...) __attribute__ ((format (printf, 2, 3)));
/* Takes @text and @structured (reference stolen) as the answer. */
void ow_runner_args_answer (OwRunnerToolResult *result,
                            OwRunnerBuffer       *text,
                            json_t             *structured);
