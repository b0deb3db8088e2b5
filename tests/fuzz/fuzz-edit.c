/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

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
      ow_runner_diff_unified (&text, "f", file.data, file.length, replace.data, replace.length);
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
