/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "files-fixture.h"

#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <utime.h>

#include "ow-runner-ignore-private.h"
#include "ow-runner-pattern-private.h"
#include "ow-runner-syntax-private.h"
#include "ow-runner-wildcard-private.h"

static void
test_wildcard (void)
{
  static const struct {
    const char *pattern;
    const char *path;
    bool        matches;
  } cases[] = {
    { "*.c", "a.c", true }, { "*.c", "a/b.c", false }, { "**/*.c", "a.c", true },
    { "**/*.c", "a/b/c.c", true }, { "a/**", "a/b", true }, { "a/**", "a/b/c", true },
    { "a/**", "a", false }, { "a/**/b", "a/b", true }, { "a/**/b", "a/x/y/b", true },
    { "a/**/b", "ab", false }, { "**", "x/y", true }, { "**/a/**/b/**", "z/a/b/q", true },
    { "**/a/**/b/**", "z/a/b", false }, { "?", "a", true }, { "?", "ab", false },
    { "?", "é", true }, { "??", "é", false }, { "[a-c]x", "bx", true }, { "[a-c]x", "dx", false },
    { "[!a-c]x", "dx", true }, { "[^a-c]x", "bx", false }, { "[]]", "]", true },
    { "[a-]", "-", true }, { "[", "[", true }, { "[a", "[a", true }, { "[[:digit:]]x", "7x", true },
    { "[[:digit:]]x", "ax", false }, { "[ä-ü]", "ö", true }, { "\\*", "*", true },
    { "\\*", "a", false }, { "a\\?b", "a?b", true }, { "{a,b}.c", "b.c", true },
    { "{a,b}.c", "c.c", false }, { "{a,b{1,2}}x", "b2x", true }, { "{a,}x", "x", true },
    { "x{a", "x{a", true }, { "{a}", "{a}", true }, { "src/{a,b}/**/*.{c,h}", "src/b/q/z.h", true },
    { "*a*b*c", "xaybzc", true }, { "*a*b*c", "xaybz", false }, { "./a", "a", true },
    { "a//b", "a/b", true }, { "**.c", "x.c", true }, { "**.c", "d/x.c", false },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      OwRunnerWildcard *wildcard = ow_runner_wildcard_new (cases[i].pattern,
                                                           strlen (cases[i].pattern), true);

      g_assert_nonnull (wildcard);
      if (ow_runner_wildcard_match (wildcard, cases[i].path) != cases[i].matches)
        g_error ("%s against %s", cases[i].pattern, cases[i].path);
      ow_runner_wildcard_free (wildcard);
    }
}

/* Patterns made to take for ever. */
static void
test_wildcard_costly (void)
{
  g_autofree char *name = g_strnfill (250, 'a');
  g_autoptr (GString) stars = g_string_new (NULL);
  g_autoptr (GString) depths = g_string_new (NULL);
  g_autoptr (GString) path = g_string_new (NULL);
  g_autoptr (GString) braces = g_string_new (NULL);
  gint64 start = g_get_monotonic_time ();

  for (gsize i = 0; i < 100; i++)
    {
      g_string_append (stars, "*a");
      g_string_append (depths, "**/a/");
      g_string_append (path, "a/");
      g_string_append (braces, "{a,b}");
    }
  g_string_append (stars, "b");
  g_string_append (depths, "b");
  g_string_append (path, "c");
  for (gsize i = 0; i < 2; i++)
    {
      const GString *pattern = i == 0 ? stars : depths;
      OwRunnerWildcard *wildcard = ow_runner_wildcard_new (pattern->str, pattern->len, true);

      g_assert_false (ow_runner_wildcard_match (wildcard, i == 0 ? name : path->str));
      ow_runner_wildcard_free (wildcard);
    }
  g_assert_null (ow_runner_wildcard_new (braces->str, braces->len, true));
  g_assert_cmpint (g_get_monotonic_time () - start, <, 10 * G_USEC_PER_SEC);
}

