/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-text.h"
#include "config/ow-keys.h"
#include "config/ow-model-settings.h"
#include "model/ow-model.h"
#include "ow-engine-model-private.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"

/* The commands about models. A key comes in with model.add, goes to the keyring, and is in no
 * answer, event or error. */

#define MAX_ANSWER_CHARS 2000
#define TEST_WORDS       "This is a test of the connection. Answer with one short sentence."

static OwModelSettings *
read_settings (const json_t  *params,
               GError       **error)
{
  g_autoptr (OwModelSettings) settings = g_new0 (OwModelSettings, 1);
  const char *name = ow_engine_params_need (params, "name", error);
  const char *model = name == NULL ? NULL : ow_engine_params_need (params, "model", error);
  const char *base_url = model == NULL ? NULL : ow_engine_params_need (params, "base_url", error);

  if (base_url == NULL)
    return NULL;
  settings->name = g_strdup (name);
  settings->provider = g_strdup ("openai");
  settings->model = g_strdup (model);
  settings->base_url = g_strdup (base_url);
  settings->ca_file = g_strdup (ow_json_get_string (params, "ca_file", NULL));
  settings->proxy = g_strdup (ow_json_get_string (params, "proxy", NULL));
  return g_steal_pointer (&settings);
}

/* A model that is in the settings already, and waits for its key to be in the keyring. */
typedef struct
{
  GTask *task; /* (owned) */
  char  *name; /* (owned) */
} Adding;

static void
on_key_stored (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  g_autofree Adding *adding = user_data;
  g_autoptr (GTask) task = adding->task;
  g_autofree char *name = adding->name;
  g_autofree char *path = ow_paths_get_config_file ();
  GError *error = NULL;

  if (ow_keys_store_finish (result, &error))
    {
      ow_engine_return_json (task, json_pack ("{s:b, s:s}", "added", TRUE, "keyring", "stored"));
      return;
    }
  /* Half a model is none: it could be asked without the key that was meant for it. */
  ow_config_remove_model (path, name, NULL);
  g_prefix_error (&error, "The model was not added. ");
  g_task_return_error (task, error);
}

/* A key is kept for the address that is meant, however it is written; the settings let none
 * pass that means nothing. (transfer full) */
static char *
find_key_address (const char *base_url)
{
  char *address = ow_model_find_base_url ("openai:x", base_url, NULL);

  return address != NULL ? address : g_strdup (base_url);
}

