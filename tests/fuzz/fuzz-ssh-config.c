/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-ssh-config-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* No line of what comes out has a keyword that is to be left out, and every file that is included
 * lies below the folder of the entry. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  static const char * const out[] = {
    "identityagent", "localcommand", "knownhostscommand", "controlpath", "pkcs11provider",
  };
  OwSshPlaces places = {
    .person = "/home/a", .named = "/h", .home = "/p", .place = ".ssh", .runner = "/r",
  };
  g_autoptr (OwSshFindings) findings = ow_ssh_findings_new ();
  g_autofree char *text = ow_ssh_config_rewrite (&places, (const char *) data, size, findings);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autofree char *line = g_ascii_strdown (lines[i], -1);

      for (gsize j = 0; j < G_N_ELEMENTS (out); j++)
        if (g_str_has_prefix (line, out[j]) && strchr (" \t=", line[strlen (out[j])]) != NULL)
          abort ();
    }
  for (guint i = 0; i < findings->includes->len; i++)
    if (!g_str_has_prefix (g_ptr_array_index (findings->includes, i), ".ssh/") ||
        strstr (g_ptr_array_index (findings->includes, i), "/../") != NULL)
      abort ();
  return 0;
}
