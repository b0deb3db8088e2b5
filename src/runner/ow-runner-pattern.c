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
#include "ow-runner-syntax-private.h"

#define MAX_PATTERN_BYTES 65536
#define MAX_STEPS         1000000
/* Over many lines there are that many more beginnings to try. */
#define MAX_LINES_STEPS   20000000
#define MAX_DEPTH         10000
#define MAX_HEAP_KIB      16384
#define JIT_STACK_BYTES   (1024u * 1024u)
/* So many places of a literal without a match one after the other, and looking for the
 * pattern itself is quicker. */
#define MAX_MISSES        200

/* Compiled for looking at many lines at once. */
typedef struct {
  pcre2_code *code;    /* (owned) (nullable) */
  bool        tried;   /* it was compiled, or could not be */
} Many;

/* What bytes are looked at decides what has to be compiled for them. */
typedef enum {
  ANY_TEXT = 1 << 0, /* not ASCII only, which is quicker */
  HOLDS_CR = 1 << 1,
} BytesKind;

struct _OwRunnerPattern {
  pcre2_code          *code;         /* (owned) */
  pcre2_match_data    *data;         /* (owned) */
  pcre2_match_context *context;      /* (owned) */
  pcre2_match_context *many_context; /* (owned) */
  pcre2_jit_stack     *stack;        /* (owned) (nullable) */
  OwRunnerSyntax       syntax;
  Many                 many[4];      /* by BytesKind */
  uint32_t             options;
  struct timespec      deadline;     /* (monotonic clock) 0: none */
  bool                 late;         /* it is over */
  size_t               misses;
  const char          *checked;      /* (nullable) end of the bytes that kind is about */
  unsigned             kind;         /* BytesKind */
  bool                 by_line;      /* many lines at once took too many steps */
};

static char *
describe_error (const char *pattern,
                size_t      length,
                int         code,
                size_t      offset)
{
  PCRE2_UCHAR reason[256];
  char *text = NULL;
  char *before = ow_runner_buffer_name (pattern, offset < length ? offset : length);

  if (pcre2_get_error_message (code, reason, sizeof reason) < 0)
    snprintf ((char *) reason, sizeof reason, "error %d", code);
  if (strlen (before) > 60)
    memmove (before, before + strlen (before) - 60, 61);
  if (asprintf (&text, "The pattern is no valid regular expression (PCRE2): %s, at byte %zu%s%s%s. "
                "Put a backslash before characters that shall stand for themselves.",
                (char *) reason, offset, before[0] != '\0' ? ", after \"" : "", before,
                before[0] != '\0' ? "\"" : "") < 0)
    abort ();
  free (before);
  return text;
}

static pcre2_code *
compile (const char *pattern,
         size_t      length,
         uint32_t    options,
         int        *code,
         size_t     *offset)
{
  pcre2_compile_context *context = pcre2_compile_context_create (NULL);
  PCRE2_SIZE at = 0;
  pcre2_code *compiled;

  if (context == NULL)
    abort ();
  pcre2_set_newline (context, PCRE2_NEWLINE_ANYCRLF);
  pcre2_set_max_pattern_length (context, MAX_PATTERN_BYTES * 8);
  compiled = pcre2_compile ((PCRE2_SPTR) pattern, length, options, code, &at, context);
  pcre2_compile_context_free (context);
  *offset = at;
  return compiled;
}

static pcre2_match_context *
make_context (uint32_t steps)
{
  pcre2_match_context *context = pcre2_match_context_create (NULL);

  if (context == NULL)
    abort ();
  pcre2_set_match_limit (context, steps);
  pcre2_set_depth_limit (context, MAX_DEPTH);
  pcre2_set_heap_limit (context, MAX_HEAP_KIB);
  return context;
}

