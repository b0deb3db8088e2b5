/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-diff-private.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT     3
#define MAX_EDITS   1000
/* Lines of one side that are compared. */
#define MAX_LINES   200000
#define MAX_BYTES   (64u * 1024u)
#define NOTE_BYTES  256

typedef struct {
  const char *data;
  size_t      length; /* with the newline */
  uint64_t    hash;
  bool        changed;
} Line;

/* The part of one side that is looked at line by line. */
typedef struct {
  Line  *lines; /* (owned) */
  size_t n;
  size_t first; /* number of its first line in the file, from 0 */
} Side;

/* One run of lines that went out and came in, as indices into the two sides. */
typedef struct {
  size_t old_start;
  size_t old_end;
  size_t new_start;
  size_t new_end;
} Change;

static size_t
count_newlines (const char *data,
                size_t      length)
{
  size_t n = 0;

  for (const char *end; (end = memchr (data, '\n', length)) != NULL; n++)
    {
      length -= (size_t) (end + 1 - data);
      data = end + 1;
    }
  return n;
}

static bool
split_lines (Side       *side,
             const char *data,
             size_t      length)
{
  size_t n = count_newlines (data, length) + 1;

  if (n > MAX_LINES)
    return false;
  side->lines = ow_runner_buffer_alloc (n * sizeof *side->lines);
  side->n = 0;
  while (length > 0)
    {
      const char *end = memchr (data, '\n', length);
      size_t size = end != NULL ? (size_t) (end + 1 - data) : length;
      Line *line = &side->lines[side->n++];

      line->data = data;
      line->length = size;
      line->changed = false;
      line->hash = UINT64_C (14695981039346656037);
      for (size_t i = 0; i < size; i++)
        line->hash = (line->hash ^ (unsigned char) data[i]) * UINT64_C (1099511628211);
      data += size;
      length -= size;
    }
  return true;
}

static bool
same_line (const Line *a,
           const Line *b)
{
  return a->hash == b->hash && a->length == b->length && memcmp (a->data, b->data, a->length) == 0;
}

/* A diagonal that no path within the two sides has reached. */
#define UNREACHED (-1)

/* The furthest point of diagonal @k that one more edit leads to from the round before:
 * @down takes a line of @b in, otherwise one of @a goes out. */
static int
step (const int *before,
      int        edits,
      int        k,
      int        n,
      int        m,
      bool      *down)
{
  int below = k < edits ? before[k + 1] : UNREACHED;
  int right = k > -edits ? before[k - 1] : UNREACHED;

  below = below == UNREACHED || below - k > m ? UNREACHED : below;
  right = right == UNREACHED || right + 1 > n ? UNREACHED : right + 1;
  *down = below > right;
  return *down ? below : right;
}

/* Goes back over the furthest points of each round and marks what changed. */
static void
mark_path (const Side *a,
           const Side *b,
           int       **rounds,
           int         edits)
{
  int k = (int) a->n - (int) b->n;

  for (int d = edits; d > 0; d--)
    {
      bool down;
      int x = step (rounds[d - 1] + d, d, k, (int) a->n, (int) b->n, &down);

      if (down)
        b->lines[x - k - 1].changed = true;
      else
        a->lines[x - 1].changed = true;
      k += down ? 1 : -1;
    }
}

/* Myers' greedy algorithm, with the furthest points of every round kept. Round d has
 * the diagonals -(d + 1) to d + 1. Returns false when more than MAX_EDITS are needed. */
static bool
compare (const Side *a,
         const Side *b)
{
  int *rounds[MAX_EDITS + 1] = { NULL };
  int n = (int) a->n;
  int m = (int) b->n;
  int done = -1;

  for (int d = 0; d <= MAX_EDITS && done < 0; d++)
    {
      int *now;

      rounds[d] = ow_runner_buffer_alloc ((size_t) (2 * d + 3) * sizeof (int));
      now = rounds[d] + d + 1;
      for (int k = -d - 1; k <= d + 1; k++)
        now[k] = UNREACHED;
      for (int k = -d; k <= d; k += 2)
        {
          bool down;
          int x = d == 0 ? 0 : step (rounds[d - 1] + d, d, k, n, m, &down);

          if (x == UNREACHED)
            continue;
          while (x < n && x - k < m && same_line (&a->lines[x], &b->lines[x - k]))
            x++;
          now[k] = x;
          if (x == n && x - k == m)
            done = d;
        }
    }
  if (done >= 0)
    mark_path (a, b, rounds, done);
  for (int d = 0; d <= MAX_EDITS && rounds[d] != NULL; d++)
    free (rounds[d]);
  return done >= 0;
}

