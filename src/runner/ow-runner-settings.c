/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-settings-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-descent-private.h"
#include "ow-runner-file-private.h"

#define SETTINGS_MAX 4096u
/* Of a larger file its first bytes, size and times are what counts. */
#define FILE_MAX     (1024u * 1024u)
/* Steps between two looks at the clock. */
#define CLOCK_EVERY  256u
#define DEPTH_MAX    256u

/* How a folder is looked at. */
typedef enum {
  PLAIN,
  GIT,       /* the folder .git, or what is one by another name: only what git would run */
  WORKTREES, /* of a repository: each folder in it is a GIT */
} Manner;

typedef struct {
  char               *below; /* (owned) path below the root, "" of the root itself */
  size_t              root;
  unsigned int        depth;
  Manner              manner;
  OwRunnerSettingKind kind;  /* of all files below it */
} Folder;

typedef struct {
  OwRunnerSettings      *settings;
  const OwRunnerRoots   *roots;
  OwRunnerSettingsBounds bounds;
  dev_t                 *devices; /* (owned) of the roots */
  Folder                *folders; /* (owned) those that are still to be looked at behind @at */
  size_t                 n;
  size_t                 size;
  size_t                 at;
  size_t                 names;
  size_t                 bytes;
  size_t                 steps;
  int64_t                wall_end;
  int64_t                cpu_end;
  bool                   stopped;
} Walk;

/* What a folder holds that says whether it is a repository. */
typedef struct {
  bool head;
  bool objects;
  bool refs;
  bool common;
} Signs;

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
is_over (Walk *self)
{
  if (self->names > self->bounds.names || self->settings->n >= SETTINGS_MAX ||
      self->bytes > self->bounds.bytes)
    self->stopped = true;
  else if (self->steps++ % CLOCK_EVERY == 0 &&
           (clock_now (CLOCK_MONOTONIC) >= self->wall_end ||
            clock_now (CLOCK_PROCESS_CPUTIME_ID) >= self->cpu_end))
    self->stopped = true;
  return self->stopped;
}

/* (owned, malloc) */
static char *
absolute (const Walk *self,
          size_t      root,
          const char *below)
{
  const char *folder = self->roots->folders[root];
  size_t end = strlen (folder);
  size_t length = strcmp (below, ".") == 0 ? 0 : strlen (below);
  char *path = ow_runner_buffer_alloc (end + length + 2);

  while (end > 0 && folder[end - 1] == '/')
    end--;
  memcpy (path, folder, end);
  if (length > 0)
    path[end++] = '/';
  memcpy (path + end, below, length);
  path[end + length] = '\0';
  return path;
}

/* Takes @below. */
static void
queue (Walk               *self,
       size_t              root,
       char               *below,
       unsigned int        depth,
       Manner              manner,
       OwRunnerSettingKind kind)
{
  if (depth >= DEPTH_MAX || strlen (below) > OW_RUNNER_PATH_MAX)
    {
      free (below);
      return;
    }
  if (self->n == self->size)
    {
      self->size = self->size == 0 ? 64 : self->size * 2;
      self->folders = ow_runner_buffer_resize (self->folders, self->size * sizeof (Folder));
    }
  self->folders[self->n++] = (Folder) { .below = below, .root = root, .depth = depth,
                                        .manner = manner, .kind = kind };
}

/* --- one file --- */

static OwRunnerSetting *
add (Walk               *self,
     size_t              root,
     const char         *below,
     OwRunnerSettingKind kind,
     const struct stat  *status)
{
  OwRunnerSettings *settings = self->settings;

  if (settings->n == settings->size)
    {
      settings->size = settings->size == 0 ? 32 : settings->size * 2;
      settings->list = ow_runner_buffer_resize (settings->list,
                                                settings->size * sizeof *settings->list);
    }
  settings->list[settings->n] = (OwRunnerSetting) {
    .path = absolute (self, root, below),
    .kind = kind,
    .executable = S_ISREG (status->st_mode) && (status->st_mode & 0111) != 0,
    .ctime = nanoseconds (status->st_ctim),
  };
  return &settings->list[settings->n++];
}

/* (owned, malloc) what the file below the root holds, a link followed within the folders; NULL: it
 * is none that can be read. */
