/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"

#include <string.h>

typedef struct {
  const char *in;
  const char *out;
} Row;

static void
test_visible (void)
{
  static const Row rows[] = {
    { "plain\ttext\n", "plain\ttext\n" },
    { "naïve 你好 🙂", "naïve 你好 🙂" },
    { "\x1b]52;c;aGk=\x07", "^[]52;c;aGk=^G" },
    { "\x1b]8;;http://x\x1b\\y", "^[]8;;http://x^[\\y" },
    { "safe\rrm -rf", "safe^Mrm -rf" },
    { "a\bb\x7f", "a^Hb^?" },
    { "\xc2\x9b" "2J", "\\x9B2J" },
    { "\xc2\x85", "\\x85" },
    { "a\xe2\x80\xae" "b", "a\\u{202E}b" },
    { "a\xe2\x81\xa6" "b", "a\\u{2066}b" },
    { "a\xe2\x80\x8b" "b", "a\\u{200B}b" },
    { "\xef\xbb\xbf" "x", "\\u{FEFF}x" },
    { "\xf3\xa0\x81\x81", "\\u{E0041}" },
    { "a\xe2\x80\xa8" "b", "a\\u{2028}b" },
    { "\x9b", "\xef\xbf\xbd" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *out = ow_text_visible (rows[i].in);

      g_assert_cmpstr (out, ==, rows[i].out);
    }
}

static gboolean
must_be_marked (gunichar c)
{
  if (c == '\n' || c == '\t')
    return FALSE;
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || (c >= 0x200B && c <= 0x200F) || c == 0xFEFF ||
         (c >= 0xE0000 && c <= 0xE007F);
}

/* Every code point: none that steers a terminal or hides text comes through. */
static void
test_visible_all (void)
{
  for (gunichar c = 1; c <= 0x10FFFF; c++)
    {
      g_autofree char *shown = NULL;
      char text[8] = { 0 };

      if (c >= 0xD800 && c <= 0xDFFF)
        continue;
      text[g_unichar_to_utf8 (c, text)] = '\0';
      shown = ow_text_visible (text);
      g_assert_true (g_utf8_validate (shown, -1, NULL));
      if (must_be_marked (c) || g_unichar_iscntrl (c))
        {
          if (c == '\n' || c == '\t')
            continue;
          for (const char *p = shown; *p != '\0'; p++)
            g_assert_true (*p >= 0x20 && *p < 0x7F);
        }
      else if (g_unichar_isalnum (c) && !g_unichar_iszerowidth (c) && c != 0x3164 &&
               c != 0xFFA0 && c != 0x115F && c != 0x1160)
        g_assert_cmpstr (shown, ==, text);
    }
}

static void
test_from_bytes (void)
{
  static const struct {
    const char *in;
    gssize      length;
    const char *out;
  } rows[] = {
    { "abc", 2, "ab" },
    { "a\0b", 3, "a\xe2\x90\x80" "b" },
    { "\xff\xfe", 2, "\xef\xbf\xbd\xef\xbf\xbd" },
    { "\xc3", 1, "\xef\xbf\xbd" },
    { "\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd" },
    { "\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    { "", 0, "" },
    { "été", -1, "été" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *out = ow_text_from_bytes (rows[i].in, rows[i].length);

      g_assert_cmpstr (out, ==, rows[i].out);
    }
}

static void
test_strip (void)
{
  static const Row rows[] = {
    { "\x1b[31mred\x1b[0m", "red" },
    { "\x1b[?25l\x1b[2K\x1b[1;1Hx", "x" },
    { "\x1b]0;title\x07y", "y" },
    { "\x1b]8;;u\x1b\\link\x1b]8;;\x1b\\", "link" },
    { "\xc2\x9b" "31mc1", "c1" },
    { "\xc2\x9d" "0;t\xc2\x9c" "z", "z" },
    { "\x1bPq#0\x1b\\s", "s" },
    { "\x1b(Bx", "x" },
    { "\x1bOPk", "k" },
    { "end\x1b", "end" },
    { "cut\x1b[", "cut" },
    { "cut\x1b[12", "cut" },
    /* An unterminated string must not swallow what a person has to see. */
    { "\x1b]0;never ended\nrm -rf ~", "0;never ended\nrm -rf ~" },
    { "plain é", "plain é" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *out = ow_text_strip_ansi (rows[i].in);

      g_assert_cmpstr (out, ==, rows[i].out);
    }
}

/* Cut anywhere, what is left of a sequence never starts one. */
static void
test_strip_every_cut (void)
{
  const char *text = "a\x1b[38;5;1mb\x1b]8;;http://h/\x1b\\c\x1b(Bd\x1bP1$r\x1b\\e\xc2\x9b" "1mf";

  for (gsize i = 0; i <= strlen (text); i++)
    {
      g_autofree char *head = g_strndup (text, i);
      g_autofree char *a = ow_text_strip_ansi (head);
      g_autofree char *b = ow_text_strip_ansi (text + i);

      g_assert_null (strchr (a, 0x1b));
      g_assert_null (strchr (b, 0x1b));
    }
}

static void
test_shorten (void)
{
  static const struct {
    const char *in;
    gsize       max;
    gboolean    one_line;
    const char *out;
  } rows[] = {
    { "hello", 5, FALSE, "hello" },
    { "hello!", 5, FALSE, "hell…" },
    { "你好世界", 3, FALSE, "你好…" },
    { "a\nb\r\nc", 10, TRUE, "a b  c" },
    { "a\nb", 10, FALSE, "a\nb" },
    { "ab", 1, FALSE, "…" },
    { "ab", 0, FALSE, "" },
    { "", 3, TRUE, "" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *out = ow_text_shorten (rows[i].in, rows[i].max, rows[i].one_line);

      g_assert_cmpstr (out, ==, rows[i].out);
    }
}

static void
test_json (void)
{
  static const struct { const char *json; const char *shown; } cases[] = {
    { "{\"a\":\"x \\u001b ä 你 😀\"}", "{\"a\":\"x \\u001b ä 你 😀\"}" },
    { "\"\x7f\"", "\"\\u007F\"" },
    { "\"\xc2\x9b" "31m\"", "\"\\u009B31m\"" },
    { "\"\xe2\x80\xaexyz\"", "\"\\u202Exyz\"" },
    { "\"\xef\xbb\xbf\"", "\"\\uFEFF\"" },
    { "\"\xf3\xa0\x80\x81\"", "\"\\uDB40\\uDC01\"" },
    { "", "" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *shown = ow_text_escape_json (cases[i].json);

      g_assert_cmpstr (shown, ==, cases[i].shown);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/text/U02/visible", test_visible);
  g_test_add_func ("/text/U03/every-code-point", test_visible_all);
  g_test_add_func ("/text/from-bytes", test_from_bytes);
  g_test_add_func ("/text/U02/strip", test_strip);
  g_test_add_func ("/text/U02/strip-every-cut", test_strip_every_cut);
  g_test_add_func ("/text/shorten", test_shorten);
  g_test_add_func ("/text/U02/json", test_json);

  return g_test_run ();
}
