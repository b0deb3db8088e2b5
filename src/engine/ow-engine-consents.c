/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"

#define MAX_SESSION_BYTES 128

void
ow_engine_face_free (gpointer data)
{
  OwEngineFace *face = data;

  g_hash_table_unref (face->sessions);
  g_free (face);
}

/* Whether a face is there that can answer what this session asks. */
static gboolean
is_attended (OwLocalEngine *self,
             const char    *session)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->faces);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      OwEngineFace *face = value;

      if (face->all || g_hash_table_contains (face->sessions, session))
        return TRUE;
    }
  return FALSE;
}

void
ow_engine_consents_attend (OwLocalEngine *self,
                           OwEngineWork  *work)
{
  ow_consent_set_attended (ow_session_get_consent (work->session),
                           work->interactive &&
                           is_attended (self, ow_session_get_id (work->session)));
}

static void
attend_all (OwLocalEngine *self)
{
  g_autoptr (GPtrArray) sessions = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer key;

  /* What is told may end a session, and so change the table. */
  g_hash_table_iter_init (&iter, self->sessions);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    g_ptr_array_add (sessions, g_strdup (key));
  for (guint i = 0; i < sessions->len; i++)
    {
      OwEngineWork *work = g_hash_table_lookup (self->sessions, g_ptr_array_index (sessions, i));

      if (work != NULL)
        ow_engine_consents_attend (self, work);
    }
}

guint
ow_engine_consents_add_face (OwLocalEngine *self)
{
  OwEngineFace *face = g_new0 (OwEngineFace, 1);
  guint number = self->next_face++;

  face->sessions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_hash_table_insert (self->faces, GUINT_TO_POINTER (number), face);
  return number;
}

void
ow_engine_consents_remove_face (OwLocalEngine *self,
                                guint          face)
{
  if (g_hash_table_remove (self->faces, GUINT_TO_POINTER (face)))
    attend_all (self);
}

static gboolean
watch (OwEngineFace *face,
       const char   *session,
       gboolean      answers,
       GError      **error)
{
  if (session == NULL)
    face->all = answers;
  else if (!answers)
    g_hash_table_remove (face->sessions, session);
  else if (strlen (session) > MAX_SESSION_BYTES)
    ow_error_set (error, OW_ERROR_USAGE, "There is no such session", "its name is too long", NULL);
  else if (g_hash_table_contains (face->sessions, session))
    return TRUE;
  else if (g_hash_table_size (face->sessions) >= OW_LOCAL_ENGINE_MAX_WATCHED)
    ow_error_setf (error, OW_ERROR_REFUSED, "Watch all sessions, or fewer.",
                   "A face can watch %d sessions, no more", OW_LOCAL_ENGINE_MAX_WATCHED);
  else
    g_hash_table_add (face->sessions, g_strdup (session));
  return *error == NULL;
}

void
ow_engine_consents_watch (OwLocalEngine *self,
                          const json_t  *params,
                          GTask         *task)
{
  OwEngineFace *face = NULL;
  gboolean answers = ow_json_get_bool (params, "answers", FALSE);
  GError *error = NULL;

  face = g_hash_table_lookup (self->faces, GUINT_TO_POINTER (ow_local_engine_get_face (task)));
  if (json_object_get (params, "answers") == NULL)
    ow_error_setf (&error, OW_ERROR_USAGE, NULL, "The command needs “answers” as true or false");
  else if (face == NULL)
    ow_error_set (&error, OW_ERROR_FAILED, "Nothing can be watched", "the face is gone", NULL);
  else
    watch (face, ow_json_get_string (params, "session", NULL), answers, &error);
  if (error != NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  attend_all (self);
  ow_engine_return_json (task, json_pack ("{s:b}", "watching", answers));
}

guint
ow_engine_consents_count (OwEngineWork *work)
{
  json_t *list = ow_consent_list (ow_session_get_consent (work->session));
  guint n = (guint) json_array_size (list);

  json_decref (list);
  return n;
}

void
ow_engine_consents_list (OwLocalEngine *self,
                         const json_t  *params,
                         GTask         *task)
{
  json_t *requests = json_array ();
  GHashTableIter iter;
  gpointer key;
  gpointer value;

  g_hash_table_iter_init (&iter, self->sessions);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      OwEngineWork *work = value;
      json_t *list = ow_consent_list (ow_session_get_consent (work->session));

      for (size_t i = 0; i < json_array_size (list); i++)
        {
          json_t *request = json_array_get (list, i);

          json_object_set_new (request, "session", json_string (key));
          json_array_append (requests, request);
        }
      json_decref (list);
    }
  ow_engine_return_json (task, json_pack ("{s:o}", "requests", requests));
}

/* Only the exact words decide anything. */
static gboolean
read_decision (const char  *word,
               OwDecision  *decision,
               GError     **error)
{
  static const struct
  {
    const char *word;
    OwDecision  decision;
  } WORDS[] = {
    { "once", OW_DECISION_ONCE },
    { "session", OW_DECISION_SESSION },
    { "always", OW_DECISION_ALWAYS },
    { "deny", OW_DECISION_DENY },
  };

  for (guint i = 0; i < G_N_ELEMENTS (WORDS); i++)
    if (g_str_equal (WORDS[i].word, word))
      {
        *decision = WORDS[i].decision;
        return TRUE;
      }
  ow_error_set (error, OW_ERROR_USAGE, "This is no decision", NULL,
                "Choose one of: once, session, always, deny.");
  return FALSE;
}

static gboolean
has_request (OwConsent  *consent,
             const char *request)
{
  json_t *list = ow_consent_list (consent);
  gboolean found = FALSE;

  for (size_t i = 0; i < json_array_size (list) && !found; i++)
    found = g_str_equal (ow_json_get_string (json_array_get (list, i), "request", ""), request);
  json_decref (list);
  return found;
}

static OwConsent *
find_consent (OwLocalEngine *self,
              const char    *request)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->sessions);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      OwConsent *consent = ow_session_get_consent (((OwEngineWork *) value)->session);

      if (has_request (consent, request))
        return g_object_ref (consent);
    }
  return NULL;
}

void
ow_engine_consents_answer (OwLocalEngine *self,
                           const json_t  *params,
                           GTask         *task)
{
  const char *request;
  const char *word;
  g_autoptr (OwConsent) consent = NULL;
  OwDecision decision = OW_DECISION_DENY;
  GError *error = NULL;

  request = ow_engine_params_need (params, "request", &error);
  word = request == NULL ? NULL : ow_engine_params_need (params, "decision", &error);
  if (word == NULL || !read_decision (word, &decision, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  consent = find_consent (self, request);
  if (consent != NULL &&
      !ow_consent_answer (consent, request, decision,
                          ow_json_get_string (params, "reason", NULL), &error))
    g_task_return_error (task, error);
  else
    ow_engine_return_json (task, json_pack ("{s:b}", "taken", consent != NULL));
}
