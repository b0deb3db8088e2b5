/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-batch-private.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-crew-private.h"
#include "ow-runner-file-private.h"

#define MAX_FILES   64
#define NAMES_BYTES 8192
/* Batches that are searched or wait for their turn in the answer; each holds a
 * descriptor and what was found in it. */
#define MAX_BATCHES 32
/* A second thread is begun for more than so much only. */
#define ALONE_FILES 64
#define ALONE_BYTES (4u * 1024u * 1024u)

/* Files that follow one another in one folder. */
typedef struct {
  OwRunnerJob      job;
  OwRunnerBatches *owner;
  int              directory; /* (owned) -1: unused */
  char            *prefix;    /* (owned) stands before the names in the answer */
  char             names[NAMES_BYTES];
  size_t           used;
  unsigned short   at[MAX_FILES];
  size_t           n;
  OwRunnerSearch   search;
  size_t           closed;
  bool             late;
} Batch;

struct _OwRunnerBatches {
  OwRunnerSearch            *search;
  OwRunnerSearchDesk        *desk;
  const OwRunnerPatternText *text;
  const char                *prefix;
  OwRunnerWalk              *walk;
  OwRunnerCrew              *crew;    /* (owned) (nullable) */
  Batch                     *batches; /* (owned) (nullable) a ring */
  size_t                     first;
  size_t                     n;       /* given to the crew */
  bool                       open;    /* the one after them is being filled */
  char                      *folder;  /* (owned) (nullable) where its files lie */
  size_t                     closed;
  size_t                     seen;
  bool                       ended;   /* no more is wanted */
  bool                       alone;   /* there are no other threads to be had */
  atomic_bool                stop;
};

/* Searches one file of an open directory. False when it cannot be opened. */
static bool
search_one (OwRunnerSearch     *search,
            OwRunnerSearchDesk *desk,
            int                 directory,
            const char         *name,
            const char         *prefix,
            const char         *path)
{
  struct stat status;
  int fd = ow_runner_file_open_at (directory, name, &status);

  if (fd < 0)
    return false;
  ow_runner_search_file (search, desk, fd, status.st_size, prefix, path);
  close (fd);
  return true;
}

static void
search_batch (OwRunnerJob *job,
              void        *data)
{
  Batch *self = (Batch *) job;
  OwRunnerSearchDesk *desk = data;

  for (size_t i = 0; i < self->n && !self->search.full && !self->late; i++)
    {
      const char *name = self->names + self->at[i];

      if (atomic_load_explicit (&self->owner->stop, memory_order_relaxed))
        return;
      if (!search_one (&self->search, desk, self->directory, name, self->prefix, name))
        self->closed++;
      self->late = ow_runner_walk_late (self->owner->walk);
    }
}

static void *
desk_new (void *user_data)
{
  OwRunnerBatches *self = user_data;
  OwRunnerSearchDesk *desk;
  char *error = NULL;
  OwRunnerPattern *pattern = ow_runner_pattern_new (self->text->text, self->text->length,
                                                    self->text->ignore_case, &error);

  free (error);
  if (pattern == NULL)
    return NULL;
  ow_runner_pattern_set_deadline (pattern, &self->walk->deadline);
  desk = ow_runner_buffer_alloc (sizeof *desk);
  ow_runner_search_desk_init (desk, pattern);
  return desk;
}

static void
desk_free (void *data,
           void *user_data)
{
  OwRunnerSearchDesk *desk = data;

  ow_runner_pattern_free (desk->pattern);
  ow_runner_search_desk_clear (desk);
  free (desk);
}

OwRunnerBatches *
ow_runner_batches_new (OwRunnerSearch            *search,
                       OwRunnerSearchDesk        *desk,
                       const OwRunnerPatternText *text,
                       const char                *prefix,
                       OwRunnerWalk              *walk)
{
  OwRunnerBatches *self = ow_runner_buffer_alloc (sizeof *self);

  memset (self, 0, sizeof *self);
  self->search = search;
  self->desk = desk;
  self->text = text;
  self->prefix = prefix;
  self->walk = walk;
  return self;
}

static void
clear (Batch *batch)
{
  if (batch->directory >= 0)
    close (batch->directory);
  free (batch->prefix);
  ow_runner_search_clear (&batch->search);
  batch->directory = -1;
  batch->prefix = NULL;
}

void
ow_runner_batches_free (OwRunnerBatches *self)
{
  atomic_store (&self->stop, true);
  if (self->crew != NULL)
    ow_runner_crew_drop (self->crew);
  ow_runner_crew_free (self->crew);
  for (size_t i = 0; self->batches != NULL && i < MAX_BATCHES; i++)
    clear (&self->batches[i]);
  free (self->batches);
  free (self->folder);
  free (self);
}

size_t
ow_runner_batches_closed (const OwRunnerBatches *self)
{
  return self->closed;
}

static bool
is_late (OwRunnerBatches *self)
{
  if (!ow_runner_walk_late (self->walk))
    return false;
  self->walk->limits |= OW_RUNNER_WALK_TOO_LONG;
  return true;
}

