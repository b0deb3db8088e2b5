/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <string.h>

#include "ow-lines-private.h"

static char *
join (const OwLines *lines)
{
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint i = 0; i < ow_lines_get_n_kept (lines); i++)
    g_string_append_printf (out, "%s|", ow_lines_get (lines, i));
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* One text in every pair of pieces gives the same lines. */
static void
test_pieces (void)
{
  static const char text[] = "one\ntwo\r\nthree\rfour\n\nç\033[31mred\033[0m\n\r\nend\n";

  for (gsize cut = 0; cut <= strlen (text); cut++)
    {
      g_autoptr (OwLines) lines = ow_lines_new ();
      g_autofree char *first = g_strndup (text, cut);
      g_autofree char *joined = NULL;

      if (!g_utf8_validate (first, -1, NULL))
        continue;
      ow_lines_append (lines, first);
      ow_lines_append (lines, text + cut);
      joined = join (lines);
      g_assert_cmpstr (joined, ==, "one|two|three|four||çred||end|");
      g_assert_cmpuint (ow_lines_get_n (lines), ==, 8);
    }
}

/* Nothing that came is written over unseen: a carriage return ends a line. */
static void
test_overwrite (void)
{
  g_autoptr (OwLines) lines = ow_lines_new ();
  g_autofree char *joined = NULL;

  ow_lines_set (lines, "rm -rf /\rls\n");
  joined = join (lines);
  g_assert_cmpstr (joined, ==, "rm -rf /|ls|");
}

/* Every control is gone from what a label gets, whatever the bytes around it. */
static void
test_controls (void)
{
  for (gunichar c = 1; c < 0xa0; c++)
    {
      g_autoptr (OwLines) lines = ow_lines_new ();
      char bytes[8] = "";
      g_autofree char *text = NULL;
      g_autofree char *joined = NULL;

      if (c >= ' ' && c < 0x7f)
        continue;
      g_unichar_to_utf8 (c, bytes);
      text = g_strconcat ("a", bytes, "]52;c;ZXZpbA==\007b", NULL);
      ow_lines_set (lines, text);
      joined = join (lines);
      for (const char *at = joined; *at != '\0'; at = g_utf8_next_char (at))
        g_assert_false (g_unichar_iscntrl (g_utf8_get_char (at)) && *at != '\t');
    }
}

static void
test_hidden (void)
{
  static const gunichar HIDDEN[] = { 0x202e, 0x202d, 0x2066, 0x2069, 0x200b, 0x200e, 0xfeff };

  for (guint i = 0; i < G_N_ELEMENTS (HIDDEN); i++)
    {
      g_autoptr (OwLines) lines = ow_lines_new ();
      char bytes[8] = "";
      g_autofree char *text = NULL;
      g_autofree char *mark = g_strdup_printf ("\\u{%04X}", HIDDEN[i]);
      g_autofree char *whole = NULL;

      g_unichar_to_utf8 (HIDDEN[i], bytes);
      text = g_strconcat ("cat ", bytes, "x", NULL);
      ow_lines_set (lines, text);
      g_assert_nonnull (strstr (ow_lines_get (lines, 0), mark));
      whole = ow_lines_whole (text, 100);
      g_assert_nonnull (strstr (whole, mark));
    }
}

/* A megabyte in one line, in one piece and in many, is a few hundred characters. */
static void
test_endless_line (void)
{
  g_autofree char *text = g_strnfill (1024 * 1024, 'x');
  g_autoptr (OwLines) whole = ow_lines_new ();
  g_autoptr (OwLines) pieces = ow_lines_new ();
  g_autofree char *piece = g_strnfill (1000, 'x');

  ow_lines_set (whole, text);
  g_assert_cmpint (g_utf8_strlen (ow_lines_get (whole, 0), -1), <=, OW_LINES_CHARS);
  for (guint i = 0; i < 1000; i++)
    ow_lines_append (pieces, piece);
  ow_lines_append (pieces, "\nnext\n");
  g_assert_cmpuint (ow_lines_get_n_kept (pieces), ==, 2);
  g_assert_cmpint (g_utf8_strlen (ow_lines_get (pieces, 0), -1), <=, OW_LINES_CHARS);
  g_assert_cmpstr (ow_lines_get (pieces, 1), ==, "next");
}

