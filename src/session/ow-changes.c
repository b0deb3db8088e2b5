/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "session/ow-changes.h"

#include <limits.h>
#include <string.h>

#include "ow-changes-private.h"

/* A file that is larger is not kept by any runner. */
#define MAX_SIZE (G_GINT64_CONSTANT (1) << 40)
#define MAX_MODE 07777
#define MAX_TOTAL (G_GINT64_CONSTANT (1) << 32)
/* Bytes of all paths: they travel in one message, and so does the answer to it. */
#define MAX_PATHS (1024u * 1024u)
/* Names of one command that are listed. */
#define COMMAND_NAMES 500

typedef struct {
  OwChanges    *changes;   /* borrowed: what is being made */
  const json_t *folders;   /* now */
  const json_t *then;      /* (nullable) at the event that is read */
  GHashTable   *asked;     /* (owned) call → OwEvent (borrowed) */
  GHashTable   *turns;     /* (owned) call → turn */
  GHashTable   *by_call;   /* (owned) call → OwChange (borrowed) */
  gsize         paths;     /* bytes of them so far */
  guint         turn;
  gboolean      open;      /* the turn has not ended */
} Reader;

static void
change_free (gpointer data)
{
  OwChange *change = data;

  g_free (change->call);
  g_free (change->tool);
  g_free (change->path);
  g_free (change->before);
  g_free (change->after);
  g_free (change);
}

static void
command_change_free (gpointer data)
{
  OwCommandChange *change = data;

  g_free (change->call);
  g_free (change->path);
  g_free (change);
}

/* --- what is checked --- */

gboolean
ow_changes_is_hash (const char *text)
{
  gsize length = text != NULL ? strspn (text, "0123456789abcdef") : 0;

  return length == 64 && text[length] == '\0';
}

static gboolean
is_plain (const char *path)
{
  gsize length = strlen (path);

  if (*path != '/' || length < 2 || length >= PATH_MAX)
    return FALSE;
  for (const char *at = path; at != NULL && *at == '/'; at = strchr (at + 1, '/'))
    {
      gsize part = strcspn (at + 1, "/");

      if (part == 0 || (part == 1 && at[1] == '.') ||
          (part == 2 && at[1] == '.' && at[2] == '.'))
        return FALSE;
    }
  return TRUE;
}

gboolean
ow_changes_is_inside_or_at (const json_t *folders,
                            const char   *path,
                            gboolean     *read_only)
{
  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      const json_t *folder = json_array_get (folders, i);

      if (strcmp (ow_json_get_string (folder, "path", ""), path) != 0)
        continue;
      *read_only = ow_json_get_bool (folder, "read_only", TRUE);
      return TRUE;
    }
  return ow_changes_is_inside (folders, path, read_only);
}

gboolean
ow_changes_is_inside (const json_t *folders,
                      const char   *path,
                      gboolean     *read_only)
{
  gsize best = 0;

  if (!is_plain (path))
    return FALSE;
  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      const json_t *folder = json_array_get (folders, i);
      const char   *base = ow_json_get_string (folder, "path", "");
      gsize         length = strlen (base);

      /* Of two folders, one in the other, the inner one says how it is. */
      if (length <= best || strncmp (path, base, length) != 0 || path[length] != '/')
        continue;
      best = length;
      if (read_only != NULL)
        *read_only = ow_json_get_bool (folder, "read_only", TRUE);
    }
  return best > 0;
}

static gboolean
is_in_range (const json_t *object,
             const char   *key,
             gint64        max)
{
  const json_t *value = json_object_get (object, key);

  return json_is_integer (value) && json_integer_value (value) >= 0 &&
         json_integer_value (value) <= max;
}

/* FALSE: nothing of @said is used. */
static gboolean
read_members (OwChange     *change,
              const json_t *said,
              const json_t *folders)
{
  const char   *path = ow_json_get_string (said, "path", "");
  const json_t *before = json_object_get (said, "before");
  const char   *after = ow_json_get_string (said, "after", NULL);
  gboolean      read_only = FALSE;

  if (!ow_changes_is_inside (folders, path, &read_only) || read_only)
    return FALSE;
  g_free (change->path);
  change->path = g_strdup (path);
  if (!ow_json_get_bool (said, "kept", TRUE))
    {
      change->state = OW_CHANGE_NOT_KEPT;
      return TRUE;
    }
  if (!(json_is_null (before) || ow_changes_is_hash (json_string_value (before))) ||
      !ow_changes_is_hash (after) || !is_in_range (said, "size", MAX_SIZE) ||
      (json_is_string (before) && !is_in_range (said, "mode", MAX_MODE)))
    return FALSE;
  change->before = g_strdup (json_string_value (before));
  change->after = g_strdup (after);
  change->mode = json_is_string (before) ? (int) ow_json_get_int (said, "mode", 0) : 0;
  change->state = OW_CHANGE_THERE;
  return TRUE;
}