/* A limit of the answer lies within this batch: it is searched again as if nothing had
 * been, up to there. */
static bool
search_again (OwRunnerBatches *self,
              const Batch     *batch)
{
  for (size_t i = 0; i < batch->n && !self->search->full; i++)
    {
      const char *name = batch->names + batch->at[i];

      if (!search_one (self->search, self->desk, batch->directory, name, batch->prefix, name))
        self->closed++;
      if (is_late (self))
        return false;
    }
  return !self->search->full;
}

/* Waits for the first batch and puts it into the answer. */
static bool
take_first (OwRunnerBatches *self)
{
  Batch *batch = &self->batches[self->first];
  bool going = true;

  ow_runner_crew_finish (self->crew, &batch->job);
  if (ow_runner_search_merge (self->search, &batch->search))
    self->closed += batch->closed;
  else
    going = search_again (self, batch);
  if (batch->late)
    {
      self->walk->limits |= OW_RUNNER_WALK_TOO_LONG;
      going = false;
    }
  clear (batch);
  self->first = (self->first + 1) % MAX_BATCHES;
  self->n--;
  return going;
}

static Batch *
open_batch (OwRunnerBatches *self)
{
  return &self->batches[(self->first + self->n) % MAX_BATCHES];
}

/* Gives the batch that is being filled to the crew. */
static bool
give (OwRunnerBatches *self)
{
  Batch *batch = open_batch (self);

  if (!self->open)
    return true;
  self->open = false;
  self->n++;
  ow_runner_crew_push (self->crew, &batch->job);
  return self->n < MAX_BATCHES || take_first (self);
}

static bool
begin (OwRunnerBatches         *self,
       const OwRunnerWalkEntry *entry,
       size_t                   folder)
{
  Batch *batch = open_batch (self);

  batch->directory = fcntl (entry->directory, F_DUPFD_CLOEXEC, 3);
  if (batch->directory < 0)
    return false;
  if (asprintf (&batch->prefix, "%s%.*s", self->prefix, (int) folder, entry->path) < 0)
    abort ();
  batch->owner = self;
  batch->used = 0;
  batch->n = 0;
  batch->closed = 0;
  batch->late = false;
  ow_runner_search_init (&batch->search, self->search->context);
  free (self->folder);
  self->folder = ow_runner_buffer_copy (entry->path, folder);
  self->open = true;
  return true;
}

static bool
is_begun_for (const OwRunnerBatches   *self,
              const OwRunnerWalkEntry *entry,
              size_t                   folder,
              size_t                   length)
{
  const Batch *batch = &self->batches[(self->first + self->n) % MAX_BATCHES];

  return self->open && batch->n < MAX_FILES && batch->used + length <= NAMES_BYTES &&
         strlen (self->folder) == folder && memcmp (self->folder, entry->path, folder) == 0;
}

static bool
add_to_batch (OwRunnerBatches         *self,
              const OwRunnerWalkEntry *entry)
{
  size_t length = strlen (entry->name) + 1;
  size_t folder = strlen (entry->path) + 1 - length;
  Batch *batch;

  if (!is_begun_for (self, entry, folder, length))
    {
      if (!give (self))
        return false;
      if (!begin (self, entry, folder))
        {
          self->closed++;
          return true;
        }
    }
  batch = open_batch (self);
  memcpy (batch->names + batch->used, entry->name, length);
  batch->at[batch->n++] = (unsigned short) batch->used;
  batch->used += length;
  return true;
}

static bool
search_alone (OwRunnerBatches         *self,
              const OwRunnerWalkEntry *entry)
{
  if (!search_one (self->search, self->desk, entry->directory, entry->name, self->prefix,
                   entry->path))
    self->closed++;
  return !self->search->full && !is_late (self);
}

/* Whether there is enough to do for more than one thread, and more than one. */
static bool
is_worth_it (OwRunnerBatches *self)
{
  static const OwRunnerCrewClass class = {
    .work = search_batch, .desk_new = desk_new, .desk_free = desk_free,
  };

  if (self->crew != NULL)
    return true;
  if (self->alone || (++self->seen <= ALONE_FILES && self->search->bytes < ALONE_BYTES))
    return false;
  self->crew = ow_runner_crew_new (&class, self->desk, self);
  self->alone = self->crew == NULL;
  if (self->alone)
    return false;
  self->batches = ow_runner_buffer_alloc (MAX_BATCHES * sizeof *self->batches);
  memset (self->batches, 0, MAX_BATCHES * sizeof *self->batches);
  for (size_t i = 0; i < MAX_BATCHES; i++)
    self->batches[i].directory = -1;
  return true;
}

bool
ow_runner_batches_add (OwRunnerBatches         *self,
                       const OwRunnerWalkEntry *entry)
{
  if (!self->ended)
    self->ended = !(is_worth_it (self) ? add_to_batch (self, entry) : search_alone (self, entry));
  return !self->ended;
}

void
ow_runner_batches_finish (OwRunnerBatches *self)
{
  if (!self->ended && self->crew != NULL)
    self->ended = !give (self);
  while (!self->ended && self->n > 0)
    self->ended = !take_first (self);
}