static char *
read_content (Walk        *self,
              size_t       root,
              const char  *below,
              size_t      *length,
              struct stat *status)
{
  int fd = ow_runner_descent_open (self->roots->fds[root], below,
                                   O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  const char *system;
  char *content;
  ssize_t got;

  if (fd < 0)
    return NULL;
  if (fstat (fd, status) < 0 || !S_ISREG (status->st_mode) ||
      ow_runner_file_is_made_up (fd, &system))
    {
      close (fd);
      return NULL;
    }
  content = ow_runner_buffer_alloc (FILE_MAX + 64);
  got = ow_runner_file_read_all (fd, content, FILE_MAX);
  close (fd);
  *length = got > 0 ? (size_t) got : 0;
  self->bytes += *length;
  if (status->st_size > (off_t) FILE_MAX)
    *length += (size_t) snprintf (content + *length, 64, "%lld %lld",
                                  (long long) status->st_size,
                                  (long long) nanoseconds (status->st_mtim));
  return content;
}

typedef struct {
  Walk         *walk;
  const Folder *folder; /* that the configuration lies in */
  unsigned int  depth;
} Leads;

/* (owned, malloc) @path, as it stands in a configuration that lies in @folder, below its root;
 * NULL: it leads elsewhere. */
static char *
resolve (Walk         *self,
         const Folder *folder,
         const char   *path,
         bool          from_above,
         size_t       *root)
{
  const char *below;
  char *from;
  char *slash;

  *root = folder->root;
  if (*path == '/')
    return ow_runner_path_choose (self->roots, path, root, &below)
           ? ow_runner_path_relative (below) : NULL;
  if (*path == '~' || *path == '%' || *path == '\0')
    return NULL;
  /* Hooks lie relative to where they run: the folder that .git is in. */
  from = ow_runner_buffer_copy (folder->below, strlen (folder->below));
  slash = strrchr (from, '/');
  if (from_above && strcmp (slash == NULL ? from : slash + 1, ".git") == 0)
    *(slash == NULL ? from : slash) = '\0';
  below = path;
  for (;;)
    {
      const char *part;
      size_t length = ow_runner_descent_component (&below, &part);
      char *joined;

      if (length == 0)
        return from;
      if (length == 2 && memcmp (part, "..", 2) == 0)
        {
          slash = strrchr (from, '/');
          if (*from == '\0')
            {
              free (from);
              return NULL;
            }
          *(slash == NULL ? from : slash) = '\0';
          continue;
        }
      {
        char *copy = ow_runner_buffer_copy (part, length);

        joined = ow_runner_descent_join (from, copy);
        free (copy);
      }
      free (from);
      from = joined;
    }
}

static void found_path (Walk               *self,
                        size_t              root,
                        const char         *below,
                        OwRunnerSettingKind kind,
                        const Folder       *git,
                        unsigned int        depth);

static void
lead_to (const Leads *leads,
         const char  *path,
         bool         from_above,
         bool         is_hooks)
{
  size_t root;
  char *below;

  /* A configuration can name as many as it likes, each of them a file to be read. */
  leads->walk->names++;
  if (is_over (leads->walk))
    return;
  below = resolve (leads->walk, leads->folder, path, from_above, &root);
  if (below == NULL)
    return;
  if (strcmp (below, ".") == 0)
    *below = '\0';
  if (is_hooks)
    {
      queue (leads->walk, root, below, leads->folder->depth + 1, PLAIN,
             OW_RUNNER_SETTING_GIT_HOOK);
      return;
    }
  if (leads->depth < 5)
    found_path (leads->walk, root, below, OW_RUNNER_SETTING_GIT_CONFIG, leads->folder,
                leads->depth + 1);
  free (below);
}

static void
on_git_path (const char *path,
             bool        is_hooks,
             void       *user_data)
{
  lead_to (user_data, path, is_hooks, is_hooks);
}

static bool
is_there (const OwRunnerSettings *settings,
          const char             *path,
          OwRunnerSettingKind     kind)
{
  for (size_t i = settings->n; i > 0; i--)
    {
      if (settings->list[i - 1].kind == kind && strcmp (settings->list[i - 1].path, path) == 0)
        return true;
    }
  return false;
}

/* What is at @below itself. @link (owned, malloc) (nullable): what it holds where it is a link. */
static bool
look_at_path (const Walk  *self,
              size_t       root,
              const char  *below,
              struct stat *status,
              char       **link)
{
  int fd = ow_runner_descent_open (self->roots->fds[root], below,
                                   O_PATH | O_NOFOLLOW | O_CLOEXEC);
  char text[OW_RUNNER_PATH_MAX];
  ssize_t got;
  bool found = fd >= 0 && fstat (fd, status) == 0;

  *link = NULL;
  if (found && S_ISLNK (status->st_mode))
    {
      got = readlinkat (fd, "", text, sizeof text);
      *link = ow_runner_buffer_copy (text, got > 0 ? (size_t) got : 0);
    }
  if (fd >= 0)
    close (fd);
  return found;
}

/* Takes @content and gives what of it counts; NULL: nothing of the file does. */
static char *
choose_content (const char         *below,
                OwRunnerSettingKind kind,
                char               *content,
                size_t             *length)
{
  const char *slash = strrchr (below, '/');
  const char *name = slash == NULL ? below : slash + 1;
  char *scripts;

  if (content == NULL || kind != OW_RUNNER_SETTING_PACKAGE ||
      (strcasecmp (name, "package.json") != 0 && strcasecmp (name, "composer.json") != 0))
    return content;
  scripts = ow_runner_setting_scripts (content, *length);
  free (content);
  *length = scripts == NULL ? 0 : strlen (scripts);
  return scripts;
}

/* A link counts with what it holds, wherever that leads. */
static void
set_hash (OwRunnerSetting *setting,
          const char      *content,
          size_t           length,
          const char      *link)
{
  size_t more = link == NULL ? 0 : strlen (link) + 1;
  char *both;

  if (link == NULL && content == NULL)
    return;
  both = ow_runner_buffer_alloc (length + more + 1);
  if (content != NULL)
    memcpy (both, content, length);
  if (link != NULL)
    memcpy (both + length, link, more);
  ow_runner_keep_hash (both, length + more, setting->hash);
  free (both);
}

static bool
is_known (Walk               *self,
          size_t              root,
          const char         *below,
          OwRunnerSettingKind kind)
{
  char *path = absolute (self, root, below);
  bool known = is_there (self->settings, path, kind);

  free (path);
  return known;
}

static void
found_path (Walk               *self,
            size_t              root,
            const char         *below,
            OwRunnerSettingKind kind,
            const Folder       *git,
            unsigned int        depth)
{
  struct stat status;
  struct stat target;
  OwRunnerSetting *setting;
  size_t length = 0;
  char *content;
  char *link;
  bool read;

  /* Only what a configuration leads to can be met twice. */
  if ((depth > 0 && is_known (self, root, below, kind)) ||
      !look_at_path (self, root, below, &status, &link))
    return;
  content = read_content (self, root, below, &length, &target);
  read = content != NULL;
  content = choose_content (below, kind, content, &length);
  if (content != NULL || !read)
    {
      setting = add (self, root, below, kind, &status);
      set_hash (setting, content, length, link);
      if (content != NULL)
        {
          setting->executable = (target.st_mode & 0111) != 0;
          if (nanoseconds (target.st_ctim) > setting->ctime)
            setting->ctime = nanoseconds (target.st_ctim);
        }
    }
  if (content != NULL && kind == OW_RUNNER_SETTING_GIT_CONFIG && git != NULL)
    {
      Leads leads = { .walk = self, .folder = git, .depth = depth };

      ow_runner_setting_git_paths (content, length, on_git_path, &leads);
    }
  free (content);
  free (link);
}

static void
found_file (Walk               *self,
            const Folder       *folder,
            const char         *name,
            OwRunnerSettingKind kind)
{
  char *below = ow_runner_descent_join (folder->below, name);

  found_path (self, folder->root, below, kind, folder, 0);
  free (below);
}

/* --- one folder --- */

/* Both the link and what lies where it leads. */
static void
found_hooks_link (Walk         *self,
                  const Folder *folder)
{
  char *below = ow_runner_descent_join (folder->below, "hooks");
  int fd = ow_runner_descent_open (self->roots->fds[folder->root], below,
                                   O_PATH | O_NOFOLLOW | O_CLOEXEC);
  char target[OW_RUNNER_PATH_MAX + 1];
  ssize_t got = fd < 0 ? -1 : readlinkat (fd, "", target, OW_RUNNER_PATH_MAX);
  Leads leads = { .walk = self, .folder = folder };

  if (fd >= 0)
    close (fd);
  free (below);
  found_file (self, folder, "hooks", OW_RUNNER_SETTING_GIT_HOOK);
  if (got <= 0)
    return;
  target[got] = '\0';
  lead_to (&leads, target, false, true);
}

static void
found_in_git (Walk         *self,
              const Folder *folder,
              const char   *name,
              bool          is_folder)
{
  static const char *const configs[] = {
    "config", "config.worktree", "commondir", "gitdir"
  };

  if (!is_folder)
    {
      for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
        {
          if (strcmp (name, configs[i]) == 0)
            found_file (self, folder, name, OW_RUNNER_SETTING_GIT_CONFIG);
        }
      if (strcmp (name, "hooks") == 0)
        found_hooks_link (self, folder);
    }
  else if (strcmp (name, "hooks") == 0)
    queue (self, folder->root, ow_runner_descent_join (folder->below, name), folder->depth + 1,
           PLAIN, OW_RUNNER_SETTING_GIT_HOOK);
  else if (strcmp (name, "modules") == 0)
    queue (self, folder->root, ow_runner_descent_join (folder->below, name), folder->depth + 1,
           PLAIN, OW_RUNNER_SETTING_NONE);
  else if (strcmp (name, "worktrees") == 0)
    queue (self, folder->root, ow_runner_descent_join (folder->below, name), folder->depth + 1,
           WORKTREES, OW_RUNNER_SETTING_NONE);
}

static void
found_folder (Walk         *self,
              const Folder *folder,
              const char   *name)
{
  char *below = ow_runner_descent_join (folder->below, name);
  OwRunnerSettingKind kind = folder->kind;

  if (folder->manner == WORKTREES)
    {
      queue (self, folder->root, below, folder->depth + 1, GIT, OW_RUNNER_SETTING_NONE);
      return;
    }
  if (strcasecmp (name, ".git") == 0)
    {
      found_file (self, folder, name, OW_RUNNER_SETTING_GIT_REPOSITORY);
      queue (self, folder->root, below, folder->depth + 1, GIT, OW_RUNNER_SETTING_NONE);
      return;
    }
  if (kind == OW_RUNNER_SETTING_NONE)
    {
      char *path = absolute (self, folder->root, below);

      kind = ow_runner_setting_of_folder (path);
      free (path);
    }
  queue (self, folder->root, below, folder->depth + 1, PLAIN, kind);
}

/* The last component of the folder's path. */
static const char *
name_of (const Walk   *self,
         const Folder *folder)
{
  const char *path = *folder->below == '\0' ? self->roots->folders[folder->root] : folder->below;
  const char *slash = strrchr (path, '/');

  return slash == NULL ? path : slash + 1;
}

static void
found (Walk         *self,
       const Folder *folder,
       const char   *name,
       bool          is_folder)
{
  OwRunnerSettingKind kind;

  if (folder->manner == GIT)
    {
      found_in_git (self, folder, name, is_folder);
      return;
    }
  if (is_folder)
    {
      found_folder (self, folder, name);
      return;
    }
  if (folder->manner != PLAIN)
    return;
  if (strcasecmp (name, ".git") == 0)
    {
      found_file (self, folder, name, OW_RUNNER_SETTING_GIT_REPOSITORY);
      return;
    }
  kind = ow_runner_setting_of_file (name_of (self, folder), name, folder->kind);
  if (kind != OW_RUNNER_SETTING_NONE)
    found_file (self, folder, name, kind);
}

static void
note_sign (Signs      *signs,
           const char *name,
           bool        is_folder)
{
  signs->head |= !is_folder && strcmp (name, "HEAD") == 0;
  signs->common |= !is_folder && strcmp (name, "commondir") == 0;
  signs->objects |= is_folder && strcmp (name, "objects") == 0;
  signs->refs |= is_folder && strcmp (name, "refs") == 0;
}

static bool
is_folder_entry (DIR                 *directory,
                 const struct dirent *entry)
{
  struct stat status;

  if (entry->d_type != DT_UNKNOWN)
    return entry->d_type == DT_DIR;
  return fstatat (dirfd (directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR (status.st_mode);
}

/* A repository without a folder .git around it: git takes it for one all the same. */
static void
look_as_git (Walk   *self,
             Folder *folder,
             DIR    *directory)
{
  const struct dirent *entry;

  folder->manner = GIT;
  found_path (self, folder->root, *folder->below == '\0' ? "." : folder->below,
              OW_RUNNER_SETTING_GIT_REPOSITORY, NULL, 0);
  rewinddir (directory);
  while (!self->stopped && (entry = readdir (directory)) != NULL)
    found_in_git (self, folder, entry->d_name, is_folder_entry (directory, entry));
}

static void
look (Walk   *self,
      Folder  folder)
{
  Signs signs = { 0 };
  const struct dirent *entry;
  const char *system;
  struct stat status;
  DIR *directory;
  int fd = ow_runner_descent_plain (self->roots->fds[folder.root],
                                    *folder.below == '\0' ? "." : folder.below,
                                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (fd < 0 || fstat (fd, &status) < 0 ||
      (status.st_dev != self->devices[folder.root] && ow_runner_file_is_made_up (fd, &system)))
    {
      if (fd >= 0)
        close (fd);
      return;
    }
  directory = fdopendir (fd);
  if (directory == NULL)
    {
      close (fd);
      return;
    }
  while (!is_over (self) && (entry = readdir (directory)) != NULL)
    {
      bool is_folder;

      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
        continue;
      self->names++;
      is_folder = is_folder_entry (directory, entry);
      note_sign (&signs, entry->d_name, is_folder);
      found (self, &folder, entry->d_name, is_folder);
    }
  if (folder.manner == PLAIN && signs.head && ((signs.objects && signs.refs) || signs.common))
    look_as_git (self, &folder, directory);
  closedir (directory);
}

/* What the path of a folder says of all that is below it. */
static OwRunnerSettingKind
kind_of_root (const char *folder)
{
  OwRunnerSettingKind kind = OW_RUNNER_SETTING_NONE;
  char *path = ow_runner_buffer_copy (folder, strlen (folder));

  while (kind == OW_RUNNER_SETTING_NONE && *path != '\0')
    {
      char *slash = strrchr (path, '/');

      kind = ow_runner_setting_of_folder (path);
      *(slash == NULL ? path : slash) = '\0';
    }
  free (path);
  return kind;
}

static int
compare (const void *one,
         const void *other)
{
  const OwRunnerSetting *a = one;
  const OwRunnerSetting *b = other;
  int order = strcmp (a->path, b->path);

  return order != 0 ? order : (int) a->kind - (int) b->kind;
}

/* In order, and each path once: where several rules take one file the first one counts. */
static void
put_in_order (OwRunnerSettings *self)
{
  size_t n = 0;

  if (self->n > 1)
    qsort (self->list, self->n, sizeof *self->list, compare);
  for (size_t i = 0; i < self->n; i++)
    {
      if (n > 0 && strcmp (self->list[i].path, self->list[n - 1].path) == 0)
        free (self->list[i].path);
      else
        self->list[n++] = self->list[i];
    }
  self->n = n;
}

void
ow_runner_settings_take (OwRunnerSettings      *self,
                         const OwRunnerRoots   *roots,
                         OwRunnerSettingsBounds bounds)
{
  Walk walk = { .settings = self, .roots = roots, .bounds = bounds };

  *self = (OwRunnerSettings) { 0 };
  walk.wall_end = clock_now (CLOCK_MONOTONIC) + (int64_t) bounds.wall_ms * 1000000;
  walk.cpu_end = clock_now (CLOCK_PROCESS_CPUTIME_ID) + (int64_t) bounds.cpu_ms * 1000000;
  walk.devices = ow_runner_buffer_alloc (roots->n * sizeof *walk.devices);
  for (size_t i = 0; i < roots->n; i++)
    {
      struct stat status = { 0 };

      fstat (roots->fds[i], &status);
      walk.devices[i] = status.st_dev;
      if (!roots->read_only[i])
        queue (&walk, i, ow_runner_buffer_copy ("", 0), 0, PLAIN,
               kind_of_root (roots->folders[i]));
    }
  for (; walk.at < walk.n; walk.at++)
    {
      if (!walk.stopped)
        look (&walk, walk.folders[walk.at]);
      free (walk.folders[walk.at].below);
    }
  free (walk.folders);
  free (walk.devices);
  self->whole = !walk.stopped;
  put_in_order (self);
}

void
ow_runner_settings_clear (OwRunnerSettings *self)
{
  for (size_t i = 0; i < self->n; i++)
    free (self->list[i].path);
  free (self->list);
  *self = (OwRunnerSettings) { 0 };
}
