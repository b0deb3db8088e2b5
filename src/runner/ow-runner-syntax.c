/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-syntax-private.h"

#include <stdlib.h>
#include <string.h>

#include "ow-runner-utf8-private.h"

#define MAX_DEPTH 50
#define MAX_BYTES 65536

typedef struct {
  const char     *pattern;
  size_t          length;
  size_t          at;
  bool            ignore_case;
  bool            plain;     /* nothing but literal characters so far */
  bool            confines;  /* nothing so far that cannot be confined to a line */
  int             depth;
  OwRunnerSyntax *syntax;
} Scan;

/* Literals of which a match holds one; n is 0 where none are known. */
typedef struct {
  OwRunnerNeedles needles;
} Set;

/* The literal that is being taken within a sequence. */
typedef struct {
  char   text[OW_RUNNER_NEEDLE_BYTES];
  size_t length;
  bool   full;
  Set    best;
} Run;

static bool take_alternatives (Scan *self,
                               Set  *set);

static size_t
shortest (const Set *set)
{
  size_t length = OW_RUNNER_NEEDLE_BYTES;

  for (size_t i = 0; i < set->needles.n; i++)
    {
      if (set->needles.needles[i].length < length)
        length = set->needles.needles[i].length;
    }
  return set->needles.n > 0 ? length : 0;
}

/* A longer text is met less often; each further one costs a look at all bytes. */
static size_t
worth (const Set *set)
{
  size_t length = shortest (set);

  return length == 0 ? 0 : (length < 6 ? length * 8 : 48 + length) - set->needles.n;
}

static void
consider (Run       *run,
          const Set *set)
{
  if (worth (set) > worth (&run->best))
    run->best = *set;
}

static void
end_run (Run *run)
{
  Set set = { .needles.n = 0 };

  if (run->length > 0)
    {
      ow_runner_needles_add (&set.needles, run->text, run->length);
      consider (run, &set);
    }
  run->length = 0;
}

static void
emit (Scan       *self,
      const char *text,
      size_t      length)
{
  OwRunnerBuffer *out = &self->syntax->confined;

  for (size_t i = 0; i < length; i++)
    {
      char byte[2] = { text[i], '\0' };

      /* A NUL has no place in such a text; there is none in any that is looked at. */
      if (text[i] == '\0')
        self->confines = false;
      ow_runner_buffer_append (out, byte);
    }
}

/* What a quantifier at this place leaves of the item before it. */
typedef enum {
  ONCE,
  AT_LEAST_ONCE,
  PERHAPS,
} Times;

/* Whether the "{" at this place begins a number of times: else it stands for itself. */
static bool
is_count (const Scan *self)
{
  size_t at = self->at + 1;

  while (at < self->length && self->pattern[at] != '\0' &&
         strchr ("0123456789, ", self->pattern[at]) != NULL)
    at++;
  return at > self->at + 1 && at < self->length && self->pattern[at] == '}';
}

static Times
take_quantifier (Scan *self)
{
  Times times = ONCE;
  size_t start = self->at;

  while (self->at < self->length && self->pattern[self->at] != '\0' &&
         strchr ("*+?{", self->pattern[self->at]) != NULL &&
         (self->pattern[self->at] != '{' || is_count (self)))
    {
      bool plus = self->pattern[self->at] == '+' && self->at == start;

      times = plus || (times == AT_LEAST_ONCE && self->pattern[self->at] != '{' &&
                       self->pattern[self->at] != '*') ? AT_LEAST_ONCE : PERHAPS;
      /* Where it is a count there is an end to it. */
      if (self->pattern[self->at] == '{')
        while (self->pattern[self->at] != '}')
          self->at++;
      self->at++;
    }
  if (self->at > start)
    self->plain = false;
  emit (self, self->pattern + start, self->at - start);
  return times;
}

/* Whether other characters than its two cases stand for a letter when case is ignored;
 * k and s have one each (the Kelvin sign, the long s). */
static bool
is_plain_letter (unsigned char byte)
{
  return byte < 0x80 && strchr ("kKsS", byte) == NULL;
}

/* Takes a literal character of which @n bytes stand in the pattern from @start on. */
static void
take_literal (Scan       *self,
              Run        *run,
              const char *text,
              size_t      n)
{
  unsigned char first = (unsigned char) text[0];
  Times times = take_quantifier (self);

  if (times != ONCE || (self->ignore_case && !is_plain_letter (first)))
    {
      end_run (run);
      run->full = false;
      if (self->ignore_case)
        self->plain = false;
      return;
    }
  if (run->full || run->length + n > sizeof run->text)
    {
      /* What follows is no part of it, and it is long enough. */
      run->full = true;
      self->plain = false;
      return;
    }
  for (size_t i = 0; i < n; i++)
    {
      char byte = text[i];

      run->text[run->length++] = self->ignore_case && byte >= 'A' && byte <= 'Z'
                                 ? (char) (byte | 0x20) : byte;
    }
}

