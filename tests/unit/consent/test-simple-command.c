/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-simple-command-private.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ow-file.h"

/* Set: this program is the command, and tells the words that it was started with. */
#define TELL_VARIABLE "OW_TEST_TELL_WORDS"

/* The shells that a line is given to. bash of its own and as a POSIX shell differ. */
static const char * const shells[][4] = {
  { "/bin/bash", "--norc", "--noprofile", NULL },
  { "/bin/bash", "--norc", "--posix", NULL },
  { "/bin/bash", "-O", "extglob", NULL },
  { "/bin/dash", NULL },
};

typedef struct {
  char *base;    /* (owned) */
  char *work;    /* (owned) where the shells stand: files whose names match many a pattern */
  char *bin;     /* (owned) the only directory of PATH */
} Place;

static void
place_set_up (Place *place)
{
  static const char * const files[] = { "a", "b", "ab", "a1", "1", "x", "[a]", "\\a" };

  place->base = g_dir_make_tmp ("ow-command-XXXXXX", NULL);
  g_assert_nonnull (place->base);
  place->work = g_build_filename (place->base, "work", NULL);
  place->bin = g_build_filename (place->base, "bin", NULL);
  g_assert_cmpint (g_mkdir (place->work, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (place->bin, 0700), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (place->work, files[i], NULL);

      g_assert_true (g_file_set_contents (path, "", 0, NULL));
    }
}

static void
place_tear_down (Place *place)
{
  g_assert_true (ow_file_remove_tree (place->base, NULL));
  g_free (place->base);
  g_free (place->work);
  g_free (place->bin);
}

static int
compare_names (gconstpointer a,
               gconstpointer b)
{
  return strcmp (*(const char * const *) a, *(const char * const *) b);
}

/* Names and sizes of the place's files, in one text. */
static char *
list_work (const Place *place)
{
  g_autoptr (GDir) dir = g_dir_open (place->work, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GString *text = g_string_new (NULL);
  const char *name;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    {
      const char *file = g_ptr_array_index (names, i);
      g_autofree char *path = g_build_filename (place->work, file, NULL);
      GStatBuf info;

      g_assert_cmpint (g_lstat (path, &info), ==, 0);
      g_string_append_printf (text, "%s %ld\n", file, (long) info.st_size);
    }
  return g_string_free (text, FALSE);
}

/* What @script writes; NULL: it failed, or complained. */
static char *
run_shell (const Place         *place,
           const char * const  *shell,
           const char          *script,
           gsize                length,
           gsize               *output_length)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autofree char *path = g_build_filename (place->base, "script", NULL);
  g_autofree char *path_variable = g_strdup_printf ("PATH=%s", place->bin);
  const char *envp[] = { path_variable, "LC_ALL=C.UTF-8", "HOME=/expanded", "a=expanded x",
                         "b=*", TELL_VARIABLE "=1", "ASAN_OPTIONS=detect_leaks=0", NULL };
  g_autoptr (GSubprocess) process = NULL;
  g_autoptr (GSubprocessLauncher) launcher = NULL;
  g_autoptr (GBytes) out = NULL;
  g_autoptr (GBytes) err = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (path, script, (gssize) length, NULL));
  for (guint i = 0; shell[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer) shell[i]);
  g_ptr_array_add (argv, path);
  g_ptr_array_add (argv, NULL);

  launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE |
                                        G_SUBPROCESS_FLAGS_STDERR_PIPE);
  g_subprocess_launcher_set_cwd (launcher, place->work);
  g_subprocess_launcher_set_environ (launcher, (char **) envp);
  process = g_subprocess_launcher_spawnv (launcher, (const char * const *) argv->pdata, &error);
  g_assert_no_error (error);
  g_assert_true (g_subprocess_communicate (process, NULL, NULL, &out, &err, &error));
  if (!g_subprocess_get_successful (process) || g_bytes_get_size (err) > 0)
    return NULL;
  *output_length = g_bytes_get_size (out);
  return g_memdup2 (g_bytes_get_size (out) > 0 ? g_bytes_get_data (out, NULL) : "",
                    MAX (g_bytes_get_size (out), 1));
}

/* The count of the words, then each, all ended by NUL. */
static void
append_told (GString    *told,
             char      **words)
{
  g_string_append_printf (told, "%u", g_strv_length (words));
  g_string_append_c (told, '\0');
  for (guint i = 0; words[i] != NULL; i++)
    g_string_append_len (told, words[i], (gssize) strlen (words[i]) + 1);
}

