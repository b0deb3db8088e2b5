/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-folder-answer.h"

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "base/ow-text.h"
#include "sandbox/ow-folder.h"

/* A thread that looks where nothing answers stays there until something does: what it has is its
 * own, and nobody waits for it. */

typedef struct {
  char **texts; /* (owned) */
  gint   at;    /* atomic: the one that is looked at */
} Look;

typedef struct {
  GTask        *task;     /* (owned) */
  GCancellable *end;      /* (owned) of the look: the deadline's and the caller's */
  GSource      *deadline; /* (owned) (nullable) */
  GSource      *stop;     /* (owned) (nullable) */
  gboolean      late;
} Wait;

static void
look_free (gpointer data)
{
  Look *look = data;

  g_strfreev (look->texts);
  g_free (look);
}

/* What is wrong with a folder is for whoever opens it to say. */
static void
look_in_thread (GTask        *task,
                gpointer      source,
                gpointer      data,
                GCancellable *cancellable)
{
  Look *look = data;

  for (gint i = 0; look->texts[i] != NULL && !g_cancellable_is_cancelled (cancellable); i++)
    {
      OwFolder *folder;

      g_atomic_int_set (&look->at, i);
      folder = ow_folder_look (look->texts[i], NULL);
      if (folder != NULL)
        ow_folder_free (folder);
    }
  g_task_return_boolean (task, TRUE);
}

static void
set_silent (const Look  *look,
            GError     **error)
{
  g_autofree char *shown = ow_text_visible (look->texts[g_atomic_int_get (&look->at)]);

  ow_error_setf (error, OW_ERROR_TIMED_OUT, "Is it on a server that cannot be reached? Try again "
                 "when it answers, or choose another folder.",
                 "The folder %s cannot be used: it did not answer within %d seconds", shown,
                 OW_FOLDER_ANSWER_MS / 1000);
}

static void
on_looked (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  Wait *wait = user_data;
  GError *error = NULL;

  if (g_task_propagate_boolean (G_TASK (result), &error))
    g_task_return_boolean (wait->task, TRUE);
  else
    {
      if (wait->late)
        {
          g_clear_error (&error);
          set_silent (g_task_get_task_data (G_TASK (result)), &error);
        }
      g_task_return_error (wait->task, error);
    }
  ow_source_clear (&wait->deadline);
  ow_source_clear (&wait->stop);
  g_object_unref (wait->end);
  g_object_unref (wait->task);
  g_free (wait);
}

static gboolean
on_late (gpointer user_data)
{
  Wait *wait = user_data;

  wait->late = TRUE;
  g_cancellable_cancel (wait->end);
  return G_SOURCE_REMOVE;
}

static gboolean
on_stop (gpointer user_data)
{
  Wait *wait = user_data;

  g_cancellable_cancel (wait->end);
  return G_SOURCE_REMOVE;
}

void
ow_folder_answer_async (const char * const  *texts,
                        GCancellable        *cancellable,
                        GAsyncReadyCallback  callback,
                        gpointer             user_data)
{
  g_autoptr (GTask) look = NULL;
  Look *data = g_new0 (Look, 1);
  Wait *wait = g_new0 (Wait, 1);

  wait->task = g_task_new (NULL, cancellable, callback, user_data);
  g_task_set_source_tag (wait->task, ow_folder_answer_async);
  g_task_set_check_cancellable (wait->task, FALSE);
  wait->end = g_cancellable_new ();
  wait->deadline = ow_source_timeout (OW_FOLDER_ANSWER_MS, on_late, wait, NULL);
  wait->stop = ow_source_cancelled (cancellable, on_stop, wait, NULL);
  data->texts = g_strdupv ((char **) texts);
  look = g_task_new (NULL, wait->end, on_looked, wait);
  g_task_set_source_tag (look, ow_folder_answer_async);
  g_task_set_task_data (look, data, look_free);
  g_task_set_return_on_cancel (look, TRUE);
  g_task_run_in_thread (look, look_in_thread);
}

gboolean
ow_folder_answer_finish (GAsyncResult  *result,
                         GError       **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}
