/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* --driver-config-json of `sandbox create`. Source: docs/openshell-contract.md, "Mounts". */

typedef struct {
  const char *source;     /* on the host, absolute */
  const char *target;     /* inside, absolute */
  gboolean    read_only;
} OwOpenshellMount;

/* {"DRIVER":{"mounts":[…]}}; read_only is always said, because it defaults to true.
 * @selinux: the host enforces SELinux, so mounts carry a label. Refused (fault INVALID): a path
 * that is not absolute or not plain ("//", ".", ".."), holds a control character, ends with white
 * space, is not UTF-8, or is longer than 4,096 bytes; for "docker" one with a colon, which its
 * driver would cut; a target that holds or lies in a place of OpenShell's own, or that is there
 * twice; more than 64 KiB in all. (transfer full) Pure. */
char *ow_openshell_mounts_to_json (const char *driver, const OwOpenshellMount *mounts,
                                   guint n_mounts, gboolean selinux, GError **error);
