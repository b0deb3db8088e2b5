/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-near-private.h"

#include <stdlib.h>
#include <string.h>

#include "ow-runner-needle-private.h"
#include "ow-runner-utf8-private.h"

#define MAX_PLACES  10
/* Of a line of the file are shown. */
#define SHOWN_BYTES 160
/* Places whose further lines are compared, so that a line that is everywhere costs
 * no more. */
#define MAX_TRIES   1000

typedef struct {
  const char *data;
  size_t      length;
} Bytes;

typedef enum {
  LEAVE_CR_OUT = 1 << 0,
  LEVEL_SPACE  = 1 << 1, /* runs are one blank, none at the ends of a line */
  LEVEL_CASE   = 1 << 2,
  LEVEL_SIGNS  = 1 << 3, /* quotation marks, dashes and blanks as a keyboard has them */
  LEVEL_ESCAPE = 1 << 4, /* \n, \t, \" and \\ are what they stand for in a program's text */
} Leveling;

/* What stands for a character that is typed by itself nowhere. */
static const char *
plain_sign (const char *data,
            size_t      length,
            size_t     *n)
{
  static const struct {
    const char *sign;
    const char *plain;
  } signs[] = {
    { "\u2018", "'" }, { "\u2019", "'" }, { "\u201a", "'" }, { "\u2032", "'" },
    { "\u201c", "\"" }, { "\u201d", "\"" }, { "\u201e", "\"" }, { "\u2033", "\"" },
    { "\u2010", "-" }, { "\u2011", "-" }, { "\u2012", "-" }, { "\u2013", "-" },
    { "\u2014", "-" }, { "\u2212", "-" }, { "\u00a0", " " }, { "\u2007", " " },
    { "\u202f", " " }, { "\u200b", "" }, { "\ufeff", "" }, { "\u2026", "..." },
    { "`", "'" }, { "\"", "'" },
  };

  for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
    {
      *n = strlen (signs[i].sign);
      if (length >= *n && memcmp (data, signs[i].sign, *n) == 0)
        return strcmp (signs[i].plain, "\"") == 0 ? "'" : signs[i].plain;
    }
  return NULL;
}

static char
unescaped (char byte)
{
  switch (byte)
    {
    case 'n': return '\n';
    case 't': return '\t';
    case '"': return '"';
    case '\'': return '\'';
    case '\\': return '\\';
    default: return '\0';
    }
}

/* Bytes of the text that the one at @at is made of, and what they become. */
static size_t
take (Bytes       text,
      size_t      at,
      unsigned    how,
      char        single[2],
      const char **plain)
{
  char byte = text.data[at];
  size_t n;

  single[0] = byte;
  single[1] = '\0';
  *plain = single;
  if ((how & LEAVE_CR_OUT) != 0 && byte == '\r' && at + 1 < text.length &&
      text.data[at + 1] == '\n')
    {
      *plain = "";
      return 1;
    }
  if ((how & LEVEL_ESCAPE) != 0 && byte == '\\' && at + 1 < text.length &&
      unescaped (text.data[at + 1]) != '\0')
    {
      single[0] = unescaped (text.data[at + 1]);
      return 2;
    }
  if ((how & LEVEL_SIGNS) != 0 && ((unsigned char) byte >= 0x80 || byte == '"' || byte == '`'))
    {
      const char *sign = plain_sign (text.data + at, text.length - at, &n);

      if (sign != NULL)
        {
          *plain = sign;
          return n;
        }
    }
  if ((how & LEVEL_CASE) != 0 && byte >= 'A' && byte <= 'Z')
    single[0] = (char) (byte + 'a' - 'A');
  return 1;
}

/* (owned) the text with what does not count made alike; lines stay lines. It never gets
 * longer: each sign takes at least as many bytes as what it becomes. */
static Bytes
level (Bytes    text,
       unsigned how)
{
  char *data = ow_runner_buffer_alloc (text.length + 1);
  size_t length = 0;
  bool blank = false;

  for (size_t at = 0; at < text.length;)
    {
      char single[2];
      const char *plain;

      at += take (text, at, how, single, &plain);
      if ((how & LEVEL_SPACE) != 0 && (plain[0] == ' ' || plain[0] == '\t') && plain[1] == '\0')
        {
          blank = true;
          continue;
        }
      if (plain == single || plain[0] != '\0')
        {
          if (blank && plain[0] != '\n' && length > 0 && data[length - 1] != '\n')
            data[length++] = ' ';
          blank = false;
        }
      if (plain == single)
        data[length++] = single[0];
      else
        length = (size_t) ((char *) mempcpy (data + length, plain, strlen (plain)) - data);
    }
  return (Bytes) { data, length };
}

