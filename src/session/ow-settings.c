/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "session/ow-settings.h"

#include <string.h>

#include "ow-changes-private.h"
#include "tools/ow-tool-def.h"

#define TOOL "settings"
/* A file system stamps by a clock that may be so far behind. */
#define STAMP_NS (G_GINT64_CONSTANT (10) * 1000 * 1000)
#define MAX_TOTAL (G_GINT64_CONSTANT (1) << 32)

static const struct {
  const char *kind;
  const char *why;
} kinds[] = {
  { "git-hook", "git runs it by itself, when somebody commits or checks out there" },
  { "git-config", "git runs what its configuration names: filters, hooks, fsmonitor and more" },
  { "git-repository", "git takes hooks and configuration from a repository that it is run in" },
  { "hooks", "a manager of git hooks runs what it names" },
  { "editor", "an editor may run what it names when the folder is opened" },
  { "agent", "other coding agents run the hooks and servers that it names" },
  { "environment", "a shell may load it, or run what it names, when the folder is entered" },
  { "package", "a package manager or build tool runs what it names" },
  { "pipeline", "a build server runs it, with what that server may do, once it is pushed" },
  { "startup", "a shell, a login or the desktop runs it, or what it names, by itself" },
  { "interpreter", "editors and tools run the programs of a virtual environment by themselves" },
};

/* A runner of another version may know more. */
static const char *
find_why (const char *kind)
{
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kinds[i].kind, kind) == 0)
      return kinds[i].why;
  return NULL;
}

/* --- what is due --- */

typedef struct {
  gint64   begin;   /* of the run that is read, µs */
  guint    run;     /* its number, from 1 */
  gint64   first;   /* begin of the oldest run that was not looked at since it changed something */
  guint    changed; /* its number; 0: there is none */
  gboolean remade;  /* other folders since the run began */
} Reader;

static void
take_event (Reader        *reader,
            const OwEvent *event)
{
  const OwToolDef *def;

  switch ((int) ow_event_get_kind (event))
    {
    case OW_EVENT_SESSION_STARTED:
    case OW_EVENT_SESSION_RESUMED:
      reader->begin = ow_event_get_time (event);
      reader->run++;
      reader->remade = FALSE;
      break;
    case OW_EVENT_FOLDERS_CHANGED:
      reader->remade = TRUE;
      break;
    case OW_EVENT_TOOL_STARTED:
      def = ow_tool_def_lookup (ow_event_get_string (event, "tool"));
      if ((def != NULL && def->read_only) || reader->changed != 0)
        break;
      reader->first = reader->begin;
      reader->changed = reader->run;
      break;
    case OW_EVENT_TOOL_ENDED:
      if (strcmp (ow_event_get_string (event, "tool"), TOOL) == 0 &&
          g_strcmp0 (ow_event_get_string (event, "outcome"), "ok") == 0)
        reader->changed = 0;
      break;
    default:
      break;
    }
}

/* @later: whatever the last run was, it has ended. */
static OwSettingsDue
read_due (OwEventList *events,
          gboolean     later)
{
  Reader reader = { 0 };
  OwSettingsDue due = { 0 };

  for (guint i = 0; i < ow_event_list_get_n (events); i++)
    take_event (&reader, ow_event_list_get (events, i));
  due.due = reader.changed != 0;
  due.late = due.due && (later || reader.changed != reader.run);
  /* The sandbox that is asked is younger than what it is asked about. */
  if (due.late || (due.due && reader.remade))
    due.since = MAX (reader.first * 1000 - STAMP_NS, 1);
  return due;
}

OwSettingsDue
ow_settings_get_due (OwEventList *events)
{
  return read_due (events, FALSE);
}

OwSettingsDue
ow_settings_get_due_later (OwEventList *events)
{
  return read_due (events, TRUE);
}

json_t *
ow_settings_for_look (const OwSettingsDue *due)
{
  return due->since > 0 ? json_pack ("{s:I}", "since", (json_int_t) due->since) : json_object ();
}

/* --- what was said --- */

static gboolean
is_what (const char *what)
{
  return strcmp (what, "created") == 0 || strcmp (what, "changed") == 0;
}