static void
test_ignore_rules (void)
{
  static const struct {
    const char           *rules;
    const char           *path;
    bool                  folder;
    OwRunnerIgnoreVerdict verdict;
  } cases[] = {
    { "*.o\n", "a/b.o", false, OW_RUNNER_IGNORE_OUT },
    { "*.o\n", "a/b.c", false, OW_RUNNER_IGNORE_SILENT },
    { "*.o\n!keep.o\n", "x/keep.o", false, OW_RUNNER_IGNORE_IN },
    { "!keep.o\n*.o\n", "keep.o", false, OW_RUNNER_IGNORE_OUT },
    { "/top\n", "top", false, OW_RUNNER_IGNORE_OUT },
    { "/top\n", "a/top", false, OW_RUNNER_IGNORE_SILENT },
    { "a/b\n", "a/b", false, OW_RUNNER_IGNORE_OUT },
    { "a/b\n", "x/a/b", false, OW_RUNNER_IGNORE_SILENT },
    { "**/a/b\n", "x/a/b", false, OW_RUNNER_IGNORE_OUT },
    { "dir/\n", "dir", true, OW_RUNNER_IGNORE_OUT },
    { "dir/\n", "dir", false, OW_RUNNER_IGNORE_SILENT },
    { "dir/\n", "x/dir", true, OW_RUNNER_IGNORE_OUT },
    { "a/**\n", "a/x", false, OW_RUNNER_IGNORE_OUT },
    { "a/**/z\n", "a/b/c/z", false, OW_RUNNER_IGNORE_OUT },
    { "# note\n\\#x\n", "#x", false, OW_RUNNER_IGNORE_OUT },
    { "# note\n", "# note", false, OW_RUNNER_IGNORE_SILENT },
    { "\\!x\n", "!x", false, OW_RUNNER_IGNORE_OUT },
    { "x  \n", "x", false, OW_RUNNER_IGNORE_OUT },
    { "x\\ \n", "x ", false, OW_RUNNER_IGNORE_OUT },
    { "x\r\n", "x", false, OW_RUNNER_IGNORE_OUT },
    { "\xef\xbb\xbfx\n", "x", false, OW_RUNNER_IGNORE_OUT },
    { "x", "x", false, OW_RUNNER_IGNORE_OUT },
    { "/\n!\n!/\nx\n", "x", false, OW_RUNNER_IGNORE_OUT },
    { "*\n!*/\n!*.c\n", "a.h", false, OW_RUNNER_IGNORE_OUT },
    { "*\n!*/\n!*.c\n", "a.c", false, OW_RUNNER_IGNORE_IN },
    { "*\n!*/\n!*.c\n", "d", true, OW_RUNNER_IGNORE_IN },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      OwRunnerIgnore *rules = ow_runner_ignore_new (cases[i].rules, strlen (cases[i].rules));
      OwRunnerIgnoreVerdict verdict = OW_RUNNER_IGNORE_SILENT;

      if (rules != NULL)
        verdict = ow_runner_ignore_match (rules, cases[i].path, cases[i].folder);
      if (verdict != cases[i].verdict)
        g_error ("%s against %s", cases[i].rules, cases[i].path);
      ow_runner_ignore_free (rules);
    }
  g_assert_null (ow_runner_ignore_new ("\n# x\n \n/\n", 9));
}

static void
test_ignore_tree (void)
{
  Files *files = files_new ();
  const char *text;

  files_put (files, "work/.gitignore", "build/\n*.log\n/only-top\nsub/made\n");
  files_put (files, "work/.git/config", "needle\n");
  files_put (files, "work/build/x", "needle\n");
  files_put (files, "work/src/build/x", "needle\n");
  files_put (files, "work/only-top", "needle\n");
  files_put (files, "work/src/only-top", "needle\n");
  files_put (files, "work/sub/made", "needle\n");
  files_put (files, "work/sub/.gitignore", "!important.log\nprivate\n");
  files_put (files, "work/sub/important.log", "needle\n");
  files_put (files, "work/sub/other.log", "needle\n");
  files_put (files, "work/sub/deeper/private", "needle\n");
  files_put (files, "work/private", "needle\n");
  text = files_call (files, "grep", "{'pattern': 'needle'}");
  g_assert_cmpstr (text, ==, "private:1:needle\nsrc/only-top:1:needle\n"
                   "sub/important.log:1:needle\n");
  text = files_call (files, "glob", "{'pattern': '**/*.log'}");
  g_assert_cmpstr (text, ==, "sub/important.log\n");
  /* The rules above a start count there as well; what is named itself is looked into. */
  text = files_call (files, "grep", "{'pattern': 'needle', 'path': 'sub'}");
  g_assert_cmpstr (text, ==, "sub/important.log:1:needle\n");
  text = files_call (files, "grep", "{'pattern': 'needle', 'path': 'build'}");
  g_assert_cmpstr (text, ==, "build/x:1:needle\n");
  text = files_call (files, "grep", "{'pattern': 'needle', 'path': 'sub/other.log'}");
  g_assert_cmpstr (text, ==, "sub/other.log:1:needle\n");
  text = files_call (files, "grep", "{'pattern': 'nothing'}");
  files_assert_has (text, "left out for .gitignore");
  files_free (files);
}