static gboolean
agree (const Place        *place,
       const char * const *shell,
       const char         *prelude,
       GString            *script,
       GString            *expected)
{
  g_autofree char *whole = g_strconcat (prelude, script->str, NULL);
  gsize length = 0;
  g_autofree char *seen = run_shell (place, shell, whole, strlen (whole), &length);

  return seen != NULL && length == expected->len && memcmp (seen, expected->str, length) == 0;
}

/* Every line reads as the same words in every shell, and does nothing else. @as_words: the line
 * stands behind a command; else its first word is the command. */
static void
compare (const Place *place,
         GPtrArray   *lines,
         gboolean     as_words)
{
  const char *prelude = as_words ? "tell () { printf '%s\\0' \"$#\" \"$@\"; }\n" : "";
  const char *lead = as_words ? "tell " : "";
  g_autofree char *before = list_work (place);
  g_autofree char *after = NULL;
  g_autoptr (GString) script = g_string_new (NULL);
  g_autoptr (GString) expected = g_string_new (NULL);

  for (guint i = 0; i < lines->len; i++)
    {
      g_auto (GStrv) words = ow_simple_command_parse (g_ptr_array_index (lines, i));

      g_string_append_printf (script, "%s%s\n", lead, (char *) g_ptr_array_index (lines, i));
      append_told (expected, words);
    }
  for (gsize s = 0; s < G_N_ELEMENTS (shells); s++)
    {
      if (agree (place, shells[s], prelude, script, expected))
        continue;
      /* Which one it is. */
      for (guint i = 0; i < lines->len; i++)
        {
          const char *line = g_ptr_array_index (lines, i);
          g_auto (GStrv) words = ow_simple_command_parse (line);
          g_autoptr (GString) one = g_string_new (lead);
          g_autoptr (GString) told = g_string_new (NULL);

          g_string_append_printf (one, "%s\n", line);
          append_told (told, words);
          if (!agree (place, shells[s], prelude, one, told))
            g_error ("%s %s reads this in another way: %s", shells[s][0],
                     shells[s][1] != NULL ? shells[s][1] : "", line);
        }
      g_error ("%s reads lines in another way", shells[s][0]);
    }
  after = list_work (place);
  g_assert_cmpstr (after, ==, before);
}

/* A command of that name is there, or can be made to be: it is no builtin and no path. */
static gboolean
provide (const Place *place,
         const char  *name)
{
  static const char * const said[] = { "echo", "true", "false", "pwd", ":", NULL };
  const char *words[] = { name, NULL };
  g_autofree char *path = g_build_filename (place->bin, name, NULL);
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);

  if (strchr (name, '/') != NULL || !ow_simple_command_can_be_rule (words) ||
      g_strv_contains (said, name))
    return FALSE;
  g_assert_true (symlink (self, path) == 0 || g_file_test (path, G_FILE_TEST_EXISTS));
  return TRUE;
}

static void
compare_all (const Place *place,
             GPtrArray   *lines,
             guint        max_commands)
{
  g_autoptr (GPtrArray) commands = g_ptr_array_new ();
  guint step;

  compare (place, lines, TRUE);
  step = MAX (lines->len / max_commands, 1);
  for (guint i = 0; i < lines->len; i += step)
    {
      g_auto (GStrv) words = ow_simple_command_parse (g_ptr_array_index (lines, i));

      if (provide (place, words[0]))
        g_ptr_array_add (commands, g_ptr_array_index (lines, i));
    }
  g_test_message ("%u lines, %u of them as commands", lines->len, commands->len);
  compare (place, commands, FALSE);
}

static void
add_if_read (GPtrArray  *lines,
             const char *line)
{
  g_auto (GStrv) words = ow_simple_command_parse (line);

  if (words != NULL)
    g_ptr_array_add (lines, g_strdup (line));
}

/* Every line of up to five of these, behind a name and as a whole line. */
static void
test_every_short_line (void)
{
  static const char letters[] = "a 1='\"\\$`*?[]{}~!#&;|<>()-,.%^:@+/";
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
  const guint base = sizeof letters - 1;
  Place place;

  place_set_up (&place);
  for (guint length = 1; length <= 3; length++)
    {
      guint n = 1;

      for (guint i = 0; i < length; i++)
        n *= base;
      for (guint number = 0; number < n; number++)
        {
          char line[8] = "";
          g_autofree char *behind = NULL;
          guint rest = number;

          for (guint i = 0; i < length; i++, rest /= base)
            line[i] = letters[rest % base];
          behind = g_strconcat ("x ", line, NULL);
          add_if_read (lines, line);
          add_if_read (lines, behind);
        }
    }
  g_assert_cmpuint (lines->len, >, 3000);
  compare_all (&place, lines, 100);
  place_tear_down (&place);
}

