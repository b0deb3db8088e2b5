/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "undo-fixture.h"

static void
test_change_of_write_and_edit (void)
{
  Undo *undo = undo_new ();
  g_autofree char *before = undo_hash ("one\n");
  g_autofree char *after = undo_hash ("two\n");
  const json_t *change;

  files_put (undo->files, "work/a", "one\n");
  g_assert_cmpint (g_chmod (files_path (undo->files, "work/a"), 0640), ==, 0);
  undo_write (undo, "a", "two\n");
  undo_edit (undo, "a", "two", "three");
  undo_write (undo, "new", "two\n");

  change = json_array_get (undo->changes, 0);
  g_assert_cmpstr (ow_json_get_string (change, "path", ""), ==,
                   files_path (undo->files, "work/a"));
  g_assert_cmpstr (ow_json_get_string (change, "before", ""), ==, before);
  g_assert_cmpstr (ow_json_get_string (change, "after", ""), ==, after);
  g_assert_cmpint (ow_json_get_int (change, "mode", 0), ==, 0640);
  g_assert_cmpint (ow_json_get_int (change, "size", 0), ==, 4);
  g_assert_true (ow_json_get_bool (change, "kept", 0));
  change = json_array_get (undo->changes, 1);
  g_assert_cmpstr (ow_json_get_string (change, "before", ""), ==, after);
  change = json_array_get (undo->changes, 2);
  g_assert_true (json_is_null (json_object_get (change, "before")));
  g_assert_cmpstr (ow_json_get_string (change, "after", ""), ==, after);
  undo_free (undo);
}

static void
test_shows_and_does (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/a", "one\ntwo\nthree\n");
  undo_write (undo, "a", "one\n2\nthree\n");
  undo_write (undo, "made", "new\n");

  files_assert_has (undo_show (undo), "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-2\n+two\n three\n");
  undo_assert_state (undo, "work/a", "would restore");
  undo_assert_state (undo, "work/made", "would remove");
  undo_assert_file (undo, "work/a", "one\n2\nthree\n");
  undo_assert_file (undo, "work/made", "new\n");

  files_assert_has (undo_apply (undo), "--- a/made\n+++ /dev/null\n@@ -1 +0,0 @@\n-new\n");
  undo_assert_state (undo, "work/a", "restored");
  undo_assert_state (undo, "work/made", "removed");
  undo_assert_file (undo, "work/a", "one\ntwo\nthree\n");
  undo_assert_file (undo, "work/made", NULL);
  undo_free (undo);
}

/* An undo is a change like others. */
static void
test_can_be_undone_itself (void)
{
  Undo *undo = undo_new ();
  struct stat status;

  files_put (undo->files, "work/a", "one\n");
  undo_write (undo, "a", "two\n");
  undo_write (undo, "made", "new\n");
  g_assert_cmpint (g_chmod (files_path (undo->files, "work/made"), 0755), ==, 0);
  undo_apply (undo);
  undo_assert_file (undo, "work/made", NULL);

  undo_take_back (undo);
  undo_apply (undo);
  undo_assert_state (undo, "work/a", "restored");
  undo_assert_state (undo, "work/made", "restored");
  undo_assert_file (undo, "work/a", "two\n");
  undo_assert_file (undo, "work/made", "new\n");
  g_assert_cmpint (stat (files_path (undo->files, "work/made"), &status), ==, 0);
  g_assert_cmpint (status.st_mode & 07777, ==, 0755);
  undo_free (undo);
}

static void
test_merges_changes_of_a_path (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/a", "one\n");
  undo_write (undo, "a", "two\n");
  undo_edit (undo, "a", "two", "three");
  undo_write (undo, "b", "1");
  undo_write (undo, "a", "four\n");
  undo_write (undo, "b", "2");
  undo_apply (undo);
  g_assert_cmpuint (json_array_size (json_object_get (undo->files->result.structured, "files")),
                    ==, 2);
  undo_assert_file (undo, "work/a", "one\n");
  undo_assert_file (undo, "work/b", NULL);
  undo_free (undo);
}

/* What another one did between two of the changes goes too, and is not silent about it. */
static void
test_says_what_came_between (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/a", "one\n");
  undo_write (undo, "a", "two\n");
  files_put (undo->files, "work/a", "a person's\n");
  undo_edit (undo, "a", "person", "tool");
  files_assert_has (undo_show (undo), "something else changed it between");
  undo_apply (undo);
  undo_assert_file (undo, "work/a", "one\n");
  undo_free (undo);
}

