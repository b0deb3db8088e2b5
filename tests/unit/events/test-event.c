/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "events/ow-event.h"

#include <string.h>

#include "base/ow-error.h"

#define HEAD "{\"seq\":7,\"time\":\"2026-01-31T09:00:00.123Z\",\"session\":\"s1\",\"type\":"

/* One event of every type as a file may hold it; each must come back byte for byte. */
static const char * const good[] = {
  HEAD "\"session-started\",\"folders\":[{\"path\":\"/w\",\"read_only\":false}],"
  "\"provider\":\"bubblewrap\",\"level\":\"bubblewrap\",\"model\":\"replay:x\","
  "\"profile\":\"standard\",\"hosts\":[\"github.com:443\"],\"approve\":\"ask\","
  "\"version\":\"0.1.0\",\"pid\":5,\"pid_start\":123,\"boot_id\":\"b\"}",
  HEAD "\"user-message\",\"text\":\"do it\"}",
  HEAD "\"model-message\",\"text\":\"\",\"tool_calls\":[{\"id\":\"a\",\"name\":\"shell\","
  "\"arguments\":{\"command\":\"ls\"}}],\"finish\":\"tool_calls\"}",
  HEAD "\"tool-asked\",\"call\":\"c\",\"tool\":\"shell\",\"arguments\":{\"command\":\"ls\"},"
  "\"level\":\"direct\",\"model_call\":\"m\"}",
  HEAD "\"consent-asked\",\"request\":\"r\",\"kind\":\"tool\",\"call\":\"c\",\"title\":\"shell\","
  "\"subject\":\"{}\",\"level\":\"direct\",\"timeout_s\":600}",
  HEAD "\"consent-answered\",\"request\":\"r\",\"decision\":\"once\","
  "\"approval\":\"person:once\"}",
  HEAD "\"tool-started\",\"call\":\"c\",\"tool\":\"shell\",\"arguments\":{},\"level\":\"direct\","
  "\"approval\":\"person:once\"}",
  HEAD "\"tool-output\",\"call\":\"c\",\"level\":\"direct\",\"stream\":\"stdout\",\"text\":\"x\"}",
  HEAD "\"tool-ended\",\"call\":\"c\",\"tool\":\"shell\",\"level\":\"direct\",\"outcome\":\"ok\","
  "\"result\":\"x\",\"duration_ms\":1,\"bytes\":1,\"exit_status\":0}",
  HEAD "\"tool-ended\",\"call\":\"c\",\"tool\":\"shell\",\"level\":\"direct\",\"outcome\":\"ok\","
  "\"result_sha256\":\"00\",\"result_head\":\"x\",\"duration_ms\":1,\"bytes\":1}",
  HEAD "\"host-decision\",\"host\":\"h\",\"port\":443,\"decision\":\"allow\",\"reason\":\"listed\","
  "\"level\":\"bubblewrap\",\"address\":\"203.0.113.5\"}",
  HEAD "\"wall\",\"state\":\"up\",\"level\":\"bubblewrap\"}",
  HEAD "\"folders-changed\",\"folders\":[{\"path\":\"/a\",\"read_only\":true}],"
  "\"level\":\"direct\"}",
  HEAD "\"traffic\",\"traffic\":[{\"host\":\"h\",\"port\":443,\"connections\":2,\"refused\":0,"
  "\"up\":null,\"down\":7,\"program\":\"/bin/x\"}],\"level\":\"bubblewrap\"}",
  HEAD "\"executable-settings\",\"settings\":[{\"path\":\"/a/.envrc\",\"kind\":\"environment\","
  "\"what\":\"created\",\"why\":\"x\"}],\"total\":1,\"level\":\"direct\",\"late\":true}",
  HEAD "\"notice\",\"text\":\"x\"}",
  HEAD "\"turn-ended\",\"reason\":\"done\"}",
  HEAD "\"session-ended\",\"outcome\":\"done\",\"exit\":0,\"x-later\":[1]}",
};

static void
test_round_trip (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwEvent) event = ow_event_from_line (good[i], -1, &error);
      g_autofree char *line = NULL;

      g_assert_no_error (error);
      line = ow_event_to_line (event);
      g_assert_cmpstr (line, ==, good[i]);
      g_assert_cmpuint (ow_event_get_seq (event), ==, 7);
      g_assert_cmpint (ow_event_get_time (event), ==, G_GINT64_CONSTANT (1769850000123000));
    }
}

/* Each required member taken away, given another type, and joined by an unknown one. */
static void
test_every_member (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    {
      char why[OW_WIRE_ERROR_SIZE];
      json_t *json = ow_json_parse (good[i], strlen (good[i]), why);
      json_t *copy = json_deep_copy (json);
      const char *name;
      json_t *value;

      json_object_foreach (json, name, value)
        {
          g_autoptr (OwEvent) wrong = NULL;
          g_autoptr (GError) error = NULL;

          if (g_str_has_prefix (name, "x-"))
            continue;
          if (strcmp (name, "arguments") != 0)
            {
              json_object_set_new (copy, name, json_null ());
              wrong = ow_event_from_json (copy, &error);
              g_assert_null (wrong);
              g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
            }
          json_object_set (copy, name, value);
        }

      json_object_set_new (copy, "surprise", json_true ());
      g_assert_null (ow_event_from_json (copy, NULL));
      json_decref (copy);
      json_decref (json);
    }
}

