/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-asker-private.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_US 1000000
/* The work is counted, not what others do on the same processor meanwhile. */
#define WORK CLOCK_PROCESS_CPUTIME_ID
/* One search, and all that begin in one second. */
#define SEARCH_US 5000
#define SHARE_US  50000
/* Of the kernel's table of connections: some thousand of them. */
#define TABLE_MAX (512u * 1024u)
#define CHUNK     16384u

static int64_t
read_clock (clockid_t clock)
{
  struct timespec now;

  clock_gettime (clock, &now);
  return (int64_t) now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

/* Whether the line is that connection, seen from its own end. */
static bool
parse_line (const char    *line,
            unsigned int   peer_port,
            unsigned int   port,
            unsigned long *inode)
{
  unsigned int local;
  unsigned int remote;

  return sscanf (line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%x %*x %*x:%*x %*x:%*x %*x %*u %*u "
                 "%lu",
                 &local, &remote, inode) == 3 &&
         local == peer_port && remote == port && *inode != 0;
}

/* Returns the number of the client's socket, 0: not found. */
static unsigned long
find_in_table (const char  *path,
               unsigned int peer_port,
               unsigned int port,
               int64_t      deadline)
{
  char bytes[CHUNK + 1];
  size_t length = 0;
  size_t total = 0;
  unsigned long inode = 0;
  ssize_t got = 1;
  int fd = open (path, O_RDONLY | O_CLOEXEC);

  while (fd >= 0 && inode == 0 && got > 0 && total < TABLE_MAX && read_clock (WORK) < deadline)
    {
      char *start = bytes;
      char *end;

      got = read (fd, bytes + length, CHUNK - length);
      if (got <= 0)
        break;
      total += (size_t) got;
      length += (size_t) got;
      bytes[length] = '\0';
      while (inode == 0 && (end = strchr (start, '\n')) != NULL)
        {
          *end = '\0';
          if (!parse_line (start, peer_port, port, &inode))
            inode = 0;
          start = end + 1;
        }
      length -= (size_t) (start - bytes);
      memmove (bytes, start, length);
    }
  if (fd >= 0)
    close (fd);
  return inode;
}

/* Whether that process has a socket whose link says @wanted. */
static bool
has_socket (pid_t       pid,
            const char *wanted,
            int64_t     deadline)
{
  char path[64];
  char target[64];
  struct dirent *entry;
  bool found = false;
  DIR *fds;

  snprintf (path, sizeof path, "/proc/%d/fd", (int) pid);
  fds = opendir (path);
  if (fds == NULL)
    return false;
  while (!found && read_clock (WORK) < deadline && (entry = readdir (fds)) != NULL)
    {
      ssize_t length = readlinkat (dirfd (fds), entry->d_name, target, sizeof target - 1);

      if (length <= 0)
        continue;
      target[length] = '\0';
      found = strcmp (target, wanted) == 0;
    }
  closedir (fds);
  return found;
}

static pid_t
find_process (pid_t       likely,
              const char *wanted,
              int64_t     deadline)
{
  pid_t found = 0;
  struct dirent *entry;
  DIR *all;

  if (likely > 0 && has_socket (likely, wanted, deadline))
    return likely;
  all = opendir ("/proc");
  if (all == NULL)
    return 0;
  while (found == 0 && read_clock (WORK) < deadline && (entry = readdir (all)) != NULL)
    {
      pid_t pid = isdigit ((unsigned char) entry->d_name[0]) ? (pid_t) atoi (entry->d_name) : 0;

      if (pid > 0 && has_socket (pid, wanted, deadline))
        found = pid;
    }
  closedir (all);
  return found;
}

static void
read_program (pid_t pid,
              char  program[OW_RUNNER_ASKER_SIZE])
{
  char path[64];
  ssize_t length;

  snprintf (path, sizeof path, "/proc/%d/exe", (int) pid);
  length = readlink (path, program, OW_RUNNER_ASKER_SIZE - 1);
  program[length > 0 ? length : 0] = '\0';
  for (char *c = program; *c != '\0'; c++)
    {
      if ((unsigned char) *c < 0x20 || *c == 0x7f)
        *c = '?';
    }
}

void
ow_runner_asker_find (OwRunnerAsker *self,
                      unsigned int   peer_port,
                      unsigned int   port,
                      char           program[OW_RUNNER_ASKER_SIZE])
{
  int64_t now = read_clock (CLOCK_MONOTONIC);
  int64_t begin = read_clock (WORK);
  int64_t deadline = begin + SEARCH_US;
  unsigned long inode;
  char wanted[64];

  program[0] = '\0';
  if (now - self->since_us >= SECOND_US)
    {
      self->since_us = now;
      self->spent_us = 0;
    }
  if (self->spent_us >= SHARE_US)
    return;
  inode = find_in_table ("/proc/net/tcp", peer_port, port, deadline);
  if (inode == 0)
    inode = find_in_table ("/proc/net/tcp6", peer_port, port, deadline);
  if (inode != 0)
    {
      snprintf (wanted, sizeof wanted, "socket:[%lu]", inode);
      self->last = find_process (self->last, wanted, deadline);
      if (self->last > 0)
        read_program (self->last, program);
    }
  self->spent_us += read_clock (WORK) - begin;
}
