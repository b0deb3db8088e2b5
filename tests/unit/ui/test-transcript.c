/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>

#include "events/ow-event-list.h"
#include "ow-transcript-private.h"

typedef struct
{
  OwEventList  *events;
  OwTranscript *transcript;
  guint         told; /* items-changed signals */
} Fixture;

static void
on_appended (OwEventList *list,
             OwEvent     *event,
             gpointer     user_data)
{
  ow_transcript_add (((Fixture *) user_data)->transcript, event);
}

static void
on_items_changed (Fixture *self)
{
  self->told++;
}

static void
set_up (Fixture       *self,
        gconstpointer  data)
{
  self->events = ow_event_list_new ("s");
  self->transcript = ow_transcript_new ();
  g_signal_connect (self->events, "appended", G_CALLBACK (on_appended), self);
  g_signal_connect_swapped (self->transcript, "items-changed", G_CALLBACK (on_items_changed),
                            self);
}

static void
tear_down (Fixture       *self,
           gconstpointer  data)
{
  g_object_unref (self->events);
  g_object_unref (self->transcript);
}

static void
add (Fixture     *self,
     OwEventType  type,
     json_t      *members)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwEvent) event = ow_event_list_append (self->events, type, members, &error);

  g_assert_no_error (error);
  g_assert_nonnull (event);
}

static guint
count (Fixture *self)
{
  return g_list_model_get_n_items (G_LIST_MODEL (self->transcript));
}

/* Borrowed: the transcript keeps it. */
static OwTranscriptItem *
item (Fixture *self,
      guint    position)
{
  g_autoptr (OwTranscriptItem) found = g_list_model_get_item (G_LIST_MODEL (self->transcript),
                                                              position);

  g_assert_nonnull (found);
  return found;
}

static void
ask_tool (Fixture    *self,
          const char *call,
          const char *command)
{
  add (self, OW_EVENT_TOOL_ASKED,
       json_pack ("{s:s, s:s, s:{s:s}, s:s}", "call", call, "tool", "shell", "arguments",
                  "command", command, "level", "bubblewrap"));
}

static void
start_tool (Fixture    *self,
            const char *call)
{
  add (self, OW_EVENT_TOOL_STARTED,
       json_pack ("{s:s, s:s, s:{s:s}, s:s, s:s}", "call", call, "tool", "shell", "arguments",
                  "command", "x", "level", "bubblewrap", "approval", "once"));
}

static void
end_tool (Fixture    *self,
          const char *call,
          const char *result)
{
  add (self, OW_EVENT_TOOL_ENDED,
       json_pack ("{s:s, s:s, s:s, s:s, s:s, s:i, s:i}", "call", call, "tool", "shell", "level",
                  "bubblewrap", "outcome", "ok", "result", result, "duration_ms", 12, "bytes", 3));
}

static void
ask_consent (Fixture    *self,
             const char *request,
             const char *call)
{
  add (self, OW_EVENT_CONSENT_ASKED,
       json_pack ("{s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "request", request, "kind", "tool",
                  "call", call, "title", "shell", "subject",
                  "{\"command\":\"rm -r build\"}", "level", "bubblewrap", "timeout_s", 60));
}

static void
end_turn (Fixture    *self,
          const char *reason)
{
  add (self, OW_EVENT_TURN_ENDED, json_pack ("{s:s}", "reason", reason));
}

static void
add_message (Fixture    *self,
             const char *text,
             const char *cut)
{
  add (self, OW_EVENT_MODEL_MESSAGE,
       json_pack ("{s:s, s:[], s:s, s:s*}", "text", text, "tool_calls", "finish", "stop", "cut",
                  cut));
}

/* Pieces make one row, which the whole message then takes over. */
static void
test_pieces (Fixture       *self,
             gconstpointer  data)
{
  for (guint i = 0; i < 200; i++)
    add (self, OW_EVENT_MODEL_TEXT, json_pack ("{s:s}", "text", "ab "));
  g_assert_cmpuint (count (self), ==, 1);
  g_assert_cmpuint (self->told, ==, 1);
  g_assert_true (item (self, 0)->live);
  g_assert_cmpuint (item (self, 0)->text->len, ==, 600);
  add_message (self, "The whole.", NULL);
  g_assert_cmpuint (count (self), ==, 1);
  g_assert_false (item (self, 0)->live);
  g_assert_cmpstr (item (self, 0)->text->str, ==, "The whole.");
  add_message (self, "", NULL);
  g_assert_cmpuint (count (self), ==, 1);
}

