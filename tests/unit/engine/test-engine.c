/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>

#include "audit/ow-audit.h"
#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "engine/ow-local-engine.h"

/* The commands of the engine as a face sees them, with a home of their own. */

typedef struct
{
  OwEngine  *engine;
  GMainLoop *loop;
  json_t    *result; /* (owned) (nullable) */
  GError    *error;  /* (owned) (nullable) */
} Fixture;

static void
done (GObject      *source,
      GAsyncResult *result,
      gpointer      user_data)
{
  Fixture *fixture = user_data;

  fixture->result = ow_engine_command_finish (OW_ENGINE (source), result, &fixture->error);
  g_main_loop_quit (fixture->loop);
}

/* Runs a command; @params is JSON text or NULL. */
static void
run (Fixture    *fixture,
     const char *command,
     const char *params)
{
  char why[OW_WIRE_ERROR_SIZE];
  json_t *value = params == NULL ? NULL : ow_json_parse (params, strlen (params), why);

  g_assert_true (params == NULL || value != NULL);
  json_decref (fixture->result);
  fixture->result = NULL;
  g_clear_error (&fixture->error);
  ow_engine_command_async (fixture->engine, command, value, NULL, done, fixture);
  g_main_loop_run (fixture->loop);
}

static void
set_up (Fixture       *fixture,
        gconstpointer  data)
{
  g_autofree char *config = ow_paths_get_config_file ();

  g_unlink (config);
  fixture->engine = OW_ENGINE (ow_local_engine_new ());
  fixture->loop = g_main_loop_new (NULL, FALSE);
}

static void
tear_down (Fixture       *fixture,
           gconstpointer  data)
{
  json_decref (fixture->result);
  g_clear_error (&fixture->error);
  g_clear_object (&fixture->engine);
  g_main_loop_unref (fixture->loop);
}

static void
write_config (const char *text)
{
  g_autofree char *path = ow_paths_get_config_file ();
  g_autofree char *dir = g_path_get_dirname (path);
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
  g_autoptr (GError) error = NULL;

  g_assert_true (ow_paths_ensure (dir, &error));
  g_assert_true (ow_file_write_atomic (path, bytes, 0600, &error));
}

