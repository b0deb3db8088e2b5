/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files-fixture.h"
#include "ow-runner-picture-private.h"
#include "ow-runner-watcher-private.h"

static const OwRunnerPictureBounds wide = { 100000, 60000, 60000 };

static void
collect (const OwRunnerDifference *difference,
         void                     *user_data)
{
  static const char marks[] = { '+', '~', '-' };
  GString *all = user_data;

  g_string_append_printf (all, "%c%zu:%s ", marks[difference->what], difference->root,
                          difference->below);
}

/* (owned) the differences, as "+0:made ~0:changed -0:gone ". */
static char *
compare (const OwRunnerPicture *before,
         const OwRunnerPicture *after)
{
  GString *all = g_string_new (NULL);

  ow_runner_picture_compare (before, after, collect, all);
  return g_string_free (all, FALSE);
}

static OwRunnerPicture *
take (Files *files)
{
  return ow_runner_picture_take (&files->roots, wide);
}

static void
assert_since (Files           *files,
              OwRunnerPicture *before,
              const char      *expected)
{
  OwRunnerPicture *after = take (files);
  g_autofree char *found = compare (before, after);

  g_assert_cmpstr (found, ==, expected);
  ow_runner_picture_free (before);
  ow_runner_picture_free (after);
}

static void
test_what_changes (void)
{
  Files *files = files_new ();
  OwRunnerPicture *before;

  files_put (files, "work/same", "1");
  files_put (files, "work/content", "1");
  files_put (files, "work/mode", "1");
  files_put (files, "work/gone", "1");
  files_put (files, "work/from", "1");
  files_put (files, "work/d/deep/file", "1");
  files_put (files, "work/e/f/file", "1");
  files_link (files, "work/link", "same");
  files_put (files, "other/x", "1");
  before = take (files);
  g_assert_true (ow_runner_picture_is_whole (before));

  files_put (files, "work/content", "2");
  g_assert_cmpint (g_chmod (files_path (files, "work/mode"), 0600), ==, 0);
  g_assert_cmpint (g_unlink (files_path (files, "work/gone")), ==, 0);
  g_assert_cmpint (g_rename (files_path (files, "work/from"), files_path (files, "work/to")), ==,
                   0);
  g_assert_cmpint (g_rename (files_path (files, "work/e"), files_path (files, "work/g")), ==, 0);
  files_put (files, "work/d/deep/new", "1");
  g_assert_cmpint (g_unlink (files_path (files, "work/link")), ==, 0);
  files_link (files, "work/link", "content");
  files_put (files, "other/y", "1");
  assert_since (files, before,
                "~0:content -0:e -0:e/f -0:e/f/file -0:from +0:g +0:g/f +0:g/f/file -0:gone "
                "~0:link ~0:mode +0:to +2:y +0:d/deep/new ");
  files_free (files);
}

/* Of .git only that something in it changed; nothing of folders that are read-only, and
 * each of the session's folders once. */
static void
test_what_is_looked_at (void)
{
  Files *files = files_new ();
  OwRunnerPicture *before;

  files_put (files, "work/.git/HEAD", "1");
  files_put (files, "work/.git/objects/1", "1");
  files_put (files, "work/sub/.git/HEAD", "1");
  files_put (files, "work/frozen/x", "1");
  before = take (files);
  files_put (files, "work/.git/objects/2", "1");
  files_put (files, "work/.git/index", "1");
  files_put (files, "work/frozen/y", "1");
  assert_since (files, before, "~0:.git ");
  files_free (files);
}

static void
test_undo_folder (void)
{
  Files *files = files_new ();
  char error[OW_RUNNER_ERROR_SIZE];
  OwRunnerPicture *before;

  g_assert_cmpint (g_mkdir (files_path (files, "work/.undo"), 0700), ==, 0);
  g_assert_true (ow_runner_keep_open (&files->keep, files_path (files, "work/.undo"), error));
  files->roots.keep = &files->keep;
  before = take (files);
  files_put (files, "work/.undo/x", "1");
  files_put (files, "work/a", "1");
  assert_since (files, before, "+0:a ");
  files_free (files);
}

