/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-search-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-file-private.h"
#include "ow-runner-needle-private.h"
#include "ow-runner-utf8-private.h"

#define BUFFER_BYTES    (1024u * 1024u)
/* Of a line longer than the buffer so much is looked at twice, for a match that lies
 * across the edge. */
#define OVERLAP_BYTES   4096
#define MAX_TEXT_BYTES  (256u * 1024u)
#define MAX_NOTE_BYTES  (8u * 1024u)
#define MAX_MATCHES     1000
#define MAX_FILE_BYTES  (256u * 1024u * 1024u)
#define MAX_BYTES       (8ull * 1024u * 1024u * 1024u)
/* Of a line are shown. */
#define SHOWN_BYTES     500
#define SHOWN_BEFORE    150
#define MAX_GAVE_UP     20

typedef struct {
  OwRunnerSearch     *search;
  OwRunnerSearchDesk *desk;
  const char         *prefix; /* with @path what it is called */
  const char         *path;
  char               *name;   /* (owned) (nullable) once it is asked for */
  const char         *binary; /* (nullable) what it is when it is no text */
  unsigned long long  read;
  size_t          length;    /* bytes in the buffer */
  size_t          at;        /* where what is still to be looked at begins */
  size_t          shown;     /* what lies before this was written or is too old to be */
  size_t          line;      /* number of the line at @counted */
  size_t          counted;
  size_t          after;     /* lines still to be written as context */
  size_t          matches;
  bool            within;    /* @at lies within a line whose beginning is gone */
  bool            skip_line; /* the rest of this line is passed over */
  bool            gap;       /* lines were left out since the last one written */
  bool            over;
} File;

void
ow_runner_search_init (OwRunnerSearch *self,
                       size_t          context)
{
  memset (self, 0, sizeof *self);
  self->context = context;
  ow_runner_buffer_init (&self->text, MAX_TEXT_BYTES);
  ow_runner_buffer_init (&self->notes, MAX_NOTE_BYTES);
}

void
ow_runner_search_clear (OwRunnerSearch *self)
{
  ow_runner_buffer_clear (&self->text);
  ow_runner_buffer_clear (&self->notes);
}

void
ow_runner_search_desk_init (OwRunnerSearchDesk *self,
                            OwRunnerPattern    *pattern)
{
  self->pattern = pattern;
  self->buffer = ow_runner_buffer_alloc (BUFFER_BYTES);
}

void
ow_runner_search_desk_clear (OwRunnerSearchDesk *self)
{
  free (self->buffer);
  self->buffer = NULL;
}

static bool
append_lines (OwRunnerBuffer *out,
              const char     *lines)
{
  while (lines != NULL && *lines != '\0')
    {
      const char *end = strchrnul (lines, '\n');
      char *line = ow_runner_buffer_copy (lines, (size_t) (end - lines) + (*end != '\0' ? 1 : 0));

      ow_runner_buffer_append (out, line);
      free (line);
      lines = *end != '\0' ? end + 1 : end;
    }
  return !out->cut;
}

bool
ow_runner_search_merge (OwRunnerSearch       *self,
                        const OwRunnerSearch *next)
{
  bool parted = self->context > 0 && self->text.length > 0 && next->text.length > 0;

  if (next->full || self->matches + next->matches >= MAX_MATCHES ||
      self->gave_up + next->gave_up >= MAX_GAVE_UP || self->bytes + next->bytes >= MAX_BYTES ||
      self->text.length + next->text.length + 3 > MAX_TEXT_BYTES)
    return false;
  if (parted)
    ow_runner_buffer_append (&self->text, "--\n");
  if (next->text.length > 0)
    ow_runner_buffer_append (&self->text, next->text.data);
  append_lines (&self->notes, next->notes.data);
  self->notes.cut = self->notes.cut || next->notes.cut;
  self->matches += next->matches;
  self->files += next->files;
  self->searched += next->searched;
  self->gave_up += next->gave_up;
  self->bytes += next->bytes;
  self->escaped = self->escaped || next->escaped;
  self->partial = self->partial || next->partial;
  return true;
}

