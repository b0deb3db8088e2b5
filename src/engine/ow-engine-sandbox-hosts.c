/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-sandboxes-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"
#include "sandbox/ow-ocsf-file.h"

/* What sandboxes may reach and what they were refused: sandbox.logs, and their part
 * of sandbox.show. */

#define MAX_LINES 10000
#define MAX_BYTES (1024u * 1024u)

/* --- what the events tell --- */

static gboolean
is_decision (const OwEvent *event,
             const char    *decision)
{
  return ow_event_get_kind (event) == OW_EVENT_HOST_DECISION &&
         g_strcmp0 (ow_event_get_string (event, "decision"), decision) == 0;
}

static char *
host_of (const OwEvent *event)
{
  return g_strdup_printf ("%s:%" G_GINT64_FORMAT, ow_event_get_string (event, "host"),
                          ow_event_get_int (event, "port", 0));
}

static json_t *
find_refused (json_t     *refused,
              const char *host)
{
  for (size_t i = 0; i < json_array_size (refused); i++)
    if (strcmp (ow_json_get_string (json_array_get (refused, i), "host", ""), host) == 0)
      return json_array_get (refused, i);
  return NULL;
}

static void
count_refused (json_t     *refused,
               const char *host,
               const char *reason)
{
  json_t *entry = find_refused (refused, host);

  if (entry == NULL)
    json_array_append_new (refused, json_pack ("{s:s, s:s?, s:i}", "host", host, "reason", reason,
                                               "count", 1));
  else
    json_object_set_new (entry, "count", json_integer (ow_json_get_int (entry, "count", 0) + 1));
}

/* --- the lines --- */

/* The lines of a session from place @from on; the last @max of them where @from is 0. */
typedef struct
{
  GQueue    lines;   /* (owned) of char* */
  gint64    from;
  gint64    next;
  guint     max;
  gboolean  refused;
} Log;

