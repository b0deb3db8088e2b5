/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "session/ow-changes.h"

/* What a session changed, out of events that a runner had a hand in. */

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define FOLDERS "[{\"path\":\"/w\",\"read_only\":false},{\"path\":\"/r\",\"read_only\":true}]"

typedef struct {
  OwEventList *events;
  json_t      *folders;
} Fixture;

static json_t *
parse (const char *text)
{
  char    message[OW_WIRE_ERROR_SIZE];
  json_t *json = ow_json_parse (text, strlen (text), message);

  if (json == NULL)
    g_error ("%s: %s", message, text);
  return json;
}

static void
append (Fixture     *fixture,
        OwEventType  type,
        json_t      *members)
{
  g_autoptr (OwEvent) event = ow_event_list_append (fixture->events, type, members, NULL);

  g_assert_nonnull (event);
}

static void
set_up (Fixture       *fixture,
        gconstpointer  data)
{
  fixture->events = ow_event_list_new ("s");
  fixture->folders = parse (FOLDERS);
  append (fixture, OW_EVENT_FOLDERS_CHANGED, json_pack ("{s:O, s:s}", "folders", fixture->folders,
                                                        "level", "direct"));
}

static void
tear_down (Fixture       *fixture,
           gconstpointer  data)
{
  g_object_unref (fixture->events);
  json_decref (fixture->folders);
}

static void
say (Fixture *fixture)
{
  append (fixture, OW_EVENT_USER_MESSAGE, json_pack ("{s:s}", "text", "do it"));
}

static void
end_turn (Fixture *fixture)
{
  append (fixture, OW_EVENT_TURN_ENDED, json_pack ("{s:s}", "reason", "done"));
}

static void
ask (Fixture    *fixture,
     const char *call,
     const char *tool,
     json_t     *arguments,
     json_t     *undoes)
{
  append (fixture, OW_EVENT_TOOL_ASKED,
          json_pack ("{s:s, s:s, s:o, s:s, s:s*, s:o*}", "call", call, "tool", tool, "arguments",
                     arguments, "level", "direct", "model_call", undoes == NULL ? "m" : NULL,
                     "undoes", undoes));
}

static void
end (Fixture    *fixture,
     const char *call,
     const char *tool,
     const char *outcome,
     json_t     *structured)
{
  append (fixture, OW_EVENT_TOOL_ENDED,
          json_pack ("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:o*}", "call", call, "tool", tool, "level",
                     "direct", "outcome", outcome, "result", "", "duration_ms", 1, "bytes", 0,
                     "structured", structured));
}

/* A call of edit, of which the runner said @change. */
static void
edit_as (Fixture    *fixture,
         const char *call,
         json_t     *change)
{
  ask (fixture, call, "edit", json_pack ("{s:s}", "path", "named"), NULL);
  end (fixture, call, "edit", "ok", json_pack ("{s:o}", "change", change));
}

static json_t *
make_change (const char *path,
             const char *before,
             const char *after)
{
  return json_pack ("{s:s, s:s?, s:s, s:i, s:i}", "path", path, "before", before, "after", after,
                    "mode", 0644, "size", 3);
}

static void
edit (Fixture    *fixture,
      const char *call,
      const char *path,
      const char *before,
      const char *after)
{
  edit_as (fixture, call, make_change (path, before, after));
}

static OwChange *
change_at (OwChanges *changes,
           guint      i)
{
  g_assert_cmpuint (i, <, changes->changes->len);
  return g_ptr_array_index (changes->changes, i);
}

/* The calls of an undo of @some, as one word each. */
static void
assert_undo (GPtrArray  *some,
             const char *expected)
{
  json_t *calls = NULL;
  json_t *arguments = ow_changes_for_undo (some, &calls);
  g_autoptr (GString) text = g_string_new (NULL);

  for (size_t i = 0; i < json_array_size (calls); i++)
    {
      const json_t *change = json_array_get (json_object_get (arguments, "changes"), i);

      g_string_append_printf (text, "%s:%.1s>%.1s ", json_string_value (json_array_get (calls, i)),
                              ow_json_get_string (change, "before", "-"),
                              ow_json_get_string (change, "after", "-"));
    }
  g_assert_cmpuint (json_array_size (calls), ==,
                    json_array_size (json_object_get (arguments, "changes")));
  g_assert_false (ow_json_get_bool (arguments, "apply", TRUE));
  g_assert_cmpstr (text->str, ==, expected);
  json_decref (arguments);
  json_decref (calls);
}

