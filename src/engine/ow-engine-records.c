/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-records-private.h"

#include "audit/ow-audit.h"
#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-text.h"

/* Records that audit.show gives at most; the newest stay. */
#define MAX_SHOWN_RECORDS 100000
#define MAX_NAME_CHARS    60

void
ow_engine_return_json (GTask  *task,
                       json_t *result)
{
  if (result != NULL)
    g_task_return_pointer (task, result, (GDestroyNotify) json_decref);
  else
    g_task_return_new_error (task, OW_ERROR, OW_ERROR_FAILED,
                             "The command's result could not be put into words.");
}

void
ow_engine_records_verify (OwLocalEngine *self,
                          const json_t  *params,
                          GTask         *task)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = ow_paths_get_audit_file ();
  g_autofree char *shown = ow_text_visible (path);
  g_autoptr (OwAuditReport) report = ow_audit_verify (path, &error);
  json_t *open_calls;

  if (report == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  open_calls = json_array ();
  for (guint i = 0; i < report->open_calls->len; i++)
    json_array_append_new (open_calls, json_string (g_ptr_array_index (report->open_calls, i)));
  ow_engine_return_json (task,
                         json_pack ("{s:b, s:I, s:I, s:I, s:I, s:I, s:s?, s:o, s:s}",
                                    "clean", ow_audit_report_is_clean (report),
                                    "records", (json_int_t) report->n_records,
                                    "anchored", (json_int_t) report->n_anchored,
                                    "damaged", (json_int_t) report->n_damaged,
                                    "broken", (json_int_t) report->n_broken,
                                    "first_bad_line", (json_int_t) report->first_bad_line,
                                    "head", report->head,
                                    "open", open_calls,
                                    "file", shown));
}

typedef struct
{
  GQueue      records; /* of json_t, owned */
  const char *session; /* (nullable) borrowed */
} ShowData;

static gboolean
show_record (guint64   n,
             OwEvent  *event,
             gpointer  user_data)
{
  ShowData *data = user_data;

  if (data->session != NULL && g_strcmp0 (data->session, ow_event_get_session (event)) != 0)
    return TRUE;
  if (g_queue_get_length (&data->records) >= MAX_SHOWN_RECORDS)
    json_decref (g_queue_pop_head (&data->records));
  g_queue_push_tail (&data->records, json_pack ("{s:I, s:o}", "n", (json_int_t) n,
                                                "event", ow_event_to_json (event)));
  return TRUE;
}

void
ow_engine_records_show (OwLocalEngine *self,
                        const json_t  *params,
                        GTask         *task)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = ow_paths_get_audit_file ();
  ShowData data = { G_QUEUE_INIT, ow_json_get_string (params, "session", NULL) };
  json_t *records;

  if (!ow_audit_foreach (path, show_record, &data, &error))
    {
      g_queue_clear_full (&data.records, (GDestroyNotify) json_decref);
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  /* Nothing at all would read as if nothing had been done. */
  if (data.session != NULL && g_queue_is_empty (&data.records))
    {
      g_autofree char *shown = ow_text_visible (data.session);
      g_autofree char *name = ow_text_shorten (shown, MAX_NAME_CHARS, TRUE);

      ow_error_setf (&error, OW_ERROR_USAGE, "See `openworker sessions list`.",
                     "The audit record holds nothing of a session %s", name);
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  records = json_array ();
  while (!g_queue_is_empty (&data.records))
    json_array_append_new (records, g_queue_pop_head (&data.records));
  ow_engine_return_json (task, json_pack ("{s:o}", "records", records));
}
