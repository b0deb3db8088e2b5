/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ow-runner-setup-private.h"

/* The kernel's interface, with constants of our own: the headers that this is built
 * with are older than kernels that it runs on. What the kernel does not know is
 * masked away by the ABI that it names. */

#define CREATE_RULESET 444
#define ADD_RULE       445
#define RESTRICT_SELF  446
#define VERSION_FLAG   1u
#define PATH_BENEATH   1

#define FS_EXECUTE   (1ull << 0)
#define FS_WRITE     (1ull << 1)
#define FS_READ      (1ull << 2)
#define FS_READ_DIR  (1ull << 3)
#define FS_ABI_1     ((1ull << 13) - 1)
#define FS_REFER     (1ull << 13)
#define FS_TRUNCATE  (1ull << 14)
#define FS_IOCTL_DEV (1ull << 15)

#define SCOPE_ABSTRACT_UNIX (1ull << 0)
#define SCOPE_SIGNAL        (1ull << 1)

struct ruleset {
  uint64_t fs;
  uint64_t net;
  uint64_t scoped;
};

struct beneath {
  uint64_t access;
  int32_t  parent_fd;
} __attribute__ ((packed));

static bool
add_rule (int         ruleset,
          const char *path,
          uint64_t    access,
          char        error[OW_RUNNER_ERROR_SIZE])
{
  struct beneath rule = { .access = access };
  struct stat info;
  bool ok;

  rule.parent_fd = open (path, O_PATH | O_CLOEXEC);
  if (rule.parent_fd < 0 || fstat (rule.parent_fd, &info) < 0)
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "\"%.300s\", which Landlock should allow, cannot be "
                "opened: %s.", path, strerror (errno));
      if (rule.parent_fd >= 0)
        close (rule.parent_fd);
      return false;
    }
  if (!S_ISDIR (info.st_mode))
    rule.access &= FS_EXECUTE | FS_WRITE | FS_READ | FS_TRUNCATE | FS_IOCTL_DEV;
  ok = syscall (ADD_RULE, ruleset, PATH_BENEATH, &rule, 0) == 0;
  if (!ok)
    snprintf (error, OW_RUNNER_ERROR_SIZE, "Landlock does not take \"%.300s\": %s.", path,
              strerror (errno));
  close (rule.parent_fd);
  return ok;
}

static uint64_t
handled_by (long abi)
{
  uint64_t handled = FS_ABI_1;

  if (abi >= 2)
    handled |= FS_REFER;
  if (abi >= 3)
    handled |= FS_TRUNCATE;
  if (abi >= 5)
    handled |= FS_IOCTL_DEV;
  return handled;
}

bool
ow_runner_landlock_restrict (OwRunnerPaths list,
                             OwRunnerPaths ro,
                             OwRunnerPaths rw,
                             char          error[OW_RUNNER_ERROR_SIZE])
{
  long abi = syscall (CREATE_RULESET, NULL, 0, VERSION_FLAG);
  struct ruleset attributes = { 0 };
  size_t size = sizeof attributes.fs;
  bool ok = true;
  int ruleset;

  if (abi < 1)
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "This kernel has no Landlock, so the sandbox cannot "
                "be closed: %s. Nothing is served.", strerror (errno));
      return false;
    }
  attributes.fs = handled_by (abi);
  if (abi >= 6)
    {
      attributes.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
      size = sizeof attributes;
    }
  ruleset = (int) syscall (CREATE_RULESET, &attributes, size, 0);
  if (ruleset < 0)
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "Landlock refuses the rules: %s. Nothing is served.",
                strerror (errno));
      return false;
    }
  for (size_t i = 0; i < list.n && ok; i++)
    ok = add_rule (ruleset, list.items[i], FS_READ_DIR, error);
  for (size_t i = 0; i < ro.n && ok; i++)
    ok = add_rule (ruleset, ro.items[i], FS_EXECUTE | FS_READ | FS_READ_DIR, error);
  for (size_t i = 0; i < rw.n && ok; i++)
    ok = add_rule (ruleset, rw.items[i], attributes.fs, error);
  if (ok && (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
             || syscall (RESTRICT_SELF, ruleset, 0) < 0))
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "Landlock could not be switched on: %s. Nothing is "
                "served.", strerror (errno));
      ok = false;
    }
  close (ruleset);
  return ok;
}
