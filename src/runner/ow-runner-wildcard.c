/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-wildcard-private.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-utf8-private.h"

#define MAX_ALTERNATIVES 256
#define MAX_BYTES        (64u * 1024u)

typedef struct {
  char  *text; /* (owned) without slashes */
  size_t length;
  size_t tail;    /* bytes at its end that stand for themselves */
  bool   any_depth;
  bool   literal;
} Segment;

typedef struct {
  Segment *segments; /* (owned) */
  size_t   n;
} Alternative;

struct _OwRunnerWildcard {
  Alternative *alternatives; /* (owned) */
  size_t       n;
};

/* Code point at @data and its length in bytes; a byte that begins no character stands
 * for itself, outside Unicode. */
static uint32_t
decode (const char *data,
        size_t      length,
        size_t     *n)
{
  const unsigned char *byte = (const unsigned char *) data;
  uint32_t code;

  *n = ow_runner_utf8_char (data, length);
  if (*n <= 1)
    {
      code = *n == 0 && byte[0] != 0 ? 0x110000u + byte[0] : byte[0];
      *n = 1;
      return code;
    }
  code = byte[0] & (0xffu >> (*n + 1));
  for (size_t i = 1; i < *n; i++)
    code = code << 6 | (byte[i] & 0x3fu);
  return code;
}

