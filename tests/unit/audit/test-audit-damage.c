/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* A full disk, a power loss, two writers: what the record has to survive (REQ-E02). The test
 * program has its own fsync and fdatasync, which count and can fail. */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit-fixture.h"
#include "base/ow-error.h"

#define SKIPPED 77

static struct {
  guint dirs;       /* directories synced */
  guint files;      /* regular files synced */
  off_t size;       /* of the file that was synced last */
  int   fail_with;  /* errno of the next calls; 0: succeed */
} syncs;

static int
count_sync (int fd)
{
  struct stat st;

  if (fstat (fd, &st) == 0 && S_ISDIR (st.st_mode))
    syncs.dirs++;
  else
    {
      syncs.files++;
      syncs.size = st.st_size;
    }
  if (syncs.fail_with == 0)
    return 0;
  errno = syncs.fail_with;
  return -1;
}

int
fsync (int fd)
{
  return count_sync (fd);
}

int
fdatasync (int fd)
{
  return count_sync (fd);
}

/* Runs @func in a child, because it changes limits or mounts. */
static int
run_in_child (int        (*func)(const char *path),
              const char  *path)
{
  int status;
  pid_t pid = fork ();

  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    _exit (func (path));
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

static off_t
size_of (const char *path)
{
  struct stat st;

  return stat (path, &st) == 0 ? st.st_size : -1;
}

static gboolean
limit_file_size (rlim_t bytes)
{
  struct rlimit limit;

  if (getrlimit (RLIMIT_FSIZE, &limit) < 0)
    return FALSE;
  limit.rlim_cur = MIN (bytes, limit.rlim_max);
  return setrlimit (RLIMIT_FSIZE, &limit) == 0;
}

/* The write ends after every possible number of bytes of the line. */
static int
write_short (const char *path)
{
  g_autoptr (OwAudit) audit = ow_audit_open (path, NULL);
  g_autoptr (OwEvent) event = make_started ("c9");
  off_t before, line;

  signal (SIGXFSZ, SIG_IGN);
  before = size_of (path);
  if (!ow_audit_append (audit, event, FALSE, NULL))
    return 1;
  line = size_of (path) - before;
  before += line;
  for (off_t room = 0; room < line; room++)
    {
      g_autoptr (GError) error = NULL;

      if (!limit_file_size ((rlim_t) (before + room)))
        return SKIPPED;
      if (ow_audit_append (audit, event, TRUE, &error))
        return 2;
      if (strstr (error->message, "disk is full") == NULL)
        return 3;
      if (size_of (path) != before)
        return 4;
      if (!is_clean (path, 4))
        return 5;
    }
  if (!limit_file_size (RLIM_INFINITY) || !ow_audit_append (audit, event, TRUE, NULL))
    return 6;
  return is_clean (path, 5) ? 0 : 7;
}

static void
test_short_write (Fixture       *f,
                  gconstpointer  data)
{
  int status;

  append_some (f->path, 3);
  status = run_in_child (write_short, f->path);
  if (status == SKIPPED)
    g_test_skip ("no file size limits here");
  else
    g_assert_cmpint (status, ==, 0);
}

static gboolean
fill (const char *path)
{
  static const char block[4096];
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ssize_t n;

  do
    n = write (fd, block, sizeof block);
  while (n > 0);
  close (fd);
  return n < 0 && errno == ENOSPC;
}

/* A disk of 1 MiB that gets full, and has room again. */
static int
fill_disk (const char *dir)
{
  g_autofree char *path = g_build_filename (dir, "audit.jsonl", NULL);
  g_autofree char *ballast = g_build_filename (dir, "ballast", NULL);
  g_autoptr (OwAudit) audit = NULL;
  g_autoptr (OwEvent) event = make_started ("c");
  g_autoptr (GError) error = NULL;
  guint64 n = 0;

  if (unshare (CLONE_NEWNS) < 0 || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
      mount ("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700") < 0)
    return SKIPPED;
  audit = ow_audit_open (path, NULL);
  /* The last block of the record has room: the disk ends in the middle of a line. */
  while (audit != NULL && n < 3 && ow_audit_append (audit, event, TRUE, NULL))
    n++;
  if (n != 3 || !fill (ballast))
    return 1;
  while (n < 100 && ow_audit_append (audit, event, TRUE, &error))
    n++;
  if (error == NULL || strstr (error->message, "disk is full") == NULL)
    return 2;
  for (guint i = 0; i < 3; i++)
    if (ow_audit_append (audit, event, TRUE, NULL))
      return 3;
  if (!is_clean (path, n))
    return 4;
  if (truncate (ballast, 0) < 0 || !ow_audit_append (audit, event, TRUE, NULL))
    return 5;
  return is_clean (path, n + 1) ? 0 : 6;
}

static void
test_full_disk (Fixture       *f,
                gconstpointer  data)
{
  int status = run_in_child (fill_disk, f->dir);

  if (status == SKIPPED)
    g_test_skip ("no file system can be mounted by this user");
  else
    g_assert_cmpint (status, ==, 0);
}

/* On disk: the name when the file is new, the line before a synced append returns. */
static void
test_synced (Fixture       *f,
             gconstpointer  data)
{
  g_autoptr (OwAudit) audit = NULL;
  g_autoptr (OwEvent) event = make_started ("c");
  g_autoptr (GError) error = NULL;
  guint files;

  memset (&syncs, 0, sizeof syncs);
  audit = ow_audit_open (f->path, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (syncs.dirs, >=, 1);

  files = syncs.files;
  g_assert_true (ow_audit_append (audit, event, FALSE, NULL));
  g_assert_cmpuint (syncs.files, ==, files);
  g_assert_true (ow_audit_append (audit, event, TRUE, NULL));
  g_assert_cmpuint (syncs.files, ==, files + 1);
  g_assert_cmpint (syncs.size, ==, size_of (f->path));
  g_assert_true (ow_audit_append (audit, event, FALSE, NULL));
  g_assert_true (ow_audit_sync (audit, NULL));
  g_assert_true (ow_audit_sync (audit, NULL));
  g_assert_cmpuint (syncs.files, ==, files + 2);

  syncs.fail_with = EIO;
  g_assert_false (ow_audit_append (audit, event, TRUE, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_false (ow_audit_sync (audit, NULL));
  g_assert_null (ow_audit_open (f->path, NULL));
  syncs.fail_with = 0;
  g_assert_true (ow_audit_sync (audit, NULL));
}

static void
put (const char *path,
     const char *text,
     gsize       length)
{
  g_assert_true (g_file_set_contents (path, text, (gssize) length, NULL));
}

/* The file ends at any byte of the last line: the lines before stay, one damaged line
 * is counted, and the next record stands on a line of its own. */
static void
test_torn_end (Fixture       *f,
               gconstpointer  data)
{
  g_autofree char *text = NULL;
  gsize length, last;

  append_some (f->path, 3);
  g_assert_true (g_file_get_contents (f->path, &text, &length, NULL));
  last = (gsize) ((char *) memrchr (text, '\n', length - 1) - text) + 1;
  for (gsize n = last; n < length; n++)
    {
      gboolean whole = n + 1 == length;
      gboolean none = n == last;
      g_autoptr (OwAuditReport) report = NULL;

      put (f->path, text, n);
      append_some (f->path, 1);
      report = verify (f->path);
      g_assert_cmpuint (report->n_records, ==, whole ? 4 : 3);
      g_assert_cmpuint (report->n_damaged, ==, whole || none ? 0 : 1);
      g_assert_cmpuint (report->n_broken, ==, 0);
      g_assert_cmpuint (report->first_bad_line, ==, whole || none ? 0 : 3);
    }
}

/* NULs over every span of the middle line, with and without its newline, never hide
 * the line before or after. */
static void
test_nuls (Fixture       *f,
           gconstpointer  data)
{
  g_autofree char *text = NULL;
  gsize length, begin, end;

  append_some (f->path, 3);
  g_assert_true (g_file_get_contents (f->path, &text, &length, NULL));
  begin = (gsize) (strchr (text, '\n') - text) + 1;
  end = (gsize) (strchr (text + begin, '\n') - text) + 1;
  for (gsize from = begin; from < end; from += 7)
    for (gsize to = from + 1; to <= end; to += MIN (11, end - to) + (to == end))
      {
        g_autofree char *damaged = g_memdup2 (text, length);
        g_autoptr (OwAuditReport) report = NULL;

        memset (damaged + from, 0, to - from);
        put (f->path, damaged, length);
        report = verify (f->path);
        g_assert_cmpuint (report->n_records, ==, 2);
        g_assert_cmpuint (report->n_damaged, ==, 1);
        /* The third names a record that is not there any more. */
        g_assert_cmpuint (report->n_broken, ==, 1);
        g_assert_cmpuint (report->first_bad_line, ==, 2);
        g_assert_cmpuint (report->open_calls->len, ==, 2);
      }
}

static void
test_nul_end (Fixture       *f,
              gconstpointer  data)
{
  static const gsize runs[] = { 1, 100, 4096, 65535, 65536, 65537, 200000 };

  for (gsize i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      g_autofree char *nuls = g_malloc0 (runs[i]);
      g_autofree char *text = NULL;
      g_autoptr (OwAuditReport) report = NULL;
      gsize length;
      FILE *file;

      g_unlink (f->path);
      append_some (f->path, 2);
      file = fopen (f->path, "a");
      g_assert_cmpuint (fwrite (nuls, 1, runs[i], file), ==, runs[i]);
      g_assert_cmpint (fclose (file), ==, 0);
      append_some (f->path, 2);
      report = verify (f->path);
      g_assert_cmpuint (report->n_records, ==, 4);
      g_assert_cmpuint (report->n_damaged, ==, 1);
      g_assert_cmpuint (report->n_broken, ==, 0);
      g_assert_cmpuint (report->first_bad_line, ==, 3);
      /* What was there is still there, byte for byte. */
      g_assert_true (g_file_get_contents (f->path, &text, &length, NULL));
      g_assert_nonnull (memmem (text, length, nuls, runs[i]));
    }
}

static void
test_only_damage (Fixture       *f,
                  gconstpointer  data)
{
  static const struct {
    const char *text;
    gsize       length;
    guint64     damaged;
  } rows[] = {
    { "", 0, 0 },
    { "\0\0\0\0", 4, 1 },
    { "\n", 1, 1 },
    { "x", 1, 1 },
    { "{\"n\":1}\n", 8, 1 },
    { "{\"n\":{\"n\":{\"n\":", 15, 1 },
    { "null\n[]\n", 8, 2 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (OwAuditReport) report = NULL;

      put (f->path, rows[i].text, rows[i].length);
      append_some (f->path, 2);
      report = verify (f->path);
      g_assert_cmpuint (report->n_records, ==, 2);
      g_assert_cmpuint (report->n_damaged, ==, rows[i].damaged);
      g_assert_cmpuint (report->n_broken, ==, 0);
    }
}

/* A line longer than the first look back at the end. */
static void
test_long_line (Fixture       *f,
                gconstpointer  data)
{
  g_autofree char *content = g_strnfill (300000, 'z');
  g_autoptr (OwAudit) audit = ow_audit_open (f->path, NULL);
  g_autoptr (OwEvent) event = NULL;

  append_some (f->path, 2);
  event = ow_event_new (OW_EVENT_TOOL_STARTED, "s",
                        json_pack ("{s:s, s:s, s:{s:s}, s:s, s:s}", "call", "w", "tool", "write",
                                   "arguments", "content", content, "level", "bubblewrap",
                                   "approval", "policy:sandboxed"));
  g_assert_true (ow_audit_append (audit, event, FALSE, NULL));
  append_some (f->path, 2);
  g_assert_true (is_clean (f->path, 5));
}

#define WRITER_RECORDS 10000

static int
write_many (const char *path)
{
  g_autoptr (OwAudit) audit = ow_audit_open (path, NULL);
  g_autoptr (OwEvent) event = make_started ("c");

  for (guint i = 0; i < WRITER_RECORDS; i++)
    if (!ow_audit_append (audit, event, FALSE, NULL))
      return 1;
  return 0;
}

static void
test_two_writers (Fixture       *f,
                  gconstpointer  data)
{
  pid_t pids[2];

  for (guint i = 0; i < G_N_ELEMENTS (pids); i++)
    {
      pids[i] = fork ();
      g_assert_cmpint (pids[i], >=, 0);
      if (pids[i] == 0)
        _exit (write_many (f->path));
    }
  for (guint i = 0; i < G_N_ELEMENTS (pids); i++)
    {
      int status;

      g_assert_cmpint (waitpid (pids[i], &status, 0), ==, pids[i]);
      g_assert_true (WIFEXITED (status));
      g_assert_cmpint (WEXITSTATUS (status), ==, 0);
    }
  g_assert_true (is_clean (f->path, G_N_ELEMENTS (pids) * WRITER_RECORDS));
}

#define ADD(path, func) \
  g_test_add (path, Fixture, NULL, fixture_set_up, func, fixture_tear_down)

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  ADD ("/audit/R01/short-write", test_short_write);
  ADD ("/audit/A38/full-disk", test_full_disk);
  ADD ("/audit/R02/synced", test_synced);
  ADD ("/audit/R02/torn-end", test_torn_end);
  ADD ("/audit/R02/nuls", test_nuls);
  ADD ("/audit/R02/nul-end", test_nul_end);
  ADD ("/audit/R02/only-damage", test_only_damage);
  ADD ("/audit/R02/long-line", test_long_line);
  ADD ("/audit/R03/two-writers", test_two_writers);

  return g_test_run ();
}