static void
test_type_changes (void)
{
  Files *files = files_new ();
  OwRunnerPicture *before;

  files_put (files, "work/a", "1");
  files_put (files, "work/b/in", "1");
  files_put (files, "work/c/in", "1");
  before = take (files);
  g_assert_cmpint (g_unlink (files_path (files, "work/a")), ==, 0);
  files_put (files, "work/a/in", "1");
  g_assert_cmpint (g_rename (files_path (files, "work/b"), files_path (files, "other/b")), ==, 0);
  files_put (files, "work/b", "1");
  g_assert_cmpint (g_rename (files_path (files, "work/c"), files_path (files, "other/c")), ==, 0);
  files_put (files, "work/c/in", "1");
  assert_since (files, before,
                "-0:a +0:a +0:a/in -0:b -0:b/in +0:b -0:c -0:c/in +0:c +0:c/in "
                "+2:b +2:b/in +2:c +2:c/in ");
  files_free (files);
}

/* What cannot be looked into is not taken for empty. */
static void
test_closed_folder (void)
{
  Files *files = files_new ();
  OwRunnerPicture *before;

  if (geteuid () == 0)
    {
      g_test_skip ("root may look into it");
      files_free (files);
      return;
    }
  files_put (files, "work/d/in", "1");
  before = take (files);
  g_assert_cmpint (g_chmod (files_path (files, "work/d"), 0), ==, 0);
  assert_since (files, before, "~0:d ");
  g_assert_cmpint (g_chmod (files_path (files, "work/d"), 0755), ==, 0);
  files_free (files);
}

/* What does not fit is what lies deepest, and is never told as gone. */
static void
test_bounds (void)
{
  Files *files = files_new ();
  OwRunnerPicture *before;
  OwRunnerPicture *after;
  g_autofree char *found = NULL;

  files_put (files, "work/top", "1");
  for (guint i = 0; i < 200; i++)
    {
      g_autofree char *path = g_strdup_printf ("work/d/e/f%03u", i);

      files_put (files, path, "1");
    }
  before = take (files);
  g_assert_true (ow_runner_picture_is_whole (before));
  files_put (files, "work/top", "2");
  g_assert_cmpint (g_unlink (files_path (files, "work/d/e/f100")), ==, 0);
  after = ow_runner_picture_take (&files->roots, (OwRunnerPictureBounds) { 100, 60000, 60000 });
  g_assert_false (ow_runner_picture_is_whole (after));
  found = compare (before, after);
  g_assert_cmpstr (found, ==, "~0:top ");
  ow_runner_picture_free (before);
  ow_runner_picture_free (after);

  after = ow_runner_picture_take (&files->roots, (OwRunnerPictureBounds) { 100000, 0, 0 });
  g_assert_true (after != NULL);
  ow_runner_picture_free (after);
  files_free (files);
}

/* A tree that somebody changes all the time is looked at all the same. */
static void
test_deep_and_odd (void)
{
  Files *files = files_new ();
  g_autoptr (GString) deep = g_string_new ("work/deep");
  OwRunnerPicture *before;

  for (guint i = 0; i < 300; i++)
    g_string_append (deep, "/d");
  g_assert_cmpint (g_mkdir_with_parents (files_path (files, "%s", deep->str), 0755), ==, 0);
  files_link (files, "work/loop", ".");
  g_assert_cmpint (mkfifo (files_path (files, "work/fifo"), 0600), ==, 0);
  before = take (files);
  files_put (files, "work/new\nline\xff", "1");
  assert_since (files, before, "+0:new\nline\xff ");
  files_free (files);
}

/* --- what is told of a command --- */

typedef struct {
  Files   *files;
  GThread *thread;
  int      fd;
  guint    number;
} Watcher;

typedef struct {
  Files *files;
  int    fd;
} Side;

static gpointer
run_watcher (gpointer data)
{
  Side *side = data;

  ow_runner_watcher_run (&side->files->roots, side->fd);
  close (side->fd);
  g_free (side);
  return NULL;
}

