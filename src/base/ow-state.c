/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-state.h"

#include <glib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

void
ow_state_reach (const char *name)
{
  static char *wanted = NULL;
  static gboolean counted = FALSE; /* else each time */
  static gint left = 0;
  static gsize read_once = 0;
  g_autofree char *line = NULL;

  if (g_once_init_enter (&read_once))
    {
      char *colon;

      wanted = g_strdup (g_getenv ("OPENWORKER_TEST_STATE"));
      colon = wanted != NULL ? strchr (wanted, ':') : NULL;
      if (colon != NULL)
        {
          counted = TRUE;
          left = (gint) CLAMP (g_ascii_strtoll (colon + 1, NULL, 10), 0, G_MAXINT);
          *colon = '\0';
        }
      g_once_init_leave (&read_once, 1);
    }

  if (wanted == NULL || strcmp (wanted, name) != 0 ||
      (counted && !g_atomic_int_dec_and_test (&left)))
    return;

  line = g_strdup_printf ("state %s\n", name);
  if (write (STDERR_FILENO, line, strlen (line)) < 0)
    return;
  /* To this thread, which is stopped here; one for the process may reach another thread first,
   * while this one goes on for a moment. */
  raise (SIGSTOP);
}
