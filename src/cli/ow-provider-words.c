/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-provider-words-private.h"

#include <glib.h>

const char *
ow_provider_words (const char *provider)
{
  if (provider == NULL)
    return "run as each face says: nothing is set on this machine (sandbox_provider)";
  if (g_str_equal (provider, "bubblewrap"))
    return "run in a sandbox made by this machine (bubblewrap)";
  if (g_str_equal (provider, "openshell"))
    return "run in an OpenShell sandbox";
  if (!g_str_equal (provider, "direct"))
    return "run in a way that this program does not know: the engine is newer";
  return "run directly on this machine, with the same access as your user account (no sandbox)";
}