static void
test_turns (Fixture       *fixture,
            gconstpointer  data)
{
  g_autoptr (OwChanges) changes = NULL;
  g_autoptr (GPtrArray) call = NULL;
  static const struct { guint message; guint turn; const char *undo; } turns[] = {
    { 1, 1, "c1:a>b c2:b>c " }, { 2, 1, "c1:a>b c2:b>c " }, { 3, 3, "" }, { 4, 4, "c3:->a " },
    { 0, 4, "c3:->a " },
  };

  say (fixture);
  edit (fixture, "c1", "/w/f", A, B);
  say (fixture);
  edit (fixture, "c2", "/w/f", B, C);
  end_turn (fixture);
  say (fixture);
  end_turn (fixture);
  say (fixture);
  edit (fixture, "c3", "/w/d/new", NULL, A);
  changes = ow_changes_read (fixture->events, fixture->folders);
  for (guint i = 0; i < G_N_ELEMENTS (turns); i++)
    {
      guint message = turns[i].message;
      g_autoptr (GPtrArray) some = ow_changes_of_turn (changes, &message);

      g_assert_cmpuint (message, ==, turns[i].turn);
      assert_undo (some, turns[i].undo);
    }
  for (guint message = 5; message < 7; message++)
    {
      guint at = message;

      g_assert_null (ow_changes_of_turn (changes, &at));
    }
  call = ow_changes_of_call (changes, "c2");
  assert_undo (call, "c2:b>c ");
}

/* What is said when the agent does not read it any more begins the next turn. */
static void
test_said_too_late (Fixture       *fixture,
                    gconstpointer  data)
{
  g_autoptr (OwChanges) changes = NULL;

  say (fixture);
  edit (fixture, "c1", "/w/f", A, B);
  say (fixture);
  end_turn (fixture);
  edit (fixture, "c2", "/w/f", B, C);
  changes = ow_changes_read (fixture->events, fixture->folders);
  g_assert_cmpuint (change_at (changes, 0)->turn, ==, 1);
  g_assert_cmpuint (change_at (changes, 1)->turn, ==, 2);
  g_assert_cmpuint (g_array_index (changes->turn_of, guint, 1), ==, 2);
}

static json_t *
undo_arguments (gboolean apply)
{
  return json_pack ("{s:[{s:s}, {s:s}], s:b}", "changes", "path", "/w/f", "path", "/w/g", "apply",
                    apply);
}

static void
undo (Fixture    *fixture,
      const char *call,
      gboolean    apply,
      const char *outcome,
      const char *state)
{
  ask (fixture, call, "undo", undo_arguments (apply), json_pack ("[s, s]", "c1", "c2"));
  end (fixture, call, "undo", outcome,
       json_pack ("{s:[{s:s, s:s}, {s:s, s:s}]}", "files", "path", "/w/f", "state", state, "path",
                  "/w/g", "state", "skipped"));
}

/* A file that was put back is undone, one that was left, or only shown, is not. */
static void
test_undone (Fixture       *fixture,
             gconstpointer  data)
{
  static const struct { gboolean apply; const char *outcome; const char *state; gboolean undone; }
  tries[] = {
    { FALSE, "ok", "restored", FALSE }, { TRUE, "interrupted", "restored", FALSE },
    { TRUE, "failed", "restored", FALSE }, { TRUE, "ok", "skipped", FALSE },
    { TRUE, "ok", "would restore", FALSE }, { TRUE, "ok", "Restored", FALSE },
    { TRUE, "ok", "restored", TRUE },
  };

  say (fixture);
  edit (fixture, "c1", "/w/f", A, B);
  edit (fixture, "c2", "/w/g", A, B);
  for (guint i = 0; i < G_N_ELEMENTS (tries); i++)
    {
      g_autofree char *call = g_strdup_printf ("u%u", i);
      g_autoptr (OwChanges) changes = NULL;

      undo (fixture, call, tries[i].apply, tries[i].outcome, tries[i].state);
      changes = ow_changes_read (fixture->events, fixture->folders);
      g_assert_true ((change_at (changes, 0)->state == OW_CHANGE_UNDONE) == tries[i].undone);
      g_assert_cmpint (change_at (changes, 1)->state, ==, OW_CHANGE_THERE);
    }
}