/* The folder may be gone, or read-only, since. */
static void
check_now (Reader   *reader,
           OwChange *change)
{
  gboolean read_only = TRUE;

  if (change->state == OW_CHANGE_THERE &&
      (!ow_changes_is_inside (reader->folders, change->path, &read_only) || read_only))
    change->state = OW_CHANGE_OUTSIDE;
}

static guint
find_turn (Reader     *reader,
           const char *call)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (reader->turns, call));
}

static void
take_change (Reader        *reader,
             const OwEvent *ended,
             const json_t  *said)
{
  const char    *call = ow_event_get_string (ended, "call");
  const OwEvent *asked = g_hash_table_lookup (reader->asked, call);
  const json_t  *arguments = NULL;
  OwChange      *change;

  if (reader->changes->changes->len >= OW_CHANGES_MAX || reader->paths > MAX_PATHS)
    {
      reader->changes->cut = TRUE;
      return;
    }
  /* One call changes one file, and ends once. */
  if (asked == NULL || g_hash_table_contains (reader->by_call, call))
    return;
  arguments = json_object_get (ow_event_get_members (asked), "arguments");
  change = g_new0 (OwChange, 1);
  change->call = g_strdup (call);
  change->tool = g_strdup (ow_event_get_string (ended, "tool"));
  change->path = g_strdup (ow_json_get_string (arguments, "path", ""));
  change->turn = find_turn (reader, call);
  if (read_members (change, said, reader->then))
    check_now (reader, change);
  else
    change->state = OW_CHANGE_UNUSABLE;
  reader->paths += strlen (change->path);
  g_ptr_array_add (reader->changes->changes, change);
  g_hash_table_insert (reader->by_call, change->call, change);
}

static const char *
read_what (const json_t *file)
{
  static const char * const words[] = { "created", "changed", "deleted" };
  const char *what = ow_json_get_string (file, "what", "");

  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    if (strcmp (what, words[i]) == 0)
      return words[i];
  return NULL;
}

static void
take_command (Reader        *reader,
              const OwEvent *ended,
              const json_t  *said)
{
  OwChanges    *changes = reader->changes;
  const json_t *files = json_object_get (said, "files");
  const char   *call = ow_event_get_string (ended, "call");
  gint64        total = ow_json_get_int (said, "total", 0);
  size_t        n = MIN (json_array_size (files), COMMAND_NAMES);
  guint64       listed = 0;

  for (size_t i = 0; i < n && changes->commands->len < OW_CHANGES_COMMANDS; i++)
    {
      const json_t    *file = json_array_get (files, i);
      const char      *path = ow_json_get_string (file, "path", "");
      const char      *what = read_what (file);
      OwCommandChange *change;

      if (what == NULL || !ow_changes_is_inside (reader->then, path, NULL))
        continue;
      change = g_new0 (OwCommandChange, 1);
      change->call = g_strdup (call);
      change->path = g_strdup (path);
      change->what = what;
      change->turn = find_turn (reader, call);
      g_ptr_array_add (changes->commands, change);
      listed++;
    }
  changes->commands_total += MAX (listed, (guint64) CLAMP (total, 0, MAX_TOTAL));
  changes->commands_cut |= ow_json_get_bool (said, "cut", FALSE) ||
                           json_array_size (files) > listed;
}

/* --- undone --- */

/* An undo that came to its end names the calls, the runner which of the files it put back. */
static void
take_undo (Reader        *reader,
           const OwEvent *ended,
           const json_t  *structured)
{
  const OwEvent *asked = g_hash_table_lookup (reader->asked, ow_event_get_string (ended, "call"));
  const json_t  *members = asked != NULL ? ow_event_get_members (asked) : NULL;
  const json_t  *arguments = json_object_get (members, "arguments");
  const json_t  *undoes = json_object_get (members, "undoes");
  json_t        *files = NULL;
  g_autoptr (GHashTable) back = g_hash_table_new (g_str_hash, g_str_equal);

  if (undoes == NULL || !ow_json_get_bool (arguments, "apply", FALSE))
    return;
  files = ow_changes_read_files (arguments, structured);
  for (size_t i = 0; i < json_array_size (files); i++)
    {
      const json_t *file = json_array_get (files, i);

      if (ow_changes_is_undone (ow_json_get_string (file, "state", "")))
        g_hash_table_add (back, (gpointer) ow_json_get_string (file, "path", ""));
    }
  for (size_t i = 0; i < json_array_size (undoes); i++)
    {
      const char *call = json_string_value (json_array_get (undoes, i));
      OwChange   *change = g_hash_table_lookup (reader->by_call, call);

      if (change != NULL && g_hash_table_contains (back, change->path))
        change->state = OW_CHANGE_UNDONE;
    }
  json_decref (files);
}