/* New reference; NULL: it makes no sense. */
static json_t *
read_entry (const json_t *said,
            const json_t *folders)
{
  const char *path = ow_json_get_string (said, "path", "");
  const char *kind = ow_json_get_string (said, "kind", "");
  const char *what = ow_json_get_string (said, "what", "");
  const char *hash = ow_json_get_string (said, "sha256", NULL);
  const char *why = find_why (kind);
  gboolean    read_only = TRUE;
  json_t     *entry;

  if (!is_what (what) || !ow_changes_is_inside_or_at (folders, path, &read_only) || read_only)
    return NULL;
  entry = json_pack ("{s:s, s:s, s:s, s:s}", "path", path, "kind", why != NULL ? kind : "other",
                     "what", what, "why", why != NULL ? why
                     : "the sandbox says that another program runs it");
  if (ow_changes_is_hash (hash))
    json_object_set_new (entry, "sha256", json_string (hash));
  if (ow_json_get_bool (said, "executable", FALSE))
    json_object_set_new (entry, "executable", json_true ());
  return entry;
}

static gboolean
is_told (const json_t *told,
         const json_t *entry)
{
  const char *path = ow_json_get_string (entry, "path", "");

  for (size_t i = 0; i < json_array_size (told); i++)
    {
      const json_t *old = json_array_get (told, i);

      if (strcmp (ow_json_get_string (old, "path", ""), path) == 0)
        return g_strcmp0 (ow_json_get_string (old, "sha256", NULL),
                          ow_json_get_string (entry, "sha256", NULL)) == 0 &&
               ow_json_get_bool (old, "executable", FALSE) ==
               ow_json_get_bool (entry, "executable", FALSE);
    }
  return FALSE;
}

json_t *
ow_settings_read (OwEventList  *events,
                  const json_t *structured,
                  const json_t *folders,
                  OwLevel       level,
                  gboolean      late)
{
  const json_t *said = json_object_get (structured, "settings");
  gboolean told_cut = FALSE;
  json_t *told = ow_settings_collect (events, &told_cut);
  json_t *list = json_array ();
  size_t n = MIN (json_array_size (said), OW_SETTINGS_MAX);
  gint64 total = CLAMP (ow_json_get_int (structured, "total", 0), 0, MAX_TOTAL);
  gint64 left = total - (gint64) json_array_size (said);
  gboolean cut = ow_json_get_bool (structured, "cut", FALSE) || left > 0 ||
                 json_array_size (said) > n || !json_is_array (said);
  json_t *members;

  for (size_t i = 0; i < n; i++)
    {
      json_t *entry = read_entry (json_array_get (said, i), folders);

      if (entry != NULL && !is_told (told, entry))
        json_array_append (list, entry);
      json_decref (entry);
    }
  json_decref (told);
  if (json_array_size (list) == 0 && (!cut || told_cut))
    {
      json_decref (list);
      return NULL;
    }
  members = json_pack ("{s:I, s:s}", "total",
                       (json_int_t) json_array_size (list) + (json_int_t) MAX (left, 0),
                       "level", ow_level_to_string (level));
  json_object_set_new (members, "settings", list);
  if (cut)
    json_object_set_new (members, "cut", json_true ());
  if (late)
    json_object_set_new (members, "late", json_true ());
  return members;
}

json_t *
ow_settings_collect (OwEventList *events,
                     gboolean    *cut)
{
  g_autoptr (GHashTable) places = g_hash_table_new (g_str_hash, g_str_equal);
  json_t *list = json_array ();

  *cut = FALSE;
  for (guint i = 0; i < ow_event_list_get_n (events); i++)
    {
      const OwEvent *event = ow_event_list_get (events, i);
      const json_t  *members = ow_event_get_members (event);
      const json_t  *settings = json_object_get (members, "settings");

      if (ow_event_get_kind (event) != OW_EVENT_EXECUTABLE_SETTINGS)
        continue;
      *cut |= ow_json_get_bool (members, "cut", FALSE);
      for (size_t j = 0; j < json_array_size (settings); j++)
        {
          json_t     *entry = json_array_get (settings, j);
          const char *path = ow_json_get_string (entry, "path", "");
          gpointer    at = g_hash_table_lookup (places, path);

          if (at != NULL)
            {
              json_array_set (list, GPOINTER_TO_SIZE (at) - 1, entry);
              continue;
            }
          if (json_array_size (list) >= OW_SETTINGS_MAX)
            {
              *cut = TRUE;
              continue;
            }
          json_array_append (list, entry);
          g_hash_table_insert (places, (gpointer) path,
                               GSIZE_TO_POINTER (json_array_size (list)));
        }
    }
  return list;
}
