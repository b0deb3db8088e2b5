/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-needle-private.h"

#include <stdint.h>
#include <string.h>

#define BLOCK  16
#define WINDOW 8192

typedef uint8_t Bytes __attribute__ ((vector_size (BLOCK), aligned (1), may_alias));
typedef uint64_t Words __attribute__ ((vector_size (BLOCK)));

/* How often a byte is met in source text, roughly: the lower the rarer. */
static unsigned
frequency (unsigned char byte)
{
  static const char letters[] = "zqjxkvwybghfpmucdlnsriaote";
  const char *letter;

  if (byte == ' ')
    return 60;
  if (byte == '\0' || byte == '\t')
    return 40;
  if (byte >= 'a' && byte <= 'z' && (letter = strchr (letters, byte)) != NULL)
    return 20 + (unsigned) (letter - letters);
  if (byte >= '0' && byte <= '9')
    return 18;
  if (strchr ("_.,()=;\"-/:", byte) != NULL)
    return 19;
  return byte >= 0x80 ? 12 : 10;
}

static unsigned char
folded (unsigned char byte)
{
  return byte >= 'A' && byte <= 'Z' ? (unsigned char) (byte | 0x20) : byte;
}

static bool
is_letter (char byte)
{
  return byte >= 'a' && byte <= 'z';
}

bool
ow_runner_needles_add (OwRunnerNeedles *self,
                       const char      *text,
                       size_t           length)
{
  OwRunnerNeedle *needle;

  if (self->n == OW_RUNNER_NEEDLE_MAX)
    return false;
  needle = &self->needles[self->n++];
  needle->length = length < OW_RUNNER_NEEDLE_BYTES ? length : OW_RUNNER_NEEDLE_BYTES;
  memcpy (needle->text, text, needle->length);
  needle->one = 0;
  for (size_t i = 1; i < needle->length; i++)
    {
      if (frequency ((unsigned char) text[i]) < frequency ((unsigned char) text[needle->one]))
        needle->one = i;
    }
  needle->other = needle->one == 0 && needle->length > 1 ? 1 : 0;
  for (size_t i = 0; i < needle->length; i++)
    {
      if (i != needle->one &&
          frequency ((unsigned char) text[i]) < frequency ((unsigned char) text[needle->other]))
        needle->other = i;
    }
  return true;
}

static bool
is_at (const OwRunnerNeedle *self,
       const char           *data,
       bool                  ignore_case)
{
  if (!ignore_case)
    return memcmp (data, self->text, self->length) == 0;
  for (size_t i = 0; i < self->length; i++)
    {
      if (folded ((unsigned char) data[i]) != (unsigned char) self->text[i])
        return false;
    }
  return true;
}

static Bytes
fill (unsigned char byte)
{
  return (Bytes) { 0 } +byte;
}

static bool
any (Bytes mask)
{
  Words words = (Words) mask;

  return (words[0] | words[1]) != 0;
}

/* Where a block's bytes are those at both places. */
static Bytes
compare (const char *data,
         size_t      one,
         size_t      other,
         Bytes       first,
         Bytes       second,
         Bytes       first_fold,
         Bytes       second_fold)
{
  const Bytes *a = (const Bytes *) (data + one);
  const Bytes *b = (const Bytes *) (data + other);

  return (Bytes) ((*a | first_fold) == first) & (Bytes) ((*b | second_fold) == second);
}

static const char *
find_one (const OwRunnerNeedle *self,
          bool                  ignore_case,
          const char           *data,
          size_t                length)
{
  Bytes first = fill ((unsigned char) self->text[self->one]);
  Bytes second = fill ((unsigned char) self->text[self->other]);
  Bytes first_fold = fill (ignore_case && is_letter (self->text[self->one]) ? 0x20 : 0);
  Bytes second_fold = fill (ignore_case && is_letter (self->text[self->other]) ? 0x20 : 0);
  size_t last;
  size_t at = 0;

  if (length < self->length)
    return NULL;
  last = length - self->length;
  /* All places of a group of blocks lie so that the whole text would fit behind them. */
  while (at + 4 * BLOCK <= last + 1)
    {
      Bytes found[4];

      for (size_t i = 0; i < 4; i++)
        found[i] = compare (data + at + i * BLOCK, self->one, self->other, first, second,
                            first_fold, second_fold);
      if (any (found[0] | found[1] | found[2] | found[3]))
        {
          for (size_t i = 0; i < 4 * BLOCK; i++)
            {
              if (found[i / BLOCK][i % BLOCK] != 0 && is_at (self, data + at + i, ignore_case))
                return data + at + i;
            }
        }
      at += 4 * BLOCK;
    }
  for (; at <= last; at++)
    {
      if (is_at (self, data + at, ignore_case))
        return data + at;
    }
  return NULL;
}

/* The first of several within the places before @places. */
static const char *
find_first (const OwRunnerNeedles *self,
            const char            *data,
            size_t                 length,
            size_t                 places)
{
  const char *found = NULL;

  for (size_t i = 0; i < self->n; i++)
    {
      const OwRunnerNeedle *needle = &self->needles[i];
      size_t room = places + needle->length - 1;
      const char *next = find_one (needle, self->ignore_case, data,
                                   room < length ? room : length);

      if (next == NULL)
        continue;
      /* The others count only where they begin before this one. */
      found = next;
      places = (size_t) (found - data);
      if (places == 0)
        break;
    }
  return found;
}

const char *
ow_runner_needles_find (const OwRunnerNeedles *self,
                        const char            *data,
                        size_t                 length)
{
  const char *found = NULL;

  if (self->n == 1)
    return find_one (&self->needles[0], self->ignore_case, data, length);
  /* Piece by piece: one that is met often shall not have the others looked for to the
   * end each time. */
  for (size_t at = 0; at < length && found == NULL; at += WINDOW)
    found = find_first (self, data + at, length - at, WINDOW);
  return found;
}

size_t
ow_runner_needle_count_lines (const char *data,
                              size_t      length)
{
  Bytes newline = fill ('\n');
  size_t count = 0;
  size_t at = 0;

  while (at + BLOCK <= length)
    {
      Bytes sums = { 0 };

      /* No more blocks than a byte can count. */
      for (size_t i = 0; i < 255 && at + BLOCK <= length; i++, at += BLOCK)
        sums -= (Bytes) (*(const Bytes *) (data + at) == newline);
      for (size_t i = 0; i < BLOCK; i++)
        count += sums[i];
    }
  for (; at < length; at++)
    count += data[at] == '\n' ? 1 : 0;
  return count;
}