static pcre2_code *
compile_given (const char *pattern,
               size_t      length,
               uint32_t    options,
               char      **error)
{
  size_t offset = length;
  int code = PCRE2_ERROR_UTF8_ERR21;
  pcre2_code *compiled = NULL;

  if (length > MAX_PATTERN_BYTES)
    {
      if (asprintf (error, "The pattern has %zu bytes, more than the %d that one may have. Use a "
                    "shorter one.", length, MAX_PATTERN_BYTES) < 0)
        abort ();
      return NULL;
    }
  compiled = compile (pattern, length, options, &code, &offset);
  if (compiled == NULL)
    *error = describe_error (pattern, length, code, offset);
  return compiled;
}

OwRunnerPattern *
ow_runner_pattern_new (const char *pattern,
                       size_t      length,
                       bool        ignore_case,
                       char      **error)
{
  OwRunnerPattern *self = ow_runner_buffer_alloc (sizeof *self);

  memset (self, 0, sizeof *self);
  self->options = PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE | (ignore_case ? PCRE2_CASELESS : 0);
  self->code = compile_given (pattern, length,
                              self->options | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, error);
  if (self->code == NULL)
    {
      free (self);
      return NULL;
    }
  self->data = pcre2_match_data_create_from_pattern (self->code, NULL);
  if (self->data == NULL)
    abort ();
  self->context = make_context (MAX_STEPS);
  self->many_context = make_context (MAX_LINES_STEPS);
  /* Where the machine forbids code made at run time, PCRE2 interprets instead. */
  if (pcre2_jit_compile (self->code, PCRE2_JIT_COMPLETE) == 0)
    {
      self->stack = pcre2_jit_stack_create (32768, JIT_STACK_BYTES, NULL);
      if (self->stack != NULL)
        {
          pcre2_jit_stack_assign (self->context, NULL, self->stack);
          pcre2_jit_stack_assign (self->many_context, NULL, self->stack);
        }
    }
  ow_runner_syntax_take (&self->syntax, pattern, length, ignore_case);
  return self;
}

void
ow_runner_pattern_free (OwRunnerPattern *self)
{
  if (self == NULL)
    return;
  pcre2_match_data_free (self->data);
  pcre2_match_context_free (self->context);
  pcre2_match_context_free (self->many_context);
  pcre2_jit_stack_free (self->stack);
  pcre2_code_free (self->code);
  for (size_t i = 0; i < sizeof self->many / sizeof self->many[0]; i++)
    pcre2_code_free (self->many[i].code);
  ow_runner_syntax_clear (&self->syntax);
  free (self);
}

void
ow_runner_pattern_new_bytes (OwRunnerPattern *self)
{
  self->checked = NULL;
}

const OwRunnerSyntax *
ow_runner_pattern_syntax (const OwRunnerPattern *self)
{
  return &self->syntax;
}

void
ow_runner_pattern_set_deadline (OwRunnerPattern       *self,
                                const struct timespec *deadline)
{
  self->deadline = *deadline;
}

static void
look_at_clock (OwRunnerPattern *self)
{
  struct timespec now;

  if (self->deadline.tv_sec == 0)
    return;
  clock_gettime (CLOCK_MONOTONIC, &now);
  self->late = now.tv_sec > self->deadline.tv_sec ||
               (now.tv_sec == self->deadline.tv_sec && now.tv_nsec >= self->deadline.tv_nsec);
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

  if (self->syntax.whole)
    {
      plain = ow_runner_needles_find (&self->syntax.needles, line, length);
      if (plain == NULL)
        return OW_RUNNER_PATTERN_NONE;
      *start = (size_t) (plain - line);
      *end = *start + self->syntax.needles.needles[0].length;
      return OW_RUNNER_PATTERN_FOUND;
    }
  found = pcre2_match (self->code, (PCRE2_SPTR) line, length, 0, 0, self->data, self->context);
  if (found == PCRE2_ERROR_NOMATCH)
    {
      /* A line may take long without being given up. */
      if (++self->misses % 64 == 0)
        look_at_clock (self);
      return OW_RUNNER_PATTERN_NONE;
    }
  if (found < 0)
    return OW_RUNNER_PATTERN_GAVE_UP;
  self->misses = 0;
  offsets = pcre2_get_ovector_pointer (self->data);
  *start = offsets[0];
  *end = offsets[1] > offsets[0] ? offsets[1] : offsets[0];
  return OW_RUNNER_PATTERN_FOUND;
}

