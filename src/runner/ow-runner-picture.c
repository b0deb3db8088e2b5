/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-picture-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-descent-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-keep-private.h"
#include "ow-runner-path-private.h"

#define CHUNK_BYTES 32768
/* Entries between two looks at the clock. */
#define CLOCK_EVERY 256
#define NONE        UINT32_MAX
#define MAX_DEPTH   256

/* As getdents64(2) has it; libc declares none. */
typedef struct {
  uint64_t       d_ino;
  int64_t        d_off;
  unsigned short d_reclen;
  unsigned char  d_type;
  char           d_name[];
} Record;

typedef struct {
  uint32_t name;    /* offset in Picture.names */
  uint32_t folder;  /* index of what it holds, or NONE */
  mode_t   mode;
  uint64_t ino;
  uint64_t size;
  int64_t  mtime;
  int64_t  ctime;
} Entry;

typedef struct {
  uint32_t entry;   /* that is this folder, NONE of a root */
  uint32_t parent;  /* index of the folder that it lies in, its root's of a root */
  uint32_t root;
  uint32_t depth;
  uint32_t first;   /* of its entries, sorted by name */
  uint32_t n;
  int64_t  ctime;
  bool     reached; /* all of its entries are there */
  bool     closed;  /* it could not be looked into, or has gone since */
} Folder;

struct _OwRunnerPicture {
  char   *names;    /* (owned) */
  size_t  names_length;
  size_t  names_size;
  Entry  *entries;  /* (owned) */
  size_t  n;
  size_t  entries_size;
  Folder *folders;  /* (owned) */
  size_t  n_folders;
  size_t  folders_size;
  bool    whole;
};

typedef struct {
  OwRunnerPicture      *picture;
  const OwRunnerRoots  *roots;
  OwRunnerPictureBounds bounds;
  struct stat          *of_roots; /* (owned) */
  int64_t               wall_end;
  int64_t               cpu_end;
  char                 *chunk;    /* (owned) */
  bool                  stopped;
} Walk;

