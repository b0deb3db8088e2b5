/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* The kernel: what of it a wall should keep out of reach. What would change the machine is only
 * opened, or asked for with what changes nothing. */

#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS_MAX  300
#define MEMORY_MIB 512

/* --- /proc and /sys --- */

/* @paths end with NULL. */
static Verdict
open_to_write (const char * const *paths)
{
  for (;; paths++)
    {
      int fd = open (*paths, O_WRONLY | O_CLOEXEC);

      if (fd >= 0)
        {
          close (fd);
          say ("%s can be written", *paths);
          return OPEN;
        }
      if (paths[1] == NULL)
        return refused (*paths);
    }
}

#define ANY_OF(...) open_to_write ((const char * const []) { __VA_ARGS__, NULL })

static Verdict
core_pattern (void)
{
  return ANY_OF ("/proc/sys/kernel/core_pattern");
}

static Verdict
proc_sys (void)
{
  return ANY_OF ("/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug",
                 "/proc/sys/fs/binfmt_misc/register", "/proc/sys/kernel/printk",
                 "/proc/sys/vm/drop_caches", "/proc/sys/vm/overcommit_memory",
                 "/proc/sys/fs/suid_dumpable", "/proc/sys/kernel/panic");
}

static Verdict
sysrq (void)
{
  return ANY_OF ("/proc/sysrq-trigger");
}

static Verdict
sys_write (void)
{
  return ANY_OF ("/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled",
                 "/sys/kernel/profiling", "/sys/power/state", "/sys/kernel/rcu_normal",
                 "/sys/module/printk/parameters/time");
}

static Verdict
kcore (void)
{
  char head[4] = "";
  int fd = open ("/proc/kcore", O_RDONLY | O_CLOEXEC);

  if (fd < 0 || read (fd, head, sizeof head) != 4)
    return refused ("/proc/kcore");
  say ("the kernel's memory can be read");
  return memcmp (head, "\177ELF", 4) == 0 ? OPEN : HELD;
}

/* With their addresses hidden all of them read as zeros. */
static Verdict
addresses (void)
{
  char data[16384] = "";
  int fd = open ("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

  if (fd < 0 || read (fd, data, sizeof data - 1) <= 0)
    return refused ("/proc/kallsyms");
  for (char *line = data; line != NULL && *line != '\0'; line = strchr (line, '\n'))
    {
      line += *line == '\n';
      if (strtoul (line, NULL, 16) > 0xffff)
        {
          say ("addresses of the kernel can be read");
          return OPEN;
        }
    }
  say ("all addresses are zeros");
  return HELD;
}

static Verdict
kernel_log (void)
{
  static char data[65536];

  if (klogctl (3, data, sizeof data) < 0)
    return refused ("syslog");
  say ("the kernel's log was read");
  return OPEN;
}

/* --- groups of processes --- */

static Verdict
open_pattern (const char *pattern)
{
  glob_t found;
  Verdict verdict = HELD;

  say ("%s: none there", pattern);
  if (glob (pattern, GLOB_NOSORT, NULL, &found) != 0)
    return HELD;
  for (size_t i = 0; verdict != OPEN && i < found.gl_pathc; i++)
    verdict = ANY_OF (found.gl_pathv[i]);
  globfree (&found);
  return verdict;
}

static Verdict
cgroup_agent (void)
{
  char place[4096], pattern[4200];

  if (open_pattern ("/sys/fs/cgroup/*/release_agent") == OPEN)
    return OPEN;
  /* Namespaces of one's own gave it to anybody once. */
  snprintf (place, sizeof place, "%s", in_folder ("cgroup"));
  mkdir (place, 0755);
  if (unshare (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP) < 0)
    return refused ("release_agent, and namespaces");
  if (mount ("cgroup", place, "cgroup", 0, "memory") < 0 &&
      mount ("cgroup", place, "cgroup", 0, "rdma") < 0)
    return refused ("release_agent, and a mount of cgroup");
  snprintf (pattern, sizeof pattern, "%s/release_agent", place);
  return open_pattern (pattern);
}

static Verdict
cgroup_move (void)
{
  if (open_pattern ("/sys/fs/cgroup/cgroup.procs") == OPEN)
    return OPEN;
  return open_pattern ("/sys/fs/cgroup/*/cgroup.procs");
}

/* --- mounts and namespaces --- */

static Verdict
mount_old (void)
{
  char place[4096];

  snprintf (place, sizeof place, "%s", in_folder ("mount"));
  mkdir (place, 0755);
  if (mount ("escape", place, "tmpfs", 0, NULL) < 0)
    return refused ("mount");
  umount (place);
  say ("a file system was mounted");
  return OPEN;
}

static Verdict
mount_new (void)
{
  if (syscall (SYS_fsopen, "tmpfs", 0) < 0)
    return refused ("fsopen");
  say ("a file system was opened");
  return OPEN;
}

static Verdict
mount_copy (void)
{
  if (syscall (SYS_open_tree, AT_FDCWD, "/", 1 | O_CLOEXEC) < 0)
    return refused ("open_tree");
  say ("a tree of mounts was copied");
  return OPEN;
}

/* With the flags that it has: nothing changes. */
static Verdict
mount_again (void)
{
  struct statvfs now;
  unsigned long flags = MS_REMOUNT | MS_BIND;

  if (statvfs ("/", &now) < 0)
    return refused ("/");
  flags |= now.f_flag & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC);
  flags |= now.f_flag & 4096 ? MS_RELATIME : 0;
  if (mount (NULL, "/", NULL, flags, NULL) < 0)
    return refused ("remount");
  say ("/ was mounted again");
  return OPEN;
}

