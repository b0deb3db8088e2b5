/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ow-runner-setup-private.h"

#if defined (__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined (__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

#define CALL    (offsetof (struct seccomp_data, nr))
#define LOW(n)  (offsetof (struct seccomp_data, args[n]))
#define HIGH(n) (offsetof (struct seccomp_data, args[n]) + 4)

/* The same on every architecture; newer than the headers of Debian 12. */
#define CALL_OPEN_TREE_ATTR 467
#define CALL_FCHMODAT2      452
#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif
/* What the x32 entrance adds to each number. */
#define X32_BIT 0x40000000

#define SPACES (CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
                CLONE_NEWNET | CLONE_NEWCGROUP)

#define GET(what)             BPF_STMT (BPF_LD | BPF_W | BPF_ABS, what)
#define IS(value, yes, no)    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, (uint32_t) (value), yes, no)
#define HAS(bits, yes, no)    BPF_JUMP (BPF_JMP | BPF_JSET | BPF_K, (uint32_t) (bits), yes, no)
#define ABOVE(value, yes, no) BPF_JUMP (BPF_JMP | BPF_JGE | BPF_K, (uint32_t) (value), yes, no)
#define GIVE(error)           BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define END_IT                BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define LET_THROUGH           BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Each rule begins with the number of the call loaded, and leaves it so. Of what is looked at here
 * the kernel takes 32 bits, and nothing of the others. */
#define REFUSE(call, error)          IS (call, 0, 1), GIVE (error)
#define REFUSE_BITS(call, n, bits)   IS (call, 0, 4), GET (LOW (n)), HAS (bits, 0, 1), \
                                     GIVE (EPERM), GET (CALL)
#define REFUSE_VALUE(call, n, value) IS (call, 0, 4), GET (LOW (n)), IS (value, 0, 1), \
                                     GIVE (EPERM), GET (CALL)

static struct sock_filter code[] = {
  /* The entrances for other programs of the same kernel have other numbers for the same calls. */
  GET (offsetof (struct seccomp_data, arch)), IS (ARCHITECTURE, 1, 0), END_IT,
  GET (CALL), ABOVE (X32_BIT, 0, 1), GIVE (ENOSYS),

  /* For prlimit(2) the kernel asks for nothing but the same account, and neither Landlock nor the
   * scopes have a say in it: with it a command could end the server, or leave it without a
   * descriptor. A program that sets its own limits names no process; to read another's stays. */
  IS (SYS_prlimit64, 0, 8), GET (LOW (0)), IS (0, 5, 0), GET (LOW (2)), IS (0, 0, 2),
  GET (HIGH (2)), IS (0, 1, 0), GIVE (EPERM), GET (CALL),

  /* A program that runs as the folder's owner would be left for the other accounts. */
#ifdef SYS_chmod
  REFUSE_BITS (SYS_chmod, 1, S_ISUID),
#endif
  REFUSE_BITS (SYS_fchmod, 1, S_ISUID),
  REFUSE_BITS (SYS_fchmodat, 2, S_ISUID),
  REFUSE_BITS (CALL_FCHMODAT2, 2, S_ISUID),

  /* Letters that are typed into a terminal, whoever else reads there. */
  REFUSE_VALUE (SYS_ioctl, 1, TIOCSTI),
  REFUSE_VALUE (SYS_ioctl, 1, TIOCLINUX),

  /* Keyrings are shared by all processes of an account, across containers too. */
  REFUSE (SYS_keyctl, EPERM),
  REFUSE (SYS_add_key, EPERM),
  REFUSE (SYS_request_key, EPERM),

  /* Namespaces, in which a process has capabilities again, and what those are good for. clone3 has
   * its flags in memory, where a filter cannot look; programs then take clone. */
  REFUSE (SYS_unshare, EPERM),
  REFUSE (SYS_setns, EPERM),
  REFUSE_BITS (SYS_clone, 0, SPACES),
  REFUSE (SYS_clone3, ENOSYS),
  REFUSE (SYS_mount, EPERM),
  REFUSE (SYS_umount2, EPERM),
  REFUSE (SYS_pivot_root, EPERM),
  REFUSE (SYS_chroot, EPERM),
  REFUSE (SYS_open_tree, EPERM),
  REFUSE (CALL_OPEN_TREE_ATTR, EPERM),
  REFUSE (SYS_move_mount, EPERM),
  REFUSE (SYS_fsopen, EPERM),
  REFUSE (SYS_fspick, EPERM),
  REFUSE (SYS_mount_setattr, EPERM),
  REFUSE (SYS_open_by_handle_at, EPERM),

  /* Parts of the kernel that have been a way out again and again. */
  REFUSE (SYS_io_uring_setup, ENOSYS),
  REFUSE (SYS_io_uring_enter, ENOSYS),
  REFUSE (SYS_io_uring_register, ENOSYS),
  REFUSE (SYS_bpf, EPERM),
  REFUSE (SYS_perf_event_open, EPERM),
  REFUSE (SYS_userfaultfd, EPERM),
  REFUSE (SYS_fanotify_init, EPERM),
  REFUSE (SYS_syslog, EPERM),

  /* Unix and internet sockets, and netlink for the list of interfaces only. */
  IS (SYS_socketpair, 0, 4), GET (LOW (0)), IS (AF_UNIX, 1, 0), GIVE (EAFNOSUPPORT),
  GET (CALL),
  IS (SYS_socket, 0, 9), GET (LOW (0)), IS (AF_UNIX, 5, 0), IS (AF_INET, 4, 0), IS (AF_INET6, 3, 0),
  IS (AF_NETLINK, 0, 3), GET (LOW (2)), IS (NETLINK_ROUTE, 0, 1), LET_THROUGH, GIVE (EAFNOSUPPORT),

  LET_THROUGH,
};

#endif

void
ow_runner_filter_commands (void)
{
#ifdef ARCHITECTURE
  const struct sock_fprog program = { sizeof code / sizeof code[0], code };

  /* Where a filter cannot be set the wall around has one. */
  if (prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
    return;
#endif
}