/* --- the events --- */

static void
take_ended (Reader        *reader,
            const OwEvent *ended)
{
  const json_t *structured = json_object_get (ow_event_get_members (ended), "structured");
  const json_t *change = json_object_get (structured, "change");
  const json_t *changes = json_object_get (structured, "changes");
  const char   *tool = ow_event_get_string (ended, "tool");
  gboolean      good = g_strcmp0 (ow_event_get_string (ended, "outcome"), "ok") == 0;

  if (strcmp (tool, "write") == 0 || strcmp (tool, "edit") == 0)
    {
      if (good && json_is_object (change))
        take_change (reader, ended, change);
    }
  else if (strcmp (tool, "undo") == 0)
    {
      if (good)
        take_undo (reader, ended, structured);
    }
  else if (json_is_object (changes))
    take_command (reader, ended, changes);
}

/* A turn goes from the message that begins it to its end; what is said meanwhile is of it too.
 * What comes too late to be read in a turn begins the next one. */
static void
take_message (Reader *reader)
{
  guint number = ++reader->changes->turns;

  if (!reader->open)
    reader->turn = number;
  reader->open = TRUE;
  g_array_append_val (reader->changes->turn_of, reader->turn);
}

static void
take_asked (Reader        *reader,
            const OwEvent *asked)
{
  const char *call = ow_event_get_string (asked, "call");
  guint       n = reader->changes->turns;

  g_hash_table_insert (reader->asked, (gpointer) call, (gpointer) asked);
  if (ow_event_get_string (asked, "model_call") == NULL)
    return;
  if (!reader->open && n > 0 && reader->turn != n)
    {
      reader->turn = n;
      reader->open = TRUE;
      g_array_index (reader->changes->turn_of, guint, n - 1) = n;
    }
  g_hash_table_insert (reader->turns, (gpointer) call, GUINT_TO_POINTER (reader->turn));
}

static void
take_event (Reader        *reader,
            const OwEvent *event)
{
  switch (ow_event_get_kind (event))
    {
    case OW_EVENT_SESSION_STARTED:
    case OW_EVENT_FOLDERS_CHANGED:
      reader->then = json_object_get (ow_event_get_members (event), "folders");
      break;
    case OW_EVENT_USER_MESSAGE:
      take_message (reader);
      break;
    case OW_EVENT_TURN_ENDED:
      reader->open = FALSE;
      break;
    case OW_EVENT_TOOL_ASKED:
      take_asked (reader, event);
      break;
    case OW_EVENT_TOOL_ENDED:
      take_ended (reader, event);
      break;
    default:
      break;
    }
}

OwChanges *
ow_changes_read (OwEventList  *events,
                 const json_t *folders)
{
  OwChanges *self = g_new0 (OwChanges, 1);
  Reader     reader = { .changes = self, .folders = folders };

  g_return_val_if_fail (OW_IS_EVENT_LIST (events), NULL);

  self->changes = g_ptr_array_new_with_free_func (change_free);
  self->commands = g_ptr_array_new_with_free_func (command_change_free);
  self->turn_of = g_array_new (FALSE, FALSE, sizeof (guint));
  reader.asked = g_hash_table_new (g_str_hash, g_str_equal);
  reader.turns = g_hash_table_new (g_str_hash, g_str_equal);
  reader.by_call = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < ow_event_list_get_n (events); i++)
    take_event (&reader, ow_event_list_get (events, i));
  if (self->commands_total > self->commands->len)
    self->commands_cut = TRUE;
  g_hash_table_unref (reader.asked);
  g_hash_table_unref (reader.turns);
  g_hash_table_unref (reader.by_call);
  return self;
}

void
ow_changes_free (OwChanges *self)
{
  g_ptr_array_unref (self->changes);
  g_ptr_array_unref (self->commands);
  g_array_unref (self->turn_of);
  g_free (self);
}
