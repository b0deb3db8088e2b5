/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-diff.h"

/* One letter a line: t(ext) f(ile) h(unk) s(ame) a(dded) r(emoved) n(ote). */
static void
assert_kinds (const char *diff,
              const char *expected)
{
  g_auto (GStrv) lines = g_strsplit (diff, "\n", -1);
  g_autoptr (GString) kinds = g_string_new (NULL);
  OwDiff reader = { 0 };

  for (guint i = 0; lines[i] != NULL; i++)
    g_string_append_c (kinds, "tfhsarn"[ow_diff_read (&reader, lines[i], NULL)]);
  g_assert_cmpstr (kinds->str, ==, expected);
}

static void
test_kinds (void)
{
  assert_kinds ("", "");
  assert_kinds ("Replaced 1 place.\n--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c", "tffhsra");
  assert_kinds ("diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x",
                "ffffha");
  assert_kinds ("--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\nmore", "ffhrnat");
  assert_kinds ("+1\n-1\n@@ -1 +1 @@", "ttt");
}

/* What was taken out or put in may look like anything. */
static void
test_heads_inside (void)
{
  assert_kinds ("--- f\n+++ f\n@@ -1,2 +1,2 @@\n--- f\n-@@ -1 +1 @@\n+++ f\n+diff --git a b\n--- g",
                "ffhrraaf");
}

static void
test_cut (void)
{
  assert_kinds ("--- f\n+++ f\n@@ -1,9 +1,9 @@\n-a\n[cut]\n+b\n--- g\n+++ g\n@@ -1 +1 @@\n-x\n+y",
                "ffhrttffhra");
  assert_kinds ("--- f\n+++ f\n@@ -1,99999999999999999999 +1 @@\n-a", "fftt");
  assert_kinds ("--- f\n+++ f\n@@ -,1 +1 @@\n@@ -1 +1\n@@ -1, +1 @@\n@@ -1 +1@@", "fftttt");
}

static void
test_numbers (void)
{
  static const char * const lines[] = { "--- f", "+++ f", "@@ -41,2 +41,3 @@", " a", "-b", "+c", "+d" };
  static const guint64 numbers[] = { 0, 0, 0, 41, 42, 42, 43 };
  OwDiff reader = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      guint64 number = 7;

      ow_diff_read (&reader, lines[i], &number);
      g_assert_cmpuint (number, ==, numbers[i]);
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/diff/kinds", test_kinds);
  g_test_add_func ("/diff/heads-inside", test_heads_inside);
  g_test_add_func ("/diff/cut", test_cut);
  g_test_add_func ("/diff/numbers", test_numbers);
  return g_test_run ();
}
