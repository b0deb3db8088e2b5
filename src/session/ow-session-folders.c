/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "ow-session-events-private.h"
#include "ow-session-setup-private.h"

/* Other folders for a session that runs (REQ-W07). What the person wants is checked whole and
 * stored first; from then on the session has the new set, whatever happens: its sandbox is made
 * again before the next call, and where that fails the session ends. */

#define MAX_FOLDERS 64

typedef struct {
  OwSession *self;    /* (owned) */
  GTask     *task;    /* (owned) (nullable) it has ended where the change waits for a call */
  gboolean   moved;   /* work starts in another folder */
} Change;

static void
change_free (Change *change)
{
  g_object_unref (change->self);
  g_clear_object (&change->task);
  g_free (change);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Change, change_free)

static const char *
path_of (const json_t *folders,
         size_t        i)
{
  return ow_json_get_string (json_array_get (folders, i), "path", "");
}

static gboolean
is_read_only (const json_t *folders,
              size_t        i)
{
  return ow_json_get_bool (json_array_get (folders, i), "read_only", TRUE);
}

/* The place of @path in @folders, or how many there are. */
static size_t
find_path (const json_t *folders,
           const char   *path)
{
  size_t i = 0;

  while (i < json_array_size (folders) && strcmp (path_of (folders, i), path) != 0)
    i++;
  return i;
}

/* --- the new set --- */

/* By its name as it is known, also where nothing is there any more, or by where it leads. */
static gboolean
take_out (json_t     *folders,
          const char *text,
          GError    **error)
{
  g_autofree char *named = g_canonicalize_filename (text, "/");
  char   *real = realpath (text, NULL);
  size_t  at = find_path (folders, named);
  g_autofree char *shown = NULL;

  if (at == json_array_size (folders) && real != NULL)
    at = find_path (folders, real);
  free (real);
  if (json_array_remove (folders, at) == 0)
    return TRUE;
  shown = ow_text_visible (text);
  ow_error_setf (error, OW_ERROR_USAGE, "Name one of its folders.",
                 "The folders were not changed: %s is none of the session's folders", shown);
  return FALSE;
}

static gboolean
put_in (json_t     *folders,
        const char *text,
        GError    **error)
{
  g_autoptr (OwFolder) folder = ow_folder_open (text, error);
  json_t *entry;
  size_t  at;

  if (folder == NULL)
    return FALSE;
  entry = json_pack ("{s:s, s:b}", "path", folder->path, "read_only", folder->read_only);
  if (entry == NULL)
    {
      ow_error_set (error, OW_ERROR_USAGE, "The folder cannot be used",
                    "its path is not valid UTF-8", "Rename it or choose another one.");
      return FALSE;
    }
  at = find_path (folders, folder->path);
  if (at < json_array_size (folders))
    json_array_set_new (folders, at, entry);
  else
    json_array_append_new (folders, entry);
  return TRUE;
}

/* New reference: what the person wants, as in the event. */
static json_t *
make_set (const json_t       *folders,
          const char * const *add,
          const char * const *remove,
          GError            **error)
{
  json_t  *set = json_deep_copy (folders);
  gboolean good = TRUE;

  for (gsize i = 0; good && remove != NULL && remove[i] != NULL; i++)
    good = take_out (set, remove[i], error);
  for (gsize i = 0; good && add != NULL && add[i] != NULL; i++)
    good = put_in (set, add[i], error);
  if (good && json_array_size (set) == 0)
    ow_error_set (error, OW_ERROR_USAGE, "The folders were not changed",
                  "a session needs at least one", "Add another one, or end the session.");
  else if (good && json_array_size (set) > MAX_FOLDERS)
    ow_error_setf (error, OW_ERROR_USAGE, NULL,
                   "The folders were not changed: a session can have %d", MAX_FOLDERS);
  else if (good)
    return set;
  json_decref (set);
  return NULL;
}

char **
ow_session_folders_texts (const json_t *folders)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      g_autofree char *text = g_strconcat (path_of (folders, i),
                                           is_read_only (folders, i) ? ":ro" : ":rw", NULL);

      g_strv_builder_add (builder, text);
    }
  return g_strv_builder_end (builder);
}