/* Most files are never named. */
static const char *
name_of (File *self)
{
  char *whole;

  if (self->name == NULL)
    {
      if (asprintf (&whole, "%s%s", self->prefix, self->path) < 0)
        abort ();
      self->name = ow_runner_buffer_name (whole, strlen (whole));
      free (whole);
    }
  return self->name;
}

static size_t
line_number (File  *self,
             size_t at)
{
  if (at > self->counted)
    self->line += ow_runner_needle_count_lines (self->desk->buffer + self->counted,
                                                at - self->counted);
  if (at > self->counted)
    self->counted = at;
  return self->line;
}

/* Writes the line [start, end); @from is where its match begins. */
static void
put_line (File  *self,
          size_t start,
          size_t end,
          size_t from,
          char   mark)
{
  OwRunnerSearch *search = self->search;
  OwRunnerBuffer *out = &search->text;
  const char *line = self->desk->buffer + start;
  size_t length = end - start;
  size_t number = line_number (self, start);
  size_t before = out->length;
  size_t first = 0;
  size_t shown;
  bool valid;

  if (length > 0 && line[length - 1] == '\r')
    length--;
  if (length > SHOWN_BYTES && from > SHOWN_BEFORE)
    first = from - SHOWN_BEFORE;
  while (first > 0 && first < length && ((unsigned char) line[first] & 0xc0) == 0x80 &&
         first + 3 > from - SHOWN_BEFORE && first < from)
    first++;
  shown = length - first;
  if (shown > SHOWN_BYTES)
    shown = SHOWN_BYTES - ow_runner_utf8_incomplete (line + first, SHOWN_BYTES);
  valid = ow_runner_utf8_is_valid (line + first, shown);

  if (self->gap && search->context > 0)
    ow_runner_buffer_append (out, "--\n");
  ow_runner_buffer_printf (out, "%s%c%zu%s%c", name_of (self), mark, number, valid ? "" : "!",
                           mark);
  if (first > 0 || self->within)
    ow_runner_buffer_append (out, "… ");
  ow_runner_buffer_bytes (out, line + first, shown, NULL);
  if (first + shown < length)
    ow_runner_buffer_append (out, " …");
  ow_runner_buffer_append (out, "\n");
  if (out->cut)
    {
      out->length = before;
      search->full = true;
      return;
    }
  search->escaped = search->escaped || !valid;
  self->gap = false;
}

/* Writes lines of context from where writing stopped, up to @limit. */
static void
put_after (File  *self,
           size_t limit)
{
  const char *buffer = self->desk->buffer;

  while (self->after > 0 && self->shown < limit && !self->search->full)
    {
      const char *newline = memchr (buffer + self->shown, '\n', limit - self->shown);
      size_t end = newline != NULL ? (size_t) (newline - buffer) : limit;

      put_line (self, self->shown, end, 0, '-');
      self->shown = newline != NULL ? end + 1 : limit;
      self->after--;
    }
}

static void
put_before (File  *self,
            size_t start)
{
  const char *buffer = self->desk->buffer;
  size_t from = start;

  for (size_t n = 0; n < self->search->context && from > self->shown; n++)
    {
      const char *newline = from >= 2 ? memrchr (buffer, '\n', from - 1) : NULL;
      size_t line = newline != NULL ? (size_t) (newline + 1 - buffer) : 0;

      if (line < self->shown)
        break;
      from = line;
    }
  if (from > self->shown || self->matches == 1)
    self->gap = self->search->text.length > 0;
  /* Numbers are counted forward only. */
  while (from < start && !self->search->full)
    {
      const char *newline = memchr (buffer + from, '\n', start - from);
      size_t end = newline != NULL ? (size_t) (newline - buffer) : start;

      put_line (self, from, end, 0, '-');
      from = end + 1;
    }
}