/* An undo by name that is none of ours: a model asked for it, or it names no calls. */
static void
test_undo_of_nobody (Fixture       *fixture,
                     gconstpointer  data)
{
  g_autoptr (OwChanges) changes = NULL;

  say (fixture);
  edit (fixture, "c1", "/w/f", A, B);
  ask (fixture, "u1", "undo", undo_arguments (TRUE), NULL);
  end (fixture, "u1", "undo", "ok", json_pack ("{s:[{s:s, s:s}]}", "files", "path", "/w/f", "state",
                                               "restored"));
  end (fixture, "u2", "undo", "ok", json_pack ("{s:[{s:s, s:s}]}", "files", "path", "/w/f", "state",
                                               "restored"));
  changes = ow_changes_read (fixture->events, fixture->folders);
  g_assert_cmpint (change_at (changes, 0)->state, ==, OW_CHANGE_THERE);
}

#define GOOD(member) "{" member ",\"before\":\"" A "\",\"after\":\"" B "\",\"mode\":420,\"size\":1}"
#define BAD(before, after, mode, size) \
  "{\"path\":\"/w/f\",\"before\":" before ",\"after\":" after ",\"mode\":" mode ",\"size\":" size "}"

static const struct {
  const char    *name;
  const char    *change;
  OwChangeState  state;
} LIES[] = {
  { "true", BAD ("\"" A "\"", "\"" B "\"", "420", "1"), OW_CHANGE_THERE },
  { "made", BAD ("null", "\"" B "\"", "420", "0"), OW_CHANGE_THERE },
  { "not-kept", "{\"path\":\"/w/f\",\"before\":null,\"after\":\"" B "\",\"mode\":420,\"size\":1,"
    "\"kept\":false}", OW_CHANGE_NOT_KEPT },
  { "empty", "{}", OW_CHANGE_UNUSABLE },
  { "outside", GOOD ("\"path\":\"/etc/passwd\""), OW_CHANGE_UNUSABLE },
  { "beside", GOOD ("\"path\":\"/wide/f\""), OW_CHANGE_UNUSABLE },
  { "the-folder", GOOD ("\"path\":\"/w\""), OW_CHANGE_UNUSABLE },
  { "the-folder-slash", GOOD ("\"path\":\"/w/\""), OW_CHANGE_UNUSABLE },
  { "up", GOOD ("\"path\":\"/w/../etc/passwd\""), OW_CHANGE_UNUSABLE },
  { "up-at-end", GOOD ("\"path\":\"/w/d/..\""), OW_CHANGE_UNUSABLE },
  { "dot", GOOD ("\"path\":\"/w/./f\""), OW_CHANGE_UNUSABLE },
  { "double", GOOD ("\"path\":\"/w//f\""), OW_CHANGE_UNUSABLE },
  { "relative", GOOD ("\"path\":\"w/f\""), OW_CHANGE_UNUSABLE },
  { "read-only", GOOD ("\"path\":\"/r/f\""), OW_CHANGE_UNUSABLE },
  { "path-number", GOOD ("\"path\":5"), OW_CHANGE_UNUSABLE },
  { "no-before", "{\"path\":\"/w/f\",\"after\":\"" B "\",\"mode\":420,\"size\":1}",
    OW_CHANGE_UNUSABLE },
  { "before-number", BAD ("5", "\"" B "\"", "420", "1"), OW_CHANGE_UNUSABLE },
  { "before-short", BAD ("\"aa\"", "\"" B "\"", "420", "1"), OW_CHANGE_UNUSABLE },
  { "before-path", BAD ("\"../../../../../../../../../../../../../../../../../../../../../secret\"",
                        "\"" B "\"", "420", "1"), OW_CHANGE_UNUSABLE },
  { "before-upper", BAD ("\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"",
                         "\"" B "\"", "420", "1"), OW_CHANGE_UNUSABLE },
  { "before-long", BAD ("\"" A "a\"", "\"" B "\"", "420", "1"), OW_CHANGE_UNUSABLE },
  { "after-null", BAD ("\"" A "\"", "null", "420", "1"), OW_CHANGE_UNUSABLE },
  { "after-empty", BAD ("\"" A "\"", "\"\"", "420", "1"), OW_CHANGE_UNUSABLE },
  { "mode-file-type", BAD ("\"" A "\"", "\"" B "\"", "33188", "1"), OW_CHANGE_UNUSABLE },
  { "mode-minus", BAD ("\"" A "\"", "\"" B "\"", "-1", "1"), OW_CHANGE_UNUSABLE },
  { "mode-text", BAD ("\"" A "\"", "\"" B "\"", "\"420\"", "1"), OW_CHANGE_UNUSABLE },
  { "size-minus", BAD ("\"" A "\"", "\"" B "\"", "420", "-1"), OW_CHANGE_UNUSABLE },
  { "size-huge", BAD ("\"" A "\"", "\"" B "\"", "420", "9223372036854775807"), OW_CHANGE_UNUSABLE },
};

