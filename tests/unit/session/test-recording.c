/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ow-agent.h"
#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "fake-host.h"
#include "script-model.h"
#include "session/ow-session.h"

#define ONE \
  "[{\"id\":\"c1\",\"name\":\"shell\",\"arguments\":{\"command\":\"x\"}}]"
#define TWO \
  "[{\"id\":\"c2\",\"name\":\"list\",\"arguments\":{\"path\":\".\"}}," \
  "{\"id\":\"c3\",\"name\":\"nonsense\",\"arguments\":{}}]"

typedef struct {
  gboolean  done;
  gboolean  result;
  GError   *error;
} Run;

static void
on_done (GObject      *source,
         GAsyncResult *result,
         gpointer      user_data)
{
  Run *run = user_data;

  run->result = ow_agent_run_turn_finish (OW_AGENT (source), result, &run->error);
  run->done = TRUE;
}

/* One session over a host that answers each call with @text: its list (transfer full). */
static OwEventList *
run_session (const char  *directory,
             const char  *folder,
             const char  *text,
             OwModel     *model,
             GError     **error)
{
  g_autofree char *record = g_build_filename (directory, "audit.jsonl", NULL);
  g_autoptr (OwEventList) events = ow_event_list_new ("s1");
  g_autoptr (OwConsent) consent = ow_consent_new (events, OW_APPROVE_SANDBOXED);
  g_autoptr (OwAudit) audit = ow_audit_open (record, NULL);
  g_autoptr (FakeHost) host = fake_host_new (FAKE_ANSWER, text);
  g_autoptr (OwAgent) agent = NULL;
  g_autoptr (OwEvent) event = NULL;
  Run run = { 0 };

  event = ow_event_list_append (events, OW_EVENT_SESSION_STARTED,
                                json_pack ("{s:[{s:s,s:b}],s:s,s:s,s:s,s:[],s:s,s:s,s:i,s:i,s:s}",
                                           "folders", "path", folder, "read_only", 0, "provider",
                                           "bubblewrap", "level", "bubblewrap", "profile",
                                           "strict", "hosts", "approve", "sandboxed", "version",
                                           "0", "pid", 1, "pid_start", 1, "boot_id", "b"), NULL);
  g_assert_nonnull (event);
  agent = ow_agent_new (events, consent, audit, OW_TOOL_HOST (host), model, "prompt", NULL);
  ow_agent_run_turn_async (agent, "do it", NULL, on_done, &run);
  fake_wait (&run.done);
  if (run.result)
    run.result = ow_model_check_done (model, &run.error);
  g_assert_cmpint (run.result, ==, run.error == NULL);
  if (run.error != NULL)
    g_propagate_error (error, run.error);
  return g_steal_pointer (&events);
}

typedef struct {
  const char *recorded;
  const char *replayed;
  gboolean    fits;
} Case;

static const Case cases[] = {
  { "plain", "plain", TRUE },
  { "plain", "plain and more", FALSE },
  { "ok", "not ok", FALSE },
  { "", "", TRUE },
  { "", "x", FALSE },
  { "a.b*c(d)[e]{f}\\^$|?+ # x\n", "a.b*c(d)[e]{f}\\^$|?+ # x\n", TRUE },
  { "a.b", "aXb", FALSE },
  { "\\d+", "7", FALSE },
  { "é你😀", "é你😀", TRUE },
  { "3 passed\n[exit 0, 0.12 s, /proj/a]", "3 passed\n[exit 0, 17.5 s, /else/b c]", TRUE },
  { "3 passed\n[exit 0, 0.12 s, /proj/a]", "2 passed\n[exit 0, 0.12 s, /proj/a]", FALSE },
  { "3 passed\n[exit 0, 0.12 s, /proj/a]", "3 passed\n[exit 1, 0.12 s, /proj/a]", FALSE },
  { "/proj/a/src/x.c:3: bad", "/else/b c/src/x.c:3: bad", TRUE },
  { "/proj/a/src/x.c:3: bad", "/else/b c/src/y.c:3: bad", FALSE },
  { "/proj/abc", "/proj/abd", FALSE },
  { "at /tmp/tmp.AbC123/log", "at /tmp/tmp.zzz9/log", TRUE },
  { "/home/u/.config/coworker/sandbox-runtime/12ab/.x", "/root/h/sandbox-runtime/77/.x", TRUE },
  { "2026-01-31T09:00:00.123Z done", "2027-12-01T19:20:00.9Z done", TRUE },
  { "started 09:15:01", "started 19:25:59", TRUE },
  { "real 12ms", "real 7ms", TRUE },
  { "[1] 4242", "[1] 17", TRUE },
  { "running: sleep (pid 4242)", "running: sleep (pid 9)", TRUE },
};