static void
test_glob (void)
{
  static const char *const names[] = { "oldest.c", "d/newest.c", "middle.c" };
  static const time_t times[] = { 1000, 3000, 2000 };
  Files *files = files_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *name = g_strconcat ("work/", names[i], NULL);
      struct utimbuf when = { times[i], times[i] };

      files_put (files, name, "");
      g_assert_cmpint (utime (files_path (files, "%s", name), &when), ==, 0);
    }
  g_assert_cmpstr (files_call (files, "glob", "{'pattern': '**/*.c'}"), ==,
                   "d/newest.c\nmiddle.c\noldest.c\n");
  g_assert_cmpstr (files_call (files, "glob", "{'pattern': '*.c', 'path': 'd/'}"), ==,
                   "d/newest.c\n");
  files_assert_has (files_call (files, "glob", "{'pattern': 'n*.c'}"), "**/");
  files_assert_has (files_call (files, "glob", "{'pattern': 'd/'}"), "Only files are named");
  files_put (files, "work/.hidden", "x\ny\n");
  files_assert_has (files_call (files, "glob", "{'pattern': '*'}"), ".hidden\n");
  files_assert_has (files_call (files, "grep", "{'pattern': 'x\\\\ny'}"), "looked at by itself");
  files_free (files);
}

static void
test_grep_context (void)
{
  Files *files = files_new ();

  files_put (files, "work/f", "1\n2\nhit\n4\nhit\n6\n7\n8\n9\n10\nhit");
  files_put (files, "work/g", "hit\nend");
  g_assert_cmpstr (files_call (files, "grep", "{'pattern': 'hit', 'context': 1}"), ==,
                   "f-2-2\nf:3:hit\nf-4-4\nf:5:hit\nf-6-6\n--\nf-10-10\nf:11:hit\n--\n"
                   "g:1:hit\ng-2-end\n");
  g_assert_cmpint (files_int (files, "matches"), ==, 4);
  g_assert_cmpint (files_int (files, "files"), ==, 2);
  g_assert_cmpstr (files_call (files, "grep", "{'pattern': 'HIT', 'ignore_case': true,"
                               " 'glob': 'g'}"), ==, "g:1:hit\n");
  g_assert_cmpstr (files_call (files, "grep", "{'pattern': '^$'}"), ==, "No match in 2 files.\n");
  g_assert_cmpstr (files_call (files, "grep", "{'pattern': 'd$', 'path': '%s/g'}", files->work), !=,
                   "");
  files_assert_has (files->result.text, "/g:2:end");
  files_free (files);
}

/* Whatever lies between two lines is no line: matches do not go across. */
static void
test_grep_lines (void)
{
  static const struct {
    const char *pattern;
    json_int_t  matches;
  } cases[] = {
    { "one\\\\s+two", 0 }, { "[^x]+", 4 }, { "e$", 2 }, { "\\\\Aone", 1 }, { "one\\\\z", 1 },
    { "(?s)one.two", 0 }, { "a[^b]*+$", 1 }, { "^", 4 }, { "\\\\bthree\\\\b", 1 }, { "t(?=w)", 1 },
    { "one|two", 2 }, { "(?:one|two)", 2 }, { "(?i)ONE", 1 }, { "o?n+e", 1 }, { "x{0,1}one", 1 },
  };
  Files *files = files_new ();

  files_put (files, "work/f", "one\ntwo\nthree\na cat\n");
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      files_call (files, "grep", "{'pattern': '%s'}", cases[i].pattern);
      files_assert_done (files);
      if (files_int (files, "matches") != cases[i].matches)
        g_error ("%s: %s", cases[i].pattern, files->result.text);
    }
  files_free (files);
}

