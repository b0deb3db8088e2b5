/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-walk-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ow-runner-crew-private.h"
#include "ow-runner-descent-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-ignore-private.h"

/* One descriptor is held for each level. */
#define MAX_DEPTH   200
#define MAX_WIDTH   200000
#define MAX_ENTRIES 2000000
#define CHUNK_BYTES 32768
/* Another thread is begun in a tree of more than so many only. */
#define ALONE_ENTRIES 2000
/* One of a thousand bytes takes up to a millisecond for a name. */
#define RULES_TO_LOOK 256u

/* As getdents64(2) has it; libc declares none. */
typedef struct {
  uint64_t       d_ino;
  int64_t        d_off;
  unsigned short d_reclen;
  unsigned char  d_type;
  char           d_name[];
} Record;

typedef struct {
  size_t        name; /* offset in Names.text until all are read */
  unsigned char type;
} Name;

typedef struct {
  char  *text;  /* (owned) */
  size_t length;
  size_t size;
  Name  *names; /* (owned) */
  size_t n;
  bool   has_ignore;
} Names;

/* The rules of one .gitignore, and by it those of the folders above. Several threads may
 * be below it. */
typedef struct _Level Level;

struct _Level {
  Level          *above; /* (owned) (nullable) a reference */
  OwRunnerIgnore *rules; /* (owned) */
  size_t          base;  /* where the path below its folder begins in Walker.path */
  atomic_uint     references;
};

/* What goes over the tree, or over a part of it in another thread. */
typedef struct {
  OwRunnerWalk *walk;
  void         *user_data; /* for the walk's function */
  OwRunnerCrew *crew;      /* (nullable) */
  char         *chunk;
  char         *path;      /* (owned) from the session's folder on */
  size_t        length;
  size_t        size;
  size_t        start;     /* where the path below the start begins */
  Level        *level;     /* (owned) (nullable) a reference */
  size_t        counted;
  size_t        rules;     /* of .gitignore files asked since the clock was looked at */
} Walker;

/* A folder that another thread is to go over. */
typedef struct {
  OwRunnerJob   job;
  OwRunnerWalk *walk;
  OwRunnerCrew *crew;
  char         *path;      /* (owned) */
  size_t        length;
  size_t        start;
  Level        *level;     /* (owned) (nullable) a reference */
  int           directory; /* (owned) */
  dev_t         device;
  int           depth;
} Part;

typedef struct {
  OwRunnerWalk *walk;
  void         *user_data; /* (owned) */
  char         *chunk;     /* (owned) */
} Desk;

static void walk_part (OwRunnerJob *job,
                       void        *desk);

void
ow_runner_walk_init (OwRunnerWalk    *self,
                     OwRunnerWalkFunc func,
                     void            *user_data,
                     int              seconds)
{
  memset (self, 0, sizeof *self);
  self->func = func;
  self->user_data = user_data;
  clock_gettime (CLOCK_MONOTONIC, &self->deadline);
  self->deadline.tv_sec += seconds;
}

bool
ow_runner_walk_late (const OwRunnerWalk *self)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec > self->deadline.tv_sec ||
         (now.tv_sec == self->deadline.tv_sec && now.tv_nsec >= self->deadline.tv_nsec);
}

void
ow_runner_walk_notes (const OwRunnerWalk *self,
                      OwRunnerBuffer     *out)
{
  if ((self->limits & OW_RUNNER_WALK_TOO_DEEP) != 0)
    ow_runner_buffer_printf (out, "[Cut: folders more than %d levels down were not looked into. "
                             "Give a path further down.]\n", MAX_DEPTH);
  if ((self->limits & OW_RUNNER_WALK_TOO_WIDE) != 0)
    ow_runner_buffer_printf (out, "[Cut: of a folder with more than %d entries only so many were "
                             "looked at. Use the shell (find) there.]\n", MAX_WIDTH);
  if ((self->limits & OW_RUNNER_WALK_TOO_MANY) != 0)
    ow_runner_buffer_printf (out, "[Cut: only the first %d entries were looked at. Give a path "
                             "further down.]\n", MAX_ENTRIES);
  if ((self->limits & OW_RUNNER_WALK_TOO_LONG) != 0)
    ow_runner_buffer_append (out, "[Cut: the time for one call was used up before everything was "
                             "looked at. Give a path further down.]\n");
  if (self->unreadable > 0)
    ow_runner_buffer_printf (out, "[%zu folder%s could not be looked into.]\n",
                             (size_t) self->unreadable,
                             self->unreadable == 1 ? "" : "s");
}