static gboolean
write_to (OwEventList *list,
          const char  *path,
          GError     **error)
{
  g_autoptr (OwRecordingPlace) place = ow_recording_place_open (path, NULL, error);

  return place != NULL && ow_recording_write (list, place, error);
}

static void
test_round_trip (void)
{
  g_autofree char *directory = g_dir_make_tmp ("ow-recording-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "r.jsonl", NULL);
  g_autofree char *name = g_strconcat ("replay:", path, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (ScriptModel) model = script_model_new (ONE, TWO, "Done.", NULL);
      g_autoptr (OwEventList) first = NULL;
      g_autoptr (OwEventList) second = NULL;
      g_autoptr (OwModel) replay = NULL;
      g_autoptr (GError) error = NULL;

      g_test_message ("\"%s\" and \"%s\"", cases[i].recorded, cases[i].replayed);
      first = run_session (directory, "/proj/a", cases[i].recorded, OW_MODEL (model), &error);
      g_assert_no_error (error);
      g_assert_true (write_to (first, path, &error));
      replay = ow_model_new (&(OwModelOptions) { .name = name }, &error);
      g_assert_no_error (error);
      second = run_session (directory, "/else/b c", cases[i].replayed, replay, &error);
      if (cases[i].fits)
        g_assert_no_error (error);
      else
        g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
    }
  g_assert_true (ow_file_remove_tree (directory, NULL));
}

/* Long results, at the edges of what is kept and with characters across them. */
static void
test_long (void)
{
  static const gsize sizes[] = { 8190, 8191, 8192, 8193, 8194, 65536, 65537, 1024 * 1024 };
  static const char * const fills[] = { "x", "\\", "(", "é", "😀", "\n" };
  g_autofree char *directory = g_dir_make_tmp ("ow-recording-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "r.jsonl", NULL);
  g_autofree char *name = g_strconcat ("replay:", path, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (gsize j = 0; j < G_N_ELEMENTS (fills); j++)
      {
        g_autoptr (ScriptModel) model = script_model_new (ONE, "Done.", NULL);
        g_autoptr (GString) text = g_string_new (NULL);
        g_autoptr (OwEventList) first = NULL;
        g_autoptr (OwEventList) second = NULL;
        g_autoptr (OwEventList) third = NULL;
        g_autoptr (OwModel) replay = NULL;
        g_autoptr (OwModel) again = NULL;
        g_autoptr (GError) error = NULL;

        while (text->len < sizes[i])
          g_string_append (text, fills[j]);
        first = run_session (directory, "/proj/a", text->str, OW_MODEL (model), &error);
        g_assert_no_error (error);
        g_assert_true (write_to (first, path, &error));
        replay = ow_model_new (&(OwModelOptions) { .name = name }, &error);
        g_assert_no_error (error);
        second = run_session (directory, "/proj/a", text->str, replay, &error);
        g_assert_no_error (error);
        again = ow_model_new (&(OwModelOptions) { .name = name }, &error);
        g_string_append_c (text, '!');
        third = run_session (directory, "/proj/a", text->str, again, &error);
        g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      }
  g_assert_true (ow_file_remove_tree (directory, NULL));
}

/* An answer that was cut is none of the turns that are spoken again, nor is one that is empty. */
static void
test_cut (void)
{
  static const char * const broken[][2] = { { "Half", "It ended." }, { "", "It ended." },
                                            { "", NULL } };
  g_autofree char *directory = g_dir_make_tmp ("ow-recording-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "r.jsonl", NULL);
  g_autofree char *name = g_strconcat ("replay:", path, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (broken); i++)
    {
      g_autoptr (ScriptModel) model = script_model_new (ONE, "Done.", NULL);
      g_autoptr (OwEventList) first = NULL;
      g_autoptr (OwEventList) second = NULL;
      g_autoptr (OwEvent) event = NULL;
      g_autoptr (OwModel) replay = NULL;
      g_autoptr (GError) error = NULL;

      first = run_session (directory, "/proj/a", "seen", OW_MODEL (model), &error);
      event = ow_event_list_append (first, OW_EVENT_MODEL_MESSAGE,
                                    json_pack ("{s:s,s:[],s:s,s:s?}", "text", broken[i][0],
                                               "tool_calls", "finish", "stop", "cut",
                                               broken[i][1]), &error);
      g_assert_no_error (error);
      g_assert_true (write_to (first, path, &error));
      replay = ow_model_new (&(OwModelOptions) { .name = name }, &error);
      g_assert_no_error (error);
      second = run_session (directory, "/proj/a", "seen", replay, &error);
      g_assert_no_error (error);
    }
  g_assert_true (ow_file_remove_tree (directory, NULL));
}

/* Said before the session, as wrong usage. */
static void
assert_no_place (const char   *path,
                 const json_t *folders)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (ow_recording_place_open (path, folders, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
  g_test_message ("%s", error->message);
}

static void
test_cannot_write (void)
{
  g_autofree char *directory = g_dir_make_tmp ("ow-recording-XXXXXX", NULL);
  g_autofree char *fifo = g_build_filename (directory, "fifo", NULL);
  g_autofree char *below = g_build_filename (directory, "fifo", "r.jsonl", NULL);
  g_autofree char *state = ow_paths_get_state_dir ();
  g_autofree char *audit = ow_paths_get_audit_file ();

  assert_no_place ("/proc/no/such/place", NULL);
  assert_no_place ("/dev/full", NULL);
  assert_no_place ("", NULL);
  assert_no_place (directory, NULL);
  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  assert_no_place (fifo, NULL);
  assert_no_place (below, NULL);
  g_assert_true (ow_paths_ensure (state, NULL));
  assert_no_place (audit, NULL);
  g_assert_true (ow_file_remove_tree (directory, NULL));
}

static void
assert_target (const char *path)
{
  g_autofree char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "mine");
}

/* What runs inside can make links of all names in a folder that it may write: nothing is
 * written there, nor through a link that comes while the session runs. */
static void
test_links (void)
{
  g_autofree char *directory = g_dir_make_tmp ("ow-recording-XXXXXX", NULL);
  g_autofree char *target = g_build_filename (directory, "target", NULL);
  g_autofree char *inner = g_build_filename (directory, "work", NULL);
  g_autofree char *way = g_build_filename (directory, "way", NULL);
  g_autofree char *inside = g_build_filename (inner, "r.jsonl", NULL);
  g_autofree char *around = g_build_filename (inner, "..", "work", "r.jsonl", NULL);
  g_autofree char *through = g_build_filename (way, "r.jsonl", NULL);
  g_autofree char *beside = g_strconcat (inner, "2.jsonl", NULL);
  json_t *folders = json_pack ("[{s:s, s:b}]", "path", inner, "read_only", 0);
  g_autoptr (OwEventList) list = ow_event_list_new ("s1");
  g_autoptr (OwRecordingPlace) place = NULL;

  g_assert_true (g_file_set_contents (target, "mine", -1, NULL));
  g_assert_cmpint (g_mkdir (inner, 0700), ==, 0);
  g_assert_cmpint (symlink ("work", way), ==, 0);
  assert_no_place (inside, folders);
  assert_no_place (around, folders);
  assert_no_place (through, folders);
  g_assert_cmpint (symlink (target, beside), ==, 0);
  assert_no_place (beside, folders);
  g_assert_cmpint (g_unlink (beside), ==, 0);

  place = ow_recording_place_open (beside, folders, NULL);
  g_assert_nonnull (place);
  g_assert_cmpint (symlink (target, beside), ==, 0);
  g_assert_true (ow_recording_write (list, place, NULL));
  g_assert_false (g_file_test (beside, G_FILE_TEST_IS_SYMLINK));
  assert_target (target);

  json_object_set_new (json_array_get (folders, 0), "read_only", json_true ());
  g_clear_pointer (&place, ow_recording_place_free);
  place = ow_recording_place_open (inside, folders, NULL);
  g_assert_nonnull (place);
  json_decref (folders);
  g_assert_true (ow_file_remove_tree (directory, NULL));
}

int
main (int   argc,
      char *argv[])
{
  g_autofree char *home = g_dir_make_tmp ("ow-recording-home-XXXXXX", NULL);
  int status;

  /* Not G_TEST_OPTION_ISOLATE_DIRS, which leaks a set of names a test. */
  g_assert_nonnull (home);
  g_setenv ("HOME", home, TRUE);
  g_unsetenv ("XDG_CONFIG_HOME");
  g_unsetenv ("XDG_DATA_HOME");
  g_unsetenv ("XDG_STATE_HOME");
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/recording/round-trip", test_round_trip);
  g_test_add_func ("/recording/long", test_long);
  g_test_add_func ("/recording/cut", test_cut);
  g_test_add_func ("/recording/cannot-write", test_cannot_write);
  g_test_add_func ("/recording/S02/links", test_links);
  status = g_test_run ();
  ow_file_remove_tree (home, NULL);
  return status;
}
