/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-output-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-utf8-private.h"

/* What a node costs beside its bytes: two streams that take turns byte by byte must
 * not turn 256 KiB of output into megabytes of nodes. */
#define NODE_COST 64u
#define NODE_MIN  512u
/* With more pieces than this waiting the order between the streams gives way: one
 * message then takes all of its stream. */
#define ORDERED_MAX  8u

typedef struct _Node Node;
struct _Node {
  Node          *next;
  OwRunnerStream stream;
  size_t         start;
  size_t         length;
  size_t         capacity;
  char           data[];
};

typedef struct {
  Node  *first;
  Node  *last;
  size_t cost;
  size_t n;
} Queue;

struct _OwRunnerOutput {
  bool     live;
  size_t   half_waiting; /* most of front and of back */
  uint64_t bytes;
  uint64_t dropped;
  uint64_t cut;

  /* Messages: the oldest wait in front; once that is full, the newest in back. */
  Queue    front;
  Queue    back;
  char     held[2][4];
  size_t   held_length[2];
  char    *message; /* (owned) */

  /* Result. */
  size_t   half; /* most bytes of head and of tail */
  char    *head; /* (owned) */
  size_t   head_length;
  size_t   head_capacity;
  char    *tail; /* (owned) ring, NULL until the head is full */
  uint64_t tail_total;
};

OwRunnerOutput *
ow_runner_output_new (bool   live,
                      size_t text_max,
                      size_t waiting_max)
{
  OwRunnerOutput *self = calloc (1, sizeof *self);

  if (self == NULL)
    return NULL;
  self->live = live;
  self->half = text_max / 2;
  self->half_waiting = waiting_max / 2;
  self->message = malloc (OW_RUNNER_OUTPUT_MESSAGE_MAX);
  if (self->message == NULL)
    {
      free (self);
      return NULL;
    }
  return self;
}

static void
queue_clear (Queue *queue)
{
  while (queue->first != NULL)
    {
      Node *node = queue->first;

      queue->first = node->next;
      free (node);
    }
  *queue = (Queue) { 0 };
}

void
ow_runner_output_free (OwRunnerOutput *self)
{
  if (self == NULL)
    return;
  queue_clear (&self->front);
  queue_clear (&self->back);
  free (self->message);
  free (self->head);
  free (self->tail);
  free (self);
}

static void
queue_remove (Queue *queue,
              Node  *before,
              Node  *node)
{
  if (before == NULL)
    queue->first = node->next;
  else
    before->next = node->next;
  if (queue->last == node)
    queue->last = before;
  queue->cost -= node->length + NODE_COST;
  queue->n--;
  free (node);
}

/* Returns the bytes that could not be stored. */
static size_t
queue_push (Queue         *queue,
            OwRunnerStream stream,
            const char    *data,
            size_t         length)
{
  Node *node = queue->last;

  if (node != NULL && node->stream == stream
      && node->capacity - node->start - node->length >= length)
    {
      memcpy (node->data + node->start + node->length, data, length);
      node->length += length;
      queue->cost += length;
      return 0;
    }
  node = malloc (sizeof *node + (length < NODE_MIN ? NODE_MIN : length));
  if (node == NULL)
    return length;
  *node = (Node) { .stream = stream, .length = length,
                   .capacity = length < NODE_MIN ? NODE_MIN : length };
  memcpy (node->data, data, length);
  if (queue->last == NULL)
    queue->first = node;
  else
    queue->last->next = node;
  queue->last = node;
  queue->cost += length + NODE_COST;
  queue->n++;
  return 0;
}

static void
add_live (OwRunnerOutput *self,
          OwRunnerStream  stream,
          const char     *data,
          size_t          length)
{
  while (length > 0)
    {
      size_t piece = length < 4096 ? length : 4096;
      bool in_front = self->back.first == NULL
                      && self->front.cost + piece + NODE_COST <= self->half_waiting;

      self->dropped += queue_push (in_front ? &self->front : &self->back, stream, data, piece);
      while (self->back.cost > self->half_waiting)
        {
          self->dropped += self->back.first->length;
          queue_remove (&self->back, NULL, self->back.first);
        }
      data += piece;
      length -= piece;
    }
}

