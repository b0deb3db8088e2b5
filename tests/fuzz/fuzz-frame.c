/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/ow-frame.h"

#define MAX_BYTES 4096

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

typedef struct {
  uint64_t hash;
  size_t   lines;
} Seen;

static bool
on_line (const char *line,
         size_t      length,
         void       *user_data)
{
  Seen *seen = user_data;

  if (length > MAX_BYTES || line[length] != '\0' || memchr (line, '\n', length) != NULL)
    abort ();
  for (size_t i = 0; i < length; i++)
    seen->hash = seen->hash * 31 + (unsigned char) line[i];
  seen->hash = seen->hash * 31 + 256;
  seen->lines++;
  return true;
}

static bool
feed (const uint8_t *data,
      size_t         size,
      size_t         chunk,
      Seen          *seen)
{
  OwFrameReader *reader = ow_frame_reader_new (MAX_BYTES);
  char error[OW_WIRE_ERROR_SIZE];
  bool good = true;

  for (size_t at = 0; good && at < size; at += chunk)
    {
      size_t part = size - at < chunk ? size - at : chunk;

      good = ow_frame_reader_feed (reader, (const char *) data + at, part, on_line, seen, error);
      if (ow_frame_reader_pending (reader) > MAX_BYTES + 2)
        abort ();
    }
  ow_frame_reader_free (reader);
  return good;
}

/* However the bytes are split, the same lines come out. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  Seen whole = { 0, 0 }, split = { 0, 0 };
  bool good_whole, good_split;

  if (size < 2)
    return 0;
  good_whole = feed (data + 1, size - 1, size, &whole);
  good_split = feed (data + 1, size - 1, (size_t) data[0] % 61 + 1, &split);
  if (good_whole != good_split || whole.hash != split.hash || whole.lines != split.lines)
    abort ();
  return 0;
}
