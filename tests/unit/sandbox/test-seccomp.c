/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* Each row is one system call made by a child under the filter. A child is needed: a
 * filter cannot be taken off again. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ow-seccomp-private.h"

#define HIGH (1ull << 32)

typedef struct {
  const char *name;
  long        call;
  guint64     args[6];
  int         error; /* 0: allowed, whatever the kernel then says but @error's kin */
} Row;

static const Row denied[] = {
  { "unshare-user", SYS_unshare, { CLONE_NEWUSER }, EPERM },
  { "unshare-net", SYS_unshare, { CLONE_NEWNET }, EPERM },
  { "unshare-time", SYS_unshare, { 0x80 }, EPERM },
  { "setns", SYS_setns, { 0, 0 }, EPERM },
  { "clone-user", SYS_clone, { CLONE_NEWUSER | SIGCHLD }, EPERM },
  { "clone-mount", SYS_clone, { CLONE_NEWNS | SIGCHLD }, EPERM },
  { "clone-net", SYS_clone, { CLONE_NEWNET | CLONE_VM | SIGCHLD }, EPERM },
  { "clone-pid", SYS_clone, { CLONE_NEWPID | SIGCHLD }, EPERM },
  { "clone-ipc", SYS_clone, { CLONE_NEWIPC | SIGCHLD }, EPERM },
  { "clone-uts", SYS_clone, { CLONE_NEWUTS | SIGCHLD }, EPERM },
  { "clone-cgroup", SYS_clone, { CLONE_NEWCGROUP | SIGCHLD }, EPERM },
  { "clone3", SYS_clone3, { 0, 0 }, ENOSYS },
  { "mount", SYS_mount, { 0 }, EPERM },
  { "umount2", SYS_umount2, { 0 }, EPERM },
  { "pivot_root", SYS_pivot_root, { 0 }, EPERM },
  { "chroot", SYS_chroot, { 0 }, EPERM },
  { "open_tree", SYS_open_tree, { 0 }, EPERM },
  { "open_tree_attr", 467, { 0 }, EPERM },
  { "move_mount", SYS_move_mount, { 0 }, EPERM },
  { "fsopen", SYS_fsopen, { 0 }, EPERM },
  { "fsconfig", SYS_fsconfig, { 0 }, EPERM },
  { "fsmount", SYS_fsmount, { 0 }, EPERM },
  { "fspick", SYS_fspick, { 0 }, EPERM },
  { "mount_setattr", SYS_mount_setattr, { 0 }, EPERM },
  { "quotactl", SYS_quotactl, { 0 }, EPERM },
  { "quotactl_fd", SYS_quotactl_fd, { (guint64) - 1 }, EPERM },
  { "swapon", SYS_swapon, { 0 }, EPERM },
  { "swapoff", SYS_swapoff, { 0 }, EPERM },
  { "fanotify_init", SYS_fanotify_init, { 0x1000 }, EPERM },
  { "acct", SYS_acct, { 1 }, EPERM },
  { "reboot", SYS_reboot, { 0 }, EPERM },
  { "settimeofday", SYS_settimeofday, { 1, 0 }, EPERM },
  { "clock_settime", SYS_clock_settime, { CLOCK_REALTIME, 0 }, EPERM },
#ifdef __x86_64__
  { "modify_ldt", SYS_modify_ldt, { 0 }, EPERM },
  { "uselib", SYS_uselib, { 0 }, EPERM },
  { "_sysctl", SYS__sysctl, { 0 }, EPERM },
  { "iopl", SYS_iopl, { 0 }, EPERM },
  { "ioperm", SYS_ioperm, { 0 }, EPERM },
  { "lookup_dcookie", SYS_lookup_dcookie, { 0 }, EPERM },
#endif
  { "socket-dccp", SYS_socket, { AF_INET, SOCK_DCCP, 0 }, ESOCKTNOSUPPORT },
  { "socket-dccp-flags", SYS_socket, { AF_INET6, SOCK_DCCP | SOCK_CLOEXEC, 0 },
    ESOCKTNOSUPPORT },
  { "socket-sctp", SYS_socket, { AF_INET, SOCK_STREAM, IPPROTO_SCTP }, EPROTONOSUPPORT },
  { "socket-sctp-high-bits", SYS_socket, { HIGH | AF_INET6, SOCK_SEQPACKET, HIGH | IPPROTO_SCTP },
    EPROTONOSUPPORT },
  { "socket-l2tp", SYS_socket, { AF_INET, SOCK_DGRAM, 115 }, EPROTONOSUPPORT },
  { "open_by_handle_at", SYS_open_by_handle_at, { 0 }, EPERM },
  { "io_uring_setup", SYS_io_uring_setup, { 1, 0 }, ENOSYS },
  { "io_uring_enter", SYS_io_uring_enter, { 0 }, ENOSYS },
  { "io_uring_register", SYS_io_uring_register, { 0 }, ENOSYS },
  { "keyctl", SYS_keyctl, { 0 }, EPERM },
  { "add_key", SYS_add_key, { 0 }, EPERM },
  { "request_key", SYS_request_key, { 0 }, EPERM },
  { "bpf", SYS_bpf, { 0 }, EPERM },
  { "perf_event_open", SYS_perf_event_open, { 0 }, EPERM },
  { "userfaultfd", SYS_userfaultfd, { 1 }, EPERM },
  { "kexec_load", SYS_kexec_load, { 0 }, EPERM },
  { "kexec_file_load", SYS_kexec_file_load, { 0 }, EPERM },
  { "init_module", SYS_init_module, { 0 }, EPERM },
  { "finit_module", SYS_finit_module, { 0 }, EPERM },
  { "delete_module", SYS_delete_module, { 0 }, EPERM },
  { "socket-packet", SYS_socket, { AF_PACKET, SOCK_RAW, 0 }, EAFNOSUPPORT },
  { "socket-packet-high-bits", SYS_socket, { HIGH | AF_PACKET, SOCK_RAW, 0 }, EAFNOSUPPORT },
  { "socket-vsock", SYS_socket, { AF_VSOCK, SOCK_STREAM, 0 }, EAFNOSUPPORT },
  { "socket-alg", SYS_socket, { AF_ALG, SOCK_SEQPACKET, 0 }, EAFNOSUPPORT },
  { "socket-key", SYS_socket, { AF_KEY, SOCK_RAW, 2 }, EAFNOSUPPORT },
  { "socket-x25", SYS_socket, { AF_X25, SOCK_SEQPACKET, 0 }, EAFNOSUPPORT },
  { "socket-ax25-high-bits", SYS_socket, { HIGH | AF_AX25, SOCK_DGRAM, 0 }, EAFNOSUPPORT },
  { "socket-bluetooth", SYS_socket, { AF_BLUETOOTH, SOCK_RAW, 1 }, EAFNOSUPPORT },
  { "socket-netlink-audit", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_AUDIT }, EAFNOSUPPORT },
  { "socket-netlink-netfilter", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
    EAFNOSUPPORT },
  { "socket-netlink-high-bits", SYS_socket, { HIGH | AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
    EAFNOSUPPORT },
  { "socketpair-tipc", SYS_socketpair, { AF_TIPC, SOCK_STREAM, 0 }, EAFNOSUPPORT },
  { "syslog", SYS_syslog, { 3, 0 }, EPERM },
  { "S08/chmod-setuid", SYS_chmod, { 0, 04755 }, EPERM },
  { "S08/chmod-setuid-high-bits", SYS_chmod, { 0, HIGH | 04755 }, EPERM },
  { "S08/fchmod-setuid", SYS_fchmod, { (guint64) - 1, 06711 }, EPERM },
  { "S08/fchmodat-setuid", SYS_fchmodat, { 0, 0, 04000 }, EPERM },
  { "S08/fchmodat2-setuid", 452, { 0, 0, 04755, 0 }, EPERM },
};