/* Returns how many of the bytes the head took. */
static size_t
add_head (OwRunnerOutput *self,
          const char     *data,
          size_t          length)
{
  size_t room = self->half - self->head_length;
  size_t take = length < room ? length : room;

  if (self->head_length + take > self->head_capacity)
    {
      size_t capacity = self->head_capacity == 0 ? 4096 : self->head_capacity;
      char *head;

      while (capacity < self->head_length + take)
        capacity *= 2;
      head = realloc (self->head, capacity);
      if (head == NULL)
        return 0;
      self->head = head;
      self->head_capacity = capacity;
    }
  memcpy (self->head + self->head_length, data, take);
  self->head_length += take;
  return take;
}

static void
add_tail (OwRunnerOutput *self,
          const char     *data,
          size_t          length)
{
  if (self->tail == NULL)
    self->tail = malloc (self->half);
  if (self->tail == NULL)
    {
      self->cut += length;
      return;
    }
  if (length > self->half)
    {
      self->tail_total += length - self->half;
      data += length - self->half;
      length = self->half;
    }
  while (length > 0)
    {
      size_t at = (size_t) (self->tail_total % self->half);
      size_t piece = length < self->half - at ? length : self->half - at;

      memcpy (self->tail + at, data, piece);
      self->tail_total += piece;
      data += piece;
      length -= piece;
    }
}

void
ow_runner_output_add (OwRunnerOutput *self,
                      OwRunnerStream  stream,
                      const char     *data,
                      size_t          length)
{
  size_t taken = 0;

  if (length == 0)
    return;
  self->bytes += length;
  if (self->live)
    add_live (self, stream, data, length);
  if (self->tail_total == 0)
    taken = add_head (self, data, length);
  if (taken < length)
    add_tail (self, data + taken, length - taken);
}

bool
ow_runner_output_is_full (const OwRunnerOutput *self)
{
  return self->head_length == self->half;
}

void
ow_runner_output_skip (OwRunnerOutput *self,
                       uint64_t        length)
{
  self->bytes += length;
  if (self->live)
    self->dropped += length;
}

size_t
ow_runner_output_get_waiting (const OwRunnerOutput *self)
{
  return self->front.cost + self->back.cost;
}

bool
ow_runner_output_has_waiting (const OwRunnerOutput *self)
{
  return self->front.first != NULL || self->back.first != NULL;
}

static void
refill_front (OwRunnerOutput *self)
{
  if (self->front.first != NULL)
    return;
  self->front = self->back;
  self->back = (Queue) { 0 };
}

/* Moves bytes of @stream from the front of the queue into the message. */
static size_t
gather (OwRunnerOutput *self,
        OwRunnerStream  stream)
{
  size_t length = self->held_length[stream];
  bool ordered = self->front.n <= ORDERED_MAX;
  Node *before = NULL;
  Node *node = self->front.first;

  memcpy (self->message, self->held[stream], length);
  self->held_length[stream] = 0;
  while (node != NULL && length < OW_RUNNER_OUTPUT_MESSAGE_MAX)
    {
      size_t room = OW_RUNNER_OUTPUT_MESSAGE_MAX - length;
      size_t piece = node->length < room ? node->length : room;

      if (node->stream != stream)
        {
          if (ordered)
            break;
          before = node;
          node = node->next;
          continue;
        }
      memcpy (self->message + length, node->data + node->start, piece);
      length += piece;
      node->start += piece;
      node->length -= piece;
      self->front.cost -= piece;
      if (node->length > 0)
        break;
      queue_remove (&self->front, before, node);
      node = before == NULL ? self->front.first : before->next;
    }
  return length;
}

bool
ow_runner_output_take (OwRunnerOutput  *self,
                       bool             last,
                       OwRunnerMessage *message)
{
  for (;;)
    {
      OwRunnerStream stream;
      size_t length;
      size_t held;

      refill_front (self);
      if (self->front.first != NULL)
        stream = self->front.first->stream;
      else if (last && self->held_length[OW_RUNNER_STDOUT] > 0)
        stream = OW_RUNNER_STDOUT;
      else if (last && self->held_length[OW_RUNNER_STDERR] > 0)
        stream = OW_RUNNER_STDERR;
      else
        return false;

      length = gather (self, stream);
      held = ow_runner_utf8_incomplete (self->message, length);
      if (held > 0 && (!last || ow_runner_output_has_waiting (self)))
        {
          memcpy (self->held[stream], self->message + length - held, held);
          self->held_length[stream] = held;
          length -= held;
        }
      if (length == 0)
        continue;
      *message = (OwRunnerMessage) {
        .stream = stream, .data = self->message, .length = length,
        .is_text = ow_runner_utf8_is_valid (self->message, length),
      };
      return true;
    }
}