static bool
in_named_class (const char *name,
                size_t      length,
                uint32_t    code)
{
  static const struct {
    const char *name;
    int       (*test) (int);
  } classes[] = {
    { "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank }, { "cntrl", iscntrl },
    { "digit", isdigit }, { "graph", isgraph }, { "lower", islower }, { "print", isprint },
    { "punct", ispunct }, { "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
  };

  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
    {
      if (strlen (classes[i].name) == length && memcmp (classes[i].name, name, length) == 0)
        return code < 128 && classes[i].test ((int) code) != 0;
    }
  return false;
}

/* Takes one member of a class, which begins at *@at, as a range. */
static void
class_range (const char *pattern,
             size_t      length,
             size_t     *at,
             uint32_t   *low,
             uint32_t   *high)
{
  size_t n;

  if (pattern[*at] == '\\' && *at + 1 < length)
    (*at)++;
  *low = *high = decode (pattern + *at, length - *at, &n);
  *at += n;
  if (*at + 1 >= length || pattern[*at] != '-' || pattern[*at + 1] == ']')
    return;
  (*at)++;
  if (pattern[*at] == '\\' && *at + 1 < length)
    (*at)++;
  *high = decode (pattern + *at, length - *at, &n);
  *at += n;
}

/* Matches a class whose "[" stands at @pattern. Returns the bytes of it, 0 when it
 * has no end and so is no class. */
static size_t
match_class (const char *pattern,
             size_t      length,
             uint32_t    code,
             bool       *matches)
{
  size_t at = 1;
  size_t first;
  bool negated = at < length && (pattern[at] == '!' || pattern[at] == '^');

  if (negated)
    at++;
  *matches = false;
  for (first = at; at < length && (pattern[at] != ']' || at == first);)
    {
      const char *end = NULL;
      uint32_t low;
      uint32_t high;

      if (pattern[at] == '[' && at + 1 < length && pattern[at + 1] == ':')
        end = memmem (pattern + at + 2, length - at - 2, ":]", 2);
      if (end != NULL)
        {
          *matches = *matches || in_named_class (pattern + at + 2,
                                                 (size_t) (end - (pattern + at + 2)), code);
          at = (size_t) (end + 2 - pattern);
          continue;
        }
      class_range (pattern, length, &at, &low, &high);
      *matches = *matches || (code >= low && code <= high);
    }
  *matches = *matches != negated;
  return at < length ? at + 1 : 0;
}

/* Matches one item of the pattern at *@at, "*" excepted. Returns the bytes of @name
 * that it takes, 0 when it does not match. */
static size_t
match_one (const Segment *segment,
           size_t        *at,
           const char    *name,
           size_t         length)
{
  const char *pattern = segment->text + *at;
  size_t left = segment->length - *at;
  size_t n;
  size_t taken;
  bool matches;
  uint32_t code = decode (name, length, &n);

  if (*pattern == '?')
    {
      *at += 1;
      return n;
    }
  if (*pattern == '[' && (taken = match_class (pattern, left, code, &matches)) > 0)
    {
      *at += taken;
      return matches ? n : 0;
    }
  if (*pattern == '\\' && left > 1)
    {
      *at += 1;
      pattern++;
    }
  *at += 1;
  return *pattern == *name ? 1 : 0;
}

static bool
match_segment (const Segment *segment,
               const char    *name,
               size_t         length)
{
  size_t at = 0;
  size_t done = 0;
  size_t star = SIZE_MAX;
  size_t star_done = 0;

  if (segment->literal)
    return length == segment->length && memcmp (segment->text, name, length) == 0;
  /* Most names that do not match end in another way. */
  if (length < segment->tail || memcmp (segment->text + segment->length - segment->tail,
                                        name + length - segment->tail, segment->tail) != 0)
    return false;
  while (done < length)
    {
      size_t next = at;
      size_t taken = 0;

      if (at < segment->length && segment->text[at] == '*')
        {
          star = at++;
          star_done = done;
          continue;
        }
      if (at < segment->length)
        taken = match_one (segment, &next, name + done, length - done);
      if (taken > 0)
        {
          at = next;
          done += taken;
          continue;
        }
      /* Only the last star need be tried again: what an earlier one could take, the
       * last one can take as well. */
      if (star == SIZE_MAX)
        return false;
      decode (name + star_done, length - star_done, &taken);
      star_done += taken;
      done = star_done;
      at = star + 1;
    }
  while (at < segment->length && segment->text[at] == '*')
    at++;
  return at == segment->length;
}

static bool
match_alternative (const Alternative *self,
                   const char        *path)
{
  size_t at = 0;
  size_t star = SIZE_MAX;
  const char *star_path = NULL;

  while (*path != '\0')
    {
      const char *end = strchrnul (path, '/');

      if (at < self->n && self->segments[at].any_depth)
        {
          star = at++;
          star_path = path;
          /* At the end it stands for one component or more, and there is one. */
          if (at == self->n)
            return true;
          continue;
        }
      if (at < self->n && match_segment (&self->segments[at], path, (size_t) (end - path)))
        {
          at++;
          path = *end == '/' ? end + 1 : end;
          continue;
        }
      if (star == SIZE_MAX)
        return false;
      star_path = strchrnul (star_path, '/');
      if (*star_path == '\0')
        return false;
      path = ++star_path;
      at = star + 1;
    }
  return at == self->n;
}

bool
ow_runner_wildcard_match (const OwRunnerWildcard *self,
                          const char             *path)
{
  for (size_t i = 0; i < self->n; i++)
    {
      if (match_alternative (&self->alternatives[i], path))
        return true;
    }
  return false;
}

static void
add_segment (Alternative *self,
             const char  *text,
             size_t       length)
{
  Segment *segment;

  self->segments = ow_runner_buffer_resize (self->segments,
                                            (self->n + 1) * sizeof *self->segments);
  segment = &self->segments[self->n++];
  segment->text = ow_runner_buffer_copy (text, length);
  segment->length = length;
  segment->any_depth = length == 2 && memcmp (text, "**", 2) == 0;
  segment->literal = strcspn (segment->text, "*?[\\") == length;
  segment->tail = 0;
  while (segment->tail < length &&
         strchr ("*?[]\\", segment->text[length - segment->tail - 1]) == NULL)
    segment->tail++;
}

static void
add_alternative (OwRunnerWildcard *self,
                 const char       *pattern)
{
  Alternative *alternative;

  self->alternatives = ow_runner_buffer_resize (self->alternatives,
                                                (self->n + 1) * sizeof *self->alternatives);
  alternative = &self->alternatives[self->n++];
  alternative->segments = NULL;
  alternative->n = 0;
  while (*pattern != '\0')
    {
      size_t length = strcspn (pattern, "/");
      bool here = length == 0 || (length == 1 && pattern[0] == '.');

      if (!here)
        add_segment (alternative, pattern, length);
      pattern += length;
      pattern += *pattern == '/' ? 1 : 0;
    }
}

/* The first "{" with a "}" and a "," of its own between them. */
static bool
find_braces (const char *pattern,
             size_t     *open,
             size_t     *close)
{
  for (size_t start = 0; pattern[start] != '\0'; start++)
    {
      bool comma = false;
      int depth = 0;

      if (pattern[start] == '\\' && pattern[start + 1] != '\0')
        {
          start++;
          continue;
        }
      if (pattern[start] != '{')
        continue;
      for (size_t at = start; pattern[at] != '\0'; at++)
        {
          if (pattern[at] == '\\' && pattern[at + 1] != '\0')
            at++;
          else if (pattern[at] == '{')
            depth++;
          else if (pattern[at] == ',' && depth == 1)
            comma = true;
          else if (pattern[at] == '}' && --depth == 0)
            {
              *open = start;
              *close = at;
              if (comma)
                return true;
              break;
            }
        }
      /* Without an end here there is none further on for an outer one; an inner one
       * may still be whole, so the search goes on. Its cost is bounded by the cap on
       * the length of a pattern. */
    }
  return false;
}

typedef struct {
  char  *patterns[MAX_ALTERNATIVES]; /* (owned) */
  size_t n;
  size_t bytes;
} Work;

/* Puts @pattern with one choice in place of its braces back to the work. */
static bool
push_choice (Work       *work,
             const char *pattern,
             size_t      open,
             size_t      close,
             size_t      start,
             size_t      end)
{
  size_t tail = strlen (pattern + close + 1);
  size_t length = open + (end - start) + tail;
  char *chosen;

  if (work->n == MAX_ALTERNATIVES || (work->bytes += length) > MAX_BYTES)
    return false;
  chosen = ow_runner_buffer_alloc (length + 1);
  memcpy (chosen, pattern, open);
  memcpy (chosen + open, pattern + start, end - start);
  memcpy (chosen + open + (end - start), pattern + close + 1, tail + 1);
  work->patterns[work->n++] = chosen;
  return true;
}

static bool
push_choices (Work       *work,
              const char *pattern,
              size_t      open,
              size_t      close)
{
  size_t start = open + 1;
  int depth = 0;

  for (size_t at = open + 1; at <= close; at++)
    {
      if (pattern[at] == '\\' && at + 1 < close)
        {
          at++;
        }
      else if ((pattern[at] == ',' && depth == 0) || at == close)
        {
          if (!push_choice (work, pattern, open, close, start, at))
            return false;
          start = at + 1;
        }
      else if (pattern[at] == '{')
        {
          depth++;
        }
      else if (pattern[at] == '}')
        {
          depth--;
        }
    }
  return true;
}

static bool
expand (OwRunnerWildcard *self,
        const char       *pattern,
        size_t            length)
{
  Work *work = ow_runner_buffer_alloc (sizeof *work);
  bool fits = length <= MAX_BYTES / 16;

  work->n = 1;
  work->bytes = length;
  work->patterns[0] = ow_runner_buffer_copy (pattern, length);
  while (work->n > 0)
    {
      char *next = work->patterns[--work->n];
      size_t open;
      size_t close;

      if (fits && find_braces (next, &open, &close))
        fits = push_choices (work, next, open, close);
      else if (fits && (fits = self->n < MAX_ALTERNATIVES))
        add_alternative (self, next);
      free (next);
    }
  free (work);
  return fits;
}

OwRunnerWildcard *
ow_runner_wildcard_new (const char *pattern,
                        size_t      length,
                        bool        braces)
{
  OwRunnerWildcard *self = ow_runner_buffer_alloc (sizeof *self);
  char *copy;

  memset (self, 0, sizeof *self);
  if (!braces)
    {
      copy = ow_runner_buffer_copy (pattern, length);
      add_alternative (self, copy);
      free (copy);
    }
  else if (!expand (self, pattern, length))
    {
      ow_runner_wildcard_free (self);
      return NULL;
    }
  return self;
}

void
ow_runner_wildcard_free (OwRunnerWildcard *self)
{
  if (self == NULL)
    return;
  for (size_t i = 0; i < self->n; i++)
    {
      for (size_t j = 0; j < self->alternatives[i].n; j++)
        free (self->alternatives[i].segments[j].text);
      free (self->alternatives[i].segments);
    }
  free (self->alternatives);
  free (self);
}