static const struct
{
  const char  *name;
  const char  *command;
  const char  *params;
  OwErrorKind  kind;
  const char  *words;
} WRONG[] = {
  { "no-command", "session.dance", "{}", OW_ERROR_USAGE, "session.dance" },
  { "start-empty", "session.start", "{}", OW_ERROR_USAGE, "folders" },
  { "start-no-task", "session.start", "{\"folders\":[\"/x\"],\"model\":\"replay:/x\"}",
    OW_ERROR_USAGE, "task" },
  { "start-no-model", "session.start",
    "{\"folders\":[\"/x\"],\"task\":\"t\",\"provider\":\"direct\"}", OW_ERROR_USAGE, "model" },
  { "start-unknown-model", "session.start",
    "{\"folders\":[\"/x\"],\"task\":\"t\",\"provider\":\"direct\",\"model\":\"nosuch\"}",
    OW_ERROR_USAGE, "nosuch" },
  { "start-keep-text", "session.start",
    "{\"folders\":[\"/x\"],\"model\":\"m\",\"task\":\"t\",\"keep\":\"yes\"}", OW_ERROR_USAGE, "keep" },
  { "start-member", "session.start",
    "{\"folders\":[\"/x\"],\"model\":\"m\",\"task\":\"t\",\"argv\":[\"x\"]}",
    OW_ERROR_USAGE, "argv" },
  { "start-approve", "session.start",
    "{\"folders\":[\"/x\"],\"model\":\"m\",\"task\":\"t\",\"approve\":\"yes\"}",
    OW_ERROR_USAGE, "ask, sandboxed, deny" },
  { "exec-no-argv", "session.exec", "{\"folders\":[\"/x\"]}", OW_ERROR_USAGE, "argv" },
  { "exec-argv-empty", "session.exec", "{\"folders\":[\"/x\"],\"argv\":[]}", OW_ERROR_USAGE,
    "argv" },
  { "exec-argv-number", "session.exec", "{\"folders\":[\"/x\"],\"argv\":[1]}", OW_ERROR_USAGE,
    "argv" },
  { "exec-folders-text", "session.exec", "{\"folders\":\"/x\",\"argv\":[\"x\"]}", OW_ERROR_USAGE,
    "folders" },
  { "exec-approve", "session.exec",
    "{\"folders\":[\"/x\"],\"argv\":[\"x\"],\"approve\":\"ask\"}", OW_ERROR_USAGE, "approve" },
  { "exec-provider", "session.exec",
    "{\"folders\":[\"/x\"],\"argv\":[\"x\"],\"provider\":\"moat\"}", OW_ERROR_USAGE, "moat" },
  { "exec-provider-number", "session.exec",
    "{\"folders\":[\"/x\"],\"argv\":[\"x\"],\"provider\":5}", OW_ERROR_USAGE, "provider" },
  { "exec-interactive-text", "session.exec",
    "{\"folders\":[\"/x\"],\"argv\":[\"x\"],\"interactive\":\"no\"}", OW_ERROR_USAGE,
    "interactive" },
  { "start-record-null", "session.start",
    "{\"folders\":[\"/x\"],\"model\":\"m\",\"task\":\"t\",\"record\":null}", OW_ERROR_USAGE,
    "record" },
  { "params-list", "session.list", "[]", OW_ERROR_USAGE, "object" },
  { "list-member", "session.list", "{\"all\":true}", OW_ERROR_USAGE, "all" },
  { "prove-provider-number", "sandbox.prove", "{\"provider\":1}", OW_ERROR_USAGE, "provider" },
  { "audit-session-null", "audit.show", "{\"session\":null}", OW_ERROR_USAGE, "session" },
  { "exec-nothing-set", "session.exec", "{\"folders\":[\"/x\"],\"argv\":[\"x\"]}",
    OW_ERROR_REFUSED, "Nothing is set" },
  { "prove-nothing-set", "sandbox.prove", "{}", OW_ERROR_REFUSED, "no wall to prove" },
  { "show-unknown", "session.show", "{\"session\":\"nosuch\"}", OW_ERROR_USAGE, "nosuch" },
  { "show-empty", "session.show", "{}", OW_ERROR_USAGE, "session" },
  { "show-from-text", "session.show", "{\"session\":\"s\",\"from\":\"1\"}", OW_ERROR_USAGE, "from" },
  { "show-from-zero", "session.show", "{\"session\":\"s\",\"from\":0}", OW_ERROR_USAGE, "from" },
  { "show-from-minus", "session.show", "{\"session\":\"s\",\"from\":-1}", OW_ERROR_USAGE, "from" },
  { "say-empty", "session.say", "{}", OW_ERROR_USAGE, "session" },
  { "say-no-text", "session.say", "{\"session\":\"s\"}", OW_ERROR_USAGE, "text" },
  { "say-unknown", "session.say", "{\"session\":\"nosuch\",\"text\":\"t\"}", OW_ERROR_USAGE, "nosuch" },
  { "resume-unknown", "session.resume", "{\"session\":\"nosuch\"}", OW_ERROR_USAGE, "nosuch" },
  { "delete-unknown", "session.delete", "{\"session\":\"nosuch\"}", OW_ERROR_USAGE, "nosuch" },
  { "changes-empty", "session.changes", "{}", OW_ERROR_USAGE, "session" },
  { "changes-unknown", "session.changes", "{\"session\":\"nosuch\"}", OW_ERROR_USAGE, "nosuch" },
  { "undo-unknown", "session.undo", "{\"session\":\"nosuch\"}", OW_ERROR_USAGE, "nosuch" },
  { "undo-turn-text", "session.undo", "{\"session\":\"s\",\"turn\":\"1\"}", OW_ERROR_USAGE, "turn" },
  { "undo-apply", "session.undo", "{\"session\":\"s\",\"apply\":true}", OW_ERROR_USAGE, "apply" },
  { "end-empty", "session.end", "{}", OW_ERROR_USAGE, "session" },
  { "watch-empty", "face.watch", "{}", OW_ERROR_USAGE, "answers" },
  { "watch-number", "face.watch", "{\"answers\":1}", OW_ERROR_USAGE, "answers" },
  { "answer-word", "consent.answer", "{\"request\":\"r\",\"decision\":\"yes\"}", OW_ERROR_USAGE,
    "once, session, always, deny" },
  { "add-empty", "model.add", "{}", OW_ERROR_USAGE, "name" },
  { "add-no-url", "model.add", "{\"name\":\"n\",\"model\":\"m\"}", OW_ERROR_USAGE, "base_url" },
  { "add-member", "model.add", "{\"name\":\"n\",\"secret\":\"m\"}", OW_ERROR_USAGE, "secret" },
  { "remove-unknown", "model.remove", "{\"name\":\"nosuch\"}", OW_ERROR_USAGE, "nosuch" },
  { "test-unknown", "model.test", "{\"name\":\"nosuch\"}", OW_ERROR_USAGE, "nosuch" },
  { "status-member", "engine.status", "{\"all\":true}", OW_ERROR_USAGE, "all" },
  { "answer-empty", "consent.answer", "{}", OW_ERROR_USAGE, "request" },
  { "answer-no-decision", "consent.answer", "{\"request\":\"r\"}", OW_ERROR_USAGE, "decision" },
};

