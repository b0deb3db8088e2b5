/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-utf8-private.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

static bool
second_byte_fits (unsigned char first,
                  unsigned char second)
{
  switch (first)
    {
    case 0xe0: return second >= 0xa0 && second <= 0xbf;
    case 0xed: return second >= 0x80 && second <= 0x9f;
    case 0xf0: return second >= 0x90 && second <= 0xbf;
    case 0xf4: return second >= 0x80 && second <= 0x8f;
    default: return (second & 0xc0) == 0x80;
    }
}

int
ow_runner_utf8_step (const char *data,
                     size_t      length)
{
  const unsigned char *bytes = (const unsigned char *) data;
  size_t wanted;

  if (bytes[0] < 0x80)
    return 1;
  if (bytes[0] < 0xc2 || bytes[0] > 0xf4)
    return 0;
  wanted = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
  if (length > 1 && !second_byte_fits (bytes[0], bytes[1]))
    return 0;
  for (size_t i = 2; i < wanted && i < length; i++)
    {
      if ((bytes[i] & 0xc0) != 0x80)
        return 0;
    }
  return length < wanted ? -1 : (int) wanted;
}

size_t
ow_runner_utf8_incomplete (const char *data,
                           size_t      length)
{
  for (size_t back = 1; back <= 3 && back <= length; back++)
    {
      unsigned char byte = (unsigned char) data[length - back];

      if ((byte & 0xc0) == 0x80)
        continue;
      return ow_runner_utf8_step (data + length - back, back) == -1 ? back : 0;
    }
  return 0;
}

size_t
ow_runner_utf8_char (const char *data,
                     size_t      length)
{
  int step;

  if (length == 0 || data[0] == '\0')
    return 0;
  step = ow_runner_utf8_step (data, length);
  return step > 0 ? (size_t) step : 0;
}

/* Eight at once: most text is nothing else. */
static size_t
skip_ascii (const char *data,
            size_t      length)
{
  size_t at = 0;

  for (; at + 8 <= length; at += 8)
    {
      uint64_t word;

      memcpy (&word, data + at, 8);
      if ((word & UINT64_C (0x8080808080808080)) != 0 ||
          ((word - UINT64_C (0x0101010101010101)) & UINT64_C (0x8080808080808080)) != 0)
        break;
    }
  return at;
}

bool
ow_runner_utf8_is_valid (const char *data,
                         size_t      length)
{
  size_t at = skip_ascii (data, length);

  while (at < length)
    {
      size_t n = ow_runner_utf8_char (data + at, length - at);

      if (n == 0)
        return false;
      at += n;
      at += skip_ascii (data + at, length - at);
    }
  return true;
}

size_t
ow_runner_utf8_unit (const char *data,
                     size_t      length,
                     size_t     *used)
{
  int step = ow_runner_utf8_step (data, length);

  if (step <= 0 || data[0] == '\0')
    {
      *used = 1;
      return strlen (REPLACEMENT);
    }
  *used = (size_t) step;
  return (size_t) step;
}

size_t
ow_runner_utf8_append (char       *out,
                       size_t      max,
                       const char *data,
                       size_t      length,
                       size_t     *used)
{
  size_t at = 0;
  size_t written = 0;

  while (at < length)
    {
      size_t unit_used;
      size_t unit = ow_runner_utf8_unit (data + at, length - at, &unit_used);
      bool replaced = unit != unit_used || data[at] == '\0';

      if (written + unit > max)
        break;
      memcpy (out + written, replaced ? REPLACEMENT : data + at, unit);
      written += unit;
      at += unit_used;
    }
  *used = at;
  return written;
}

char *
ow_runner_utf8_base64 (const char *data,
                       size_t      length)
{
  static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *bytes = (const unsigned char *) data;
  char *text = malloc ((length + 2) / 3 * 4 + 1);
  size_t at = 0;

  if (text == NULL)
    return NULL;
  for (size_t i = 0; i < length; i += 3)
    {
      unsigned int group = (unsigned int) bytes[i] << 16;

      if (i + 1 < length)
        group |= (unsigned int) bytes[i + 1] << 8;
      if (i + 2 < length)
        group |= bytes[i + 2];
      text[at++] = alphabet[group >> 18];
      text[at++] = alphabet[(group >> 12) & 63];
      text[at++] = i + 1 < length ? alphabet[(group >> 6) & 63] : '=';
      text[at++] = i + 2 < length ? alphabet[group & 63] : '=';
    }
  text[at] = '\0';
  return text;
}
