/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "events/ow-event-words.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-text.h"

#define TITLE_CHARS 200

typedef struct {
  GString  *text;   /* (owned) */
  gboolean  hidden; /* something is shown escaped */
} Words;

/* White space that looks like the ordinary one. */
static gboolean
is_odd_space (gunichar c)
{
  return c >= 0x80 && g_unichar_isspace (c);
}

/* Nearly every line is, and megabytes of them are to be looked through while a window waits. */
static gboolean
is_printable_ascii (const char *value)
{
  for (const char *p = value; *p != '\0'; p++)
    if (*p < 0x20 || *p > 0x7E)
      return FALSE;
  return TRUE;
}

/* A tab is shown as one where text is laid out with them, and escaped where it could push the
 * rest of a line out of sight. */
static void
append_visible (Words      *words,
                const char *value,
                gboolean    tabs)
{
  g_autofree char *visible = NULL;

  if (is_printable_ascii (value))
    {
      g_string_append (words->text, value);
      return;
    }
  visible = ow_text_visible (value);
  words->hidden |= strcmp (visible, value) != 0;
  for (const char *p = visible; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if ((c == '\t' && !tabs) || is_odd_space (c))
        {
          words->hidden = TRUE;
          if (c == '\t')
            g_string_append (words->text, "^I");
          else
            g_string_append_printf (words->text, "\\u{%04X}", c);
        }
      else
        {
          g_string_append_unichar (words->text, c);
        }
    }
}

static void
append_command (Words      *words,
                const char *command)
{
  g_auto (GStrv) lines = g_strsplit (command, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_string_append (words->text, i == 0 ? "$ " : "> ");
      append_visible (words, lines[i], FALSE);
      g_string_append_c (words->text, '\n');
    }
}

/* JSON escapes some characters itself. */
static gboolean
has_escaped (const json_t *value)
{
  const char *key;
  json_t *item;

  if (json_is_string (value))
    {
      for (const char *p = json_string_value (value); *p != '\0'; p++)
        if ((guchar) * p < 0x20)
          return TRUE;
      return FALSE;
    }
  for (size_t i = 0; i < json_array_size (value); i++)
    if (has_escaped (json_array_get (value, i)))
      return TRUE;
  json_object_foreach ((json_t *) value, key, item)
    if (has_escaped (item))
      return TRUE;
  return FALSE;
}

/* A name is the tool's own, but for tools outside the wall it comes from elsewhere. */
static void
append_name (Words      *words,
             const char *name)
{
  gboolean plain = *name != '\0';

  for (const char *p = name; plain && *p != '\0'; p++)
    plain = g_ascii_isalnum (*p) || *p == '_' || *p == '-';
  if (!plain)
    {
      json_t *quoted = json_string (name);
      char *text = ow_json_dump (quoted, NULL);

      words->hidden |= has_escaped (quoted);
      append_visible (words, text != NULL ? text : "?", FALSE);
      free (text);
      json_decref (quoted);
      return;
    }
  g_string_append (words->text, name);
}

static void
append_block (Words      *words,
              const char *name,
              const char *value)
{
  g_auto (GStrv) lines = g_strsplit (value, "\n", -1);
  guint n = g_strv_length (lines);
  gboolean ended = n > 1 && *lines[n - 1] == '\0';
  const char *mark = "│";

  if (ended)
    n--;
  if (strcmp (name, "old_text") == 0)
    mark = "-";
  else if (strcmp (name, "new_text") == 0)
    mark = "+";
  append_name (words, name);
  g_string_append_printf (words->text, ", %u line%s%s:\n", n, n == 1 ? "" : "s",
                          ended ? "" : ", no newline at the end");
  for (guint i = 0; i < n; i++)
    {
      g_string_append_printf (words->text, "  %s ", mark);
      append_visible (words, lines[i], TRUE);
      g_string_append_c (words->text, '\n');
    }
}