/* A match holds one of the literals that are looked for first, and the form for many lines
 * at once is the pattern itself where it cannot meet a newline. */
static void
test_literal (void)
{
  static const struct {
    const char *pattern;
    const char *literals;
    const char *confined;
  } cases[] = {
    { "needle", "needle", "needle" }, { "a+needle", "needle", "a+needle" },
    { "needles?", "needle", "needles?" }, { "one.*three", "three", "one.*three" },
    { "a|needle", "a|needle", "a|needle" }, { "a?|needle", "", "a?|needle" },
    { "(needle)", "needle", "(needle)" }, { "(needle)?", "", "(needle)?" },
    { "(needle)+x", "needle", "(needle)+x" }, { "(one|four)ty", "one|four", "(one|four)ty" },
    { "(?i)NEEDLE", "needle", "(?i)NEEDLE" }, { "(?i)tasks", "ta", "(?i)tasks" },
    { "n(?i)eedle", "", NULL }, { "needle(?:x|y)", "needle", "needle(?:x|y)" },
    { "\\.needle\\d", ".needle", "\\.needle\\d" }, { "x{0,1}needle", "needle", "x{0,1}needle" },
    { "f() {", " {", "f() {" }, { "a{b}", "a{b}", "a{b}" }, { "a{b", "a{b", "a{b" },
    { "needl[e]", "needl", "needl[e]" }, { "\\Qneedle\\E", "", NULL }, { "\\x41needle", "", NULL },
    { "é?needle", "needle", "é?needle" }, { "(*UTF)needle", "", NULL }, { "needle(?#x)", "", NULL },
    { "ab*c", "a", "ab*c" }, { "[]a]needle", "needle", "[]a]needle" },
    { "[^]a]x", "x", "[^\\n\\]a]x" }, { "[^-a]", "", "[^\\n\\-a]" }, { "[^a]", "", "[^\\na]" },
    { "[[:alpha:]]needle", "needle", "(?:(?!\\n)[[:alpha:]])needle" },
    { "[\\s,]+", "", "(?:(?!\\n)[\\s,])+" }, { "a\\sb", "a", "a[^\\S\\n]b" },
    { "\\Wa\\D", "a", "[^\\w\\n]a[^\\d\\n]" }, { "(?x)need le", "", NULL },
    { "need\\Kle", "", NULL }, { "\\Aneedle", "needle", NULL }, { "a\\Rneedle", "needle", NULL },
    { "(?<=a)needle(?!b)", "needle", "(?<=a)needle(?!b)" }, { "a\\nneedle", "", NULL },
    { "(a)\\1needle", "", NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) found = g_string_new (NULL);
      OwRunnerSyntax syntax;

      ow_runner_syntax_take (&syntax, cases[i].pattern, strlen (cases[i].pattern), false);
      for (gsize n = 0; n < syntax.needles.n; n++)
        g_string_append_printf (found, "%s%.*s", n > 0 ? "|" : "",
                                (int) syntax.needles.needles[n].length,
                                syntax.needles.needles[n].text);
      if (g_strcmp0 (found->str, cases[i].literals) != 0)
        g_error ("%s: \"%s\"", cases[i].pattern, found->str);
      if (syntax.is_confined != (cases[i].confined != NULL) ||
          (syntax.is_confined && g_strcmp0 (syntax.confined.data, cases[i].confined) != 0))
        g_error ("%s: %s", cases[i].pattern, syntax.is_confined ? syntax.confined.data : "none");
      ow_runner_syntax_clear (&syntax);
    }
}