static void
count_change (guint *changes)
{
  (*changes)++;
}

/* Many pieces are one change of the row. */
static void
test_batches (Fixture       *self,
              gconstpointer  data)
{
  guint changes = 0;

  add (self, OW_EVENT_MODEL_TEXT, json_pack ("{s:s}", "text", "a"));
  g_signal_connect_swapped (item (self, 0), "changed", G_CALLBACK (count_change), &changes);
  for (guint i = 0; i < 1000; i++)
    add (self, OW_EVENT_MODEL_TEXT, json_pack ("{s:s}", "text", "a"));
  g_assert_cmpuint (changes, ==, 0);
  ow_transcript_flush (self->transcript);
  g_assert_cmpuint (changes, ==, 1);
  g_assert_cmpuint (item (self, 0)->text->len, ==, 1001);
}

static void
test_cut (Fixture       *self,
          gconstpointer  data)
{
  add (self, OW_EVENT_MODEL_TEXT, json_pack ("{s:s}", "text", "half an ans"));
  add_message (self, "half an ans", "the connection broke");
  g_assert_cmpuint (count (self), ==, 1);
  g_assert_cmpstr (item (self, 0)->note, ==, "the connection broke");
  add_message (self, "", "nothing came");
  g_assert_cmpuint (count (self), ==, 2);
}

static void
test_call (Fixture       *self,
           gconstpointer  data)
{
  ask_tool (self, "c1", "echo R&D <b>");
  g_assert_cmpint (item (self, 0)->kind, ==, OW_ITEM_TOOL);
  g_assert_cmpstr (item (self, 0)->title, ==, "echo R&D <b>");
  g_assert_cmpstr (item (self, 0)->level, ==, "bubblewrap");
  start_tool (self, "c1");
  g_assert_cmpint (item (self, 0)->state, ==, OW_CALL_RUNNING);
  add (self, OW_EVENT_TOOL_OUTPUT,
       json_pack ("{s:s, s:s, s:s, s:s}", "call", "c1", "level", "bubblewrap", "stream", "stdout",
                  "text", "R&D <b>\n"));
  /* "hi\n\377" as what is no text. */
  add (self, OW_EVENT_TOOL_OUTPUT,
       json_pack ("{s:s, s:s, s:s, s:s}", "call", "c1", "level", "bubblewrap", "stream", "stdout",
                  "data", "aGkK/w=="));
  g_assert_cmpuint (ow_lines_get_n (item (self, 0)->lines), ==, 3);
  g_assert_cmpstr (ow_lines_get (item (self, 0)->lines, 1), ==, "hi");
  end_tool (self, "c1", "R&D <b>\n[exit 0]");
  g_assert_cmpint (item (self, 0)->state, ==, OW_CALL_ENDED);
  g_assert_cmpuint (ow_lines_get_n (item (self, 0)->lines), ==, 2);
  g_assert_cmpint (item (self, 0)->duration_ms, ==, 12);
  g_assert_null (item (self, 0)->outcome);
  /* What comes late, or for no call, changes nothing. */
  add (self, OW_EVENT_TOOL_OUTPUT,
       json_pack ("{s:s, s:s, s:s, s:s}", "call", "c1", "level", "bubblewrap", "stream", "stdout",
                  "text", "late\n"));
  add (self, OW_EVENT_TOOL_OUTPUT,
       json_pack ("{s:s, s:s, s:s, s:s}", "call", "c9", "level", "bubblewrap", "stream", "stdout",
                  "text", "whose\n"));
  g_assert_cmpuint (ow_lines_get_n (item (self, 0)->lines), ==, 2);
  g_assert_cmpuint (count (self), ==, 1);
}

