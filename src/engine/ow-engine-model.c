/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-model-private.h"

#include <string.h>
#include <sys/prctl.h>

#include "base/ow-error.h"
#include "base/ow-http.h"
#include "base/ow-text.h"
#include "config/ow-keys.h"

#define MAX_NAME_CHARS 60

typedef struct
{
  char *name;     /* (owned) */
  char *base_url; /* (owned) (nullable) */
  char *ca_file;  /* (owned) (nullable) */
  char *proxy;    /* (owned) (nullable) */
} Search;

void
ow_engine_model_free (OwEngineModel *self)
{
  g_clear_object (&self->model);
  g_free (self->name);
  g_free (self->base_url);
  g_free (self);
}

static void
search_free (gpointer data)
{
  Search *search = data;

  g_free (search->name);
  g_free (search->base_url);
  g_free (search->ca_file);
  g_free (search->proxy);
  g_free (search);
}

/* A session that goes on knows its model by what it is, not by the name that the settings have
 * for it: whom to believe there and which way leads there is still what they say. */
static void
adopt_settings (Search   *search,
                OwConfig *config)
{
  GPtrArray *models = ow_config_get_models (config);
  g_autofree char *address = ow_model_find_base_url (search->name, search->base_url, NULL);

  for (guint i = 0; address != NULL && models != NULL && i < models->len; i++)
    {
      const OwModelSettings *settings = g_ptr_array_index (models, i);
      g_autofree char *name = g_strdup_printf ("%s:%s", settings->provider, settings->model);
      g_autofree char *other = ow_model_find_base_url (name, settings->base_url, NULL);

      if (g_strcmp0 (other, address) != 0 || !g_str_equal (name, search->name))
        continue;
      search->ca_file = g_strdup (settings->ca_file);
      search->proxy = g_strdup (settings->proxy);
      return;
    }
}

/* Finds the name and address that are meant; FALSE with @error. */
static gboolean
read_settings (Search      *search,
               OwConfig    *config,
               const char  *name,
               const char  *base_url,
               GError     **error)
{
  const OwModelSettings *settings = NULL;
  GPtrArray *models = ow_config_get_models (config);

  if (name != NULL && strchr (name, ':') != NULL)
    {
      search->name = g_strdup (name);
      search->base_url = g_strdup (base_url);
      adopt_settings (search, config);
      return TRUE;
    }
  if (name != NULL)
    settings = ow_config_find_model (config, name);
  else if (models != NULL && models->len > 0)
    settings = g_ptr_array_index (models, 0);
  if (settings == NULL)
    {
      g_autofree char *shown = ow_text_visible (name != NULL ? name : "");
      g_autofree char *word = ow_text_shorten (shown, MAX_NAME_CHARS, TRUE);

      if (name == NULL)
        ow_error_set (error, OW_ERROR_USAGE, "The task needs a model", "none is set",
                      "Give --model, or add one: openworker model add.");
      else
        ow_error_setf (error, OW_ERROR_USAGE,
                       "Give replay:FILE or openai:NAME, or see `openworker model list`.",
                       "There is no model called “%s”", word);
      return FALSE;
    }
  if (base_url != NULL)
    {
      ow_error_set (error, OW_ERROR_USAGE, "This model has an address of its own",
                    "another one was given with it", "Leave --base-url out.");
      return FALSE;
    }
  search->name = g_strdup_printf ("%s:%s", settings->provider, settings->model);
  search->base_url = g_strdup (settings->base_url);
  search->ca_file = g_strdup (settings->ca_file);
  search->proxy = g_strdup (settings->proxy);
  return TRUE;
}

static void
make_model (GTask      *task,
            const char *key)
{
  Search *search = g_task_get_task_data (task);
  const OwModelOptions options = {
    .name = search->name,
    .base_url = search->base_url,
    .key = key,
    .ca_file = search->ca_file,
    .proxy = search->proxy,
  };
  g_autoptr (OwModel) model = NULL;
  OwEngineModel *self;
  GError *error = NULL;

  /* A crash would write the key where the kernel's settings want it, limit or not. */
  if (key != NULL)
    prctl (PR_SET_DUMPABLE, 0);
  model = ow_model_new (&options, &error);
  if (model == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  self = g_new0 (OwEngineModel, 1);
  self->model = g_steal_pointer (&model);
  self->name = g_steal_pointer (&search->name);
  self->base_url = g_steal_pointer (&search->base_url);
  g_task_return_pointer (task, self, (GDestroyNotify) ow_engine_model_free);
}

static void
on_key (GObject      *source,
        GAsyncResult *result,
        gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Search *search = g_task_get_task_data (task);
  OwKeyState state = OW_KEY_NONE;
  GError *error = NULL;
  char *key = ow_keys_lookup_finish (result, &state, &error);

  if (key == NULL && error != NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  if (key == NULL && !ow_keys_check_environment (&error))
    {
      g_task_return_error (task, error);
      return;
    }
  /* Somebody's own server may want none; where a key could not even go in clear text, there
   * can be none. */
  if (key == NULL && g_str_has_prefix (search->base_url, "https:") &&
      !ow_http_url_is_loopback (search->base_url))
    ow_error_set (&error, OW_ERROR_REFUSED, "The model cannot be asked without a key",
                  ow_key_state_describe (state), NULL);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    make_model (task, key);
  if (key != NULL)
    ow_keys_free (key);
}

void
ow_engine_model_find_async (OwConfig            *config,
                            const char          *name,
                            const char          *base_url,
                            GCancellable        *cancellable,
                            GAsyncReadyCallback  callback,
                            gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_autoptr (GError) error = NULL;
  Search *search = g_new0 (Search, 1);
  char *address = NULL;

  g_task_set_source_tag (task, ow_engine_model_find_async);
  g_task_set_task_data (task, search, search_free);
  if (read_settings (search, config, name, base_url, &error))
    address = ow_model_find_base_url (search->name, search->base_url, &error);
  if (error != NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  if (address == NULL)
    {
      make_model (task, NULL);
      return;
    }
  g_free (search->base_url);
  search->base_url = address;
  ow_keys_lookup_async (address, cancellable, on_key, g_steal_pointer (&task));
}

OwEngineModel *
ow_engine_model_find_finish (GAsyncResult  *result,
                             GError       **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