static void
log_clear (Log *log)
{
  g_queue_clear_full (&log->lines, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Log, log_clear)

static void
take_line (Log  *log,
           char *line)
{
  g_queue_push_tail (&log->lines, line);
  if (log->lines.length > log->max && log->from == 0)
    g_free (g_queue_pop_head (&log->lines));
}

static void
take_text (Log        *log,
           const char *text,
           gsize       length)
{
  g_autofree char *valid = ow_text_from_bytes (text, (gssize) length);
  g_autofree char *refused = log->refused ? ow_ocsf_file_get_refused (valid) : NULL;

  if (!log->refused || refused != NULL)
    take_line (log, ow_text_visible (valid));
}

/* Whole lines only: the rest of the last one comes later. */
static void
read_lines (Log *log,
            int  fd)
{
  g_autofree char *buffer = g_malloc (MAX_BYTES);
  struct stat st;
  gint64  at = log->from;
  ssize_t got;
  const char *start;
  const char *end;

  if (fstat (fd, &st) != 0 || !S_ISREG (st.st_mode))
    return;
  if (at > st.st_size)
    at = 0; /* it was begun anew */
  if (log->from == 0)
    at = MAX (st.st_size - (gint64) MAX_BYTES, 0);
  got = pread (fd, buffer, MAX_BYTES, at);
  start = buffer;
  if (at > 0 && log->from == 0 && got > 0)
    {
      start = memchr (buffer, '\n', (size_t) got);
      start = start != NULL ? start + 1 : buffer + got;
    }
  for (end = start; got > 0 && end < buffer + got; end++)
    if (*end == '\n')
      {
        take_text (log, start, (gsize) (end - start));
        start = end + 1;
      }
  log->next = at + (start - buffer);
}

/* FALSE: there is no such file. */
static gboolean
read_file (Log        *log,
           const char *session)
{
  g_autofree char *path = ow_ocsf_file_get_path (session);
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

  if (fd < 0)
    return FALSE;
  read_lines (log, fd);
  close (fd);
  return TRUE;
}

/* --- show --- */

/* The events tell of each host once, the log of each try. */
static void
count_logged (json_t *refused,
              Log    *log)
{
  g_autoptr (GHashTable) counted = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (GList *link = log->lines.head; link != NULL; link = link->next)
    {
      g_autofree char *host = ow_ocsf_file_get_refused (link->data);
      json_t *entry = host != NULL ? find_refused (refused, host) : NULL;

      if (host == NULL)
        continue;
      if (entry == NULL || g_hash_table_contains (counted, host))
        count_refused (refused, host, NULL);
      g_hash_table_add (counted, g_steal_pointer (&host));
    }
}

void
ow_engine_sandboxes_describe (json_t      *item,
                              OwEventList *events)
{
  const json_t *folders = ow_engine_sandboxes_find_member (events, "folders");
  const json_t *hosts = ow_engine_sandboxes_find_member (events, "hosts");
  const char *session = ow_json_get_string (item, "session", "");
  g_autofree char *log = ow_ocsf_file_get_path (session);
  g_auto (Log) logged = { .lines = G_QUEUE_INIT, .max = MAX_LINES, .refused = TRUE };
  json_t *allowed = json_array ();
  json_t *refused = json_array ();

  for (guint i = 0; events != NULL && i < ow_event_list_get_n (events); i++)
    {
      const OwEvent   *event = ow_event_list_get (events, i);
      g_autofree char *host = NULL;

      if (ow_event_get_kind (event) != OW_EVENT_HOST_DECISION)
        continue;
      host = host_of (event);
      if (is_decision (event, "refuse"))
        count_refused (refused, host, ow_event_get_string (event, "reason"));
      else if (g_strcmp0 (ow_event_get_string (event, "reason"), "person") == 0)
        json_array_append_new (allowed, json_string (host));
    }
  if (read_file (&logged, session))
    {
      count_logged (refused, &logged);
      json_object_set_new (item, "log", json_string (log));
    }
  json_object_set (item, "folders", folders != NULL ? (json_t *) folders : json_null ());
  json_object_set (item, "hosts", hosts != NULL ? (json_t *) hosts : json_null ());
  json_object_set_new (item, "allowed", allowed);
  json_object_set_new (item, "refused", refused);
}

/* --- logs --- */

static char *
describe_decision (const OwEvent *event)
{
  g_autoptr (GDateTime) time = NULL;
  g_autofree char *when = NULL;
  g_autofree char *host = host_of (event);
  g_autofree char *line = NULL;

  time = g_date_time_new_from_unix_utc (ow_event_get_time (event) / G_USEC_PER_SEC);
  when = g_date_time_format (time, "%Y-%m-%dT%H:%M:%SZ");
  line = g_strdup_printf ("%s %s %s (%s)", when, ow_event_get_string (event, "decision"), host,
                          ow_event_get_string (event, "reason"));
  return ow_text_visible (line);
}

static void
read_events (Log         *log,
             OwEventList *events)
{
  guint n = ow_event_list_get_n (events);

  for (guint i = (guint) CLAMP (log->from, 0, n); i < n; i++)
    {
      const OwEvent *event = ow_event_list_get (events, i);

      if (ow_event_get_kind (event) == OW_EVENT_HOST_DECISION &&
          (!log->refused || is_decision (event, "refuse")))
        take_line (log, describe_decision (event));
    }
  log->next = n;
}

static void
return_log (GTask      *task,
            Log        *log,
            const char *source)
{
  json_t *lines = json_array ();

  for (GList *link = log->lines.head; link != NULL; link = link->next)
    json_array_append_new (lines, json_string (link->data));
  ow_engine_return_json (task, json_pack ("{s:s, s:o, s:I}", "source", source, "lines", lines,
                                          "next", (json_int_t) log->next));
}

void
ow_engine_sandboxes_logs (OwLocalEngine *self,
                          const json_t  *params,
                          GTask         *task)
{
  GError *error = NULL;
  const char *session = ow_engine_params_need (params, "session", &error);
  g_auto (Log) log = { .lines = G_QUEUE_INIT, .from = ow_json_get_int (params, "from", 0),
                       .max = (guint) CLAMP (ow_json_get_int (params, "lines", 100), 1, MAX_LINES),
                       .refused = ow_json_get_bool (params, "refused", FALSE) };
  g_autoptr (OwEventList) events = NULL;

  if (session != NULL)
    events = ow_engine_sandboxes_need_events (self, session, &error);
  if (events == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  if (read_file (&log, session))
    {
      return_log (task, &log, "ocsf");
      return;
    }
  read_events (&log, events);
  return_log (task, &log, "events");
}
