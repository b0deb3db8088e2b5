/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "audit-fixture.h"

#include "base/ow-file.h"

void
fixture_set_up (Fixture       *f,
                gconstpointer  data)
{
  f->dir = g_dir_make_tmp ("ow-audit-XXXXXX", NULL);
  g_assert_nonnull (f->dir);
  f->path = g_build_filename (f->dir, "audit.jsonl", NULL);
}

void
fixture_tear_down (Fixture       *f,
                   gconstpointer  data)
{
  g_assert_true (ow_file_remove_tree (f->dir, NULL));
  g_free (f->path);
  g_free (f->dir);
}

OwEvent *
make_started (const char *call)
{
  return ow_event_new (OW_EVENT_TOOL_STARTED, "s",
                       json_pack ("{s:s, s:s, s:{s:s}, s:s, s:s}", "call", call, "tool", "shell",
                                  "arguments", "command", "make all", "level", "bubblewrap",
                                  "approval", "policy:sandboxed"));
}

OwEvent *
make_ended (const char *call,
            const char *result)
{
  return ow_event_new (OW_EVENT_TOOL_ENDED, "s",
                       json_pack ("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:{s:s}}", "call", call,
                                  "tool", "shell", "level", "bubblewrap", "outcome", "ok",
                                  "result", result, "duration_ms", 5, "bytes", 7,
                                  "structured", "cwd", "/w"));
}

void
append_some (const char *path,
             guint       n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwAudit) audit = ow_audit_open (path, &error);

  g_assert_no_error (error);
  for (guint i = 1; i <= n; i++)
    {
      g_autofree char *call = g_strdup_printf ("c%u", i);
      g_autoptr (OwEvent) event = make_started (call);

      ow_audit_append (audit, event, FALSE, &error);
      g_assert_no_error (error);
    }
}

OwAuditReport *
verify (const char *path)
{
  g_autoptr (GError) error = NULL;
  OwAuditReport *report = ow_audit_verify (path, &error);

  g_assert_no_error (error);
  return report;
}

gboolean
is_clean (const char *path,
          guint64     n_records)
{
  g_autoptr (OwAuditReport) report = ow_audit_verify (path, NULL);

  return report != NULL && ow_audit_report_is_clean (report) && report->n_records == n_records &&
         report->first_bad_line == 0;
}
