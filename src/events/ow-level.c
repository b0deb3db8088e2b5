/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "events/ow-level.h"

#include <string.h>

static const char * const level_names[] = {
  [OW_LEVEL_OPENSHELL] = "openshell",
  [OW_LEVEL_BUBBLEWRAP] = "bubblewrap",
  [OW_LEVEL_DIRECT] = "direct",
  [OW_LEVEL_CONNECTOR] = "connector",
};

const char *
ow_level_to_string (OwLevel level)
{
  g_return_val_if_fail ((guint) level < G_N_ELEMENTS (level_names), NULL);

  return level_names[level];
}

gboolean
ow_level_from_string (const char *text,
                      OwLevel    *level)
{
  for (guint i = 0; text != NULL && i < G_N_ELEMENTS (level_names); i++)
    if (strcmp (level_names[i], text) == 0)
      {
        *level = (OwLevel) i;
        return TRUE;
      }

  return FALSE;
}

gboolean
ow_level_is_walled (OwLevel level)
{
  return level == OW_LEVEL_OPENSHELL || level == OW_LEVEL_BUBBLEWRAP;
}
