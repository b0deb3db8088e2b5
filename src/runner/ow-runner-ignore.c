/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-ignore-private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-wildcard-private.h"

#define MAX_RULES      10000
#define MAX_RULE_BYTES 4096
#define MAX_FILE_BYTES (1024u * 1024u)

typedef struct {
  OwRunnerWildcard *wildcard; /* (owned) */
  bool              takes_back;
  bool              folders_only;
  bool              names;    /* matches the last component, at any depth */
} Rule;

struct _OwRunnerIgnore {
  Rule  *rules; /* (owned) */
  size_t n;
};

/* Blanks at the end do not count unless a backslash stands before them. */
static size_t
without_end_blanks (const char *line,
                    size_t      length)
{
  if (length > 0 && line[length - 1] == '\r')
    length--;
  while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t'))
    {
      size_t slashes = 0;

      while (slashes + 1 < length && line[length - 2 - slashes] == '\\')
        slashes++;
      if (slashes % 2 != 0)
        break;
      length--;
    }
  return length;
}

static void
add_rule (OwRunnerIgnore *self,
          const char     *line,
          size_t          length)
{
  Rule rule = { NULL };

  length = without_end_blanks (line, length);
  if (length == 0 || line[0] == '#' || length > MAX_RULE_BYTES || self->n == MAX_RULES ||
      memchr (line, '\0', length) != NULL)
    return;
  if (line[0] == '!')
    {
      rule.takes_back = true;
      line++;
      length--;
    }
  if (length > 0 && line[length - 1] == '/')
    {
      rule.folders_only = true;
      length--;
    }
  rule.names = memchr (line, '/', length) == NULL;
  if (length > 0 && line[0] == '/')
    {
      line++;
      length--;
    }
  if (length == 0)
    return;
  rule.wildcard = ow_runner_wildcard_new (line, length, false);
  if (self->n % 64 == 0)
    self->rules = ow_runner_buffer_resize (self->rules, (self->n + 64) * sizeof *self->rules);
  self->rules[self->n++] = rule;
}

OwRunnerIgnore *
ow_runner_ignore_new (const char *text,
                      size_t      length)
{
  OwRunnerIgnore *self = ow_runner_buffer_alloc (sizeof *self);

  self->rules = NULL;
  self->n = 0;
  if (length >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0)
    {
      text += 3;
      length -= 3;
    }
  while (length > 0)
    {
      const char *end = memchr (text, '\n', length);
      size_t line = end != NULL ? (size_t) (end - text) : length;

      add_rule (self, text, line);
      line += end != NULL ? 1 : 0;
      text += line;
      length -= line;
    }
  if (self->n > 0)
    return self;
  ow_runner_ignore_free (self);
  return NULL;
}

OwRunnerIgnore *
ow_runner_ignore_load (int directory)
{
  OwRunnerIgnore *self = NULL;
  struct stat status;
  size_t length = 0;
  ssize_t got;
  char *text;
  int fd = ow_runner_file_open_at (directory, ".gitignore", &status);

  if (fd < 0)
    return NULL;
  text = ow_runner_buffer_alloc (MAX_FILE_BYTES);
  while (length < MAX_FILE_BYTES &&
         (got = ow_runner_file_read (fd, text + length, MAX_FILE_BYTES - length)) > 0)
    length += (size_t) got;
  self = ow_runner_ignore_new (text, length);
  free (text);
  close (fd);
  return self;
}

void
ow_runner_ignore_free (OwRunnerIgnore *self)
{
  if (self == NULL)
    return;
  for (size_t i = 0; i < self->n; i++)
    ow_runner_wildcard_free (self->rules[i].wildcard);
  free (self->rules);
  free (self);
}

size_t
ow_runner_ignore_get_n (const OwRunnerIgnore *self)
{
  return self->n;
}

OwRunnerIgnoreVerdict
ow_runner_ignore_match (const OwRunnerIgnore *self,
                        const char           *path,
                        bool                  is_folder)
{
  const char *slash = strrchr (path, '/');
  const char *name = slash != NULL ? slash + 1 : path;

  /* The last rule that matches is the one that counts. */
  for (size_t i = self->n; i > 0; i--)
    {
      const Rule *rule = &self->rules[i - 1];

      if (rule->folders_only && !is_folder)
        continue;
      if (ow_runner_wildcard_match (rule->wildcard, rule->names ? name : path))
        return rule->takes_back ? OW_RUNNER_IGNORE_IN : OW_RUNNER_IGNORE_OUT;
    }
  return OW_RUNNER_IGNORE_SILENT;
}
