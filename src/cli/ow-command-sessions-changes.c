/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "events/ow-event-words.h"
#include "ow-diff-print-private.h"
#include "ow-face-private.h"

/* What a session changed. */

static gboolean as_json;

/* Borrowed: word of a member of @entry. */
static const char *
word_of (const json_t *entry,
         const char   *key)
{
  return ow_json_get_string (entry, key, "");
}

static void
print_files (const json_t *result)
{
  const json_t *files = json_object_get (result, "files");
  json_int_t added = 0;
  json_int_t removed = 0;
  guint n = 0;

  for (size_t i = 0; i < json_array_size (files); i++)
    {
      const json_t *file = json_array_get (files, i);

      if (strcmp (word_of (file, "state"), "same") == 0)
        continue;
      n++;
      added += ow_json_get_int (file, "added", 0);
      removed += ow_json_get_int (file, "removed", 0);
    }
  if (n == 0)
    g_print ("The file tools left no changes.\n");
  else
    g_print ("%u file%s changed by the file tools, +%" JSON_INTEGER_FORMAT " −%"
             JSON_INTEGER_FORMAT "\n", n, n == 1 ? "" : "s", added, removed);
}

/* Which call each change is of, for “undo --call”. */
static void
print_calls (const json_t *result)
{
  const json_t *calls = json_object_get (result, "calls");

  for (size_t i = 0; i < json_array_size (calls); i++)
    {
      const json_t *call = json_array_get (calls, i);
      const char *state = word_of (call, "state");
      g_autofree char *path = ow_diff_print_path (word_of (call, "path"));

      g_print ("  %s  message %-3" JSON_INTEGER_FORMAT " %-5s %s%s\n", word_of (call, "call"),
               ow_json_get_int (call, "turn", 0), word_of (call, "tool"), path,
               strcmp (state, "there") == 0 ? ""
               : strcmp (state, "undone") == 0 ? " (undone)" : " (cannot be undone)");
    }
  if (json_object_get (result, "calls_left") != NULL ||
      json_object_get (result, "calls_cut") != NULL)
    g_print ("  … and more than are listed\n");
}

static void
print_commands (const json_t *result)
{
  const json_t *commands = json_object_get (result, "commands");
  json_int_t total = ow_json_get_int (result, "commands_total", 0);
  json_int_t n = (json_int_t) json_array_size (commands);
  gboolean cut = ow_json_get_bool (result, "commands_cut", FALSE);

  if (total == 0 && !cut)
    return;
  g_print ("Changed by commands, which cannot be undone:\n");
  for (size_t i = 0; i < json_array_size (commands); i++)
    {
      const json_t *change = json_array_get (commands, i);
      g_autofree char *path = ow_diff_print_path (word_of (change, "path"));

      g_print ("  %-8s %s\n", word_of (change, "what"), path);
    }
  if (total > n)
    g_print ("  … and %" JSON_INTEGER_FORMAT " more\n", total - n);
  else if (cut)
    g_print ("  … and perhaps more: there were too many files to follow\n");
}

static void
print_settings (const json_t *result)
{
  const json_t *settings = json_object_get (result, "settings");
  gboolean cut = ow_json_get_bool (result, "settings_cut", FALSE);
  g_autofree char *lines = NULL;

  if (json_array_size (settings) == 0 && !cut)
    return;
  lines = ow_event_words_settings_of (settings, (gint64) json_array_size (settings), cut, FALSE,
                                      G_MAXUINT);
  g_print ("%s\n", lines);
}

static void
show_changes (OwFace       *face,
              const json_t *result,
              gpointer      user_data)
{
  if (as_json)
    {
      ow_face_print_json (result);
      ow_face_finish (face, 0);
      return;
    }
  ow_diff_print (word_of (result, "diff"));
  if (*word_of (result, "diff") != '\0')
    g_print ("\n");
  print_files (result);
  print_calls (result);
  print_commands (result);
  print_settings (result);
  ow_face_finish (face, 0);
}

void
ow_command_sessions_changes (OwFace  *face,
                             int      argc,
                             char   **argv)
{
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the result as JSON", NULL },
    { NULL }
  };

  g_set_prgname ("openworker sessions changes");
  if (!ow_face_parse (face, "SESSION", "Shows what a session changed: one diff of what its file "
                      "tools did, and the names that its commands changed.", entries, FALSE, &argc,
                      &argv))
    return;
  if (argc != 2)
    ow_face_usage (face, "“sessions changes” takes a session.");
  else
    ow_face_command (face, "session.changes", json_pack ("{s:s}", "session", argv[1]),
                     show_changes, NULL);
}
