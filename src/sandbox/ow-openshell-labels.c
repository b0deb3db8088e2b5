/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-openshell-labels.h"

#include <unistd.h>

#include "base/ow-paths.h"
#include "openshell/ow-openshell-names.h"
#include "ow-registry-private.h"

#define NAME_PREFIX  "ow-"
#define OWNER_DIGITS 16

/* It stays as it is over restarts of the machine, other than what /proc tells. */
static char *
read_machine_id (void)
{
  char *text = NULL;

  if (!g_file_get_contents ("/etc/machine-id", &text, NULL, NULL) &&
      !g_file_get_contents ("/var/lib/dbus/machine-id", &text, NULL, NULL))
    return g_strdup ("");
  return g_strstrip (text);
}

char *
ow_openshell_labels_owner (void)
{
  g_autofree char *machine = read_machine_id ();
  g_autofree char *registry = ow_paths_get_registry_dir ();
  g_autofree char *text = g_strdup_printf ("%u\n%s\n%s", geteuid (), machine, registry);
  char *hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);

  hash[OWNER_DIGITS] = '\0';
  return hash;
}

char *
ow_openshell_labels_selector (void)
{
  g_autofree char *owner = ow_openshell_labels_owner ();

  return g_strdup_printf ("%s=%s", OW_OPENSHELL_LABEL_OWNER, owner);
}

char *
ow_openshell_labels_name (const char *id)
{
  return g_strconcat (NAME_PREFIX, id, NULL);
}

char *
ow_openshell_labels_id (const char *name)
{
  const char *id = g_str_has_prefix (name, NAME_PREFIX) ? name + strlen (NAME_PREFIX) : "";

  return ow_registry_is_id (id) ? g_strdup (id) : NULL;
}

char **
ow_openshell_labels_make (const char *session)
{
  g_autofree char *owner = ow_openshell_labels_selector ();
  g_autofree char *value = ow_openshell_label_from_text (session);
  char **labels = g_new0 (char *, 4);

  labels[0] = g_strdup (OW_OPENSHELL_LABEL "=1");
  labels[1] = g_steal_pointer (&owner);
  labels[2] = g_strdup_printf ("%s=%s", OW_OPENSHELL_LABEL_SESSION, value);
  return labels;
}
