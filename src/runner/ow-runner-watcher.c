/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-watcher-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-descent-private.h"
#include "ow-runner-path-private.h"
#include "ow-runner-picture-private.h"
#include "ow-runner-utf8-private.h"

/* What a look may cost. A tree that does not fit is looked at by its upper levels from
 * then on, and one that takes too long even so not at all; some time later it is tried
 * again. Figures are ours: the first is what no person notices after a command. */
static const OwRunnerPictureBounds bounds[] = {
  { .entries = 20000, .wall_ms = 250, .cpu_ms = 60 },
  { .entries = 2000, .wall_ms = 100, .cpu_ms = 20 },
};
#define N_BOUNDS     (sizeof bounds / sizeof bounds[0])
#define TRY_AGAIN_S  60

/* Files that are named in an answer, and bytes of their paths as JSON, which has to fit into one
 * message with the rest. */
#define FILES_MAX    200
#define PATHS_MAX    (48u * 1024u)
#define NOTES_MAX    20000

/* File systems that this kernel stamps, with its own clock. */
static const unsigned long own_clocks[] = {
  EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC,
  OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, 0x2fc12fc1 /* ZFS */, 0xca451a4e /* bcachefs */,
};

static bool trust_clocks = true;

void
ow_runner_watcher_set_trust_clocks (bool trust)
{
  trust_clocks = trust;
}

/* A file as a tool left it. */
typedef struct {
  char    *path; /* (owned) */
  bool     there;
  uint64_t ino;
  uint64_t size;
  int64_t  mtime;
  int64_t  ctime;
} Note;

typedef struct {
  const OwRunnerRoots *roots;
  OwRunnerPicture     *last;   /* (owned) (nullable) */
  size_t               level;  /* of bounds; N_BOUNDS: nothing is looked at */
  int64_t              tried;  /* when a level was left, monotonic seconds */
  Note                *notes;  /* (owned) */
  size_t               n_notes;
  bool                 notes_lost;
  bool                 sorted;
} Watcher;

typedef struct {
  Watcher *watcher;
  int64_t  since;
  json_t  *files;
  size_t   bytes;
  size_t   total;
  size_t   between;
} Answer;