/* Counts the lines that match, one by one or many at once. */
static guint
count_lines (OwRunnerPattern *pattern,
             const char      *text,
             gboolean         at_once)
{
  gsize length = strlen (text);
  gsize at = 0;
  guint n = 0;

  ow_runner_pattern_new_bytes (pattern);
  while (at < length)
    {
      const char *newline;
      gsize start = 0;
      gsize end;
      gsize from;

      if (at_once && ow_runner_pattern_next (pattern, text + at, length - at, &start) ==
          OW_RUNNER_PATTERN_NONE)
        break;
      newline = g_strrstr_len (text + at, (gssize) start, "\n");
      start = newline != NULL ? (gsize) (newline + 1 - text) : at;
      end = start + strcspn (text + start, "\n");
      n += ow_runner_pattern_line (pattern, text + start, end - start, &from, &from) ==
           OW_RUNNER_PATTERN_FOUND;
      at = end + 1;
    }
  return n;
}

/* Looking at many lines at once finds the lines that looking at each finds. */
static void
test_lines_at_once (void)
{
  static const char *const patterns[] = {
    "one", "o[^x]*e", "[^x]+$", "^\\s+\\S", "\\s*$", "^$", "^", "$", "x|one|two", "(?i)ONE", "(?i)kelvin",
    "\\bone\\b", "\\Bne", "(?<=o)n", "(?<!o)n", "(?<![^o])n", "n(?!e)", "[\\s\\S]{4}", "o.e", "^.{3}$",
    "(one|two)+", "[[:space:]]+t", "\\Wt", "a*", "o*+n", "(?>o+)n", "é", "[^é]", "t\\H*o", "one\\r?$",
    "\\A.", ".\\z", "\\R", "one\\n", "e\\s*t", "(o)\\1", "(?<!e)$", "\\w+\\.\\w+\\(", "[a-z]{3,}",
    "\\d{2}", "f\\(\\) {", "[[[:]:[]\033;]", "[[:^alpha:]x]", "[[:]e", "[]:]|[[:] n:]",
  };
  static const char *const texts[] = {
    "one\ntwo\nthree\n", "one\r\ntwo\r\n\r\n", "\n\n  one\n\t\n two", "lone\nnone\nton on\nn\n",
    "caf\xc3\xa9 one\n\xc3\xa9t\xc3\xa9\n\xe2\x84\252elvin KELVIN\n", "caf\xe9 one\n\xf0\x9f\x98 two\n",
    "xone\rtwo\n", "oo\noon 12\na.b(c\nf() {\n", "", "\n", "one two three four five six seven\n\n\n\n",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (patterns); i++)
    {
      for (gsize j = 0; j < G_N_ELEMENTS (texts) * 2; j++)
        {
          const char *text = texts[j / 2];
          char *error = NULL;
          OwRunnerPattern *pattern = ow_runner_pattern_new (patterns[i], strlen (patterns[i]),
                                                            j % 2 == 1, &error);
          guint one_by_one;
          guint at_once;

          g_assert_nonnull (pattern);
          one_by_one = count_lines (pattern, text, FALSE);
          at_once = count_lines (pattern, text, TRUE);
          if (one_by_one != at_once)
            g_error ("%s on \"%s\": %u one by one, %u at once", patterns[i], text, one_by_one,
                     at_once);
          ow_runner_pattern_free (pattern);
        }
    }
}

/* Lines that take long, and are not given up, do not go on for ever. */
static void
test_deadline (void)
{
  const struct timespec past = { .tv_nsec = 1, .tv_sec = 1 };
  g_autoptr (GString) text = g_string_new (NULL);
  char *error = NULL;
  OwRunnerPattern *pattern = ow_runner_pattern_new ("\\A[a][b]", 8, false, &error);
  gsize start = 0;

  for (guint i = 0; i < 1000; i++)
    g_string_append (text, "x\n");
  g_string_append (text, "abc\n");
  g_assert_cmpint (ow_runner_pattern_next (pattern, text->str, text->len, &start), ==,
                   OW_RUNNER_PATTERN_FOUND);
  g_assert_cmpuint (start, ==, 2000);
  ow_runner_pattern_set_deadline (pattern, &past);
  g_assert_cmpint (ow_runner_pattern_next (pattern, text->str, text->len, &start), ==,
                   OW_RUNNER_PATTERN_NONE);
  ow_runner_pattern_free (pattern);
}

