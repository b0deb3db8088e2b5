/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-replace-private.h"

#include <stdlib.h>
#include <string.h>

#include "ow-runner-near-private.h"

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

static bool
holds_bare_newline (Bytes text)
{
  return count (text, (Bytes) { "\n", 1 }) > count (text, (Bytes) { "\r\n", 2 });
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
  crlf_after = with_crlf (after);
  self->found = count (body, before);
  if (self->found > 0 && !holds_bare_newline (before) && ends_crlf (body))
    {
      self->crlf = true;
    }
  else if (self->found == 0 && memmem (body.data, body.length, "\r\n", 2) != NULL)
    {
      /* What read shows has no CR, so nobody can give it back. */
      crlf_before = with_crlf (before);
      before = crlf_before;
      self->found = count (body, before);
      self->crlf = self->found > 0;
    }
  if (self->crlf)
    after = crlf_after;

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

void
ow_runner_replace_places (OwRunnerBuffer *out,
                          const char   *data,
                          size_t        length,
                          const char   *old_text,
                          size_t        old_length)
{
  Bytes crlf;

  if (ow_runner_near_places (out, data, length, old_text, old_length) > 0)
    return;
  crlf = with_crlf ((Bytes) { old_text, old_length });
  ow_runner_near_places (out, data, length, crlf.data, crlf.length);
  free ((char *) crlf.data);
}