static void
test_wrong (Fixture       *fixture,
            gconstpointer  data)
{
  guint i = GPOINTER_TO_UINT (data);

  run (fixture, WRONG[i].command, WRONG[i].params);
  g_assert_null (fixture->result);
  g_assert_error (fixture->error, OW_ERROR, (int) WRONG[i].kind);
  g_assert_nonnull (strstr (fixture->error->message, WRONG[i].words));
}

/* Nothing that is not exactly a "yes" of ours reaches a request, and no request that is not
 * open can be answered. */
static void
test_answer_to_nobody (Fixture       *fixture,
                       gconstpointer  data)
{
  run (fixture, "consent.answer", "{\"request\":\"r\",\"decision\":\"once\"}");
  g_assert_no_error (fixture->error);
  g_assert_false (ow_json_get_bool (fixture->result, "taken", TRUE));
}

static void
test_stop_of_nothing (Fixture       *fixture,
                      gconstpointer  data)
{
  run (fixture, "session.stop", "{\"session\":\"nosuch\"}");
  g_assert_no_error (fixture->error);
  g_assert_false (ow_json_get_bool (fixture->result, "stopped", TRUE));
}

static void
test_config (Fixture       *fixture,
             gconstpointer  data)
{
  run (fixture, "config.get", NULL);
  g_assert_no_error (fixture->error);
  g_assert_true (json_is_null (json_object_get (fixture->result, "provider")));
  g_assert_cmpstr (ow_json_get_string (fixture->result, "profile", ""), ==, "strict");

  write_config ("sandbox_provider = \"direct\"\nsandbox_network_profile = \"standard\"\n");
  run (fixture, "config.get", NULL);
  g_assert_cmpstr (ow_json_get_string (fixture->result, "provider", ""), ==, "direct");
  g_assert_cmpstr (ow_json_get_string (fixture->result, "profile", ""), ==, "standard");
}

/* Broken settings refuse every command that would raise a wall, whatever it asks for. */
static void
test_broken_config_refuses (Fixture       *fixture,
                            gconstpointer  data)
{
  static const char * const COMMANDS[][2] = {
    { "session.exec", "{\"folders\":[\"/x\"],\"argv\":[\"x\"],\"provider\":\"direct\"}" },
    { "session.start", "{\"folders\":[\"/x\"],\"model\":\"replay:/x\",\"task\":\"t\","
      "\"provider\":\"direct\"}" },
    { "sandbox.prove", "{\"provider\":\"bubblewrap\"}" },
    { "config.get", "{}" },
  };

  write_config ("sandbox_provider = \n");
  for (guint i = 0; i < G_N_ELEMENTS (COMMANDS); i++)
    {
      run (fixture, COMMANDS[i][0], COMMANDS[i][1]);
      g_assert_error (fixture->error, OW_ERROR, OW_ERROR_REFUSED);
      g_assert_nonnull (strstr (fixture->error->message, "line 1"));
    }
}

