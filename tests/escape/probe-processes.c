/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* Processes of others, and what a process gets from the one that started it. Here too are the two
 * that play the others: a victim that waits, and a launcher that leaves things open. */

#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#define KEY_NAME     "escape-bench"
#define ROOM         128
#define VICTIM_FD    77
#define LEAKED_FILE  197
#define LEAKED_PLACE 198
#define HIGHEST_FD   1024

/* --- others --- */

static Verdict
environ_of (void)
{
  char path[64];
  DIR *proc = opendir ("/proc");
  struct dirent *entry;
  int seen = 0;

  if (proc == NULL)
    return refused ("/proc");
  while ((entry = readdir (proc)) != NULL)
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
      {
        snprintf (path, sizeof path, "/proc/%.20s/environ", entry->d_name);
        seen++;
        if (token_at (AT_FDCWD, path) == OPEN)
          return OPEN;
      }
  say ("none of the %d processes in sight", seen);
  return HELD;
}

/* What the person had in the environment of the shell that started it. */
static Verdict
environ_own (void)
{
  const char *value = getenv ("ESCAPE_SECRET");

  if (value == NULL || strcmp (value, plan_get ("environ.secret")) != 0)
    {
      say ("it was not handed on");
      return HELD;
    }
  say ("a variable of who started it is there");
  return OPEN;
}

/* The first process of the machine, told from one inside by a sum over its environment. */
static Verdict
environ_first (void)
{
  char data[65536];
  unsigned int sum = 2166136261u;
  int fd = open ("/proc/1/environ", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read (fd, data, sizeof data);

  if (plan_get ("init.sum") == NULL)
    return VOID;
  if (n < 0)
    return refused ("/proc/1/environ");
  for (ssize_t i = 0; i < n; i++)
    sum = (sum ^ (unsigned char) data[i]) * 16777619u;
  say ("%zd bytes", n);
  return sum == (unsigned int) strtoul (plan_get ("init.sum"), NULL, 10) ? OPEN : HELD;
}

static Verdict
roots (void)
{
  static const char * const ways[] = { "root", "cwd" };
  char path[4096];
  DIR *proc = opendir ("/proc");
  struct dirent *entry;

  if (proc == NULL)
    return refused ("/proc");
  while ((entry = readdir (proc)) != NULL)
    for (size_t i = 0; i < 2; i++)
      if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
        {
          snprintf (path, sizeof path, "/proc/%.20s/%s/%s", entry->d_name, ways[i],
                    i == 0 ? plan_get ("home.file") + 1 : plan_get ("home.name"));
          if (token_at (AT_FDCWD, path) == OPEN)
            return OPEN;
        }
  say ("no process in sight leads there");
  return HELD;
}

static Verdict
root_of_first (void)
{
  char path[4096];

  snprintf (path, sizeof path, "/proc/1/root%s", plan_get ("home.file"));
  return token_at (AT_FDCWD, path);
}

static Verdict
memory (void)
{
  char path[64], data[ROOM] = "";
  int fd;

  snprintf (path, sizeof path, "/proc/%ld/mem", plan_number ("victim.pid"));
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || pread (fd, data, sizeof data, (off_t) plan_number ("victim.address")) <= 0)
    return refused (path);
  say ("its memory was read");
  return has_token (data, sizeof data) ? OPEN : HELD;
}

static Verdict
memory_by_call (void)
{
  char data[ROOM] = "";
  struct iovec here = { data, sizeof data };
  struct iovec there = { (void *) plan_number ("victim.address"), sizeof data };

  if (process_vm_readv ((pid_t) plan_number ("victim.pid"), &here, 1, &there, 1, 0) <= 0)
    return refused ("process_vm_readv");
  say ("its memory was read");
  return has_token (data, sizeof data) ? OPEN : HELD;
}

static Verdict
trace (void)
{
  pid_t pid = (pid_t) plan_number ("victim.pid");
  char data[ROOM] = "";
  long word;

  if (ptrace (PTRACE_ATTACH, pid, NULL, NULL) < 0)
    return refused ("PTRACE_ATTACH");
  waitpid (pid, NULL, __WALL);
  for (size_t i = 0; i + sizeof word <= sizeof data; i += sizeof word)
    {
      word = ptrace (PTRACE_PEEKDATA, pid, plan_number ("victim.address") + (long) i, NULL);
      memcpy (data + i, &word, sizeof word);
    }
  ptrace (PTRACE_DETACH, pid, NULL, NULL);
  say ("it was traced");
  return has_token (data, sizeof data) ? OPEN : HELD;
}

