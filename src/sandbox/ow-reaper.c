/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-reaper-private.h"

#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "base/ow-state.h"
#include "sandbox/ow-openshell-labels.h"

/* A dead entry, locked against every other reaper. */
typedef struct {
  OwRegistryRecord record;
  int              lock;
  gboolean         listed;  /* the gateway has its sandbox */
  gboolean         failed;  /* and could not delete it */
} Dead;

typedef struct {
  OwOpenshell *openshell;  /* (owned) (nullable) */
  gboolean     orphans;
  gboolean     settled;    /* what was not there has been looked for once more */
  gboolean     making;     /* the gateway is still making one of them */
  guint        looks;      /* how often one was found being made */
  GPtrArray   *dead;       /* (owned) of Dead */
  guint        pending;
  guint        reaped;
  guint        kept;
  GSource     *settle;     /* (owned) (nullable) */
  GError      *failure;    /* (owned) (nullable) the first */
} Reap;

/* One sandbox that is being deleted. */
typedef struct {
  GTask *task;
  char  *name;
} Deletion;

/* One works at a time in this process, so that who waits for one waits for what an earlier one
 * has begun as well. Used from one thread only, the engine's. */
static GQueue working = G_QUEUE_INIT; /* of GTask, the first is at work */

static void list_sandboxes (GTask *task);
static void begin (GTask *task);

static void
dead_free (gpointer data)
{
  Dead *dead = data;

  close (dead->lock);
  ow_registry_record_clear (&dead->record);
  g_free (dead);
}

static void
reap_free (gpointer data)
{
  Reap *reap = data;

  ow_source_clear (&reap->settle);
  g_clear_object (&reap->openshell);
  g_ptr_array_unref (reap->dead);
  g_clear_error (&reap->failure);
  g_free (reap);
}

gboolean
ow_reaper_is_remote (const OwRegistryRecord *record)
{
  return strcmp (record->entry.provider, OW_REAPER_REMOTE) == 0;
}

void
ow_reaper_leave (const char *id)
{
  OwRegistryRecord record;

  if (!ow_registry_read (id, &record))
    return;
  /* What is left of the others are processes of ours that do not end: they would only hold up
   * every start until this process has. */
  if (ow_reaper_is_remote (&record))
    ow_registry_abandon (id);
  ow_registry_record_clear (&record);
}

static gboolean
is_remote_and_dead (const OwRegistryRecord *record)
{
  return ow_reaper_is_remote (record) && ow_registry_is_dead (record);
}

gboolean
ow_reaper_has_work (void)
{
  g_autoptr (GHashTable) ids = ow_registry_list_ids ();
  GHashTableIter iter;
  gpointer id;
  gboolean found = FALSE;

  g_hash_table_iter_init (&iter, ids);
  while (!found && g_hash_table_iter_next (&iter, &id, NULL))
    {
      OwRegistryRecord record;

      if (!ow_registry_read (id, &record))
        continue;
      found = is_remote_and_dead (&record);
      ow_registry_record_clear (&record);
    }
  return found;
}

/* Locks what waits for the gateway, so that nobody else works on it. */
static void
collect_dead (Reap *reap)
{
  g_autoptr (GHashTable) ids = ow_registry_list_ids ();
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, ids);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      g_autofree Dead *dead = g_new0 (Dead, 1);

      if (!ow_registry_read (id, &dead->record))
        continue;
      dead->lock = is_remote_and_dead (&dead->record) ? ow_registry_lock_dead (id) : -1;
      if (dead->lock >= 0)
        g_ptr_array_add (reap->dead, g_steal_pointer (&dead));
      else
        ow_registry_record_clear (&dead->record);
    }
}

/* Keeps the first reason. @error is moved in. */
static void
note_failure (Reap   *reap,
              GError *error)
{
  if (reap->failure == NULL)
    reap->failure = error;
  else
    g_error_free (error);
}

/* What @reap comes to: NULL where nothing is left. */
static GError *
summarize (Reap *reap)
{
  g_autoptr (GError) reason = g_steal_pointer (&reap->failure);
  GError *error = NULL;

  if (reason == NULL || reap->kept == 0)
    return g_steal_pointer (&reason);
  ow_error_setf (&error, OW_ERROR_FAILED, "It is tried again at the next start, or with "
                 "\"openworker sandbox reap\".",
                 "%u sandbox%s of killed sessions could not be removed: %s", reap->kept,
                 reap->kept == 1 ? "" : "es", reason->message);
  return error;
}