/* Where white space at its ends would not be seen, or it is empty, it stands in quotes. */
static void
append_line (Words      *words,
             const char *name,
             const char *value)
{
  gsize length = strlen (value);
  gboolean quoted = length == 0 || *value == '"' || *value == ' ' || value[length - 1] == ' ';

  append_name (words, name);
  g_string_append (words->text, quoted ? ": \"" : ": ");
  append_visible (words, value, FALSE);
  g_string_append (words->text, quoted ? "\"\n" : "\n");
}

static void
append_json (Words        *words,
             const char   *name,
             const json_t *value)
{
  char *text = ow_json_dump (value, NULL);

  words->hidden |= has_escaped (value);
  append_name (words, name);
  g_string_append (words->text, ": ");
  append_visible (words, text != NULL ? text : "?", FALSE);
  g_string_append_c (words->text, '\n');
  free (text);
}

static gboolean
is_long_text (const char *name)
{
  static const char * const names[] = { "content", "old_text", "new_text", NULL };

  return g_strv_contains (names, name);
}

static void
append_member (Words        *words,
               const char   *name,
               const json_t *value)
{
  const char *text = json_string_value (value);

  if (text == NULL)
    append_json (words, name, value);
  else if (*text != '\0' && (is_long_text (name) || strchr (text, '\n') != NULL))
    append_block (words, name, text);
  else
    append_line (words, name, text);
}

/* What is short comes first: below a long text it would be looked for in vain. */
static void
append_members (Words        *words,
                const json_t *members,
                const char   *left_out)
{
  const char *name;
  json_t *value;

  for (guint pass = 0; pass < 2; pass++)
    json_object_foreach ((json_t *) members, name, value)
      if (g_strcmp0 (name, left_out) != 0 && is_long_text (name) == (pass == 1))
        append_member (words, name, value);
}

/* FALSE: it is no call of the tool that the request names. */
static gboolean
append_call (Words        *words,
             const json_t *subject,
             const char   *title)
{
  const json_t *arguments = json_object_get (subject, "arguments");
  const char *tool = ow_json_get_string (subject, "tool", NULL);
  const char *command = ow_json_get_string (arguments, "command", NULL);

  if (json_object_size (subject) != 2 || !json_is_object (arguments) ||
      g_strcmp0 (tool, title) != 0)
    return FALSE;
  if (strcmp (tool, "shell") != 0 && strcmp (tool, "task_start") != 0)
    command = NULL;
  if (command != NULL)
    append_command (words, command);
  append_members (words, arguments, command != NULL ? "command" : NULL);
  return TRUE;
}

static void
append_raw (Words      *words,
            const char *subject)
{
  g_auto (GStrv) lines = g_strsplit (subject, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      append_visible (words, lines[i], FALSE);
      g_string_append_c (words->text, '\n');
    }
}

char *
ow_event_words_request (const json_t *request,
                        gboolean     *hidden)
{
  const char *subject = ow_json_get_string (request, "subject", "");
  const char *title = ow_json_get_string (request, "title", NULL);
  gboolean is_tool = g_strcmp0 (ow_json_get_string (request, "kind", NULL), "tool") == 0;
  char message[OW_WIRE_ERROR_SIZE];
  json_t *json = ow_json_parse (subject, strlen (subject), message);
  Words words = { .text = g_string_new (NULL) };

  if (is_tool ? !append_call (&words, json, title) : !json_is_object (json))
    append_raw (&words, subject);
  else if (!is_tool)
    append_members (&words, json, NULL);
  json_decref (json);
  if (g_str_has_suffix (words.text->str, "\n"))
    g_string_truncate (words.text, words.text->len - 1);
  if (hidden != NULL)
    *hidden = words.hidden;
  return g_string_free (words.text, FALSE);
}

char *
ow_event_words_subject (const OwEvent *asked)
{
  return ow_event_words_request (ow_event_get_members (asked), NULL);
}

gboolean
ow_event_words_has_hidden (const OwEvent *asked)
{
  gboolean hidden;

  g_free (ow_event_words_request (ow_event_get_members (asked), &hidden));
  return hidden;
}