/* S02: what a runner lies about its change is not used for anything. */
static void
test_lie (gconstpointer data)
{
  gsize i = GPOINTER_TO_SIZE (data);
  Fixture fixture;
  OwChange *change;
  json_t *calls = NULL;
  json_t *arguments;

  set_up (&fixture, NULL);
  say (&fixture);
  edit_as (&fixture, "c1", parse (LIES[i].change));
  {
    g_autoptr (OwChanges) changes = ow_changes_read (fixture.events, fixture.folders);
    json_t *look = ow_changes_for_look (changes);

    g_assert_cmpuint (changes->changes->len, ==, 1);
    change = change_at (changes, 0);
    g_assert_cmpint (change->state, ==, LIES[i].state);
    g_assert_true ((ow_change_state_why (change->state) == NULL) ==
                   (change->state == OW_CHANGE_THERE));
    arguments = ow_changes_for_undo (changes->changes, &calls);
    g_assert_cmpuint (json_array_size (calls), ==, change->state == OW_CHANGE_THERE);
    g_assert_cmpuint (json_array_size (json_object_get (look, "changes")), ==,
                      change->state == OW_CHANGE_THERE);
    json_decref (look);
  }
  json_decref (arguments);
  json_decref (calls);
  tear_down (&fixture, NULL);
}

/* A second change that is said of one call, and one of a call that nobody asked for. */
static void
test_more_than_one (Fixture       *fixture,
                    gconstpointer  data)
{
  g_autoptr (OwChanges) changes = NULL;

  say (fixture);
  edit (fixture, "c1", "/w/f", A, B);
  end (fixture, "c1", "edit", "ok", json_pack ("{s:o}", "change", make_change ("/w/g", A, B)));
  end (fixture, "c9", "edit", "ok", json_pack ("{s:o}", "change", make_change ("/w/h", A, B)));
  ask (fixture, "c2", "read", json_object (), NULL);
  end (fixture, "c2", "read", "ok", json_pack ("{s:o}", "change", make_change ("/w/i", A, B)));
  ask (fixture, "c3", "write", json_object (), NULL);
  end (fixture, "c3", "write", "failed", json_pack ("{s:o}", "change", make_change ("/w/j", A, B)));
  changes = ow_changes_read (fixture->events, fixture->folders);
  g_assert_cmpuint (changes->changes->len, ==, 1);
  g_assert_cmpstr (change_at (changes, 0)->path, ==, "/w/f");
}