/* The answer is that of one thread, whatever several do, also where it is cut. */
static void
test_order (void)
{
  static const char *const calls[] = {
    "{\"pattern\": \"needle\"}", "{\"pattern\": \"ne+dle [0-9]*7\", \"context\": 1}",
    "{\"pattern\": \"rare\"}", "{\"pattern\": \"^\"}", "{\"pattern\": \"absent\"}",
    "{\"pattern\": \"**/*7\"}", "{\"pattern\": \"**\"}", "{\"pattern\": \"f*\"}",
  };
  Files *files = files_new ();
  cpu_set_t all;
  cpu_set_t one;

  for (guint i = 0; i < 3000; i++)
    {
      g_autofree char *name = g_strdup_printf ("work/d%u/%s%u", i % 7, i % 3 == 0 ? "sub/f" : "f", i);
      g_autoptr (GString) content = g_string_new (NULL);

      for (guint line = 0; line < i % 9; line++)
        g_string_append_printf (content, "line %u of %u\n%s", line, i,
                                line == 3 ? "a needle 17\n" : "");
      g_string_append (content, i % 500 == 17 ? "rare\n" : i % 800 == 3 ? "needle \xff\n" : "");
      files_put (files, name, content->str);
      if (i % 50 == 9)
        files_put (files, i % 100 == 9 ? "work/d1/.gitignore" : "work/d2/sub/.gitignore", "*9\n!*29\n");
    }
  g_assert_cmpint (sched_getaffinity (0, sizeof all, &all), ==, 0);
  CPU_ZERO (&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT (&one) == 0; cpu++)
    {
      if (CPU_ISSET (cpu, &all))
        CPU_SET (cpu, &one);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      const char *tool = i < 5 ? "grep" : "glob";
      g_autofree char *alone = NULL;

      sched_setaffinity (0, sizeof one, &one);
      alone = g_strdup (files_call (files, tool, "%s", calls[i]));
      files_assert_done (files);
      sched_setaffinity (0, sizeof all, &all);
      for (guint n = 0; n < 5; n++)
        g_assert_cmpstr (files_call (files, tool, "%s", calls[i]), ==, alone);
    }
  files_free (files);
}

/* Patterns that take for ever on a line made for it. */
static void
test_costly_patterns (void)
{
  static const char *const patterns[] = {
    "(a+)+$", "(a|aa)+$", "(a*)*b$", "^(a?){25}a{25}$", "(.*)*x$", "(a|a?)+$", "((a+)+)+$",
    "([a-z]+)*$",
  };
  Files *files = files_new ();
  g_autofree char *line = g_strnfill (5000, 'a');
  g_autoptr (GString) content = g_string_new (NULL);

  for (gsize i = 0; i < 200; i++)
    g_string_append_printf (content, "%s!\n", line);
  files_put (files, "work/evil", content->str);
  files_put (files, "work/good", "aaaa\n");
  for (gsize i = 0; i < G_N_ELEMENTS (patterns); i++)
    {
      gint64 start = g_get_monotonic_time ();

      files_call (files, "grep", "{'pattern': '%s'}", patterns[i]);
      files_assert_done (files);
      g_assert_cmpint (g_get_monotonic_time () - start, <, 60 * G_USEC_PER_SEC);
      g_assert_cmpuint (files->result.length, <, 300 * 1024);
    }
  files_call (files, "grep", "{'pattern': '(a+)+$'}");
  g_assert_true (files_bool (files, "cut"));
  files_assert_has (files->result.text, "too many steps");
  files_free (files);
}

void
files_add_search_tests (void)
{
  g_test_add_func ("/files/wildcard/table", test_wildcard);
  g_test_add_func ("/files/wildcard/costly", test_wildcard_costly);
  g_test_add_func ("/files/ignore/rules", test_ignore_rules);
  g_test_add_func ("/files/ignore/tree", test_ignore_tree);
  g_test_add_func ("/files/glob", test_glob);
  g_test_add_func ("/files/grep/context", test_grep_context);
  g_test_add_func ("/files/grep/lines", test_grep_lines);
  g_test_add_func ("/files/grep/literal", test_literal);
  g_test_add_func ("/files/grep/lines-at-once", test_lines_at_once);
  g_test_add_func ("/files/grep/deadline", test_deadline);
  g_test_add_func ("/files/grep/order", test_order);
  g_test_add_func ("/files/grep/costly-patterns", test_costly_patterns);
}
