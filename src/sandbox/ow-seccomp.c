/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-seccomp-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"

typedef struct {
  int call;
  int error;
} Denied;

/* The numbers of calls newer than this libseccomp are the same on every architecture. */
#define CALL_OPEN_TREE_ATTR 467
#define CALL_FCHMODAT2      452

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

static const Denied denied_calls[] = {
  /* Namespaces: a new user namespace gives back the capabilities that the wall took. */
  { SCMP_SYS (unshare), EPERM },
  { SCMP_SYS (setns), EPERM },
  /* Its flags lie in memory, where a filter cannot look; programs fall back to clone. */
  { SCMP_SYS (clone3), ENOSYS },

  /* Mounts. */
  { SCMP_SYS (mount), EPERM },
  { SCMP_SYS (umount), EPERM },
  { SCMP_SYS (umount2), EPERM },
  { SCMP_SYS (pivot_root), EPERM },
  { SCMP_SYS (chroot), EPERM },
  { SCMP_SYS (open_tree), EPERM },
  { CALL_OPEN_TREE_ATTR, EPERM },
  { SCMP_SYS (move_mount), EPERM },
  { SCMP_SYS (fsopen), EPERM },
  { SCMP_SYS (fsconfig), EPERM },
  { SCMP_SYS (fsmount), EPERM },
  { SCMP_SYS (fspick), EPERM },
  { SCMP_SYS (mount_setattr), EPERM },
  { SCMP_SYS (open_by_handle_at), EPERM },
  { SCMP_SYS (quotactl), EPERM },
  { SCMP_SYS (quotactl_fd), EPERM },
  { SCMP_SYS (swapon), EPERM },
  { SCMP_SYS (swapoff), EPERM },

  /* Parts of the kernel that have been a way out again and again. */
  { SCMP_SYS (io_uring_setup), ENOSYS },
  { SCMP_SYS (io_uring_enter), ENOSYS },
  { SCMP_SYS (io_uring_register), ENOSYS },
  { SCMP_SYS (bpf), EPERM },
  { SCMP_SYS (perf_event_open), EPERM },
  { SCMP_SYS (userfaultfd), EPERM },
  { SCMP_SYS (fanotify_init), EPERM },
  { SCMP_SYS (modify_ldt), EPERM },
  { SCMP_SYS (lookup_dcookie), EPERM },
  { SCMP_SYS (uselib), EPERM },
  { SCMP_SYS (nfsservctl), EPERM },
  { SCMP_SYS (_sysctl), EPERM },

  /* The person's keys: keyrings are shared by all processes of an account. */
  { SCMP_SYS (keyctl), EPERM },
  { SCMP_SYS (add_key), EPERM },
  { SCMP_SYS (request_key), EPERM },

  /* The machine. */
  { SCMP_SYS (kexec_load), EPERM },
  { SCMP_SYS (kexec_file_load), EPERM },
  { SCMP_SYS (init_module), EPERM },
  { SCMP_SYS (finit_module), EPERM },
  { SCMP_SYS (delete_module), EPERM },
  { SCMP_SYS (reboot), EPERM },
  { SCMP_SYS (acct), EPERM },
  { SCMP_SYS (syslog), EPERM },
  { SCMP_SYS (iopl), EPERM },
  { SCMP_SYS (ioperm), EPERM },
  { SCMP_SYS (vhangup), EPERM },
  { SCMP_SYS (settimeofday), EPERM },
  { SCMP_SYS (clock_settime), EPERM },
};

static const unsigned int namespace_flags[] = {
  CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,
  CLONE_NEWCGROUP,
};

/* A call that this architecture does not have needs no rule. */
static int
deny (scmp_filter_ctx      ctx,
      int                  call,
      int                  error,
      unsigned int         n,
      struct scmp_arg_cmp *compare)
{
  int rc;

  if (call < 0)
    return 0;
  rc = seccomp_rule_add_array (ctx, SCMP_ACT_ERRNO ((uint32_t) error), call, n, compare);
  return rc == -EDOM ? 0 : rc;
}

static int
deny_calls (scmp_filter_ctx ctx)
{
  int rc = 0;

  for (gsize i = 0; rc == 0 && i < G_N_ELEMENTS (denied_calls); i++)
    rc = deny (ctx, denied_calls[i].call, denied_calls[i].error, 0, NULL);
  return rc;
}

static int
deny_namespaces (scmp_filter_ctx ctx)
{
  int rc = 0;

  for (gsize i = 0; rc == 0 && i < G_N_ELEMENTS (namespace_flags); i++)
    {
      struct scmp_arg_cmp flag = SCMP_A0 (SCMP_CMP_MASKED_EQ, namespace_flags[i],
                                          namespace_flags[i]);

      rc = deny (ctx, SCMP_SYS (clone), EPERM, 1, &flag);
    }
  return rc;
}

/* Keys pressed for another, the console's menu, and line disciplines, whose modules the kernel
 * loads for who asks for them. The kernel looks at the low 32 bits of the request, so a filter
 * that compares all 64 lets the same request through with a high bit set. */
static int
deny_terminal (scmp_filter_ctx ctx)
{
  static const unsigned int requests[] = { TIOCSTI, TIOCLINUX, TIOCSETD };
  int rc = 0;

  for (gsize i = 0; rc == 0 && i < G_N_ELEMENTS (requests); i++)
    {
      struct scmp_arg_cmp same = SCMP_A1 (SCMP_CMP_MASKED_EQ, 0xffffffffu, requests[i]);

      rc = deny (ctx, SCMP_SYS (ioctl), EPERM, 1, &same);
    }
  return rc;
}

