/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit-fixture.h"
#include "base/ow-error.h"

/* Takes the event. */
static void
append (OwAudit *audit,
        OwEvent *event)
{
  g_autoptr (GError) error = NULL;

  ow_audit_append (audit, event, FALSE, &error);
  ow_event_unref (event);
  g_assert_no_error (error);
}

static void
test_chain (Fixture       *f,
            gconstpointer  data)
{
  g_autoptr (OwAudit) audit = ow_audit_open (f->path, NULL);
  g_autoptr (OwAuditReport) report = NULL;
  g_autoptr (GError) error = NULL;
  struct stat st;

  g_assert_true (is_clean (f->path, 0));
  append (audit, make_started ("c1"));
  append (audit, make_started ("c2"));
  append (audit, make_ended ("c1", "x"));
  append (audit, make_started ("c3"));
  g_assert_true (ow_audit_sync (audit, &error));
  g_assert_no_error (error);

  report = verify (f->path);
  g_assert_true (ow_audit_report_is_clean (report));
  g_assert_cmpuint (report->n_records, ==, 4);
  g_assert_cmpuint (report->open_calls->len, ==, 2);
  g_assert_cmpstr (g_ptr_array_index (report->open_calls, 0), ==, "s c2 shell");
  g_assert_cmpstr (g_ptr_array_index (report->open_calls, 1), ==, "s c3 shell");
  g_assert_cmpuint (strlen (report->head), ==, 64);
  g_assert_cmpint (g_stat (f->path, &st), ==, 0);
  g_assert_cmpint (st.st_mode & 07777, ==, 0600);
}

/* A second run, and a second program between two appends, go on with the chain. */
static void
test_go_on (Fixture       *f,
            gconstpointer  data)
{
  g_autoptr (OwAudit) one = NULL;
  g_autoptr (OwAudit) two = NULL;

  append_some (f->path, 3);
  one = ow_audit_open (f->path, NULL);
  two = ow_audit_open (f->path, NULL);
  for (guint i = 0; i < 5; i++)
    {
      append (one, make_started ("a"));
      append (two, make_started ("b"));
      append (two, make_started ("b"));
    }
  g_assert_true (is_clean (f->path, 18));
}

typedef struct {
  GString *seen;
  guint    stop;
} Seen;

static gboolean
note (guint64   n,
      OwEvent  *event,
      gpointer  user_data)
{
  Seen *seen = user_data;

  g_string_append_printf (seen->seen, "%" G_GUINT64_FORMAT ":%s ", n,
                          ow_event_get_string (event, "call"));
  return n != seen->stop;
}

static void
test_foreach (Fixture       *f,
              gconstpointer  data)
{
  g_autoptr (GString) all = g_string_new (NULL);
  g_autoptr (GString) some = g_string_new (NULL);
  Seen seen_all = { all, 0 };
  Seen seen_some = { some, 2 };

  append_some (f->path, 4);
  g_assert_true (ow_audit_foreach (f->path, note, &seen_all, NULL));
  g_assert_cmpstr (all->str, ==, "1:c1 2:c2 3:c3 4:c4 ");
  g_assert_true (ow_audit_foreach (f->path, note, &seen_some, NULL));
  g_assert_cmpstr (some->str, ==, "1:c1 2:c2 ");
}

static gboolean
keep (guint64   n,
      OwEvent  *event,
      gpointer  user_data)
{
  *(OwEvent **) user_data = ow_event_ref (event);
  return FALSE;
}

static void
test_result (Fixture       *f,
             gconstpointer  data)
{
  g_autofree char *long_text = g_strnfill (5000, 'y');
  g_autofree char *result = g_strconcat ("é", long_text, NULL);
  g_autofree char *hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, result, -1);
  g_autoptr (OwEvent) event = NULL;
  const json_t *members;

  {
    g_autoptr (OwAudit) audit = ow_audit_open (f->path, NULL);

    append (audit, make_ended ("c1", result));
  }
  g_assert_true (ow_audit_foreach (f->path, keep, &event, NULL));
  g_assert_nonnull (event);
  members = ow_event_get_members (event);
  g_assert_null (json_object_get (members, "result"));
  g_assert_null (json_object_get (members, "structured"));
  g_assert_cmpstr (ow_event_get_string (event, "result_sha256"), ==, hash);
  g_assert_cmpint (g_utf8_strlen (ow_event_get_string (event, "result_head"), -1), ==, 200);
  g_assert_true (g_str_has_prefix (ow_event_get_string (event, "result_head"), "éyyy"));
}