static const Row allowed[] = {
  { "socket-unix", SYS_socket, { AF_UNIX, SOCK_STREAM, 0 }, 0 },
  { "socket-inet", SYS_socket, { AF_INET, SOCK_STREAM, 0 }, 0 },
  { "socket-inet6", SYS_socket, { AF_INET6, SOCK_STREAM, 0 }, 0 },
  { "socket-tcp", SYS_socket, { AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP }, 0 },
  { "socket-udp6", SYS_socket, { AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP }, 0 },
  { "name_to_handle_at", SYS_name_to_handle_at, { 0 }, EFAULT },
  { "personality", SYS_personality, { 0xffffffff }, 0 },
  { "process_vm_readv", SYS_process_vm_readv, { 1, 0, 0, 0, 0, 1 }, EINVAL },
  { "pidfd_open", SYS_pidfd_open, { 0 }, EINVAL },
  { "sched_setaffinity", SYS_sched_setaffinity, { 0, 8, 0 }, EFAULT },
  { "inotify", SYS_inotify_add_watch, { (guint64) - 1, 0, 1 }, EBADF },
  { "socket-netlink-route", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, 0 },
  { "getpid", SYS_getpid, { 0 }, 0 },
  { "chmod", SYS_chmod, { 0, 03777 }, EFAULT },
  { "fchmod", SYS_fchmod, { (guint64) - 1, 02755 }, EBADF },
  { "fchmodat", SYS_fchmodat, { (guint64) AT_FDCWD, 0, 0644 }, EFAULT },
  { "ptrace-me", SYS_ptrace, { PTRACE_TRACEME }, 0 },
  { "memfd", SYS_memfd_create, { 0 }, EFAULT },
  { "landlock", SYS_landlock_create_ruleset, { 0, 0, 1 }, 0 },
  { "seccomp", SYS_seccomp, { 2, 0, 0 }, EFAULT },
};

