/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-replace-private.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PLACES 10

typedef struct {
  const char *data;
  size_t      length;
} Bytes;

void
ow_runner_replace_clear (OwRunnerReplace *self)
{
  free (self->data);
  memset (self, 0, sizeof *self);
}

static size_t
count (Bytes in,
       Bytes what)
{
  const char *found;
  size_t n = 0;

  while ((found = memmem (in.data, in.length, what.data, what.length)) != NULL)
    {
      in.length -= (size_t) (found - in.data) + what.length;
      in.data = found + what.length;
      n++;
    }
  return n;
}

/* Whether most lines of the text end in CRLF. */
static bool
ends_crlf (Bytes text)
{
  size_t crlf = count (text, (Bytes) { "\r\n", 2 });

  return crlf > 0 && crlf * 2 >= count (text, (Bytes) { "\n", 1 });
}

/* (owned) the text with CRLF for every bare LF. */
static Bytes
with_crlf (Bytes text)
{
  char *data = ow_runner_buffer_alloc (text.length * 2 + 1);
  size_t length = 0;

  for (size_t i = 0; i < text.length; i++)
    {
      if (text.data[i] == '\n' && (i == 0 || text.data[i - 1] != '\r'))
        data[length++] = '\r';
      data[length++] = text.data[i];
    }
  return (Bytes) { data, length };
}

static OwRunnerReplaceState
substitute (OwRunnerReplace *self,
            Bytes            mark,
            Bytes            body,
            Bytes            before,
            Bytes            after)
{
  const char *found;
  size_t grown;
  char *to;

  if (after.length > before.length &&
      self->found > (OW_RUNNER_REPLACE_MAX_BYTES - body.length) / (after.length - before.length))
    return OW_RUNNER_REPLACE_TOO_LARGE;
  grown = body.length - self->found * before.length + self->found * after.length;
  self->length = mark.length + grown;
  self->data = ow_runner_buffer_alloc (self->length + 1);
  memcpy (self->data, mark.data, mark.length);
  to = self->data + mark.length;
  while ((found = memmem (body.data, body.length, before.data, before.length)) != NULL)
    {
      size_t kept = (size_t) (found - body.data);

      to = mempcpy (to, body.data, kept);
      to = mempcpy (to, after.data, after.length);
      body.data += kept + before.length;
      body.length -= kept + before.length;
    }
  to = mempcpy (to, body.data, body.length);
  *to = '\0';
  return OW_RUNNER_REPLACE_DONE;
}

