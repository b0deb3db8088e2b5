/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell-mounts.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "openshell/ow-openshell-error.h"
#include "openshell/ow-openshell-names.h"
#include "wire/ow-json.h"

/* Why OpenShell would not take the path, or NULL. */
static const char *
refuse_path (const char *path)
{
  gsize length = strlen (path);

  if (path[0] != '/')
    return "it is not an absolute path";
  if (length > OW_OPENSHELL_PATH_BYTES)
    return "it is longer than 4,096 bytes";
  if (!g_utf8_validate_len (path, length, NULL))
    return "its name is not UTF-8";
  if (strpbrk (path, "\n\r") != NULL)
    return "its name holds a line break";
  if (g_unichar_isspace (g_utf8_get_char (g_utf8_prev_char (path + length))))
    return "its name ends with white space";
  return NULL;
}

static gboolean
check_path (const char  *path,
            GError     **error)
{
  const char *why = refuse_path (path);
  g_autofree char *shown = NULL;

  if (why == NULL)
    return TRUE;
  shown = ow_text_visible (path);
  g_set_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_INVALID,
               "%s cannot be mounted into a sandbox: %s. Rename or move it.", shown, why);
  return FALSE;
}

static json_t *
mount_to_json (const OwOpenshellMount *mount,
               gboolean                selinux)
{
  json_t *object = json_object ();

  json_object_set_new (object, "type", json_string ("bind"));
  json_object_set_new (object, "source", json_string (mount->source));
  json_object_set_new (object, "target", json_string (mount->target));
  json_object_set_new (object, "read_only", json_boolean (mount->read_only));
  /* "shared": the folder stays usable by the programs of this machine. */
  if (selinux)
    json_object_set_new (object, "selinux_label", json_string ("shared"));
  return object;
}

char *
ow_openshell_mounts_to_json (const char             *driver,
                             const OwOpenshellMount *mounts,
                             guint                   n_mounts,
                             gboolean                selinux,
                             GError                **error)
{
  json_t *root;
  json_t *of_driver;
  json_t *list;
  char *dumped;
  char *text;

  for (guint i = 0; i < n_mounts; i++)
    if (!check_path (mounts[i].source, error) || !check_path (mounts[i].target, error))
      return NULL;

  list = json_array ();
  for (guint i = 0; i < n_mounts; i++)
    json_array_append_new (list, mount_to_json (&mounts[i], selinux));
  of_driver = json_object ();
  json_object_set_new (of_driver, "mounts", list);
  root = json_object ();
  json_object_set_new (root, driver, of_driver);
  dumped = ow_json_dump (root, NULL);
  json_decref (root);
  text = g_strdup (dumped);
  free (dumped);
  return text;
}