/* A program that runs as the folder's owner, whoever starts it, would be left for the other
 * accounts of the machine; inside, where the folders' mounts have nosuid, it is of no use.
 * A new file can be given the bit too, but loses it with the first byte that is written. */
static int
deny_setuid (scmp_filter_ctx ctx)
{
  struct scmp_arg_cmp second = SCMP_A1 (SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID);
  struct scmp_arg_cmp third = SCMP_A2 (SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID);
  int rc = deny (ctx, SCMP_SYS (chmod), EPERM, 1, &second);

  if (rc == 0)
    rc = deny (ctx, SCMP_SYS (fchmod), EPERM, 1, &second);
  if (rc == 0)
    rc = deny (ctx, SCMP_SYS (fchmodat), EPERM, 1, &third);
  return rc != 0 ? rc : deny (ctx, CALL_FCHMODAT2, EPERM, 1, &third);
}

/* Protocols of the internet that no program here speaks: with each the kernel loads a module of
 * its own for who asks. A name of a protocol is compared where it stands, the type without the
 * flags that may be in it. */
static int
deny_protocols (scmp_filter_ctx ctx)
{
  static const unsigned int protocols[] = { IPPROTO_DCCP, IPPROTO_SCTP, 115 /* L2TP */ };
  static const unsigned int families[] = { AF_INET, AF_INET6 };
  int rc = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (families); i++)
    {
      struct scmp_arg_cmp dccp[] = {
        SCMP_A0 (SCMP_CMP_MASKED_EQ, 0xffffffffu, families[i]),
        SCMP_A1 (SCMP_CMP_MASKED_EQ, 0xf, SOCK_DCCP),
      };

      if (rc == 0)
        rc = deny (ctx, SCMP_SYS (socket), ESOCKTNOSUPPORT, G_N_ELEMENTS (dccp), dccp);
      for (gsize j = 0; rc == 0 && j < G_N_ELEMENTS (protocols); j++)
        {
          struct scmp_arg_cmp same[] = {
            SCMP_A0 (SCMP_CMP_MASKED_EQ, 0xffffffffu, families[i]),
            SCMP_A2 (SCMP_CMP_MASKED_EQ, 0xffffffffu, protocols[j]),
          };

          rc = deny (ctx, SCMP_SYS (socket), EPROTONOSUPPORT, G_N_ELEMENTS (same), same);
        }
    }
  return rc;
}

/* Unix and internet sockets, and netlink for the list of interfaces only. */
static int
deny_sockets (scmp_filter_ctx ctx)
{
  struct scmp_arg_cmp above = SCMP_A0 (SCMP_CMP_GT, AF_NETLINK);
  struct scmp_arg_cmp not_unix = SCMP_A0 (SCMP_CMP_NE, AF_UNIX);
  struct scmp_arg_cmp netlink[] = {
    SCMP_A0 (SCMP_CMP_MASKED_EQ, 0xffffffffu, AF_NETLINK),
    SCMP_A2 (SCMP_CMP_NE, NETLINK_ROUTE),
  };
  int rc = deny (ctx, SCMP_SYS (socket), EAFNOSUPPORT, 1, &above);

  for (unsigned int family = 0; rc == 0 && family < AF_NETLINK; family++)
    {
      struct scmp_arg_cmp same = SCMP_A0 (SCMP_CMP_MASKED_EQ, 0xffffffffu, family);

      if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
        rc = deny (ctx, SCMP_SYS (socket), EAFNOSUPPORT, 1, &same);
    }
  if (rc == 0)
    rc = deny (ctx, SCMP_SYS (socket), EAFNOSUPPORT, G_N_ELEMENTS (netlink), netlink);
  return rc != 0 ? rc : deny (ctx, SCMP_SYS (socketpair), EAFNOSUPPORT, 1, &not_unix);
}

static int
make_rules (scmp_filter_ctx ctx)
{
  /* A filter knows calls by their numbers, which mean something else to the 32-bit and
   * x32 entrances of the same kernel: these are closed. */
  int rc = seccomp_attr_set (ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

  if (rc == 0)
    rc = deny_calls (ctx);
  if (rc == 0)
    rc = deny_namespaces (ctx);
  if (rc == 0)
    rc = deny_terminal (ctx);
  if (rc == 0)
    rc = deny_setuid (ctx);
  if (rc == 0)
    rc = deny_sockets (ctx);
  if (rc == 0)
    rc = deny_protocols (ctx);
  return rc;
}

int
ow_seccomp_make_filter (GError **error)
{
  scmp_filter_ctx ctx = seccomp_init (SCMP_ACT_ALLOW);
  int fd = memfd_create ("ow-seccomp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  int rc = ctx == NULL ? -ENOMEM : fd < 0 ? -errno : make_rules (ctx);

  if (rc == 0)
    rc = seccomp_export_bpf (ctx, fd);
  if (rc == 0 && (lseek (fd, 0, SEEK_SET) != 0 ||
                  fcntl (fd, F_ADD_SEALS,
                         F_SEAL_SEAL | F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) != 0))
    rc = -errno;
  if (ctx != NULL)
    seccomp_release (ctx);
  if (rc == 0)
    return fd;

  if (fd >= 0)
    close (fd);
  ow_error_setf (error, OW_ERROR_REFUSED, "Reinstall libseccomp2 and OpenWorker.",
                 "Sessions on this machine are refused: the system call filter cannot be made (%s)",
                 g_strerror (-rc));
  return -1;
}
