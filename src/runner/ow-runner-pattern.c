/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-pattern-private.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-utf8-private.h"

#define MAX_PATTERN_BYTES 65536
#define MAX_STEPS         1000000
#define MAX_DEPTH         10000
#define MAX_HEAP_KIB      16384
#define JIT_STACK_BYTES   (1024u * 1024u)

struct _OwRunnerPattern {
  pcre2_code          *code;    /* (owned) */
  pcre2_match_data    *data;    /* (owned) */
  pcre2_match_context *context; /* (owned) */
  pcre2_jit_stack     *stack;   /* (owned) (nullable) */
  char                *literal; /* (owned) (nullable) */
  size_t               literal_length;
  bool                 whole;   /* the pattern is that literal and nothing else */
};

/* What is taken from a pattern's text. Only what is certain is: any construct that is
 * not known here ends the search for a literal, which costs time and nothing else. */
typedef struct {
  const char *pattern;
  size_t      length;
  size_t      at;
  char       *run;        /* (owned) the literal that is being taken */
  size_t      run_length;
  char       *best;       /* (owned) */
  size_t      best_length;
  bool        plain;      /* nothing but literal characters so far */
} Scan;

static void
end_run (Scan *self)
{
  if (self->run_length > self->best_length)
    {
      memcpy (self->best, self->run, self->run_length);
      self->best_length = self->run_length;
    }
  self->run_length = 0;
}

/* Passes over a class; false when it has no end. */
static bool
skip_class (Scan *self)
{
  size_t at = self->at + 1;

  if (at < self->length && self->pattern[at] == '^')
    at++;
  if (at < self->length && self->pattern[at] == ']')
    at++;
  for (; at < self->length && self->pattern[at] != ']'; at++)
    {
      if (self->pattern[at] == '\\')
        at++;
      else if (self->pattern[at] == '[' && at + 1 < self->length &&
               strchr (":.=", self->pattern[at + 1]) != NULL)
        return false;
    }
  self->at = at + 1;
  return at < self->length;
}

/* Passes over a group with all that is in it. Groups that set options or do more than
 * group are not known here. */
static bool
skip_group (Scan *self)
{
  int depth = 0;

  while (self->at < self->length)
    {
      char byte = self->pattern[self->at];

      if (byte == '[')
        {
          if (!skip_class (self))
            return false;
          continue;
        }
      if (byte == '\\')
        {
          if (self->at + 1 < self->length && strchr ("QE", self->pattern[self->at + 1]) != NULL)
            return false;
          self->at++;
        }
      else if (byte == '(')
        {
          const char *next = self->pattern + self->at + 1;
          size_t left = self->length - self->at - 1;

          if (left > 0 && (*next == '*' || (*next == '?' && (left < 2 || next[1] != ':'))))
            return false;
          depth++;
        }
      else if (byte == ')' && --depth == 0)
        {
          self->at++;
          return true;
        }
      self->at++;
    }
  return false;
}

/* Whether the item before is one that may be repeated or left out; it is passed over. */
static bool
take_quantifier (Scan *self)
{
  static const char quantifiers[] = "*+?{";
  bool found = false;

  while (self->at < self->length && self->pattern[self->at] != '\0' &&
         strchr (quantifiers, self->pattern[self->at]) != NULL)
    {
      found = true;
      if (self->pattern[self->at] == '{')
        {
          const char *end = memchr (self->pattern + self->at, '}', self->length - self->at);

          self->at = end != NULL ? (size_t) (end - self->pattern) : self->length - 1;
        }
      self->at++;
    }
  return found;
}

static void
take_character (Scan *self)
{
  size_t n = ow_runner_utf8_char (self->pattern + self->at, self->length - self->at);
  size_t start = self->at;

  n = n > 0 ? n : 1;
  self->at += n;
  if (take_quantifier (self))
    {
      self->plain = false;
      end_run (self);
      return;
    }
  memcpy (self->run + self->run_length, self->pattern + start, n);
  self->run_length += n;
}

/* Takes one item; false ends the scan without a literal. */
static bool
take_item (Scan *self)
{
  char byte = self->pattern[self->at];

  switch (byte)
    {
    case '|':
      return false;

    case '\\':
      if (self->at + 1 >= self->length)
        return false;
      self->at++;
      byte = self->pattern[self->at];
      if ((unsigned char) byte < 0x80 &&
          strchr ("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", byte) == NULL)
        {
          take_character (self);
          return true;
        }
      /* The classes and assertions without an argument; others have one, or none that
       * is known here. */
      if (strchr ("dDsSwWbBhHvVRNAzZG", byte) == NULL || byte == '\0')
        return false;
      self->at++;
      break;

    case '[':
      if (!skip_class (self))
        return false;
      break;

    case '(':
      if (!skip_group (self))
        return false;
      break;

    case '.':
    case '^':
    case '$':
    case ')':
      self->at++;
      break;

    default:
      take_character (self);
      return true;
    }
  self->plain = false;
  end_run (self);
  take_quantifier (self);
  return true;
}