static bool
is_ascii (const char *data,
          size_t      length)
{
  uint64_t high = 0;
  size_t at = 0;

  for (; at + 64 <= length && high == 0; at += 64)
    {
      uint64_t words[8];

      memcpy (words, data + at, sizeof words);
      for (size_t i = 0; i < 8; i++)
        high |= words[i] & 0x8080808080808080u;
    }
  for (; at < length; at++)
    high |= (unsigned char) data[at] & 0x80u;
  return high == 0;
}

static void
compile_many (OwRunnerPattern *self,
              Many            *many)
{
  const OwRunnerBuffer *confined = &self->syntax.confined;
  uint32_t options = self->options;
  OwRunnerBuffer whole;
  size_t offset;
  int code;

  /* PCRE2 begins no match between CR and LF, where the end of a line is when it is looked
   * at by itself; it does once a pattern speaks of CR. */
  ow_runner_buffer_init (&whole, confined->length + 32);
  if ((self->kind & HOLDS_CR) != 0)
    ow_runner_buffer_printf (&whole, "(?:%s)|\\r(?!)", confined->data);
  else
    ow_runner_buffer_append (&whole, confined->data);
  if ((self->kind & ANY_TEXT) != 0)
    options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
  many->code = compile (whole.data, whole.length, options, &code, &offset);
  many->tried = true;
  ow_runner_buffer_clear (&whole);
  if (many->code != NULL && pcre2_jit_compile (many->code, PCRE2_JIT_COMPLETE) != 0)
    {
      pcre2_code_free (many->code);
      many->code = NULL;
    }
}

/* The form for many lines at once, NULL where there is none. */
static const pcre2_code *
many_lines (OwRunnerPattern *self,
            const char      *lines,
            size_t           length)
{
  Many *many;

  if (self->by_line || !self->syntax.is_confined || self->stack == NULL)
    return NULL;
  /* What is asked for next is an end of the same bytes. */
  if (self->checked != lines + length)
    {
      self->checked = lines + length;
      self->kind = (self->syntax.plain_bytes && is_ascii (lines, length) ? 0 : ANY_TEXT) |
                   (memchr (lines, '\r', length) != NULL ? HOLDS_CR : 0);
    }
  many = &self->many[self->kind];
  if (!many->tried)
    compile_many (self, many);
  return many->code;
}

static OwRunnerPatternState
next_line (OwRunnerPattern *self,
           const char      *lines,
           size_t           length,
           size_t          *start)
{
  size_t at = 0;

  while (at < length && !self->late)
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

OwRunnerPatternState
ow_runner_pattern_next (OwRunnerPattern *self,
                        const char      *lines,
                        size_t           length,
                        size_t          *start)
{
  const pcre2_code *code;
  const char *found;
  int n;

  if (self->late)
    return OW_RUNNER_PATTERN_NONE;
  if (self->syntax.needles.n > 0)
    {
      found = ow_runner_needles_find (&self->syntax.needles, lines, length);
      if (found == NULL)
        return OW_RUNNER_PATTERN_NONE;
      *start = (size_t) (found - lines);
      if (self->syntax.whole || self->misses < MAX_MISSES)
        return OW_RUNNER_PATTERN_FOUND;
    }
  code = many_lines (self, lines, length);
  if (code == NULL)
    return self->syntax.needles.n > 0 ? OW_RUNNER_PATTERN_FOUND
                                      : next_line (self, lines, length, start);
  n = pcre2_match (code, (PCRE2_SPTR) lines, length, 0, 0, self->data, self->many_context);
  if (n == PCRE2_ERROR_NOMATCH)
    return OW_RUNNER_PATTERN_NONE;
  if (n < 0)
    {
      self->by_line = true;
      return next_line (self, lines, length, start);
    }
  *start = pcre2_get_ovector_pointer (self->data)[0];
  /* Behind the last newline there is no line. */
  return *start == length && lines[length - 1] == '\n' ? OW_RUNNER_PATTERN_NONE
                                                       : OW_RUNNER_PATTERN_FOUND;
}
