/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-wildcard-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* What the matcher must answer, told the slow way: by trying everything. Only for short
 * patterns of letters, "*", "?", "**" and braces that hold no others. */

#define MAX_PATTERN 40
#define MAX_PATH    40

static bool
name_matches (const char *pattern,
              const char *pattern_end,
              const char *name,
              const char *name_end)
{
  if (pattern == pattern_end)
    return name == name_end;
  if (*pattern == '*')
    return name_matches (pattern + 1, pattern_end, name, name_end) ||
           (name < name_end && name_matches (pattern, pattern_end, name + 1, name_end));
  return name < name_end && (*pattern == '?' || *pattern == *name) &&
         name_matches (pattern + 1, pattern_end, name + 1, name_end);
}

static const char *
skip_slashes (const char *text)
{
  while (text[0] == '/' || (text[0] == '.' && (text[1] == '/' || text[1] == '\0')))
    text++;
  return text;
}

static bool
path_matches (const char *pattern,
              const char *path)
{
  const char *pattern_end;
  const char *path_end = strchrnul (path, '/');

  pattern = skip_slashes (pattern);
  pattern_end = strchrnul (pattern, '/');
  if (*pattern == '\0')
    return *path == '\0';
  if (pattern_end - pattern == 2 && memcmp (pattern, "**", 2) == 0)
    {
      /* At the end it stands for at least one component. */
      if (*skip_slashes (pattern_end) == '\0')
        return *path != '\0';
      return path_matches (pattern_end, path) ||
             (*path != '\0' && path_matches (pattern, *path_end == '/' ? path_end + 1 : path_end));
    }
  return *path != '\0' && name_matches (pattern, pattern_end, path, path_end) &&
         path_matches (pattern_end, *path_end == '/' ? path_end + 1 : path_end);
}

/* Puts each choice of the first braces in turn in their place. */
static bool
any_matches (const char *pattern,
             const char *path)
{
  const char *open = strchr (pattern, '{');
  const char *close = open != NULL ? strchr (open, '}') : NULL;
  const char *from = open != NULL ? open + 1 : NULL;

  if (close == NULL || memchr (open, ',', (size_t) (close - open)) == NULL)
    return path_matches (pattern, path);
  for (;;)
    {
      const char *end = from + strcspn (from, ",}");
      char chosen[MAX_PATTERN + 1];
      char *to = mempcpy (chosen, pattern, (size_t) (open - pattern));

      to = mempcpy (to, from, (size_t) (end - from));
      strcpy (to, close + 1);
      if (any_matches (chosen, path))
        return true;
      if (end == close)
        return false;
      from = end + 1;
    }
}

/* Braces that are closed in the order they are opened, and each with a choice. */
static bool
has_plain_braces (const char *pattern)
{
  bool open = false;
  bool choice = false;

  for (; *pattern != '\0'; pattern++)
    {
      if (*pattern == '{' && open)
        return false;
      if (*pattern == '}' && (!open || !choice))
        return false;
      if (*pattern == '{' || *pattern == '}')
        open = *pattern == '{';
      choice = open && (*pattern == ',' || (choice && *pattern != '{'));
    }
  return !open;
}

static bool
is_plain (const char *pattern,
          const char *path)
{
  size_t stars = 0;

  for (size_t i = 0; pattern[i] != '\0'; i++)
    {
      stars += pattern[i] == '*' ? 1 : 0;
      if (strchr ("\\[]", pattern[i]) != NULL || (unsigned char) pattern[i] >= 0x80)
        return false;
    }
  for (size_t i = 0; path[i] != '\0'; i++)
    {
      if ((unsigned char) path[i] >= 0x80)
        return false;
    }
  /* A walk makes no other paths. */
  return stars <= 6 && path[0] != '/' && strstr (path, "//") == NULL && has_plain_braces (pattern) &&
         (path[0] == '\0' || path[strlen (path) - 1] != '/');
}

/* The first line is a path, the rest a pattern. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  const char *text = (const char *) data;
  const char *end = size > 0 ? memchr (text, '\n', size) : NULL;
  size_t length = end != NULL ? (size_t) (end - text) : size;
  size_t rest = end != NULL ? size - length - 1 : 0;
  char *path = ow_runner_buffer_copy (text, length);
  char *pattern = ow_runner_buffer_copy (text + size - rest, rest);
  OwRunnerWildcard *braces = ow_runner_wildcard_new (pattern, rest, true);
  OwRunnerWildcard *plain = ow_runner_wildcard_new (pattern, rest, false);
  bool matches = braces != NULL && ow_runner_wildcard_match (braces, path);

  /* Without any braces both are the same. */
  if (braces != NULL && strchr (pattern, '{') == NULL &&
      matches != ow_runner_wildcard_match (plain, path))
    abort ();
  if (braces != NULL && strlen (pattern) == rest && rest <= MAX_PATTERN &&
      strlen (path) == length && length <= MAX_PATH && is_plain (pattern, path) &&
      matches != any_matches (pattern, path))
    abort ();
  ow_runner_wildcard_free (plain);
  ow_runner_wildcard_free (braces);
  free (pattern);
  free (path);
  return 0;
}
