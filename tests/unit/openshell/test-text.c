/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell-error.h"

#include <string.h>

/* Each golden/NAME.txt is what `openshell` wrote to stderr: those whose name begins with "made" are
 * built by the rules of its source, the others were recorded. golden/expected.tsv has a line for
 * each: name, fault, plain text. */

static char *
read_golden (const char *name)
{
  g_autofree char *file = g_strconcat (name, ".txt", NULL);
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "unit", "openshell", "golden", file,
                                                 NULL);
  char *text = NULL;
  g_autoptr (GError) error = NULL;

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  return text;
}

static guint
count_golden (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "unit", "openshell", "golden", NULL);
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  const char *name;
  guint count = 0;

  g_assert_nonnull (folder);
  while ((name = g_dir_read_name (folder)) != NULL)
    count += g_str_has_suffix (name, ".txt");
  return count;
}

static void
check_golden (const char *line)
{
  g_auto (GStrv) fields = g_strsplit (line, "\t", 3);
  g_autofree char *raw = NULL;
  g_autofree char *plain = NULL;
  OwOpenshellFault fault;

  g_assert_cmpuint (g_strv_length (fields), ==, 3);
  raw = read_golden (fields[0]);
  fault = ow_openshell_fault_of_text (raw);
  plain = ow_openshell_text_plain (raw, -1);
  g_test_message ("%s\t%s\t%s", fields[0], ow_openshell_fault_to_string (fault), plain);
  g_assert_cmpstr (ow_openshell_fault_to_string (fault), ==, fields[1]);
  g_assert_cmpstr (plain, ==, fields[2]);
}

static void
test_golden (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "unit", "openshell", "golden",
                                                 "expected.tsv", NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  guint count = 0;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (*lines[i] != '\0')
      {
        check_golden (lines[i]);
        count++;
      }
  g_assert_cmpuint (count, ==, count_golden ());
  g_assert_cmpuint (count, >, 40);
}

static void
expect_fault (const char       *name,
              OwOpenshellFault  expected)
{
  g_autofree char *raw = read_golden (name);

  g_assert_cmpint (ow_openshell_fault_of_text (raw), ==, expected);
}

/* Names that OpenShell refuses are a class of their own, not "some error". */
static void
test_A14 (void)
{
  expect_fault ("create-name-too-long", OW_OPENSHELL_FAULT_INVALID);
  expect_fault ("create-name-bad", OW_OPENSHELL_FAULT_INVALID);
  expect_fault ("made-A14-consecutive-hyphens", OW_OPENSHELL_FAULT_INVALID);
  expect_fault ("create-label-bad", OW_OPENSHELL_FAULT_INVALID);
}

static void
test_A15 (void)
{
  g_autofree char *raw = read_golden ("made-A15-path-missing");
  g_autofree char *plain = ow_openshell_text_plain (raw, -1);

  expect_fault ("made-A15-path-missing", OW_OPENSHELL_FAULT_POLICY);
  /* The path is named, whole. */
  g_assert_nonnull (strstr (plain, "/opt/openworker (path does not exist)"));
}

static void
test_A16 (void)
{
  expect_fault ("made-A16-bad-signature", OW_OPENSHELL_FAULT_CERTIFICATE);
  expect_fault ("made-A16-bad-signature-coloured", OW_OPENSHELL_FAULT_CERTIFICATE);
  expect_fault ("made-A16-alert", OW_OPENSHELL_FAULT_CERTIFICATE);
  g_assert_nonnull (strstr (ow_openshell_fault_next (OW_OPENSHELL_FAULT_CERTIFICATE),
                            "Register it again"));
}

static void
test_A17 (void)
{
  expect_fault ("made-A17-denied", OW_OPENSHELL_FAULT_IMAGE_DENIED);
  expect_fault ("made-A17-unauthorized", OW_OPENSHELL_FAULT_IMAGE_DENIED);
  expect_fault ("made-A17-podman", OW_OPENSHELL_FAULT_IMAGE_DENIED);
  /* A repository that is not there is refused in other words. */
  expect_fault ("made-image-repository", OW_OPENSHELL_FAULT_IMAGE_ABSENT);
  expect_fault ("create-image-missing", OW_OPENSHELL_FAULT_IMAGE_ABSENT);
  g_assert_nonnull (strstr (ow_openshell_fault_next (OW_OPENSHELL_FAULT_IMAGE_DENIED), "log out"));
}