static void
test_leaves_what_changed_since (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/a", "one\n");
  files_put (undo->files, "work/gone", "one\n");
  files_put (undo->files, "work/fine", "one\n");
  undo_write (undo, "a", "two\n");
  undo_write (undo, "gone", "two\n");
  undo_write (undo, "fine", "two\n");
  undo_write (undo, "made", "two\n");
  undo_write (undo, "made-gone", "two\n");
  files_put (undo->files, "work/a", "since\n");
  files_put (undo->files, "work/made", "since\n");
  g_assert_cmpint (g_unlink (files_path (undo->files, "work/gone")), ==, 0);
  g_assert_cmpint (g_unlink (files_path (undo->files, "work/made-gone")), ==, 0);

  undo_apply (undo);
  undo_assert_state (undo, "work/fine", "restored");
  undo_assert_state (undo, "work/a", "skipped");
  undo_assert_state (undo, "work/made", "skipped");
  undo_assert_state (undo, "work/gone", "skipped");
  undo_assert_state (undo, "work/made-gone", "skipped");
  files_assert_has (undo_reason (undo, "work/a"), "changed since");
  files_assert_has (undo_reason (undo, "work/gone"), "removed");
  undo_assert_file (undo, "work/a", "since\n");
  undo_assert_file (undo, "work/made", "since\n");
  undo_assert_file (undo, "work/gone", NULL);

  undo_apply (undo);
  undo_assert_state (undo, "work/fine", "skipped");
  files_assert_has (undo_reason (undo, "work/fine"), "already");
  undo_free (undo);
}

static void
test_keeps_bytes_and_mode (void)
{
  static const struct {
    const char *name;
    const char *content;
    gsize       length;
    guint       mode;
  } cases[] = {
    { "crlf", "one\r\ntwo\r\n", 10, 0644 },
    { "bom", "\xef\xbb\xbfone\n", 7, 0600 },
    { "no-newline", "one", 3, 0755 },
    { "empty", "", 0, 0664 },
    { "binary", "\0\1\2\xff\xfe", 5, 0444 | 0200 },
    { "latin1", "caf\xe9\n", 5, 0640 },
  };
  Undo *undo = undo_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strconcat ("work/", cases[i].name, NULL);

      files_put_bytes (undo->files, path, cases[i].content, cases[i].length);
      g_assert_cmpint (g_chmod (files_path (undo->files, "%s", path), (int) cases[i].mode), ==, 0);
      undo_write (undo, cases[i].name, "changed\n");
    }
  files_assert_has (undo_show (undo), "binary, 5 bytes");
  undo_apply (undo);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strconcat ("work/", cases[i].name, NULL);
      g_autofree char *content = NULL;
      gsize length = 0;
      struct stat status;

      undo_assert_state (undo, path, "restored");
      g_assert_true (g_file_get_contents (files_path (undo->files, "%s", path), &content, &length,
                                          NULL));
      g_assert_cmpmem (content, length, cases[i].content, cases[i].length);
      g_assert_cmpint (stat (files_path (undo->files, "%s", path), &status), ==, 0);
      g_assert_cmpuint (status.st_mode & 07777, ==, cases[i].mode);
    }
  undo_free (undo);
}

static void
test_odd_names (void)
{
  static const char *const names[] = {
    "new\nline", "tab\there", "quo\"te", "back\\slash", "sp ace", "\xc3\xa9t\xc3\xa9", "-dash",
    "+++ b", "a\x1b[31mred", " lead", "trail ",
  };
  Undo *undo = undo_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_strconcat ("work/", names[i], NULL);

      files_put (undo->files, path, "one\n");
      undo_write (undo, names[i], "two\n");
    }
  files_assert_has (undo_show (undo), "--- \"a/new\\012line\"\n");
  files_assert_has (undo_show (undo), "--- \"a/sp ace\"\n");
  undo_apply (undo);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_strconcat ("work/", names[i], NULL);

      undo_assert_state (undo, path, "restored");
      undo_assert_file (undo, path, "one\n");
    }
  undo_free (undo);
}

static void
test_names_are_relative_to_where_they_fit (void)
{
  Undo *undo = undo_new ();

  undo_write (undo, "a", "1\n");
  files_assert_has (undo_show (undo), "+++ /dev/null");
  g_assert_cmpstr (ow_json_get_string (undo->files->result.structured, "base", ""), ==,
                   undo->files->work);
  undo_write (undo, files_path (undo->files, "other/b"), "1\n");
  files_assert_has (undo_show (undo), files_path (undo->files, "other/b"));
  g_assert_cmpstr (ow_json_get_string (undo->files->result.structured, "base", ""), ==, "/");
  undo_free (undo);
}

static void
test_refuses_arguments (void)
{
  Undo *undo = undo_new ();

  files_call (undo->files, "undo", "{'changes':[]}");
  files_assert_refused (undo->files, "list of changes");
  files_call (undo->files, "undo", "{'changes':{}}");
  files_assert_refused (undo->files, "list of changes");
  files_call (undo->files, "undo", "{'changes':[{'before':null,'after':null}],'apply':true}");
  files_assert_refused (undo->files, "no path");
  files_call (undo->files, "undo", "{'changes':[{'path':'a','before':'../../outside/secret',"
              "'after':null}],'apply':true}");
  files_assert_refused (undo->files, "not a SHA-256");
  files_call (undo->files, "changes", "{'changes':[{'path':'a','before':7}]}");
  files_assert_refused (undo->files, "not a SHA-256");
  files_call (undo->files, "undo", "{'changes':[{'path':'a'}],'apply':1}");
  files_assert_refused (undo->files, "true or false");
  undo_free (undo);
}

