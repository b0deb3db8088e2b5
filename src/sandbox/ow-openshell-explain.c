/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-explain-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "ow-openshell-policy-private.h"
#include "ow-openshell-refuse-private.h"

#define NOTHING_MS 10000

#define AGAIN "Start the session again; \"openshell logs\" and \"docker logs\" may tell more."

typedef struct {
  OwOpenshellFacts *facts;   /* (owned) */
  char             *name;    /* (owned) */
  GError           *failure; /* (owned) */
} Explain;

static void
explain_free (gpointer data)
{
  Explain *explain = data;

  ow_openshell_facts_unref (explain->facts);
  g_free (explain->name);
  g_clear_error (&explain->failure);
  g_free (explain);
}

/* EACCES on what its owner may read is not about its owner there. */
static GError *
explain_selinux (GError *failure)
{
  g_autoptr (GError) cause = failure;
  GError *error = NULL;

  ow_error_setf (&error, OW_ERROR_REFUSED,
                 "SELinux is enforced on this machine: look for what it denied with \"ausearch -m "
                 "avc -ts recent\".", OW_OPENSHELL_REFUSED ": %s", cause->message);
  return error;
}

/* The inside works as far as the gateway can tell. */
static void
finish_plain (GTask *task)
{
  Explain *explain = g_task_get_task_data (task);
  GError *error = g_steal_pointer (&explain->failure);

  if (explain->facts->selinux && g_error_matches (error, OW_ERROR, OW_ERROR_REFUSED))
    error = explain_selinux (error);
  g_task_return_error (task, error);
}

static void
finish_with (GTask      *task,
             const char *why)
{
  GError *error = NULL;

  ow_error_setf (&error, OW_ERROR_REFUSED, AGAIN, OW_OPENSHELL_REFUSED ": %s", why);
  g_task_return_error (task, error);
}

static void
on_tried (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  int status = 0;

  if (!ow_openshell_exec_finish (OW_OPENSHELL (source), result, &status, NULL, &error))
    {
      /* Its phase says Ready, and nothing is there to run a command in. */
      g_task_return_error (task, g_error_matches (error, OW_ERROR, OW_ERROR_INTERRUPTED)
                           ? error : ow_openshell_refuse_phantom (error));
      return;
    }
  if (status != 0)
    {
      g_autofree char *why = g_strdup_printf ("the sandbox was made, and a command in it ends with "
                                              "status %d", status);

      finish_with (task, why);
      return;
    }
  finish_plain (task);
}

static void
on_seen (GObject      *source,
         GAsyncResult *result,
         gpointer      user_data)
{
  static const char * const nothing[] = { OW_OPENSHELL_RUNNER, "--version", NULL };
  g_autoptr (GTask) task = user_data;
  Explain *explain = g_task_get_task_data (task);
  GError *error = NULL;
  g_autoptr (OwOpenshellSandbox) sandbox = ow_openshell_get_finish (OW_OPENSHELL (source), result,
                                                                    &error);

  if (sandbox == NULL)
    {
      g_task_return_error (task, ow_openshell_refuse (error));
      return;
    }
  if (strcmp (sandbox->phase, "Ready") != 0)
    {
      g_autofree char *phase = ow_text_shorten (sandbox->phase, 40, TRUE);
      g_autofree char *why = g_strdup_printf ("the sandbox was made and has ended (phase %s)",
                                              phase);

      finish_with (task, why);
      return;
    }
  ow_openshell_exec_async (explain->facts->openshell, explain->name, nothing, NOTHING_MS,
                           g_task_get_cancellable (task), on_tried, g_object_ref (task));
}

void
ow_openshell_explain_async (OwOpenshellFacts    *facts,
                            const char          *name,
                            const GError        *failure,
                            GCancellable        *cancellable,
                            GAsyncReadyCallback  callback,
                            gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Explain *explain = g_new0 (Explain, 1);

  g_task_set_source_tag (task, ow_openshell_explain_async);
  g_task_set_check_cancellable (task, FALSE);
  explain->facts = ow_openshell_facts_ref (facts);
  explain->name = g_strdup (name);
  explain->failure = g_error_copy (failure);
  g_task_set_task_data (task, explain, explain_free);
  ow_openshell_get_async (facts->openshell, name, cancellable, on_seen, g_steal_pointer (&task));
}

GError *
ow_openshell_explain_finish (GAsyncResult *result)
{
  GError *error = NULL;

  g_return_val_if_fail (g_task_is_valid (result, NULL), NULL);

  g_task_propagate_boolean (G_TASK (result), &error);
  return error;
}