static void
test_many_lines (void)
{
  g_autoptr (OwLines) whole = ow_lines_new ();
  g_autoptr (OwLines) live = ow_lines_new ();
  g_autoptr (GString) text = g_string_new (NULL);
  guint kept;

  for (guint i = 0; i < 50000; i++)
    g_string_append_printf (text, "line %u\n", i);
  ow_lines_set (whole, text->str);
  g_assert_cmpuint (ow_lines_get_n (whole), ==, 50000);
  g_assert_cmpuint (ow_lines_get_n_kept (whole), ==, OW_LINES_KEPT);
  g_assert_cmpstr (ow_lines_get (whole, 0), ==, "line 0");

  ow_lines_append (live, text->str);
  kept = ow_lines_get_n_kept (live);
  g_assert_cmpuint (ow_lines_get_n (live), ==, 50000);
  g_assert_cmpuint (kept, <, 2 * OW_LINES_KEPT);
  g_assert_cmpstr (ow_lines_get (live, kept - 1), ==, "line 49999");
}

static void
test_clip (void)
{
  static const struct
  {
    const char *text;
    gsize       line;
    gsize       all;
    const char *shown;
    gboolean    cut;
  } CASES[] = {
    { "", 5, 10, "", FALSE },
    { "abc\ndef", 5, 10, "abc\ndef", FALSE },
    { "abcdef\ng", 5, 10, "abcde…\ng", TRUE },
    { "ab\ncd\nef\ngh", 5, 6, "ab\ncd\n", TRUE },
    { "çéíöü\nx", 5, 10, "çéíöü\nx", FALSE },
    { "a\n\n\nb", 5, 10, "a\n\n\nb", FALSE },
    { "<b>&amp;", 20, 20, "<b>&amp;", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (CASES); i++)
    {
      gboolean cut;
      g_autofree char *shown = ow_lines_clip (CASES[i].text, CASES[i].line, CASES[i].all, &cut);

      g_assert_cmpstr (shown, ==, CASES[i].shown);
      g_assert_cmpint (cut, ==, CASES[i].cut);
    }
}

/* No word is longer than what is laid out in no time; text in scripts without spaces, and text
 * with them, stays as it is. */
static void
test_words (void)
{
  g_autofree char *word = g_strnfill (100000, 'w');
  g_autoptr (GString) spaced = g_string_new (NULL);
  g_autoptr (GString) chinese = g_string_new (NULL);
  g_autofree char *shown = ow_lines_clip (word, 4000, 60000, NULL);
  g_autofree char *same = NULL;
  g_autofree char *also = NULL;
  g_auto (GStrv) lines = g_strsplit (shown, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    g_assert_cmpint (g_utf8_strlen (lines[i], -1), <=, 201);
  for (guint i = 0; i < 300; i++)
    {
      g_string_append (spaced, "word ");
      g_string_append (chinese, "你好，");
    }
  same = ow_lines_clip (spaced->str, 4000, 60000, NULL);
  also = ow_lines_clip (chinese->str, 4000, 60000, NULL);
  g_assert_cmpstr (same, ==, spaced->str);
  g_assert_cmpstr (also, ==, chinese->str);
}

/* What a person judges is never cut; only a break of ours is marked, on every line. */
static void
test_whole (void)
{
  g_autofree char *long_line = g_strnfill (5000, 'y');
  g_autofree char *text = g_strconcat ("first\n", long_line, "\n   ⋮ fake\nlast", NULL);
  g_autofree char *plain = ow_lines_whole ("one\n  two", 100);
  g_autofree char *shown = ow_lines_whole (text, 2000);
  g_auto (GStrv) lines = g_strsplit (shown, "\n", -1);
  gsize ys = 0;

  g_assert_cmpstr (plain, ==, "one\n  two");
  g_assert_cmpuint (g_strv_length (lines), ==, 6);
  g_assert_cmpstr (lines[0], ==, "   1 first");
  g_assert_true (g_str_has_prefix (lines[1], "   2 yyy"));
  g_assert_true (g_str_has_prefix (lines[2], "   ⋮ yyy"));
  g_assert_cmpstr (lines[4], ==, "   3    ⋮ fake");
  g_assert_cmpstr (lines[5], ==, "   4 last");
  for (const char *at = shown; *at != '\0'; at++)
    ys += *at == 'y';
  g_assert_cmpuint (ys, ==, 5000);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lines/pieces", test_pieces);
  g_test_add_func ("/lines/U02/overwrite", test_overwrite);
  g_test_add_func ("/lines/U02/controls", test_controls);
  g_test_add_func ("/lines/U03/hidden", test_hidden);
  g_test_add_func ("/lines/endless-line", test_endless_line);
  g_test_add_func ("/lines/many-lines", test_many_lines);
  g_test_add_func ("/lines/clip", test_clip);
  g_test_add_func ("/lines/words", test_words);
  g_test_add_func ("/lines/U03/whole", test_whole);
  return g_test_run ();
}