/* @pid's parent, and its own name in @name. */
static pid_t
parent_of (pid_t pid,
           char  name[32])
{
  char path[64], text[512] = "", *end;
  int fd, parent = 0;

  name[0] = '\0';
  snprintf (path, sizeof path, "/proc/%d/stat", pid);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && read (fd, text, sizeof text - 1) > 0 && (end = strrchr (text, ')')) != NULL)
    {
      sscanf (end, ") %*c %d", &parent);
      *end = '\0';
      snprintf (name, 32, "%.31s", strchr (text, '(') + 1);
    }
  if (fd >= 0)
    close (fd);
  return parent;
}

/* Those above it, which hold the wall up inside; a shell that only started it does not. A trace of
 * this kind stops nothing, and ends with this child. */
static Verdict
above (void)
{
  char name[32];
  pid_t pid = getppid (), next;
  int seen = 0;

  for (pid = parent_of (pid, name); pid > 0; pid = next)
    {
      next = parent_of (pid, name);
      if (strcmp (name, "sh") == 0 || strcmp (name, "bash") == 0 || strcmp (name, "dash") == 0)
        continue;
      seen++;
      if (ptrace (PTRACE_SEIZE, pid, NULL, NULL) == 0)
        {
          say ("%s was traced", name);
          return OPEN;
        }
    }
  say ("none of %d above it could be traced", seen);
  return HELD;
}

static Verdict
descriptor_of (void)
{
  int handle = (int) syscall (SYS_pidfd_open, (pid_t) plan_number ("victim.pid"), 0), fd;

  if (handle < 0)
    return refused ("pidfd_open");
  fd = (int) syscall (SYS_pidfd_getfd, handle, VICTIM_FD, 0);
  if (fd < 0)
    return refused ("pidfd_getfd");
  lseek (fd, 0, SEEK_SET);
  return token_from (fd, "a descriptor of the other's");
}

/* The victim makes a note of it, at which the bench looks: inside the number may be another's. */
static Verdict
signal_sent (void)
{
  pid_t pid = (pid_t) plan_number ("victim.pid");

  if (pid <= 1 || pid == getpid () || pid == getppid ())
    return VOID;
  if (kill (pid, SIGUSR1) < 0)
    return refused ("kill");
  say ("a signal was sent");
  return OPEN;
}

static Verdict
limits_of (void)
{
  struct rlimit limit = { 0, 0 };

  if (syscall (SYS_prlimit64, (pid_t) plan_number ("victim.pid"), RLIMIT_MSGQUEUE, NULL, &limit) < 0)
    return refused ("prlimit");
  if ((long) limit.rlim_cur != plan_number ("victim.limit"))
    {
      say ("another process has that number");
      return HELD;
    }
  limit.rlim_cur--;
  if (syscall (SYS_prlimit64, (pid_t) plan_number ("victim.pid"), RLIMIT_MSGQUEUE, &limit, NULL) < 0)
    return refused ("to set a limit of it");
  limit.rlim_cur++;
  syscall (SYS_prlimit64, (pid_t) plan_number ("victim.pid"), RLIMIT_MSGQUEUE, &limit, NULL);
  say ("its limits were changed");
  return OPEN;
}

static Verdict
join_spaces (void)
{
  char path[64];
  int fd;

  snprintf (path, sizeof path, "/proc/%ld/ns/uts", plan_number ("victim.pid"));
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || syscall (SYS_setns, fd, 0) < 0)
    return refused (path);
  say ("a namespace of it was entered");
  return OPEN;
}

/* --- what the one that started it left --- */

static Verdict
key_found (void)
{
  static const int rings[] = {
    KEY_SPEC_SESSION_KEYRING, KEY_SPEC_USER_KEYRING, KEY_SPEC_USER_SESSION_KEYRING,
  };
  char data[ROOM] = "";

  for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++)
    {
      long key = syscall (SYS_keyctl, KEYCTL_SEARCH, rings[i], "user", KEY_NAME, 0);

      if (key >= 0 && syscall (SYS_keyctl, KEYCTL_READ, key, data, sizeof data) > 0 &&
          has_token (data, sizeof data))
        {
          say ("the key was read");
          return OPEN;
        }
    }
  return refused ("keyctl");
}