static int64_t
nanoseconds (struct timespec time)
{
  return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t
clock_now (clockid_t clock)
{
  struct timespec now;

  clock_gettime (clock, &now);
  return nanoseconds (now);
}

static bool
is_late (const Walk *self)
{
  return clock_now (CLOCK_MONOTONIC) >= self->wall_end ||
         clock_now (CLOCK_PROCESS_CPUTIME_ID) >= self->cpu_end;
}

static void *
grow (void   *memory,
      size_t *size,
      size_t  needed,
      size_t  item)
{
  if (needed <= *size)
    return memory;
  *size = needed < 64 ? 128 : needed * 2;
  return ow_runner_buffer_resize (memory, *size * item);
}

static uint32_t
add_folder (OwRunnerPicture *self,
            Folder           folder)
{
  self->folders = grow (self->folders, &self->folders_size, self->n_folders + 1,
                        sizeof *self->folders);
  self->folders[self->n_folders] = folder;
  return (uint32_t) self->n_folders++;
}

static void
add_entry (OwRunnerPicture   *self,
           const char        *name,
           const struct stat *status)
{
  size_t length = strlen (name) + 1;

  self->names = grow (self->names, &self->names_size, self->names_length + length, 1);
  memcpy (self->names + self->names_length, name, length);
  self->entries = grow (self->entries, &self->entries_size, self->n + 1, sizeof *self->entries);
  self->entries[self->n++] = (Entry) {
    .name = (uint32_t) self->names_length,
    .folder = NONE,
    .mode = status->st_mode,
    .ino = status->st_ino,
    .size = (uint64_t) status->st_size,
    .mtime = nanoseconds (status->st_mtim),
    .ctime = nanoseconds (status->st_ctim),
  };
  self->names_length += length;
}

static const char *
name_of (const OwRunnerPicture *self,
         const Entry           *entry)
{
  return self->names + entry->name;
}

/* The path of a folder below its root, and of @name in it (nullable), into @path, which
 * has OW_RUNNER_PATH_MAX + 1 bytes. False when it is longer. */
static bool
make_path (const OwRunnerPicture *self,
           uint32_t               folder,
           const char            *name,
           char                  *path)
{
  const char *parts[MAX_DEPTH + 2];
  size_t n = 0;
  size_t at = 0;

  if (name != NULL)
    parts[n++] = name;
  for (; self->folders[folder].entry != NONE; folder = self->folders[folder].parent)
    parts[n++] = name_of (self, &self->entries[self->folders[folder].entry]);
  for (; n > 0; n--)
    {
      size_t length = strlen (parts[n - 1]);

      if (at + length + 1 > OW_RUNNER_PATH_MAX)
        return false;
      memcpy (path + at, parts[n - 1], length);
      at += length;
      if (n > 1)
        path[at++] = '/';
    }
  path[at] = '\0';
  return true;
}

/* Reads the entries of a directory. False when not all of them are there then. */
static bool
read_entries (Walk *self,
              int   fd)
{
  OwRunnerPicture *picture = self->picture;

  for (;;)
    {
      long got = syscall (SYS_getdents64, fd, self->chunk, CHUNK_BYTES);

      if (got <= 0)
        return got == 0;
      for (long at = 0; at < got;)
        {
          const Record *record = (const Record *) (self->chunk + at);
          struct stat status;

          at += record->d_reclen;
          if (strcmp (record->d_name, ".") == 0 || strcmp (record->d_name, "..") == 0)
            continue;
          if (picture->n >= self->bounds.entries ||
              (picture->n % CLOCK_EVERY == CLOCK_EVERY - 1 && is_late (self)))
            {
              self->stopped = true;
              return false;
            }
          if (fstatat (fd, record->d_name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0)
            add_entry (picture, record->d_name, &status);
        }
    }
}

static int
compare_names (const void *one,
               const void *other,
               void       *names)
{
  const Entry *a = one;
  const Entry *b = other;

  return strcmp ((const char *) names + a->name, (const char *) names + b->name);
}

/* A folder of the session that lies in another one is looked at for itself, or not at all.
 * The undo folder changes with what the tools change. */
static bool
is_root (const Walk        *self,
         const struct stat *status)
{
  struct stat keep;

  if (self->roots->keep != NULL && fstat (self->roots->keep->fd, &keep) == 0 &&
      keep.st_ino == status->st_ino && keep.st_dev == status->st_dev)
    return true;
  for (size_t i = 0; i < self->roots->n; i++)
    {
      if (self->of_roots[i].st_ino == status->st_ino && self->of_roots[i].st_dev == status->st_dev)
        return true;
    }
  return false;
}

/* Opens a folder that is to be read, -1 where there is nothing to be read. */
static int
open_folder (const Walk  *self,
             uint32_t     at,
             struct stat *status)
{
  const OwRunnerPicture *picture = self->picture;
  const Folder *folder = &picture->folders[at];
  int root = self->roots->fds[folder->root];
  char path[OW_RUNNER_PATH_MAX + 1];
  const char *system;
  int fd;

  if (!make_path (picture, at, NULL, path))
    return -1;
  fd = ow_runner_descent_plain (root, path[0] == '\0' ? "." : path, O_RDONLY | O_DIRECTORY);
  if (fd < 0)
    return -1;
  if (fstat (fd, status) == 0 &&
      (folder->entry == NONE || !is_root (self, status)) &&
      (status->st_dev == self->of_roots[folder->root].st_dev ||
       !ow_runner_file_is_made_up (fd, &system)))
    return fd;
  close (fd);
  return -1;
}

/* Its folders come after all that are known, so that the tree is gone over by levels. */
static void
read_folder (Walk    *self,
             uint32_t at)
{
  OwRunnerPicture *picture = self->picture;
  struct stat status;
  size_t first = picture->n;
  int fd = open_folder (self, at, &status);
  Folder here = picture->folders[at];

  here.first = (uint32_t) first;
  if (fd < 0)
    {
      here.closed = true;
      picture->folders[at] = here;
      return;
    }
  here.ctime = nanoseconds (status.st_ctim);
  here.reached = read_entries (self, fd);
  here.n = (uint32_t) (picture->n - first);
  close (fd);
  if (here.n > 1)
    qsort_r (picture->entries + first, here.n, sizeof *picture->entries, compare_names,
             picture->names);
  picture->folders[at] = here;
  for (size_t i = first; i < picture->n; i++)
    {
      if (!S_ISDIR (picture->entries[i].mode) || here.depth + 1 >= MAX_DEPTH ||
          strcmp (name_of (picture, &picture->entries[i]), ".git") == 0)
        continue;
      picture->entries[i].folder =
        add_folder (picture, (Folder) { .entry = (uint32_t) i, .parent = at, .root = here.root,
                                        .depth = here.depth + 1 });
    }
}

OwRunnerPicture *
ow_runner_picture_take (const OwRunnerRoots  *roots,
                        OwRunnerPictureBounds bounds)
{
  OwRunnerPicture *self = ow_runner_buffer_alloc (sizeof *self);
  Walk walk = { .picture = self, .roots = roots, .bounds = bounds };

  *self = (OwRunnerPicture) { .whole = true };
  walk.wall_end = clock_now (CLOCK_MONOTONIC) + (int64_t) bounds.wall_ms * 1000000;
  walk.cpu_end = clock_now (CLOCK_PROCESS_CPUTIME_ID) + (int64_t) bounds.cpu_ms * 1000000;
  walk.chunk = ow_runner_buffer_alloc (CHUNK_BYTES);
  walk.of_roots = ow_runner_buffer_alloc (roots->n * sizeof *walk.of_roots);
  for (size_t i = 0; i < roots->n; i++)
    {
      if (fstat (roots->fds[i], &walk.of_roots[i]) < 0)
        memset (&walk.of_roots[i], 0, sizeof walk.of_roots[i]);
      if (!roots->read_only[i])
        add_folder (self, (Folder) { .entry = NONE, .root = (uint32_t) i });
    }
  for (uint32_t i = 0; i < self->n_folders; i++)
    {
      if (!walk.stopped)
        read_folder (&walk, i);
      self->whole = self->whole && (self->folders[i].reached || self->folders[i].closed);
    }
  free (walk.chunk);
  free (walk.of_roots);
  return self;
}

void
ow_runner_picture_free (OwRunnerPicture *self)
{
  if (self == NULL)
    return;
  free (self->names);
  free (self->entries);
  free (self->folders);
  free (self);
}

bool
ow_runner_picture_is_whole (const OwRunnerPicture *self)
{
  return self->whole;
}

/* --- comparing --- */

typedef struct {
  uint32_t before;
  uint32_t after;
} Pair;

typedef struct {
  const OwRunnerPicture *before;
  const OwRunnerPicture *after;
  OwRunnerDifferenceFunc func;
  void                  *user_data;
  Pair                  *pairs; /* (owned) folders to compare, in order */
  size_t                 n;
  size_t                 size;
} Compare;

static void
tell (const Compare         *self,
      const OwRunnerPicture *picture,
      uint32_t               folder,
      const Entry           *entry,
      OwRunnerWhat           what,
      int64_t                at)
{
  char path[OW_RUNNER_PATH_MAX + 1];
  OwRunnerDifference difference = {
    .root = picture->folders[folder].root, .below = path, .what = what, .at = at,
  };

  if (!make_path (picture, folder, name_of (picture, entry), path))
    return;
  if (what != OW_RUNNER_DELETED)
    {
      difference.mode = entry->mode;
      difference.ino = entry->ino;
      difference.size = entry->size;
      difference.mtime = entry->mtime;
      difference.ctime = entry->ctime;
    }
  self->func (&difference, self->user_data);
}

/* An entry that only one of the pictures has, and all that it holds. */
static void
tell_all (const Compare         *self,
          const OwRunnerPicture *picture,
          uint32_t               folder,
          const Entry           *entry,
          OwRunnerWhat           what,
          int64_t                at)
{
  const Folder *inside;

  /* What came with its folder has the times that it had elsewhere. */
  if (what == OW_RUNNER_CREATED && entry->ctime > at)
    at = entry->ctime;
  tell (self, picture, folder, entry, what, at);
  if (entry->folder == NONE)
    return;
  inside = &picture->folders[entry->folder];
  for (uint32_t i = 0; i < inside->n; i++)
    tell_all (self, picture, entry->folder, &picture->entries[inside->first + i], what, at);
}

static void
compare_entries (Compare     *self,
                 Pair         pair,
                 const Entry *before,
                 const Entry *after)
{
  bool folders = S_ISDIR (before->mode) && S_ISDIR (after->mode);
  bool kind = (before->mode & S_IFMT) == (after->mode & S_IFMT);
  bool same = before->ino == after->ino && before->mode == after->mode;
  /* .git changes when something in it does; of other folders what they hold is told. */
  bool inner = folders && after->folder != NONE;

  if (!kind || (folders && before->ino != after->ino))
    {
      tell_all (self, self->before, pair.before, before, OW_RUNNER_DELETED,
                self->after->folders[pair.after].ctime);
      tell_all (self, self->after, pair.after, after, OW_RUNNER_CREATED, 0);
      return;
    }
  if (!inner)
    same = same && before->size == after->size && before->mtime == after->mtime &&
           before->ctime == after->ctime;
  if (!same)
    tell (self, self->after, pair.after, after, OW_RUNNER_CHANGED, after->ctime);
  if (!inner || before->folder == NONE)
    return;
  self->pairs = grow (self->pairs, &self->size, self->n + 1, sizeof *self->pairs);
  self->pairs[self->n++] = (Pair) { before->folder, after->folder };
}

static void
compare_folders (Compare *self,
                 Pair     pair)
{
  const Folder *before = &self->before->folders[pair.before];
  const Folder *after = &self->after->folders[pair.after];
  uint32_t i = 0;
  uint32_t j = 0;

  if (!before->reached || !after->reached)
    return;
  while (i < before->n || j < after->n)
    {
      const Entry *old = i < before->n ? &self->before->entries[before->first + i] : NULL;
      const Entry *new = j < after->n ? &self->after->entries[after->first + j] : NULL;
      int order = old == NULL ? 1
                  : new == NULL ? -1
                  : strcmp (name_of (self->before, old), name_of (self->after, new));

      if (order < 0)
        tell_all (self, self->before, pair.before, old, OW_RUNNER_DELETED, after->ctime);
      else if (order > 0)
        tell_all (self, self->after, pair.after, new, OW_RUNNER_CREATED, 0);
      else
        compare_entries (self, pair, old, new);
      i += order <= 0;
      j += order >= 0;
    }
}

void
ow_runner_picture_compare (const OwRunnerPicture *before,
                           const OwRunnerPicture *after,
                           OwRunnerDifferenceFunc func,
                           void                  *user_data)
{
  Compare self = { .before = before, .after = after, .func = func, .user_data = user_data };

  /* The roots come first in both, and are the same ones. */
  for (uint32_t i = 0; i < before->n_folders && before->folders[i].entry == NONE; i++)
    {
      self.pairs = grow (self.pairs, &self.size, self.n + 1, sizeof *self.pairs);
      self.pairs[self.n++] = (Pair) { i, i };
    }
  for (size_t i = 0; i < self.n; i++)
    compare_folders (&self, self.pairs[i]);
  free (self.pairs);
}