/* A record that is longer than one answer may be comes in pages, each record once. */
static void
test_long_record (Fixture       *fixture,
                  gconstpointer  user_data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = ow_paths_get_audit_file ();
  g_autofree char *state = ow_paths_get_state_dir ();
  g_autofree char *text = g_strnfill (300 * 1000, 'x');
  g_autoptr (OwAudit) audit = NULL;
  json_int_t from = 0;
  guint pages = 0;
  guint records = 0;

  g_assert_true (ow_paths_ensure (state, &error));
  audit = ow_audit_open (path, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 40; i++)
    {
      g_autoptr (OwEvent) event = NULL;

      event = ow_event_new (OW_EVENT_TOOL_STARTED, i % 2 == 0 ? "even" : "odd",
                            json_pack ("{s:s, s:s, s:{s:s}, s:s, s:s}", "call", "c", "tool", "write",
                                       "arguments", "content", text, "level", "bubblewrap",
                                       "approval", "person:once"));
      g_assert_true (ow_audit_append (audit, event, FALSE, &error));
    }
  do
    {
      g_autofree char *params = NULL;
      size_t size = 0;
      char *line;

      params = g_strdup_printf ("{\"session\":\"even\",\"from\":%" JSON_INTEGER_FORMAT "}", from);
      run (fixture, "audit.show", params);
      g_assert_no_error (fixture->error);
      line = ow_json_dump (fixture->result, &size);
      g_assert_cmpuint (size, <, 5 * 1024 * 1024);
      free (line);
      from = ow_json_get_int (fixture->result, "next", 0);
      records += json_array_size (json_object_get (fixture->result, "records"));
      pages++;
    }
  while (from > 0 && pages < 100);
  g_assert_cmpuint (records, ==, 20);
  g_assert_cmpuint (pages, >, 1);
  g_unlink (path);
}

static void
test_empty_lists (Fixture       *fixture,
                  gconstpointer  data)
{
  run (fixture, "session.list", NULL);
  g_assert_no_error (fixture->error);
  g_assert_cmpuint (json_array_size (json_object_get (fixture->result, "sessions")), ==, 0);

  run (fixture, "audit.verify", NULL);
  g_assert_no_error (fixture->error);
  g_assert_true (ow_json_get_bool (fixture->result, "clean", FALSE));
  g_assert_cmpint (ow_json_get_int (fixture->result, "records", -1), ==, 0);
}

int
main (int    argc,
      char **argv)
{
  g_autofree char *home = g_dir_make_tmp ("ow-engine-XXXXXX", NULL);
  int status;

  g_assert_nonnull (home);
  g_setenv ("HOME", home, TRUE);
  g_unsetenv ("XDG_CONFIG_HOME");
  g_unsetenv ("XDG_DATA_HOME");
  g_unsetenv ("XDG_STATE_HOME");
  g_unsetenv ("XDG_RUNTIME_DIR");
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (WRONG); i++)
    {
      g_autofree char *path = g_strconcat ("/engine/wrong/", WRONG[i].name, NULL);

      g_test_add (path, Fixture, GUINT_TO_POINTER (i), set_up, test_wrong, tear_down);
    }
  g_test_add ("/engine/answer-to-nobody", Fixture, NULL, set_up, test_answer_to_nobody, tear_down);
  g_test_add ("/engine/stop-of-nothing", Fixture, NULL, set_up, test_stop_of_nothing, tear_down);
  g_test_add ("/engine/config", Fixture, NULL, set_up, test_config, tear_down);
  g_test_add ("/engine/S07/broken-config-refuses", Fixture, NULL, set_up,
              test_broken_config_refuses, tear_down);
  g_test_add ("/engine/empty-lists", Fixture, NULL, set_up, test_empty_lists, tear_down);
  g_test_add ("/engine/long-record", Fixture, NULL, set_up, test_long_record, tear_down);
  status = g_test_run ();
  ow_file_remove_tree (home, NULL);
  return status;
}
