/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <string.h>

#include "ow-words-private.h"

/* REQ-W05: each level has a word of its own, and what is not known never reads as a wall. */
static void
test_levels (void)
{
  static const char * const LEVELS[] = { "openshell", "bubblewrap", "direct", "connector" };
  static const char * const STRANGE[] = { NULL, "", "Bubblewrap", "bubblewrap ", "none" };

  g_assert_cmpstr (ow_words_level ("openshell"), ==, "OpenShell");
  g_assert_cmpstr (ow_words_level ("bubblewrap"), ==, "Built-in");
  g_assert_cmpstr (ow_words_level ("direct"), ==, "Not protected");
  g_assert_cmpstr (ow_words_level ("connector"), ==, "Connector");
  for (guint i = 0; i < G_N_ELEMENTS (LEVELS); i++)
    for (guint j = 0; j < i; j++)
      g_assert_cmpstr (ow_words_level (LEVELS[i]), !=, ow_words_level (LEVELS[j]));
  for (guint i = 0; i < G_N_ELEMENTS (STRANGE); i++)
    {
      g_assert_cmpstr (ow_words_level (STRANGE[i]), ==, "Not known");
      g_assert_cmpstr (ow_words_level_class (STRANGE[i]), ==, "level-open");
      g_assert_cmpstr (ow_words_level_icon (STRANGE[i]), ==, "ow-shield-off-symbolic");
    }
  g_assert_cmpstr (ow_words_level_class ("direct"), ==, "level-open");
  g_assert_nonnull (strstr (ow_words_level_means ("direct"),
                            "with the same access as your user account"));
}