static Verdict
root_changed (void)
{
  if (chroot (plan_get ("folder")) < 0)
    return refused ("chroot");
  say ("the root was changed");
  return OPEN;
}

static Verdict
in_child (int (*attempt)(void))
{
  int status = 0;
  pid_t pid = fork ();

  if (pid == 0)
    _exit (attempt () == 0 ? 0 : errno);
  waitpid (pid, &status, 0);
  if (WIFEXITED (status) && WEXITSTATUS (status) == 0)
    return OPEN;
  errno = WIFEXITED (status) ? WEXITSTATUS (status) : EPERM;
  return HELD;
}

static int
by_unshare (void)
{
  return unshare (CLONE_NEWUSER);
}

static int
by_clone (void)
{
  long pid = syscall (SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

  if (pid == 0)
    _exit (0);
  return pid < 0 ? -1 : 0;
}

static int
by_clone3 (void)
{
  struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
  long pid = syscall (SYS_clone3, &args, sizeof args);

  if (pid == 0)
    _exit (0);
  return pid < 0 ? -1 : 0;
}

static Verdict
user_spaces (void)
{
  if (in_child (by_unshare) == OPEN)
    say ("unshare made one");
  else if (in_child (by_clone) == OPEN)
    say ("clone made one");
  else if (in_child (by_clone3) == OPEN)
    say ("clone3 made one");
  else
    return refused ("unshare, clone, clone3");
  return OPEN;
}

#ifdef __x86_64__
/* The entrance for 32-bit programs, where the same calls have other numbers: unshare. */
static int
by_old_entrance (void)
{
  long result;

  __asm__ volatile ("int $0x80" : "=a" (result) : "a" (310), "b" (CLONE_NEWUSER) : "memory", "r8",
                    "r9", "r10", "r11");
  errno = result < 0 ? (int) -result : 0;
  return result < 0 ? -1 : 0;
}

static int
by_x32_entrance (void)
{
  return (int) syscall (0x40000000 | SYS_unshare, CLONE_NEWUSER);
}
#endif

static Verdict
other_entrance (void)
{
#ifdef __x86_64__
  if (in_child (by_old_entrance) == OPEN || in_child (by_x32_entrance) == OPEN)
    {
      say ("a user namespace was made by another entrance");
      return OPEN;
    }
  return refused ("int 0x80, x32");
#else
  return VOID;
#endif
}

/* --- parts that have been ways out --- */

static Verdict
io_uring (void)
{
  struct io_uring_params params = { 0 };

  if (syscall (SYS_io_uring_setup, 4, &params) < 0)
    return refused ("io_uring_setup");
  say ("a ring was made");
  return OPEN;
}

static Verdict
bpf (void)
{
  union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4,
                          .max_entries = 1 };

  if (syscall (SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr) < 0)
    return refused ("bpf");
  say ("a map was made");
  return OPEN;
}

static Verdict
perf (void)
{
  struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof attr,
                                  .config = PERF_COUNT_SW_CPU_CLOCK, .exclude_kernel = 1 };

  if (syscall (SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0)
    return refused ("perf_event_open");
  say ("an event was opened");
  return OPEN;
}

static Verdict
user_faults (void)
{
  if (syscall (SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY) < 0)
    return refused ("userfaultfd");
  say ("page faults can be held up");
  return OPEN;
}

/* Something that is no module: where it would be read, it is found to be none. */
static Verdict
module (void)
{
  if (syscall (SYS_init_module, "no module", 9ul, "") < 0 &&
      (errno == EPERM || errno == ENOSYS || errno == EACCES))
    return refused ("init_module");
  say ("the kernel read it: %s", strerror (errno));
  return OPEN;
}

/* The name that it has. */
static Verdict
host_name (void)
{
  char name[256] = "";

  if (gethostname (name, sizeof name - 1) < 0 || sethostname (name, strlen (name)) < 0)
    return refused ("sethostname");
  say ("the host's name was set");
  return OPEN;
}

/* --- sockets that are of the kernel's own --- */

static Verdict
socket_of (int         family,
           int         type,
           int         protocol,
           const char *name)
{
  if (socket (family, type, protocol) < 0)
    return refused (name);
  say ("a socket of %s was made", name);
  return OPEN;
}