static void
take_character (Scan *self,
                Run  *run)
{
  size_t n = ow_runner_utf8_char (self->pattern + self->at, self->length - self->at);
  size_t start = self->at;

  n = n > 0 ? n : 1;
  emit (self, self->pattern + start, n);
  self->at += n;
  take_literal (self, run, self->pattern + start, n);
}

/* An item that is no literal has been passed over. */
static void
break_run (Scan *self,
           Run  *run)
{
  self->plain = false;
  end_run (run);
  run->full = false;
}

static bool
take_escape (Scan *self,
             Run  *run)
{
  static const struct {
    char        letter;
    const char *confined; /* NULL: as it is */
  } classes[] = {
    { 'd', NULL }, { 'w', NULL }, { 'h', NULL }, { 'S', NULL }, { 'V', NULL }, { 'N', NULL },
    { 'b', NULL }, { 'B', NULL }, { 'D', "[^\\d\\n]" }, { 'W', "[^\\w\\n]" },
    { 's', "[^\\S\\n]" }, { 'H', "[^\\h\\n]" }, { 'v', "[^\\V\\n]" },
  };
  char byte;

  if (self->at + 1 >= self->length)
    return false;
  byte = self->pattern[self->at + 1];
  self->at += 2;
  if (byte == 'n')
    self->syntax->speaks_of_newline = true;
  if ((unsigned char) byte < 0x80 && byte != '\n' &&
      strchr ("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", byte) == NULL)
    {
      emit (self, self->pattern + self->at - 2, 2);
      take_literal (self, run, &byte, 1);
      return true;
    }
  if (byte == 't')
    {
      emit (self, "\\t", 2);
      take_literal (self, run, "\t", 1);
      self->plain = false;
      return true;
    }
  if (byte != '\0' && strchr ("AzZGR", byte) != NULL)
    {
      /* These speak of the whole text, or of its newlines. */
      self->confines = false;
      break_run (self, run);
      take_quantifier (self);
      return true;
    }
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
    {
      if (classes[i].letter != byte)
        continue;
      if (classes[i].confined != NULL)
        emit (self, classes[i].confined, strlen (classes[i].confined));
      else
        emit (self, self->pattern + self->at - 2, 2);
      break_run (self, run);
      take_quantifier (self);
      return true;
    }
  return false;
}

/* Goes over the members of a class whose "[" stands before self->at. *@safe: none of
 * them can be a newline. False when it has no end. */
static bool
pass_members (Scan *self,
              bool *safe)
{
  size_t first = self->at;

  *safe = true;
  for (; self->at < self->length; self->at++)
    {
      unsigned char byte = (unsigned char) self->pattern[self->at];

      if (byte == ']' && self->at > first)
        return true;
      if (byte == '[' && self->at + 1 < self->length && self->pattern[self->at + 1] == ':')
        {
          /* A name of letters, or a class that ends here: which of the two is PCRE2's to know. */
          self->at += 2;
          if (self->at < self->length && self->pattern[self->at] == '^')
            self->at++;
          while (self->at < self->length && self->pattern[self->at] >= 'a' &&
                 self->pattern[self->at] <= 'z')
            self->at++;
          if (self->at + 1 >= self->length || memcmp (self->pattern + self->at, ":]", 2) != 0)
            return false;
          self->at++;
          *safe = false;
        }
      else if (byte == '\\')
        {
          self->at++;
          byte = self->at < self->length ? (unsigned char) self->pattern[self->at] : '\0';
          *safe = *safe && byte >= 0x20 &&
                  strchr ("abcefgijklmnopqrstuxyzABCDEFGHIJKLMNOPQRTUWXYZ0123456789v",
                          byte) == NULL;
          if (byte == 'n')
            self->syntax->speaks_of_newline = true;
          if (byte == '\0' || strchr ("QEc", byte) != NULL)
            return false;
        }
      else if (byte < 0x20)
        {
          *safe = false;
        }
    }
  return false;
}

static bool
take_class (Scan *self,
            Run  *run)
{
  size_t start = self->at++;
  bool negated = self->at < self->length && self->pattern[self->at] == '^';
  bool safe;

  if (negated)
    self->at++;
  if (!pass_members (self, &safe))
    return false;
  self->at++;
  if (negated)
    {
      /* What was first may not be so any more. */
      emit (self, "[^\\n", 4);
      if (strchr ("]-", self->pattern[start + 2]) != NULL)
        emit (self, "\\", 1);
      emit (self, self->pattern + start + 2, self->at - start - 2);
    }
  else
    {
      emit (self, "(?:(?!\\n)", safe ? 0 : 9);
      emit (self, self->pattern + start, self->at - start);
      emit (self, ")", safe ? 0 : 1);
    }
  break_run (self, run);
  take_quantifier (self);
  return true;
}