static void
add_name (Names        *self,
          const char   *name,
          unsigned char type)
{
  size_t length = strlen (name) + 1;

  if (self->length + length > self->size)
    {
      self->size = (self->length + length) * 2;
      self->text = ow_runner_buffer_resize (self->text, self->size);
    }
  if ((self->n & (self->n + 1)) == 0)
    self->names = ow_runner_buffer_resize (self->names, (self->n + 1) * 2 * sizeof *self->names);
  memcpy (self->text + self->length, name, length);
  self->names[self->n++] = (Name) { self->length, type };
  self->length += length;
}

static int
compare (const void *one,
         const void *other,
         void       *text)
{
  const Name *a = one;
  const Name *b = other;

  return strcmp ((const char *) text + a->name, (const char *) text + b->name);
}

static bool
is_skipped (const char *name)
{
  return strcmp (name, ".") == 0 || strcmp (name, "..") == 0 || strcmp (name, ".git") == 0;
}

static unsigned char
type_of (int         directory,
         const char *name)
{
  struct stat status;

  if (fstatat (directory, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
    return DT_UNKNOWN;
  return IFTODT (status.st_mode);
}

/* Reads all names of a directory, sorted where order counts. */
static bool
read_names (Walker *walker,
            int     directory,
            Names  *names)
{
  for (;;)
    {
      long got = syscall (SYS_getdents64, directory, walker->chunk, CHUNK_BYTES);

      if (got < 0)
        return false;
      if (got == 0)
        break;
      for (long at = 0; at < got;)
        {
          const Record *record = (const Record *) (walker->chunk + at);

          at += record->d_reclen;
          if (is_skipped (record->d_name))
            continue;
          if (names->n == MAX_WIDTH)
            {
              walker->walk->limits |= OW_RUNNER_WALK_TOO_WIDE;
              break;
            }
          names->has_ignore = names->has_ignore || strcmp (record->d_name, ".gitignore") == 0;
          add_name (names, record->d_name, record->d_type != DT_UNKNOWN
                    ? record->d_type : type_of (directory, record->d_name));
        }
      if (names->n == MAX_WIDTH || ow_runner_walk_late (walker->walk))
        break;
    }
  if (names->n > 1 && walker->walk->split == NULL)
    qsort_r (names->names, names->n, sizeof *names->names, compare, names->text);
  return true;
}

static size_t
push_path (Walker     *self,
           const char *name)
{
  size_t before = self->length;
  size_t length = strlen (name);

  if (before + length + 2 > self->size)
    {
      self->size = (before + length + 2) * 2;
      self->path = ow_runner_buffer_resize (self->path, self->size);
    }
  if (before > 0)
    self->path[self->length++] = '/';
  memcpy (self->path + self->length, name, length + 1);
  self->length += length;
  return before;
}

static void
pop_path (Walker *self,
          size_t  before)
{
  self->length = before;
  self->path[before] = '\0';
}

static Level *
level_ref (Level *self)
{
  if (self != NULL)
    self->references++;
  return self;
}

static void
level_unref (Level *self)
{
  while (self != NULL && --self->references == 0)
    {
      Level *above = self->above;

      ow_runner_ignore_free (self->rules);
      free (self);
      self = above;
    }
}

static void
push_level (Walker         *self,
            OwRunnerIgnore *rules)
{
  Level *level;

  if (rules == NULL)
    return;
  level = ow_runner_buffer_alloc (sizeof *level);
  level->above = self->level;
  level->rules = rules;
  level->base = self->length > 0 ? self->length + 1 : 0;
  atomic_init (&level->references, 1);
  self->level = level;
}

/* Whether the entry that Walker.path names now is left out: the innermost file with
 * a rule about it says so. Such files may be so many and so long that one name takes
 * longer than all may. */
static bool
is_ignored (Walker *self,
            bool    is_folder)
{
  for (const Level *level = self->level; level != NULL; level = level->above)
    {
      self->rules += ow_runner_ignore_get_n (level->rules);
      if (self->rules >= RULES_TO_LOOK)
        {
          self->rules = 0;
          if (ow_runner_walk_late (self->walk))
            self->walk->limits |= OW_RUNNER_WALK_TOO_LONG;
          if ((self->walk->limits & OW_RUNNER_WALK_TOO_LONG) != 0)
            return true;
        }
      switch (ow_runner_ignore_match (level->rules, self->path + level->base, is_folder))
        {
        case OW_RUNNER_IGNORE_OUT:
          return true;

        case OW_RUNNER_IGNORE_IN:
          return false;

        case OW_RUNNER_IGNORE_SILENT:
          break;
        }
    }
  return false;
}

/* How many of a folder's entries may be looked at. */
static size_t
count_entries (OwRunnerWalk *walk,
               size_t        n)
{
  size_t before = atomic_fetch_add (&walk->entries, n);

  if (before + n <= MAX_ENTRIES)
    return n;
  walk->limits |= OW_RUNNER_WALK_TOO_MANY;
  return before < MAX_ENTRIES ? MAX_ENTRIES - before : 0;
}

static bool
is_over (Walker *self)
{
  if (++self->counted % 64 == 0 && ow_runner_walk_late (self->walk))
    self->walk->limits |= OW_RUNNER_WALK_TOO_LONG;
  return (atomic_load_explicit (&self->walk->limits, memory_order_relaxed) &
          OW_RUNNER_WALK_TOO_LONG) != 0;
}

/* Has another thread go over the folder, where one has nothing else to do. */
static bool
hand_over (Walker *self,
           int     directory,
           dev_t   device,
           int     depth)
{
  Part *part;

  if (self->crew == NULL || self->walk->entries < ALONE_ENTRIES ||
      !ow_runner_crew_wants (self->crew))
    return false;
  part = ow_runner_buffer_alloc (sizeof *part);
  *part = (Part) {
    .walk = self->walk, .crew = self->crew, .length = self->length, .start = self->start,
    .path = ow_runner_buffer_copy (self->path, self->length), .level = level_ref (self->level),
    .directory = directory, .device = device, .depth = depth,
  };
  ow_runner_crew_push (self->crew, &part->job);
  return true;
}

static bool walk_directory (Walker *self,
                            int     directory,
                            dev_t   device,
                            int     depth);

static bool
walk_below (Walker     *self,
            int         directory,
            const char *name,
            dev_t       device,
            int         depth)
{
  int fd;

  if (depth >= MAX_DEPTH)
    {
      self->walk->limits |= OW_RUNNER_WALK_TOO_DEEP;
      return true;
    }
  fd = openat (directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    {
      self->walk->unreadable++;
      return true;
    }
  return hand_over (self, fd, device, depth) || walk_directory (self, fd, device, depth);
}

static bool
walk_entry (Walker       *self,
            int           directory,
            const char   *name,
            unsigned char type,
            dev_t         device,
            int           depth)
{
  size_t before = push_path (self, name);
  bool going = !is_over (self);

  if (going && is_ignored (self, type == DT_DIR))
    {
      self->walk->ignored++;
    }
  else if (going && type == DT_DIR)
    {
      going = walk_below (self, directory, name, device, depth + 1);
    }
  else if (going)
    {
      OwRunnerWalkEntry entry = { directory, name, self->path + self->start, type };

      going = self->walk->func (&entry, self->user_data);
    }
  pop_path (self, before);
  return going;
}

/* Takes over @directory. */
static bool
walk_directory (Walker *self,
                int     directory,
                dev_t   device,
                int     depth)
{
  Level *above = level_ref (self->level);
  struct stat status;
  const char *system;
  Names names = { .n = 0 };
  size_t n;
  bool going = true;

  /* Another file system is looked at for its kind: files of some never end. */
  if (fstat (directory, &status) < 0 ||
      (status.st_dev != device && ow_runner_file_is_made_up (directory, &system)) ||
      !read_names (self, directory, &names))
    {
      self->walk->unreadable++;
      level_unref (above);
      free (names.text);
      free (names.names);
      close (directory);
      return true;
    }
  if (names.has_ignore)
    push_level (self, ow_runner_ignore_load (directory));
  n = count_entries (self->walk, names.n);
  for (size_t i = 0; going && i < n; i++)
    going = walk_entry (self, directory, names.text + names.names[i].name, names.names[i].type,
                        status.st_dev, depth);
  level_unref (self->level);
  self->level = above;
  free (names.text);
  free (names.names);
  close (directory);
  return going && n == names.n;
}

/* The rules of the folders above the start, where the path names them plainly. */
static void
load_above (Walker     *self,
            int         root,
            const char *below)
{
  char *path = ow_runner_buffer_copy (below, strlen (below));
  char *rest = path;
  char *name;

  if (strstr (path, "..") == NULL)
    {
      while ((name = strsep (&rest, "/")) != NULL)
        {
          int fd;

          if (name[0] == '\0' || strcmp (name, ".") == 0)
            continue;
          fd = ow_runner_descent_open (root, self->length > 0 ? self->path : ".",
                                       O_RDONLY | O_DIRECTORY);
          if (fd >= 0)
            {
              push_level (self, ow_runner_ignore_load (fd));
              close (fd);
            }
          push_path (self, name);
        }
    }
  free (path);
}

static void
walk_part (OwRunnerJob *job,
           void        *data)
{
  Part *part = (Part *) job;
  Desk *desk = data;
  Walker walker = {
    .walk = part->walk, .user_data = desk->user_data, .crew = part->crew, .chunk = desk->chunk,
    .path = part->path, .length = part->length, .size = part->length + 1, .start = part->start,
    .level = part->level,
  };

  if (is_over (&walker))
    close (part->directory);
  else
    walk_directory (&walker, part->directory, part->device, part->depth);
  level_unref (walker.level);
  free (walker.path);
  free (part);
}

static void *
desk_new (void *user_data)
{
  OwRunnerWalk *walk = user_data;
  Desk *desk = ow_runner_buffer_alloc (sizeof *desk);

  desk->walk = walk;
  desk->user_data = walk->split (walk->user_data);
  desk->chunk = ow_runner_buffer_alloc (CHUNK_BYTES);
  return desk;
}

static void
desk_free (void *data,
           void *user_data)
{
  OwRunnerWalk *walk = user_data;
  Desk *desk = data;

  walk->join (walk->user_data, desk->user_data);
  free (desk->chunk);
  free (desk);
}

void
ow_runner_walk_run (OwRunnerWalk        *self,
                    const OwRunnerRoots *roots,
                    const OwRunnerPath  *path,
                    int                  start)
{
  static const OwRunnerCrewClass class = {
    .work = walk_part, .frees = true, .desk_new = desk_new, .desk_free = desk_free,
  };
  Walker walker = { .walk = self, .user_data = self->user_data };
  Desk desk = { .walk = self, .user_data = self->user_data };
  int fd = fcntl (start, F_DUPFD_CLOEXEC, 3);

  walker.chunk = desk.chunk = ow_runner_buffer_alloc (CHUNK_BYTES);
  walker.size = 256;
  walker.path = ow_runner_buffer_alloc (walker.size);
  walker.path[0] = '\0';
  load_above (&walker, roots->fds[path->root], path->below);
  walker.start = walker.length > 0 ? walker.length + 1 : 0;
  if (self->split != NULL)
    walker.crew = ow_runner_crew_new (&class, &desk, self);
  if (fd >= 0)
    walk_directory (&walker, fd, (dev_t) -1, 0);
  if (walker.crew != NULL)
    ow_runner_crew_drain (walker.crew);
  ow_runner_crew_free (walker.crew);
  level_unref (walker.level);
  free (walker.path);
  free (walker.chunk);
}