static void
test_refused (void)
{
  static const char * const bad[] = {
    "",
    "[]",
    "null",
    "{}",
    HEAD "\"no-such-type\"}",
    HEAD "\"notice\"}",
    HEAD "\"notice\",\"text\":\"x\"} x",
    HEAD "\"notice\",\"text\":\"a\",\"text\":\"b\"}",
    HEAD "\"wall\",\"state\":\"sideways\",\"level\":\"bubblewrap\"}",
    HEAD "\"wall\",\"state\":\"up\",\"level\":\"none\"}",
    HEAD "\"tool-output\",\"call\":\"c\",\"level\":\"direct\",\"stream\":\"stdout\"}",
    HEAD "\"tool-output\",\"call\":\"c\",\"level\":\"direct\",\"stream\":\"stdout\",\"text\":\"x\","
    "\"data\":\"eA==\"}",
    HEAD "\"traffic\",\"traffic\":[{\"host\":\"h\",\"port\":443,\"connections\":2,\"refused\":0,"
    "\"up\":1}],\"level\":\"bubblewrap\"}",
    HEAD "\"traffic\",\"traffic\":[{\"host\":\"h\",\"port\":443,\"connections\":null,\"refused\":0,"
    "\"up\":1,\"down\":-1}],\"level\":\"bubblewrap\"}",
    HEAD "\"host-decision\",\"host\":\"h\",\"port\":65536,\"decision\":\"allow\","
    "\"reason\":\"listed\",\"level\":\"bubblewrap\"}",
    HEAD "\"host-decision\",\"host\":\"h\",\"port\":-1,\"decision\":\"allow\","
    "\"reason\":\"listed\",\"level\":\"bubblewrap\"}",
    "{\"seq\":-1,\"time\":\"2026-01-31T09:00:00.123Z\",\"session\":\"s\",\"type\":\"notice\","
    "\"text\":\"x\"}",
    "{\"seq\":1,\"time\":\"2026-02-31T09:00:00.123Z\",\"session\":\"s\",\"type\":\"notice\","
    "\"text\":\"x\"}",
    "{\"seq\":1,\"time\":\"2026-01-31T09:00:00Z\",\"session\":\"s\",\"type\":\"notice\","
    "\"text\":\"x\"}",
    "{\"seq\":1,\"time\":\"2026-01-31T09:00:00.123+\",\"session\":\"s\",\"type\":\"notice\","
    "\"text\":\"x\"}",
    "{\"seq\":1,\"time\":\"2026-01-31T09:00:00.123Z\",\"session\":\"a b\",\"type\":\"notice\","
    "\"text\":\"x\"}",
    "{\"seq\":1,\"time\":\"2026-01-31T09:00:00.123Z\",\"session\":\"\",\"type\":\"notice\","
    "\"text\":\"x\"}",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (ow_event_from_line (bad[i], -1, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
    }
}

/* A line cut at any byte is never an event. */
static void
test_every_cut (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    for (gsize n = 0; n < strlen (good[i]); n++)
      g_assert_null (ow_event_from_line (good[i], (gssize) n, NULL));
}

static void
test_new (void)
{
  json_t *members = json_pack ("{s:s, s:n}", "reason", "done", "message");
  g_autoptr (OwEvent) event = ow_event_new (OW_EVENT_TURN_ENDED, "s", members);

  g_assert_nonnull (event);
  g_assert_cmpuint (ow_event_get_seq (event), ==, 0);
  g_assert_cmpint (ow_event_get_time (event) % 1000, ==, 0);
  g_assert_cmpstr (ow_event_get_string (event, "reason"), ==, "done");
  g_assert_null (ow_event_get_string (event, "message"));
  g_assert_null (json_object_get (ow_event_get_members (event), "message"));
}

static void
test_new_wrong (void)
{
  if (g_test_subprocess ())
    {
      ow_event_new (OW_EVENT_NOTICE, "s", json_object ());
      return;
    }

  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr ("*\"text\" is missing*");
}

static void
test_levels (void)
{
  static const struct {
    const char *name;
    OwLevel     level;
    gboolean    walled;
  } rows[] = {
    { "openshell", OW_LEVEL_OPENSHELL, TRUE },
    { "bubblewrap", OW_LEVEL_BUBBLEWRAP, TRUE },
    { "direct", OW_LEVEL_DIRECT, FALSE },
    { "connector", OW_LEVEL_CONNECTOR, FALSE },
  };
  OwLevel level = OW_LEVEL_DIRECT;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_assert_true (ow_level_from_string (rows[i].name, &level));
      g_assert_cmpint (level, ==, rows[i].level);
      g_assert_cmpstr (ow_level_to_string (level), ==, rows[i].name);
      g_assert_cmpint (ow_level_is_walled (level), ==, rows[i].walled);
    }
  g_assert_false (ow_level_from_string ("Direct", &level));
  g_assert_false (ow_level_from_string ("", &level));
  g_assert_false (ow_level_from_string (NULL, &level));
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/event/round-trip", test_round_trip);
  g_test_add_func ("/event/every-member", test_every_member);
  g_test_add_func ("/event/refused", test_refused);
  g_test_add_func ("/event/every-cut", test_every_cut);
  g_test_add_func ("/event/new", test_new);
  g_test_add_func ("/event/new-wrong", test_new_wrong);
  g_test_add_func ("/event/levels", test_levels);

  return g_test_run ();
}