static const char * const nasty[] = {
  "a", "ab", "git", "1", "=", "a=b", "a+=b", "a[0]=b", " ", "  ", "'", "\"", "\\", "$", "$a",
  "${a}", "$(a)", "$((1))", "`", "`a`", "*", "?", "[a]", "[!a]", "{a,b}", "{1..3}", "{}", "~",
  "~root", "~+", "!", "!!", "!a", "#", "# a", "&", "&&", ";", ";;", "|", "||", "<", ">", ">x",
  "2>x", "<<a", "<<<a", "<(a)", ">(a)", "(", ")", "()", "\n", "\t", "\r", "@(a)", "+(a)", "?(a)",
  "!(a)", "*(a)", "\xc3\xa9", "\xe4\xbd\xa0", "\xc2\xa0", "\xe2\x80\x8b", "%", "%1", "^", ",", ":",
  "/", "-", "--", ".", "..", "if", "then", "while", "time", "function", "[[", "{", "}", "''",
  "\"\"", "'x y'", "'*'", "'$a'", "'\\'", "\"x y\"", "\"*\"", "\"~\"", "\"\\$\"", "\"\\\\\"",
  "\"\\n\"", "\"\\\"\"", "\"\\`\"", "\"\\!\"", "\"!\"", "\"$a\"", "\\'", "\\\"", "\\\\", "\\ ",
  "\\*", "\\~", "\\$", "\\#", "\\&", "\\a", "\\\n", "$'a\\n'", "$\"a\"", "\\{a,b\\}", "x:~", "=~",
};
/* What nearly always is read: with these long lines come about. */
static const char * const mild[] = {
  "a", "b", "1", " ", " ", "-x", "=", ",", ".", "/", ":", "%", "@", "+", "'x  y'", "'*'", "'\"'",
  "'$a'", "'\\'", "'#'", "'!'", "\"x y\"", "\"'\"", "\"*\"", "\"\\$a\"", "\"\\\\\"", "\"\\n\"",
  "\"\\\"\"", "\"\\`a\\`\"", "\"{a,b}\"", "\\'", "\\\"", "\\\\", "\\ ", "\\*", "\\~", "\\$", "\\#",
  "\\&", "\\;", "\\(", "\\{a,b\\}", "\\!", "''", "\"\"", "\xc3\xa9", "\xe4\xbd\xa0", "\"\xc3\xa9\"",
  "'\xf0\x9f\x99\x82'",
};

static void
test_random_lines (void)
{
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) line = g_string_new (NULL);
  Place place;

  place_set_up (&place);
  for (guint i = 0; i < 100000; i++)
    {
      gint n = g_test_rand_int_range (1, 12);
      gint odds = g_test_rand_int_range (0, 4);

      g_string_assign (line, i % 2 == 0 ? "x " : "");
      for (gint k = 0; k < n; k++)
        {
          gboolean is_mild = odds > 0 || g_test_rand_int_range (0, 4) > 0;

          if (is_mild && (odds > 1 || g_test_rand_int_range (0, 8) > 0))
            g_string_append (line, mild[g_test_rand_int_range (0, G_N_ELEMENTS (mild))]);
          else
            g_string_append (line, nasty[g_test_rand_int_range (0, G_N_ELEMENTS (nasty))]);
        }
      add_if_read (lines, line->str);
    }
  g_assert_cmpuint (lines->len, >, 20000);
  compare_all (&place, lines, 100);
  place_tear_down (&place);
}

static void
assert_read (const char         *line,
             const char * const *expected)
{
  g_auto (GStrv) words = ow_simple_command_parse (line);

  g_assert_nonnull (words);
  g_assert_true (g_strv_equal ((const char * const *) words, expected));
}

#define WORDS(...) ((const char * const[]) { __VA_ARGS__, NULL })

