/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-container-engine-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-text.h"

#define ENV_MAX      65536
#define UNIX_SCHEME  "unix://"
#define SYSTEM_PLACE "/var/run/docker.sock"

OwContainerPlaces *
ow_container_engine_places_new (void)
{
  OwContainerPlaces *places = g_new0 (OwContainerPlaces, 1);

  places->gateway_env = g_build_filename (g_get_user_config_dir (), "openshell", "gateway.env",
                                          NULL);
  places->system = g_strdup (SYSTEM_PLACE);
  places->home = g_strdup (g_get_home_dir ());
  places->runtime = g_strdup (g_getenv ("XDG_RUNTIME_DIR"));
  return places;
}

void
ow_container_engine_places_free (OwContainerPlaces *places)
{
  if (places == NULL)
    return;

  g_free (places->gateway_env);
  g_free (places->system);
  g_free (places->home);
  g_free (places->runtime);
  g_free (places);
}

/* Takes one pair of quotes off. */
static char *
unquote (const char *value)
{
  gsize length = strlen (value);

  if (length >= 2 && (value[0] == '"' || value[0] == '\'') && value[length - 1] == value[0])
    return g_strndup (value + 1, length - 2);
  return g_strdup (value);
}

static char *
find_key (const char *text,
          const char *key)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  char *found = NULL;

  /* The last one counts. */
  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *line = g_strstrip (lines[i]);
      const char *equals = strchr (line, '=');
      g_autofree char *name = NULL;

      if (*line == '#' || *line == ';' || equals == NULL)
        continue;
      name = g_strchomp (g_strndup (line, equals - line));
      if (strcmp (name, key) != 0)
        continue;
      g_free (found);
      found = g_strdup (equals + 1);
      g_strstrip (found);
    }
  if (found != NULL)
    {
      g_autofree char *quoted = found;

      found = unquote (quoted);
    }
  return found;
}

char *
ow_container_engine_read_env (const char  *path,
                              const char  *key,
                              GError     **error)
{
  g_autoptr (GError) reason = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *text = NULL;

  if (!g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_SYMLINK))
    return NULL;
  bytes = ow_file_read (path, ENV_MAX, &reason);
  if (bytes == NULL)
    {
      g_autofree char *shown = ow_text_visible (path);

      ow_error_setf (error, OW_ERROR_REFUSED,
                     "Make the file readable, or take it away and restart the gateway",
                     "The settings of the OpenShell gateway in %s cannot be read: %s", shown,
                     reason->message);
      return NULL;
    }
  text = ow_text_from_bytes (g_bytes_get_data (bytes, NULL), (gssize) g_bytes_get_size (bytes));
  return find_key (text, key);
}

/* Only a path is looked at there; anything else is passed over. */
char **
ow_container_engine_sockets (const OwContainerPlaces *places,
                             const char              *host)
{
  g_autoptr (GStrvBuilder) sockets = g_strv_builder_new ();
  g_autofree char *of_home = g_build_filename (places->home, ".docker", "run", "docker.sock",
                                               NULL);

  if (host != NULL && g_str_has_prefix (host, UNIX_SCHEME "/"))
    g_strv_builder_add (sockets, host + strlen (UNIX_SCHEME));
  g_strv_builder_add (sockets, places->system);
  g_strv_builder_add (sockets, of_home);
  if (places->runtime != NULL)
    {
      g_autofree char *of_runtime = g_build_filename (places->runtime, "docker.sock", NULL);

      g_strv_builder_add (sockets, of_runtime);
    }
  return g_strv_builder_end (sockets);
}