/* The beginnings of groups that only group, and of those that look around. */
static bool
take_group_start (Scan *self,
                  bool *looks)
{
  static const struct {
    const char *text;
    bool        looks;
  } starts[] = {
    { "?:", false }, { "?>", false }, { "?=", true }, { "?!", true }, { "?<=", true },
    { "?<!", true },
  };
  const char *text = self->pattern + self->at;
  size_t left = self->length - self->at;

  *looks = false;
  if (left == 0 || text[0] == '*')
    return false;
  if (text[0] != '?')
    return true;
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
    {
      size_t n = strlen (starts[i].text);

      if (left > n && memcmp (text, starts[i].text, n) == 0)
        {
          emit (self, text, n);
          self->at += n;
          *looks = starts[i].looks;
          return true;
        }
    }
  return false;
}

static bool
take_group (Scan *self,
            Run  *run)
{
  Set set;
  bool looks;

  emit (self, "(", 1);
  self->at++;
  break_run (self, run);
  if (++self->depth > MAX_DEPTH || !take_group_start (self, &looks) ||
      !take_alternatives (self, &set) || self->at >= self->length)
    return false;
  self->depth--;
  emit (self, ")", 1);
  self->at++;
  if (take_quantifier (self) != PERHAPS && !looks)
    consider (run, &set);
  return true;
}

/* Takes one item; false where it is not known here. */
static bool
take_item (Scan *self,
           Run  *run)
{
  char byte = self->pattern[self->at];

  switch (byte)
    {
    case '\\':
      return take_escape (self, run);

    case '[':
      return take_class (self, run);

    case '(':
      return take_group (self, run);

    case '\n':
      self->syntax->speaks_of_newline = true;
      return false;

    case '.':
    case '^':
    case '$':
      emit (self, &byte, 1);
      self->at++;
      break_run (self, run);
      take_quantifier (self);
      return true;

    default:
      take_character (self, run);
      return true;
    }
}

static void
join (Set       *set,
      const Set *other,
      bool      *known)
{
  if (other->needles.n == 0)
    *known = false;
  for (size_t i = 0; i < other->needles.n && *known; i++)
    *known = ow_runner_needles_add (&set->needles, other->needles.needles[i].text,
                                    other->needles.needles[i].length);
}

/* Takes what stands up to the end or the ")" of the group it is in. */
static bool
take_alternatives (Scan *self,
                   Set  *set)
{
  bool known = true;

  memset (set, 0, sizeof *set);
  for (;;)
    {
      Run run = { .length = 0 };

      while (self->at < self->length && self->pattern[self->at] != '|' &&
             self->pattern[self->at] != ')')
        {
          if (!take_item (self, &run))
            return false;
        }
      end_run (&run);
      join (set, &run.best, &known);
      if (self->at >= self->length || self->pattern[self->at] == ')')
        break;
      self->plain = false;
      emit (self, "|", 1);
      self->at++;
    }
  if (!known)
    set->needles.n = 0;
  return true;
}

void
ow_runner_syntax_take (OwRunnerSyntax *self,
                       const char     *pattern,
                       size_t          length,
                       bool            ignore_case)
{
  Scan scan = { .pattern = pattern, .length = length, .ignore_case = ignore_case, .plain = true,
                .confines = true, .syntax = self };
  Set set;
  bool known;

  memset (self, 0, sizeof *self);
  ow_runner_buffer_init (&self->confined, MAX_BYTES * 8);
  if (length >= 4 && memcmp (pattern, "(?i)", 4) == 0)
    {
      emit (&scan, pattern, 4);
      scan.at = 4;
      scan.ignore_case = true;
    }
  known = take_alternatives (&scan, &set) && scan.at == length;
  if (known)
    self->needles = set.needles;
  self->needles.ignore_case = scan.ignore_case;
  self->whole = known && scan.plain && set.needles.n == 1 && !scan.ignore_case;
  self->is_confined = known && scan.confines && !self->confined.cut && length > 0;
  self->plain_bytes = true;
  for (size_t i = 0; i < length; i++)
    self->plain_bytes = self->plain_bytes && (unsigned char) pattern[i] < 0x80;
}

void
ow_runner_syntax_clear (OwRunnerSyntax *self)
{
  ow_runner_buffer_clear (&self->confined);
}
