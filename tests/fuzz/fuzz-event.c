/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "events/ow-event.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* A stored line is data: what is taken from it is written as a line that is taken too. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) again_error = NULL;
  g_autoptr (OwEvent) event = ow_event_from_line ((const char *) data, (gssize) size, &error);
  g_autoptr (OwEvent) again = NULL;
  g_autofree char *line = NULL;
  g_autofree char *again_line = NULL;

  if ((event == NULL) == (error == NULL))
    abort ();
  if (event == NULL)
    return 0;
  line = ow_event_to_line (event);
  again = ow_event_from_line (line, -1, &again_error);
  if (again == NULL)
    abort ();
  again_line = ow_event_to_line (again);
  if (strcmp (line, again_line) != 0)
    abort ();
  return 0;
}
