/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-text.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"
#include "ow-engine-sandboxes-private.h"
#include "sandbox/ow-explain.h"
#include "sandbox/ow-folder-answer.h"
#include "sandbox/ow-folder.h"
#include "sandbox/ow-registry.h"

/* sandbox.explain: what a session could reach. No wall is raised for it. */

typedef struct
{
  OwExplain  explain;
  GTask     *task;    /* (owned) (nullable) while the folders are asked for an answer */
  char     **texts;   /* (owned) (nullable) folders to be looked at */
  gboolean   named;   /* they are of the question, not of a session that has them */
  GPtrArray *folders; /* (owned) */
  OwConfig  *config;  /* (owned) */
  GPtrArray *allowed; /* (owned) (nullable) */
  GPtrArray *listed;  /* (owned) (nullable) */
  char      *home;    /* (owned) (nullable) */
  char      *undo;    /* (owned) (nullable) */
  char     **what;    /* (owned) */
} Question;

static void
question_free (Question *question)
{
  g_clear_object (&question->task);
  g_strfreev (question->texts);
  g_clear_pointer (&question->folders, g_ptr_array_unref);
  g_clear_object (&question->config);
  g_clear_pointer (&question->allowed, g_ptr_array_unref);
  g_clear_pointer (&question->listed, g_ptr_array_unref);
  g_free (question->home);
  g_free (question->undo);
  g_strfreev (question->what);
  g_free (question);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Question, question_free)

/* --- a session's --- */

static void
take_allowed (Question    *question,
              OwEventList *events)
{
  question->allowed = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);
  for (guint i = 0; i < ow_event_list_get_n (events); i++)
    {
      const OwEvent *event = ow_event_list_get (events, i);
      OwHost *host;

      if (ow_event_get_kind (event) != OW_EVENT_HOST_DECISION ||
          g_strcmp0 (ow_event_get_string (event, "decision"), "allow") != 0 ||
          g_strcmp0 (ow_event_get_string (event, "reason"), "person") != 0)
        continue;
      host = ow_host_new (ow_event_get_string (event, "host"),
                          (guint16) ow_event_get_int (event, "port", 0));
      host->private = ow_json_get_bool (ow_event_get_members (event), "private", FALSE);
      g_ptr_array_add (question->allowed, host);
    }
}

/* The list that it began with, whatever the settings say by now. It does not tell which of them
 * may be private. */
static void
take_listed (Question     *question,
             const json_t *hosts)
{
  if (!json_is_array (hosts))
    return;
  question->listed = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);
  for (size_t i = 0; i < json_array_size (hosts); i++)
    {
      const char *text = json_string_value (json_array_get (hosts, i));
      OwHost *host = text == NULL ? NULL
                     : ow_host_parse_as (text, OW_HOST_ADDRESS | OW_HOST_PRIVATE, NULL);

      if (host == NULL)
        continue;
      host->private = FALSE;
      g_ptr_array_add (question->listed, host);
    }
}

/* Where its sandbox has its private home, while there is one. */
static void
take_places (Question   *question,
             const char *session)
{
  g_autoptr (GPtrArray) items = ow_registry_list ();
  g_autofree char *homes = ow_paths_get_private_homes ();
  g_autofree char *data = ow_paths_get_data_dir ();

  for (guint i = 0; i < items->len; i++)
    {
      const OwRegistryItem *item = g_ptr_array_index (items, i);

      if (item->alive && strcmp (item->session, session) == 0)
        {
          g_free (question->home);
          question->home = g_build_filename (homes, item->id, NULL);
        }
    }
  question->undo = g_build_filename (data, "sessions", session, "undo", NULL);
}

static gboolean
take_session (Question       *question,
              OwLocalEngine  *self,
              const char     *session,
              OwProviderKind *kind,
              GError        **error)
{
  g_autoptr (OwEventList) events = ow_engine_sandboxes_find_events (self, session);
  const json_t *provider = ow_engine_sandboxes_find_member (events, "provider");
  g_autofree char *shown = ow_text_visible (session);

  if (json_string_value (provider) == NULL ||
      !ow_provider_kind_from_string (json_string_value (provider), kind))
    {
      ow_error_setf (error, OW_ERROR_USAGE, "See \"openworker sessions\".",
                     "There is no session %s", shown);
      return FALSE;
    }
  take_places (question, session);
  take_allowed (question, events);
  take_listed (question, ow_engine_sandboxes_find_member (events, "hosts"));
  question->texts = ow_session_folders_texts (ow_engine_sandboxes_find_member (events, "folders"));
  return TRUE;
}

/* --- the question --- */

static gboolean
take_named (Question      *question,
            const json_t  *params,
            GError       **error)
{
  question->named = TRUE;
  return ow_engine_params_read_folders (params, "folders", &question->texts, error);
}

