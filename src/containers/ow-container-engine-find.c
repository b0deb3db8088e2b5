/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-container-engine-private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ow-error.h"
#include "base/ow-program.h"
#include "base/ow-text.h"

#define EMULATED    "Emulate Docker CLI using podman"
#define UNIX_SCHEME "unix://"

static const char * const ask_info[] = { "info", "--format", "{{json .}}", NULL };
/* For a podman that cannot print itself as JSON in docker's name. */
static const char * const ask_store[] = { "info", "--format",
                                          "{{.Version.Version}}|{{.Store.GraphRoot}}", NULL };
static const char * const ask_context[] = { "context", "inspect", "--format",
                                            "{{.Endpoints.docker.Host}}", NULL };

typedef struct {
  OwContainerPlaces *places;   /* (owned) */
  char              *program;  /* (owned) */
  char             **looked;   /* (owned) where the gateway looks */
  char             **sockets;  /* (owned) those that are there */
  guint              next;
  OwContainerEngine *engine;   /* (owned) (nullable) */
  char              *socket;   /* (owned) (nullable) the first that gave trouble */
  char              *trouble;  /* (owned) */
} Find;

static void
find_free (gpointer data)
{
  Find *find = data;

  ow_container_engine_places_free (find->places);
  ow_container_engine_free (find->engine);
  g_strfreev (find->looked);
  g_strfreev (find->sockets);
  g_free (find->program);
  g_free (find->socket);
  g_free (find->trouble);
  g_free (find);
}

static void ask_next (GTask *task);
static void on_store (GObject *object, GAsyncResult *result, gpointer user_data);

/* NULL when the task has ended with the error; a command that gave no answer said nothing. */
static OwContainerSaid *
take_answer (GTask        *task,
             GAsyncResult *result)
{
  GError *error = NULL;
  OwContainerSaid *said = ow_container_engine_ask_finish (result, &error);

  if (said != NULL)
    return said;
  if (g_error_matches (error, OW_ERROR, OW_ERROR_INTERRUPTED))
    {
      g_task_return_error (task, error);
      return NULL;
    }
  said = g_new0 (OwContainerSaid, 1);
  said->status = -1;
  said->output = g_strdup ("");
  said->errors = g_strdup (error->message);
  g_error_free (error);
  return said;
}

static void
finish (GTask *task)
{
  Find *find = g_task_get_task_data (task);

  g_task_return_pointer (task, g_steal_pointer (&find->engine),
                         (GDestroyNotify) ow_container_engine_free);
}

static void
on_explained (GObject      *object,
              GAsyncResult *result,
              gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;

  g_task_return_error (task, ow_container_engine_explain_finish (result));
}

static void
explain (GTask *task)
{
  Find *find = g_task_get_task_data (task);

  ow_container_engine_explain_async (find->program, find->socket,
                                     find->trouble != NULL ? find->trouble : "",
                                     g_task_get_cancellable (task), on_explained,
                                     g_object_ref (task));
}

/* The path in "unix:///path\n"; NULL when it is none. */
static char *
read_host (const OwContainerSaid *said)
{
  g_autofree char *host = g_strstrip (g_strdup (said->output));

  if (said->status != 0 || !g_str_has_prefix (host, UNIX_SCHEME "/"))
    return NULL;
  return ow_text_visible (host + strlen (UNIX_SCHEME));
}

static gboolean
is_same_place (const char *one,
               const char *two)
{
  struct stat first, second;

  if (strcmp (one, two) == 0)
    return TRUE;
  return stat (one, &first) == 0 && stat (two, &second) == 0 && first.st_ino == second.st_ino &&
         first.st_dev == second.st_dev;
}

/* --- there is one: whether this account's command means another --- */

static void
on_other (GObject      *object,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Find *find = g_task_get_task_data (task);
  g_autoptr (OwContainerSaid) said = take_answer (task, result);
  g_autoptr (OwContainerEngine) other = NULL;

  if (said == NULL)
    return;
  other = ow_container_engine_read_info (find->program, NULL, said->output);
  if (other == NULL || g_strcmp0 (other->id, find->engine->id) == 0)
    g_clear_pointer (&find->engine->other, g_free);
  finish (task);
}

static void
on_context (GObject      *object,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Find *find = g_task_get_task_data (task);
  g_autoptr (OwContainerSaid) said = take_answer (task, result);
  g_autofree char *path = said != NULL ? read_host (said) : NULL;

  if (said == NULL)
    return;
  if (path == NULL || is_same_place (path, find->engine->socket))
    {
      finish (task);
      return;
    }
  find->engine->other = g_steal_pointer (&path);
  ow_container_engine_ask_async (find->program, ask_info, NULL, g_task_get_cancellable (task),
                                 on_other, g_object_ref (task));
}

