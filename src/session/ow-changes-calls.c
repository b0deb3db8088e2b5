/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-changes-private.h"

#include <string.h>

#include "base/ow-text.h"

#define MAX_REASON_CHARS 300
#define MAX_LINES (G_GINT64_CONSTANT (1) << 40)

const char *
ow_change_state_why (OwChangeState state)
{
  switch (state)
    {
    case OW_CHANGE_UNDONE:
      return "already undone";
    case OW_CHANGE_NOT_KEPT:
      return "what it held before was not kept, so it cannot be undone";
    case OW_CHANGE_OUTSIDE:
      return "it is in none of the folders that the session may write now";
    case OW_CHANGE_UNUSABLE:
      return "what the sandbox told of this change makes no sense, so nothing is done by it";
    case OW_CHANGE_THERE:
    default:
      return NULL;
    }
}

/* --- which --- */

GPtrArray *
ow_changes_of_call (OwChanges  *self,
                    const char *call)
{
  GPtrArray *some = g_ptr_array_new ();

  for (guint i = 0; i < self->changes->len; i++)
    {
      OwChange *change = g_ptr_array_index (self->changes, i);

      if (strcmp (change->call, call) == 0)
        g_ptr_array_add (some, change);
    }
  return some;
}

GPtrArray *
ow_changes_of_turn (OwChanges *self,
                    guint     *message)
{
  GPtrArray *some;
  guint      number = *message != 0 ? *message : self->turns;

  if (number == 0 || number > self->turns)
    return NULL;
  *message = g_array_index (self->turn_of, guint, number - 1);
  some = g_ptr_array_new ();
  for (guint i = 0; i < self->changes->len; i++)
    {
      OwChange *change = g_ptr_array_index (self->changes, i);

      if (change->turn == *message)
        g_ptr_array_add (some, change);
    }
  return some;
}

/* --- what is asked --- */

json_t *
ow_changes_for_undo (GPtrArray  *some,
                     json_t    **calls)
{
  json_t *changes = json_array ();

  *calls = json_array ();
  for (guint i = 0; i < some->len; i++)
    {
      const OwChange *change = g_ptr_array_index (some, i);

      if (change->state != OW_CHANGE_THERE)
        continue;
      json_array_append_new (changes, json_pack ("{s:s, s:s?, s:s, s:i}", "path", change->path,
                                                 "before", change->before,
                                                 "after", change->after,
                                                 "mode", change->mode));
      json_array_append_new (*calls, json_string (change->call));
    }
  return json_pack ("{s:o, s:b}", "changes", changes, "apply", FALSE);
}

/* Also what was undone: the file may hold something else again. Where the first change is one of
 * which nothing was kept, it is not known from what the diff would have to go out. */
json_t *
ow_changes_for_look (OwChanges *self)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  json_t *changes = json_array ();

  for (guint i = 0; i < self->changes->len; i++)
    {
      const OwChange *change = g_ptr_array_index (self->changes, i);

      if (change->state == OW_CHANGE_UNUSABLE || !g_hash_table_add (seen, change->path))
        continue;
      if (change->state == OW_CHANGE_THERE || change->state == OW_CHANGE_UNDONE)
        json_array_append_new (changes, json_pack ("{s:s, s:s?}", "path", change->path,
                                                   "before", change->before));
    }
  return json_pack ("{s:o}", "changes", changes);
}

/* --- what was answered --- */

gboolean
ow_changes_is_undone (const char *state)
{
  return strcmp (state, "restored") == 0 || strcmp (state, "removed") == 0;
}

static gboolean
is_state (const char *state)
{
  static const char * const states[] = {
    "restored", "removed", "would restore", "would remove", "skipped",
    "changed", "created", "deleted", "same", "unknown", NULL
  };

  return g_strv_contains (states, state);
}

/* Of the same path the first one counts. */
static GHashTable *
index_files (const json_t *structured)
{
  const json_t *files = json_object_get (structured, "files");
  GHashTable   *by_path = g_hash_table_new (g_str_hash, g_str_equal);

  for (size_t i = 0; i < json_array_size (files); i++)
    {
      json_t     *file = json_array_get (files, i);
      const char *path = ow_json_get_string (file, "path", NULL);

      if (path != NULL && is_state (ow_json_get_string (file, "state", "")) &&
          !g_hash_table_contains (by_path, path))
        g_hash_table_insert (by_path, (gpointer) path, file);
    }
  return by_path;
}

static void
copy_count (json_t       *entry,
            const json_t *file,
            const char   *key)
{
  gint64 n = ow_json_get_int (file, key, -1);

  if (n >= 0 && n <= MAX_LINES)
    json_object_set_new (entry, key, json_integer (n));
}

static json_t *
make_entry (const char   *path,
            const json_t *file)
{
  json_t          *entry = json_pack ("{s:s, s:s}", "path", path, "state",
                                      ow_json_get_string (file, "state", "unknown"));
  const char      *reason = ow_json_get_string (file, "reason", NULL);
  g_autofree char *line = NULL;

  if (file == NULL)
    reason = "the sandbox did not say what became of it";
  if (reason != NULL)
    {
      line = ow_text_shorten (reason, MAX_REASON_CHARS, TRUE);
      json_object_set_new (entry, "reason", json_string (line));
    }
  copy_count (entry, file, "added");
  copy_count (entry, file, "removed");
  return entry;
}

json_t *
ow_changes_read_files (const json_t *arguments,
                       const json_t *structured)
{
  const json_t *changes = json_object_get (arguments, "changes");
  json_t       *files = json_array ();
  g_autoptr (GHashTable) said = index_files (structured);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (size_t i = 0; i < json_array_size (changes); i++)
    {
      const char *path = ow_json_get_string (json_array_get (changes, i), "path", NULL);

      if (path != NULL && g_hash_table_add (seen, (gpointer) path))
        json_array_append_new (files, make_entry (path, g_hash_table_lookup (said, path)));
    }
  return files;
}