static void
note_binary (File *self)
{
  OwRunnerSearch *search = self->search;

  ow_runner_buffer_printf (&search->notes, "[%s matches; it is not text (%s), so its lines are not "
                           "shown.]\n", name_of (self), self->binary);
  self->over = true;
}

static void
take_match (File  *self,
            size_t start,
            size_t end,
            size_t from)
{
  OwRunnerSearch *search = self->search;

  if (self->matches++ == 0)
    search->files++;
  search->matches++;
  if (self->binary != NULL)
    {
      note_binary (self);
      return;
    }
  put_after (self, start);
  put_before (self, start);
  if (!search->full)
    put_line (self, start, end, from, ':');
  self->after = search->context;
  self->shown = end < self->length ? end + 1 : end;
  if (search->matches >= MAX_MATCHES)
    search->full = true;
}

static void
give_up (File  *self,
         size_t start)
{
  OwRunnerSearch *search = self->search;

  search->gave_up++;
  search->partial = true;
  ow_runner_buffer_printf (&search->notes, "[%s line %zu: the pattern takes too many steps there; "
                           "it was given up. Use a simpler one.]\n", name_of (self),
                           line_number (self, start));
  if (search->gave_up >= MAX_GAVE_UP)
    search->full = true;
}

/* Looks at the lines of the buffer up to @limit, where a line ends or the buffer. */
static void
search_lines (File  *self,
              size_t limit)
{
  OwRunnerSearch *search = self->search;
  const char *buffer = self->desk->buffer;

  while (self->at < limit && !search->full && !self->over)
    {
      size_t found;
      size_t from = 0;
      size_t to;
      OwRunnerPatternState state = ow_runner_pattern_next (self->desk->pattern, buffer + self->at,
                                                           limit - self->at, &found);
      const char *newline;
      size_t start;
      size_t end;

      if (state == OW_RUNNER_PATTERN_NONE)
        {
          self->at = limit;
          break;
        }
      newline = memrchr (buffer + self->at, '\n', found);
      start = newline != NULL ? (size_t) (newline + 1 - buffer) : self->at;
      newline = memchr (buffer + self->at + found, '\n', limit - self->at - found);
      end = newline != NULL ? (size_t) (newline - buffer) : limit;
      if (state == OW_RUNNER_PATTERN_FOUND)
        state = ow_runner_pattern_line (self->desk->pattern, buffer + start, end - start, &from,
                                        &to);
      if (state == OW_RUNNER_PATTERN_FOUND)
        take_match (self, start, end, from);
      else if (state == OW_RUNNER_PATTERN_GAVE_UP)
        give_up (self, start);
      self->skip_line = newline == NULL;
      self->within = false;
      self->at = newline != NULL ? end + 1 : limit;
    }
  if (!search->full && !self->over)
    put_after (self, limit);
}

/* Makes room: what was looked at goes, but for the lines that may yet be context. */
static void
shift (File *self)
{
  char *buffer = self->desk->buffer;
  size_t keep = self->at;

  for (size_t n = 0; n < self->search->context && keep > self->shown && !self->within; n++)
    {
      const char *newline = keep >= 2 ? memrchr (buffer, '\n', keep - 1) : NULL;
      size_t line = newline != NULL ? (size_t) (newline + 1 - buffer) : 0;

      if (line < self->shown || self->at - line > BUFFER_BYTES / 2)
        break;
      keep = line;
    }
  if (keep > self->shown)
    {
      self->gap = self->gap || self->matches > 0;
      self->shown = keep;
    }
  line_number (self, keep);
  memmove (buffer, buffer + keep, self->length - keep);
  self->length -= keep;
  self->at -= keep;
  self->counted -= keep;
  self->shown -= keep;
}

