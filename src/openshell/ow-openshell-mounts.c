/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell-mounts.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-text.h"
#include "openshell/ow-openshell-error.h"
#include "openshell/ow-openshell-names.h"
#include "wire/ow-json.h"

/* What OpenShell keeps for itself inside; a mount may neither hold it nor lie in it. */
static const char * const reserved[] = {
  "/opt/openshell", "/etc/openshell", "/etc/openshell-tls", "/run/openshell",
  "/run/openshell-sidecar", "/run/netns", "/var/run/netns",
};

static gboolean
has_control (const char *text)
{
  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
    if (g_unichar_iscntrl (g_utf8_get_char (p)))
      return TRUE;
  return FALSE;
}

/* Whether an empty, "." or ".." segment stands in it. */
static gboolean
is_not_normal (const char *path)
{
  g_auto (GStrv) segments = g_strsplit (path + 1, "/", -1);

  if (segments[0] == NULL)
    return TRUE;
  for (guint i = 0; segments[i] != NULL; i++)
    if (*segments[i] == '\0' || strcmp (segments[i], ".") == 0 || strcmp (segments[i], "..") == 0)
      return TRUE;
  return FALSE;
}

static gboolean
lies_in (const char *path,
         const char *folder)
{
  gsize length = strlen (folder);

  return strncmp (path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Why OpenShell or its driver would not take the path as it is meant, or NULL. */
static const char *
refuse_path (const char *driver,
             const char *path)
{
  gsize length = strlen (path);

  if (path[0] != '/')
    return "it is not an absolute path";
  if (length > OW_OPENSHELL_PATH_BYTES)
    return "it is longer than 4,096 bytes";
  if (!g_utf8_validate_len (path, length, NULL))
    return "its name is not UTF-8";
  if (has_control (path))
    return "its name holds a line break or another control character";
  if (g_unichar_isspace (g_utf8_get_char (g_utf8_prev_char (path + length))))
    return "its name ends with white space";
  if (is_not_normal (path))
    return "it is no plain path";
  /* The driver joins source, target and options with colons. */
  if (strcmp (driver, "docker") == 0 && strchr (path, ':') != NULL)
    return "Docker does not take a name with a colon";
  return NULL;
}

static const char *
refuse_target (const char *path)
{
  for (gsize i = 0; i < G_N_ELEMENTS (reserved); i++)
    if (lies_in (path, reserved[i]) || lies_in (reserved[i], path))
      return "OpenShell keeps that place inside for itself";
  return NULL;
}

static gboolean
refuse (const char  *path,
        const char  *why,
        GError     **error)
{
  g_autofree char *valid = NULL;
  g_autofree char *shown = NULL;

  if (why == NULL)
    return FALSE;
  valid = ow_text_visible (path);
  shown = ow_text_shorten (valid, 200, TRUE);
  g_set_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_INVALID,
               "%s cannot be mounted into a sandbox: %s. Rename it, or use another folder.", shown,
               why);
  return TRUE;
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

static char *
write_config (const char             *driver,
              const OwOpenshellMount *mounts,
              guint                   n_mounts,
              gboolean                selinux)
{
  json_t *list = json_array ();
  json_t *of_driver = json_object ();
  json_t *root = json_object ();
  char *dumped;
  char *text;

  for (guint i = 0; i < n_mounts; i++)
    json_array_append_new (list, mount_to_json (&mounts[i], selinux));
  json_object_set_new (of_driver, "mounts", list);
  json_object_set_new (root, driver, of_driver);
  dumped = ow_json_dump (root, NULL);
  json_decref (root);
  text = g_strdup (dumped);
  free (dumped);
  return text;
}

char *
ow_openshell_mounts_to_json (const char             *driver,
                             const OwOpenshellMount *mounts,
                             guint                   n_mounts,
                             gboolean                selinux,
                             GError                **error)
{
  g_autoptr (GHashTable) targets = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree char *text = NULL;

  for (guint i = 0; i < n_mounts; i++)
    {
      if (refuse (mounts[i].source, refuse_path (driver, mounts[i].source), error) ||
          refuse (mounts[i].target, refuse_path (driver, mounts[i].target), error) ||
          refuse (mounts[i].target, refuse_target (mounts[i].target), error))
        return NULL;
      if (!g_hash_table_add (targets, (gpointer) mounts[i].target) &&
          refuse (mounts[i].target, "it is there twice", error))
        return NULL;
    }

  text = write_config (driver, mounts, n_mounts, selinux);
  if (text == NULL || strlen (text) > OW_OPENSHELL_CONFIG_BYTES)
    {
      g_set_error_literal (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_INVALID,
                           "The folders cannot be mounted into a sandbox: there are more of them "
                           "than OpenShell takes. Use fewer folders.");
      return NULL;
    }
  return g_steal_pointer (&text);
}
