/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-git-config-private.h"

#include <string.h>

#include "base/ow-error.h"

#define MAX_SETTINGS 10000

typedef struct {
  const char *at;
  const char *end;
  guint       line;
  guint       start;      /* the line where what is being read began */
  GPtrArray  *settings;   /* (owned) */
  GString    *section;    /* (owned) */
  GString    *subsection; /* (owned) (nullable) */
} Reader;

static void
setting_free (gpointer data)
{
  OwGitSetting *setting = data;

  g_free (setting->section);
  g_free (setting->subsection);
  g_free (setting->name);
  g_free (setting->value);
  g_free (setting);
}

/* --- reading --- */

/* The next character; a line's end is '\n' in either form, and so is the end of the file. */
static char
next (Reader *reader)
{
  char c;

  if (reader->at >= reader->end)
    return '\n';
  c = *reader->at++;
  if (c == '\r' && reader->at < reader->end && *reader->at == '\n')
    c = *reader->at++;
  if (c == '\n')
    reader->line++;
  return c;
}

static gboolean
is_at_end (const Reader *reader)
{
  return reader->at >= reader->end;
}

static gboolean
is_space (char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

static gboolean
is_key (char c)
{
  return g_ascii_isalnum (c) || c == '-';
}

static gboolean
fail (Reader  *reader,
      GError **error)
{
  ow_error_setf (error, OW_ERROR_DATA, NULL, "line %u cannot be read", reader->start);
  return FALSE;
}

static void
skip_comment (Reader *reader)
{
  while (!is_at_end (reader) && next (reader) != '\n')
    continue;
}

/* Behind the section's name: a blank, the subsection in quotes, the bracket. */
static gboolean
read_subsection (Reader  *reader,
                 char     c,
                 GError **error)
{
  while (is_space (c))
    c = next (reader);
  if (c != '"')
    return fail (reader, error);
  reader->subsection = g_string_new (NULL);
  for (;;)
    {
      c = next (reader);
      if (c == '"')
        break;
      if (c == '\\')
        c = next (reader);
      if (c == '\n' || c == '\0')
        return fail (reader, error);
      g_string_append_c (reader->subsection, c);
    }
  return next (reader) == ']' || fail (reader, error);
}

static gboolean
read_section (Reader  *reader,
              GError **error)
{
  g_string_truncate (reader->section, 0);
  if (reader->subsection != NULL)
    g_string_free (g_steal_pointer (&reader->subsection), TRUE);
  for (;;)
    {
      char c = next (reader);

      if (c == ']')
        break;
      if (is_space (c))
        {
          if (!read_subsection (reader, c, error))
            return FALSE;
          break;
        }
      if (!is_key (c) && c != '.')
        return fail (reader, error);
      g_string_append_c (reader->section, g_ascii_tolower (c));
    }
  return reader->section->len > 0 || fail (reader, error);
}

/* A backslash in a value, which may hide the line's end. */
static gboolean
read_escape (Reader  *reader,
             GString *value,
             GError **error)
{
  char c = next (reader);

  switch (c)
    {
    case '\n':
      return TRUE;
    case 't':
      g_string_append_c (value, '\t');
      return TRUE;
    case 'n':
      g_string_append_c (value, '\n');
      return TRUE;
    case 'b':
      g_string_append_c (value, '\b');
      return TRUE;
    case '"':
    case '\\':
      g_string_append_c (value, c);
      return TRUE;
    default:
      return fail (reader, error);
    }
}

/* (transfer full) NULL with @error. Blanks at both ends are no part of it unless in quotes. */
static char *
read_value (Reader  *reader,
            GError **error)
{
  g_autoptr (GString) value = g_string_new (NULL);
  gboolean quoted = FALSE;
  guint blanks = 0;

  for (;;)
    {
      char c = next (reader);

      if (c == '\n')
        break;
      if (c == '\0')
        return fail (reader, error), NULL;
      if (is_space (c) && !quoted)
        {
          blanks += value->len > 0 ? 1 : 0;
          continue;
        }
      if (!quoted && (c == '#' || c == ';'))
        {
          skip_comment (reader);
          break;
        }
      for (; blanks > 0; blanks--)
        g_string_append_c (value, ' ');
      if (c == '\\')
        {
          if (!read_escape (reader, value, error))
            return NULL;
        }
      else if (c == '"')
        quoted = !quoted;
      else
        g_string_append_c (value, c);
    }
  if (!quoted)
    return g_strdup (value->str);
  return fail (reader, error), NULL;
}

static gboolean
read_setting (Reader  *reader,
              char     c,
              GError **error)
{
  g_autoptr (GString) name = g_string_new (NULL);
  g_autofree char *value = NULL;
  OwGitSetting *setting;

  if (!g_ascii_isalpha (c) || reader->section->len == 0 || reader->settings->len >= MAX_SETTINGS)
    return fail (reader, error);
  for (; is_key (c); c = next (reader))
    g_string_append_c (name, g_ascii_tolower (c));
  while (c == ' ' || c == '\t')
    c = next (reader);
  if (c != '\n' && c != '=')
    return fail (reader, error);
  if (c == '=')
    {
      value = read_value (reader, error);
      if (value == NULL)
        return FALSE;
    }
  setting = g_new0 (OwGitSetting, 1);
  setting->section = g_strdup (reader->section->str);
  setting->subsection = reader->subsection != NULL ? g_strdup (reader->subsection->str) : NULL;
  setting->name = g_strdup (name->str);
  setting->value = g_steal_pointer (&value);
  g_ptr_array_add (reader->settings, setting);
  return TRUE;
}

static gboolean
read_all (Reader  *reader,
          GError **error)
{
  while (!is_at_end (reader))
    {
      char c;

      reader->start = reader->line;
      c = next (reader);
      if (c == '\n' || is_space (c))
        continue;
      if (c == '#' || c == ';')
        skip_comment (reader);
      else if (c == '[' ? !read_section (reader, error) : !read_setting (reader, c, error))
        return FALSE;
    }
  return TRUE;
}

GPtrArray *
ow_git_config_parse (const char *text,
                     gsize       length,
                     GError    **error)
{
  g_autoptr (GPtrArray) settings = g_ptr_array_new_with_free_func (setting_free);
  Reader reader = {
    .at = text, .end = text + length, .line = 1, .settings = settings,
    .section = g_string_new (NULL),
  };
  gboolean good;

  if (length >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0)
    reader.at += 3;
  good = read_all (&reader, error);
  g_string_free (reader.section, TRUE);
  if (reader.subsection != NULL)
    g_string_free (reader.subsection, TRUE);
  return good ? g_steal_pointer (&settings) : NULL;
}

/* --- writing --- */

static void
append_quoted (GString    *out,
               const char *text,
               gboolean    value)
{
  g_string_append_c (out, '"');
  for (; *text != '\0'; text++)
    {
      if (*text == '"' || *text == '\\')
        g_string_append_printf (out, "\\%c", *text);
      else if (value && *text == '\n')
        g_string_append (out, "\\n");
      else if (value && *text == '\t')
        g_string_append (out, "\\t");
      else if (value && *text == '\b')
        g_string_append (out, "\\b");
      else
        g_string_append_c (out, *text);
    }
  g_string_append_c (out, '"');
}

char *
ow_git_config_write (GPtrArray *settings)
{
  GString *out = g_string_new ("# Made for this sandbox from the person's own, which is as it "
                               "was.\n");
  const OwGitSetting *last = NULL;

  for (guint i = 0; i < settings->len; i++)
    {
      const OwGitSetting *setting = g_ptr_array_index (settings, i);

      if (last == NULL || strcmp (last->section, setting->section) != 0 ||
          g_strcmp0 (last->subsection, setting->subsection) != 0)
        {
          g_string_append_printf (out, "[%s", setting->section);
          if (setting->subsection != NULL)
            {
              g_string_append_c (out, ' ');
              append_quoted (out, setting->subsection, FALSE);
            }
          g_string_append (out, "]\n");
        }
      g_string_append_printf (out, "\t%s", setting->name);
      if (setting->value != NULL)
        {
          g_string_append (out, " = ");
          append_quoted (out, setting->value, TRUE);
        }
      g_string_append_c (out, '\n');
      last = setting;
    }
  return g_string_free (out, FALSE);
}