/* REQ-W07: its folder was taken out, or made read-only, since. */
static void
test_other_folders (Fixture       *fixture,
                    gconstpointer  data)
{
  static const char * const now[] = {
    "[{\"path\":\"/r\",\"read_only\":true}]", "[{\"path\":\"/w\",\"read_only\":true}]",
    "[{\"path\":\"/w\",\"read_only\":false},{\"path\":\"/w/d\",\"read_only\":true}]",
  };

  say (fixture);
  edit (fixture, "c1", "/w/d/f", A, B);
  for (guint i = 0; i < G_N_ELEMENTS (now); i++)
    {
      json_t *folders = parse (now[i]);
      g_autoptr (OwChanges) changes = ow_changes_read (fixture->events, folders);

      g_assert_cmpint (change_at (changes, 0)->state, ==, OW_CHANGE_OUTSIDE);
      assert_undo (changes->changes, "");
      json_decref (folders);
    }
}

/* The folder of the time, not that of now, says what a change can have been. */
static void
test_folders_of_the_time (Fixture       *fixture,
                          gconstpointer  data)
{
  json_t *later = parse ("[{\"path\":\"/n\",\"read_only\":false}]");
  g_autoptr (OwChanges) changes = NULL;

  say (fixture);
  edit (fixture, "c1", "/n/f", A, B);
  append (fixture, OW_EVENT_FOLDERS_CHANGED, json_pack ("{s:O, s:s}", "folders", later, "level",
                                                        "direct"));
  edit (fixture, "c2", "/n/f", A, B);
  edit (fixture, "c3", "/w/f", A, B);
  changes = ow_changes_read (fixture->events, later);
  g_assert_cmpint (change_at (changes, 0)->state, ==, OW_CHANGE_UNUSABLE);
  g_assert_cmpint (change_at (changes, 1)->state, ==, OW_CHANGE_THERE);
  g_assert_cmpint (change_at (changes, 2)->state, ==, OW_CHANGE_UNUSABLE);
  json_decref (later);
}

static void
test_look (Fixture       *fixture,
           gconstpointer  data)
{
  g_autoptr (OwChanges) changes = NULL;
  json_t *look;
  char *text;

  say (fixture);
  edit (fixture, "c1", "/w/f", NULL, A);
  edit (fixture, "c2", "/w/f", A, B);
  edit (fixture, "c3", "/w/g", B, C);
  /* From what it was made of is not known, whatever is known later. */
  edit_as (fixture, "c4", json_pack ("{s:s, s:b}", "path", "/w/h", "kept", FALSE));
  edit (fixture, "c5", "/w/h", A, B);
  changes = ow_changes_read (fixture->events, fixture->folders);
  look = ow_changes_for_look (changes);
  text = ow_json_dump_canonical (look, NULL);
  g_assert_cmpstr (text, ==, "{\"changes\":[{\"before\":null,\"path\":\"/w/f\"},"
                   "{\"before\":\"" B "\",\"path\":\"/w/g\"}]}");
  free (text);
  json_decref (look);
}

static json_t *
names (guint       n,
       const char *format)
{
  json_t *files = json_array ();

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("/w/%u%s", i, format);

      json_array_append_new (files, json_pack ("{s:s, s:s}", "path", path, "what", "created"));
    }
  return files;
}

static void
run_shell (Fixture    *fixture,
           const char *call,
           json_t     *changes)
{
  ask (fixture, call, "shell", json_object (), NULL);
  end (fixture, call, "shell", "ok", json_pack ("{s:o}", "changes", changes));
}

static void
test_commands (Fixture       *fixture,
               gconstpointer  data)
{
  g_autoptr (OwChanges) changes = NULL;
  const OwCommandChange *first;

  say (fixture);
  run_shell (fixture, "c1", parse ("{\"files\":[{\"path\":\"/w/a\",\"what\":\"created\"},"
                                   "{\"path\":\"/r/b\",\"what\":\"deleted\"},"
                                   "{\"path\":\"/etc/c\",\"what\":\"changed\"},"
                                   "{\"path\":\"/w/../d\",\"what\":\"changed\"},"
                                   "{\"path\":\"/w/e\",\"what\":\"eaten\"},7,{}],"
                                   "\"total\":2,\"cut\":false}"));
  changes = ow_changes_read (fixture->events, fixture->folders);
  g_assert_cmpuint (changes->commands->len, ==, 2);
  first = g_ptr_array_index (changes->commands, 0);
  g_assert_cmpstr (first->path, ==, "/w/a");
  g_assert_cmpstr (first->what, ==, "created");
  g_assert_cmpuint (first->turn, ==, 1);
  g_assert_cmpuint (changes->commands_total, ==, 2);
  g_assert_cmpuint (changes->changes->len, ==, 0);
}