static Verdict
key_made (void)
{
  if (syscall (SYS_add_key, "user", "escape-made", "x", 1, KEY_SPEC_PROCESS_KEYRING) < 0)
    return refused ("add_key");
  say ("keyrings can be used");
  return OPEN;
}

static Verdict
left_file (void)
{
  char data[4096];

  for (int fd = 3; fd < HIGHEST_FD; fd++)
    {
      ssize_t n = pread (fd, data, sizeof data, 0);

      if (n > 0 && has_token (data, (size_t) n))
        {
          say ("descriptor %d is an open file of the home", fd);
          return OPEN;
        }
    }
  say ("no such descriptor");
  return HELD;
}

static Verdict
left_folder (void)
{
  for (int fd = 3; fd < HIGHEST_FD; fd++)
    if (fcntl (fd, F_GETFD) >= 0 && token_at (fd, plan_get ("home.name")) == OPEN)
      {
        say ("descriptor %d is the home", fd);
        return OPEN;
      }
  say ("no such descriptor");
  return HELD;
}

/* Descriptors of every process in sight, opened anew through /proc. */
static Verdict
left_elsewhere (void)
{
  char path[512];
  DIR *proc = opendir ("/proc");
  struct dirent *entry, *number;

  if (proc == NULL)
    return refused ("/proc");
  while ((entry = readdir (proc)) != NULL)
    {
      DIR *fds;

      if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
        continue;
      snprintf (path, sizeof path, "/proc/%.20s/fd", entry->d_name);
      if ((fds = opendir (path)) == NULL)
        continue;
      while ((number = readdir (fds)) != NULL)
        {
          snprintf (path, sizeof path, "/proc/%.20s/fd/%.20s/%s", entry->d_name, number->d_name,
                    plan_get ("home.name"));
          if (token_at (AT_FDCWD, path) == OPEN)
            return OPEN;
        }
      closedir (fds);
    }
  say ("no process in sight has one");
  return HELD;
}

/* --- shared memory --- */

static Verdict
shared_file (void)
{
  return token_at (AT_FDCWD, plan_get ("shm.file"));
}

static Verdict
shared_segment (void)
{
  int id = shmget ((key_t) plan_number ("shm.key"), 0, 0);
  char *data = id < 0 ? (void *) -1 : shmat (id, NULL, SHM_RDONLY);

  if (plan_get ("shm.key") == NULL)
    return VOID;
  if (data == (void *) -1)
    return refused ("shmget");
  say ("the segment was read");
  return has_token (data, ROOM) ? OPEN : HELD;
}

static Verdict
shared_queue (void)
{
  const char *name = plan_get ("queue.name");
  char data[8192] = "";
  int queue;

  if (name == NULL)
    return VOID;
  queue = (int) syscall (SYS_mq_open, name, O_RDONLY | O_NONBLOCK, 0, NULL);
  if (queue < 0)
    return refused ("mq_open");
  if (syscall (SYS_mq_timedreceive, queue, data, sizeof data, NULL, NULL) <= 0)
    return refused ("the queue");
  say ("a message was read");
  return has_token (data, sizeof data) ? OPEN : HELD;
}

/* --- terminals --- */

/* Some filters compared all 64 bits of a request of which the kernel takes 32. */
static const unsigned long high_bits[] = { 0, 1ul << 32 };

/* The bench looks at what the terminal outside has got as typed. */
static Verdict
terminal_type (void)
{
  static const char * const names[] = { "/dev/tty", "/dev/stdin", "/dev/console" };
  int worked = 0;

  for (int which = 0; which < 6; which++)
    {
      int fd = which < 3 ? which : open (names[which - 3], O_RDWR | O_NOCTTY | O_CLOEXEC);

      for (size_t i = 0; fd >= 0 && i < 2; i++)
        for (const char *c = "escaped\n"; *c != '\0'; c++)
          worked += syscall (SYS_ioctl, fd, TIOCSTI | high_bits[i], c) == 0;
    }
  if (worked == 0)
    return refused ("TIOCSTI");
  say ("%d letters were typed", worked);
  return OPEN;
}

