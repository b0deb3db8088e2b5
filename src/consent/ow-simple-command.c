/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-simple-command-private.h"

#include <string.h>

#include "base/ow-text.h"

#define MAX_BYTES 4096

/* Beside letters, digits and text beyond ASCII these mean themselves wherever they stand without
 * quotes in a word of a POSIX shell or bash. Whatever is not here is refused there: a list of
 * what is special would miss what the next shell makes special. */
static const char PLAIN[] = "_@%+:,./-=";

/* What a shell reads as grammar where a command's name is due. They are refused quoted as well,
 * so that a name never depends on its quotes. */
static const char * const reserved[] = {
  "!", "[[", "]]", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
  "foreach", "function", "if", "in", "repeat", "select", "then", "time", "until", "while", NULL
};

/* Builtins of bash and dash but for those that only say something (":", echo, false, pwd, true).
 * They change the shell, so that what was allowed for always later means something else (alias,
 * cd, enable, eval, export, hash, set, source, trap …), or do what depends on what the shell
 * has become (fc, fg, wait …), or write variables and evaluate expressions on the way (printf -v,
 * test -v, [). */
static const char * const builtins[] = {
  ".", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "chdir", "command",
  "compgen", "complete", "compopt", "continue", "declare", "dirs", "disown", "enable", "eval",
  "exec", "exit", "export", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill",
  "let", "local", "logout", "mapfile", "newgrp", "noglob", "popd", "printf", "pushd", "read",
  "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test", "times",
  "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait", NULL
};

typedef struct {
  const char *at;
  GString    *word;  /* (owned) */
  gboolean    begun; /* a word has begun, be it an empty one in quotes */
} Reader;

static gboolean
is_plain (char c)
{
  return g_ascii_isalnum (c) || (guchar) c >= 0x80 || (c != '\0' && strchr (PLAIN, c) != NULL);
}

/* What a person sees must be all there is: nothing invisible, no control character, no white
 * space but the ASCII one, nothing without a shape of its own. */
static gboolean
is_shown_whole (const char *text)
{
  g_autofree char *visible = NULL;

  if (!g_utf8_validate (text, -1, NULL))
    return FALSE;
  visible = ow_text_visible (text);
  if (strcmp (visible, text) != 0)
    return FALSE;
  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (c == ' ')
        continue;
      if (!g_unichar_isgraph (c) || g_unichar_type (c) == G_UNICODE_PRIVATE_USE)
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_single (Reader *reader)
{
  const char *end = strchr (reader->at, '\'');

  if (end == NULL)
    return FALSE;
  g_string_append_len (reader->word, reader->at, end - reader->at);
  reader->at = end + 1;
  return TRUE;
}

/* Inside double quotes a backslash stands for itself unless one of four characters follows. "!"
 * is refused: an interactive shell would look into its history. */
static gboolean
read_double (Reader *reader)
{
  for (; *reader->at != '"'; reader->at++)
    {
      char c = *reader->at;

      if (c == '\0' || c == '$' || c == '`' || c == '!')
        return FALSE;
      if (c == '\\')
        {
          char next = reader->at[1];

          if (next == '$' || next == '`' || next == '"' || next == '\\')
            c = *++reader->at;
        }
      g_string_append_c (reader->word, c);
    }
  reader->at++;
  return TRUE;
}

/* One piece of a word: a quoted part, an escaped character or a plain one. */
static gboolean
read_piece (Reader *reader)
{
  char c = *reader->at++;

  reader->begun = TRUE;
  if (c == '\'')
    return read_single (reader);
  if (c == '"')
    return read_double (reader);
  if (c == '\\')
    {
      c = *reader->at;
      if (c < 0x20 || c > 0x7E)
        return FALSE;
      reader->at++;
    }
  else if (!is_plain (c))
    {
      return FALSE;
    }
  g_string_append_c (reader->word, c);
  return TRUE;
}

static void
end_word (Reader    *reader,
          GPtrArray *words)
{
  if (reader->begun)
    g_ptr_array_add (words, g_strdup (reader->word->str));
  g_string_truncate (reader->word, 0);
  reader->begun = FALSE;
}

static gboolean
read_words (const char *command,
            GPtrArray  *words)
{
  g_autoptr (GString) word = g_string_new (NULL);
  Reader reader = { .at = command, .word = word };

  while (*reader.at != '\0')
    {
      if (*reader.at == ' ')
        {
          end_word (&reader, words);
          reader.at++;
        }
      else if (!read_piece (&reader))
        {
          return FALSE;
        }
    }
  end_word (&reader, words);
  return TRUE;
}

/* "%" at its beginning names a job, "=" makes an assignment of it. */
static gboolean
is_command_name (const char *name)
{
  return *name != '\0' && *name != '%' && strchr (name, '=') == NULL &&
         !g_strv_contains (reserved, name);
}

char **
ow_simple_command_parse (const char *command)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);

  g_return_val_if_fail (command != NULL, NULL);

  if (strlen (command) > MAX_BYTES || !is_shown_whole (command) ||
      !read_words (command, words) || words->len == 0 ||
      !is_command_name (g_ptr_array_index (words, 0)))
    return NULL;

  g_ptr_array_add (words, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&words), FALSE);
}

static void
append_word (GString    *text,
             const char *word)
{
  gboolean plain = *word != '\0';

  for (const char *p = word; plain && *p != '\0'; p++)
    plain = is_plain (*p);
  if (plain)
    {
      g_string_append (text, word);
      return;
    }
  g_string_append_c (text, '\'');
  for (const char *p = word; *p != '\0'; p++)
    {
      if (*p == '\'')
        g_string_append (text, "'\\''");
      else
        g_string_append_c (text, *p);
    }
  g_string_append_c (text, '\'');
}

char *
ow_simple_command_join (const char * const *words)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; words[i] != NULL; i++)
    {
      if (i > 0)
        g_string_append_c (text, ' ');
      append_word (text, words[i]);
    }
  return g_string_free (text, FALSE);
}

gboolean
ow_simple_command_can_be_rule (const char * const *words)
{
  return words[0] != NULL && is_command_name (words[0]) && !g_strv_contains (builtins, words[0]);
}