static size_t
mark_length (Bytes text)
{
  return text.length >= 3 && memcmp (text.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

OwRunnerReplaceState
ow_runner_replace_apply (OwRunnerReplace *self,
                         const char      *data,
                         size_t           length,
                         const char      *old_text,
                         size_t           old_length,
                         const char      *new_text,
                         size_t           new_length,
                         bool             all)
{
  Bytes mark = { data, mark_length ((Bytes) { data, length }) };
  Bytes body = { data + mark.length, length - mark.length };
  Bytes before = { old_text, old_length };
  Bytes after = { new_text, new_length };
  Bytes crlf_before = { NULL, 0 };
  Bytes crlf_after = { NULL, 0 };
  OwRunnerReplaceState state;

  memset (self, 0, sizeof *self);
  if (length > OW_RUNNER_REPLACE_MAX_BYTES)
    return OW_RUNNER_REPLACE_TOO_LARGE;
  self->crlf = ends_crlf (body);
  if (self->crlf)
    {
      crlf_before = with_crlf (before);
      crlf_after = with_crlf (after);
      after = crlf_after;
    }
  self->found = count (body, before);
  if (self->found == 0 && self->crlf)
    {
      before = crlf_before;
      self->found = count (body, before);
    }

  if (self->found == 0)
    state = OW_RUNNER_REPLACE_ABSENT;
  else if (self->found > 1 && !all)
    state = OW_RUNNER_REPLACE_AMBIGUOUS;
  else
    state = substitute (self, mark, body, before, after);
  free ((char *) crlf_before.data);
  free ((char *) crlf_after.data);
  return state;
}

static size_t
line_of (const char *data,
         const char *at)
{
  return count ((Bytes) { data, (size_t) (at - data) }, (Bytes) { "\n", 1 }) + 1;
}

/* Writes the lines that @what stands at and returns how many places there are. */
static size_t
put_places (OwRunnerBuffer *out,
            Bytes         in,
            Bytes         what)
{
  const char *from = in.data;
  const char *found;
  size_t line = 1;
  size_t n = 0;

  while (n <= MAX_PLACES &&
         (found = memmem (in.data, in.length, what.data, what.length)) != NULL)
    {
      line += line_of (from, found) - 1;
      if (n < MAX_PLACES)
        ow_runner_buffer_printf (out, "%s%zu", n == 0 ? "" : ", ", line);
      else
        ow_runner_buffer_append (out, " and more");
      n++;
      from = found;
      in.length -= (size_t) (found - in.data) + what.length;
      in.data = found + what.length;
    }
  return n;
}

void
ow_runner_replace_places (OwRunnerBuffer *out,
                          const char   *data,
                          size_t        length,
                          const char   *old_text,
                          size_t        old_length)
{
  Bytes body = { data, length };
  Bytes what = { old_text, old_length };
  Bytes crlf;

  if (put_places (out, body, what) > 0)
    return;
  crlf = with_crlf (what);
  put_places (out, body, crlf);
  free ((char *) crlf.data);
}

typedef enum {
  LEAVE_CR_OUT = 1 << 0,
  LEVEL_SPACE  = 1 << 1, /* runs are one blank, none at the ends of a line */
  LEVEL_CASE   = 1 << 2,
} Leveling;

/* (owned) the text with what does not count made alike; lines stay lines. */
static Bytes
level (Bytes    text,
       unsigned how)
{
  char *data = ow_runner_buffer_alloc (text.length + 1);
  size_t length = 0;
  bool blank = false;

  for (size_t i = 0; i < text.length; i++)
    {
      char byte = text.data[i];

      if (byte == '\r' && (how & LEAVE_CR_OUT) != 0 &&
          i + 1 < text.length && text.data[i + 1] == '\n')
        continue;
      if ((how & LEVEL_SPACE) != 0 && (byte == ' ' || byte == '\t'))
        {
          blank = true;
          continue;
        }
      if (blank && byte != '\n' && length > 0 && data[length - 1] != '\n')
        data[length++] = ' ';
      blank = false;
      data[length++] = (how & LEVEL_CASE) != 0 && byte >= 'A' && byte <= 'Z'
                       ? (char) (byte + 'a' - 'A') : byte;
    }
  return (Bytes) { data, length };
}

static Bytes
without_blank_ends (Bytes text)
{
  while (text.length > 0 && strchr (" \t\r\n", text.data[0]) != NULL && text.data[0] != '\0')
    {
      text.data++;
      text.length--;
    }
  while (text.length > 0 && strchr (" \t\r\n", text.data[text.length - 1]) != NULL &&
         text.data[text.length - 1] != '\0')
    text.length--;
  return text;
}

static bool
put_leveled (OwRunnerBuffer *out,
             Bytes         in,
             Bytes         what,
             unsigned      how,
             const char   *difference)
{
  Bytes leveled_in = level (in, how);
  Bytes leveled = level (what, how);
  Bytes core = (how & LEVEL_SPACE) != 0 ? without_blank_ends (leveled) : leveled;
  OwRunnerBuffer places;
  bool found = false;

  ow_runner_buffer_init (&places, 1024);
  if (core.length > 0)
    found = put_places (&places, leveled_in, core) > 0;
  if (found)
    ow_runner_buffer_printf (out, "The same text with other %s stands at line %s.", difference,
                             places.data);
  ow_runner_buffer_clear (&places);
  free ((char *) leveled_in.data);
  free ((char *) leveled.data);
  return found;
}

/* (owned) the text without what read puts in front of a line; empty when one has no
 * number. */
static Bytes
without_numbers (Bytes text)
{
  char *data = ow_runner_buffer_alloc (text.length + 1);
  const Bytes none = { data, 0 };
  size_t length = 0;
  size_t at = 0;

  while (at < text.length)
    {
      size_t digits;
      const char *end;

      while (at < text.length && text.data[at] == ' ')
        at++;
      digits = at;
      while (at < text.length && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
      if (at == digits || at == text.length || text.data[at] != '\t')
        return none;
      at++;
      end = memchr (text.data + at, '\n', text.length - at);
      digits = end != NULL ? (size_t) (end + 1 - text.data) - at : text.length - at;
      memcpy (data + length, text.data + at, digits);
      length += digits;
      at += digits;
    }
  return (Bytes) { data, length };
}

/* The first line of the text that is no blank one, where it stands by itself. */
static void
put_first_line (OwRunnerBuffer *out,
                Bytes         in,
                Bytes         what)
{
  Bytes leveled_in = level (in, LEAVE_CR_OUT | LEVEL_SPACE);
  Bytes leveled = level (what, LEAVE_CR_OUT | LEVEL_SPACE);
  Bytes line = without_blank_ends (leveled);
  const char *end = line.length > 0 ? memchr (line.data, '\n', line.length) : NULL;
  OwRunnerBuffer places;

  ow_runner_buffer_init (&places, 1024);
  if (end != NULL)
    {
      line.length = (size_t) (end - line.data);
      if (line.length >= 3 && put_places (&places, leveled_in, line) > 0)
        ow_runner_buffer_printf (out, "Its first line stands at line %s, but what follows there is "
                                 "not the same.", places.data);
    }
  ow_runner_buffer_clear (&places);
  free ((char *) leveled_in.data);
  free ((char *) leveled.data);
}

void
ow_runner_replace_near (OwRunnerBuffer *out,
                        const char   *data,
                        size_t        length,
                        const char   *old_text,
                        size_t        old_length)
{
  Bytes in = { data, length };
  Bytes what = { old_text, old_length };
  Bytes bare = without_numbers (what);

  if (bare.length > 0 && (count (in, bare) > 0))
    ow_runner_buffer_append (out, "It is there without the line numbers in front, which belong to "
                             "the answer of read and not to the file.");
  else if (!put_leveled (out, in, what, LEAVE_CR_OUT, "line ends") &&
           !put_leveled (out, in, what, LEAVE_CR_OUT | LEVEL_CASE, "upper and lower case") &&
           !put_leveled (out, in, what, LEAVE_CR_OUT | LEVEL_SPACE, "white space") &&
           !put_leveled (out, in, what, LEAVE_CR_OUT | LEVEL_SPACE | LEVEL_CASE,
                         "white space and case"))
    put_first_line (out, in, what);
  free ((char *) bare.data);
}
