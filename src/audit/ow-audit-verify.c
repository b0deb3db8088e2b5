/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "ow-audit-file-private.h"

typedef struct {
  OwAuditReport *report;
  GHashTable    *open;    /* (owned) "session call" → "session call tool" */
  guint64        line;
  guint64        n;
  char           head[OW_AUDIT_HASH_CHARS + 1];
} Verify;

void
ow_audit_report_free (OwAuditReport *report)
{
  if (report == NULL)
    return;

  g_clear_pointer (&report->open_calls, g_ptr_array_unref);
  g_free (report->head);
  g_free (report);
}

gboolean
ow_audit_report_is_clean (const OwAuditReport *report)
{
  return report->n_damaged == 0 && report->n_broken == 0;
}

static void
note_call (Verify       *verify,
           const json_t *event)
{
  const char *type = ow_json_get_string (event, "type", "");
  const char *session = ow_json_get_string (event, "session", "?");
  const char *call = ow_json_get_string (event, "call", "?");
  const char *tool = ow_json_get_string (event, "tool", "?");
  g_autofree char *key = g_strdup_printf ("%s %s", session, call);

  if (strcmp (type, ow_event_kind_name (OW_EVENT_TOOL_STARTED)) == 0)
    g_hash_table_insert (verify->open, g_steal_pointer (&key),
                         g_strdup_printf ("%s %s %s", session, call, tool));
  else if (strcmp (type, ow_event_kind_name (OW_EVENT_TOOL_ENDED)) == 0)
    g_hash_table_remove (verify->open, key);
}

static gboolean
verify_line (const char *line,
             gsize       length,
             gpointer    user_data)
{
  Verify *verify = user_data;
  OwAuditReport *report = verify->report;
  OwAuditRecord record = { 0 };
  gboolean found = line != NULL && ow_audit_record_parse (&record, line, length);
  gboolean bad = !found || !record.whole;

  verify->line++;
  if (bad)
    report->n_damaged++;
  if (found)
    {
      report->n_records++;
      if (!record.true_hash || record.n != verify->n + 1 ||
          strcmp (record.prev, verify->head) != 0)
        {
          report->n_broken++;
          bad = TRUE;
        }
      /* What follows is held against this record's own claim: one fault is one. */
      verify->n = record.n;
      memcpy (verify->head, record.hash, sizeof verify->head);
      note_call (verify, record.event);
      ow_audit_record_clear (&record);
    }
  if (bad && report->first_bad_line == 0)
    report->first_bad_line = verify->line;

  return TRUE;
}

static int
compare_texts (gconstpointer a,
               gconstpointer b)
{
  return strcmp (*(const char * const *) a, *(const char * const *) b);
}

static GPtrArray *
list_open_calls (GHashTable *open)
{
  GPtrArray *calls = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, open);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    g_ptr_array_add (calls, g_strdup (value));
  g_ptr_array_sort (calls, compare_texts);

  return calls;
}

OwAuditReport *
ow_audit_verify (const char  *path,
                 GError     **error)
{
  g_autoptr (OwAuditReport) report = g_new0 (OwAuditReport, 1);
  g_autoptr (GHashTable) open = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  Verify verify = { .report = report, .open = open };

  g_strlcpy (verify.head, ow_audit_record_first_hash, sizeof verify.head);
  if (!ow_audit_file_foreach (path, verify_line, &verify, error))
    return NULL;

  report->open_calls = list_open_calls (open);
  report->head = g_strdup (verify.head);

  return g_steal_pointer (&report);
}

typedef struct {
  OwAuditFunc func;
  gpointer    user_data;
} Show;

static gboolean
show_line (const char *line,
           gsize       length,
           gpointer    user_data)
{
  Show *show = user_data;
  OwAuditRecord record = { 0 };
  g_autoptr (OwEvent) event = NULL;

  if (line == NULL || !ow_audit_record_parse (&record, line, length))
    return TRUE;
  event = ow_event_from_json (record.event, NULL);
  ow_audit_record_clear (&record);

  return event == NULL || show->func (record.n, event, show->user_data);
}

gboolean
ow_audit_foreach (const char   *path,
                  OwAuditFunc   func,
                  gpointer      user_data,
                  GError      **error)
{
  Show show = { func, user_data };

  return ow_audit_file_foreach (path, show_line, &show, error);
}
