/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ow-runner-setup-private.h"

#if defined (__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined (__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define LOW(member)  (offsetof (struct seccomp_data, member))
#define HIGH(member) (offsetof (struct seccomp_data, member) + 4)

/* For prlimit(2) the kernel asks for nothing but the same account, and neither Landlock nor the
 * scopes have a say in it: with it a command could end the server, or leave it without a
 * descriptor. A program that sets its own limits names no process; to read another's stays. Where
 * a filter cannot be set a command can do what it could without. */
void
ow_runner_filter_limits (void)
{
#ifdef ARCHITECTURE
  static struct sock_filter code[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, LOW (arch)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 0, 8),
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, LOW (nr)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 6),
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, LOW (args[0])),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, 0, 4, 0),
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, LOW (args[2])),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, HIGH (args[2])),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
  };
  const struct sock_fprog program = { sizeof code / sizeof code[0], code };

  if (prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
    return;
#endif
}
