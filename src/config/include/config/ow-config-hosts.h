/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-host.h"

/* Adds @host to sandbox_extra_hosts of the settings file, at the front of the list; one that is
 * there already is no error and changes nothing. What config/ow-model-settings.h says of edits
 * holds here. */
gboolean ow_config_add_extra_host (const char *path, const OwHost *host, GError **error);
