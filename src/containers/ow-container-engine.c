/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "containers/ow-container-engine.h"

#include <string.h>
#include <sys/wait.h>

#include "base/ow-error.h"
#include "base/ow-process.h"
#include "base/ow-text.h"
#include "wire/ow-json.h"

#define CALL_MS  10000
#define CALL_CAP (4u * 1024u * 1024u)

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
  g_free (engine);
}

static OwContainerEngine *
read_info (const char *program,
           json_t     *root)
{
  OwContainerEngine *engine = g_new0 (OwContainerEngine, 1);
  json_t *store = json_object_get (root, "store");
  const char *root_dir = ow_json_get_string (root, "DockerRootDir", NULL);

  engine->program = g_strdup (program);
  if (root_dir == NULL)
    {
      engine->kind = OW_ENGINE_PODMAN;
      engine->version = g_strdup (ow_json_get_string (json_object_get (root, "version"), "Version",
                                                      ""));
      root_dir = ow_json_get_string (store, "graphRoot", NULL);
    }
  else
    {
      engine->version = g_strdup (ow_json_get_string (root, "ServerVersion", ""));
      engine->id = g_strdup (ow_json_get_string (root, "ID", NULL));
      engine->snap = g_str_has_prefix (root_dir, "/var/snap/docker/");
    }
  engine->root_dir = g_strdup (root_dir);
  return engine;
}

static void
on_info (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  g_autoptr (OwProcessResult) run = ow_process_run_finish (result, &error);
  char reason[OW_WIRE_ERROR_SIZE];
  json_t *root;

  if (run == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  root = ow_json_parse (g_bytes_get_data (run->output, NULL), g_bytes_get_size (run->output),
                        reason);
  if (root == NULL)
    {
      g_autofree char *said = ow_text_from_bytes (g_bytes_get_data (run->error_output, NULL),
                                                  (gssize) g_bytes_get_size (run->error_output));
      g_autofree char *visible = ow_text_visible (said);

      ow_error_set (&error, OW_ERROR_REFUSED, "The container engine does not answer", visible,
                    NULL);
      g_task_return_error (task, error);
      return;
    }
  g_task_return_pointer (task, read_info (g_task_get_task_data (task), root),
                         (GDestroyNotify) ow_container_engine_free);
  json_decref (root);
}

void
ow_container_engine_find_async (const char          *driver,
                                GCancellable        *cancellable,
                                GAsyncReadyCallback  callback,
                                gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  char *program = g_find_program_in_path (driver);
  const char *argv[] = { program, "info", "--format", "{{json .}}", NULL };
  OwProcessOptions options = { .argv = argv };
  GError *error = NULL;

  g_task_set_source_tag (task, ow_container_engine_find_async);
  g_task_set_task_data (task, program, g_free);
  if (program == NULL)
    {
      ow_error_setf (&error, OW_ERROR_REFUSED, NULL, "%s is not installed", driver);
      g_task_return_error (task, error);
      return;
    }
  ow_process_run_async (&options, CALL_MS, CALL_CAP, cancellable, on_info,
                        g_steal_pointer (&task));
}

OwContainerEngine *
ow_container_engine_find_finish (GAsyncResult  *result,
                                 GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, NULL), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
on_inspected (GObject      *object,
              GAsyncResult *result,
              gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  g_autoptr (OwProcessResult) run = ow_process_run_finish (result, &error);

  if (run == NULL)
    g_task_return_error (task, error);
  else
    g_task_return_int (task, WIFEXITED (run->status) && WEXITSTATUS (run->status) == 0);
}

void
ow_container_engine_has_image_async (const OwContainerEngine *engine,
                                     const char              *image,
                                     GCancellable            *cancellable,
                                     GAsyncReadyCallback      callback,
                                     gpointer                 user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  const char *argv[] = { engine->program, "image", "inspect", "--", image, NULL };
  OwProcessOptions options = { .argv = argv };

  g_task_set_source_tag (task, ow_container_engine_has_image_async);
  ow_process_run_async (&options, CALL_MS, CALL_CAP, cancellable, on_inspected,
                        g_steal_pointer (&task));
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

char *
ow_container_engine_cannot_mount (const OwContainerEngine *engine,
                                  const char              *path)
{
  if (engine->snap && strstr (path, "/.") != NULL)
    return g_strdup ("Docker from the snap store cannot see hidden folders");
  return NULL;
}

char *
ow_container_engine_pull_line (const OwContainerEngine *engine,
                               const char              *image)
{
  g_autofree char *quoted = g_shell_quote (image);

  return g_strdup_printf ("%s pull %s", engine->kind == OW_ENGINE_PODMAN ? "podman" : "docker",
                          quoted);
}
