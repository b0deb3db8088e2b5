/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-bubblewrap-launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-fd.h"

/* Above what a child has by itself, below any usual limit. */
#define FIRST_NUMBER 200
#define MAX_NUMBERS  512

/* bwrap needs /tmp itself, so it is there. */
#define SCRATCH "/tmp"

typedef struct {
  int      fd;       /* (owned) ours */
  int      number;   /* the child's */
  gboolean mounted;  /* a detached mount, to be put at @path */
  gboolean kept;     /* the program gets its number, opened again at @path */
  gboolean is_dir;
  dev_t    dev;
  ino_t    ino;
  char    *path;     /* (owned) (nullable) */
} Handed;

struct _OwBubblewrapLaunch {
  gboolean as_root;
  uid_t    uid;
  gid_t    gid;
  GArray  *handed;   /* Handed */
  int     *fds;      /* (owned) for OwProcessOptions */
  int     *numbers;  /* (owned) */
};

static void
clear_handed (gpointer data)
{
  Handed *handed = data;

  if (handed->fd >= 0)
    close (handed->fd);
  g_free (handed->path);
}

OwBubblewrapLaunch *
ow_bubblewrap_launch_new (uid_t uid,
                          gid_t gid)
{
  OwBubblewrapLaunch *self = g_new0 (OwBubblewrapLaunch, 1);

  self->as_root = geteuid () == 0;
  self->uid = uid;
  self->gid = gid;
  self->handed = g_array_new (FALSE, TRUE, sizeof (Handed));
  g_array_set_clear_func (self->handed, clear_handed);
  return self;
}

void
ow_bubblewrap_launch_free (OwBubblewrapLaunch *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->handed);
  g_free (self->fds);
  g_free (self->numbers);
  g_free (self);
}

static int
fail (const char *what,
      int         code,
      GError    **error)
{
  if (code == EPERM)
    ow_error_setf (error, OW_ERROR_REFUSED,
                   "Run OpenWorker as an ordinary account, or outside the container or user "
                   "namespace that it is in.",
                   "Sessions on this machine are refused: root may not mount here (%s)", what);
  else
    ow_error_setf (error, OW_ERROR_FAILED, NULL, "The sandbox cannot be prepared: %s: %s", what,
                   g_strerror (code));
  return -1;
}

/* Takes @fd, also when it fails. */
static int
add_handed (OwBubblewrapLaunch *self,
            int                 fd,
            gboolean            mounted,
            gboolean            kept,
            GError            **error)
{
  Handed handed = { .fd = fd, .mounted = mounted, .kept = kept };
  struct stat st;

  if (self->handed->len >= MAX_NUMBERS || fstat (fd, &st) != 0)
    {
      int code = self->handed->len >= MAX_NUMBERS ? EMFILE : errno;

      close (fd);
      return fail ("a descriptor cannot be handed on", code, error);
    }
  handed.number = FIRST_NUMBER + (int) self->handed->len;
  handed.is_dir = S_ISDIR (st.st_mode);
  handed.dev = st.st_dev;
  handed.ino = st.st_ino;
  if (mounted)
    handed.path = g_strdup_printf (SCRATCH "/%d", handed.number);
  g_array_append_val (self->handed, handed);
  return handed.number;
}

int
ow_bubblewrap_launch_hand_fd (OwBubblewrapLaunch *self,
                              int                 fd,
                              GError            **error)
{
  int copy = fcntl (fd, F_DUPFD_CLOEXEC, 3);

  return copy < 0 ? fail ("a descriptor cannot be duplicated", errno, error)
                  : add_handed (self, copy, FALSE, TRUE, error);
}