static void
test_durations (void)
{
  static const struct { gint64 ms; const char *words; } CASES[] = {
    { -5, "0 ms" }, { 0, "0 ms" }, { 4, "4 ms" }, { 99, "99 ms" }, { 100, "0.1 s" },
    { 949, "0.9 s" }, { 9949, "9.9 s" }, { 9950, "10 s" }, { 59499, "59 s" },
    { 59500, "1 min 0 s" }, { 125000, "2 min 5 s" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (CASES); i++)
    {
      g_autofree char *words = ow_words_duration (CASES[i].ms);

      g_assert_cmpstr (words, ==, CASES[i].words);
    }
}

static void
test_days (void)
{
  g_autoptr (GTimeZone) utc = g_time_zone_new_utc ();
  g_autoptr (GDateTime) now = g_date_time_new (utc, 2026, 3, 1, 0, 30, 0);
  static const struct { const char *time; const char *words; } CASES[] = {
    { "2026-03-01T00:00:00.000Z", "Today" },
    { "2026-02-28T23:59:59.999Z", "Yesterday" },
    { "2026-02-28T00:00:00Z", "Yesterday" },
    { "2026-02-27T12:00:00Z", "Friday" },
    { "2026-02-23T12:00:00Z", "Monday" },
    { "2026-02-22T12:00:00Z", "02/22/26" },
    /* A clock that was wrong. */
    { "2027-02-22T12:00:00Z", "02/22/27" },
    { "yesterday", "" }, { "", "" }, { NULL, "" }, { "2026-13-41T00:00:00Z", "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (CASES); i++)
    {
      g_autofree char *words = ow_words_day (CASES[i].time, now);

      g_assert_cmpstr (words, ==, CASES[i].words);
    }
}

static void
test_states (void)
{
  g_autoptr (GTimeZone) utc = g_time_zone_new_utc ();
  g_autoptr (GDateTime) now = g_date_time_new (utc, 2026, 3, 1, 12, 0, 0);
  static const char time[] = "2026-03-01T09:00:00Z";
  static const struct
  {
    const char *state;
    gboolean    working;
    gboolean    waiting;
    const char *words;
  } CASES[] = {
    { "running", TRUE, FALSE, "Running · Built-in" },
    { "running", TRUE, TRUE, "Needs your approval" },
    { "running", FALSE, TRUE, "Needs your approval" },
    { "done", FALSE, FALSE, "Today" },
    { "stopped", FALSE, FALSE, "Today" },
    { "failed", FALSE, FALSE, "Today · failed" },
    { "refused", FALSE, FALSE, "Today · failed" },
    { "interrupted", FALSE, FALSE, "Today · interrupted" },
    { "parked", FALSE, FALSE, "Today · waits" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (CASES); i++)
    {
      g_autofree char *words = ow_words_state (CASES[i].state, "bubblewrap", CASES[i].working,
                                               CASES[i].waiting, time, now);

      g_assert_cmpstr (words, ==, CASES[i].words);
    }
}

/* Without a day, as that of a row that has none, the state says it alone. */
static void
test_states_without_a_day (void)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  static const struct { const char *state; const char *words; } CASES[] = {
    { "failed", "Failed" }, { "refused", "Failed" }, { "interrupted", "Interrupted" },
    { "parked", "Waits" }, { "done", "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (CASES); i++)
    {
      g_autofree char *words = ow_words_state (CASES[i].state, NULL, FALSE, FALSE, NULL, now);

      g_assert_cmpstr (words, ==, CASES[i].words);
    }
}

/* Only where a key is needed and cannot be read. */
static void
test_keys (void)
{
  static const char * const HERE[] = {
    "http://127.0.0.1:11434/v1", "http://localhost:8080/v1", "http://[::1]:8080/v1",
    "https://127.0.0.1/v1",
  };
  static const char * const ELSEWHERE[] = {
    "https://models.invalid/v1", "http://127.0.0.1.models.invalid/v1",
    "https://models.invalid/127.0.0.1", "http://localhost.models.invalid/v1", "",
  };
  static const struct { const char *key; const char *words; } BAD[] = {
    { "locked", "The key of the model “work” cannot be read: the keyring is locked. Unlock it, "
      "then try again." },
    { "silent", "The key of the model “work” cannot be read: the keyring does not answer." },
    { "absent", "The key of the model “work” cannot be read: this session has no keyring." },
    { "keyring", NULL }, { "environment", NULL }, { "none", NULL }, { "", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (BAD); i++)
    {
      for (guint at = 0; at < G_N_ELEMENTS (HERE); at++)
        g_assert_null (ow_words_key ("work", HERE[at], BAD[i].key));
      for (guint at = 0; at < G_N_ELEMENTS (ELSEWHERE); at++)
        {
          g_autofree char *words = ow_words_key ("work", ELSEWHERE[at], BAD[i].key);

          g_assert_cmpstr (words, ==, BAD[i].words);
        }
    }
}

/* A title is a line of visible text, whatever is in it, and markup stays what it is. */
static void
test_lines (void)
{
  static const struct { const char *text; const char *line; } CASES[] = {
    { "R&D <b>plan</b>", "R&D <b>plan</b>" },
    { "a\nb\r\nc\td", "a b  c d" },
    { "<a href=\"x\">y</a>&#1;", "<a href=\"x\">y</a>&#1;" },
    { "evil\xe2\x80\xaegpj.exe", "evil\\u{202E}gpj.exe" },
    { "\033]0;title\007", "^[]0;title^G" },
    { "", "" }, { NULL, "" },
  };
  g_autofree char *endless = g_strnfill (5 * 1024 * 1024, 'z');
  g_autofree char *cut = ow_words_line (endless, 40);

  for (guint i = 0; i < G_N_ELEMENTS (CASES); i++)
    {
      g_autofree char *line = ow_words_line (CASES[i].text, 80);

      g_assert_cmpstr (line, ==, CASES[i].line);
    }
  g_assert_cmpint (g_utf8_strlen (cut, -1), ==, 40);
  g_assert_true (g_str_has_suffix (cut, "…"));
}

static void
test_folders (void)
{
  g_autofree char *inside = g_build_filename (g_get_home_dir (), "src", NULL);
  g_autofree char *beside = g_strconcat (g_get_home_dir (), "x/src", NULL);
  g_autofree char *a = ow_words_folder (inside, FALSE);
  g_autofree char *b = ow_words_folder (beside, TRUE);
  g_autofree char *c = ow_words_folder ("/srv/a\nb", TRUE);

  g_assert_cmpstr (a, ==, "~/src (read-write)");
  g_assert_true (g_str_has_prefix (b, beside));
  g_assert_true (g_str_has_suffix (b, " (read-only)"));
  g_assert_cmpstr (c, ==, "/srv/a b (read-only)");
}

static void
test_outcomes (void)
{
  g_autofree char *ok = ow_words_outcome ("ok", 0, 0);
  g_autofree char *status = ow_words_outcome ("ok", 2, 0);
  g_autofree char *killed = ow_words_outcome ("ok", 0, 9);
  g_autofree char *denied = ow_words_outcome ("denied", 0, 0);
  g_autofree char *stopped = ow_words_outcome ("cancelled", 0, 0);

  g_assert_null (ok);
  g_assert_cmpstr (status, ==, "exit 2");
  g_assert_cmpstr (killed, ==, "signal 9");
  g_assert_cmpstr (denied, ==, "denied");
  g_assert_cmpstr (stopped, ==, "stopped");
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/words/levels", test_levels);
  g_test_add_func ("/words/durations", test_durations);
  g_test_add_func ("/words/days", test_days);
  g_test_add_func ("/words/states", test_states);
  g_test_add_func ("/words/states-without-a-day", test_states_without_a_day);
  g_test_add_func ("/words/U09/keys", test_keys);
  g_test_add_func ("/words/U08/lines", test_lines);
  g_test_add_func ("/words/folders", test_folders);
  g_test_add_func ("/words/outcomes", test_outcomes);
  return g_test_run ();
}