static void
found (GTask             *task,
       OwContainerEngine *engine)
{
  Find *find = g_task_get_task_data (task);

  find->engine = engine;
  /* Podman has no daemon and looks at its own storage. */
  if (engine->kind == OW_ENGINE_PODMAN && find->looked != NULL)
    g_clear_pointer (&engine->socket, g_free);
  if (engine->socket == NULL || engine->kind == OW_ENGINE_PODMAN)
    finish (task);
  else
    ow_container_engine_ask_async (find->program, ask_context, NULL,
                                   g_task_get_cancellable (task), on_context,
                                   g_object_ref (task));
}

/* --- none where the gateway looks: whether this account's command has one --- */

static void
on_account_context (GObject      *object,
                    GAsyncResult *result,
                    gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Find *find = g_task_get_task_data (task);
  g_autoptr (OwContainerSaid) said = take_answer (task, result);
  g_autofree char *path = said != NULL ? read_host (said) : NULL;
  g_autofree char *places = NULL;
  g_autofree char *next = NULL;
  GError *error = NULL;

  if (said == NULL)
    return;
  for (guint i = 0; path != NULL && find->looked[i] != NULL; i++)
    if (is_same_place (path, find->looked[i]))
      g_clear_pointer (&path, g_free);
  /* One that does not say where it is stands at the usual place. */
  if (path == NULL)
    {
      finish (task);
      return;
    }
  places = g_strjoinv (", ", find->looked);
  next = g_strdup_printf ("Put the line DOCKER_HOST=unix://%s into %s and run `systemctl --user "
                          "restart openshell-gateway`", path, find->places->gateway_env);
  ow_error_setf (&error, OW_ERROR_REFUSED, next,
                 "The OpenShell gateway does not see the container engine of this account: docker "
                 "uses %s here, and the gateway looks at %s", path, places);
  g_task_return_error (task, error);
}

static void
on_account (GObject      *object,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Find *find = g_task_get_task_data (task);
  g_autoptr (OwContainerSaid) said = take_answer (task, result);

  if (said == NULL)
    return;
  find->engine = ow_container_engine_read_info (find->program, NULL, said->output);
  if (find->engine != NULL && find->engine->kind == OW_ENGINE_DOCKER)
    {
      ow_container_engine_ask_async (find->program, ask_context, NULL,
                                     g_task_get_cancellable (task), on_account_context,
                                     g_object_ref (task));
      return;
    }
  if (find->engine != NULL)
    {
      finish (task);
      return;
    }
  if (find->trouble == NULL)
    {
      find->trouble = ow_container_engine_read_trouble (said);
      find->socket = g_strdup (find->places->system);
    }
  if (strstr (said->errors, EMULATED) != NULL)
    ow_container_engine_ask_async (find->program, ask_store, NULL, g_task_get_cancellable (task),
                                   on_store, g_object_ref (task));
  else
    explain (task);
}

/* --- the places of the gateway --- */

static void
on_store (GObject      *object,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Find *find = g_task_get_task_data (task);
  g_autoptr (OwContainerSaid) said = take_answer (task, result);
  g_auto (GStrv) fields = NULL;
  OwContainerEngine *engine;

  if (said == NULL)
    return;
  fields = g_strsplit (g_strstrip (said->output), "|", 2);
  if (said->status != 0 || g_strv_length (fields) != 2 || !g_path_is_absolute (fields[1]))
    {
      explain (task);
      return;
    }
  engine = g_new0 (OwContainerEngine, 1);
  engine->kind = OW_ENGINE_PODMAN;
  engine->shim = TRUE;
  engine->program = g_strdup (find->program);
  engine->version = ow_text_visible (fields[0]);
  engine->root_dir = ow_text_visible (fields[1]);
  found (task, engine);
}

static void
on_info (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Find *find = g_task_get_task_data (task);
  g_autoptr (OwContainerSaid) said = take_answer (task, result);
  const char *socket = find->sockets[find->next];
  OwContainerEngine *engine;

  if (said == NULL)
    return;
  engine = ow_container_engine_read_info (find->program, socket, said->output);
  if (engine != NULL)
    {
      found (task, engine);
      return;
    }
  if (find->trouble == NULL)
    {
      find->trouble = ow_container_engine_read_trouble (said);
      find->socket = g_strdup (socket);
    }
  if (strstr (said->errors, EMULATED) != NULL)
    {
      ow_container_engine_ask_async (find->program, ask_store, NULL,
                                     g_task_get_cancellable (task), on_store, g_object_ref (task));
      return;
    }
  find->next++;
  ask_next (task);
}