/* The ring in order. Returns: (owned) */
static char *
unroll_tail (const OwRunnerOutput *self,
             size_t               *length)
{
  size_t kept = self->tail_total < self->half ? (size_t) self->tail_total : self->half;
  size_t start = (size_t) ((self->tail_total - kept) % self->half);
  size_t first = kept < self->half - start ? kept : self->half - start;
  char *flat = malloc (kept + 1);

  if (flat == NULL)
    return NULL;
  memcpy (flat, self->tail + start, first);
  memcpy (flat + first, self->tail, kept - first);
  *length = kept;
  return flat;
}

/* Bytes to pass over at the beginning so that the clean form of the rest is at most
 * @max bytes. */
static size_t
bytes_over (const char *data,
            size_t      length,
            size_t      max)
{
  size_t clean = 0;
  size_t at = 0;
  size_t used;

  for (size_t i = 0; i < length; i += used)
    clean += ow_runner_utf8_unit (data + i, length - i, &used);
  while (clean > max)
    {
      clean -= ow_runner_utf8_unit (data + at, length - at, &used);
      at += used;
    }
  return at;
}

/* Head and tail with a line between them that counts what is left out. */
static char *
text_of_parts (OwRunnerOutput *self,
               const char     *tail,
               size_t          tail_length,
               size_t         *length)
{
  char *text = malloc (2 * self->half + 128);
  size_t used = 0;
  size_t at;
  size_t skip;

  if (text == NULL)
    return NULL;
  at = ow_runner_utf8_append (text, self->half, self->head, self->head_length, &used);
  self->cut += self->head_length - used;
  skip = bytes_over (tail, tail_length, self->half);
  /* The tail may begin inside a character whose beginning is left out. */
  while (skip < tail_length && skip < 3 && ((unsigned char) tail[skip] & 0xc0) == 0x80)
    skip++;
  self->cut += skip;
  at += (size_t) snprintf (text + at, 128, "\n[%llu bytes left out here]\n",
                           (unsigned long long) self->cut);
  at += ow_runner_utf8_append (text + at, self->half, tail + skip, tail_length - skip, &used);
  text[at] = '\0';
  *length = at;
  return text;
}

char *
ow_runner_output_text (OwRunnerOutput *self,
                       size_t         *length)
{
  size_t tail_length = 0;
  char *tail = NULL;
  char *text;
  size_t whole;

  if (self->tail_total > 0)
    tail = unroll_tail (self, &tail_length);
  self->cut = self->bytes - self->head_length - tail_length;
  whole = self->head_length + tail_length;
  text = malloc (whole + 1);
  if (text != NULL)
    {
      /* The seam between head and tail may lie inside a character. */
      if (self->head_length > 0)
        memcpy (text, self->head, self->head_length);
      if (tail_length > 0)
        memcpy (text + self->head_length, tail, tail_length);
      text[whole] = '\0';
      *length = whole;
      if (self->cut > 0 || !ow_runner_utf8_is_valid (text, whole))
        {
          char *raw = text;

          if (self->cut == 0 && bytes_over (raw, whole, 2 * self->half) == 0)
            {
              size_t used;

              text = malloc (2 * self->half + 1);
              if (text != NULL)
                {
                  *length = ow_runner_utf8_append (text, 2 * self->half, raw, whole, &used);
                  text[*length] = '\0';
                }
            }
          else
            text = text_of_parts (self, tail_length > 0 ? tail : "", tail_length, length);
          free (raw);
        }
    }
  free (tail);
  return text;
}

uint64_t
ow_runner_output_get_bytes (const OwRunnerOutput *self)
{
  return self->bytes;
}

uint64_t
ow_runner_output_get_dropped (const OwRunnerOutput *self)
{
  return self->dropped;
}

uint64_t
ow_runner_output_get_cut (const OwRunnerOutput *self)
{
  return self->cut;
}