/* Opened again, each of them is still the place that it was. */
static GPtrArray *
open_set (const json_t *set,
          GError      **error)
{
  g_auto (GStrv) names = ow_session_folders_texts (set);
  g_autoptr (GPtrArray) opened = NULL;
  json_t *found = NULL;

  opened = ow_session_setup_folders ((const char * const *) names, &found, error);
  if (opened == NULL)
    return NULL;
  if (json_equal (found, set))
    {
      json_decref (found);
      return g_steal_pointer (&opened);
    }
  json_decref (found);
  ow_error_set (error, OW_ERROR_REFUSED, "The folders were not changed",
                "one of them leads to another place now", "Put it back, or take it out.");
  return NULL;
}

/* --- what is said of it --- */

static void
describe_one (GString    *text,
              const char *what,
              const char *path,
              const char *how)
{
  g_autofree char *shown = ow_text_visible (path);

  g_strdelimit (shown, "\n", ' ');
  g_string_append_printf (text, "\n- %s: %s%s", what, shown, how);
}

/* (transfer full) what agent and person are told. */
static char *
describe (const json_t *was,
          const json_t *is)
{
  GString *text = g_string_new ("The person changed the folders of this session:");

  for (size_t i = 0; i < json_array_size (was); i++)
    if (find_path (is, path_of (was, i)) == json_array_size (is))
      describe_one (text, "gone", path_of (was, i), "");
  for (size_t i = 0; i < json_array_size (is); i++)
    {
      size_t      old = find_path (was, path_of (is, i));
      const char *how = is_read_only (is, i) ? " (read-only)" : " (read and write)";

      if (old == json_array_size (was))
        describe_one (text, "new", path_of (is, i), how);
      else if (is_read_only (was, old) != is_read_only (is, i))
        describe_one (text, "now", path_of (is, i), how);
    }
  if (strcmp (path_of (was, 0), path_of (is, 0)) != 0)
    describe_one (text, "work starts now in", path_of (is, 0), "");
  g_string_append (text, "\nThe next call runs in a new sandbox that holds the new folders. Shell "
                   "state was lost: directory, variables, functions, tasks, what else ran in the "
                   "background and the private home directory are gone.");
  return g_string_free (text, FALSE);
}

/* --- the change --- */

static void
on_instructions_read (GObject      *source,
                      GAsyncResult *result,
                      gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  GError *error = NULL;

  if (!ow_agent_read_instructions_finish (OW_AGENT (source), result, &error))
    ow_session_fail (self, error);
}

/* Whatever the sandbox says of a session that comes down, it ends for another reason. */
static void
take_failure (OwSession *self,
              GError    *error)
{
  g_autoptr (GError) owned = error;

  if (self->phase >= OW_SESSION_LEAVING || self->ending || self->error != NULL)
    return;
  self->wall_up = FALSE;
  ow_session_append (self, OW_EVENT_WALL,
                     ow_session_events_wall ("lost", self->level, error->message));
  g_prefix_error (&owned, "The sandbox could not be made again with the session's new folders: ");
  ow_session_fail (self, g_steal_pointer (&owned));
}

static void
on_changed (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (Change) change = user_data;
  OwSession *self = change->self;
  GError *error = NULL;

  if (!ow_sandbox_change_finish (OW_SANDBOX (source), result, &error))
    {
      if (change->task != NULL)
        g_task_return_error (change->task, g_error_copy (error));
      take_failure (self, error);
      return;
    }
  if (self->phase < OW_SESSION_LEAVING)
    {
      ow_session_append (self, OW_EVENT_WALL,
                         ow_session_events_wall_up (self->level, "made again with the session's "
                                                    "new folders",
                                                    ow_sandbox_get_credentials (self->sandbox)));
      if (ow_sandbox_get_notice (self->sandbox) != NULL)
        ow_session_append_notice (self, ow_sandbox_get_notice (self->sandbox));
      if (change->moved && self->agent != NULL && self->error == NULL)
        ow_agent_read_instructions_async (self->agent, self->stop, on_instructions_read,
                                          g_object_ref (self));
    }
  if (change->task != NULL)
    g_task_return_boolean (change->task, TRUE);
}