static Verdict
raw_socket (void)
{
  return socket_of (AF_INET, SOCK_RAW, 1, "SOCK_RAW");
}

static Verdict
packet_socket (void)
{
  return socket_of (AF_PACKET, SOCK_RAW, 0x0300, "AF_PACKET");
}

static Verdict
vsock_socket (void)
{
  return socket_of (AF_VSOCK, SOCK_STREAM, 0, "AF_VSOCK");
}

static Verdict
alg_socket (void)
{
  return socket_of (AF_ALG, SOCK_SEQPACKET, 0, "AF_ALG");
}

/* AUDIT, XFRM, NETFILTER, CONNECTOR, UEVENT, CRYPTO. */
static Verdict
netlink_others (void)
{
  static const int kinds[] = { 9, 6, 12, 11, 15, 21 };

  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (socket_of (AF_NETLINK, SOCK_RAW, kinds[i], "AF_NETLINK") == OPEN)
      {
        say ("netlink's protocol %d was opened", kinds[i]);
        return OPEN;
      }
  return HELD;
}

/* An address on the loopback, which is taken away again. */
static Verdict
netlink_write (void)
{
  struct {
    struct nlmsghdr  head;
    struct ifaddrmsg address;
    struct rtattr    local;
    unsigned char    bytes[4];
  } ask = { .address = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1 },
            .local = { .rta_len = 8, .rta_type = IFA_LOCAL }, .bytes = { 127, 66, 6, 6 } };
  struct {
    struct nlmsghdr  head;
    struct nlmsgerr  error;
  } reply = { 0 };
  int fd = socket (AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

  ask.head = (struct nlmsghdr) { .nlmsg_len = sizeof ask, .nlmsg_type = RTM_NEWADDR,
                                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE };
  if (fd < 0 || send (fd, &ask, sizeof ask, 0) < 0 || recv (fd, &reply, sizeof reply, 0) < 0)
    return refused ("netlink");
  errno = -reply.error.error;
  if (errno != 0 && errno != EEXIST)
    return refused ("RTM_NEWADDR");
  ask.head.nlmsg_type = RTM_DELADDR;
  send (fd, &ask, sizeof ask, 0);
  say ("an address was given to the loopback");
  return OPEN;
}

/* --- floods, bounded; facts only --- */

static Verdict
flood_tasks (void)
{
  pid_t made[TASKS_MAX];
  int n = 0;
  struct rlimit limit = { 0, 0 };

  while (n < TASKS_MAX && (made[n] = fork ()) >= 0)
    {
      if (made[n] == 0)
        {
          pause ();
          _exit (0);
        }
      n++;
    }
  getrlimit (RLIMIT_NPROC, &limit);
  say ("%d of %d tasks at once; RLIMIT_NPROC %ld", n, TASKS_MAX,
       limit.rlim_cur == RLIM_INFINITY ? -1 : (long) limit.rlim_cur);
  for (int i = 0; i < n; i++)
    kill (made[i], SIGKILL);
  while (n-- > 0)
    wait (NULL);
  return INFO;
}

static Verdict
flood_memory (void)
{
  int n = 0;
  struct rlimit limit = { 0, 0 };

  for (; n < MEMORY_MIB; n += 16)
    {
      char *data = mmap (NULL, 16ul << 20, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

      if (data == MAP_FAILED)
        break;
    }
  getrlimit (RLIMIT_AS, &limit);
  say ("%d of %d MiB of memory; RLIMIT_AS %ld", n, MEMORY_MIB,
       limit.rlim_cur == RLIM_INFINITY ? -1 : (long) limit.rlim_cur);
  return INFO;
}

const Probe kernel_probes[] = {
  { "core-pattern", core_pattern },
  { "proc-sys", proc_sys },
  { "sysrq", sysrq },
  { "kcore", kcore },
  { "addresses", addresses },
  { "sys-write", sys_write },
  { "kernel-log", kernel_log },
  { "cgroup-agent", cgroup_agent },
  { "cgroup-move", cgroup_move },
  { "mount", mount_old },
  { "mount-new", mount_new },
  { "mount-copy", mount_copy },
  { "mount-again", mount_again },
  { "chroot", root_changed },
  { "user-spaces", user_spaces },
  { "other-entrance", other_entrance },
  { "io-uring", io_uring },
  { "bpf", bpf },
  { "perf", perf },
  { "user-faults", user_faults },
  { "module", module },
  { "host-name", host_name },
  { "raw-socket", raw_socket },
  { "packet-socket", packet_socket },
  { "vsock-socket", vsock_socket },
  { "alg-socket", alg_socket },
  { "netlink-write", netlink_write },
  { "netlink-others", netlink_others },
  { "flood-tasks", flood_tasks },
  { "flood-memory", flood_memory },
  { NULL, NULL },
};
