/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "wire/ow-frame.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A buffer that grew past this is given back once it is empty. */
#define KEEP_BYTES (64u * 1024u)

typedef struct {
  char  *data;
  size_t length;
  size_t room;
} Bytes;

struct _OwFrameReader {
  size_t max_bytes;
  Bytes  line;     /* the line being gathered; the func's line while it runs */
  Bytes  queue;    /* what was fed from inside the func */
  bool   feeding;
  bool   stopped;  /* the func returned false */
  bool   failed;
};

/* Grows by doubling, so that a line costs amortized constant time a byte, and never
 * beyond @limit. */
static bool
bytes_append (Bytes      *self,
              const char *data,
              size_t      length,
              size_t      limit)
{
  size_t room = self->room;
  char *grown;

  if (length > limit || self->length > limit - length)
    return false;
  while (room < self->length + length)
    room = room == 0 ? 1024 : room * 2;
  if (room > limit)
    room = limit;
  if (room > self->room)
    {
      grown = realloc (self->data, room);
      if (grown == NULL)
        return false;
      self->data = grown;
      self->room = room;
    }
  if (length > 0)
    memcpy (self->data + self->length, data, length);
  self->length += length;
  return true;
}

static void
bytes_clear (Bytes *self)
{
  free (self->data);
  memset (self, 0, sizeof *self);
}

OwFrameReader *
ow_frame_reader_new (size_t max_bytes)
{
  OwFrameReader *self = calloc (1, sizeof *self);

  if (self == NULL)
    abort ();
  self->max_bytes = max_bytes < SIZE_MAX - 4 ? max_bytes : SIZE_MAX - 4;
  return self;
}

void
ow_frame_reader_free (OwFrameReader *self)
{
  if (self == NULL)
    return;
  bytes_clear (&self->line);
  bytes_clear (&self->queue);
  free (self);
}

static bool
fail (OwFrameReader *self,
      char           error[OW_WIRE_ERROR_SIZE])
{
  self->failed = true;
  /* While feeding, the func may still be reading the line. */
  if (!self->feeding)
    {
      bytes_clear (&self->line);
      bytes_clear (&self->queue);
    }
  if (error != NULL)
    snprintf (error, OW_WIRE_ERROR_SIZE, "A line is longer than the %zu bytes that are allowed.",
              self->max_bytes);
  return false;
}

/* Adds to the line. One byte over the cap is held only when it is a carriage return,
 * which may be half of the line end. */
static bool
gather (OwFrameReader *self,
        const char    *data,
        size_t         length)
{
  size_t limit = self->max_bytes + 1;

  if (length > limit || self->line.length > limit - length)
    return false;
  if (!bytes_append (&self->line, data, length, limit + 1))
    return false;
  return self->line.length < limit || self->line.data[limit - 1] == '\r';
}

static bool
finish_line (OwFrameReader *self,
             OwFrameFunc    func,
             void          *user_data)
{
  size_t length = self->line.length;

  if (length > 0 && self->line.data[length - 1] == '\r')
    length--;
  self->line.length = length;
  if (length > 0)
    {
      if (!bytes_append (&self->line, "", 1, self->max_bytes + 2))
        return false;
      self->stopped = !func (self->line.data, length, user_data);
    }
  self->line.length = 0;
  if (self->line.room > KEEP_BYTES)
    bytes_clear (&self->line);
  return true;
}

static bool
feed_lines (OwFrameReader *self,
            const char    *data,
            size_t         length,
            OwFrameFunc    func,
            void          *user_data)
{
  while (length > 0 && !self->stopped && !self->failed)
    {
      const char *end = memchr (data, '\n', length);
      size_t part = end != NULL ? (size_t) (end - data) : length;

      if (!gather (self, data, part))
        return false;
      if (end == NULL)
        return true;
      if (!finish_line (self, func, user_data))
        return false;
      data += part + 1;
      length -= part + 1;
    }
  return !self->failed;
}

bool
ow_frame_reader_feed (OwFrameReader *self,
                      const char    *data,
                      size_t         length,
                      OwFrameFunc    func,
                      void          *user_data,
                      char           error[OW_WIRE_ERROR_SIZE])
{
  bool good;

  if (self->failed)
    return fail (self, error);
  if (self->stopped)
    return true;
  if (self->feeding)
    {
      /* The line is the caller's until it returns, so these bytes have to wait. */
      if (bytes_append (&self->queue, data, length, self->max_bytes))
        return true;
      return fail (self, error);
    }

  self->feeding = true;
  good = feed_lines (self, data, length, func, user_data);
  while (good && self->queue.length > 0)
    {
      Bytes queued = self->queue;

      memset (&self->queue, 0, sizeof self->queue);
      good = feed_lines (self, queued.data, queued.length, func, user_data);
      bytes_clear (&queued);
    }
  self->feeding = false;
  return good ? true : fail (self, error);
}

size_t
ow_frame_reader_pending (const OwFrameReader *self)
{
  return self->line.length;
}
