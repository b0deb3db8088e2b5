/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-landlock-check-private.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ow-error.h"

#define CREATE_RULESET_VERSION 1u

int
ow_landlock_check_answer (long     answer,
                          int      saved_errno,
                          GError **error)
{
  if (answer >= 1)
    return (int) answer;
  if (answer < 0 && saved_errno == EOPNOTSUPP)
    ow_error_set (error, OW_ERROR_REFUSED,
                  "Sessions on this machine are refused",
                  "the kernel has Landlock, but it was not switched on at start-up",
                  "Add \"landlock\" to the kernel's \"lsm=\" list and restart the machine.");
  else if (answer < 0 && saved_errno == ENOSYS)
    ow_error_set (error, OW_ERROR_REFUSED,
                  "Sessions on this machine are refused",
                  "the kernel has no Landlock",
                  "Start a kernel of version 5.13 or newer that has Landlock built in.");
  else if (answer < 0 && saved_errno == EPERM)
    ow_error_set (error, OW_ERROR_REFUSED,
                  "Sessions on this machine are refused",
                  "the container that this program runs in forbids Landlock by its filter of "
                  "system calls",
                  "Allow them there (systemd-nspawn: --system-call-filter="
                  "\"landlock_create_ruleset landlock_add_rule landlock_restrict_self\"), or run "
                  "outside it.");
  else
    ow_error_setf (error, OW_ERROR_REFUSED,
                   "See whether this program itself runs in a container that forbids it.",
                   "Sessions on this machine are refused: Landlock cannot be asked for (%s)",
                   answer < 0 ? g_strerror (saved_errno) : "no version was given");
  return 0;
}

int
ow_landlock_check (GError **error)
{
  long answer = syscall (SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

  return ow_landlock_check_answer (answer, errno, error);
}
