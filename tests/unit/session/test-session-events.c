/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-error.h"
#include "ow-session-events-private.h"

#define LINE(decision, host, port, reason) \
  "{\"decision\":\"" decision "\",\"host\":\"" host "\",\"port\":" port ",\"reason\":\"" reason \
  "\"}"

static void
test_decision (void)
{
  static const struct { const char *line; gboolean good; const char *notice; } lines[] = {
    { LINE ("allow", "a.org", "443", "listed"), TRUE, NULL },
    { LINE ("refuse", "a.org", "443", "not_listed"), TRUE, "a.org:443" },
    { LINE ("refuse", "a.org", "443", "address"), TRUE, "private" },
    { LINE ("refuse", "a.org", "443", "resolve"), TRUE, NULL },
    { LINE ("refuse", "", "0", "malformed"), TRUE, NULL },
    { LINE ("maybe", "a.org", "443", "listed"), FALSE, NULL },
    { LINE ("allow", "a.org", "65536", "listed"), FALSE, NULL },
    { LINE ("allow", "a.org", "-1", "listed"), FALSE, NULL },
    { LINE ("allow", "a.org", "\"443\"", "listed"), FALSE, NULL },
    { "{\"decision\":\"allow\",\"port\":443,\"reason\":\"listed\"}", FALSE, NULL },
    { "{\"decision\":\"allow\",\"host\":7,\"port\":443,\"reason\":\"listed\"}", FALSE, NULL },
    { "{\"decision\":\"allow\",\"host\":\"a\",\"port\":443}", FALSE, NULL },
    { "", FALSE, NULL },
    { "[]", FALSE, NULL },
    { "{", FALSE, NULL },
    { "null", FALSE, NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_autofree char *notice = NULL;
      gint64 time_ms = 0;
      json_t *members = ow_session_events_decision (lines[i].line, OW_LEVEL_BUBBLEWRAP, &time_ms,
                                                    &notice);

      g_test_message ("%s", lines[i].line);
      g_assert_cmpint (members != NULL, ==, lines[i].good);
      g_assert_cmpint (notice != NULL, ==, lines[i].notice != NULL);
      if (notice != NULL)
        g_assert_nonnull (strstr (notice, lines[i].notice));
      if (members != NULL)
        {
          g_autoptr (OwEvent) event = ow_event_new (OW_EVENT_HOST_DECISION, "s1", members);

          g_assert_nonnull (event);
        }
    }
}

/* A host's name is made up inside the wall: nothing in it may act on who reads it. */
static void
test_hostile_host (void)
{
  g_autofree char *long_name = g_strnfill (5000, 'a');
  g_autofree char *line = g_strdup_printf (LINE ("refuse", "%s\\u001b[2J\\nx\\u202e", "1",
                                                 "not_listed"), "b");
  g_autofree char *long_line = g_strdup_printf (LINE ("refuse", "%s", "1", "not_listed"),
                                                long_name);
  g_autofree char *notice = NULL;
  g_autofree char *long_notice = NULL;
  gint64 time_ms = 0;
  json_t *members = ow_session_events_decision (line, OW_LEVEL_BUBBLEWRAP, &time_ms, &notice);

  g_assert_nonnull (notice);
  g_assert_null (strchr (notice, '\033'));
  g_assert_null (strchr (notice, '\n'));
  g_assert_null (strstr (notice, "\u202e"));
  json_decref (members);
  members = ow_session_events_decision (long_line, OW_LEVEL_BUBBLEWRAP, &time_ms, &long_notice);
  g_assert_cmpuint (strlen (long_notice), <, 500);
  json_decref (members);
}

static void
test_ended (void)
{
  static const struct { OwErrorKind kind; const char *outcome; int exit; } ends[] = {
    { OW_ERROR_FAILED, "failed", 1 },
    { OW_ERROR_USAGE, "failed", 2 },
    { OW_ERROR_REFUSED, "refused", 69 },
    { OW_ERROR_INTERRUPTED, "stopped", 130 },
    { OW_ERROR_TIMED_OUT, "failed", 1 },
    { OW_ERROR_DATA, "failed", 1 },
  };
  json_t *done = ow_session_events_ended (NULL, 7, FALSE, FALSE);

  g_assert_cmpstr (ow_json_get_string (done, "outcome", ""), ==, "done");
  g_assert_cmpint (ow_json_get_int (done, "exit", -1), ==, 7);
  json_decref (done);
  for (gsize i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      g_autoptr (GError) error = NULL;
      json_t *members;

      ow_error_set (&error, ends[i].kind, "It went wrong", "for a reason", NULL);
      members = ow_session_events_ended (error, 7, FALSE, FALSE);
      g_assert_cmpstr (ow_json_get_string (members, "outcome", ""), ==, ends[i].outcome);
      g_assert_cmpint (ow_json_get_int (members, "exit", -1), ==, ends[i].exit);
      g_assert_cmpstr (ow_json_get_string (members, "message", ""), ==, error->message);
      json_decref (members);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/session-events/decision", test_decision);
  g_test_add_func ("/session-events/U02/hostile-host", test_hostile_host);
  g_test_add_func ("/session-events/ended", test_ended);
  return g_test_run ();
}
