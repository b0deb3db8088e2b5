/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-container-engine-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"

#define WHAT_IMAGE "The container engine cannot say whether it has the image"

void
ow_container_engine_free (OwContainerEngine *engine)
{
  if (engine == NULL)
    return;

  g_free (engine->program);
  g_free (engine->socket);
  g_free (engine->version);
  g_free (engine->id);
  g_free (engine->root_dir);
  g_free (engine->other);
  g_free (engine);
}

void
ow_container_engine_find_async (const char          *driver,
                                GCancellable        *cancellable,
                                GAsyncReadyCallback  callback,
                                gpointer             user_data)
{
  ow_container_engine_find_at_async (ow_container_engine_places_new (), driver, cancellable,
                                     callback, user_data);
}

OwContainerEngine *
ow_container_engine_find_finish (GAsyncResult  *result,
                                 GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, NULL), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/* Neither command has a status of its own for an image that is not there: one that cannot reach its
 * engine has the same. */
static gboolean
says_absent (const OwContainerSaid *said)
{
  g_autofree char *lower = g_ascii_strdown (said->errors, -1);

  return strstr (lower, "no such image") != NULL || strstr (lower, "image not known") != NULL ||
         strstr (lower, "no such object") != NULL;
}

static void
on_inspected (GObject      *object,
              GAsyncResult *result,
              gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  g_autoptr (OwContainerSaid) said = ow_container_engine_ask_finish (result, &error);

  if (said == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  if (said->status == 0)
    g_task_return_int (task, 1);
  else if (says_absent (said))
    g_task_return_int (task, 0);
  else
    {
      ow_error_set (&error, OW_ERROR_REFUSED, WHAT_IMAGE,
                    *said->errors != '\0' ? said->errors : "it said nothing",
                    "Look whether it runs with `docker info` or `podman info`");
      g_task_return_error (task, error);
    }
}

void
ow_container_engine_has_image_async (const OwContainerEngine *engine,
                                     const char              *image,
                                     GCancellable            *cancellable,
                                     GAsyncReadyCallback      callback,
                                     gpointer                 user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  const char *arguments[] = { "image", "inspect", image, NULL };
  GError *error = NULL;

  g_task_set_source_tag (task, ow_container_engine_has_image_async);
  g_task_set_check_cancellable (task, FALSE);
  if (*image == '\0' || *image == '-')
    {
      ow_error_set (&error, OW_ERROR_REFUSED, WHAT_IMAGE, "that is no image's name",
                    "Look at OPENWORKER_SANDBOX_IMAGE");
      g_task_return_error (task, error);
      return;
    }
  ow_container_engine_ask_async (engine->program, arguments, engine->socket, cancellable,
                                 on_inspected, g_steal_pointer (&task));
}

gboolean
ow_container_engine_has_image_finish (GAsyncResult  *result,
                                      gboolean      *present,
                                      GError       **error)
{
  GError *failed = NULL;
  gssize value;

  g_return_val_if_fail (g_task_is_valid (result, NULL), FALSE);

  value = g_task_propagate_int (G_TASK (result), &failed);
  if (failed != NULL)
    {
      g_propagate_error (error, failed);
      return FALSE;
    }
  *present = value > 0;
  return TRUE;
}

static gboolean
lies_in (const char *path,
         const char *folder)
{
  gsize length = strlen (folder);

  return strncmp (path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* The snap sees what its interfaces "home" and "removable-media" give it. Others are shown to a
 * container as empty folders, without an error. */
char *
ow_container_engine_cannot_mount (const OwContainerEngine *engine,
                                  const char              *path)
{
  static const char * const media[] = { "/media", "/mnt", "/run/media" };
  const char *home = g_get_home_dir ();
  const char *below;

  if (!engine->snap)
    return NULL;
  for (gsize i = 0; i < G_N_ELEMENTS (media); i++)
    if (lies_in (path, media[i]))
      return NULL;
  if (!lies_in (path, home))
    return g_strdup ("Docker from the snap store sees folders of the home only. Install Docker "
                     "from its own packages, or use Podman");
  below = path + strlen (home);
  if (g_str_has_prefix (below, "/.") || lies_in (below, "/snap"))
    return g_strdup ("snap Docker cannot see hidden folders. Install Docker from its own "
                     "packages, or use Podman");
  return NULL;
}

static char *
quote_if_needed (const char *word)
{
  for (const char *p = word; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("-._/:@", *p) == NULL)
      return g_shell_quote (word);
  return g_strdup (word);
}

char *
ow_container_engine_pull_line (const OwContainerEngine *engine,
                               const char              *image)
{
  g_autofree char *command = g_path_get_basename (engine->program);
  g_autofree char *quoted = quote_if_needed (image);
  g_autofree char *host = NULL;
  g_autofree char *place = NULL;

  if (engine->socket == NULL || (engine->kind == OW_ENGINE_DOCKER && engine->other == NULL))
    return g_strdup_printf ("%s pull %s", command, quoted);
  /* The command by itself would download to another engine. */
  host = g_strconcat ("unix://", engine->socket, NULL);
  place = quote_if_needed (host);
  return g_strdup_printf ("%s %s %s pull %s", command,
                          engine->kind == OW_ENGINE_PODMAN ? "--url" : "-H", place, quoted);
}