static Bytes
without_blank_ends (Bytes text)
{
  while (text.length > 0 && text.data[0] != '\0' && strchr (" \t\r\n", text.data[0]) != NULL)
    {
      text.data++;
      text.length--;
    }
  while (text.length > 0 && text.data[text.length - 1] != '\0' &&
         strchr (" \t\r\n", text.data[text.length - 1]) != NULL)
    text.length--;
  return text;
}

size_t
ow_runner_near_places (OwRunnerBuffer *out,
                       const char     *data,
                       size_t          length,
                       const char     *text,
                       size_t          text_length)
{
  const char *from = data;
  const char *found;
  size_t line = 1;
  size_t n = 0;

  while (n <= MAX_PLACES && (found = memmem (data, length, text, text_length)) != NULL)
    {
      line += ow_runner_needle_count_lines (from, (size_t) (found - from));
      if (n < MAX_PLACES)
        ow_runner_buffer_printf (out, "%s%zu", n == 0 ? "" : ", ", line);
      else
        ow_runner_buffer_append (out, " and more");
      n++;
      from = found;
      length -= (size_t) (found - data) + text_length;
      data = found + text_length;
    }
  return n;
}

static bool
put_leveled (OwRunnerBuffer *out,
             Bytes           in,
             Bytes           what,
             unsigned        how,
             const char     *difference)
{
  Bytes leveled_in = level (in, how & ~(unsigned) LEVEL_ESCAPE);
  Bytes leveled = level (what, how);
  Bytes core = (how & LEVEL_SPACE) != 0 ? without_blank_ends (leveled) : leveled;
  OwRunnerBuffer places;
  bool found = false;

  ow_runner_buffer_init (&places, 1024);
  if (core.length > 0)
    found = ow_runner_near_places (&places, leveled_in.data, leveled_in.length, core.data,
                                   core.length) > 0;
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

/* Takes the first line off the text. */
static Bytes
take_line (Bytes *text)
{
  const char *end = memchr (text->data, '\n', text->length);
  Bytes line = { text->data, end != NULL ? (size_t) (end - text->data) : text->length };
  size_t taken = line.length + (end != NULL ? 1 : 0);

  text->data += taken;
  text->length -= taken;
  return line;
}

static bool
is_same (Bytes one,
         Bytes other)
{
  return one.length == other.length &&
         (one.length == 0 || memcmp (one.data, other.data, one.length) == 0);
}

/* The line of the file with this number, from 1. */
static Bytes
line_at (Bytes  in,
         size_t number)
{
  Bytes line = { in.data, 0 };

  for (size_t i = 0; i < number; i++)
    line = take_line (&in);
  if (line.length > 0 && line.data[line.length - 1] == '\r')
    line.length--;
  return line;
}

typedef struct {
  size_t line; /* of the file, where the text's first one stands */
  size_t same; /* lines that are the same from there on */
} Near;

/* Where the text's first line stands in the file, and most of what follows it. Both have
 * been leveled. */
static Near
find_lines (Bytes in,
            Bytes what)
{
  Bytes rest = what;
  Bytes first = take_line (&rest);
  Near best = { 0, 0 };
  size_t tries = 0;

  for (size_t line = 1; in.length > 0 && tries < MAX_TRIES; line++)
    {
      Bytes after;
      Bytes wanted = rest;
      size_t same = 1;

      if (!is_same (take_line (&in), first))
        continue;
      tries++;
      after = in;
      while (wanted.length > 0 && after.length > 0 &&
             is_same (take_line (&after), take_line (&wanted)))
        same++;
      if (same > best.same)
        {
          best.line = line;
          best.same = same;
        }
    }
  return best;
}

/* The place where the text begins in the file, and the line that differs there. */
static bool
put_first_lines (OwRunnerBuffer *out,
                 Bytes           in,
                 Bytes           what)
{
  Bytes leveled_in = level (in, LEAVE_CR_OUT | LEVEL_SPACE);
  Bytes leveled = level (what, LEAVE_CR_OUT | LEVEL_SPACE);
  Bytes core = without_blank_ends (leveled);
  Near near = { 0, 0 };

  if (core.length >= 3 && memchr (core.data, '\n', core.length) != NULL)
    near = find_lines (leveled_in, core);
  if (near.same > 0)
    {
      Bytes other = line_at (in, near.line + near.same);
      size_t shown = other.length;

      if (shown > SHOWN_BYTES)
        shown = SHOWN_BYTES - ow_runner_utf8_incomplete (other.data, SHOWN_BYTES);
      ow_runner_buffer_printf (out, "Its first line stands at line %zu, but what follows is not "
                               "the same: line %zu of the file is \"", near.line,
                               near.line + near.same);
      ow_runner_buffer_bytes (out, other.data, shown, NULL);
      ow_runner_buffer_printf (out, "%s\".", shown < other.length ? " …" : "");
    }
  free ((char *) leveled_in.data);
  free ((char *) leveled.data);
  return near.same > 0;
}

static size_t
alike (Bytes one,
       Bytes other)
{
  size_t max = one.length < other.length ? one.length : other.length;
  size_t start = 0;
  size_t end = 0;

  while (start < max && one.data[start] == other.data[start])
    start++;
  while (end < max - start &&
         one.data[one.length - 1 - end] == other.data[other.length - 1 - end])
    end++;
  return start + end;
}

/* The line of the file that is most like the text's first one, when it is by half. */
static void
put_nearest (OwRunnerBuffer *out,
             Bytes           in,
             Bytes           what)
{
  Bytes leveled_in = level (in, LEAVE_CR_OUT | LEVEL_SPACE);
  Bytes leveled = level (what, LEAVE_CR_OUT | LEVEL_SPACE);
  Bytes core = without_blank_ends (leveled);
  Bytes first = take_line (&core);
  Bytes rest = leveled_in;
  size_t best = 0;
  size_t at = 0;

  for (size_t line = 1; rest.length > 0; line++)
    {
      Bytes candidate = take_line (&rest);
      size_t longer = candidate.length > first.length ? candidate.length : first.length;
      size_t same = alike (candidate, first);

      if (first.length >= 6 && same * 2 >= longer && same > best)
        {
          best = same;
          at = line;
        }
    }
  if (at > 0)
    {
      Bytes other = line_at (in, at);
      size_t shown = other.length;

      if (shown > SHOWN_BYTES)
        shown = SHOWN_BYTES - ow_runner_utf8_incomplete (other.data, SHOWN_BYTES);
      ow_runner_buffer_printf (out, "The line that is most like its first one is line %zu: \"", at);
      ow_runner_buffer_bytes (out, other.data, shown, NULL);
      ow_runner_buffer_printf (out, "%s\".", shown < other.length ? " …" : "");
    }
  free ((char *) leveled_in.data);
  free ((char *) leveled.data);
}

void
ow_runner_near_describe (OwRunnerBuffer *out,
                         const char     *data,
                         size_t          length,
                         const char     *old_text,
                         size_t          old_length)
{
  static const struct {
    unsigned    how;
    const char *difference;
  } levelings[] = {
    { LEAVE_CR_OUT, "line ends" },
    { LEAVE_CR_OUT | LEVEL_CASE, "upper and lower case" },
    { LEAVE_CR_OUT | LEVEL_SPACE, "white space (blanks, tabs, indentation)" },
    { LEAVE_CR_OUT | LEVEL_SIGNS, "quotation marks, dashes or special blanks" },
    { LEAVE_CR_OUT | LEVEL_ESCAPE, "backslashes (\\n or \\\" for the character itself)" },
    { LEAVE_CR_OUT | LEVEL_SPACE | LEVEL_CASE, "white space and case" },
    { LEAVE_CR_OUT | LEVEL_SPACE | LEVEL_CASE | LEVEL_SIGNS,
      "white space, case and quotation marks" },
  };
  Bytes in = { data, length };
  Bytes what = { old_text, old_length };
  Bytes bare = without_numbers (what);
  bool found = bare.length > 0 && memmem (data, length, bare.data, bare.length) != NULL;

  if (found)
    ow_runner_buffer_append (out, "It is there without the line numbers in front, which belong to "
                             "the answer of read and not to the file.");
  for (size_t i = 0; i < sizeof levelings / sizeof levelings[0] && !found; i++)
    found = put_leveled (out, in, what, levelings[i].how, levelings[i].difference);
  if (!found && !put_first_lines (out, in, what))
    put_nearest (out, in, what);
  free ((char *) bare.data);
}