/* As a session is started: root becomes the folders' owner. */
static void
take_account (Question *question)
{
  const OwFolder *first = question->folders->len > 0 ? question->folders->pdata[0] : NULL;

  question->explain.uid = geteuid ();
  question->explain.gid = getegid ();
  if (geteuid () == 0 && first != NULL)
    {
      question->explain.uid = first->uid;
      question->explain.gid = first->gid;
    }
}

static Question *
question_new (OwLocalEngine  *self,
              const json_t   *params,
              GError        **error)
{
  g_autoptr (Question) question = g_new0 (Question, 1);
  const char *session = ow_json_get_string (params, "session", NULL);
  OwProviderKind named = OW_PROVIDER_UNSET;
  OwProviderKind kind = OW_PROVIDER_UNSET;

  question->folders = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_folder_free);
  question->config = ow_local_engine_load_config (error);
  if (question->config == NULL ||
      !ow_engine_params_read_words (params, "what", &question->what, error) ||
      !ow_engine_params_read_provider (params, &named, error))
    return NULL;
  if (session != NULL ? !take_session (question, self, session, &kind, error)
      : !take_named (question, params, error))
    return NULL;
  if (named != OW_PROVIDER_UNSET)
    kind = named;
  if (kind == OW_PROVIDER_UNSET)
    kind = ow_local_engine_find_provider (self, question->config);
  if (kind == OW_PROVIDER_UNSET)
    {
      ow_error_set (error, OW_ERROR_REFUSED, "It cannot be told what a session could reach",
                    "nothing is set that says how commands should run on this machine",
                    "Give --provider bubblewrap, or set sandbox_provider in config.toml.");
      return NULL;
    }
  question->explain.provider = kind;
  question->explain.folders = question->folders;
  question->explain.home = question->home;
  question->explain.undo = question->undo;
  question->explain.config = question->config;
  question->explain.allowed = question->allowed;
  question->explain.listed = question->listed;
  return g_steal_pointer (&question);
}

/* --- the answer --- */

static gboolean
look_at_folders (Question  *question,
                 GError   **error)
{
  for (guint i = 0; question->texts != NULL && question->texts[i] != NULL; i++)
    {
      OwFolder *folder = ow_folder_look (question->texts[i], error);

      if (folder == NULL)
        return FALSE;
      g_ptr_array_add (question->folders, folder);
    }
  take_account (question);
  return !question->named || question->folders->len == 0 ||
         ow_folder_check_set (question->folders, error);
}

static gboolean
is_path (const char *text)
{
  return text[0] == '/' || text[0] == '~';
}

static void
answer_in_thread (GTask        *task,
                  gpointer      source,
                  gpointer      data,
                  GCancellable *cancellable)
{
  Question *question = data;
  json_t *answers = json_array ();
  GError *error = NULL;

  look_at_folders (question, &error);
  for (guint i = 0; question->what[i] != NULL && error == NULL; i++)
    {
      const char *text = question->what[i];
      json_t *answer = is_path (text) ? ow_explain_path (&question->explain, text, &error)
                                      : ow_explain_host (&question->explain, text);

      if (answer != NULL)
        json_array_append_new (answers, answer);
      g_cancellable_set_error_if_cancelled (cancellable, error == NULL ? &error : NULL);
    }
  if (error == NULL)
    {
      g_task_return_pointer (task, json_pack ("{s:o}", "answers", answers),
                             (GDestroyNotify) json_decref);
      return;
    }
  json_decref (answers);
  g_task_return_error (task, error);
}

static void
on_answered (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autoptr (Question) question = user_data;
  /* Not the thread's to let go of. */
  g_autoptr (GTask) task = g_steal_pointer (&question->task);
  g_autoptr (GTask) part = NULL;
  GError *error = NULL;

  if (!ow_folder_answer_finish (result, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  part = g_task_new (NULL, g_task_get_cancellable (task), ow_engine_return_part,
                     g_object_ref (task));
  g_task_set_source_tag (part, ow_engine_explain_run);
  g_task_set_task_data (part, g_steal_pointer (&question), (GDestroyNotify) question_free);
  g_task_run_in_thread (part, answer_in_thread);
}

void
ow_engine_explain_run (OwLocalEngine *self,
                       const json_t  *params,
                       GTask         *task)
{
  static const char * const none[] = { NULL };
  GError *error = NULL;
  g_autoptr (Question) question = question_new (self, params, &error);
  const char * const *texts = none;

  if (question == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  question->task = g_object_ref (task);
  if (question->texts != NULL)
    texts = (const char * const *) question->texts;
  ow_folder_answer_async (texts, g_task_get_cancellable (task), on_answered,
                          g_steal_pointer (&question));
}
