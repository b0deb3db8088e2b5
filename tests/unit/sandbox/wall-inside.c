/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "wall-inside.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* What the outside wrote into the first folder: uid, gid, port, name of an abstract
 * socket, path of a canary, pid of the test. One a line, the path last. */
typedef struct {
  unsigned int uid;
  unsigned int gid;
  unsigned int port;
  unsigned int pid;
  char         name[64];
  char         canary[4096];
} Params;

static FILE *report;
static char *report_text;
static size_t report_length;

static void
fail (const char *what,
      const char *detail)
{
  fprintf (report, "FAIL %s: %s (%s)\n", what, detail, strerror (errno));
}

static void
must_not_open (const char *path,
               int         flags)
{
  int fd = open (path, flags | O_CLOEXEC, 0600);

  if (fd < 0)
    return;
  fail ("opened", path);
  close (fd);
}

/* Opened for writing only, never written: on a machine where the wall is broken this
 * test must not do what it warns of. */
static void
try_kernel_switches (void)
{
  static const char * const paths[] = {
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/hotplug", "/proc/sys/user/max_user_namespaces", "/proc/sys/vm/swappiness",
    "/proc/sys/fs/binfmt_misc/register", "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity",
    "/proc/sys/kernel/yama/ptrace_scope",
  };

  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
    must_not_open (paths[i], O_WRONLY | O_APPEND);
  must_not_open ("/sys/kernel", O_RDONLY);
}

/* What tells of the whole machine, for an inside that is its owner too. */
static void
try_machine_files (void)
{
  static const char * const paths[] = {
    "/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kmsg", "/proc/kpagecount",
    "/proc/kpageflags", "/proc/kpagecgroup", "/proc/sched_debug", "/proc/slabinfo",
    "/proc/timer_list", "/proc/vmallocinfo", "/proc/pagetypeinfo",
  };

  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
    must_not_open (paths[i], O_RDONLY);
}

static void
must_fail (const char *what,
           long        result)
{
  if (result >= 0)
    fail ("allowed", what);
}

