/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-container-engine-private.h"

#include <string.h>
#include <sys/wait.h>

#include "base/ow-error.h"
#include "base/ow-process.h"
#include "base/ow-text.h"

#define CALL_MS      10000
#define CALL_CAP     (1024u * 1024u)
#define ERRORS_CHARS 600

void
ow_container_engine_said_free (OwContainerSaid *said)
{
  if (said == NULL)
    return;

  g_free (said->output);
  g_free (said->errors);
  g_free (said);
}

/* What the commands need of ours to find the engine and its configuration; a proxy is not for a
 * socket here. */
static char **
make_environment (const char *program,
                  const char *socket)
{
  static const char * const names[] = { "HOME", "USER", "LOGNAME", "PATH", "XDG_RUNTIME_DIR",
                                        "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DOCKER_CONFIG" };
  static const char * const own[] = { "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY",
                                      "DOCKER_CERT_PATH", "CONTAINER_HOST" };
  char **environment = g_new0 (char *, 1);

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_getenv (names[i]) != NULL)
      environment = g_environ_setenv (environment, names[i], g_getenv (names[i]), TRUE);
  if (socket != NULL)
    {
      g_autofree char *host = g_strconcat ("unix://", socket, NULL);
      g_autofree char *command = g_path_get_basename (program);

      return g_environ_setenv (environment, strcmp (command, "podman") == 0 ? "CONTAINER_HOST"
                                                                             : "DOCKER_HOST",
                               host, TRUE);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (own); i++)
    if (g_getenv (own[i]) != NULL)
      environment = g_environ_setenv (environment, own[i], g_getenv (own[i]), TRUE);
  return environment;
}

static void
on_run (GObject      *object,
        GAsyncResult *result,
        gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  g_autoptr (OwProcessResult) run = ow_process_run_finish (result, &error);
  g_autofree char *errors = NULL;
  g_autofree char *stripped = NULL;
  g_autofree char *visible = NULL;
  OwContainerSaid *said;

  if (run == NULL)
    {
      if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        {
          g_clear_error (&error);
          ow_error_set (&error, OW_ERROR_INTERRUPTED, "The container engine was not asked",
                        "it was stopped", NULL);
        }
      g_task_return_error (task, error);
      return;
    }

  said = g_new0 (OwContainerSaid, 1);
  said->status = WIFEXITED (run->status) ? WEXITSTATUS (run->status) : -1;
  said->output = ow_text_from_bytes (g_bytes_get_data (run->output, NULL),
                                     (gssize) g_bytes_get_size (run->output));
  errors = ow_text_from_bytes (g_bytes_get_data (run->error_output, NULL),
                               (gssize) g_bytes_get_size (run->error_output));
  stripped = ow_text_strip_ansi (errors);
  g_strstrip (stripped);
  visible = ow_text_visible (stripped);
  said->errors = ow_text_shorten (visible, ERRORS_CHARS, TRUE);
  g_task_return_pointer (task, said, (GDestroyNotify) ow_container_engine_said_free);
}

void
ow_container_engine_ask_async (const char          *program,
                               const char * const  *arguments,
                               const char          *socket,
                               GCancellable        *cancellable,
                               GAsyncReadyCallback  callback,
                               gpointer             user_data)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_auto (GStrv) environment = make_environment (program, socket);
  OwProcessOptions options = { .dies_with_us = TRUE };
  GTask *task = g_task_new (NULL, cancellable, callback, user_data);

  g_task_set_source_tag (task, ow_container_engine_ask_async);
  g_task_set_check_cancellable (task, FALSE);
  g_ptr_array_add (argv, (gpointer) program);
  for (guint i = 0; arguments[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer) arguments[i]);
  g_ptr_array_add (argv, NULL);
  options.argv = (const char * const *) argv->pdata;
  options.envp = (const char * const *) environment;
  ow_process_run_async (&options, CALL_MS, CALL_CAP, cancellable, on_run, task);
}

OwContainerSaid *
ow_container_engine_ask_finish (GAsyncResult  *result,
                                GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, NULL), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
