/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-diff.h"
#include "events/ow-event-list.h"
#include "ow-diff-view-private.h"
#include "ow-transcript-diff-private.h"
#include "ow-transcript-private.h"

/* Diffs in the window: bounded, with nothing in them but what can be seen; and which cards offer to
 * take a change back. */

#define HEAD "--- a/f\n+++ b/f\n"

static guint
count_lines (const char *text)
{
  guint n = 0;

  for (const char *at = text; *at != '\0'; at++)
    n += *at == '\n';
  return n;
}

static char *
show (const char *diff,
      guint       expected)
{
  g_autoptr (GByteArray) kinds = g_byte_array_new ();
  char *words = ow_diff_view_words (diff, kinds);

  g_assert_cmpuint (count_lines (words), ==, expected);
  g_assert_cmpuint (kinds->len, ==, expected);
  g_assert_true (g_utf8_validate (words, -1, NULL));
  return words;
}

/* S05: what would take seconds to lay out is cut, and it is said. */
static void
test_S05_view (void)
{
  g_autofree char *many = NULL;
  g_autofree char *one = g_strnfill (1024 * 1024, 'x');
  g_autofree char *long_line = g_strconcat (HEAD "@@ -0,0 +1 @@\n+", one, NULL);
  g_autofree char *wide = NULL;
  g_autofree char *again = NULL;
  g_autofree char *shown = NULL;
  g_autoptr (GString) text = g_string_new (HEAD "@@ -0,0 +1,100000 @@\n");
  g_autoptr (GString) full = g_string_new (HEAD "@@ -0,0 +1,4000 @@\n");
  gint64 begun = g_get_monotonic_time ();

  for (guint i = 0; i < 100000; i++)
    g_string_append (text, "+line\n");
  shown = show (text->str, OW_DIFF_VIEW_LINES + 1);
  g_assert_true (g_str_has_suffix (shown, "[96003 more lines are left out here.]\n"));
  g_clear_pointer (&shown, g_free);
  shown = show (long_line, 4);
  g_assert_cmpuint (strlen (shown), <, 2 * OW_DIFF_VIEW_LINE_CHARS);
  g_assert_true (g_str_has_suffix (shown, "…\n"));
  for (guint i = 0; i < 3000; i++)
    g_string_append_printf (full, "+%.2000s\n", one);
  again = ow_diff_view_words (full->str, NULL);
  wide = show (full->str, count_lines (again));
  g_assert_cmpuint (strlen (wide), <, OW_DIFF_VIEW_CHARS + 4 * OW_DIFF_VIEW_LINE_CHARS);
  g_assert_nonnull (strstr (wide, "left out here.]"));
  g_assert_cmpint (g_get_monotonic_time () - begun, <, 120 * G_USEC_PER_SEC);
}

/* U02: what is in a file moves nothing, hides nothing and is no markup. */
static void
test_U02_view (void)
{
  g_autofree char *shown = show (HEAD "@@ -0,0 +1 @@\n+<b>\033[2J\r\xe2\x80\xaex\n", 4);

  g_assert_nonnull (strstr (shown, "+<b>^[[2J^M\\u{202E}x\n"));
}

static OwTranscriptItem *
card (const char *tool,
      const char *result)
{
  OwTranscriptItem *item = ow_transcript_item_new (OW_ITEM_TOOL, NULL);

  item->tool = g_strdup (tool);
  ow_transcript_diff_set (item, result);
  g_assert_cmpuint (item->kinds->len, ==, ow_lines_get_n_kept (item->lines));
  return item;
}

static void
test_card (void)
{
  static const char * const lines[] = {
    "Replaced 1 place in f.", " 41   if day:", "-42     old^Mx", "+42     new", "⋮", " 90   end",
  };
  g_autoptr (OwTranscriptItem) item = card ("edit", "Replaced 1 place in f.\n" HEAD
                                            "@@ -41,2 +41,2 @@\n if day:\n-  old\rx\n+  new\r\n"
                                            "@@ -90 +90 @@\n end\n");

  g_assert_cmpuint (item->added, ==, 1);
  g_assert_cmpuint (item->removed, ==, 1);
  g_assert_cmpuint (ow_lines_get_n (item->lines), ==, G_N_ELEMENTS (lines));
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    g_assert_cmpstr (ow_lines_get (item->lines, i), ==, lines[i]);
  g_assert_cmpuint (item->kinds->data[2], ==, OW_DIFF_REMOVED);
  g_assert_cmpuint (item->kinds->data[3], ==, OW_DIFF_ADDED);
}

/* What looks like a head of a diff, and was put in by it, is shown as that. */
static void
test_card_of_a_diff (void)
{
  g_autoptr (OwTranscriptItem) item = card ("edit", HEAD "@@ -0,0 +1,2 @@\n+++ b/g\n+@@ -1 +1 @@\n");

  g_assert_cmpuint (item->added, ==, 2);
  g_assert_cmpstr (ow_lines_get (item->lines, 0), ==, "+1    ++ b/g");
}