static void
finish (GTask *task)
{
  Reap *reap = g_task_get_task_data (task);
  g_autoptr (GTask) done = g_queue_pop_head (&working);
  GTask *next = g_queue_peek_head (&working);
  GError *error = summarize (reap);

  /* Its locks are others' before it is told. */
  g_ptr_array_set_size (reap->dead, 0);
  if (error == NULL)
    g_task_return_boolean (done, TRUE);
  else
    g_task_return_error (done, error);
  if (next != NULL)
    begin (next);
}

/* Nothing of it is left at the gateway: now what is on this machine. */
static void
remove_entries (GTask *task)
{
  Reap *reap = g_task_get_task_data (task);

  for (guint i = 0; i < reap->dead->len; i++)
    {
      Dead *dead = g_ptr_array_index (reap->dead, i);
      GError *error = NULL;

      if (!dead->failed && ow_registry_remove_dead (&dead->record, &error))
        {
          reap->reaped++;
          continue;
        }
      reap->kept++;
      if (error != NULL)
        note_failure (reap, error);
    }
  ow_state_reach ("reaped");
  finish (task);
}

static Dead *
find_dead (Reap       *reap,
           const char *id)
{
  for (guint i = 0; i < reap->dead->len; i++)
    {
      Dead *dead = g_ptr_array_index (reap->dead, i);

      if (strcmp (dead->record.entry.id, id) == 0)
        return dead;
    }
  return NULL;
}

static gboolean
on_settled (gpointer user_data)
{
  list_sandboxes (user_data);
  return G_SOURCE_REMOVE;
}

static void
look_in (GTask *task,
         guint  ms)
{
  Reap *reap = g_task_get_task_data (task);

  ow_source_clear (&reap->settle);
  reap->settle = ow_source_timeout (ms, on_settled, g_object_ref (task), g_object_unref);
}

/* An entry has its image once its sandbox is made; before that one may still come. */
static gboolean
may_still_come (Reap *reap)
{
  for (guint i = 0; i < reap->dead->len; i++)
    {
      const Dead *dead = g_ptr_array_index (reap->dead, i);

      if (!dead->listed && dead->record.entry.image == NULL)
        return TRUE;
    }
  return FALSE;
}

static void
after_deletions (GTask *task)
{
  Reap *reap = g_task_get_task_data (task);

  if (reap->pending > 0)
    return;
  if (reap->making)
    {
      look_in (task, OW_REAPER_LOOK_MS);
    }
  else if (!reap->settled && may_still_come (reap))
    {
      reap->settled = TRUE;
      look_in (task, OW_REAPER_SETTLE_MS);
    }
  else
    {
      remove_entries (task);
    }
}

static void
on_deleted (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autofree Deletion *deletion = user_data;
  g_autoptr (GTask) task = deletion->task;
  g_autofree char *name = deletion->name;
  g_autofree char *id = ow_openshell_labels_id (name);
  Reap *reap = g_task_get_task_data (task);
  Dead *dead = id != NULL ? find_dead (reap, id) : NULL;
  GError *error = NULL;

  if (!ow_openshell_delete_finish (OW_OPENSHELL (source), result, &error))
    {
      if (dead != NULL)
        dead->failed = TRUE;
      else
        reap->kept++;
      note_failure (reap, error);
    }
  else if (dead == NULL)
    reap->reaped++;
  reap->pending--;
  after_deletions (task);
}

/* An entry is there before its sandbox and goes after it: what is in a list and has no entry
 * afterwards belongs to nobody. */
static gboolean
has_entry (const char *id)
{
  g_autofree char *file = ow_registry_get_path (id, ".json");
  g_autofree char *lock = ow_registry_get_path (id, ".lock");

  return g_file_test (file, G_FILE_TEST_EXISTS) || g_file_test (lock, G_FILE_TEST_EXISTS);
}

/* Whether the gateway's @sandbox is one to delete. Marks its entry. */
static gboolean
is_left (Reap                     *reap,
         const OwOpenshellSandbox *sandbox)
{
  g_autofree char *owner = ow_openshell_labels_owner ();
  g_autofree char *id = ow_openshell_labels_id (sandbox->name);
  Dead *dead = id != NULL ? find_dead (reap, id) : NULL;

  /* What was asked for is looked at again in what was answered. */
  if (id == NULL ||
      g_strcmp0 (g_hash_table_lookup (sandbox->labels, OW_OPENSHELL_LABEL_OWNER), owner) != 0)
    return FALSE;
  if (dead != NULL)
    return dead->listed = TRUE;
  return reap->orphans && !has_entry (id);
}