/* Two calls at once keep their own output. */
static void
test_two_calls (Fixture       *self,
                gconstpointer  data)
{
  ask_tool (self, "c1", "a");
  ask_tool (self, "c2", "b");
  start_tool (self, "c1");
  start_tool (self, "c2");
  for (guint i = 0; i < 10; i++)
    add (self, OW_EVENT_TOOL_OUTPUT,
         json_pack ("{s:s, s:s, s:s, s:s}", "call", i % 2 == 0 ? "c1" : "c2", "level",
                    "bubblewrap", "stream", "stdout", "text", i % 2 == 0 ? "one\n" : "two\n"));
  end_tool (self, "c2", "two");
  g_assert_cmpint (item (self, 0)->state, ==, OW_CALL_RUNNING);
  g_assert_cmpint (item (self, 1)->state, ==, OW_CALL_ENDED);
  g_assert_cmpuint (ow_lines_get_n (item (self, 0)->lines), ==, 5);
  g_assert_cmpstr (ow_lines_get (item (self, 0)->lines, 4), ==, "one");
}

/* A request is open until it is answered, by whomever; the card says what by. */
static void
test_request (Fixture       *self,
              gconstpointer  data)
{
  ask_tool (self, "c1", "rm -r build");
  ask_consent (self, "r1", "c1");
  g_assert_true (item (self, 1)->open);
  g_assert_cmpint (item (self, 1)->kind, ==, OW_ITEM_CONSENT);
  add (self, OW_EVENT_CONSENT_ANSWERED,
       json_pack ("{s:s, s:s, s:s}", "request", "r2", "decision", "once", "approval", "person"));
  g_assert_true (item (self, 1)->open);
  add (self, OW_EVENT_CONSENT_ANSWERED,
       json_pack ("{s:s, s:s, s:s, s:s}", "request", "r1", "decision", "deny", "approval",
                  "timeout", "reason", "not <i>now</i>"));
  g_assert_false (item (self, 1)->open);
  g_assert_cmpstr (item (self, 1)->note, ==, "Denied: not <i>now</i> (timeout)");
  g_assert_cmpuint (count (self), ==, 2);
}

/* An answer that did not reach the engine can be given again, one that did cannot. */
static void
test_reopen (Fixture       *self,
             gconstpointer  data)
{
  ask_consent (self, "r1", "c1");
  item (self, 0)->sent = TRUE;
  ow_transcript_reopen (self->transcript, "r1");
  g_assert_false (item (self, 0)->sent);
  item (self, 0)->sent = TRUE;
  add (self, OW_EVENT_CONSENT_ANSWERED,
       json_pack ("{s:s, s:s, s:s}", "request", "r1", "decision", "once", "approval", "person"));
  ow_transcript_reopen (self->transcript, "r1");
  ow_transcript_reopen (self->transcript, "r9");
  g_assert_true (item (self, 0)->sent);
  g_assert_cmpstr (item (self, 0)->note, ==, "Allowed once");
}

/* The end of a turn or of the session, or its going on, closes what was open. */
static void
test_ends (Fixture       *self,
           gconstpointer  data)
{
  for (guint way = 0; way < 2; way++)
    {
      g_autofree char *call = g_strdup_printf ("c%u", way);
      g_autofree char *request = g_strdup_printf ("r%u", way);
      guint at = count (self);

      ask_tool (self, call, "sleep 1");
      ask_consent (self, request, call);
      add (self, OW_EVENT_MODEL_TEXT, json_pack ("{s:s}", "text", "and"));
      if (way == 0)
        end_turn (self, "stopped");
      else
        add (self, OW_EVENT_SESSION_ENDED,
             json_pack ("{s:s, s:i}", "outcome", "interrupted", "exit", 130));
      g_assert_cmpint (item (self, at)->state, ==, OW_CALL_ENDED);
      g_assert_nonnull (item (self, at)->outcome);
      g_assert_false (item (self, at + 1)->open);
      g_assert_nonnull (item (self, at + 1)->note);
      g_assert_false (item (self, at + 2)->live);
      g_assert_cmpint (item (self, at + 3)->kind, ==, OW_ITEM_NOTICE);
    }
}