static int64_t
monotonic_s (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/* --- what the tools did --- */

static int64_t
nanoseconds (struct timespec time)
{
  return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}

static void
take_note (Watcher    *self,
           const char *path)
{
  struct stat status;
  const char *below;
  char *relative;
  size_t root;
  Note note = { NULL };
  int fd;

  if (!ow_runner_path_choose (self->roots, path, &root, &below))
    return;
  if (self->n_notes == NOTES_MAX)
    {
      self->notes_lost = true;
      return;
    }
  relative = ow_runner_path_relative (below);
  fd = ow_runner_descent_plain (self->roots->fds[root], relative, O_PATH);
  if (fd >= 0 && fstat (fd, &status) == 0)
    {
      note = (Note) { .there = true, .ino = status.st_ino, .size = (uint64_t) status.st_size,
                      .mtime = nanoseconds (status.st_mtim),
                      .ctime = nanoseconds (status.st_ctim) };
    }
  if (fd >= 0)
    close (fd);
  free (relative);
  note.path = ow_runner_buffer_copy (path, strlen (path));
  if ((self->n_notes & (self->n_notes + 1)) == 0)
    self->notes = ow_runner_buffer_resize (self->notes,
                                           (self->n_notes + 1) * 2 * sizeof *self->notes);
  self->notes[self->n_notes++] = note;
  self->sorted = false;
}

static void
forget_notes (Watcher *self)
{
  for (size_t i = 0; i < self->n_notes; i++)
    free (self->notes[i].path);
  self->n_notes = 0;
  self->notes_lost = false;
}

static int
compare_notes (const void *one,
               const void *other)
{
  const Note *a = one;
  const Note *b = other;

  return strcmp (a->path, b->path);
}

static bool
is_as_left (const Note               *note,
            const OwRunnerDifference *difference)
{
  if (difference->what == OW_RUNNER_DELETED || !note->there)
    return difference->what == OW_RUNNER_DELETED && !note->there;
  return note->ino == difference->ino && note->size == difference->size &&
         note->mtime == difference->mtime && note->ctime == difference->ctime;
}

/* Whether a tool left the file as it is now. */
static bool
is_noted (Watcher                  *self,
          const char               *path,
          const OwRunnerDifference *difference)
{
  const Note key = { .path = (char *) path };
  const Note *found;

  if (self->n_notes == 0)
    return false;
  if (!self->sorted)
    qsort (self->notes, self->n_notes, sizeof *self->notes, compare_notes);
  self->sorted = true;
  found = bsearch (&key, self->notes, self->n_notes, sizeof *self->notes, compare_notes);
  if (found == NULL)
    return false;
  while (found > self->notes && strcmp (found[-1].path, path) == 0)
    found--;
  for (; found < self->notes + self->n_notes && strcmp (found->path, path) == 0; found++)
    {
      if (is_as_left (found, difference))
        return true;
    }
  return false;
}

/* --- looking --- */

static char *
whole_path (const OwRunnerRoots      *roots,
            const OwRunnerDifference *difference)
{
  const char *folder = roots->folders[difference->root];
  size_t end = strlen (folder);
  char *path;
  size_t length = strlen (difference->below);

  while (end > 0 && folder[end - 1] == '/')
    end--;
  path = ow_runner_buffer_alloc (end + length + 2);
  memcpy (path, folder, end);
  path[end] = '/';
  memcpy (path + end + 1, difference->below, length + 1);
  return path;
}

static void
add_file (Answer                   *self,
          const char               *path,
          const OwRunnerDifference *difference,
          bool                      unsure)
{
  static const char *const whats[] = { "created", "changed", "deleted" };
  size_t length = strlen (path);
  bool plain = ow_runner_utf8_is_valid (path, length);
  char *shown = plain ? ow_runner_buffer_copy (path, length)
                      : ow_runner_buffer_name (path, length);
  json_t *file;

  self->bytes += ow_json_string_size (shown, strlen (shown));
  if (json_array_size (self->files) < FILES_MAX && self->bytes <= PATHS_MAX)
    {
      file = json_object ();
      json_object_set_new (file, "path", json_string (shown));
      json_object_set_new (file, "what", json_string (whats[difference->what]));
      if (S_ISDIR (difference->mode))
        json_object_set_new (file, "folder", json_true ());
      if (!plain)
        json_object_set_new (file, "escaped", json_true ());
      if (unsure)
        json_object_set_new (file, "unsure", json_true ());
      json_array_append_new (self->files, file);
    }
  free (shown);
}

/* Whether what stands at the folder's files can be compared with this machine's clock. */
static bool
has_own_clock (const OwRunnerRoots *roots,
               size_t               root)
{
  struct statfs system;

  if (!trust_clocks || fstatfs (roots->fds[root], &system) < 0)
    return false;
  for (size_t i = 0; i < sizeof own_clocks / sizeof own_clocks[0]; i++)
    {
      if (own_clocks[i] == ((unsigned long) system.f_type & 0xffffffffu))
        return true;
    }
  return false;
}

static void
on_difference (const OwRunnerDifference *difference,
               void                     *user_data)
{
  Answer *self = user_data;
  char *path = whole_path (self->watcher->roots, difference);
  bool unsure = false;

  if (!is_noted (self->watcher, path, difference))
    {
      if (difference->at < self->since)
        unsure = !has_own_clock (self->watcher->roots, difference->root);
      if (difference->at >= self->since || unsure)
        {
          self->total++;
          add_file (self, path, difference, unsure);
        }
      else
        {
          self->between++;
        }
    }
  free (path);
}

/* NULL: it is not looked at now. */
static OwRunnerPicture *
take_picture (Watcher *self)
{
  OwRunnerPicture *picture;

  if (self->level > 0 && monotonic_s () >= self->tried + TRY_AGAIN_S)
    {
      self->level = 0;
      self->tried = monotonic_s ();
    }
  if (self->level == N_BOUNDS)
    return NULL;
  picture = ow_runner_picture_take (self->roots, bounds[self->level]);
  if (ow_runner_picture_is_whole (picture))
    return picture;
  if (self->level == 0)
    self->tried = monotonic_s ();
  return picture;
}

/* A level that was too much is left for the next one below. That the upper levels of a
 * large tree are all that is seen is what the lower one is for; only time ends it. */
static void
choose_level (Watcher               *self,
              const OwRunnerPicture *picture,
              int64_t                took_ms)
{
  if (picture == NULL || ow_runner_picture_is_whole (picture))
    return;
  if (self->level == 0 || took_ms >= bounds[self->level].cpu_ms)
    self->level++;
}

static json_t *
look (Watcher *self,
      int64_t  since)
{
  Answer answer = { .watcher = self, .since = since, .files = json_array () };
  struct timespec start;
  struct timespec end;
  OwRunnerPicture *picture;
  json_t *object = json_object ();
  bool cut;

  clock_gettime (CLOCK_REALTIME, &start);
  /* The clock was set back meanwhile: nothing can be told by it. */
  if (nanoseconds (start) < since)
    answer.since = 0;
  clock_gettime (CLOCK_MONOTONIC, &start);
  picture = take_picture (self);
  clock_gettime (CLOCK_MONOTONIC, &end);
  choose_level (self, picture, (nanoseconds (end) - nanoseconds (start)) / 1000000);
  cut = picture == NULL || self->last == NULL || !ow_runner_picture_is_whole (picture) ||
        !ow_runner_picture_is_whole (self->last) || self->notes_lost;
  if (picture != NULL && self->last != NULL)
    ow_runner_picture_compare (self->last, picture, on_difference, &answer);
  ow_runner_picture_free (self->last);
  self->last = picture;
  forget_notes (self);
  json_object_set_new (object, "files", answer.files);
  json_object_set_new (object, "total", json_integer ((json_int_t) answer.total));
  json_object_set_new (object, "between", json_integer ((json_int_t) answer.between));
  json_object_set_new (object, "cut", json_boolean (cut));
  json_object_set_new (object, "undoable", json_false ());
  return object;
}

static void
answer_look (Watcher                      *self,
             const OwRunnerWatcherRequest *request,
             int                           fd)
{
  json_t *object = look (self, request->since);
  size_t length = 0;
  char *text;

  json_object_set_new (object, "number", json_integer (request->number));
  text = ow_json_dump (object, &length);
  json_decref (object);
  if (text == NULL || send (fd, text, length, MSG_NOSIGNAL) != (ssize_t) length)
    _exit (1);
  free (text);
}

void
ow_runner_watcher_run (const OwRunnerRoots *roots,
                       int                  fd)
{
  Watcher self = { .roots = roots };
  char *message = ow_runner_buffer_alloc (OW_RUNNER_WATCHER_MESSAGE_MAX + 1);
  OwRunnerWatcherRequest request;

  for (;;)
    {
      ssize_t got = recv (fd, message, OW_RUNNER_WATCHER_MESSAGE_MAX, 0);

      if (got < 0 && errno == EINTR)
        continue;
      if (got < (ssize_t) sizeof request)
        break;
      memcpy (&request, message, sizeof request);
      message[got] = '\0';
      if (request.kind == OW_RUNNER_WATCHER_LOOK)
        answer_look (&self, &request, fd);
      for (char *path = message + sizeof request;
           request.kind == OW_RUNNER_WATCHER_NOTE && path < message + got;
           path += strlen (path) + 1)
        take_note (&self, path);
    }
  forget_notes (&self);
  free (self.notes);
  ow_runner_picture_free (self.last);
  free (message);
}
