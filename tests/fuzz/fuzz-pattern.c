/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-pattern-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* Goes over the lines; where @at_once those are skipped that cannot match. Returns how many
 * match, or -1 when the pattern took too many steps somewhere. */
static long
count_lines (OwRunnerPattern *pattern,
             const char      *text,
             size_t           length,
             bool             at_once)
{
  long n = 0;

  for (size_t at = 0; at < length;)
    {
      OwRunnerPatternState state = OW_RUNNER_PATTERN_FOUND;
      const char *newline;
      size_t start = 0;
      size_t end;
      size_t from;

      if (at_once)
        state = ow_runner_pattern_next (pattern, text + at, length - at, &start);
      if (state == OW_RUNNER_PATTERN_NONE)
        break;
      if (start > length - at)
        abort ();
      newline = memrchr (text + at, '\n', start);
      start = newline != NULL ? (size_t) (newline + 1 - text) : at;
      newline = memchr (text + start, '\n', length - start);
      end = newline != NULL ? (size_t) (newline - text) : length;
      if (state == OW_RUNNER_PATTERN_FOUND)
        state = ow_runner_pattern_line (pattern, text + start, end - start, &from, &from);
      if (state == OW_RUNNER_PATTERN_GAVE_UP)
        return -1;
      n += state == OW_RUNNER_PATTERN_FOUND ? 1 : 0;
      at = end + 1;
    }
  return n;
}

/* The first line is a pattern, the rest what it is looked for in: line by line and many
 * lines at once find the same. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  const char *text = (const char *) data;
  const char *end = size > 0 ? memchr (text, '\n', size) : NULL;
  size_t length = end != NULL ? (size_t) (end - text) : size;
  char *rest = ow_runner_buffer_copy (text + size - (end != NULL ? size - length - 1 : 0),
                                      end != NULL ? size - length - 1 : 0);
  size_t rest_length = end != NULL ? size - length - 1 : 0;
  char *error = NULL;
  OwRunnerPattern *pattern;

  /* Longer ones only make it slow. */
  pattern = length <= 60 && rest_length <= 400
            ? ow_runner_pattern_new (text, length, size % 2 == 1, &error) : NULL;
  if (pattern != NULL)
    {
      long one_by_one = count_lines (pattern, rest, rest_length, false);
      long at_once = count_lines (pattern, rest, rest_length, true);

      if (one_by_one >= 0 && at_once >= 0 && one_by_one != at_once)
        abort ();
    }
  free (error);
  ow_runner_pattern_free (pattern);
  free (rest);
  return 0;
}
