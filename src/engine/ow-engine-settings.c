/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "config/ow-config-settings.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"

/* settings.get and settings.set: what config.toml says of the wall. The file is read and written
 * in a thread: another program may have it locked for seconds. */

typedef struct
{
  char    *file;  /* (owned) */
  char    *key;   /* (owned) (nullable) nothing is to be changed */
  char    *value; /* (owned) (nullable) the key is to be taken out */
} Job;

static void
job_free (gpointer data)
{
  Job *job = data;

  g_free (job->file);
  g_free (job->key);
  g_free (job->value);
  g_free (job);
}

static json_t *
describe (OwConfig   *config,
          const char *file)
{
  const char * const *keys = ow_config_get_setting_keys ();
  json_t *settings = json_array ();

  for (; *keys != NULL; keys++)
    {
      g_autofree char *value = ow_config_get_setting (config, *keys);

      json_array_append_new (settings, json_pack ("{s:s, s:s?, s:s}", "key", *keys, "value", value,
                                                  "otherwise",
                                                  ow_config_describe_default (*keys)));
    }
  return json_pack ("{s:s, s:o}", "file", file, "settings", settings);
}

static void
work (GTask        *task,
      gpointer      source,
      gpointer      data,
      GCancellable *cancellable)
{
  const Job *job = data;
  GError *error = NULL;
  /* Settings that are broken are told in the same way by every command. */
  g_autoptr (OwConfig) config = ow_local_engine_load_config (&error);
  gboolean ok = config != NULL;

  g_clear_object (&config);
  if (ok && job->key != NULL && job->value != NULL)
    ok = ow_config_set (job->file, job->key, job->value, &error);
  else if (ok && job->key != NULL)
    ok = ow_config_unset (job->file, job->key, &error);
  if (ok)
    config = ow_local_engine_load_config (&error);
  if (config != NULL)
    ow_engine_return_json (task, describe (config, job->file));
  else
    g_task_return_error (task, error);
}

static void
start (OwLocalEngine *self,
       const char    *key,
       const char    *value,
       GTask         *task)
{
  g_autoptr (GTask) own = g_task_new (self, NULL, ow_engine_return_part, g_object_ref (task));
  Job *job = g_new0 (Job, 1);

  job->file = ow_paths_get_config_file ();
  job->key = g_strdup (key);
  job->value = g_strdup (value);
  g_task_set_source_tag (own, start);
  g_task_set_task_data (own, job, job_free);
  g_task_run_in_thread (own, work);
}

void
ow_engine_settings_get (OwLocalEngine *self,
                        const json_t  *params,
                        GTask         *task)
{
  start (self, NULL, NULL, task);
}

void
ow_engine_settings_set (OwLocalEngine *self,
                        const json_t  *params,
                        GTask         *task)
{
  GError *error = NULL;
  const char *key = ow_engine_params_need (params, "key", &error);
  const char *value = ow_json_get_string (params, "value", NULL);

  if (key != NULL && (value != NULL) == ow_json_get_bool (params, "unset", FALSE))
    ow_error_set (&error, OW_ERROR_USAGE, "The setting cannot be taken", "it needs either a value "
                  "or \"unset\"", NULL);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    start (self, key, value, task);
}