/* Of many that are read at once the model tells once. */
static void
test_freeze (Fixture       *self,
             gconstpointer  data)
{
  ow_transcript_freeze (self->transcript);
  for (guint i = 0; i < 10000; i++)
    add (self, OW_EVENT_NOTICE, json_pack ("{s:s}", "text", "x"));
  g_assert_cmpuint (count (self), ==, 0);
  ow_transcript_thaw (self->transcript);
  g_assert_cmpuint (count (self), ==, 10000);
  g_assert_cmpuint (self->told, ==, 1);
}

static void
test_hosts (Fixture       *self,
            gconstpointer  data)
{
  add (self, OW_EVENT_HOST_DECISION,
       json_pack ("{s:s, s:i, s:s, s:s, s:s}", "host", "a.example", "port", 443, "decision",
                  "allow", "reason", "listed", "level", "bubblewrap"));
  g_assert_cmpuint (count (self), ==, 0);
  add (self, OW_EVENT_HOST_DECISION,
       json_pack ("{s:s, s:i, s:s, s:s, s:s}", "host", "b.example", "port", 443, "decision",
                  "refuse", "reason", "not listed", "level", "bubblewrap"));
  g_assert_cmpuint (count (self), ==, 1);
  g_assert_cmpstr (item (self, 0)->text->str, ==, "Blocked site b.example:443 (not listed)");
}

static void
test_folders (Fixture       *self,
              gconstpointer  data)
{
  add (self, OW_EVENT_FOLDERS_CHANGED,
       json_pack ("{s:[{s:s, s:b}, {s:s, s:b}], s:s}", "folders", "path", "/a", "read_only", FALSE,
                  "path", "/b", "read_only", TRUE, "level", "bubblewrap"));
  g_assert_cmpuint (count (self), ==, 1);
  g_assert_cmpstr (item (self, 0)->text->str, ==,
                   "Folders from the next call on: /a, /b (read-only)");
}

static void
read_instructions (Fixture    *self,
                   const char *call,
                   const char *outcome,
                   const char *result)
{
  add (self, OW_EVENT_TOOL_ASKED,
       json_pack ("{s:s, s:s, s:{s:s}, s:s, s:s}", "call", call, "tool", "read", "arguments",
                  "path", "AGENTS.md", "level", "bubblewrap", "purpose", "instructions"));
  add (self, OW_EVENT_TOOL_ENDED,
       json_pack ("{s:s, s:s, s:s, s:s, s:s, s:i, s:i}", "call", call, "tool", "read", "level",
                  "bubblewrap", "outcome", outcome, "result", result, "duration_ms", 1, "bytes",
                  3));
}

/* A project without instructions is no news; one whose instructions cannot be read is. */
static void
test_no_instructions (Fixture       *self,
                      gconstpointer  data)
{
  read_instructions (self, "c1", "failed", "There is nothing at AGENTS.md, so no.");
  g_assert_cmpuint (count (self), ==, 0);
  read_instructions (self, "c2", "failed", "AGENTS.md is a pipe.");
  g_assert_cmpuint (count (self), ==, 1);
  read_instructions (self, "c3", "ok", "There is nothing at all to say.");
  g_assert_cmpuint (count (self), ==, 2);
  g_assert_true (item (self, 1)->instructions);

  ow_transcript_freeze (self->transcript);
  read_instructions (self, "c4", "failed", "There is nothing at AGENTS.md, so no.");
  ow_transcript_thaw (self->transcript);
  g_assert_cmpuint (count (self), ==, 2);
}

static void
add_test (const char *path,
          void      (*func)(Fixture *, gconstpointer))
{
  g_test_add (path, Fixture, NULL, set_up, func, tear_down);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add_test ("/transcript/pieces", test_pieces);
  add_test ("/transcript/batches", test_batches);
  add_test ("/transcript/cut", test_cut);
  add_test ("/transcript/U01/call", test_call);
  add_test ("/transcript/two-calls", test_two_calls);
  add_test ("/transcript/U06/request", test_request);
  add_test ("/transcript/U06/reopen", test_reopen);
  add_test ("/transcript/ends", test_ends);
  add_test ("/transcript/freeze", test_freeze);
  add_test ("/transcript/hosts", test_hosts);
  add_test ("/transcript/folders", test_folders);
  add_test ("/transcript/no-instructions", test_no_instructions);
  return g_test_run ();
}
