/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-spill-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER    ".openworker-output"
#define FILES_MAX 8u
/* Numbers that are tried: there may be files of a server before this one. */
#define TRIES     64u

struct _OwRunnerSpills {
  const char  *home;
  unsigned int last;             /* number given */
  unsigned int kept[FILES_MAX];  /* 0: none */
};

struct _OwRunnerSpill {
  OwRunnerSpills *spills;
  char           *begin;   /* (owned) (nullable) until there is a file */
  size_t          length;
  int             fd;      /* -1: none, or closed */
  bool            over;    /* nothing more is kept */
  char           *path;    /* (owned) (nullable) */
  uint64_t        bytes;
};

OwRunnerSpills *
ow_runner_spills_new (const char *home)
{
  OwRunnerSpills *self = calloc (1, sizeof *self);

  if (self != NULL)
    self->home = home;
  return self;
}

/* -1: there is none that is a folder of ours. */
static int
open_folder (OwRunnerSpills *self,
             bool            make)
{
  int home = open (self->home, O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct stat status;
  int fd = -1;

  if (home < 0)
    return -1;
  if (make)
    mkdirat (home, FOLDER, 0700);
  fd = openat (home, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  close (home);
  if (fd >= 0 && (fstat (fd, &status) < 0 || status.st_uid != geteuid ()
                  || (status.st_mode & 0077) != 0))
    {
      close (fd);
      fd = -1;
    }
  return fd;
}

static void
remove_file (int          folder,
             unsigned int number)
{
  char name[32];

  snprintf (name, sizeof name, "%u.txt", number);
  if (number > 0)
    unlinkat (folder, name, 0);
}

void
ow_runner_spills_free (OwRunnerSpills *self)
{
  int folder;

  if (self == NULL)
    return;
  folder = self->last == 0 ? -1 : open_folder (self, false);
  for (size_t i = 0; folder >= 0 && i < FILES_MAX; i++)
    remove_file (folder, self->kept[i]);
  if (folder >= 0)
    close (folder);
  free (self);
}

OwRunnerSpill *
ow_runner_spill_new (OwRunnerSpills *spills)
{
  OwRunnerSpill *self = calloc (1, sizeof *self);

  if (self == NULL)
    return NULL;
  self->spills = spills;
  self->fd = -1;
  self->over = spills->home == NULL;
  return self;
}

void
ow_runner_spill_close (OwRunnerSpill *self)
{
  self->over = true;
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
  free (self->begin);
  self->begin = NULL;
}

void
ow_runner_spill_free (OwRunnerSpill *self)
{
  if (self == NULL)
    return;
  ow_runner_spill_close (self);
  free (self->path);
  free (self);
}

/* Makes the file, and room for it. */
static bool
make_file (OwRunnerSpill *self)
{
  OwRunnerSpills *spills = self->spills;
  int folder = open_folder (spills, true);
  unsigned int *place;
  char name[32];

  for (unsigned int i = 0; folder >= 0 && self->fd < 0 && i < TRIES; i++)
    {
      snprintf (name, sizeof name, "%u.txt", ++spills->last);
      self->fd = openat (folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
      if (self->fd < 0 && errno != EEXIST)
        break;
    }
  if (self->fd >= 0)
    {
      place = &spills->kept[spills->last % FILES_MAX];
      remove_file (folder, *place);
      *place = spills->last;
      if (asprintf (&self->path, "~/%s/%s", FOLDER, name) < 0)
        self->path = NULL;
    }
  if (folder >= 0)
    close (folder);
  return self->fd >= 0 && self->path != NULL;
}

/* A full disk, say: what is there stays, and is told as what it is. */
static void
put (OwRunnerSpill *self,
     const char    *data,
     size_t         length)
{
  size_t room = (size_t) (OW_RUNNER_SPILL_MAX - self->bytes);
  size_t most = length < room ? length : room;

  for (size_t at = 0; at < most;)
    {
      ssize_t n = write (self->fd, data + at, most - at);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          ow_runner_spill_close (self);
          return;
        }
      at += (size_t) n;
      self->bytes += (uint64_t) n;
    }
  if (most < length || self->bytes == OW_RUNNER_SPILL_MAX)
    ow_runner_spill_close (self);
}

void
ow_runner_spill_add (OwRunnerSpill *self,
                     const char    *data,
                     size_t         length)
{
  if (self->over)
    return;
  if (self->fd < 0 && self->length + length <= OW_RUNNER_SPILL_FROM)
    {
      if (self->begin == NULL)
        self->begin = malloc (OW_RUNNER_SPILL_FROM);
      if (self->begin == NULL)
        {
          ow_runner_spill_close (self);
          return;
        }
      memcpy (self->begin + self->length, data, length);
      self->length += length;
      return;
    }
  if (self->fd < 0)
    {
      if (!make_file (self))
        {
          ow_runner_spill_close (self);
          return;
        }
      if (self->length > 0)
        put (self, self->begin, self->length);
      free (self->begin);
      self->begin = NULL;
    }
  if (!self->over)
    put (self, data, length);
}

bool
ow_runner_spill_wants (const OwRunnerSpill *self)
{
  return !self->over;
}

const char *
ow_runner_spill_get_path (const OwRunnerSpill *self)
{
  return self->bytes > 0 ? self->path : NULL;
}

uint64_t
ow_runner_spill_get_bytes (const OwRunnerSpill *self)
{
  return self->bytes;
}