/* Only asks for the state of the shift keys; the same call could select and paste. */
static Verdict
terminal_console (void)
{
  for (int which = 0; which < 4; which++)
    for (size_t i = 0; i < 2; i++)
      {
        char code[16] = { 6 };
        int fd = which < 3 ? which : open ("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

        if (fd >= 0 && syscall (SYS_ioctl, fd, TIOCLINUX | high_bits[i], code) >= 0)
          {
            say ("the console of descriptor %d obeyed", fd);
            return OPEN;
          }
      }
  return refused ("TIOCLINUX");
}

const Probe process_probes[] = {
  { "environ", environ_of },
  { "environ-own", environ_own },
  { "environ-first", environ_first },
  { "roots", roots },
  { "root-first", root_of_first },
  { "memory", memory },
  { "memory-call", memory_by_call },
  { "trace", trace },
  { "above", above },
  { "descriptor", descriptor_of },
  { "signal", signal_sent },
  { "limits", limits_of },
  { "join", join_spaces },
  { "key-found", key_found },
  { "key-made", key_made },
  { "left-file", left_file },
  { "left-folder", left_folder },
  { "left-elsewhere", left_elsewhere },
  { "shared-file", shared_file },
  { "shared-segment", shared_segment },
  { "shared-queue", shared_queue },
  { "terminal-type", terminal_type },
  { "terminal-console", terminal_console },
  { NULL, NULL },
};

/* --- the others --- */

static const char *note;

static void
on_signal (int number)
{
  int fd = open (note, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

  if (fd >= 0)
    close (fd);
}

/* --victim NOTE FILE LIMIT: has a secret in its memory, its environment and a descriptor, says
 * where, and waits until its input ends. */
int
victim_main (int    argc,
             char **argv)
{
  static char secret[ROOM];
  struct rlimit limit;
  int fd;

  if (argc != 5)
    return 2;
  note = argv[2];
  limit.rlim_cur = limit.rlim_max = (rlim_t) strtol (argv[4], NULL, 10);
  fd = open (argv[3], O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read (fd, secret, sizeof secret - 1) <= 0 || dup2 (fd, VICTIM_FD) < 0 ||
      setrlimit (RLIMIT_MSGQUEUE, &limit) < 0)
    return 1;
  signal (SIGUSR1, on_signal);
  prctl (PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  printf ("%d %ld\n", getpid (), (long) secret);
  fflush (stdout);
  while (poll (&(struct pollfd) { .fd = 0, .events = POLLIN }, 1, -1) < 0 && errno == EINTR)
    continue;
  return 0;
}

/* --share TOKEN KEY NAME: a segment of memory and a queue of messages that say it, as long as its
 * input is open. */
int
share_main (int    argc,
            char **argv)
{
  int id, queue;
  char *data;

  if (argc != 5)
    return 2;
  id = shmget ((key_t) strtol (argv[3], NULL, 10), 4096, IPC_CREAT | IPC_EXCL | 0600);
  data = id < 0 ? (void *) -1 : shmat (id, NULL, 0);
  if (data == (void *) -1)
    return 1;
  memcpy (data, argv[2], strlen (argv[2]) + 1);
  queue = (int) syscall (SYS_mq_open, argv[4], O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
  if (queue >= 0)
    syscall (SYS_mq_timedsend, queue, argv[2], strlen (argv[2]), 0, NULL);
  puts ("shared");
  fflush (stdout);
  while (poll (&(struct pollfd) { .fd = 0, .events = POLLIN }, 1, -1) < 0 && errno == EINTR)
    continue;
  shmctl (id, IPC_RMID, NULL);
  syscall (SYS_mq_unlink, argv[4]);
  return 0;
}

/* --with FILE FOLDER TOKEN -- COMMAND…: runs it with two descriptors and a key that it has no use
 * for, as a careless parent does. */
int
launch_main (int    argc,
             char **argv)
{
  int file, folder;

  if (argc < 7)
    return 2;
  file = open (argv[2], O_RDONLY);
  folder = open (argv[3], O_RDONLY | O_DIRECTORY);
  if (file < 0 || folder < 0 || dup2 (file, LEAKED_FILE) < 0 || dup2 (folder, LEAKED_PLACE) < 0)
    return 1;
  close (file);
  close (folder);
  /* Where keyrings are refused outside already, the control says so. */
  syscall (SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
  syscall (SYS_add_key, "user", KEY_NAME, argv[4], strlen (argv[4]), KEY_SPEC_SESSION_KEYRING);
  execvp (argv[6], argv + 6);
  perror (argv[6]);
  return 127;
}
