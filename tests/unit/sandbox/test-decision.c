/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>

#include "ow-decision-private.h"

#define LINE(host, port, more) \
        "{\"decision\":\"refuse\",\"host\":" host ",\"port\":" port \
        ",\"reason\":\"not_listed\"" more "}"

static const char * const good[] = {
  LINE ("\"example.com\"", "443", ""),
  LINE ("\"example.com\"", "443", ",\"address\":\"203.0.113.5\""),
  LINE ("\"\"", "0", ""),
  LINE ("\"example.com\"", "65535", ",\"dropped\":12"),
  "{\"reason\":\"listed\",\"port\":80,\"host\":\"a\",\"decision\":\"allow\"}",
};

static const char * const bad[] = {
  "", "{}", "[]", "null", "ready", "{", "\"refuse\"",
  LINE ("\"example.com\"", "-1", ""),
  LINE ("\"example.com\"", "65536", ""),
  LINE ("\"example.com\"", "\"443\"", ""),
  LINE ("\"example.com\"", "443.0", ""),
  LINE ("5", "443", ""),
  LINE ("null", "443", ""),
  LINE ("\"example.com\"", "443", ",\"address\":5"),
  LINE ("\"example.com\"", "443", ",\"address\":null"),
  LINE ("\"example.com\"", "443", ",\"dropped\":-1"),
  LINE ("\"example.com\"", "443", ",\"level\":\"direct\""),
  LINE ("\"example.com\"", "443", ",\"host\":\"again\""),
  LINE ("\"example.com\"", "443", "") LINE ("\"example.com\"", "443", ""),
  LINE ("\"exa\\u0000mple.com\"", "443", ""),
  "{\"decision\":\"maybe\",\"host\":\"a\",\"port\":1,\"reason\":\"listed\"}",
  "{\"decision\":\"allow\",\"host\":\"a\",\"port\":1,\"reason\":\"because\"}",
  "{\"decision\":\"allow\",\"host\":\"a\",\"port\":1}",
  "{\"host\":\"a\",\"port\":1,\"reason\":\"listed\",\"address\":\"b\"}",
};

static void
test_good (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    {
      json_t *decision = ow_decision_parse (good[i]);

      g_assert_nonnull (decision);
      json_decref (decision);
    }
}

static void
test_bad (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      json_t *decision = ow_decision_parse (bad[i]);

      if (decision != NULL)
        g_test_message ("taken: %s", bad[i]);
      g_assert_null (decision);
    }
}

static void
test_long (void)
{
  for (gsize length = 250; length < 260; length++)
    {
      g_autofree char *host = g_strnfill (length, 'a');
      g_autofree char *line = g_strdup_printf ("{\"decision\":\"allow\",\"host\":\"%s\","
                                               "\"port\":1,\"reason\":\"listed\"}", host);
      json_t *decision = ow_decision_parse (line);

      g_assert_true ((decision != NULL) == (length <= 255));
      json_decref (decision);
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/decision/good", test_good);
  g_test_add_func ("/decision/bad", test_bad);
  g_test_add_func ("/decision/long", test_long);
  return g_test_run ();
}
