/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell-error.h"

#include <string.h>

/* Which words of an error text tell its class (docs/openshell-contract.md, "Errors"). The order
 * counts: what names a cause comes before what only says that something failed, because causes
 * are wrapped in such words. Compared in lower case in the unwrapped text. */
static const struct {
  const char      *words;
  OwOpenshellFault fault;
} known[] = {
  { "no space left on device", OW_OPENSHELL_FAULT_DISK_FULL },
  { "badsignature", OW_OPENSHELL_FAULT_CERTIFICATE },
  { "invalid peer certificate", OW_OPENSHELL_FAULT_CERTIFICATE },
  { "bind mounts", OW_OPENSHELL_FAULT_BIND_MOUNTS_OFF },
  { "enable_bind_mounts", OW_OPENSHELL_FAULT_BIND_MOUNTS_OFF },
  { "already exists", OW_OPENSHELL_FAULT_NAME_TAKEN },
  { "bind source path does not exist", OW_OPENSHELL_FAULT_MOUNT_SOURCE },
  { "mainprocessexited", OW_OPENSHELL_FAULT_MAIN_EXITED },
  { "landlock", OW_OPENSHELL_FAULT_LANDLOCK },
  { "denied: denied", OW_OPENSHELL_FAULT_IMAGE_DENIED },
  { "imagepullfailed", OW_OPENSHELL_FAULT_IMAGE_ABSENT },
  { "relay closed", OW_OPENSHELL_FAULT_RELAY_CLOSED },
  { "h2 protocol error", OW_OPENSHELL_FAULT_RELAY_CLOSED },
  { "is not ready (phase:", OW_OPENSHELL_FAULT_NOT_READY },
  { "sandbox not found", OW_OPENSHELL_FAULT_NOT_FOUND },
  { "no gateway configured", OW_OPENSHELL_FAULT_NOT_REGISTERED },
  { "sandbox policy", OW_OPENSHELL_FAULT_POLICY },
  { "invalid argument", OW_OPENSHELL_FAULT_INVALID },
  { "bind source must be an absolute", OW_OPENSHELL_FAULT_INVALID },
  { "does not have a valid authentication", OW_OPENSHELL_FAULT_NOT_AUTHENTICATED },
  { "containercreatefailed", OW_OPENSHELL_FAULT_ENGINE },
  { "tcp connect error", OW_OPENSHELL_FAULT_GATEWAY_DOWN },
  { "client error (connect)", OW_OPENSHELL_FAULT_GATEWAY_DOWN },
  { "transport error", OW_OPENSHELL_FAULT_GATEWAY_DOWN },
};

OwOpenshellFault
ow_openshell_fault_of_text (const char *stderr_text)
{
  g_autofree char *plain = ow_openshell_text_plain (stderr_text, -1);
  g_autofree char *lower = g_ascii_strdown (plain, -1);

  for (gsize i = 0; i < G_N_ELEMENTS (known); i++)
    if (strstr (lower, known[i].words) != NULL)
      return known[i].fault;
  return OW_OPENSHELL_FAULT_OTHER;
}
