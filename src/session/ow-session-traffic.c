/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-traffic-private.h"

#include <string.h>

/* Names are made up inside as many as one likes: further ones are one entry, without a name. */
#define MAX_HOSTS    1000
#define LINE_BYTES   4096
#define HOST_BYTES   255
#define PROGRAM_CHARS 200

typedef struct {
  char    *host;        /* (owned) */
  gint64   port;
  char    *program;     /* (owned) (nullable) */
  gboolean counted;     /* there are bytes, and not only decisions */
  gint64   up;
  gint64   down;
  gint64   connections;
  gint64   refused;
  char    *sandbox;     /* (owned) (nullable) whose totals the next three are */
  gint64   last_up;
  gint64   last_down;
  gint64   last_connections;
} Entry;

struct OwSessionTraffic {
  GHashTable *entries; /* (owned) "HOST:PORT" to Entry */
  gboolean    is_new;
};

static void
entry_free (gpointer data)
{
  Entry *entry = data;

  g_free (entry->host);
  g_free (entry->program);
  g_free (entry->sandbox);
  g_free (entry);
}

OwSessionTraffic *
ow_session_traffic_new (void)
{
  OwSessionTraffic *self = g_new0 (OwSessionTraffic, 1);

  self->entries = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, entry_free);
  return self;
}

void
ow_session_traffic_free (OwSessionTraffic *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->entries);
  g_free (self);
}

static Entry *
find_entry (OwSessionTraffic *self,
            const char       *host,
            gint64            port)
{
  g_autofree char *key = g_strdup_printf ("%s:%" G_GINT64_FORMAT, host, port);
  Entry *entry = g_hash_table_lookup (self->entries, key);

  if (entry != NULL)
    return entry;
  if (g_hash_table_size (self->entries) >= MAX_HOSTS && *host != '\0')
    return find_entry (self, "", 0);
  entry = g_new0 (Entry, 1);
  entry->host = g_strdup (host);
  entry->port = port;
  g_hash_table_insert (self->entries, g_steal_pointer (&key), entry);
  return entry;
}

static gboolean
is_place (const char *host,
          gint64      port)
{
  return host != NULL && strlen (host) <= HOST_BYTES && port >= 0 && port <= G_MAXUINT16;
}

/* The totals of one sandbox only grow; one that is less is of no use. */
static void
add (gint64 *sum,
     gint64 *last,
     gint64  total)
{
  if (total > *last)
    {
      *sum += total - *last;
      *last = total;
    }
}

/* The first one stays. */
static void
note_program (Entry      *entry,
              const char *program)
{
  if (entry->program == NULL && program != NULL && *entry->host != '\0')
    entry->program = g_utf8_substring (program, 0, MIN (g_utf8_strlen (program, -1),
                                                        PROGRAM_CHARS));
}

static void
take_totals (OwSessionTraffic *self,
             const char       *sandbox,
             const json_t     *said)
{
  const gint64 port = ow_json_get_int (said, "port", -1);
  const char *host = ow_json_get_string (said, "traffic", NULL);
  Entry *entry;

  if (!is_place (host, port))
    return;
  entry = find_entry (self, host, port);
  if (g_strcmp0 (entry->sandbox, sandbox) != 0)
    {
      g_free (entry->sandbox);
      entry->sandbox = g_strdup (sandbox);
      entry->last_up = entry->last_down = entry->last_connections = 0;
    }
  if (json_is_integer (json_object_get (said, "up")) && !entry->counted)
    {
      entry->connections = 0;
      entry->counted = TRUE;
    }
  note_program (entry, ow_json_get_string (said, "program", NULL));
  add (&entry->up, &entry->last_up, ow_json_get_int (said, "up", 0));
  add (&entry->down, &entry->last_down, ow_json_get_int (said, "down", 0));
  add (&entry->connections, &entry->last_connections, ow_json_get_int (said, "connections", 0));
  self->is_new = TRUE;
}

void
ow_session_traffic_take (OwSessionTraffic *self,
                         const char       *sandbox,
                         const char       *line)
{
  char error[OW_WIRE_ERROR_SIZE];
  const gsize length = strlen (line);
  json_t *said = length <= LINE_BYTES ? ow_json_parse (line, length, error) : NULL;

  if (said != NULL)
    take_totals (self, sandbox, said);
  json_decref (said);
}

void
ow_session_traffic_decided (OwSessionTraffic *self,
                            const json_t     *members)
{
  const char *host = ow_json_get_string (members, "host", NULL);
  const char *program = ow_json_get_string (members, "program", NULL);
  const gint64 port = ow_json_get_int (members, "port", -1);
  Entry *entry;

  if (!is_place (host, port))
    return;
  entry = find_entry (self, host, port);
  note_program (entry, program);
  if (strcmp (ow_json_get_string (members, "decision", ""), "refuse") == 0)
    entry->refused++;
  else if (!entry->counted)
    entry->connections++;
  self->is_new = TRUE;
}

gboolean
ow_session_traffic_is_new (const OwSessionTraffic *self)
{
  return self->is_new;
}

void
ow_session_traffic_told (OwSessionTraffic *self)
{
  self->is_new = FALSE;
}

static int
compare (gconstpointer a,
         gconstpointer b)
{
  const Entry *one = *(const Entry * const *) a;
  const Entry *two = *(const Entry * const *) b;
  const int names = strcmp (one->host, two->host);

  if (names != 0)
    return names;
  return one->port < two->port ? -1 : one->port > two->port;
}

/* Where the provider does not count bytes they are null, and not none. */
static json_t *
entry_to_json (const Entry *entry,
               gboolean     counts)
{
  json_t *json = json_pack ("{s:s, s:I, s:I, s:I}", "host", entry->host,
                            "port", (json_int_t) entry->port,
                            "connections", (json_int_t) entry->connections,
                            "refused", (json_int_t) entry->refused);

  json_object_set_new (json, "up", counts ? json_integer (entry->up) : json_null ());
  json_object_set_new (json, "down", counts ? json_integer (entry->down) : json_null ());
  if (entry->program != NULL)
    json_object_set_new (json, "program", json_string (entry->program));
  return json;
}

json_t *
ow_session_traffic_to_json (OwSessionTraffic *self)
{
  g_autoptr (GPtrArray) entries = g_ptr_array_new ();
  json_t *hosts = json_array ();
  GHashTableIter iter;
  gpointer found;

  g_hash_table_iter_init (&iter, self->entries);
  while (g_hash_table_iter_next (&iter, NULL, &found))
    g_ptr_array_add (entries, found);
  g_ptr_array_sort (entries, compare);
  for (guint i = 0; i < entries->len; i++)
    {
      const Entry *entry = g_ptr_array_index (entries, i);

      json_array_append_new (hosts, entry_to_json (entry, entry->counted ||
                                                   entry->connections == 0));
    }
  return hosts;
}