static gint64
wall_clock (void)
{
  struct timespec now;

  clock_gettime (CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

/* (owned) the files of the answer as "+name ~name -name? ", and how many came between. */
static char *
look (Watcher *self,
      gint64   since)
{
  OwRunnerWatcherRequest request = { OW_RUNNER_WATCHER_LOOK, ++self->number, since };
  GString *all = g_string_new (NULL);
  char text[OW_RUNNER_WATCHER_MESSAGE_MAX];
  char error[OW_WIRE_ERROR_SIZE];
  json_t *answer;
  const json_t *files;
  gssize got;

  g_assert_cmpint (send (self->fd, &request, sizeof request, 0), ==, (gssize) sizeof request);
  got = recv (self->fd, text, sizeof text, 0);
  g_assert_cmpint (got, >, 0);
  answer = ow_json_parse (text, (size_t) got, error);
  g_assert_nonnull (answer);
  files = json_object_get (answer, "files");
  for (size_t i = 0; i < json_array_size (files); i++)
    {
      const json_t *file = json_array_get (files, i);
      g_autofree char *name = g_path_get_basename (ow_json_get_string (file, "path", ""));

      g_string_append_printf (all, "%s %s%s, ", ow_json_get_string (file, "what", ""), name,
                              ow_json_get_bool (file, "unsure", 0) ? "?" : "");
    }
  g_string_append_printf (all, "%d between", (int) ow_json_get_int (answer, "between", -1));
  json_decref (answer);
  return g_string_free (all, FALSE);
}

static void
assert_look (Watcher    *self,
             gint64      since,
             const char *expected)
{
  g_autofree char *told = look (self, since);

  g_assert_cmpstr (told, ==, expected);
}

static Watcher *
watcher_new (void)
{
  Watcher *self = g_new0 (Watcher, 1);
  Side *side = g_new0 (Side, 1);
  int fds[2];

  self->files = files_new ();
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), ==, 0);
  *side = (Side) { self->files, fds[1] };
  self->fd = fds[0];
  self->thread = g_thread_new ("watcher", run_watcher, side);
  return self;
}

static void
watcher_free (Watcher *self)
{
  close (self->fd);
  g_thread_join (self->thread);
  files_free (self->files);
  g_free (self);
}

/* More than what the kernel's stamps are apart. */
#define TICK_US 50000

static void
test_when (void)
{
  Watcher *watcher = watcher_new ();
  gint64 since;

  files_put (watcher->files, "work/gone", "1");
  assert_look (watcher, 0, "0 between");
  files_put (watcher->files, "work/d/before", "1");
  g_usleep (TICK_US);
  since = wall_clock ();
  files_put (watcher->files, "work/after", "1");
  g_assert_cmpint (g_unlink (files_path (watcher->files, "work/gone")), ==, 0);
  assert_look (watcher, since, "created after, deleted gone, 2 between");

  /* What comes with its folder has older times, and is the command's all the same. */
  files_put (watcher->files, "outside/e/old", "1");
  g_usleep (TICK_US);
  since = wall_clock ();
  g_assert_cmpint (g_rename (files_path (watcher->files, "outside/e"),
                             files_path (watcher->files, "work/e")), ==, 0);
  assert_look (watcher, since, "created e, created old, 0 between");

  /* The clock was set back while the command ran: all is told. */
  files_put (watcher->files, "work/x", "1");
  assert_look (watcher, wall_clock () + G_GINT64_CONSTANT (3600000000000),
               "created x, 0 between");
  watcher_free (watcher);
}

/* Where another clock stamps the files, when it was is not known, and that is said. */
static void
test_other_clock (void)
{
  Watcher *watcher = watcher_new ();
  gint64 since;

  ow_runner_watcher_set_trust_clocks (false);
  assert_look (watcher, 0, "0 between");
  files_put (watcher->files, "work/before", "1");
  g_usleep (TICK_US);
  since = wall_clock ();
  files_put (watcher->files, "work/later", "1");
  assert_look (watcher, since, "created before?, created later, 0 between");
  ow_runner_watcher_set_trust_clocks (true);
  watcher_free (watcher);
}

static void
test_time (void)
{
  Files *files = files_new ();
  clock_t start;
  guint n = 200;

  for (guint i = 0; i < 200; i++)
    {
      g_autofree char *path = g_strdup_printf ("work/d%u/f%u", i % 20, i);

      files_put (files, path, "1");
    }
  start = clock ();
  for (guint i = 0; i < n; i++)
    ow_runner_picture_free (take (files));
  g_test_message ("a look at 220 entries: %.3f ms of the processor",
                  (double) (clock () - start) * 1000 / CLOCKS_PER_SEC / n);
  files_free (files);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/picture/what-changes", test_what_changes);
  g_test_add_func ("/picture/what-is-looked-at", test_what_is_looked_at);
  g_test_add_func ("/picture/undo-folder", test_undo_folder);
  g_test_add_func ("/picture/type-changes", test_type_changes);
  g_test_add_func ("/picture/closed-folder", test_closed_folder);
  g_test_add_func ("/picture/bounds", test_bounds);
  g_test_add_func ("/picture/deep-and-odd", test_deep_and_odd);
  g_test_add_func ("/picture/when", test_when);
  g_test_add_func ("/picture/other-clock", test_other_clock);
  g_test_add_func ("/picture/time", test_time);
  return g_test_run ();
}
