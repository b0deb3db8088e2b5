/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Where the effect of a call happens; stands on every tool, host and wall
 * event. Any thread. */
typedef enum {
  OW_LEVEL_OPENSHELL,
  OW_LEVEL_BUBBLEWRAP,
  OW_LEVEL_DIRECT,
  OW_LEVEL_CONNECTOR,
} OwLevel;

const char *ow_level_to_string   (OwLevel level);
gboolean    ow_level_from_string (const char *text, OwLevel *level);
/* TRUE for a level with a wall around the call. */
gboolean    ow_level_is_walled   (OwLevel level);
