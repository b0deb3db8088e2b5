/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-sse-private.h"

#include <string.h>

#include "base/ow-error.h"

/* Ids and types are names; what is longer is no name and is not kept. */
#define MAX_NAME_BYTES 1024

static const char mark[] = "\xef\xbb\xbf";

struct _OwSse {
  gsize    max_bytes;
  GString *line;       /* (owned) the line that is not at its end */
  GString *data;       /* (owned) of the event that is not at its end; each line with its LF */
  char    *event;      /* (owned) (nullable) its type */
  char    *id;         /* (owned) (nullable) the last one */
  gsize    mark_seen;  /* bytes of the byte-order mark; a full one and no one end the search */
  gboolean began;      /* the start, where a mark may stand, is over */
  gboolean after_cr;   /* a LF now belongs to the line end before it */
  gboolean stopped;
  gboolean failed;
};

OwSse *
ow_sse_new (gsize max_bytes)
{
  OwSse *self = g_new0 (OwSse, 1);

  self->max_bytes = max_bytes;
  self->line = g_string_new (NULL);
  self->data = g_string_new (NULL);
  return self;
}

void
ow_sse_free (OwSse *self)
{
  if (self == NULL)
    return;
  g_string_free (self->line, TRUE);
  g_string_free (self->data, TRUE);
  g_free (self->event);
  g_free (self->id);
  g_free (self);
}

static gboolean
fail (OwSse   *self,
      GError **error)
{
  self->failed = TRUE;
  ow_error_setf (error, OW_ERROR_DATA, NULL,
                 "A line or an event of the answer is longer than %" G_GSIZE_FORMAT " bytes",
                 self->max_bytes);
  return FALSE;
}

static gboolean
take_field (OwSse      *self,
            const char *name,
            gsize       name_length,
            const char *value,
            gsize       length,
            GError    **error)
{
  if (name_length == 4 && memcmp (name, "data", 4) == 0)
    {
      if (length >= self->max_bytes || self->data->len >= self->max_bytes - length)
        return fail (self, error);
      g_string_append_len (self->data, value, (gssize) length);
      g_string_append_c (self->data, '\n');
    }
  else if (name_length == 5 && memcmp (name, "event", 5) == 0 && length <= MAX_NAME_BYTES)
    {
      g_free (self->event);
      self->event = g_strndup (value, length);
    }
  else if (name_length == 2 && memcmp (name, "id", 2) == 0 && length <= MAX_NAME_BYTES &&
           memchr (value, '\0', length) == NULL)
    {
      g_free (self->id);
      self->id = g_strndup (value, length);
    }
  return TRUE;
}

static void
dispatch (OwSse    *self,
          OwSseFunc func,
          gpointer  user_data)
{
  if (self->data->len > 0)
    {
      OwSseEvent event = { .id = self->id, .data = self->data->str };

      g_string_truncate (self->data, self->data->len - 1);
      event.length = self->data->len;
      event.event = self->event != NULL && *self->event != '\0' ? self->event : NULL;
      self->stopped = !func (&event, user_data);
    }
  g_string_truncate (self->data, 0);
  g_clear_pointer (&self->event, g_free);
}

static gboolean
take_line (OwSse      *self,
           const char *line,
           gsize       length,
           OwSseFunc   func,
           gpointer    user_data,
           GError    **error)
{
  const char *colon = memchr (line, ':', length);
  const char *value;
  gsize       name_length;

  if (length == 0)
    {
      dispatch (self, func, user_data);
      return TRUE;
    }
  if (colon == NULL)
    return take_field (self, line, length, "", 0, error);
  name_length = (gsize) (colon - line);
  value = colon + 1;
  if (value < line + length && *value == ' ')
    value++;
  return take_field (self, line, name_length, value, (gsize) (line + length - value), error);
}

/* The first bytes of a stream: a whole mark is dropped, the beginning of what is none is the
 * beginning of a line. Returns how many of @data it took. */
static gsize
pass_mark (OwSse      *self,
           const char *data,
           gsize       length)
{
  gsize at = 0;

  while (at < length && self->mark_seen < strlen (mark) && data[at] == mark[self->mark_seen])
    {
      at++;
      self->mark_seen++;
    }
  if (self->mark_seen < strlen (mark) && at == length)
    return at;
  self->began = TRUE;
  if (self->mark_seen < strlen (mark))
    g_string_append_len (self->line, mark, (gssize) self->mark_seen);
  return at;
}

static gsize
find_line_end (const char *data,
               gsize       length)
{
  gsize at = 0;

  /* Byte by byte: looking for each of the two on its own would read a stream that has only one
   * of them once for every line. */
  while (at < length && data[at] != '\n' && data[at] != '\r')
    at++;
  return at;
}

/* One line, or what there is of it. Returns how many bytes were taken; 0: it failed. */
static gsize
take_some (OwSse      *self,
           const char *data,
           gsize       length,
           OwSseFunc   func,
           gpointer    user_data,
           GError    **error)
{
  gsize    size = find_line_end (data, length);
  gboolean good;

  if (size > self->max_bytes || self->line->len > self->max_bytes - size)
    {
      fail (self, error);
      return 0;
    }
  if (size == length)
    {
      g_string_append_len (self->line, data, (gssize) size);
      return size;
    }
  if (self->line->len == 0)
    {
      good = take_line (self, data, size, func, user_data, error);
    }
  else
    {
      g_string_append_len (self->line, data, (gssize) size);
      good = take_line (self, self->line->str, self->line->len, func, user_data, error);
      g_string_truncate (self->line, 0);
    }
  self->after_cr = data[size] == '\r';
  return good ? size + 1 : 0;
}

gboolean
ow_sse_feed (OwSse       *self,
             const char  *data,
             gsize        length,
             OwSseFunc    func,
             gpointer     user_data,
             GError     **error)
{
  gsize at = 0;

  if (self->failed)
    return fail (self, error);
  if (!self->began && length > 0)
    at = pass_mark (self, data, length);
  while (at < length && !self->stopped)
    {
      gsize taken;

      if (self->after_cr && data[at] == '\n')
        {
          self->after_cr = FALSE;
          at++;
          continue;
        }
      self->after_cr = FALSE;
      taken = take_some (self, data + at, length - at, func, user_data, error);
      if (taken == 0)
        return FALSE;
      at += taken;
    }
  return TRUE;
}