static void
load_filter (int fd)
{
  static struct sock_filter program[8192];
  ssize_t length = read (fd, program, sizeof program);
  struct sock_fprog fprog = { .filter = program };

  fprog.len = (unsigned short) ((size_t) length / sizeof program[0]);
  if (length <= 0 || prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog) != 0)
    _exit (200);
}

/* The errno of the call in a child under the filter, 0 for success. */
static int
run_row (const Row *row)
{
  g_autoptr (GError) error = NULL;
  int fd = ow_seccomp_make_filter (&error);
  int status = 0;
  pid_t pid;

  g_assert_no_error (error);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      long result;

      load_filter (fd);
      result = syscall (row->call, row->args[0], row->args[1], row->args[2], row->args[3],
                        row->args[4], row->args[5]);
      _exit (result < 0 ? errno : 0);
    }
  close (fd);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

static void
test_row (gconstpointer data)
{
  const Row *row = data;

  g_assert_cmpint (run_row (row), ==, row->error);
}

/* In a child with a terminal of its own, so that without the guard no key press reaches
 * a real one. @request may have high bits that the kernel does not look at. */
static int
push_to_terminal (guint64 request)
{
  g_autoptr (GError) error = NULL;
  int filter = ow_seccomp_make_filter (&error);
  int status = 0;
  int master = -1;
  pid_t pid;

  g_assert_no_error (error);
  pid = forkpty (&master, NULL, NULL, NULL);
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      long result;

      load_filter (filter);
      result = syscall (SYS_ioctl, 0, request, "x");
      _exit (result < 0 ? errno : 0);
    }
  close (filter);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  close (master);
  g_assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

static void
test_terminal (void)
{
  g_assert_cmpint (push_to_terminal (TIOCSTI), ==, EPERM);
  g_assert_cmpint (push_to_terminal (HIGH | TIOCSTI), ==, EPERM);
  g_assert_cmpint (push_to_terminal (0x541C), ==, EPERM);
  g_assert_cmpint (push_to_terminal (0xdeadbeef00000000ull | 0x541C), ==, EPERM);
  g_assert_cmpint (push_to_terminal (TIOCSETD), ==, EPERM);
  g_assert_cmpint (push_to_terminal (HIGH | TIOCSETD), ==, EPERM);
  /* The control: another request of a terminal gets through to it. */
  g_assert_cmpint (push_to_terminal (TIOCOUTQ), !=, EPERM);
}

#ifdef __x86_64__
static int
run_foreign (gboolean x32)
{
  g_autoptr (GError) error = NULL;
  int fd = ow_seccomp_make_filter (&error);
  int status = 0;
  pid_t pid;

  g_assert_no_error (error);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      long result = -1;

      load_filter (fd);
      if (x32)
        result = syscall (0x40000000 | SYS_getpid);
      else
        __asm__ volatile ("int $0x80" : "=a" (result) : "a" (20) : "memory");
      _exit (result > 0 ? 0 : 1);
    }
  close (fd);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  return status;
}

/* Number 310 is unshare to the 32-bit entrance and a harmless call to the other. */
static void
test_foreign (void)
{
  int status = run_foreign (FALSE);

  g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGSYS);
  status = run_foreign (TRUE);
  g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGSYS);
}
#endif

/* What every shell does must go on working: processes, threads, pipes. */
static void
test_ordinary (void)
{
  g_autoptr (GError) error = NULL;
  int fd = ow_seccomp_make_filter (&error);
  int status = 0;
  pid_t pid;

  g_assert_no_error (error);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      load_filter (fd);
      execl ("/bin/sh", "sh", "-c", "test \"$(echo a | cat; (echo b) & wait)\" = 'a\nb'", NULL);
      _exit (201);
    }
  close (fd);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
}

static void
test_sealed (void)
{
  g_autoptr (GError) error = NULL;
  int fd = ow_seccomp_make_filter (&error);

  g_assert_no_error (error);
  g_assert_cmpint (fcntl (fd, F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);
  g_assert_cmpint ((int) write (fd, "x", 1), ==, -1);
  close (fd);
}

static void
add_rows (const char *group,
          const Row  *rows,
          gsize       n)
{
  for (gsize i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("/seccomp/%s/%s", group, rows[i].name);

      g_test_add_data_func (path, &rows[i], test_row);
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add_rows ("denied", denied, G_N_ELEMENTS (denied));
  add_rows ("allowed", allowed, G_N_ELEMENTS (allowed));
  g_test_add_func ("/seccomp/S20/terminal", test_terminal);
#ifdef __x86_64__
  g_test_add_func ("/seccomp/foreign", test_foreign);
#endif
  g_test_add_func ("/seccomp/ordinary", test_ordinary);
  g_test_add_func ("/seccomp/sealed", test_sealed);
  return g_test_run ();
}
