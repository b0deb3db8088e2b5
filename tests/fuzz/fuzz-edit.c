/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-diff-private.h"
#include "ow-runner-near-private.h"
#include "ow-runner-replace-private.h"
#include "ow-runner-utf8-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

typedef struct {
  const char *data;
  size_t      length;
} Part;

static Part
take_part (Part *from)
{
  const char *end = from->length > 0 ? memchr (from->data, 0xff, from->length) : NULL;
  Part part = { from->data, end != NULL ? (size_t) (end - from->data) : from->length };
  size_t taken = part.length + (end != NULL ? 1 : 0);

  from->data += taken;
  from->length -= taken;
  return part;
}

static Part
take_line (Part *from)
{
  const char *end = from->length > 0 ? memchr (from->data, '\n', from->length) : NULL;
  Part line = { from->data, end != NULL ? (size_t) (end + 1 - from->data) : from->length };

  from->data += line.length;
  from->length -= line.length;
  return line;
}

static size_t
take_number (Part *line)
{
  size_t number = 0;

  for (; line->length > 0 && *line->data >= '0' && *line->data <= '9'; line->data++, line->length--)
    number = number * 10 + (size_t) (*line->data - '0');
  return number;
}

/* The line without its newline where the diff says that the file has none there. */
static Part
content_of (Part  line,
            Part *diff)
{
  Part next = *diff;
  Part mark = take_line (&next);

  line.data++;
  line.length--;
  if (mark.length > 0 && mark.data[0] == '\\')
    {
      *diff = next;
      line.length--;
    }
  return line;
}

static char *
put (char *to,
     Part  line)
{
  if (line.length > 0)
    memcpy (to, line.data, line.length);
  return to + line.length;
}

static void
expect (Part old_line,
        Part line)
{
  if (old_line.length != line.length || memcmp (old_line.data, line.data, line.length) != 0)
    abort ();
}

/* Makes of the old file what the diff says, and looks whether that is the new one. */
static void
check_diff (Part diff,
            Part old_file,
            Part new_file)
{
  char *made = ow_runner_buffer_alloc (old_file.length + diff.length + 1);
  char *to = made;
  size_t line_number = 1;

  take_line (&diff);
  take_line (&diff);
  while (diff.length > 0)
    {
      Part line = take_line (&diff);

      if (line.data[0] == '@')
        {
          Part range = { line.data + 4, line.length - 4 };
          size_t start = take_number (&range);
          bool none = range.length > 1 && range.data[0] == ',' && range.data[1] == '0';

          for (; line_number < start + (none ? 1 : 0); line_number++)
            to = put (to, take_line (&old_file));
          continue;
        }
      switch (line.data[0])
        {
        case ' ':
          line = content_of (line, &diff);
          expect (take_line (&old_file), line);
          to = put (to, line);
          line_number++;
          break;

        case '-':
          expect (take_line (&old_file), content_of (line, &diff));
          line_number++;
          break;

        case '+':
          to = put (to, content_of (line, &diff));
          break;

        default:
          abort ();
        }
    }
  to = put (to, old_file);
  if ((size_t) (to - made) != new_file.length || memcmp (made, new_file.data, new_file.length) != 0)
    abort ();
  free (made);
}

static void
try_diff (OwRunnerBuffer *text,
          Part            old_file,
          Part            new_file)
{
  bool escaped = ow_runner_diff_unified (text, "f", old_file.data, old_file.length, new_file.data,
                                         new_file.length);

  /* One that is escaped or cut says so and is for reading only. */
  if (!escaped && text->length > 0 && text->data[text->length - 1] != ']' &&
      memmem (text->data, text->length, "\n[The ", 6) == NULL)
    check_diff ((Part) { text->data, text->length }, old_file, new_file);
}

/* Three parts with 0xff between: what to replace, what by, and the file. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  Part file = { (const char *) data, size };
  Part before = take_part (&file);
  Part after = take_part (&file);
  OwRunnerReplace replace;
  OwRunnerReplaceState state;
  OwRunnerBuffer text;

  if (before.length == 0)
    return 0;
  ow_runner_buffer_init (&text, 65536);
  state = ow_runner_replace_apply (&replace, file.data, file.length, before.data, before.length,
                                   after.data, after.length, true);
  if (state == OW_RUNNER_REPLACE_DONE)
    {
      /* Each place changes the length by as much, but for CR that is put in. */
      if (!replace.crlf &&
          replace.length + replace.found * before.length !=
          file.length + replace.found * after.length)
        abort ();
      try_diff (&text, file, (Part) { replace.data, replace.length });
    }
  else if (state == OW_RUNNER_REPLACE_ABSENT)
    {
      if (memmem (file.data, file.length, before.data, before.length) != NULL &&
          memcmp (file.data, "\xef\xbb\xbf", file.length < 3 ? file.length : 3) != 0)
        abort ();
      ow_runner_near_describe (&text, file.data, file.length, before.data, before.length);
    }
  if (text.data != NULL && !ow_runner_utf8_is_valid (text.data, text.length))
    abort ();
  ow_runner_buffer_clear (&text);
  ow_runner_replace_clear (&replace);
  return 0;
}
