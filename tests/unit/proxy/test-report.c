/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "ow-proxy-report-private.h"

static void
add (OwProxyReport *report,
     guint          port)
{
  const OwProxyDecision decision = {
    .allow = port % 2 == 0, .host = "a.example", .port = port, .reason = "listed",
    .address = port % 2 == 0 ? "203.0.113.5" : NULL,
  };

  ow_proxy_report_add (report, &decision);
}

static char *
read_all (int fd)
{
  g_autofree char *bytes = g_malloc (65536);
  ssize_t got = read (fd, bytes, 65535);

  return g_strndup (bytes, got > 0 ? (gsize) got : 0);
}

static void
test_lines (void)
{
  int ends[2];
  OwProxyReport *report;
  g_autofree char *text = NULL;

  g_assert_cmpint (pipe (ends), ==, 0);
  report = ow_proxy_report_new (ends[1]);
  g_assert_false (ow_proxy_report_wants_to_write (report));
  add (report, 2);
  add (report, 3);
  for (guint i = 0; i < 2; i++)
    {
      g_assert_true (ow_proxy_report_wants_to_write (report));
      g_assert_true (ow_proxy_report_write (report));
    }
  g_assert_false (ow_proxy_report_wants_to_write (report));
  g_assert_true (ow_proxy_report_write (report));
  text = read_all (ends[0]);
  g_assert_cmpstr (text, ==,
                   "{\"decision\":\"allow\",\"host\":\"a.example\",\"port\":2,\"reason\":\"listed\","
                   "\"address\":\"203.0.113.5\"}\n"
                   "{\"decision\":\"refuse\",\"host\":\"a.example\",\"port\":3,"
                   "\"reason\":\"listed\"}\n");
  close (ends[0]);
  add (report, 4);
  signal (SIGPIPE, SIG_IGN);
  g_assert_false (ow_proxy_report_write (report));
  ow_proxy_report_free (report);
  close (ends[1]);
}

static void
test_overflow (void)
{
  int ends[2];
  OwProxyReport *report;
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;

  g_assert_cmpint (pipe (ends), ==, 0);
  report = ow_proxy_report_new (ends[1]);
  for (guint i = 1; i <= OW_PROXY_REPORT_MAX_LINES + 7; i++)
    add (report, i);
  ow_proxy_report_write (report);
  first = read_all (ends[0]);
  g_assert_nonnull (strstr (first, "\"port\":8,"));
  g_assert_nonnull (strstr (first, "\"dropped\":7"));
  ow_proxy_report_write (report);
  second = read_all (ends[0]);
  g_assert_nonnull (strstr (second, "\"port\":9,"));
  g_assert_null (strstr (second, "dropped"));
  ow_proxy_report_free (report);
  close (ends[0]);
  close (ends[1]);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/report/lines", test_lines);
  g_test_add_func ("/report/overflow", test_overflow);
  return g_test_run ();
}
