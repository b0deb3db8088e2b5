/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "events/ow-event-list.h"

#include "base/ow-error.h"

static OwEvent *
notice (OwEventList  *list,
        const char   *text,
        GError      **error)
{
  return ow_event_list_append (list, OW_EVENT_NOTICE, json_pack ("{s:s}", "text", text), error);
}

static void
record (OwEventList *list,
        OwEvent     *event,
        gpointer     user_data)
{
  g_string_append_printf (user_data, "%" G_GUINT64_FORMAT " ", ow_event_get_seq (event));
}

static void
test_numbers (void)
{
  g_autoptr (OwEventList) list = ow_event_list_new ("s");
  g_autoptr (GString) seen = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  g_signal_connect (list, "appended", G_CALLBACK (record), seen);
  for (guint i = 1; i <= 5; i++)
    {
      g_autoptr (OwEvent) event = notice (list, "x", &error);

      g_assert_no_error (error);
      g_assert_cmpuint (ow_event_get_seq (event), ==, i);
      g_assert_true (ow_event_list_get (list, i - 1) == event);
    }
  g_assert_cmpuint (ow_event_list_get_n (list), ==, 5);
  g_assert_cmpstr (seen->str, ==, "1 2 3 4 5 ");
}

static void
test_live_output (void)
{
  g_autoptr (OwEventList) list = ow_event_list_new ("s");
  g_autoptr (GString) seen = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (OwEvent) event = NULL;

  g_signal_connect (list, "appended", G_CALLBACK (record), seen);
  event = ow_event_list_append (list, OW_EVENT_TOOL_OUTPUT,
                                json_pack ("{s:s, s:s, s:s, s:s}", "call", "c", "level", "direct",
                                           "stream", "stdout", "text", "x"), &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ow_event_get_seq (event), ==, 0);
  g_assert_cmpuint (ow_event_list_get_n (list), ==, 0);
  g_assert_cmpstr (seen->str, ==, "0 ");
}

static gboolean
refuse_second (OwEvent   *event,
               gpointer   user_data,
               GError   **error)
{
  guint *calls = user_data;

  if (++*calls != 2)
    return TRUE;
  ow_error_set (error, OW_ERROR_FAILED, "full", NULL, NULL);
  return FALSE;
}

/* What the store refuses is not in the list, not announced, and leaves no gap. */
static void
test_sink (void)
{
  g_autoptr (OwEventList) list = ow_event_list_new ("s");
  g_autoptr (GString) seen = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (OwEvent) one = NULL;
  g_autoptr (OwEvent) three = NULL;
  guint calls = 0;

  ow_event_list_set_sink (list, refuse_second, &calls, NULL);
  g_signal_connect (list, "appended", G_CALLBACK (record), seen);
  one = notice (list, "1", &error);
  g_assert_no_error (error);
  g_assert_null (notice (list, "2", &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
  g_clear_error (&error);
  g_assert_cmpuint (ow_event_list_get_n (list), ==, 1);
  three = notice (list, "3", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ow_event_get_seq (three), ==, 2);
  g_assert_cmpstr (seen->str, ==, "1 2 ");
}

static void
answer_first (OwEventList *list,
              OwEvent     *event,
              gpointer     user_data)
{
  g_autoptr (OwEvent) answer = NULL;

  if (ow_event_get_seq (event) != 1)
    return;
  answer = notice (list, "answer", NULL);
  g_assert_cmpuint (ow_event_get_seq (answer), ==, 2);
}

/* The second listener sees 1 before 2, although the first appends 2 while it is told 1. */
static void
test_order (void)
{
  g_autoptr (OwEventList) list = ow_event_list_new ("s");
  g_autoptr (GString) seen = g_string_new (NULL);
  g_autoptr (OwEvent) event = NULL;

  g_signal_connect (list, "appended", G_CALLBACK (answer_first), NULL);
  g_signal_connect (list, "appended", G_CALLBACK (record), seen);
  event = notice (list, "first", NULL);
  g_assert_cmpstr (seen->str, ==, "1 2 ");
}

static OwEvent *
stored (guint       seq,
        const char *session)
{
  g_autofree char *line =
    g_strdup_printf ("{\"seq\":%u,\"time\":\"2026-01-31T09:00:00.123Z\",\"session\":\"%s\","
                     "\"type\":\"notice\",\"text\":\"x\"}", seq, session);

  return ow_event_from_line (line, -1, NULL);
}

static void
test_restore (void)
{
  g_autoptr (OwEventList) list = ow_event_list_new ("s");
  g_autoptr (OwEvent) one = stored (1, "s");
  g_autoptr (OwEvent) two = stored (2, "s");
  g_autoptr (OwEvent) four = stored (4, "s");
  g_autoptr (OwEvent) foreign = stored (3, "t");
  g_autoptr (OwEvent) next = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_false (ow_event_list_restore (list, two, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
  g_clear_error (&error);
  g_assert_true (ow_event_list_restore (list, one, &error));
  g_assert_false (ow_event_list_restore (list, one, NULL));
  g_assert_true (ow_event_list_restore (list, two, &error));
  g_assert_false (ow_event_list_restore (list, four, NULL));
  g_assert_false (ow_event_list_restore (list, foreign, NULL));
  g_assert_no_error (error);
  next = notice (list, "on", &error);
  g_assert_cmpuint (ow_event_get_seq (next), ==, 3);
}

static void
test_wrong_members (void)
{
  g_autoptr (OwEventList) list = ow_event_list_new ("s");
  g_autoptr (GError) error = NULL;

  g_assert_null (ow_event_list_append (list, OW_EVENT_NOTICE, json_object (), &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
  g_assert_cmpuint (ow_event_list_get_n (list), ==, 0);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/event-list/numbers", test_numbers);
  g_test_add_func ("/event-list/live-output", test_live_output);
  g_test_add_func ("/event-list/sink", test_sink);
  g_test_add_func ("/event-list/order", test_order);
  g_test_add_func ("/event-list/restore", test_restore);
  g_test_add_func ("/event-list/wrong-members", test_wrong_members);

  return g_test_run ();
}
