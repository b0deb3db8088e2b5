/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-settings-private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where a configuration of git leads to: git-config(1), "Syntax". Read generously, because what
 * is found is looked at and nothing else; a configuration that is new or another one is told
 * whatever stands in it. */

/* A path and its end. */
#define VALUE_MAX 4097

typedef struct {
  const char *at;
  const char *end;
} Text;

static void
skip_blanks (Text *text)
{
  while (text->at < text->end && (*text->at == ' ' || *text->at == '\t' || *text->at == '\r'))
    text->at++;
}

static void
skip_line (Text *text)
{
  const char *newline = memchr (text->at, '\n', (size_t) (text->end - text->at));

  text->at = newline == NULL ? text->end : newline + 1;
}

static size_t
take_name (Text       *text,
           const char **name)
{
  *name = text->at;
  while (text->at < text->end && (isalnum ((unsigned char) *text->at) || *text->at == '-'))
    text->at++;
  return (size_t) (text->at - *name);
}

static bool
is_name (const char *name,
         size_t      length,
         const char *wanted)
{
  return length == strlen (wanted) && strncasecmp (name, wanted, length) == 0;
}

/* Behind the bracket that closes a section's name; a part of it in quotes may hold one. NULL: it
 * is not closed. */
static const char *
find_close (const Text *text)
{
  bool quoted = false;

  for (const char *at = text->at; at < text->end; at++)
    {
      if (*at == '"')
        quoted = !quoted;
      else if (*at == '\\' && quoted)
        at++;
      else if (*at == ']' && !quoted)
        return at + 1;
      else if (*at == '\n')
        quoted = false;
    }
  return NULL;
}

/* What stands behind a backslash means. */
static char
unescape (char c)
{
  return c == 't' ? '\t' : c == 'n' ? '\n' : c == 'b' ? '\b' : c;
}

/* Takes the rest of the line, with quotes, escapes and comments gone. */
static void
take_value (Text *text,
            char  value[VALUE_MAX])
{
  bool quoted = false;
  size_t n = 0;

  for (; text->at < text->end && *text->at != '\n'; text->at++)
    {
      char c = *text->at;

      if (c == '"')
        {
          quoted = !quoted;
          continue;
        }
      if (!quoted && (c == '#' || c == ';'))
        break;
      if (c == '\\' && text->at + 1 < text->end)
        {
          c = *++text->at;
          if (c == '\n')
            continue;
          c = unescape (c);
        }
      if (n + 1 < VALUE_MAX)
        value[n++] = c;
    }
  while (n > 0 && isspace ((unsigned char) value[n - 1]))
    n--;
  value[n] = '\0';
}

void
ow_runner_setting_git_paths (const char              *content,
                             size_t                   length,
                             OwRunnerSettingPathFunc  func,
                             void                    *user_data)
{
  Text text = { content, content + length };
  bool core = false;
  bool include = false;
  const char *name;
  char value[VALUE_MAX];

  /* A mark of the byte order is passed over by git too. */
  if (length >= 3 && memcmp (content, "\xef\xbb\xbf", 3) == 0)
    text.at += 3;
  for (; text.at < text.end; skip_line (&text))
    {
      size_t n;

      skip_blanks (&text);
      if (text.at < text.end && *text.at == '[')
        {
          const char *close;

          text.at++;
          n = take_name (&text, &name);
          core = is_name (name, n, "core");
          include = is_name (name, n, "include") || is_name (name, n, "includeif");
          close = find_close (&text);
          if (close == NULL)
            return;
          /* A key may stand behind it. */
          text.at = close;
          skip_blanks (&text);
        }
      n = take_name (&text, &name);
      skip_blanks (&text);
      if (n == 0 || text.at >= text.end || *text.at != '=')
        continue;
      text.at++;
      skip_blanks (&text);
      take_value (&text, value);
      if (core && is_name (name, n, "hookspath"))
        func (value, true, user_data);
      else if (include && is_name (name, n, "path"))
        func (value, false, user_data);
      if (text.at >= text.end)
        return;
    }
}