/* S05: as many as a runner cares to make up; what is kept of them is bounded, the rest counted. */
static void
test_S05_many (Fixture       *fixture,
               gconstpointer  data)
{
  g_autoptr (OwChanges) changes = NULL;
  json_t *folders = fixture->folders;

  say (fixture);
  run_shell (fixture, "c", json_pack ("{s:o, s:I, s:b}", "files", names (100000, ""), "total",
                                      (json_int_t) 1000000, "cut", FALSE));
  run_shell (fixture, "d", json_pack ("{s:[], s:I, s:b}", "files", "total",
                                      (json_int_t) -5, "cut", FALSE));
  run_shell (fixture, "e", json_pack ("{s:[], s:I}", "files", "total", G_MAXINT64));
  for (guint i = 0; i < OW_CHANGES_MAX + 10; i++)
    {
      g_autofree char *call = g_strdup_printf ("c%u", i);
      g_autofree char *path = g_strdup_printf ("/w/%u", i);

      edit (fixture, call, path, A, B);
    }
  changes = ow_changes_read (fixture->events, folders);
  g_assert_cmpuint (changes->commands->len, <=, OW_CHANGES_COMMANDS);
  g_assert_cmpuint (changes->commands_total, >=, 1000000);
  g_assert_cmpuint (changes->commands_total, <, G_GUINT64_CONSTANT (1) << 33);
  g_assert_true (changes->commands_cut);
  g_assert_cmpuint (changes->changes->len, ==, OW_CHANGES_MAX);
  g_assert_true (changes->cut);
}

/* What an undo answers is read for the paths that it was asked for, and no others. */
static void
test_answer (void)
{
  json_t *arguments = undo_arguments (TRUE);
  json_t *said = parse ("{\"files\":[{\"path\":\"/etc/x\",\"state\":\"restored\"},"
                        "{\"path\":\"/w/f\",\"state\":\"restored\",\"added\":3,\"removed\":-1,"
                        "\"reason\":\"one\\ntwo\",\"more\":[1]},"
                        "{\"path\":\"/w/f\",\"state\":\"skipped\"},"
                        "{\"path\":\"/w/g\",\"state\":\"eaten\"}]}");
  json_t *files = ow_changes_read_files (arguments, said);
  char *text = ow_json_dump_canonical (files, NULL);

  g_assert_cmpstr (text, ==, "[{\"added\":3,\"path\":\"/w/f\",\"reason\":\"one two\",\"state\":"
                   "\"restored\"},{\"path\":\"/w/g\",\"reason\":\"the sandbox did not say what became "
                   "of it\",\"state\":\"unknown\"}]");
  free (text);
  json_decref (files);
  files = ow_changes_read_files (arguments, NULL);
  g_assert_cmpuint (json_array_size (files), ==, 2);
  json_decref (files);
  json_decref (said);
  json_decref (arguments);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)
  ADD ("/changes/turns", test_turns);
  ADD ("/changes/said-too-late", test_said_too_late);
  ADD ("/changes/undone", test_undone);
  ADD ("/changes/undo-of-nobody", test_undo_of_nobody);
  ADD ("/changes/more-than-one", test_more_than_one);
  ADD ("/changes/other-folders", test_other_folders);
  ADD ("/changes/folders-of-the-time", test_folders_of_the_time);
  ADD ("/changes/look", test_look);
  ADD ("/changes/commands", test_commands);
  ADD ("/changes/S05/many", test_S05_many);
  for (gsize i = 0; i < G_N_ELEMENTS (LIES); i++)
    {
      g_autofree char *path = g_strconcat ("/changes/S02/", LIES[i].name, NULL);

      g_test_add_data_func (path, GSIZE_TO_POINTER (i), test_lie);
    }
  g_test_add_func ("/changes/answer", test_answer);
  return g_test_run ();
}