static void
test_read (void)
{
  assert_read ("git status", WORDS ("git", "status"));
  assert_read ("  git   status  ", WORDS ("git", "status"));
  assert_read ("'git' \"status\"", WORDS ("git", "status"));
  assert_read ("g\\it sta'tus'", WORDS ("git", "status"));
  assert_read ("make -j2 CC=gcc", WORDS ("make", "-j2", "CC=gcc"));
  assert_read ("x '' \"\"", WORDS ("x", "", ""));
  assert_read ("x 'a b'\\''c'", WORDS ("x", "a b'c"));
  assert_read ("x \"\\$a \\\\ \\` \\\" \\n \\'\"", WORDS ("x", "$a \\ ` \" \\n \\'"));
  assert_read ("x \\$a \\* \\~ \\ ", WORDS ("x", "$a", "*", "~", " "));
  assert_read ("x a=b:c,d@e%f", WORDS ("x", "a=b:c,d@e%f"));
}

/* What a shell does more with than to take it as words, at its place in a line. */
static const char * const refused[] = {
  "", " ", "''", "'' a", "#", "# a", "a #b", "a;", "a; b", "a & b", "a&", "a && b", "a || b",
  "a | b", "a |& b", "a\nb", "a\\\nb", "a '\n'", "a\tb", "a\rb", "a > b", "a >> b", "a < b",
  "a 2>b", "a &>b", "a <<b", "a <<<b", "a <(b)", "a >(b)", "(a)", "{ a; }", "a()", "a () b",
  "a $b", "a ${b}", "a $(b)", "a $((1))", "a $[1]", "a `b`", "a \"$b\"", "a \"$(b)\"",
  "a \"`b`\"", "a \"!b\"", "a !b", "a $'b'", "a $\"b\"", "a $", "a \"$\"", "a *", "a ?", "a [b]",
  "a [", "a ]", "a {b,c}", "a {1..2}", "a {}", "a ~", "a ~root", "a b~", "a b=~", "a b:~", "a @(b)",
  "a +(b)", "a !(b)", "a ^b", "a=b", "a=b c", "a+=b c", "a[0]=b c", "a\"=\"b", "'a=b'", "a\\=b",
  "! a", "!a", "\\! a", "if a", "then", "while a", "until", "for a", "case a", "select a",
  "function a", "time a", "coproc a", "[[ a", "'if' a", "i\\f a", "\"time\" a", "{", "}", "do",
  "in a", "esac", "fi", "done", "elif", "else", "%1", "%a b", "'%1'", "a '", "a \"", "a 'b", "a \"b",
  "a \\", "a 'b' \"", "a \\\xc3\xa9", "a\xc2\xa0" "b", "a '\xc2\xa0'", "a\xe2\x80\x8b" "b",
  "a '\xe2\x80\xae'", "a \xe3\x80\x80", "a \xff", "a \xc3", "a \x1b[31m", "a \x7f", "a \x01",
  "a '\xee\x80\x80'", "a \xef\xbf\xbe", "a \xf3\xa0\x81\x81", "a \xc2\x85", "a '\xe2\x80\xa8'",
  "\xef\xbb\xbf" "a",
};

static void
test_refused (void)
{
  g_autofree char *fits = g_strnfill (4096, 'a');
  g_autofree char *long_one = g_strnfill (4097, 'a');
  g_auto (GStrv) words = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      g_auto (GStrv) read = ow_simple_command_parse (refused[i]);

      if (read != NULL)
        g_error ("This was read as a simple command: %s", refused[i]);
    }
  words = ow_simple_command_parse (fits);
  g_assert_nonnull (words);
  g_assert_null (ow_simple_command_parse (long_one));
}

/* Builtins that act on the shell are no rule, however they are written; what says something
 * only, and every program, can be one. */
static void
test_can_be_rule (void)
{
  static const char * const never[] = {
    "cd x", ". x", "source x", "eval x", "exec x", "command x", "builtin x", "export a=b",
    "set -e", "unset x", "alias ls=rm", "unalias ls", "trap x INT", "hash -p /bin/rm ls",
    "enable -n ls", "shopt -s extglob", "read x", "printf -v x y", "test -v x", "pushd x",
    "declare x=y", "local x", "typeset x", "readonly x", "umask 0", "ulimit -n 1", "let x=1",
    "kill 1", "wait", "fg", "exit", "return", "'cd' x", "c\\d x", "\"eval\" x", "\\. x", "bind x",
    "\\[ a \\]", "mapfile x", "getopts x y", "shift", "times", "type x", "fc -s", "newgrp x",
  };
  static const char * const can[] = {
    "git status", "make", "echo a", "pwd", "true", "./x", "/bin/cd", "sudo ls", "bash -c 'a; b'",
    "env a=b c", "find . -name '*.c'", "\xc3\xa9", "python3 -c 'print(1)'", "cdx", "evalx",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (never); i++)
    {
      g_auto (GStrv) words = ow_simple_command_parse (never[i]);

      g_assert_nonnull (words);
      if (ow_simple_command_can_be_rule ((const char * const *) words))
        g_error ("This could be a rule: %s", never[i]);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (can); i++)
    {
      g_auto (GStrv) words = ow_simple_command_parse (can[i]);

      g_assert_nonnull (words);
      g_assert_true (ow_simple_command_can_be_rule ((const char * const *) words));
    }
}