static void
on_listed (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Reap *reap = g_task_get_task_data (task);
  GError *error = NULL;
  g_autoptr (GPtrArray) sandboxes = ow_openshell_list_finish (OW_OPENSHELL (source), result,
                                                              &error);

  if (sandboxes == NULL)
    {
      reap->kept += reap->dead->len;
      note_failure (reap, error);
      finish (task);
      return;
    }
  ow_state_reach ("reaper-listed");
  reap->making = FALSE;
  for (guint i = 0; i < sandboxes->len; i++)
    {
      const OwOpenshellSandbox *sandbox = g_ptr_array_index (sandboxes, i);
      Deletion *deletion;

      if (!is_left (reap, sandbox))
        continue;
      /* One that is deleted while it is being made leaves a container behind at times. */
      if (reap->looks < OW_REAPER_LOOKS && strcmp (sandbox->phase, "Provisioning") == 0)
        {
          reap->making = TRUE;
          continue;
        }
      deletion = g_new0 (Deletion, 1);
      deletion->task = g_object_ref (task);
      deletion->name = g_strdup (sandbox->name);
      reap->pending++;
      ow_openshell_delete_async (reap->openshell, deletion->name, g_task_get_cancellable (task),
                                 on_deleted, deletion);
    }
  if (reap->making)
    reap->looks++;
  after_deletions (task);
}

static void
list_sandboxes (GTask *task)
{
  Reap *reap = g_task_get_task_data (task);
  g_autofree char *selector = ow_openshell_labels_selector ();

  ow_openshell_list_async (reap->openshell, selector, g_task_get_cancellable (task), on_listed,
                           g_object_ref (task));
}

/* A gateway says of another's sandbox that there is none, so each is asked for its own only. Where
 * several have some, one of them is asked now. */
static void
choose_gateway (Reap *reap)
{
  const char *chosen = NULL;

  for (guint i = 0; i < reap->dead->len; i++)
    {
      Dead *dead = g_ptr_array_index (reap->dead, i);
      const char *gateway = dead->record.entry.gateway;
      GError *error = NULL;

      if (gateway == NULL)
        continue;
      if (chosen == NULL)
        ow_openshell_pin_gateway (reap->openshell, chosen = gateway);
      if (g_strcmp0 (ow_openshell_get_pinned (reap->openshell), gateway) == 0)
        continue;
      dead->failed = TRUE;
      ow_error_setf (&error, OW_ERROR_FAILED, NULL,
                     "a sandbox is at another gateway of OpenShell, %.60s", gateway);
      note_failure (reap, error);
    }
}

/* Also from within the end of another, so nothing here may end it twice. */
static void
begin (GTask *task)
{
  Reap *reap = g_task_get_task_data (task);
  GError *error = NULL;

  if (!ow_registry_reap (&reap->reaped, &error))
    note_failure (reap, g_steal_pointer (&error));
  collect_dead (reap);
  if (reap->dead->len == 0 && !reap->orphans)
    {
      finish (task);
      return;
    }
  if (reap->openshell == NULL)
    reap->openshell = ow_openshell_find (&error);
  if (reap->openshell != NULL)
    {
      choose_gateway (reap);
      list_sandboxes (task);
      return;
    }
  /* Where there is no OpenShell there are no orphans of it, but an entry says that there was. */
  reap->kept += reap->dead->len;
  if (reap->dead->len > 0)
    note_failure (reap, error);
  else
    g_error_free (error);
  finish (task);
}

void
ow_reaper_run_with_async (OwOpenshell        *openshell,
                          gboolean            orphans,
                          GCancellable       *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Reap *reap = g_new0 (Reap, 1);

  g_task_set_source_tag (task, ow_reaper_run_async);
  g_task_set_check_cancellable (task, FALSE);
  reap->openshell = openshell != NULL ? g_object_ref (openshell) : NULL;
  reap->orphans = orphans;
  reap->dead = g_ptr_array_new_with_free_func (dead_free);
  g_task_set_task_data (task, reap, reap_free);
  g_queue_push_tail (&working, g_object_ref (task));
  if (g_queue_get_length (&working) == 1)
    begin (task);
}

void
ow_reaper_run_async (gboolean            orphans,
                     GCancellable       *cancellable,
                     GAsyncReadyCallback callback,
                     gpointer            user_data)
{
  ow_reaper_run_with_async (NULL, orphans, cancellable, callback, user_data);
}

gboolean
ow_reaper_run_finish (GAsyncResult *result,
                      guint        *reaped,
                      guint        *kept,
                      GError      **error)
{
  const Reap *reap;

  g_return_val_if_fail (g_task_is_valid (result, NULL), FALSE);

  reap = g_task_get_task_data (G_TASK (result));
  if (reaped != NULL)
    *reaped = reap->reaped;
  if (kept != NULL)
    *kept = reap->kept;
  return g_task_propagate_boolean (G_TASK (result), error);
}
