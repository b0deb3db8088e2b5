/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <string.h>

#include "wire/ow-host-list.h"

static OwHostList *
parse (const char *line)
{
  char error[OW_WIRE_ERROR_SIZE] = "";
  OwHostList *list = ow_host_list_parse (line, strlen (line), error);

  g_assert_true ((list == NULL) == (error[0] != '\0'));
  return list;
}

static void
test_allows (void)
{
  static const struct {
    const char *host;
    guint       port;
    gboolean    allowed;
    gboolean    private_too;
  } cases[] = {
    { "github.com", 443, TRUE, FALSE },
    { "GitHub.COM.", 443, TRUE, FALSE },
    { "github.com", 80, FALSE, FALSE },
    { "api.github.com", 443, FALSE, FALSE },
    { "xgithub.com", 443, FALSE, FALSE },
    { "github.com.evil.example", 443, FALSE, FALSE },
    { "s3.amazonaws.com", 443, TRUE, FALSE },
    { "a.b.c.amazonaws.com", 443, TRUE, FALSE },
    { "amazonaws.com", 443, FALSE, FALSE },
    { "evilamazonaws.com", 443, FALSE, FALSE },
    { "com", 443, FALSE, FALSE },
    { "git.corp.example", 443, TRUE, TRUE },
    { "203.0.113.9", 6443, TRUE, FALSE },
    { "10.0.0.9", 6443, TRUE, TRUE },
    { "10.0.0.9", 443, TRUE, FALSE },
    { "203.0.113.90", 6443, FALSE, FALSE },
    { "[2001:db8:0:0::5]", 6443, TRUE, FALSE },
    { "2001:db8::6", 6443, FALSE, FALSE },
    { "upper.example", 443, TRUE, FALSE },
  };
  OwHostList *list = parse ("{\"allow\":[{\"host\":\"github.com\",\"port\":443},"
                            "{\"host\":\"*.amazonaws.com\",\"port\":443},"
                            "{\"host\":\"git.corp.example\",\"port\":443,\"private\":true},"
                            "{\"host\":\"203.0.113.9\",\"port\":6443},"
                            "{\"host\":\"10.0.0.9\",\"port\":6443,\"private\":true},"
                            "{\"host\":\"10.0.0.9\",\"port\":443},"
                            "{\"host\":\"2001:db8::5\",\"port\":6443},"
                            "{\"host\":\"Upper.Example\",\"port\":443}],\"later\":1}");

  g_assert_nonnull (list);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      OwHostName host;
      bool private_too = true;

      g_assert_true (ow_host_name_parse (&host, cases[i].host, strlen (cases[i].host)));
      g_test_message ("%s:%u", cases[i].host, cases[i].port);
      g_assert_cmpint (ow_host_list_allows (list, &host, cases[i].port, &private_too), ==,
                       cases[i].allowed);
      g_assert_cmpint (private_too, ==, cases[i].private_too);
    }
  ow_host_list_free (list);
}

static void
test_refuses (void)
{
  static const char *const entries[] = {
    "{}", "{\"host\":\"a\"}", "{\"port\":1}", "{\"host\":1,\"port\":1}", "\"a:1\"", "null",
    "{\"host\":\"\",\"port\":1}", "{\"host\":\"*\",\"port\":1}", "{\"host\":\"*.\",\"port\":1}",
    "{\"host\":\"*.*.a\",\"port\":1}", "{\"host\":\"a.*\",\"port\":1}",
    "{\"host\":\"*a\",\"port\":1}", "{\"host\":\"*.1.2.3.4\",\"port\":1}",
    "{\"host\":\"*.10.1\",\"port\":1}", "{\"host\":\"127.1\",\"port\":1}",
    "{\"host\":\"a:1\",\"port\":1}", "{\"host\":\"a b\",\"port\":1}",
    "{\"host\":\"a\",\"port\":0}", "{\"host\":\"a\",\"port\":65536}",
    "{\"host\":\"a\",\"port\":-1}", "{\"host\":\"a\",\"port\":\"1\"}",
    "{\"host\":\"a\",\"port\":1.0}", "{\"host\":\"a\",\"port\":4294967297}",
    "{\"host\":\"a\",\"port\":1,\"private\":1}", "{\"host\":\"a\",\"port\":1,\"only\":\"GET\"}",
  };
  static const char *const lines[] = {
    "", "[]", "{}", "{\"allow\":{}}", "{\"allow\":null}", "ready",
    "{\"allow\":[],\"allow\":[{\"host\":\"a\",\"port\":1}]}",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      g_autofree char *line = g_strdup_printf ("{\"allow\":[{\"host\":\"good\",\"port\":1},%s]}",
                                               entries[i]);

      g_test_message ("%s", line);
      g_assert_null (parse (line));
    }
  for (gsize i = 0; i < G_N_ELEMENTS (lines); i++)
    g_assert_null (parse (lines[i]));
}

static void
test_empty (void)
{
  OwHostList *list = parse ("{\"allow\":[]}");
  OwHostName host;
  bool private_too;

  g_assert_nonnull (list);
  g_assert_true (ow_host_name_parse (&host, "a", 1));
  g_assert_false (ow_host_list_allows (list, &host, 443, &private_too));
  ow_host_list_free (list);
}

static void
test_too_many (void)
{
  g_autoptr (GString) line = g_string_new ("{\"allow\":[{\"host\":\"a\",\"port\":1}");
  g_autofree char *most = NULL;
  OwHostList *list;

  for (guint i = 1; i < OW_HOST_LIST_MAX; i++)
    g_string_append (line, ",{\"host\":\"a\",\"port\":1}");
  most = g_strdup_printf ("%s]}", line->str);
  list = parse (most);
  g_assert_nonnull (list);
  ow_host_list_free (list);
  g_string_append (line, ",{\"host\":\"a\",\"port\":1}]}");
  g_assert_null (parse (line->str));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/list/S14/allows", test_allows);
  g_test_add_func ("/list/S14/refuses", test_refuses);
  g_test_add_func ("/list/empty", test_empty);
  g_test_add_func ("/list/too-many", test_too_many);
  return g_test_run ();
}