static void
try_mounts (void)
{
  int fds[2];

  must_fail ("remount /proc", mount (NULL, "/proc", NULL, MS_REMOUNT | MS_BIND, NULL));
  must_fail ("remount /", mount (NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
  must_fail ("mount tmpfs", mount ("none", "/tmp", "tmpfs", 0, NULL));
  must_fail ("mount proc", mount ("none", "/tmp", "proc", 0, NULL));
  must_fail ("umount /usr", umount2 ("/usr", MNT_DETACH));
  must_fail ("unshare user", unshare (CLONE_NEWUSER));
  must_fail ("unshare mount", unshare (CLONE_NEWNS));
  must_fail ("packet socket", socket (17, SOCK_RAW, 0));
  must_fail ("vsock socket", socket (40, SOCK_STREAM, 0));
  if (pipe (fds) == 0)
    must_fail ("TIOCSTI", ioctl (fds[0], TIOCSTI, "x"));
}

static void
try_writes (void)
{
  static const char * const paths[] = {
    "/x", "/etc/x", "/etc/passwd.x", "/usr/x", "/usr/bin/x", "/run/x", "/opt/x", "/var/x",
    "/opt/openworker/x", "/proc/x",
  };

  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
    must_not_open (paths[i], O_WRONLY | O_CREAT);
  must_not_open ("/opt/openworker/openworker-runner", O_WRONLY);
  must_not_open ("/etc/passwd", O_WRONLY);
  must_not_open ("/usr/bin/env", O_WRONLY);
  must_not_open ("/etc/shadow", O_RDONLY);
  must_not_open ("/root", O_RDONLY | O_DIRECTORY | (getuid () == 0 ? O_NOFOLLOW : 0));
}

static void
try_network (const Params *params)
{
  struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons ((uint16_t) params->port) };
  struct sockaddr_un un = { .sun_family = AF_UNIX };
  int fd = socket (AF_INET, SOCK_STREAM, 0);

  in.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  must_fail ("connect to the host's loopback", connect (fd, (struct sockaddr *) &in, sizeof in));
  close (fd);
  fd = socket (AF_UNIX, SOCK_STREAM, 0);
  memcpy (un.sun_path + 1, params->name, strlen (params->name));
  must_fail ("connect to an abstract socket",
             connect (fd, (struct sockaddr *) &un,
                      (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 +
                                   strlen (params->name))));
  close (fd);
  /* What must be there: the proxy. */
  memset (&un, 0, sizeof un);
  un.sun_family = AF_UNIX;
  strcpy (un.sun_path, "/run/ow/proxy.sock");
  fd = socket (AF_UNIX, SOCK_STREAM, 0);
  if (connect (fd, (struct sockaddr *) &un, sizeof un) != 0)
    fail ("the proxy cannot be reached", strerror (errno));
  close (fd);
}

static void
check_descriptors (void)
{
  DIR *dir = opendir ("/proc/self/fd");
  struct dirent *entry;

  if (dir == NULL)
    {
      fail ("cannot read", "/proc/self/fd");
      return;
    }
  while ((entry = readdir (dir)) != NULL)
    {
      int fd = atoi (entry->d_name);

      if (entry->d_name[0] != '.' && fd > 2 && fd != dirfd (dir))
        fail ("an extra descriptor", entry->d_name);
    }
  closedir (dir);
}

/* A change to what is there already: done, it changes nothing. */
static void
must_not_change (const char *path)
{
  struct stat st;

  if (stat (path, &st) != 0)
    fail ("is not there", path);
  else
    must_fail (path, chmod (path, st.st_mode & 07777));
}

/* The machine's own, to which an inside that is uid 0 is the owner, also through
 * descriptors that the inside was given. */
static void
try_modes (void)
{
  static const char * const paths[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/usr",
    "/usr/bin/env", "/etc/ssl/certs", "/etc/ld.so.cache", "/opt/openworker/openworker-runner",
    "/proc/self/fd/0",
  };
  int fd = open ("/dev/null", O_WRONLY | O_CLOEXEC);

  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
    must_not_change (paths[i]);
  if (fd < 0 || write (fd, "x", 1) != 1 || close (fd) != 0)
    fail ("cannot write", "/dev/null");
}

static void
check_status (const char *line)
{
  static const char * const zero[] = { "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:" };

  for (size_t i = 0; i < sizeof zero / sizeof zero[0]; i++)
    if (strncmp (line, zero[i], 7) == 0 && strspn (line + 7, "\t 0\n") != strlen (line + 7))
      fail ("a capability", line);
  if (strncmp (line, "NoNewPrivs:", 11) == 0 && atoi (line + 11) != 1)
    fail ("new privileges", line);
  if (strncmp (line, "Seccomp:", 8) == 0 && atoi (line + 8) != 2)
    fail ("no filter", line);
}

static void
check_account (const Params *params)
{
  FILE *file = fopen ("/proc/self/status", "re");
  char line[512];
  gid_t group;
  struct stat st;

  while (file != NULL && fgets (line, sizeof line, file) != NULL)
    check_status (line);
  if (file == NULL || fclose (file) != 0)
    fail ("cannot read", "/proc/self/status");
  if (getuid () != params->uid || getgid () != params->gid)
    fail ("account", "another uid or gid");
  if (getgroups (1, &group) > 0 && group != params->gid)
    fail ("account", "further groups");
  if (setresuid (0, 0, 0) == 0 && params->uid != 0)
    fail ("account", "became root");
  if (stat (getenv ("HOME"), &st) != 0 || st.st_uid != params->uid || (st.st_mode & 0777) != 0700)
    fail ("home", getenv ("HOME"));
}

static void
check_processes (const Params *params)
{
  DIR *dir = opendir ("/proc");
  struct dirent *entry;
  int n = 0;

  while (dir != NULL && (entry = readdir (dir)) != NULL)
    n += atoi (entry->d_name) > 0;
  if (dir == NULL || closedir (dir) != 0 || n > 3)
    fail ("processes", "more than the sandbox's own are seen");
  (void) params;
}

static void
check_environment (void)
{
  static const char * const names[] = {
    "HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY",
    "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "NO_PROXY", "no_proxy", "PWD",
    "SSL_CERT_FILE",
  };

  for (char **variable = environ; *variable != NULL; variable++)
    {
      size_t length = strcspn (*variable, "=");
      int known = 0;

      for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        known |= strlen (names[i]) == length && strncmp (names[i], *variable, length) == 0;
      if (!known)
        fail ("environment", *variable);
    }
}

/* Folders as the arguments name them. */
static void
check_folder (const char *path,
              int         read_only)
{
  char name[4200];
  int fd;

  snprintf (name, sizeof name, "%s/probe-inside", path);
  fd = open (name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (read_only && (fd >= 0 || errno != EROFS))
    fail ("written in a read-only folder", path);
  if (!read_only && fd < 0)
    fail ("cannot write", path);
  if (fd >= 0)
    {
      close (fd);
      unlink (name);
    }
}

static int
read_params (const char *folder,
             Params     *params)
{
  char name[4200];
  FILE *file;
  int n = 0;

  snprintf (name, sizeof name, "%s/params", folder);
  file = fopen (name, "re");
  if (file == NULL)
    return 0;
  n = fscanf (file, "%u %u %u %u %63s ", &params->uid, &params->gid, &params->port, &params->pid,
              params->name);
  if (n == 5 && fgets (params->canary, sizeof params->canary, file) == NULL)
    n = 0;
  fclose (file);
  params->canary[strcspn (params->canary, "\n")] = '\0';
  return n == 5;
}

static int
write_report (const char *folder)
{
  char name[4200];
  FILE *file;

  snprintf (name, sizeof name, "%s/report", folder);
  file = fopen (name, "we");
  if (file == NULL || fflush (report) != 0)
    return 0;
  fwrite (report_text, 1, report_length, file);
  return fclose (file) == 0;
}

int
wall_inside_main (int    argc,
                  char **argv)
{
  Params params = { 0 };
  const char *first = NULL;

  setvbuf (stdout, NULL, _IOLBF, 0);
  printf ("ready\n");
  report = open_memstream (&report_text, &report_length);
  if (report == NULL)
    return 1;
  for (int i = 2; i + 1 < argc; i++)
    if (strcmp (argv[i], "--folder") == 0 || strcmp (argv[i], "--folder-ro") == 0)
      {
        first = first != NULL ? first : argv[i + 1];
        check_folder (argv[i + 1], strcmp (argv[i], "--folder-ro") == 0);
      }
  if (first == NULL || !read_params (first, &params))
    fail ("no parameters", first != NULL ? first : "");
  check_descriptors ();
  check_account (&params);
  check_processes (&params);
  check_environment ();
  must_not_open (params.canary, O_RDONLY);
  try_kernel_switches ();
  try_machine_files ();
  try_mounts ();
  try_modes ();
  try_writes ();
  try_network (&params);
  fputs ("END\n", report);
  if (first == NULL || !write_report (first))
    return 1;
  for (;;)
    pause ();
}
