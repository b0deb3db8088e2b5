/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "credentials/ow-credential-login.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"

/* The commands about the person's logins: which of them sandboxes get a copy of. No login itself
 * is in an answer, event or error. The files are looked at in a thread. */

/* For all of them together; what is not looked at by then is said so. */
#define LOOK_TIME (10 * G_TIME_SPAN_SECOND)

typedef enum { LIST, ENABLE, DISABLE, ADD, REMOVE } What;

typedef struct
{
  What      what;
  char     *file;          /* (owned) the settings */
  char     *name;          /* (owned) (nullable) */
  char     *path;          /* (owned) (nullable) */
  char    **hosts;         /* (owned) (nullable) */
  char    **private_hosts; /* (owned) (nullable) */
  gboolean  enabled;
} Job;

static void
job_free (gpointer data)
{
  Job *job = data;

  g_free (job->file);
  g_free (job->name);
  g_free (job->path);
  g_strfreev (job->hosts);
  g_strfreev (job->private_hosts);
  g_free (job);
}

static json_t *
hosts_to_json (GPtrArray *hosts)
{
  json_t *json = json_array ();

  for (guint i = 0; i < hosts->len; i++)
    {
      g_autofree char *text = ow_host_to_text (g_ptr_array_index (hosts, i));

      json_array_append_new (json, json_string (text));
    }
  return json;
}

static json_t *
describe (const OwConfigCredential *entry,
          gint64                    deadline)
{
  g_autoptr (OwCredentialLogin) login = ow_credential_login_look (
    entry, g_get_home_dir (), g_getenv ("KUBECONFIG"), deadline);
  g_autofree char *path = g_strconcat ("~/", entry->path, NULL);
  g_autofree char *meaning = ow_credential_login_describe (entry);

  return json_pack ("{s:s, s:b, s:b, s:s, s:o, s:o, s:s, s:s, s:s, s:o}", "name", entry->name,
                    "enabled", entry->enabled, "built_in", entry->built_in, "path", path,
                    "hosts", hosts_to_json (login->hosts), "private_hosts",
                    hosts_to_json (entry->private_hosts), "means", meaning, "state",
                    ow_credential_use_to_string (login->use), "says", login->sentence,
                    "consent", hosts_to_json (login->consent));
}

static json_t *
describe_all (OwConfig *config)
{
  GPtrArray *all = ow_config_get_credentials (config);
  const gint64 deadline = g_get_monotonic_time () + LOOK_TIME;
  json_t *list = json_array ();

  for (guint i = 0; i < all->len; i++)
    json_array_append_new (list, describe (g_ptr_array_index (all, i), deadline));
  return json_pack ("{s:o}", "credentials", list);
}

/* Texts of addresses the person agreed to. (transfer full) */
static GPtrArray *
read_agreed (char   **texts,
             GError **error)
{
  g_autoptr (GPtrArray) hosts = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);

  for (; texts != NULL && *texts != NULL; texts++)
    {
      g_autoptr (GError) reason = NULL;
      OwHost *host = ow_host_parse_as (*texts, OW_HOST_PRIVATE, &reason);

      if (host == NULL)
        {
          g_set_error_literal (error, OW_ERROR, OW_ERROR_USAGE, reason->message);
          return NULL;
        }
      g_ptr_array_add (hosts, host);
    }
  return g_steal_pointer (&hosts);
}

static gboolean
change (const Job  *job,
        GError    **error)
{
  g_autoptr (GPtrArray) agreed = NULL;

  switch (job->what)
    {
    case ENABLE:
      agreed = read_agreed (job->private_hosts, error);
      return agreed != NULL && ow_config_enable_credential (job->file, job->name, agreed, error);
    case DISABLE:
      return ow_config_disable_credential (job->file, job->name, error);
    case ADD:
      return ow_config_add_credential (job->file, job->name, job->path,
                                       (const char * const *) job->hosts,
                                       (const char * const *) job->private_hosts, job->enabled,
                                       error);
    case REMOVE:
      return ow_config_remove_credential (job->file, job->name, error);
    case LIST:
      break;
    }
  return TRUE;
}

static void
work (GTask        *task,
      gpointer      source,
      gpointer      data,
      GCancellable *cancellable)
{
  const Job *job = data;
  GError *error = NULL;
  g_autoptr (OwConfig) config = NULL;

  /* Settings that are broken are told in the same way by every command. */
  config = ow_local_engine_load_config (&error);
  if (config != NULL && job->what != LIST)
    {
      g_clear_object (&config);
      if (change (job, &error))
        config = ow_local_engine_load_config (&error);
    }
  if (config != NULL)
    ow_engine_return_json (task, describe_all (config));
  else
    g_task_return_error (task, error);
}

/* (nullable) where the list is not there. */
static gboolean
read_texts (const json_t  *params,
            const char    *key,
            char        ***texts,
            GError       **error)
{
  if (json_array_size (json_object_get (params, key)) == 0)
    return TRUE;
  return ow_engine_params_read_words (params, key, texts, error);
}

static void
start (OwLocalEngine *self,
       What           what,
       const json_t  *params,
       GTask         *task)
{
  g_autoptr (GTask) own = g_task_new (self, NULL, ow_engine_return_part, g_object_ref (task));
  Job *job = g_new0 (Job, 1);
  GError *error = NULL;

  job->what = what;
  job->file = ow_paths_get_config_file ();
  job->enabled = ow_json_get_bool (params, "enabled", FALSE);
  g_task_set_source_tag (own, start);
  g_task_set_task_data (own, job, job_free);
  if (what != LIST)
    job->name = g_strdup (ow_engine_params_need (params, "name", &error));
  if (what == ADD && error == NULL)
    job->path = g_strdup (ow_engine_params_need (params, "path", &error));
  if (error != NULL || !read_texts (params, "hosts", &job->hosts, &error) ||
      !read_texts (params, "private_hosts", &job->private_hosts, &error))
    g_task_return_error (own, error);
  else
    g_task_run_in_thread (own, work);
}

void
ow_engine_credentials_list (OwLocalEngine *self,
                            const json_t  *params,
                            GTask         *task)
{
  start (self, LIST, params, task);
}

void
ow_engine_credentials_enable (OwLocalEngine *self,
                              const json_t  *params,
                              GTask         *task)
{
  start (self, ENABLE, params, task);
}

void
ow_engine_credentials_disable (OwLocalEngine *self,
                               const json_t  *params,
                               GTask         *task)
{
  start (self, DISABLE, params, task);
}

void
ow_engine_credentials_add (OwLocalEngine *self,
                           const json_t  *params,
                           GTask         *task)
{
  start (self, ADD, params, task);
}

void
ow_engine_credentials_remove (OwLocalEngine *self,
                              const json_t  *params,
                              GTask         *task)
{
  start (self, REMOVE, params, task);
}