/* Passes over the rest of a line that needs no more looking at. */
static void
skip_to_newline (File *self)
{
  const char *buffer = self->desk->buffer;
  const char *newline = memchr (buffer + self->at, '\n', self->length - self->at);

  self->at = newline != NULL ? (size_t) (newline + 1 - buffer) : self->length;
  self->skip_line = newline == NULL;
  self->within = newline == NULL;
  if (self->shown < self->at)
    self->shown = self->at;
}

static void
take_bytes (File *self,
            bool  ended)
{
  const char *buffer = self->desk->buffer;
  const char *newline;
  size_t limit;

  if (self->skip_line)
    skip_to_newline (self);
  if (self->skip_line)
    return;
  newline = self->at < self->length
            ? memrchr (buffer + self->at, '\n', self->length - self->at) : NULL;
  limit = newline != NULL ? (size_t) (newline + 1 - buffer) : self->at;
  if (ended)
    limit = self->length;
  search_lines (self, limit);
  if (ended || self->length < BUFFER_BYTES || limit > BUFFER_BYTES / 2 || self->over)
    return;

  /* One line fills the buffer: it is looked at as far as it is here. */
  search_lines (self, self->length);
  if (!self->skip_line)
    {
      self->at = self->length - OVERLAP_BYTES;
      self->within = true;
    }
  self->shown = self->at;
}

static void
note_cut (File *self)
{
  self->search->partial = true;
  ow_runner_buffer_printf (&self->search->notes, "[%s is longer than 256 MiB; the rest of it was "
                           "not looked at.]\n", name_of (self));
}

static void
note_unread (File *self)
{
  self->search->partial = true;
  ow_runner_buffer_printf (&self->search->notes, "[%s could not be read to its end.]\n",
                           name_of (self));
}

/* UTF-16 is text, but not in bytes that a pattern can be looked for in. */
static bool
is_passed_over (File *self)
{
  if (self->binary == NULL || strcmp (self->binary, "UTF-16 text") != 0)
    return false;
  self->search->partial = true;
  ow_runner_buffer_printf (&self->search->notes, "[%s is UTF-16 text and was not looked at; "
                           "convert it with iconv.]\n", name_of (self));
  return true;
}

/* Reads until the buffer is full or the file ends, which most do at once. A file of a
 * known size need not be asked for its end once more. */
static ssize_t
fill (File *self,
      int   fd,
      off_t size)
{
  ssize_t got = 1;

  while (self->length < BUFFER_BYTES && got > 0)
    {
      got = ow_runner_file_read (fd, self->desk->buffer + self->length,
                                 BUFFER_BYTES - self->length);
      if (got > 0)
        {
          self->length += (size_t) got;
          self->read += (unsigned long long) got;
          if (self->read == (unsigned long long) size && self->length < BUFFER_BYTES)
            return 0;
        }
    }
  return got;
}

static void
search_bytes (File *self,
              int   fd,
              off_t size)
{
  bool first = true;
  ssize_t got;

  do
    {
      got = fill (self, fd, size);
      ow_runner_pattern_new_bytes (self->desk->pattern);
      if (first)
        self->binary = ow_runner_file_binary_kind (self->desk->buffer, self->length < 8192
                                                   ? self->length : 8192);
      if (first && is_passed_over (self))
        return;
      first = false;
      take_bytes (self, got <= 0);
      if (got <= 0)
        break;
      shift (self);
      if (self->read >= MAX_FILE_BYTES)
        {
          note_cut (self);
          take_bytes (self, true);
          break;
        }
    }
  while (!self->search->full && !self->over);
  if (got < 0)
    note_unread (self);
}

bool
ow_runner_search_file (OwRunnerSearch     *self,
                       OwRunnerSearchDesk *desk,
                       int                 fd,
                       off_t               size,
                       const char         *prefix,
                       const char         *path)
{
  File file = { .search = self, .desk = desk, .prefix = prefix, .path = path, .line = 1 };

  self->searched++;
  search_bytes (&file, fd, size);
  free (file.name);
  self->bytes += file.read;
  if (self->bytes >= MAX_BYTES)
    self->full = true;
  return !self->full;
}
