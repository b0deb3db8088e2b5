/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-records-private.h"

#include "audit/ow-audit.h"
#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-text.h"
#include "ow-engine-cut-private.h"

#define MAX_NAME_CHARS 60

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
ow_engine_return_part (GObject      *source,
                       GAsyncResult *result,
                       gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = g_task_propagate_pointer (G_TASK (result), &error);

  if (value != NULL)
    ow_engine_return_json (task, value);
  else
    g_task_return_error (task, g_steal_pointer (&error));
}

/* A record may be long, and a session must not wait for a person who reads it: it is read in a
 * thread of its own, which touches nothing but the file. */
static void
read_in_thread (OwLocalEngine   *self,
                const json_t    *params,
                GTask           *task,
                GTaskThreadFunc  func)
{
  g_autoptr (GTask) reading = g_task_new (self, g_task_get_cancellable (task),
                                          ow_engine_return_part, g_object_ref (task));

  g_task_set_source_tag (reading, read_in_thread);
  g_task_set_task_data (reading, json_deep_copy (params), (GDestroyNotify) json_decref);
  g_task_run_in_thread (reading, func);
}

static json_t *
report_to_json (const OwAuditReport *report,
                const char          *path)
{
  g_autofree char *shown = ow_text_visible (path);
  json_t *open_calls = json_array ();

  for (guint i = 0; i < report->open_calls->len; i++)
    json_array_append_new (open_calls, json_string (g_ptr_array_index (report->open_calls, i)));
  return json_pack ("{s:b, s:I, s:I, s:I, s:I, s:I, s:s?, s:o, s:s}",
                    "clean", ow_audit_report_is_clean (report),
                    "records", (json_int_t) report->n_records,
                    "anchored", (json_int_t) report->n_anchored,
                    "damaged", (json_int_t) report->n_damaged,
                    "broken", (json_int_t) report->n_broken,
                    "first_bad_line", (json_int_t) report->first_bad_line,
                    "head", report->head,
                    "open", open_calls,
                    "file", shown);
}

static void
verify_in_thread (GTask        *reading,
                  gpointer      source,
                  gpointer      task_data,
                  GCancellable *cancellable)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = ow_paths_get_audit_file ();
  g_autoptr (OwAuditReport) report = ow_audit_verify (path, &error);

  if (report == NULL)
    g_task_return_error (reading, g_steal_pointer (&error));
  else
    ow_engine_return_json (reading, report_to_json (report, path));
}

void
ow_engine_records_verify (OwLocalEngine *self,
                          const json_t  *params,
                          GTask         *task)
{
  read_in_thread (self, params, task, verify_in_thread);
}

/* One answer's worth of records. */
typedef struct
{
  json_t     *records; /* (owned) */
  const char *session; /* (nullable) borrowed */
  guint64     from;
  guint64     next;    /* 0: there is no more */
  gsize       bytes;
} Page;

static gboolean
add_record (guint64   n,
            OwEvent  *event,
            gpointer  user_data)
{
  Page *page = user_data;
  gsize bytes = 0;
  json_t *json;

  if (n < page->from ||
      (page->session != NULL && g_strcmp0 (page->session, ow_event_get_session (event)) != 0))
    return TRUE;
  json = ow_engine_cut_event (event, &bytes);
  if (json_array_size (page->records) > 0 && page->bytes + bytes > OW_ENGINE_CUT_PAGE_BYTES)
    {
      json_decref (json);
      page->next = n;
      return FALSE;
    }
  page->bytes += bytes;
  json_array_append_new (page->records, json_pack ("{s:I, s:o}", "n", (json_int_t) n,
                                                   "event", json));
  return TRUE;
}

static void
show_in_thread (GTask        *reading,
                gpointer      source,
                gpointer      task_data,
                GCancellable *cancellable)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = ow_paths_get_audit_file ();
  const json_t *params = task_data;
  json_int_t from = ow_json_get_int (params, "from", 0);
  Page page = { json_array (), ow_json_get_string (params, "session", NULL),
                (guint64) MAX (from, 0), 0, 0 };
  json_t *result = json_object ();

  json_object_set_new (result, "records", page.records);
  if (!ow_audit_foreach (path, add_record, &page, &error))
    {
      json_decref (result);
      g_task_return_error (reading, g_steal_pointer (&error));
      return;
    }
  /* Nothing at all would read as if nothing had been done. */
  if (page.session != NULL && from <= 0 && json_array_size (page.records) == 0)
    {
      g_autofree char *shown = ow_text_visible (page.session);
      g_autofree char *name = ow_text_shorten (shown, MAX_NAME_CHARS, TRUE);

      json_decref (result);
      ow_error_setf (&error, OW_ERROR_USAGE, "See `openworker sessions list`.",
                     "The audit record holds nothing of a session %s", name);
      g_task_return_error (reading, g_steal_pointer (&error));
      return;
    }
  if (page.next > 0)
    json_object_set_new (result, "next", json_integer ((json_int_t) page.next));
  ow_engine_return_json (reading, result);
}

void
ow_engine_records_show (OwLocalEngine *self,
                        const json_t  *params,
                        GTask         *task)
{
  read_in_thread (self, params, task, show_in_thread);
}
