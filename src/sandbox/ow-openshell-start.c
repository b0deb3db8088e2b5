/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-start-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "base/ow-state.h"
#include "ow-openshell-check-private.h"
#include "ow-openshell-instance-private.h"
#include "ow-openshell-refuse-private.h"
#include "ow-openshell-spec-private.h"
#include "ow-reaper-private.h"
#include "sandbox/ow-openshell-labels.h"

#define MAX_VARIABLE "OPENWORKER_SANDBOX_MAX"
#define MAX_DEFAULT  20
#define MAX_MAX      1000

typedef struct {
  OwSandboxPlan    *plan;
  OwOpenshellFacts *facts;    /* (owned) (nullable) */
  OwOpenshellWords *words;    /* (owned) (nullable) what the command is given */
  GError           *failure;  /* (owned) (nullable) why it is being taken away */
  GSource          *settle;   /* (owned) (nullable) */
  guint             looks;    /* how often it was looked for */
  gboolean          settled;  /* the last look */
} Start;

static void look (GTask *task);

static void
start_free (gpointer data)
{
  Start *start = data;

  ow_source_clear (&start->settle);
  g_clear_pointer (&start->facts, ow_openshell_facts_unref);
  g_clear_pointer (&start->words, ow_openshell_words_free);
  g_clear_error (&start->failure);
  g_free (start);
}

/* --- what may be --- */

static guint
get_max (void)
{
  const char *text = g_getenv (MAX_VARIABLE);
  guint64 value = MAX_DEFAULT;

  if (text != NULL && !g_ascii_string_to_unsigned (text, 10, 1, MAX_MAX, &value, NULL))
    value = MAX_DEFAULT;
  return (guint) value;
}

/* The entry says "openshell" before the sandbox can exist, and has the image once it does. */
static OwRegistryEntry
make_entry (const Start *start,
            const char  *image)
{
  const OwSandboxPlan *plan = start->plan;
  OwRegistryEntry entry = {
    .id = plan->id, .session = plan->session, .provider = (char *) OW_REAPER_REMOTE,
    .home = plan->home, .run_dir = plan->run_dir, .image = (char *) image,
    .gateway = (char *) ow_openshell_get_pinned (start->facts->openshell),
  };

  return entry;
}

/* --- a start that fails --- */

static void
finish_failed (GTask *moved)
{
  g_autoptr (GTask) task = moved;
  Start *start = g_task_get_task_data (task);

  g_task_return_error (task, ow_openshell_refuse_create (start->facts,
                                                         g_steal_pointer (&start->failure)));
}

/* What is to be said may be that something is gone that was there: the image, the gateway. */
static void
on_checked_again (GObject      *source,
                  GAsyncResult *result,
                  gpointer      user_data)
{
  GTask *task = user_data;
  Start *start = g_task_get_task_data (task);
  g_autoptr (GError) cause = NULL;
  g_autoptr (OwOpenshellFacts) facts = ow_openshell_check_finish (result, &cause);

  if (facts == NULL && g_error_matches (cause, OW_ERROR, OW_ERROR_REFUSED))
    {
      g_clear_error (&start->failure);
      start->failure = g_steal_pointer (&cause);
    }
  finish_failed (task);
}

static void
name_cause (GTask *task)
{
  Start *start = g_task_get_task_data (task);

  ow_openshell_check_forget ();
  if (g_error_matches (start->failure, OW_ERROR, OW_ERROR_INTERRUPTED))
    finish_failed (task);
  else
    ow_openshell_check_async (NULL, on_checked_again, task);
}

static void
on_deleted (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  GTask *task = user_data;
  Start *start = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;

  if (!ow_openshell_delete_finish (OW_OPENSHELL (source), result, &error))
    {
      g_debug ("Sandbox %s is left to a reaper: %s", start->plan->id, error->message);
      start->plan->abandoned = TRUE;
    }
  ow_state_reach ("openshell-undone");
  name_cause (task);
}

/* @task is moved in. */
static void
delete_sandbox (GTask *task)
{
  Start *start = g_task_get_task_data (task);

  ow_openshell_delete_async (start->facts->openshell, start->words->name, NULL, on_deleted, task);
}

static gboolean
on_look_again (gpointer user_data)
{
  look (g_object_ref (user_data));
  return G_SOURCE_REMOVE;
}

/* @task is moved in. */
static void
look_in (GTask *task,
         guint  ms)
{
  Start *start = g_task_get_task_data (task);

  ow_source_clear (&start->settle);
  start->settle = ow_source_timeout (ms, on_look_again, task, g_object_unref);
}