/* The argument that says most, and how it is led in. */
static void
append_arguments (GString      *title,
                  const json_t *arguments)
{
  const char *command = ow_json_get_string (arguments, "command", NULL);
  const char *task = ow_json_get_string (arguments, "task", NULL);
  const char *pattern = ow_json_get_string (arguments, "pattern", NULL);
  const char *path = ow_json_get_string (arguments, "path", NULL);
  char *dump;

  if (command != NULL || task != NULL)
    {
      g_string_append_printf (title, " %s", command != NULL ? command : task);
      g_string_replace (title, "\n", " ↵ ", 0);
      return;
    }
  if (pattern != NULL)
    g_string_append_printf (title, " \"%s\"", pattern);
  if (path != NULL)
    g_string_append_printf (title, " %s", path);
  if (pattern != NULL || path != NULL || json_object_size (arguments) == 0)
    return;
  dump = ow_json_dump (arguments, NULL);
  g_string_append_printf (title, " %s", dump != NULL ? dump : "");
  free (dump);
}

/* What a person has looked at, or taken back. FALSE: it is another call. */
static gboolean
append_review (GString      *title,
               const char   *tool,
               const json_t *arguments)
{
  size_t      n = json_array_size (json_object_get (arguments, "changes"));
  const char *end = n == 1 ? "" : "s";

  if (g_strcmp0 (tool, "changes") == 0)
    g_string_append_printf (title, "a look at what was changed in %zu file%s", n, end);
  else if (g_strcmp0 (tool, "undo") != 0)
    return FALSE;
  else if (ow_json_get_bool (arguments, "apply", FALSE))
    g_string_append_printf (title, "undo of %zu change%s", n, end);
  else
    g_string_append_printf (title, "a look at the undo of %zu change%s", n, end);
  return TRUE;
}

char *
ow_event_words_call_title (const OwEvent *asked)
{
  const char *tool = ow_event_get_string (asked, "tool");
  const json_t *arguments = json_object_get (ow_event_get_members (asked), "arguments");
  const char *command = ow_json_get_string (arguments, "command", NULL);
  g_autoptr (GString) title = g_string_new (NULL);
  g_autofree char *visible = NULL;

  if (g_strcmp0 (tool, "shell") == 0 && command != NULL)
    {
      g_string_append (title, command);
      g_string_replace (title, "\n", " ↵ ", 0);
    }
  else if (!append_review (title, tool, arguments))
    {
      g_string_append (title, tool != NULL ? tool : "?");
      append_arguments (title, arguments);
    }
  if (g_strcmp0 (ow_event_get_string (asked, "purpose"), "instructions") == 0)
    g_string_append (title, " (the folder's own instructions)");
  visible = ow_text_visible (title->str);
  g_strdelimit (visible, "\t\n", ' ');
  return ow_text_shorten (visible, TITLE_CHARS, TRUE);
}

char *
ow_event_words_folders (const OwEvent *event)
{
  const json_t *folders = json_object_get (ow_event_get_members (event), "folders");
  GString *line = g_string_new (NULL);

  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      const json_t *folder = json_array_get (folders, i);
      g_autofree char *path = ow_text_visible (ow_json_get_string (folder, "path", ""));

      g_strdelimit (path, "\t\n", ' ');
      g_string_append_printf (line, "%s%s%s", i > 0 ? ", " : "", path,
                              ow_json_get_bool (folder, "read_only", TRUE) ? " (read-only)" : "");
    }
  return g_string_free (line, FALSE);
}

gboolean
ow_event_words_is_absent (const OwEvent *ended)
{
  const char *result = ow_event_get_string (ended, "result");

  /* The words are the runner's (ow-runner-path.c). */
  return g_strcmp0 (ow_event_get_string (ended, "outcome"), "failed") == 0 && result != NULL &&
         g_str_has_prefix (result, "There is nothing at ");
}
