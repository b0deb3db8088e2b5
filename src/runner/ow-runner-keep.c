/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-keep-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-file-private.h"

#define NOT_COUNTED   UINT64_MAX
#define BLOCK_BYTES   4096u
#define TEMPORARY     ".keep-"
/* Older than any call can be: what a killed one has left. */
#define TEMPORARY_MAX_S 3600

typedef struct {
  char            name[OW_RUNNER_HASH_SIZE];
  uint64_t        cost;
  struct timespec used;
} Kept;

typedef struct {
  Kept  *list; /* (owned) */
  size_t n;
} Folder;

void
ow_runner_keep_hash (const char *data,
                     size_t      length,
                     char        hash[OW_RUNNER_HASH_SIZE])
{
  struct sha256_ctx context;
  uint8_t digest[SHA256_DIGEST_SIZE];

  sha256_init (&context);
  sha256_update (&context, length, (const uint8_t *) data);
  sha256_digest (&context, sizeof digest, digest);
  for (size_t i = 0; i < sizeof digest; i++)
    snprintf (hash + 2 * i, 3, "%02x", digest[i]);
}

bool
ow_runner_keep_is_hash (const char *text)
{
  size_t n = strspn (text, "0123456789abcdef");

  return n == OW_RUNNER_HASH_SIZE - 1 && text[n] == '\0';
}

bool
ow_runner_keep_open (OwRunnerKeep *self,
                     const char   *path,
                     char          error[OW_RUNNER_ERROR_SIZE])
{
  void *shared = MAP_FAILED;

  *self = (OwRunnerKeep) { .fd = -1, .max_one = OW_RUNNER_KEEP_ONE_MAX,
                           .max_all = OW_RUNNER_KEEP_ALL_MAX };
  self->fd = open (path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (self->fd >= 0)
    shared = mmap (NULL, sizeof *self->total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
  if (shared == MAP_FAILED)
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "The undo folder \"%.300s\" cannot be opened: %s.",
                path, strerror (errno));
      ow_runner_keep_close (self);
      return false;
    }
  self->total = shared;
  __atomic_store_n (self->total, NOT_COUNTED, __ATOMIC_RELAXED);
  return true;
}

void
ow_runner_keep_close (OwRunnerKeep *self)
{
  if (self->fd >= 0)
    close (self->fd);
  if (self->total != NULL)
    munmap (self->total, sizeof *self->total);
  *self = (OwRunnerKeep) { .fd = -1 };
}

static uint64_t
cost_of (uint64_t size)
{
  return size < BLOCK_BYTES ? BLOCK_BYTES : size;
}

