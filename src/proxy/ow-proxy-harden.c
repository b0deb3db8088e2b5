/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-proxy-harden-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

bool
ow_proxy_harden_process (void)
{
  const struct rlimit none = { 0, 0 };

  /* HOSTALIASES, RES_OPTIONS, LOCALDOMAIN and their like change what a name means. */
  if (clearenv () != 0)
    return false;
  if (signal (SIGPIPE, SIG_IGN) == SIG_ERR)
    return false;
  /* Old kernels lack it; then what the parent left open stays so. */
  if (syscall (SYS_close_range, 3u, ~0u, 0u) < 0 && errno != ENOSYS)
    return false;
  return prctl (PR_SET_PDEATHSIG, SIGKILL) == 0 &&
         prctl (PR_SET_DUMPABLE, 0) == 0 &&
         prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         setrlimit (RLIMIT_CORE, &none) == 0;
}

static bool
drop_capabilities (void)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

  return syscall (SYS_capset, &header, none) == 0;
}

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* All of the first version. */
#define HANDLED \
  (READ | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
   LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
   LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
   LANDLOCK_ACCESS_FS_MAKE_SYM)

/* Where systems keep what the resolver reads. No home is in there, and nothing that is
 * may be written. */
static const char *const readable[] = {
  "/etc", "/usr", "/lib", "/lib32", "/lib64", "/nix", "/gnu", "/run", "/var/lib", "/var/cache",
  "/var/db", "/proc", "/sys", "/dev",
};

static bool
allow (int         ruleset,
       const char *path,
       uint64_t    access)
{
  struct landlock_path_beneath_attr rule = { .allowed_access = access };
  bool added;

  rule.parent_fd = open (path, O_PATH | O_CLOEXEC);
  if (rule.parent_fd < 0)
    return errno == ENOENT || errno == EACCES;
  added = syscall (SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  close (rule.parent_fd);
  return added;
}

/* The kernel may be without Landlock, or told not to use it, and a container may forbid
 * the call; then this layer is missing. */
static bool
restrict_files (const char *removable)
{
  const struct landlock_ruleset_attr attributes = { .handled_access_fs = HANDLED };
  int ruleset = (int) syscall (SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
  bool good = true;

  if (ruleset < 0)
    return errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM;
  for (size_t i = 0; good && i < sizeof readable / sizeof readable[0]; i++)
    good = allow (ruleset, readable[i], READ);
  good = good && allow (ruleset, removable, LANDLOCK_ACCESS_FS_REMOVE_FILE);
  good = good && syscall (SYS_landlock_restrict_self, ruleset, 0) == 0;
  close (ruleset);
  return good;
}

#if defined (__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined (__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

/* A list of what is refused and not of what is allowed: the resolver loads modules of
 * the system's, and what those call differs from one machine to the next. */
static const unsigned int refused[] = {
  SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
  SYS_pidfd_getfd, SYS_kcmp, SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root,
  SYS_chroot, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
  SYS_mount_setattr, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup,
  SYS_io_uring_enter, SYS_io_uring_register, SYS_keyctl, SYS_add_key, SYS_request_key,
  SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load,
  SYS_listen, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_acct, SYS_swapon,
  SYS_swapoff, SYS_reboot, SYS_sethostname, SYS_truncate,
  SYS_setdomainname, SYS_settimeofday, SYS_clock_settime, SYS_quotactl, SYS_personality,
  SYS_memfd_create, SYS_linkat, SYS_symlinkat, SYS_renameat2, SYS_mknodat, SYS_fchmodat,
  SYS_fchownat, SYS_kill, SYS_tkill, SYS_pidfd_send_signal,
#ifdef SYS_fork
  SYS_fork, SYS_vfork, SYS_link, SYS_symlink, SYS_rename, SYS_renameat, SYS_mknod, SYS_chmod,
  SYS_chown, SYS_lchown,
#endif
};

#define N_REFUSED (sizeof refused / sizeof refused[0])
#define LOAD(field) \
  BPF_STMT (BPF_LD | BPF_W | BPF_ABS, (uint32_t) offsetof (struct seccomp_data, field))
#define RETURN(action) BPF_STMT (BPF_RET | BPF_K, (action))

static void
add (struct sock_fprog        *program,
     const struct sock_filter  instruction)
{
  program->filter[program->len++] = instruction;
}

static void
write_filter (struct sock_fprog *program)
{
  const uint32_t no = SECCOMP_RET_ERRNO | EPERM;

  add (program, (struct sock_filter) LOAD (arch));
  add (program, (struct sock_filter) BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
  add (program, (struct sock_filter) RETURN (SECCOMP_RET_KILL_PROCESS));
  add (program, (struct sock_filter) LOAD (nr));
#ifdef __x86_64__
  /* The numbers of the x32 interface would pass by the list. */
  add (program, (struct sock_filter) BPF_JUMP (BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1));
  add (program, (struct sock_filter) RETURN (no));
#endif
  /* The C library falls back to clone, whose flags can be looked at. */
  add (program, (struct sock_filter) BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));
  add (program, (struct sock_filter) RETURN (SECCOMP_RET_ERRNO | ENOSYS));
  for (size_t i = 0; i < N_REFUSED; i++)
    {
      add (program, (struct sock_filter) BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1));
      add (program, (struct sock_filter) RETURN (no));
    }
  /* The internet, and what the resolver talks to on this machine. */
  add (program, (struct sock_filter) BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 7));
  add (program, (struct sock_filter) LOAD (args[0]));
  add (program, (struct sock_filter) BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 4, 0));
  add (program, (struct sock_filter) BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 3, 0));
  add (program, (struct sock_filter) BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 2, 0));
  add (program, (struct sock_filter) BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0));
  add (program, (struct sock_filter) RETURN (SECCOMP_RET_ERRNO | EAFNOSUPPORT));
  add (program, (struct sock_filter) RETURN (SECCOMP_RET_ALLOW));
  /* Threads, no processes. */
  add (program, (struct sock_filter) BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  add (program, (struct sock_filter) LOAD (args[0]));
  add (program, (struct sock_filter) BPF_JUMP (BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
  add (program, (struct sock_filter) RETURN (no));
  add (program, (struct sock_filter) RETURN (SECCOMP_RET_ALLOW));
}

bool
ow_proxy_harden_calls (const char *removable)
{
  struct sock_filter instructions[32 + 2 * N_REFUSED];
  struct sock_fprog program = { .filter = instructions };

  if (!drop_capabilities () || !restrict_files (removable))
    return false;
  write_filter (&program);
  if (syscall (SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0)
    return true;
  /* A kernel that was built without filters: the other layers stay. */
  return errno == ENOSYS || errno == EINVAL;
}

#else

bool
ow_proxy_harden_calls (const char *removable)
{
  return drop_capabilities () && restrict_files (removable);
}

#endif