/* Every builtin and every reserved word that the shells here have is refused or known. */
static void
test_shells_own_words (void)
{
  static const char * const said[] = { ":", "echo", "false", "pwd", "true", NULL };
  g_autofree char *output = NULL;
  g_auto (GStrv) names = NULL;
  Place place;
  gsize length = 0;
  const char *script = "compgen -b\ncompgen -k\n";

  place_set_up (&place);
  output = run_shell (&place, shells[0], script, strlen (script), &length);
  g_assert_nonnull (output);
  output = g_realloc (output, length + 1);
  output[length] = '\0';
  names = g_strsplit (output, "\n", -1);
  g_assert_cmpuint (g_strv_length (names), >, 70);
  for (guint i = 0; names[i] != NULL; i++)
    {
      const char *words[] = { names[i], NULL };

      if (*names[i] != '\0' && ow_simple_command_can_be_rule (words) &&
          !g_strv_contains (said, names[i]))
        g_error ("bash has \"%s\" of its own", names[i]);
    }
  place_tear_down (&place);
}

/* The text that a person is shown stands for exactly the words that are stored. */
static void
test_join (void)
{
  static const struct { const char *line; const char *text; } rows[] = {
    { "  git   'status' ", "git status" },
    { "x 'a b'", "x 'a b'" },
    { "x \"it's\"", "x 'it'\\''s'" },
    { "x ''", "x ''" },
    { "x \\$a", "x '$a'" },
    { "x -j2 A=b ./c", "x -j2 A=b ./c" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_auto (GStrv) words = ow_simple_command_parse (rows[i].line);
      g_autofree char *text = ow_simple_command_join ((const char * const *) words);

      g_assert_cmpstr (text, ==, rows[i].text);
    }
  for (guint i = 0; i < 20000; i++)
    {
      g_autoptr (GString) line = g_string_new ("x ");
      g_auto (GStrv) words = NULL;
      g_auto (GStrv) again = NULL;
      g_autofree char *text = NULL;

      for (gint n = g_test_rand_int_range (1, 12); n > 0; n--)
        g_string_append (line, mild[g_test_rand_int_range (0, G_N_ELEMENTS (mild))]);
      words = ow_simple_command_parse (line->str);
      if (words == NULL)
        continue;
      text = ow_simple_command_join ((const char * const *) words);
      again = ow_simple_command_parse (text);
      g_assert_nonnull (again);
      g_assert_true (g_strv_equal ((const char * const *) words, (const char * const *) again));
    }
}

/* As the command of a line: says with which words, its own name first. */
static int
tell_words (int   argc,
            char *argv[])
{
  printf ("%d%c", argc, '\0');
  for (int i = 0; i < argc; i++)
    {
      const char *word = i == 0 && strrchr (argv[0], '/') != NULL ? strrchr (argv[0], '/') + 1
                                                                  : argv[i];

      fwrite (word, 1, strlen (word) + 1, stdout);
    }
  return 0;
}

int
main (int   argc,
      char *argv[])
{
  if (g_getenv (TELL_VARIABLE) != NULL)
    return tell_words (argc, argv);

  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/simple-command/read", test_read);
  g_test_add_func ("/simple-command/U04/refused", test_refused);
  g_test_add_func ("/simple-command/U04/can-be-rule", test_can_be_rule);
  g_test_add_func ("/simple-command/U04/shells-own-words", test_shells_own_words);
  g_test_add_func ("/simple-command/join", test_join);
  g_test_add_func ("/simple-command/U04/every-short-line", test_every_short_line);
  g_test_add_func ("/simple-command/U04/random-lines", test_random_lines);

  return g_test_run ();
}
