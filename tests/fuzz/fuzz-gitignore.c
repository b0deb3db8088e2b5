/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-ignore-private.h"
#include "ow-runner-wildcard-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* The first line is a path, the rest the rules; the path is also matched against the
 * rules as one pattern with braces. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  const char *text = (const char *) data;
  const char *end = size > 0 ? memchr (text, '\n', size) : NULL;
  size_t length = end != NULL ? (size_t) (end - text) : size;
  size_t rest = end != NULL ? size - length - 1 : 0;
  char *path = ow_runner_buffer_copy (text, length);
  OwRunnerIgnore *rules = ow_runner_ignore_new (text + size - rest, rest);
  OwRunnerWildcard *wildcard = ow_runner_wildcard_new (text + size - rest, rest, true);
  OwRunnerWildcard *every = ow_runner_wildcard_new ("**", 2, false);

  if (rules != NULL)
    {
      OwRunnerIgnoreVerdict file = ow_runner_ignore_match (rules, path, false);

      /* With no rule for folders only, both are judged alike. */
      if (memchr (text + size - rest, '/', rest) == NULL &&
          file != ow_runner_ignore_match (rules, path, true))
        abort ();
    }
  if (wildcard != NULL)
    ow_runner_wildcard_match (wildcard, path);
  if (path[0] != '\0' && !ow_runner_wildcard_match (every, path))
    abort ();
  ow_runner_wildcard_free (every);
  ow_runner_wildcard_free (wildcard);
  ow_runner_ignore_free (rules);
  free (path);
  return 0;
}