static void
test_changes_tell_the_whole (void)
{
  Undo *undo = undo_new ();
  const char *text;

  files_put (undo->files, "work/a", "one\ntwo\n");
  files_put (undo->files, "work/back", "one\n");
  files_put (undo->files, "work/gone", "one\n");
  undo_write (undo, "a", "one\n2\n3\n");
  undo_write (undo, "a", "one\n2\n3\n4\n");
  undo_write (undo, "back", "two\n");
  undo_write (undo, "back", "one\n");
  undo_write (undo, "gone", "two\n");
  undo_write (undo, "made", "new\n");
  undo_write (undo, "passing", "new\n");
  g_assert_cmpint (g_unlink (files_path (undo->files, "work/gone")), ==, 0);
  g_assert_cmpint (g_unlink (files_path (undo->files, "work/passing")), ==, 0);
  files_put (undo->files, "work/a", "one\n2\n3\n4\n5\n");

  text = undo_changes (undo);
  files_assert_done (undo->files);
  files_assert_has (text, "--- a/a\n+++ b/a\n@@ -1,2 +1,5 @@\n one\n-two\n+2\n+3\n+4\n+5\n");
  files_assert_has (text, "--- a/gone\n+++ /dev/null\n");
  files_assert_has (text, "--- /dev/null\n+++ b/made\n");
  undo_assert_state (undo, "work/a", "changed");
  undo_assert_state (undo, "work/back", "same");
  undo_assert_state (undo, "work/gone", "deleted");
  undo_assert_state (undo, "work/made", "created");
  undo_assert_state (undo, "work/passing", "same");
  undo_free (undo);
}

static void
test_without_an_undo_folder (void)
{
  Files *files = files_new ();
  json_t *changes = json_array ();
  json_t *arguments = json_object ();
  json_t *change;

  files_put (files, "work/a", "one\n");
  files_call (files, "write", "{'path':'a','content':'two'}");
  files_assert_done (files);
  change = json_object_get (files->result.structured, "change");
  g_assert_true (json_is_false (json_object_get (change, "kept")));
  json_array_append (changes, change);
  files_call (files, "write", "{'path':'made','content':'two'}");
  json_array_append (changes, json_object_get (files->result.structured, "change"));
  json_object_set_new (arguments, "changes", changes);
  json_object_set_new (arguments, "apply", json_true ());
  files_call_json (files, "undo", arguments);
  files_assert_done (files);
  g_assert_cmpint (files_int (files, "skipped"), ==, 1);
  g_assert_cmpint (files_int (files, "removed"), ==, 1);
  g_assert_true (g_file_test (files_path (files, "work/a"), G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (files_path (files, "work/made"), G_FILE_TEST_EXISTS));
  files_free (files);
}

/* Each diff that does not fit is left out whole, and how many is said. */
static void
test_bounds_the_text (void)
{
  Undo *undo = undo_new ();
  g_autoptr (GString) lines = g_string_new (NULL);
  const char *text;
  guint headers = 0;

  for (guint i = 0; i < 12000; i++)
    g_string_append_printf (lines, "line %u\n", i);
  for (guint i = 0; i < 20; i++)
    {
      g_autofree char *name = g_strdup_printf ("big%02u", i);

      undo_write (undo, name, lines->str);
    }
  text = undo_changes (undo);
  files_assert_has (text, "is left out, because it is too long");
  for (const char *at = text; (at = strstr (at, "\n@@ ")) != NULL; at++)
    headers++;
  g_assert_cmpuint (headers, >, 0);
  g_assert_cmpint (files_int (undo->files, "left_out"), ==, 20 - (json_int_t) headers);
  /* By name, so that none is hidden by the others. */
  for (guint i = 0; i < 20; i++)
    {
      g_autofree char *name = g_strdup_printf ("/big%02u", i);

      files_assert_has (text, name);
    }
  g_assert_cmpuint (json_array_size (json_object_get (undo->files->result.structured, "files")),
                    ==, 20);
  undo_free (undo);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/undo/change-of-write-and-edit", test_change_of_write_and_edit);
  g_test_add_func ("/undo/shows-and-does", test_shows_and_does);
  g_test_add_func ("/undo/can-be-undone-itself", test_can_be_undone_itself);
  g_test_add_func ("/undo/merges-changes-of-a-path", test_merges_changes_of_a_path);
  g_test_add_func ("/undo/says-what-came-between", test_says_what_came_between);
  g_test_add_func ("/undo/leaves-what-changed-since", test_leaves_what_changed_since);
  g_test_add_func ("/undo/keeps-bytes-and-mode", test_keeps_bytes_and_mode);
  g_test_add_func ("/undo/odd-names", test_odd_names);
  g_test_add_func ("/undo/names-are-relative", test_names_are_relative_to_where_they_fit);
  g_test_add_func ("/undo/refuses-arguments", test_refuses_arguments);
  g_test_add_func ("/undo/changes-tell-the-whole", test_changes_tell_the_whole);
  g_test_add_func ("/undo/without-an-undo-folder", test_without_an_undo_folder);
  g_test_add_func ("/undo/bounds-the-text", test_bounds_the_text);
  undo_add_keep_tests ();
  undo_add_hostile_tests ();
  return g_test_run ();
}