static gboolean
check_can_change (OwSession *self,
                  GError   **error)
{
  if (self->argv != NULL)
    ow_error_set (error, OW_ERROR_USAGE, "The folders were not changed",
                  "the session runs a single command", NULL);
  else if (self->phase == OW_SESSION_NEW || self->ending || self->error != NULL ||
           self->phase >= OW_SESSION_LEAVING)
    ow_error_set (error, OW_ERROR_REFUSED, "The folders were not changed", "the session is ending",
                  "Wait for its end, and take it up again.");
  else if (self->agent == NULL || !ow_sandbox_can_change (self->sandbox))
    ow_error_set (error, OW_ERROR_REFUSED, "The folders were not changed",
                  "the session's sandbox is being made just now", "Try again in a moment.");
  else
    return TRUE;
  return FALSE;
}

static gboolean
store_set (OwSession *self,
           json_t    *set,
           gboolean   moved)
{
  g_autofree char *notice = describe (self->folders, set);
  g_autofree char *prompt = NULL;
  json_t *members = json_pack ("{s:O, s:s}", "folders", set,
                               "level", ow_level_to_string (self->level));

  if (!ow_session_append (self, OW_EVENT_FOLDERS_CHANGED, members))
    return FALSE;
  json_decref (self->folders);
  self->folders = json_incref (set);
  if (moved)
    ow_consent_set_place (self->consent, path_of (set, 0));
  prompt = ow_session_describe_environment (self);
  ow_agent_set_prompt (self->agent, prompt);
  ow_session_append_notice (self, notice);
  return self->error == NULL;
}

/* Steals @set and @opened. */
static void
begin_change (OwSession *self,
              json_t    *set,
              GPtrArray *opened,
              GTask     *task)
{
  g_autoptr (GPtrArray) folders = opened;
  g_autoptr (Change) change = g_new0 (Change, 1);
  gboolean busy = ow_sandbox_is_busy (self->sandbox);
  gboolean stored;

  change->self = g_object_ref (self);
  change->moved = strcmp (path_of (self->folders, 0), path_of (set, 0)) != 0;
  stored = store_set (self, set, change->moved);
  json_decref (set);
  if (!stored)
    {
      g_task_return_error (task, g_error_copy (self->error));
      return;
    }
  /* Whoever asks is not kept waiting for a call that may take an hour. */
  if (busy)
    g_task_return_boolean (task, TRUE);
  else
    change->task = g_object_ref (task);
  g_task_set_task_data (task, GINT_TO_POINTER (busy), NULL);
  ow_sandbox_change_async (self->sandbox, g_steal_pointer (&folders), on_changed,
                           g_steal_pointer (&change));
}

void
ow_session_change_folders_async (OwSession          *self,
                                 const char * const *add,
                                 const char * const *remove,
                                 GAsyncReadyCallback callback,
                                 gpointer            user_data)
{
  g_autoptr (GTask) task = NULL;
  g_autoptr (GPtrArray) opened = NULL;
  json_t *set = NULL;
  GError *error = NULL;

  g_return_if_fail (OW_IS_SESSION (self));

  task = g_task_new (self, NULL, callback, user_data);
  g_task_set_source_tag (task, ow_session_change_folders_async);
  if (check_can_change (self, &error))
    set = make_set (self->folders, add, remove, &error);
  if (set != NULL && !json_equal (set, self->folders))
    opened = open_set (set, &error);
  if (opened != NULL && self->record != NULL &&
      !ow_recording_place_check (self->record, set, &error))
    g_clear_pointer (&opened, g_ptr_array_unref);
  if (opened != NULL)
    {
      begin_change (self, set, g_steal_pointer (&opened), task);
      return;
    }
  json_decref (set);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_boolean (task, TRUE);
}

gboolean
ow_session_change_folders_finish (OwSession    *self,
                                  GAsyncResult *result,
                                  gboolean     *pending,
                                  GError      **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  *pending = GPOINTER_TO_INT (g_task_get_task_data (G_TASK (result))) != 0;
  return g_task_propagate_boolean (G_TASK (result), error);
}

json_t *
ow_session_get_folders (OwSession *self)
{
  g_return_val_if_fail (OW_IS_SESSION (self), NULL);

  return self->folders;
}