static void
test_S05_card (void)
{
  g_autoptr (GString) text = g_string_new (HEAD "@@ -0,0 +1,100000 @@\n");
  g_autoptr (OwTranscriptItem) item = NULL;

  for (guint i = 0; i < 100000; i++)
    g_string_append (text, "+line\n");
  item = card ("edit", text->str);
  g_assert_cmpuint (item->added, ==, 100000);
  g_assert_cmpuint (ow_lines_get_n (item->lines), ==, 100000);
  g_assert_cmpuint (item->kinds->len, ==, OW_LINES_KEPT);
}

static void
on_appended (OwEventList *list,
             OwEvent     *event,
             gpointer     user_data)
{
  ow_transcript_add (user_data, event);
}

static void
add (OwEventList *events,
     OwEventType  type,
     json_t      *members)
{
  g_autoptr (OwEvent) event = ow_event_list_append (events, type, members, NULL);

  g_assert_nonnull (event);
}

static void
call (OwEventList *events,
      const char  *id,
      const char  *tool,
      json_t      *arguments,
      json_t      *undoes,
      const char  *outcome,
      json_t      *structured)
{
  add (events, OW_EVENT_TOOL_ASKED,
       json_pack ("{s:s, s:s, s:o, s:s, s:o*}", "call", id, "tool", tool, "arguments", arguments,
                  "level", "direct", "undoes", undoes));
  add (events, OW_EVENT_TOOL_ENDED,
       json_pack ("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:o*}", "call", id, "tool", tool, "level",
                  "direct", "outcome", outcome, "result", "x", "duration_ms", 1, "bytes", 1,
                  "structured", structured));
}

static OwUndoState
state_of (OwTranscript *transcript,
          guint         i)
{
  g_autoptr (OwTranscriptItem) item = g_list_model_get_item (G_LIST_MODEL (transcript), i);

  return item->undo;
}

static void
undo (OwEventList *events,
      const char  *id,
      gboolean     apply,
      const char  *state)
{
  call (events, id, "undo",
        json_pack ("{s:[{s:s}], s:b}", "changes", "path", "/w/f", "apply", apply),
        json_pack ("[s]", "c1"), "ok",
        json_pack ("{s:[{s:s, s:s}]}", "files", "path", "/w/f", "state", state));
}

static void
test_offered_and_undone (void)
{
  g_autoptr (OwEventList) events = ow_event_list_new ("s");
  g_autoptr (OwTranscript) transcript = ow_transcript_new ();

  g_signal_connect (events, "appended", G_CALLBACK (on_appended), transcript);
  call (events, "c1", "edit", json_object (), NULL, "ok", json_pack ("{s:{}}", "change"));
  call (events, "c2", "edit", json_object (), NULL, "ok",
        json_pack ("{s:{s:b}}", "change", "kept", FALSE));
  call (events, "c3", "edit", json_object (), NULL, "failed", json_pack ("{s:{}}", "change"));
  call (events, "c4", "shell", json_object (), NULL, "ok", json_pack ("{s:{}}", "change"));
  g_assert_cmpint (state_of (transcript, 0), ==, OW_UNDO_OFFERED);
  for (guint i = 1; i < 4; i++)
    g_assert_cmpint (state_of (transcript, i), ==, OW_UNDO_NONE);
  ow_transcript_set_undoing (transcript, "c1", TRUE);
  g_assert_cmpint (state_of (transcript, 0), ==, OW_UNDO_WAITING);
  ow_transcript_set_undoing (transcript, "c1", FALSE);
  ow_transcript_set_undoing (transcript, "nosuch", TRUE);
  undo (events, "u1", FALSE, "would restore");
  undo (events, "u2", TRUE, "skipped");
  undo (events, "u3", FALSE, "restored");
  g_assert_cmpint (state_of (transcript, 0), ==, OW_UNDO_OFFERED);
  undo (events, "u4", TRUE, "restored");
  g_assert_cmpint (state_of (transcript, 0), ==, OW_UNDO_DONE);
  ow_transcript_set_undoing (transcript, "c1", FALSE);
  g_assert_cmpint (state_of (transcript, 0), ==, OW_UNDO_DONE);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/diff/S05/view", test_S05_view);
  g_test_add_func ("/diff/U02/view", test_U02_view);
  g_test_add_func ("/diff/card", test_card);
  g_test_add_func ("/diff/card-of-a-diff", test_card_of_a_diff);
  g_test_add_func ("/diff/S05/card", test_S05_card);
  g_test_add_func ("/diff/offered-and-undone", test_offered_and_undone);
  return g_test_run ();
}
