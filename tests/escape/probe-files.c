/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* Files: what is read, written, linked to and left. */

#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#define WAIT_US 20000

static Verdict
home_read (void)
{
  return token_at (AT_FDCWD, plan_get ("home.file"));
}

static Verdict
ssh_key (void)
{
  return token_at (AT_FDCWD, plan_get ("home.ssh"));
}

static Verdict
state_read (void)
{
  return token_at (AT_FDCWD, plan_get ("state.file"));
}

static Verdict
beside_read (void)
{
  return token_at (AT_FDCWD, plan_get ("beside.file"));
}

static Verdict
tmp_read (void)
{
  return token_at (AT_FDCWD, plan_get ("tmp.file"));
}

static Verdict
home_write (void)
{
  return leave (plan_get ("home.write"));
}

static Verdict
state_write (void)
{
  return leave (plan_get ("state.write"));
}

static Verdict
beside_write (void)
{
  return leave (plan_get ("beside.write"));
}

static Verdict
tmp_write (void)
{
  return leave (plan_get ("tmp.write"));
}

static Verdict
usr_write (void)
{
  return leave (plan_get ("usr.write"));
}

static Verdict
folder_write (void)
{
  return leave (in_folder ("written"));
}

/* The machine's own number, which containers have another of or none. */
static Verdict
machine_id (void)
{
  const char *wanted = plan_get ("machine.id");
  char id[64] = "";
  int fd = open ("/etc/machine-id", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read (fd, id, sizeof id - 1);

  if (wanted == NULL)
    return VOID;
  if (n <= 0)
    return refused ("/etc/machine-id");
  if (strncmp (id, wanted, strlen (wanted)) != 0)
    {
      say ("another machine's id");
      return HELD;
    }
  say ("the machine's id was read");
  return OPEN;
}

static Verdict
link_soft (void)
{
  if (symlink (plan_get ("home.file"), in_folder ("link-soft")) < 0)
    return refused ("symlink");
  return token_at (AT_FDCWD, in_folder ("link-soft"));
}

static Verdict
link_hard (void)
{
  if (link (plan_get ("beside.file"), in_folder ("link-hard")) < 0)
    return refused ("link");
  return token_at (AT_FDCWD, in_folder ("link-hard"));
}

static Verdict
dot_dot (void)
{
  int dir = open (plan_get ("folder"), O_PATH | O_DIRECTORY | O_CLOEXEC);

  if (dir < 0)
    return refused ("the folder");
  return token_at (dir, plan_get ("beside.relative"));
}

static bool
make (const char *path)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

/* A folder in which a process stands is moved out of what is shared by somebody outside: ".." must
 * not lead on from there. */
static Verdict
moved_out (void)
{
  if (mkdir (in_folder ("moved"), 0755) < 0 || mkdir (in_folder ("moved/deep"), 0755) < 0 ||
      chdir (in_folder ("moved/deep")) < 0 || !make (in_folder ("moved-ready")))
    return refused ("a folder to be moved");
  while (access (in_folder ("moved-done"), F_OK) < 0)
    usleep (WAIT_US);
  return token_at (AT_FDCWD, "../../secret");
}

/* The shared folder's own name is given to a link to the home while the session runs. */
static Verdict
swapped (void)
{
  int dir = open (plan_get ("folder"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int ready = dir < 0 ? -1 : openat (dir, "swap-ready", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  Verdict verdict;

  if (ready < 0)
    return refused ("the folder");
  while (faccessat (dir, "swap-done", F_OK, 0) < 0)
    usleep (WAIT_US);
  verdict = token_at (AT_FDCWD, in_folder (plan_get ("home.name")));
  openat (dir, "swap-over", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  return verdict;
}

/* A program with the setuid bit that lies in the folder. */
static Verdict
setuid_run (void)
{
  const char *name = plan_get ("setuid.file");
  char said[32] = "";
  int ends[2];
  pid_t pid;

  if (name == NULL)
    return VOID;
  if (pipe (ends) < 0 || (pid = fork ()) < 0)
    return refused ("fork");
  if (pid == 0)
    {
      dup2 (ends[1], 1);
      execl (name, name, "--whoami", (char *) NULL);
      dprintf (1, "not run: %s", strerror (errno));
      _exit (1);
    }
  close (ends[1]);
  waitpid (pid, NULL, 0);
  if (read (ends[0], said, sizeof said - 1) <= 0)
    return refused ("what it said");
  said[strcspn (said, "\n")] = '\0';
  say ("ran as %s", said);
  return strcmp (said, plan_get ("setuid.uid")) == 0 ? OPEN : HELD;
}

static int
copy_self (const char *path)
{
  int fd = open (path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

  return fd < 0 || write (fd, "#!/bin/sh\nid\n", 13) != 13 ? -1 : fd;
}

/* Each call that sets a mode; and a file that has the bit from its birth and gets its contents
 * without a write. The bench looks at what lies there. */
static Verdict
setuid_left (void)
{
  int worked = 0;
  int fd = copy_self (in_folder ("setuid-left-1"));

  worked += chmod (in_folder ("setuid-left-1"), 04755) == 0;
  if (fd >= 0 && (fd = copy_self (in_folder ("setuid-left-2"))) >= 0)
    worked += fchmod (fd, 04755) == 0;
  copy_self (in_folder ("setuid-left-3"));
  worked += syscall (SYS_fchmodat, AT_FDCWD, in_folder ("setuid-left-3"), 04755) == 0;
  copy_self (in_folder ("setuid-left-4"));
  worked += syscall (SYS_fchmodat2, AT_FDCWD, in_folder ("setuid-left-4"), 04755, 0) == 0;
  fd = open (in_folder ("setuid-left-5"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 04755);
  if (fd >= 0 && posix_fallocate (fd, 0, 4096) == 0)
    {
      char *data = mmap (NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

      if (data != MAP_FAILED)
        memcpy (data, "#!/bin/sh\nid\n", 13);
    }
  say ("%d of 4 ways to set the bit", worked);
  return OPEN;
}

static Verdict
read_device (const char *path)
{
  char block[4096];
  int fd = open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ssize_t n;

  if (fd < 0)
    return refused (path);
  n = read (fd, block, sizeof block);
  say ("%s was opened, and gave %zd bytes", path, n);
  close (fd);
  return OPEN;
}

static Verdict
device_made (void)
{
  const char *path = in_folder ("device-made");

  if (plan_get ("device.major") == NULL)
    return VOID;
  if (mknod (path, (plan_number ("device.block") ? S_IFBLK : S_IFCHR) | 0600,
             makedev ((unsigned int) plan_number ("device.major"),
                      (unsigned int) plan_number ("device.minor"))) < 0)
    return refused ("mknod");
  return read_device (path);
}

/* Left for who looks at the folder outside; the number is /dev/null's. */
static Verdict
device_left (void)
{
  if (mknod (in_folder ("device-left"), S_IFCHR | 0666, makedev (1, 3)) < 0)
    return refused ("mknod");
  say ("a device file was left");
  return OPEN;
}

static Verdict
device_there (void)
{
  static const char * const names[] = {
    "/dev/mem", "/dev/port", "/dev/kvm", "/dev/fuse", "/dev/loop-control", "/dev/console",
    "/dev/tty1",
  };

  if (plan_get ("device.path") != NULL && read_device (plan_get ("device.path")) == OPEN)
    return OPEN;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    {
      int fd = open (names[i], O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

      if (fd >= 0)
        {
          say ("%s was opened", names[i]);
          return OPEN;
        }
    }
  return refused ("/dev/mem and others");
}

static Verdict
device_kmsg (void)
{
  return read_device ("/dev/kmsg");
}

/* A file named by its number on the disk, whatever is mounted where. */
static Verdict
by_handle (void)
{
  union {
    struct file_handle handle;
    char               room[sizeof (struct file_handle) + MAX_HANDLE_SZ];
  } named = { 0 };
  const char *hex = plan_get ("handle.bytes");
  int dir = open (plan_get ("folder"), O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

  if (hex == NULL)
    return VOID;
  named.handle.handle_type = (int) plan_number ("handle.type");
  named.handle.handle_bytes = (unsigned int) strlen (hex) / 2;
  for (unsigned int i = 0; i < named.handle.handle_bytes && i < MAX_HANDLE_SZ; i++)
    {
      unsigned int byte = 0;

      sscanf (hex + 2 * i, "%2x", &byte);
      named.handle.f_handle[i] = (unsigned char) byte;
    }
  fd = open_by_handle_at (dir, &named.handle, O_RDONLY | O_CLOEXEC);
  return token_from (fd, "open_by_handle_at");
}

/* --- what somebody outside would run later; @path is below the folder --- */

static Verdict
put (const char *name,
     const char *content,
     mode_t      mode)
{
  char path[4096];
  int fd;

  snprintf (path, sizeof path, "%s", in_folder (name));
  for (char *c = path + strlen (plan_get ("folder")) + 1; *c != '\0'; c++)
    if (*c == '/')
      {
        *c = '\0';
        mkdir (path, 0755);
        *c = '/';
      }
  fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode);
  if (fd < 0 || write (fd, content, strlen (content)) < 0)
    return refused (name);
  close (fd);
  say ("%s was written", name);
  return OPEN;
}

static Verdict
later_git_hook (void)
{
  return put (".git/hooks/post-checkout", "#!/bin/sh\necho escaped\n", 0755);
}

static Verdict
later_git_config (void)
{
  return put (".git/config", "[core]\n\tfsmonitor = \"echo escaped\"\n", 0644);
}

static Verdict
later_git_nested (void)
{
  put ("vendor/inner/.git/HEAD", "ref: refs/heads/main\n", 0644);
  put ("vendor/inner/.git/objects/x", "", 0644);
  put ("vendor/inner/.git/refs/x", "", 0644);
  return put ("vendor/inner/.git/config", "[core]\n\tsshCommand = \"echo escaped\"\n", 0644);
}

static Verdict
later_vscode (void)
{
  return put (".vscode/tasks.json",
              "{\"version\": \"2.0.0\", \"tasks\": [{\"label\": \"x\", \"type\": \"shell\", "
              "\"command\": \"echo escaped\", \"runOptions\": {\"runOn\": \"folderOpen\"}}]}\n", 0644);
}

static Verdict
later_envrc (void)
{
  return put (".envrc", "echo escaped\n", 0644);
}

static Verdict
later_agent (void)
{
  return put (".cursor/hooks.json",
              "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"echo escaped\"}]}}\n", 0644);
}

static Verdict
later_package (void)
{
  return put ("package.json", "{\"name\": \"x\", \"scripts\": {\"postinstall\": \"echo escaped\"}}\n",
              0644);
}

const Probe file_probes[] = {
  { "folder-write", folder_write },
  { "home-read", home_read },
  { "home-write", home_write },
  { "ssh-key", ssh_key },
  { "state-read", state_read },
  { "state-write", state_write },
  { "beside-read", beside_read },
  { "beside-write", beside_write },
  { "dot-dot", dot_dot },
  { "tmp-read", tmp_read },
  { "tmp-write", tmp_write },
  { "usr-write", usr_write },
  { "machine-id", machine_id },
  { "link-soft", link_soft },
  { "link-hard", link_hard },
  { "moved-out", moved_out },
  { "swapped", swapped },
  { "by-handle", by_handle },
  { "setuid-run", setuid_run },
  { "setuid-left", setuid_left },
  { "device-there", device_there },
  { "device-kmsg", device_kmsg },
  { "device-made", device_made },
  { "device-left", device_left },
  { "later-git-hook", later_git_hook },
  { "later-git-config", later_git_config },
  { "later-git-nested", later_git_nested },
  { "later-vscode", later_vscode },
  { "later-envrc", later_envrc },
  { "later-agent", later_agent },
  { "later-package", later_package },
  { NULL, NULL },
};