static void
test_unwanted (Fixture       *f,
               gconstpointer  data)
{
  g_autoptr (OwAudit) audit = ow_audit_open (f->path, NULL);
  g_autoptr (OwEvent) event = ow_event_new (OW_EVENT_NOTICE, "s",
                                            json_pack ("{s:s}", "text", "x"));
  g_autoptr (GError) error = NULL;

  g_assert_false (ow_audit_wants (OW_EVENT_NOTICE));
  g_assert_false (ow_audit_append (audit, event, TRUE, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
  g_assert_true (is_clean (f->path, 0));
}

static void
assert_not_opened (const char *path)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (ow_audit_open (path, &error));
  g_assert_nonnull (error);
  g_assert_nonnull (strstr (error->message, path));
}

static void
test_refused (Fixture       *f,
              gconstpointer  data)
{
  g_autofree char *other = g_build_filename (f->dir, "other", NULL);
  struct stat st;

  g_assert_true (g_file_set_contents (other, "", 0, NULL));
  g_assert_cmpint (symlink ("other", f->path), ==, 0);
  assert_not_opened (f->path);
  g_assert_cmpint (g_unlink (f->path), ==, 0);

  g_assert_cmpint (g_mkdir (f->path, 0700), ==, 0);
  assert_not_opened (f->path);
  g_assert_cmpint (g_rmdir (f->path), ==, 0);

  g_assert_cmpint (mkfifo (f->path, 0600), ==, 0);
  assert_not_opened (f->path);
  g_assert_cmpint (g_unlink (f->path), ==, 0);

  if (geteuid () == 0)
    {
      g_assert_cmpint (chown (other, 12345, 12345), ==, 0);
      assert_not_opened (other);
      g_assert_cmpint (chown (other, 0, 0), ==, 0);
    }

  g_assert_cmpint (g_chmod (other, 0644), ==, 0);
  append_some (other, 1);
  g_assert_cmpint (g_stat (other, &st), ==, 0);
  g_assert_cmpint (st.st_mode & 07777, ==, 0600);
}

/* A chain that was cut, be it to nothing, does not go on as if it had begun there. */
static void
test_cut_in_use (Fixture       *f,
                 gconstpointer  data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  gsize length, line;

  append_some (f->path, 3);
  g_assert_true (g_file_get_contents (f->path, &text, &length, &error));
  line = strcspn (text, "\n") + 1;
  for (gsize keep = 0; keep < length; keep += keep == line ? length - line - 1 : line)
    {
      g_autoptr (OwAudit) audit = NULL;
      g_autoptr (OwEvent) event = make_started ("c");
      struct stat st;

      g_assert_true (g_file_set_contents (f->path, text, (gssize) length, NULL));
      audit = ow_audit_open (f->path, NULL);
      g_assert_true (ow_audit_append (audit, event, FALSE, NULL));
      g_assert_cmpint (truncate (f->path, (off_t) keep), ==, 0);
      for (guint again = 0; again < 2; again++)
        {
          g_clear_error (&error);
          g_assert_false (ow_audit_append (audit, event, FALSE, &error));
          g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
          g_assert_nonnull (strstr (error->message, "cut short while in use"));
        }
      g_assert_cmpint (g_stat (f->path, &st), ==, 0);
      g_assert_cmpint (st.st_size, ==, keep);
    }
}

/* Records must not go into a file that has lost its name. */
static void
test_removed (Fixture       *f,
              gconstpointer  data)
{
  for (guint replaced = 0; replaced < 2; replaced++)
    {
      g_autoptr (OwAudit) audit = ow_audit_open (f->path, NULL);
      g_autoptr (OwEvent) event = make_started ("c");
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (g_unlink (f->path), ==, 0);
      if (replaced)
        g_assert_true (g_file_set_contents (f->path, "", 0, NULL));
      g_assert_false (ow_audit_append (audit, event, FALSE, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
      g_assert_nonnull (strstr (error->message, "removed or replaced"));
    }
}

/* Any one byte changed, any line but the last taken out, any two exchanged: seen. */
static void
test_tampered (Fixture       *f,
               gconstpointer  data)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  gsize length;

  append_some (f->path, 3);
  g_assert_true (g_file_get_contents (f->path, &text, &length, NULL));
  for (gsize i = 0; i < length; i++)
    {
      text[i] ^= 1;
      g_assert_true (g_file_set_contents (f->path, text, (gssize) length, NULL));
      text[i] ^= 1;
      {
        g_autoptr (OwAuditReport) report = verify (f->path);

        g_assert_false (ow_audit_report_is_clean (report));
        g_assert_cmpuint (report->first_bad_line, >, 0);
      }
    }

  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *without = i == 0 ? g_strdup_printf ("%s\n%s\n", lines[1], lines[2])
                                        : g_strdup_printf ("%s\n%s\n", lines[0], lines[2]);
      g_autofree char *swapped = i == 0
                                 ? g_strdup_printf ("%s\n%s\n%s\n", lines[1], lines[0], lines[2])
                                 : g_strdup_printf ("%s\n%s\n%s\n", lines[0], lines[2], lines[1]);

      g_assert_true (g_file_set_contents (f->path, without, -1, NULL));
      g_assert_false (is_clean (f->path, 2));
      g_assert_true (g_file_set_contents (f->path, swapped, -1, NULL));
      g_assert_false (is_clean (f->path, 3));
    }
}

/* The same content, spelt in another way than it was written: bytes were changed. */
static void
test_spelt_otherwise (Fixture       *f,
                      gconstpointer  data)
{
  static const struct {
    const char *from;
    const char *to;
  } rows[] = {
    { "{\"n\":2", "{ \"n\":2" }, { "{\"n\":2", " {\"n\":2" }, { "}\n", "} \n" }, { "}\n", "}\r\n" },
    { "\"n\":2", "\"\\u006e\":2" }, { "u001B", "u001b" }, { "x\\u001B", "\\u0078\\u001B" },
    { "/", "\\/" }, { "\\n", "\\u000A" },
  };
  g_autoptr (OwAudit) audit = ow_audit_open (f->path, NULL);
  g_autofree char *text = NULL;

  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (OwEvent) event = make_started ("x\033[31m/\n");

      g_assert_true (ow_audit_append (audit, event, FALSE, NULL));
    }
  g_assert_true (g_file_get_contents (f->path, &text, NULL, NULL));
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GString *changed = g_string_new (text);

      g_test_message ("row %" G_GSIZE_FORMAT, i);
      g_assert_cmpuint (g_string_replace (changed, rows[i].from, rows[i].to, 1), ==, 1);
      g_assert_true (g_file_set_contents (f->path, changed->str, -1, NULL));
      g_assert_false (is_clean (f->path, 3));
      g_string_free (changed, TRUE);
    }
}

#define ADD(path, func) \
  g_test_add (path, Fixture, NULL, fixture_set_up, func, fixture_tear_down)

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  ADD ("/audit/chain", test_chain);
  ADD ("/audit/go-on", test_go_on);
  ADD ("/audit/foreach", test_foreach);
  ADD ("/audit/result", test_result);
  ADD ("/audit/unwanted", test_unwanted);
  ADD ("/audit/refused", test_refused);
  ADD ("/audit/removed", test_removed);
  ADD ("/audit/cut-in-use", test_cut_in_use);
  ADD ("/audit/tampered", test_tampered);
  ADD ("/audit/spelt-otherwise", test_spelt_otherwise);

  return g_test_run ();
}
