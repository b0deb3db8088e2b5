/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-config.h"

/* The settings of the wall by their keys in config.toml, as texts: what a person types and reads.
 * What config/ow-model-settings.h says of edits holds here. Any thread. */

/* The keys, NULL-terminated: sandbox_provider … sandbox_limits.memory, sandbox_programs. */
const char * const *ow_config_get_setting_keys (void);
/* What is set, as ow_config_set() takes it; NULL: nothing is set. (transfer full) */
char               *ow_config_get_setting      (OwConfig    *self,
                                                const char  *key);
/* What holds where nothing is set: a sentence part; static. */
const char         *ow_config_describe_default (const char  *key);

/* @value: the text, "true" or "false", a number, or for lists either entries with commas between
 * or a list as the file has it. A key or value that cannot be is OW_ERROR_USAGE. */
gboolean            ow_config_set              (const char  *path,
                                                const char  *key,
                                                const char  *value,
                                                GError     **error);
/* Takes the key out of the file; it is no error where it is not there. */
gboolean            ow_config_unset            (const char  *path,
                                                const char  *key,
                                                GError     **error);