static void
test_A18 (void)
{
  expect_fault ("made-A18-disk", OW_OPENSHELL_FAULT_DISK_FULL);
}

/* What stands in a path does not choose the class. */
static void
test_named_like_an_error (void)
{
  expect_fault ("made-mount-named-landlock", OW_OPENSHELL_FAULT_MOUNT_SOURCE);
}

static void
assert_safe (const char *plain)
{
  g_assert_true (g_utf8_validate (plain, -1, NULL));
  for (const char *p = plain; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      g_assert_cmpuint (c, >=, 0x20);
      g_assert_false (c >= 0x7F && c <= 0x9F);
      g_assert_false (c >= 0x202A && c <= 0x202E);
    }
}

static void
test_controls (void)
{
  g_autofree char *raw = read_golden ("made-hostile");
  g_autofree char *plain = ow_openshell_text_plain (raw, -1);
  g_autofree char *with_nul = ow_openshell_text_plain ("a\0b\nc\td", 7);
  g_autofree char *nothing = ow_openshell_text_plain (NULL, 0);
  g_autofree char *empty = ow_openshell_text_plain ("\x1b[0m\n\n", -1);

  assert_safe (plain);
  g_assert_nonnull (strstr (plain, "<b>bold</b>"));
  g_assert_null (strstr (plain, "owned"));
  g_assert_null (strstr (plain, "evil"));
  assert_safe (with_nul);
  g_assert_cmpstr (nothing, ==, "");
  g_assert_cmpstr (empty, ==, "");
}

/* Any bytes: safe to show, bounded, and the same from any cut. */
static void
test_any_bytes (void)
{
  static const char * const parts[] = {
    "Error:   × ", "  │ ", "  ├─▶ ", "  ╰─▶ ", "\n", "\x1b[31m", "\x1b]0;x\x07", "\x9b", "\xc2\x9b",
    "text", "/", "-", " ", "\r", "\t", "\xff", "│", "×", "x ", "sandbox not found", "\x7f",
  };

  for (guint i = 0; i < 5000; i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      g_autofree char *plain = NULL;

      for (guint k = g_test_rand_int_range (0, 40); k > 0; k--)
        g_string_append (text, parts[g_test_rand_int_range (0, G_N_ELEMENTS (parts))]);
      plain = ow_openshell_text_plain (text->str, (gssize) text->len);
      assert_safe (plain);
      g_assert_cmpint (ow_openshell_fault_of_text (text->str), !=, OW_OPENSHELL_FAULT_NONE);
    }
}

static void
test_huge (void)
{
  g_autofree char *huge = g_strnfill (64 * 1024 * 1024, '-');
  gint64 begun = g_get_monotonic_time ();
  g_autofree char *plain = ow_openshell_text_plain (huge, -1);

  g_assert_cmpuint (strlen (plain), <=, 65536);
  g_assert_cmpint (g_get_monotonic_time () - begun, <, 20 * G_USEC_PER_SEC);
}

/* Every class has words of its own for a person. */
static void
test_words (void)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (int fault = OW_OPENSHELL_FAULT_NONE; fault <= OW_OPENSHELL_FAULT_OTHER; fault++)
    {
      const char *why = ow_openshell_fault_why (fault);

      g_assert_true (g_hash_table_add (seen, (gpointer) ow_openshell_fault_to_string (fault)));
      g_assert_true (g_hash_table_add (seen, (gpointer) why));
      g_assert_false (g_str_has_suffix (why, "."));
      g_assert_true (g_str_has_suffix (ow_openshell_fault_next (fault), "."));
    }
  g_assert_cmpstr (ow_openshell_fault_to_string (-1), ==, "other");
  g_assert_cmpstr (ow_openshell_fault_to_string (1000), ==, "other");
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openshell/text/golden", test_golden);
  g_test_add_func ("/openshell/text/A14", test_A14);
  g_test_add_func ("/openshell/text/A15", test_A15);
  g_test_add_func ("/openshell/text/A16", test_A16);
  g_test_add_func ("/openshell/text/A17", test_A17);
  g_test_add_func ("/openshell/text/A18", test_A18);
  g_test_add_func ("/openshell/text/named-like-an-error", test_named_like_an_error);
  g_test_add_func ("/openshell/text/controls", test_controls);
  g_test_add_func ("/openshell/text/any-bytes", test_any_bytes);
  g_test_add_func ("/openshell/text/huge", test_huge);
  g_test_add_func ("/openshell/text/words", test_words);
  return g_test_run ();
}