void
ow_engine_models_add (OwLocalEngine *self,
                      const json_t  *params,
                      GTask         *task)
{
  GError *error = NULL;
  g_autofree char *path = ow_paths_get_config_file ();
  g_autofree char *label = NULL;
  g_autofree char *address = NULL;
  g_autoptr (OwModelSettings) settings = read_settings (params, &error);
  const char *key = ow_json_get_string (params, "key", NULL);
  g_autoptr (OwConfig) config = NULL;
  Adding *adding;

  /* Settings that are broken are told in the same way by every command. */
  if (settings == NULL || (config = ow_local_engine_load_config (&error)) == NULL ||
      (key != NULL && !ow_keys_check (key, &error)) ||
      !ow_config_add_model (path, settings, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  if (key == NULL)
    {
      ow_engine_return_json (task, json_pack ("{s:b, s:s}", "added", TRUE, "keyring", "none"));
      return;
    }
  address = find_key_address (settings->base_url);
  label = g_strdup_printf ("OpenWorker: the key for %s", address);
  adding = g_new0 (Adding, 1);
  adding->task = g_object_ref (task);
  adding->name = g_strdup (settings->name);
  ow_keys_store_async (address, label, key, NULL, on_key_stored, adding);
}

/* The models with what is known of their keys; each is asked for at the same time, because a
 * keyring that is silent costs seconds. */
typedef struct
{
  json_t *models;  /* (owned) */
  guint   n_open;
} List;

typedef struct
{
  GTask *task;     /* (owned) */
  json_t *model;   /* borrowed from the list */
} Lookup;

static void
list_free (gpointer data)
{
  List *list = data;

  json_decref (list->models);
  g_free (list);
}

static void
finish_list (GTask *task)
{
  List *list = g_task_get_task_data (task);

  if (list->n_open == 0)
    ow_engine_return_json (task, json_pack ("{s:O}", "models", list->models));
}

static void
on_key_state (GObject      *source,
              GAsyncResult *result,
              gpointer      user_data)
{
  g_autofree Lookup *lookup = user_data;
  g_autoptr (GTask) task = lookup->task;
  List *list = g_task_get_task_data (task);
  OwKeyState state = OW_KEY_NONE;
  char *key = ow_keys_lookup_finish (result, &state, NULL);

  if (key != NULL)
    ow_keys_free (key);
  json_object_set_new (lookup->model, "key", json_string (ow_key_state_to_string (state)));
  list->n_open--;
  finish_list (task);
}

json_t *
ow_engine_models_describe (OwConfig *config)
{
  GPtrArray *models = ow_config_get_models (config);
  json_t *list = json_array ();

  for (guint i = 0; models != NULL && i < models->len; i++)
    {
      const OwModelSettings *settings = g_ptr_array_index (models, i);

      json_array_append_new (list, json_pack ("{s:s, s:s, s:s, s:s}", "name", settings->name,
                                              "provider", settings->provider,
                                              "model", settings->model,
                                              "base_url", settings->base_url));
    }
  return list;
}

static void
ask_key (GTask  *task,
         json_t *model)
{
  List *list = g_task_get_task_data (task);
  g_autofree char *address = NULL;
  const char *base_url = ow_json_get_string (model, "base_url", "");
  Lookup *lookup = g_new0 (Lookup, 1);

  list->n_open++;
  lookup->task = g_object_ref (task);
  lookup->model = model;
  address = find_key_address (base_url);
  ow_keys_lookup_async (address, NULL, on_key_state, lookup);
}

void
ow_engine_models_list (OwLocalEngine *self,
                       const json_t  *params,
                       GTask         *task)
{
  GError *error = NULL;
  g_autoptr (OwConfig) config = ow_local_engine_load_config (&error);
  g_autoptr (GTask) own = NULL;
  List *list;

  if (config == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  list = g_new0 (List, 1);
  list->models = ow_engine_models_describe (config);
  own = g_task_new (self, NULL, ow_engine_return_part, g_object_ref (task));
  g_task_set_source_tag (own, ow_engine_models_list);
  g_task_set_task_data (own, list, list_free);
  for (size_t i = 0; i < json_array_size (list->models); i++)
    {
      json_t *model = json_array_get (list->models, i);

      json_object_set_new (model, "default", json_boolean (i == 0));
      ask_key (own, model);
    }
  finish_list (own);
}

static void
on_key_removed (GObject      *source,
                GAsyncResult *result,
                gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  json_t *answer = json_pack ("{s:b}", "removed", TRUE);

  if (ow_keys_store_finish (result, &error))
    json_object_set_new (answer, "keyring", json_string ("removed"));
  else
    json_object_set_new (answer, "keyring", json_string (error->message));
  ow_engine_return_json (task, answer);
}

/* A key is bound to its address, and stays while another model is there. */
static gboolean
shares_key (OwConfig   *config,
            const char *name,
            const char *base_url)
{
  GPtrArray *models = ow_config_get_models (config);
  g_autofree char *address = find_key_address (base_url);

  for (guint i = 0; i < models->len; i++)
    {
      const OwModelSettings *other = g_ptr_array_index (models, i);
      g_autofree char *theirs = find_key_address (other->base_url);

      if (!g_str_equal (other->name, name) && g_str_equal (theirs, address))
        return TRUE;
    }
  return FALSE;
}

void
ow_engine_models_remove (OwLocalEngine *self,
                         const json_t  *params,
                         GTask         *task)
{
  g_autofree char *path = ow_paths_get_config_file ();
  g_autofree char *address = NULL;
  g_autoptr (OwConfig) config = NULL;
  const OwModelSettings *settings = NULL;
  GError *error = NULL;
  const char *name = ow_engine_params_need (params, "name", &error);

  if (name != NULL)
    config = ow_local_engine_load_config (&error);
  if (config != NULL)
    settings = ow_config_find_model (config, name);
  if (config == NULL || !ow_config_remove_model (path, name, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  if (settings == NULL || shares_key (config, name, settings->base_url))
    {
      ow_engine_return_json (task, json_pack ("{s:b, s:s}", "removed", TRUE, "keyring", "kept"));
      return;
    }
  address = find_key_address (settings->base_url);
  ow_keys_store_async (address, "OpenWorker", NULL, NULL, on_key_removed, g_object_ref (task));
}

/* A question to a model, timed. */
typedef struct
{
  GTask  *task;       /* (owned) */
  gint64  began;
  gint64  first;      /* 0: nothing came yet */
} Trial;

static void
trial_free (Trial *trial)
{
  g_clear_object (&trial->task);
  g_free (trial);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Trial, trial_free)

static void
on_text (const char *text,
         gpointer    user_data)
{
  Trial *trial = user_data;

  if (trial->first == 0)
    trial->first = g_get_monotonic_time ();
}

static void
on_answer (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (Trial) trial = user_data;
  GError *error = NULL;
  g_autoptr (OwModelTurn) turn = ow_model_complete_finish (OW_MODEL (source), result, &error);
  g_autofree char *text = NULL;
  gint64 now = g_get_monotonic_time ();

  if (turn != NULL && turn->cut != NULL)
    ow_error_set (&error, OW_ERROR_FAILED, "The model's answer was not whole", turn->cut, NULL);
  if (error != NULL)
    {
      g_task_return_error (trial->task, error);
      return;
    }
  text = ow_text_shorten (turn->text, MAX_ANSWER_CHARS, FALSE);
  ow_engine_return_json (trial->task,
                         json_pack ("{s:s, s:I, s:I}", "answer", text, "first_byte_ms",
                                    (json_int_t) ((trial->first != 0 ? trial->first : now) -
                                                  trial->began) / 1000,
                                    "total_ms", (json_int_t) (now - trial->began) / 1000));
}

static void
on_model (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  g_autoptr (OwEngineModel) model = ow_engine_model_find_finish (result, &error);
  json_t *history;
  json_t *tools;
  Trial *trial;

  if (model == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  trial = g_new0 (Trial, 1);
  trial->task = g_object_ref (task);
  trial->began = g_get_monotonic_time ();
  history = json_pack ("[{s:s, s:s}]", "role", "user", "text", TEST_WORDS);
  tools = json_array ();
  ow_model_complete_async (model->model, history, tools, on_text, trial,
                           g_task_get_cancellable (task), on_answer, trial);
  json_decref (history);
  json_decref (tools);
}

void
ow_engine_models_test (OwLocalEngine *self,
                       const json_t  *params,
                       GTask         *task)
{
  GError *error = NULL;
  g_autoptr (OwConfig) config = NULL;
  const char *name = ow_engine_params_need (params, "name", &error);

  if (name != NULL)
    config = ow_local_engine_load_config (&error);
  if (config == NULL)
    g_task_return_error (task, error);
  else
    ow_engine_model_find_async (config, name, NULL, g_task_get_cancellable (task), on_model,
                                g_object_ref (task));
}