static void
on_looked (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  GTask *task = user_data;
  Start *start = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;
  g_autoptr (OwOpenshellSandbox) sandbox = ow_openshell_get_finish (OW_OPENSHELL (source), result,
                                                                    &error);

  start->looks++;
  if (ow_openshell_refuse_is (error, OW_OPENSHELL_FAULT_NOT_FOUND) && !start->settled)
    {
      start->settled = TRUE;
      look_in (task, OW_REAPER_SETTLE_MS);
    }
  else if (sandbox != NULL && strcmp (sandbox->phase, "Provisioning") == 0 &&
           start->looks < OW_REAPER_LOOKS)
    {
      look_in (task, OW_REAPER_LOOK_MS);
    }
  else
    {
      delete_sandbox (task);
    }
}

/* @task is moved in. */
static void
look (GTask *task)
{
  Start *start = g_task_get_task_data (task);

  ow_openshell_get_async (start->facts->openshell, start->words->name, NULL, on_looked, task);
}

/* Whether the gateway can have heard of a create that ended with @error and said nothing of what
 * it came to: the command was stopped or killed, or its connection broke. */
static gboolean
may_be_heard (const GError *error)
{
  static const OwOpenshellFault faults[] = {
    OW_OPENSHELL_FAULT_NO_ANSWER, OW_OPENSHELL_FAULT_GATEWAY_DOWN,
    OW_OPENSHELL_FAULT_RELAY_CLOSED, OW_OPENSHELL_FAULT_UNREADABLE, OW_OPENSHELL_FAULT_OTHER,
  };

  for (guint i = 0; i < G_N_ELEMENTS (faults); i++)
    if (ow_openshell_refuse_is (error, faults[i]))
      return TRUE;
  return g_error_matches (error, OW_ERROR, OW_ERROR_INTERRUPTED);
}

/* Takes away what may have been made. @error and @task are moved in. */
static void
undo (GTask  *task,
      GError *error)
{
  Start *start = g_task_get_task_data (task);

  start->failure = error;
  /* One of that name is somebody else's. */
  if (ow_openshell_refuse_is (error, OW_OPENSHELL_FAULT_NAME_TAKEN))
    finish_failed (task);
  else if (may_be_heard (error))
    look (task);
  else
    delete_sandbox (task);
}

/* --- a start that goes on --- */

static void
on_created (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  GTask *task = user_data;
  Start *start = g_task_get_task_data (task);
  OwRegistryEntry entry = make_entry (start, start->facts->image);
  GError *error = NULL;

  if (!ow_openshell_create_finish (OW_OPENSHELL (source), result, &error) ||
      !ow_registry_put (&entry, &error))
    {
      undo (task, error);
      return;
    }
  ow_state_reach ("openshell-created");
  g_task_return_pointer (task,
                         ow_openshell_instance_new (start->plan, start->facts, start->words->name),
                         g_object_unref);
  g_object_unref (task);
}

static void
on_progress (const char *line,
             gpointer    user_data)
{
  Start *start = user_data;

  g_debug ("Sandbox %s: %s", start->words->name, line);
  ow_state_reach ("openshell-progress");
}

static void
create (GTask *task)
{
  Start *start = g_task_get_task_data (task);
  OwRegistryEntry entry = make_entry (start, NULL);
  GError *error = NULL;

  if (!ow_registry_reserve (&entry, get_max (), &error))
    {
      g_task_return_error (task, error);
      g_object_unref (task);
      return;
    }
  ow_state_reach ("openshell-reserved");
  ow_openshell_create_async (start->facts->openshell, &start->words->spec, on_progress, start,
                             g_task_get_cancellable (task), on_created, task);
  ow_state_reach ("openshell-creating");
}

static void
on_checked (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Start *start = g_task_get_task_data (task);
  GError *error = NULL;

  start->facts = ow_openshell_check_finish (result, &error);
  if (start->facts != NULL)
    start->words = ow_openshell_words_new (start->plan, start->facts, &error);
  if (start->words != NULL)
    create (g_steal_pointer (&task));
  else
    g_task_return_error (task, error);
}

void
ow_openshell_start_async (OwSandboxPlan       *plan,
                          GCancellable        *cancellable,
                          GAsyncReadyCallback  callback,
                          gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Start *start = g_new0 (Start, 1);

  g_task_set_source_tag (task, ow_openshell_start_async);
  g_task_set_check_cancellable (task, FALSE);
  start->plan = plan;
  g_task_set_task_data (task, start, start_free);
  ow_openshell_check_async (cancellable, on_checked, g_steal_pointer (&task));
}

OwSandboxInstance *
ow_openshell_start_finish (GAsyncResult  *result,
                           GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, NULL), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