int
ow_bubblewrap_launch_hand_data (OwBubblewrapLaunch *self,
                                const void         *data,
                                gsize               length,
                                GError            **error)
{
  int fd = memfd_create ("ow-data", MFD_CLOEXEC | MFD_ALLOW_SEALING);

  if (fd < 0)
    return fail ("no memory file", errno, error);
  if (!ow_fd_write_all (fd, data, length) || lseek (fd, 0, SEEK_SET) != 0 ||
      fcntl (fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    {
      int code = errno;

      close (fd);
      return fail ("a memory file cannot be written", code, error);
    }
  return add_handed (self, fd, FALSE, TRUE, error);
}

/* As root the mount is made from the descriptor itself, here, where it is valid: no
 * path is looked up a second time. */
static int
add_mount (OwBubblewrapLaunch *self,
           int                 fd,
           gboolean            kept,
           GError            **error)
{
  struct stat before;
  struct stat after;
  int tree;

  tree = (int) syscall (SYS_open_tree, fd, "",
                        AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (tree < 0)
    return fail ("a folder cannot be mounted", errno, error);
  if (fstat (fd, &before) != 0 || fstat (tree, &after) != 0 || before.st_dev != after.st_dev ||
      before.st_ino != after.st_ino)
    {
      close (tree);
      return fail ("a folder is another one when mounted", ESTALE, error);
    }
  return add_handed (self, tree, TRUE, kept, error);
}

int
ow_bubblewrap_launch_hand_place (OwBubblewrapLaunch *self,
                                 int                 fd,
                                 GError            **error)
{
  return self->as_root ? add_mount (self, fd, TRUE, error)
                       : ow_bubblewrap_launch_hand_fd (self, fd, error);
}

int
ow_bubblewrap_launch_hand_path (OwBubblewrapLaunch *self,
                                const char         *path,
                                GError            **error)
{
  int fd = open (path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  int number;

  if (fd < 0)
    return fail (path, errno, error);
  number = ow_bubblewrap_launch_hand_place (self, fd, error);
  close (fd);
  return number;
}

char *
ow_bubblewrap_launch_reach_path (OwBubblewrapLaunch *self,
                                 const char         *path,
                                 GError            **error)
{
  int number;
  int fd;

  if (!self->as_root)
    return g_strdup (path);
  fd = open (path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    {
      fail (path, errno, error);
      return NULL;
    }
  number = add_mount (self, fd, FALSE, error);
  close (fd);
  return number < 0 ? NULL : g_strdup_printf (SCRATCH "/%d", number);
}

/* From here to exec: async-signal-safe calls only. */
static void
stop_child (const char *what)
{
  static const char before[] = OW_BUBBLEWRAP_LAUNCH_FAULT;
  int code = errno;
  char number[] = " (error 000)\n";

  number[8] = (char) ('0' + code / 100 % 10);
  number[9] = (char) ('0' + code / 10 % 10);
  number[10] = (char) ('0' + code % 10);
  if (write (STDERR_FILENO, before, sizeof before - 1) > 0 &&
      write (STDERR_FILENO, what, strlen (what)) > 0 &&
      write (STDERR_FILENO, number, sizeof number - 1) > 0)
    _exit (126);
  _exit (127);
}

static void
mount_handed (const Handed *handed)
{
  struct stat st;
  int fd;

  if (handed->is_dir)
    {
      if (mkdir (handed->path, 0755) != 0)
        stop_child ("mkdir");
    }
  else
    {
      fd = open (handed->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
      if (fd < 0 || close (fd) != 0)
        stop_child ("create");
    }
  if (syscall (SYS_move_mount, handed->number, "", AT_FDCWD, handed->path,
               MOVE_MOUNT_F_EMPTY_PATH) != 0)
    stop_child ("move_mount");
  fd = open (handed->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat (fd, &st) != 0 || st.st_dev != handed->dev || st.st_ino != handed->ino)
    stop_child ("identity");
  if (!handed->kept)
    {
      if (close (fd) != 0 || close (handed->number) != 0)
        stop_child ("close");
      return;
    }
  /* Without close-on-exec: bwrap binds from this number. */
  if (dup2 (fd, handed->number) != handed->number || close (fd) != 0)
    stop_child ("dup2");
}

/* An inside that is uid 0 owns the device files of the machine: on a mount that can be
 * written it could change their modes for everybody. bwrap keeps the flag when it binds
 * them, and devices can be written through a read-only mount. */
static void
guard_devices (void)
{
  static const char * const paths[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
  };
  struct mount_attr attributes = { .attr_set = MOUNT_ATTR_RDONLY };
  struct stat st;
  int fd;

  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      /* One that is not there is not bound either. */
      if (access (paths[i], F_OK) != 0)
        continue;
      if (mount (paths[i], paths[i], NULL, MS_BIND, NULL) != 0)
        stop_child ("mount device");
      if (syscall (SYS_mount_setattr, AT_FDCWD, paths[i], 0, &attributes,
                   sizeof attributes) != 0)
        stop_child ("mount_setattr");
    }
  /* A descriptor keeps the mount that it was opened on, and the inside gets this one. */
  if (fstat (STDIN_FILENO, &st) != 0 || !S_ISCHR (st.st_mode))
    return;
  fd = open ("/dev/null", O_RDONLY | O_CLOEXEC);
  if (fd < 0 || dup2 (fd, STDIN_FILENO) != STDIN_FILENO || close (fd) != 0)
    stop_child ("stdin");
}

static void
set_up_mounts (const OwBubblewrapLaunch *self)
{
  mode_t mask = umask (0022);

  if (unshare (CLONE_NEWNS) != 0)
    stop_child ("unshare");
  if (mount (NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
    stop_child ("mount slave");
  guard_devices ();
  if (mount ("tmpfs", SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") != 0)
    stop_child ("mount tmpfs");
  for (guint i = 0; i < self->handed->len; i++)
    {
      const Handed *handed = &g_array_index (self->handed, Handed, i);

      if (handed->mounted)
        mount_handed (handed);
    }
  umask (mask);
}

static void
set_up_child (gpointer user_data)
{
  const OwBubblewrapLaunch *self = user_data;

  set_up_mounts (self);
  /* Not the functions of libc: these first tell all threads, under a lock. Root of a user
   * namespace may be forbidden to give up its groups; where it stays itself it is then no more
   * than the ordinary account that keeps its own. */
  if ((syscall (SYS_setgroups, 0, NULL) != 0 && (errno != EPERM || self->uid != 0)) ||
      syscall (SYS_setresgid, self->gid, self->gid, self->gid) != 0 ||
      syscall (SYS_setresuid, self->uid, self->uid, self->uid) != 0)
    stop_child ("becoming the folder's owner");
  if (self->uid != 0 && (getuid () == 0 || geteuid () == 0 ||
                         syscall (SYS_setresuid, 0, 0, 0) == 0))
    stop_child ("root was kept");
}

void
ow_bubblewrap_launch_apply (OwBubblewrapLaunch *self,
                            OwProcessOptions   *options)
{
  guint n = self->handed->len;

  g_free (self->fds);
  g_free (self->numbers);
  self->fds = g_new (int, n + 1);
  self->numbers = g_new (int, n + 1);
  for (guint i = 0; i < n; i++)
    {
      const Handed *handed = &g_array_index (self->handed, Handed, i);

      self->fds[i] = handed->fd;
      self->numbers[i] = handed->number;
    }
  options->fds = self->fds;
  options->target_fds = self->numbers;
  options->n_fds = n;
  if (self->as_root)
    {
      options->child_setup = set_up_child;
      options->child_setup_data = self;
    }
}
