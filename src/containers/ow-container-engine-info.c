/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-container-engine-private.h"

#include <string.h>

#include "base/ow-text.h"
#include "wire/ow-json.h"

#define SNAP_ROOT "/var/snap/docker/"

static char *
copy_text (json_t     *object,
           const char *key)
{
  const char *text = ow_json_get_string (object, key, NULL);

  return text != NULL && *text != '\0' ? ow_text_visible (text) : NULL;
}

static gboolean
has_option (json_t     *root,
            const char *option)
{
  json_t *options = json_object_get (root, "SecurityOptions");
  size_t index;
  json_t *value;

  json_array_foreach (options, index, value)
    {
      if (json_is_string (value) && g_str_has_prefix (json_string_value (value), option))
        return TRUE;
    }
  return FALSE;
}

static void
read_docker (OwContainerEngine *engine,
             json_t            *root)
{
  engine->kind = OW_ENGINE_DOCKER;
  engine->version = copy_text (root, "ServerVersion");
  engine->id = copy_text (root, "ID");
  engine->root_dir = copy_text (root, "DockerRootDir");
  engine->rootless = has_option (root, "name=rootless");
  engine->snap = engine->root_dir != NULL && g_str_has_prefix (engine->root_dir, SNAP_ROOT);
}

static void
read_podman (OwContainerEngine *engine,
             json_t            *root)
{
  json_t *host = json_object_get (root, "host");
  g_autofree char *program = g_path_get_basename (engine->program);

  engine->kind = OW_ENGINE_PODMAN;
  engine->shim = strcmp (program, "docker") == 0;
  engine->version = copy_text (json_object_get (root, "version"), "Version");
  engine->root_dir = copy_text (json_object_get (root, "store"), "graphRoot");
  engine->rootless = ow_json_get_bool (json_object_get (host, "security"), "rootless", 0) > 0;
}

OwContainerEngine *
ow_container_engine_read_info (const char *program,
                               const char *socket,
                               const char *output)
{
  g_autoptr (OwContainerEngine) engine = g_new0 (OwContainerEngine, 1);
  char reason[OW_WIRE_ERROR_SIZE];
  json_t *root = ow_json_parse (output, strlen (output), reason);

  engine->program = g_strdup (program);
  engine->socket = g_strdup (socket);
  if (json_is_object (json_object_get (root, "store")))
    read_podman (engine, root);
  else
    read_docker (engine, root);
  json_decref (root);
  /* A client that reached no daemon prints the rest of its answer all the same. */
  return engine->version != NULL ? g_steal_pointer (&engine) : NULL;
}

char *
ow_container_engine_read_trouble (const OwContainerSaid *said)
{
  char reason[OW_WIRE_ERROR_SIZE];
  json_t *root = ow_json_parse (said->output, strlen (said->output), reason);
  json_t *errors = json_object_get (root, "ServerErrors");
  GString *trouble = g_string_new (said->errors);
  size_t index;
  json_t *value;

  json_array_foreach (errors, index, value)
    {
      g_autofree char *text = json_is_string (value)
        ? ow_text_visible (json_string_value (value)) : g_strdup ("");
      g_autofree char *line = ow_text_shorten (text, 300, TRUE);

      if (trouble->len > 0)
        g_string_append_c (trouble, ' ');
      g_string_append (trouble, line);
    }
  json_decref (root);
  return g_string_free (trouble, FALSE);
}