static void
look_at (const OwRunnerKeep *self,
         const char         *name,
         Folder             *folder)
{
  struct stat status;
  Kept *kept;

  if (fstatat (self->fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG (status.st_mode))
    return;
  if (strncmp (name, TEMPORARY, strlen (TEMPORARY)) == 0)
    {
      if (status.st_mtim.tv_sec < time (NULL) - TEMPORARY_MAX_S)
        unlinkat (self->fd, name, 0);
      return;
    }
  if (!ow_runner_keep_is_hash (name))
    return;
  if ((folder->n & (folder->n + 1)) == 0)
    folder->list = ow_runner_buffer_resize (folder->list,
                                            (folder->n + 1) * 2 * sizeof *folder->list);
  kept = &folder->list[folder->n++];
  memcpy (kept->name, name, OW_RUNNER_HASH_SIZE);
  kept->cost = cost_of ((uint64_t) status.st_size);
  kept->used = status.st_mtim;
}

/* What is there, and how much it is. */
static uint64_t
read_folder (const OwRunnerKeep *self,
             Folder             *folder)
{
  int fd = openat (self->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *directory = fd >= 0 ? fdopendir (fd) : NULL;
  const struct dirent *entry;
  uint64_t total = 0;

  *folder = (Folder) { NULL };
  if (directory == NULL)
    {
      if (fd >= 0)
        close (fd);
      return 0;
    }
  while ((entry = readdir (directory)) != NULL)
    look_at (self, entry->d_name, folder);
  closedir (directory);
  for (size_t i = 0; i < folder->n; i++)
    total += folder->list[i].cost;
  return total;
}

static int
compare_used (const void *one,
              const void *other)
{
  const Kept *a = one;
  const Kept *b = other;

  if (a->used.tv_sec != b->used.tv_sec)
    return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
  if (a->used.tv_nsec != b->used.tv_nsec)
    return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
  return strcmp (a->name, b->name);
}

/* No command reaches what is in the folder, and each can close it to us: whoever owns a file
 * may change its mode, and Landlock has no say in that. */
static void
give_back_mode (int    fd,
                mode_t mode)
{
  char name[40];
  struct stat status;

  if (fstat (fd, &status) < 0 || (status.st_mode & mode) == mode)
    return;
  snprintf (name, sizeof name, "/proc/self/fd/%d", fd);
  if (chmod (name, mode) < 0)
    return;
}

static int
open_kept (const OwRunnerKeep *self,
           const char         *name,
           struct stat        *status)
{
  int fd;
  int place;

  give_back_mode (self->fd, 0700);
  fd = ow_runner_file_open_at (self->fd, name, status);
  if (fd >= 0 || errno != EACCES)
    return fd;
  place = openat (self->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (place < 0)
    return -1;
  if (fstat (place, status) == 0 && S_ISREG (status->st_mode))
    give_back_mode (place, 0600);
  close (place);
  return ow_runner_file_open_at (self->fd, name, status);
}

/* Makes room for a file of that cost. More than is needed is dropped, so that not every
 * call has to look at the whole folder. */
static bool
make_room (const OwRunnerKeep *self,
           uint64_t            cost,
           unsigned           *dropped)
{
  uint64_t total = __atomic_load_n (self->total, __ATOMIC_RELAXED);
  Folder folder = { NULL };
  uint64_t goal;

  if (total != NOT_COUNTED && total + cost <= self->max_all)
    return true;
  total = read_folder (self, &folder);
  if (total + cost > self->max_all && dropped != NULL && cost <= self->max_all)
    {
      goal = self->max_all - self->max_all / 8;
      if (folder.n > 1)
        qsort (folder.list, folder.n, sizeof *folder.list, compare_used);
      for (size_t i = 0; i < folder.n && total > 0 && total + cost > goal; i++)
        {
          if (unlinkat (self->fd, folder.list[i].name, 0) < 0 && errno != ENOENT)
            continue;
          total -= folder.list[i].cost;
          ++*dropped;
        }
    }
  free (folder.list);
  __atomic_store_n (self->total, total, __ATOMIC_RELAXED);
  return total + cost <= self->max_all;
}

/* Puts the bytes under the name in the place of whatever stands there. */
static bool
put_file (const OwRunnerKeep *self,
          const char         *name,
          const char         *data,
          size_t              length,
          bool                sync)
{
  char temporary[sizeof TEMPORARY + 24] = TEMPORARY;
  unsigned char random[12];
  bool done;
  int saved;
  int fd;

  if (getrandom (random, sizeof random, 0) != (ssize_t) sizeof random)
    return false;
  for (size_t i = 0; i < sizeof random; i++)
    snprintf (temporary + strlen (TEMPORARY) + 2 * i, 3, "%02x", random[i]);
  fd = openat (self->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return false;
  done = ow_runner_file_write_all (fd, data, length) == 0
         && renameat (self->fd, temporary, self->fd, name) == 0
         && (!sync || fsync (fd) == 0);
  saved = errno;
  if (!done)
    unlinkat (self->fd, temporary, 0);
  close (fd);
  errno = saved;
  return done;
}

bool
ow_runner_keep_put (const OwRunnerKeep *self,
                    const char         *data,
                    size_t              length,
                    const char         *hash,
                    bool                sync,
                    unsigned           *dropped,
                    char                error[OW_RUNNER_ERROR_SIZE])
{
  char problem[OW_RUNNER_ERROR_SIZE];
  size_t there;
  char *same = ow_runner_keep_get (self, hash, &there, problem);

  free (same);
  if (same != NULL)
    {
      /* Asked for again: it is among the last to be dropped. */
      if (utimensat (self->fd, hash, NULL, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
        return true;
    }
  if (!make_room (self, cost_of (length), dropped))
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "the undo folder has all that it may hold");
      return false;
    }
  if (!put_file (self, hash, data, length, sync))
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "the undo folder could not take it: %s",
                strerror (errno));
      return false;
    }
  __atomic_fetch_add (self->total, cost_of (length), __ATOMIC_RELAXED);
  return true;
}

/* (owned, malloc) the whole file, NULL with the end of a sentence in @error. */
static char *
read_kept (const OwRunnerKeep *self,
           int                 fd,
           const struct stat  *status,
           size_t             *length,
           char                error[OW_RUNNER_ERROR_SIZE])
{
  size_t size = (size_t) status->st_size;
  char *data;
  ssize_t got;

  if ((uint64_t) status->st_size > self->max_one)
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "what the undo folder has under its name is too "
                "large to be it");
      return NULL;
    }
  data = ow_runner_buffer_alloc (size + 1);
  got = ow_runner_file_read_all (fd, data, size);
  *length = got > 0 ? (size_t) got : 0;
  data[*length] = '\0';
  if (got >= 0)
    return data;
  snprintf (error, OW_RUNNER_ERROR_SIZE, "the undo folder's copy could not be read: %s",
            strerror (errno));
  free (data);
  return NULL;
}

char *
ow_runner_keep_get (const OwRunnerKeep *self,
                    const char         *hash,
                    size_t             *length,
                    char                error[OW_RUNNER_ERROR_SIZE])
{
  char found[OW_RUNNER_HASH_SIZE];
  struct stat status;
  char *data;
  int fd;

  *length = 0;
  if (!ow_runner_keep_is_hash (hash))
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "its former content has no name that could be looked "
                "for");
      return NULL;
    }
  errno = 0;
  fd = open_kept (self, hash, &status);
  if (fd < 0)
    {
      if (errno == ENOENT)
        snprintf (error, OW_RUNNER_ERROR_SIZE, "its former content is no longer kept");
      else
        snprintf (error, OW_RUNNER_ERROR_SIZE, "what the undo folder has under its name is no "
                  "file that can be read, and was not used");
      return NULL;
    }
  data = read_kept (self, fd, &status, length, error);
  close (fd);
  if (data == NULL)
    return NULL;
  ow_runner_keep_hash (data, *length, found);
  if (strcmp (found, hash) == 0)
    return data;
  snprintf (error, OW_RUNNER_ERROR_SIZE, "the undo folder's copy of its former content is damaged "
            "or was changed, and was not used");
  free (data);
  return NULL;
}