static void
ask_next (GTask *task)
{
  Find *find = g_task_get_task_data (task);
  const char *socket = find->sockets[find->next];

  if (socket != NULL)
    ow_container_engine_ask_async (find->program, ask_info, socket,
                                   g_task_get_cancellable (task), on_info, g_object_ref (task));
  else
    ow_container_engine_ask_async (find->program, ask_info, NULL, g_task_get_cancellable (task),
                                   on_account, g_object_ref (task));
}

/* Those that are sockets, or may be: one in a folder that is closed to us. */
static char **
keep_sockets (char **looked)
{
  g_autoptr (GStrvBuilder) sockets = g_strv_builder_new ();

  for (guint i = 0; looked[i] != NULL; i++)
    {
      struct stat info;

      if (stat (looked[i], &info) == 0 ? S_ISSOCK (info.st_mode) : errno == EACCES)
        g_strv_builder_add (sockets, looked[i]);
    }
  return g_strv_builder_end (sockets);
}

static gboolean
prepare (Find        *find,
         const char  *driver,
         GError     **error)
{
  gboolean docker = strcmp (driver, "docker") == 0;
  g_autoptr (GError) failed = NULL;
  g_autofree char *host = NULL;

  if (!docker && strcmp (driver, "podman") != 0)
    {
      g_autofree char *shown = ow_text_visible (driver);

      ow_error_setf (error, OW_ERROR_REFUSED, "Let the gateway use Docker or Podman",
                     "The OpenShell gateway uses an engine that is not known here: %s", shown);
      return FALSE;
    }
  host = ow_container_engine_read_env (find->places->gateway_env,
                                       docker ? "DOCKER_HOST" : "OPENSHELL_PODMAN_SOCKET",
                                       &failed);
  if (failed != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failed));
      return FALSE;
    }
  find->program = ow_program_find (driver);
  if (find->program == NULL && !docker)
    find->program = ow_program_find ("docker");
  if (find->program == NULL)
    {
      ow_error_setf (error, OW_ERROR_REFUSED,
                     "See https://docs.docker.com/engine/install/, or install Podman",
                     "%s is not installed: there is no command %s", docker ? "Docker" : "Podman",
                     driver);
      return FALSE;
    }
  if (docker)
    {
      find->looked = ow_container_engine_sockets (find->places, host);
      find->sockets = keep_sockets (find->looked);
    }
  else
    {
      const char *own[] = { host, NULL };

      find->sockets = g_strdupv ((char **) own);
    }
  return TRUE;
}

/* Podman is asked once, at the socket that the gateway was given or at its own storage. */
static void
on_podman (GObject      *object,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Find *find = g_task_get_task_data (task);
  g_autoptr (OwContainerSaid) said = take_answer (task, result);
  OwContainerEngine *engine;
  GError *error = NULL;

  if (said == NULL)
    return;
  engine = ow_container_engine_read_info (find->program, find->sockets[0], said->output);
  if (engine == NULL)
    {
      find->trouble = ow_container_engine_read_trouble (said);
      find->socket = g_strdup (find->sockets[0]);
      explain (task);
    }
  else if (engine->kind != OW_ENGINE_PODMAN)
    {
      ow_container_engine_free (engine);
      ow_error_set (&error, OW_ERROR_REFUSED,
                    "The OpenShell gateway uses Podman, and only Docker answers to this account",
                    NULL, "Install Podman, or let the gateway use Docker");
      g_task_return_error (task, error);
    }
  else
    {
      found (task, engine);
    }
}

void
ow_container_engine_find_at_async (OwContainerPlaces   *places,
                                   const char          *driver,
                                   GCancellable        *cancellable,
                                   GAsyncReadyCallback  callback,
                                   gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Find *find = g_new0 (Find, 1);
  GError *error = NULL;

  g_task_set_source_tag (task, ow_container_engine_find_at_async);
  g_task_set_check_cancellable (task, FALSE);
  find->places = places;
  g_task_set_task_data (task, find, find_free);
  if (!prepare (find, driver, &error))
    g_task_return_error (task, error);
  else if (find->looked != NULL)
    ask_next (task);
  else
    ow_container_engine_ask_async (find->program, ask_info, find->sockets[0], cancellable,
                                   on_podman, g_object_ref (task));
}