static void
find_literal (OwRunnerPattern *self,
              const char      *pattern,
              size_t           length)
{
  Scan scan = { .pattern = pattern, .length = length, .plain = true };
  bool known = true;

  scan.run = ow_runner_buffer_alloc (length + 4);
  scan.best = ow_runner_buffer_alloc (length + 4);
  while (known && scan.at < length)
    known = take_item (&scan);
  end_run (&scan);
  free (scan.run);
  if (known && scan.best_length > 0 && memchr (scan.best, '\n', scan.best_length) == NULL)
    {
      self->literal = scan.best;
      self->literal_length = scan.best_length;
      self->literal[self->literal_length] = '\0';
      self->whole = scan.plain;
    }
  else
    {
      free (scan.best);
    }
}

static char *
describe_error (int    code,
                size_t offset)
{
  PCRE2_UCHAR reason[256];
  char *text = NULL;

  if (pcre2_get_error_message (code, reason, sizeof reason) < 0)
    snprintf ((char *) reason, sizeof reason, "error %d", code);
  if (asprintf (&text, "The pattern is no valid regular expression (PCRE2): %s, at byte %zu. Put a "
                "backslash before characters that shall stand for themselves.", (char *) reason,
                offset) < 0)
    abort ();
  return text;
}

OwRunnerPattern *
ow_runner_pattern_new (const char *pattern,
                       size_t      length,
                       bool        ignore_case,
                       char      **error)
{
  pcre2_compile_context *compile = pcre2_compile_context_create (NULL);
  OwRunnerPattern *self = ow_runner_buffer_alloc (sizeof *self);
  uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
                     PCRE2_MULTILINE | (ignore_case ? PCRE2_CASELESS : 0);
  PCRE2_SIZE offset = 0;
  int code = 0;

  memset (self, 0, sizeof *self);
  if (compile == NULL)
    abort ();
  pcre2_set_newline (compile, PCRE2_NEWLINE_ANYCRLF);
  pcre2_set_max_pattern_length (compile, MAX_PATTERN_BYTES);
  self->code = pcre2_compile ((PCRE2_SPTR) pattern, length, options, &code, &offset, compile);
  pcre2_compile_context_free (compile);
  if (self->code == NULL)
    {
      *error = describe_error (code, offset);
      free (self);
      return NULL;
    }
  self->data = pcre2_match_data_create_from_pattern (self->code, NULL);
  self->context = pcre2_match_context_create (NULL);
  if (self->data == NULL || self->context == NULL)
    abort ();
  pcre2_set_match_limit (self->context, MAX_STEPS);
  pcre2_set_depth_limit (self->context, MAX_DEPTH);
  pcre2_set_heap_limit (self->context, MAX_HEAP_KIB);
  /* Where the machine forbids code made at run time, PCRE2 interprets instead. */
  if (pcre2_jit_compile (self->code, PCRE2_JIT_COMPLETE) == 0)
    {
      self->stack = pcre2_jit_stack_create (32768, JIT_STACK_BYTES, NULL);
      if (self->stack != NULL)
        pcre2_jit_stack_assign (self->context, NULL, self->stack);
    }
  if (!ignore_case)
    find_literal (self, pattern, length);
  return self;
}

void
ow_runner_pattern_free (OwRunnerPattern *self)
{
  if (self == NULL)
    return;
  pcre2_match_data_free (self->data);
  pcre2_match_context_free (self->context);
  pcre2_jit_stack_free (self->stack);
  pcre2_code_free (self->code);
  free (self->literal);
  free (self);
}

const char *
ow_runner_pattern_literal (const OwRunnerPattern *self)
{
  return self->literal;
}

OwRunnerPatternState
ow_runner_pattern_line (OwRunnerPattern *self,
                        const char      *line,
                        size_t           length,
                        size_t          *start,
                        size_t          *end)
{
  const PCRE2_SIZE *offsets;
  const char *plain;
  int found;

  if (self->whole)
    {
      plain = memmem (line, length, self->literal, self->literal_length);
      if (plain == NULL)
        return OW_RUNNER_PATTERN_NONE;
      *start = (size_t) (plain - line);
      *end = *start + self->literal_length;
      return OW_RUNNER_PATTERN_FOUND;
    }
  found = pcre2_match (self->code, (PCRE2_SPTR) line, length, 0, 0, self->data, self->context);
  if (found == PCRE2_ERROR_NOMATCH)
    return OW_RUNNER_PATTERN_NONE;
  if (found < 0)
    return OW_RUNNER_PATTERN_GAVE_UP;
  offsets = pcre2_get_ovector_pointer (self->data);
  *start = offsets[0];
  *end = offsets[1] > offsets[0] ? offsets[1] : offsets[0];
  return OW_RUNNER_PATTERN_FOUND;
}

OwRunnerPatternState
ow_runner_pattern_next (OwRunnerPattern *self,
                        const char      *lines,
                        size_t           length,
                        size_t          *start)
{
  const char *found;
  size_t at = 0;

  if (self->literal != NULL)
    {
      found = memmem (lines, length, self->literal, self->literal_length);
      if (found == NULL)
        return OW_RUNNER_PATTERN_NONE;
      *start = (size_t) (found - lines);
      return OW_RUNNER_PATTERN_FOUND;
    }
  while (at < length)
    {
      const char *newline = memchr (lines + at, '\n', length - at);
      size_t end = newline != NULL ? (size_t) (newline - lines) : length;
      size_t from;
      size_t to;
      OwRunnerPatternState state = ow_runner_pattern_line (self, lines + at, end - at, &from, &to);

      if (state != OW_RUNNER_PATTERN_NONE)
        {
          *start = at;
          return state;
        }
      at = end + 1;
    }
  return OW_RUNNER_PATTERN_NONE;
}
