/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <string.h>

#include "ow-runner-proxy-private.h"
#include "ow-runner-report-private.h"

static const struct {
  const char    *output;
  OwRunnerReport report;
  const char    *text;
} cases[] = {
  { "", { .exit_status = 0, .duration_ms = 124, .cwd = "/a" }, "[exit 0, 0.12 s, /a]" },
  { "x", { .exit_status = 3, .cwd = "/a" }, "x\n[exit 3, 0.00 s, /a]" },
  { "x\n", { .exit_status = 3 }, "x\n[exit 3, 0.00 s]" },
  { "", { .exit_status = -1, .signal = 9, .cwd = "/" }, "[signal 9 KILL, 0.00 s, /]" },
  { "", { .exit_status = -1, .signal = 64 }, "[signal 64, 0.00 s]" },
  { "", { .exit_status = 130, .timed_out = true, .timeout_s = 7, .duration_ms = 7004 },
    "[exit 130, 7.00 s, timed out after 7 s and was stopped]" },
  { "", { .exit_status = -1, .cancelled = true }, "[did not run, 0.00 s, cancelled]" },
  { "", { .exit_status = 1, .is_shell = true, .shell_restarted = true },
    "[exit 1, 0.00 s, the shell ended: a new one starts without its variables and functions]" },
  { "", { .exit_status = 1, .is_shell = true, .shell_restarted = true, .state_kept = true },
    "[exit 1, 0.00 s, the shell was started again with its variables and functions]" },
  { "", { .exit_status = 0, .cwd = "/a]\n[exit 0, 0.00 s, /\x1b[2J\xff" },
    "[exit 0, 0.00 s, /a]?[exit 0, 0.00 s, /?[2J\xef\xbf\xbd]" },
};

static void
test_text (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      OwRunnerOutput *output = ow_runner_output_new (false, 4096, 0);
      OwRunnerReport report = cases[i].report;
      json_t *result;
      json_t *structured;

      ow_runner_output_add (output, OW_RUNNER_STDOUT, cases[i].output, strlen (cases[i].output));
      result = ow_runner_report_result (&report, output);
      g_assert_cmpstr (ow_json_get_string (json_array_get (json_object_get (result, "content"), 0),
                                           "text", NULL), ==, cases[i].text);
      structured = json_object_get (result, "structuredContent");
      g_assert_cmpint (ow_json_get_int (structured, "exit_status", -1), ==,
                       cases[i].report.exit_status);
      g_assert_cmpint (ow_json_get_int (structured, "signal", 0), ==, cases[i].report.signal);
      g_assert_cmpint (ow_json_get_int (structured, "bytes", -1), ==,
                       (json_int_t) strlen (cases[i].output));
      g_assert_cmpint (ow_json_get_bool (structured, "timed_out", -1), ==,
                       cases[i].report.timed_out);
      g_assert_cmpint (ow_json_get_bool (structured, "cancelled", -1), ==,
                       cases[i].report.cancelled);
      g_assert_cmpint (json_object_get (structured, "shell_restarted") != NULL, ==,
                       cases[i].report.is_shell);
      /* Where the shell is the one that it was nothing is lost either. */
      g_assert_cmpint (ow_json_get_bool (structured, "state_kept", -1), ==,
                       !cases[i].report.is_shell ? -1 : cases[i].report.state_kept
                       || !cases[i].report.shell_restarted);
      g_assert_true (json_is_array (json_object_get (structured, "leftovers")));
      json_decref (result);
      ow_runner_output_free (output);
    }
}

static void
test_leftovers (void)
{
  OwRunnerOutput *output = ow_runner_output_new (false, 4096, 0);
  OwRunnerReport report = { .leftovers = json_array () };
  json_t *result;
  const char *text;

  for (int i = 1; i <= 11; i++)
    {
      json_t *entry = json_object ();

      json_object_set_new (entry, "pid", json_integer (i));
      json_object_set_new (entry, "name", json_string (i == 1 ? "a]\nb" : "sleep"));
      json_array_append_new (report.leftovers, entry);
    }
  result = ow_runner_report_result (&report, output);
  text = ow_json_get_string (json_array_get (json_object_get (result, "content"), 0), "text", NULL);
  g_assert_null (strchr (text, '\n'));
  g_assert_true (g_str_has_prefix (text, "[exit 0, 0.00 s, still running: 1 a]?b, 2 sleep, "));
  g_assert_true (g_str_has_suffix (text, ", 8 sleep and 3 more]"));
  g_assert_cmpuint (json_array_size (json_object_get (json_object_get (result,
                                                                       "structuredContent"),
                                                      "leftovers")), ==, 11);
  json_decref (result);
  ow_runner_output_free (output);
}

static void
test_proxy_url (void)
{
  static const struct {
    const char *url;
    const char *host;
    guint16     port;
  } urls[] = {
    { "http://127.0.0.1:3128", "127.0.0.1", 3128 },
    { "http://127.0.0.1:3128/", "127.0.0.1", 3128 },
    { "http://[::1]:80", "::1", 80 },
    { "https://127.0.0.1:3128", NULL, 0 },
    { "127.0.0.1:3128", NULL, 0 },
    { "http://127.0.0.1", NULL, 0 },
    { "http://127.0.0.1:", NULL, 0 },
    { "http://127.0.0.1:0", NULL, 0 },
    { "http://127.0.0.1:65536", NULL, 0 },
    { "http://127.0.0.1:00000000000000080", NULL, 0 },
    { "http://127.0.0.1:80/x", NULL, 0 },
    { "http://127.0.0.1:80x", NULL, 0 },
    { "http://:80", NULL, 0 },
    { "http://[::1:80", NULL, 0 },
    { "http://[::1]80", NULL, 0 },
    { "http://xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx:80", NULL, 0 },
    { "", NULL, 0 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (urls); i++)
    {
      char host[64] = "";
      guint16 port = 0;

      g_assert_cmpint (ow_runner_proxy_parse (urls[i].url, host, &port), ==, urls[i].host != NULL);
      if (urls[i].host != NULL)
        {
          g_assert_cmpstr (host, ==, urls[i].host);
          g_assert_cmpuint (port, ==, urls[i].port);
        }
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/report/text", test_text);
  g_test_add_func ("/report/leftovers", test_leftovers);
  g_test_add_func ("/proxy/url", test_proxy_url);
  return g_test_run ();
}
