/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-model-settings.h"

G_BEGIN_DECLS

/* Changes of the settings file: read, edit, prove that nothing else changed, back up,
 * replace. Two of ours take turns by a lock on the directory; what another program writes
 * meanwhile is seen before the replacement, and the change is made again on that. */

/* Sets the text @key at the top level. OW_ERROR_USAGE: what @key is there is no text. */
gboolean ow_config_change_text (const char  *path,
                                const char  *key,
                                const char  *value,
                                GError     **error);

G_END_DECLS
