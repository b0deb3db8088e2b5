/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-config.h"

/* The folders with programs of the person's that sandboxes get: sandbox_programs. What
 * config/ow-model-settings.h says of edits holds here. */

/* Borrowed array of whole paths; "~/" is the home by then. */
GPtrArray *ow_config_get_programs   (OwConfig *self);
/* @folder is a whole path. At the front of the list; one that is there already changes nothing. */
gboolean   ow_config_add_program    (const char *path, const char *folder, GError **error);
/* One that is not there is an error. */
gboolean   ow_config_remove_program (const char *path, const char *folder, GError **error);
