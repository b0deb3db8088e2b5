/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-git-config-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static gboolean
is_same (GPtrArray *one,
         GPtrArray *other)
{
  if (one->len != other->len)
    return FALSE;
  for (guint i = 0; i < one->len; i++)
    {
      const OwGitSetting *a = g_ptr_array_index (one, i);
      const OwGitSetting *b = g_ptr_array_index (other, i);

      if (strcmp (a->section, b->section) != 0 || strcmp (a->name, b->name) != 0 ||
          g_strcmp0 (a->subsection, b->subsection) != 0 || g_strcmp0 (a->value, b->value) != 0)
        return FALSE;
    }
  return TRUE;
}

/* What is read and written means the same, before and after it is cleaned, and cleaning it again
 * takes nothing more. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  OwGitPlaces places = { .person = "/home/a", .file = ".gitconfig", .has_ssh = size % 2 == 0 };
  g_autoptr (OwGitFindings) findings = ow_git_findings_new ();
  g_autoptr (GPtrArray) settings = ow_git_config_parse ((const char *) data, size, NULL);
  g_autoptr (GPtrArray) again = NULL;
  g_autoptr (GPtrArray) cleaned = NULL;
  g_autofree char *text = NULL;
  g_autofree char *clean_text = NULL;

  if (settings == NULL)
    return 0;
  text = ow_git_config_write (settings);
  again = ow_git_config_parse (text, strlen (text), NULL);
  if (again == NULL || !is_same (settings, again))
    abort ();
  ow_git_config_clean (settings, &places, findings);
  clean_text = ow_git_config_write (settings);
  cleaned = ow_git_config_parse (clean_text, strlen (clean_text), NULL);
  if (cleaned == NULL || !is_same (settings, cleaned))
    abort ();
  ow_git_config_clean (cleaned, &places, findings);
  if (!is_same (settings, cleaned))
    abort ();
  return 0;
}