/* Finds the next run of changed lines from these indices on. */
static bool
next_change (const Side   *a,
             const Side   *b,
             const Change *last,
             Change       *next)
{
  size_t i = last->old_end;
  size_t j = last->new_end;

  while (i < a->n && j < b->n && !a->lines[i].changed && !b->lines[j].changed)
    {
      i++;
      j++;
    }
  next->old_start = i;
  next->new_start = j;
  while (i < a->n && a->lines[i].changed)
    i++;
  while (j < b->n && b->lines[j].changed)
    j++;
  next->old_end = i;
  next->new_end = j;
  return next->old_start < i || next->new_start < j;
}

static bool
put_line (OwRunnerBuffer *out,
          char          mark,
          const Line   *line,
          bool         *escaped)
{
  bool ended = line->length > 0 && line->data[line->length - 1] == '\n';
  size_t start = out->length;
  char first[2] = { mark, '\0' };

  ow_runner_buffer_append (out, first);
  ow_runner_buffer_bytes (out, line->data, line->length, escaped);
  if (!ended)
    ow_runner_buffer_append (out, "\n\\ No newline at end of file\n");
  if (out->cut)
    out->length = start;
  return !out->cut;
}

static bool
put_lines (OwRunnerBuffer *out,
           char          mark,
           const Side   *side,
           size_t        start,
           size_t        end,
           bool         *escaped)
{
  for (size_t i = start; i < end; i++)
    {
      if (!put_line (out, mark, &side->lines[i], escaped))
        return false;
    }
  return true;
}

/* Start and length of one side of a hunk, as diff(1) writes them. */
static void
put_range (OwRunnerBuffer *out,
           char          mark,
           size_t        start,
           size_t        n)
{
  if (n == 1)
    ow_runner_buffer_printf (out, "%c%zu", mark, start + 1);
  else
    ow_runner_buffer_printf (out, "%c%zu,%zu", mark, n == 0 ? start : start + 1, n);
}

/* Writes the hunk that begins with @change and goes on while changes are near. The
 * last one written is in @change afterwards, the first of the next hunk in @next. */
static bool
put_hunk (OwRunnerBuffer *out,
          const Side   *a,
          const Side   *b,
          Change       *change,
          Change       *next,
          bool         *more,
          bool         *escaped)
{
  size_t lead = change->old_start < CONTEXT ? change->old_start : CONTEXT;
  size_t at = change->old_start - lead;
  size_t new_at = change->new_start - lead;
  Change last = *change;
  size_t tail;

  while ((*more = next_change (a, b, &last, next)) && next->old_start - last.old_end <= 2 * CONTEXT)
    last = *next;
  tail = a->n - last.old_end < CONTEXT ? a->n - last.old_end : CONTEXT;

  ow_runner_buffer_append (out, "@@ ");
  put_range (out, '-', a->first + at, last.old_end + tail - at);
  ow_runner_buffer_append (out, " ");
  put_range (out, '+', b->first + new_at, last.new_end + tail - new_at);
  ow_runner_buffer_append (out, " @@\n");
  for (;;)
    {
      if (!put_lines (out, ' ', a, at, change->old_start, escaped) ||
          !put_lines (out, '-', a, change->old_start, change->old_end, escaped) ||
          !put_lines (out, '+', b, change->new_start, change->new_end, escaped))
        return false;
      at = change->old_end;
      if (change->old_end == last.old_end && change->new_end == last.new_end)
        break;
      next_change (a, b, change, change);
    }
  return put_lines (out, ' ', a, at, at + tail, escaped);
}

static bool
put_hunks (OwRunnerBuffer *out,
           const Side   *a,
           const Side   *b)
{
  Change change = { 0 };
  Change next = { 0 };
  bool escaped = false;
  bool more = next_change (a, b, &change, &next);
  size_t max = out->max;

  /* Room for the note is kept back, so that a cut diff can always say so. */
  if (max > out->length + MAX_BYTES)
    out->max = out->length + MAX_BYTES;
  else
    out->max = max > NOTE_BYTES ? max - NOTE_BYTES : 0;
  while (more)
    {
      change = next;
      if (!put_hunk (out, a, b, &change, &next, &more, &escaped))
        break;
    }
  out->max = max;
  if (out->cut)
    ow_runner_buffer_append (out, "[The diff is longer than can be shown and is cut here.]\n");
  return escaped;
}

/* Bytes that both begin with, up to the start of a line and CONTEXT lines before. */
static size_t
common_start (const char *a,
              size_t      a_length,
              const char *b,
              size_t      b_length)
{
  size_t max = a_length < b_length ? a_length : b_length;
  size_t same = 0;

  while (same < max && a[same] == b[same])
    same++;
  for (int lines = 0; same > 0 && lines <= CONTEXT; lines++)
    {
      const char *newline = memrchr (a, '\n', lines == 0 ? same : same - 1);

      same = newline != NULL ? (size_t) (newline + 1 - a) : 0;
    }
  return same;
}

/* Bytes that both end with, from the start of a line CONTEXT lines further on. */
static size_t
common_end (const char *a,
            size_t      a_length,
            const char *b,
            size_t      b_length)
{
  size_t max = a_length < b_length ? a_length : b_length;
  size_t same = 0;

  while (same < max && a[a_length - 1 - same] == b[b_length - 1 - same])
    same++;
  for (int lines = 0; same > 0 && lines <= CONTEXT; lines++)
    {
      const char *newline = memchr (a + a_length - same, '\n', same);

      same = newline != NULL ? (size_t) (a + a_length - (newline + 1)) : 0;
    }
  return same;
}

/* What takes too long to compare has changed whole. */
static void
mark_changes (Side *a,
              Side *b)
{
  if (compare (a, b))
    return;
  for (size_t i = 0; i < a->n; i++)
    a->lines[i].changed = true;
  for (size_t i = 0; i < b->n; i++)
    b->lines[i].changed = true;
}

bool
ow_runner_diff_unified (OwRunnerBuffer *out,
                        const char   *name,
                        const char   *old_data,
                        size_t        old_length,
                        const char   *new_data,
                        size_t        new_length)
{
  size_t start = common_start (old_data, old_length, new_data, new_length);
  size_t end = common_end (old_data + start, old_length - start, new_data + start,
                           new_length - start);
  Side a = { NULL };
  Side b = { NULL };
  const char *tab;
  bool escaped = false;

  /* A name ends at a blank for patch(1), unless a tab comes after it. */
  tab = strchr (name, ' ') != NULL ? "\t" : "";
  ow_runner_buffer_printf (out, "--- %s%s\n+++ %s%s\n", name, tab, name, tab);
  if (split_lines (&a, old_data + start, old_length - start - end) &&
      split_lines (&b, new_data + start, new_length - start - end))
    {
      a.first = b.first = count_newlines (old_data, start);
      mark_changes (&a, &b);
      escaped = put_hunks (out, &a, &b);
    }
  else
    {
      ow_runner_buffer_append (out, "[The change spans more lines than can be compared, so they "
                               "are not shown.]\n");
    }
  free (a.lines);
  free (b.lines);
  return escaped;
}

static size_t
count_lines (const char *data,
             size_t      length)
{
  return count_newlines (data, length) + (length > 0 && data[length - 1] != '\n' ? 1 : 0);
}

static bool
put_whole_hunks (OwRunnerBuffer *out,
                 const Side     *a,
                 const Side     *b)
{
  Change change = { 0 };
  Change next = { 0 };
  size_t start = out->length;
  bool escaped = false;
  bool whole = true;
  bool more = next_change (a, b, &change, &next);

  while (more && whole)
    {
      change = next;
      whole = put_hunk (out, a, b, &change, &next, &more, &escaped) && !out->cut;
    }
  if (whole && !escaped)
    return true;
  out->length = start;
  out->cut = false;
  if (out->data != NULL)
    out->data[start] = '\0';
  return false;
}

bool
ow_runner_diff_hunks (OwRunnerBuffer    *out,
                      const char        *old_data,
                      size_t             old_length,
                      const char        *new_data,
                      size_t             new_length,
                      OwRunnerDiffLines *lines)
{
  size_t start = common_start (old_data, old_length, new_data, new_length);
  size_t end = common_end (old_data + start, old_length - start, new_data + start,
                           new_length - start);
  Side a = { NULL };
  Side b = { NULL };
  bool done = false;

  lines->removed = count_lines (old_data + start, old_length - start - end);
  lines->added = count_lines (new_data + start, new_length - start - end);
  if (split_lines (&a, old_data + start, old_length - start - end) &&
      split_lines (&b, new_data + start, new_length - start - end))
    {
      a.first = b.first = count_newlines (old_data, start);
      mark_changes (&a, &b);
      lines->removed = lines->added = 0;
      for (size_t i = 0; i < a.n; i++)
        lines->removed += a.lines[i].changed;
      for (size_t i = 0; i < b.n; i++)
        lines->added += b.lines[i].changed;
      done = put_whole_hunks (out, &a, &b);
    }
  free (a.lines);
  free (b.lines);
  return done;
}
