/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-process-private.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ow-runner-inner-private.h"
#include "ow-runner-loop-private.h"

#define MARK "OPENWORKER_TASK"
/* An environment that is longer is not looked through to its end. */
#define ENVIRONMENT_MAX (4u * 1024u * 1024u)
/* Commands say how many processes there are and how much each has to be looked through: of all
 * together so much in a second, where each counts as a page at least. */
#define LOOKED_S        (32u * 1024u * 1024u)
#define LOOKED_LEAST    4096u

static const struct {
  const char *name;
  const char *value;
} unattended[] = {
  { "TERM", "dumb" },
  /* Nobody turns pages. */
  { "PAGER", "cat" },
  { "GIT_PAGER", "cat" },
  { "MANPAGER", "cat" },
  { "SYSTEMD_PAGER", "cat" },
  { "GH_PAGER", "cat" },
  { "AWS_PAGER", "" },
  { "PSQL_PAGER", "cat" },
  { "BAT_PAGER", "cat" },
  /* Nobody types: what asks gets no answer at once, in a window neither. */
  { "GIT_TERMINAL_PROMPT", "0" },
  { "GIT_ASKPASS", "false" },
  { "SSH_ASKPASS", "false" },
  { "SSH_ASKPASS_REQUIRE", "never" },
  { "SUDO_ASKPASS", "/bin/false" },
  { "DEBIAN_FRONTEND", "noninteractive" },
  { "APT_LISTCHANGES_FRONTEND", "none" },
  { "PIP_NO_INPUT", "1" },
  { "POETRY_NO_INTERACTION", "1" },
  { "COMPOSER_NO_INTERACTION", "1" },
  { "GH_PROMPT_DISABLED", "1" },
  { "CLOUDSDK_CORE_DISABLE_PROMPTS", "1" },
  { "TF_INPUT", "0" },
  { "NG_CLI_ANALYTICS", "false" },
  /* Nobody edits. */
  { "EDITOR", "false" },
  { "VISUAL", "false" },
  { "GIT_EDITOR", "echo 'There is no editor: give the text with -m or in a file.' >&2; false" },
  { "GIT_MERGE_AUTOEDIT", "no" },
  /* Nobody watches a bar grow. */
  { "PIP_PROGRESS_BAR", "off" },
  { "CARGO_TERM_PROGRESS_WHEN", "never" },
  { "npm_config_progress", "false" },
  { "npm_config_update_notifier", "false" },
  { "NO_UPDATE_NOTIFIER", "1" },
  { "GH_NO_UPDATE_NOTIFIER", "1" },
};

void
ow_runner_process_reset (void)
{
  sigset_t none;

  for (int number = 1; number < NSIG; number++)
    signal (number, SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  if (prctl (PR_SET_PDEATHSIG, SIGKILL) < 0)
    _exit (127);
}

void
ow_runner_process_die_with (pid_t parent)
{
  if (prctl (PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid () != parent)
    _exit (127);
}

/* A child must not run with a descriptor of ours in this one's place: over --stdio that
 * would be the client's own stream. */
static bool
put_at (int from,
        int to)
{
  if (from < 0)
    from = open ("/dev/null", to == STDIN_FILENO ? O_RDONLY | O_CLOEXEC
                                                      : O_WRONLY | O_CLOEXEC);
  if (from < 0)
    return false;
  return from == to ? fcntl (to, F_SETFD, 0) == 0 : dup2 (from, to) == to;
}

static void
child_main (const OwRunnerSpawn *spawn,
            int                  report_fd,
            pid_t                parent)
{
  ow_runner_process_reset ();
  if (getppid () != parent)
    _exit (127);
  for (size_t i = 0; i < sizeof unattended / sizeof unattended[0]; i++)
    setenv (unattended[i].name, unattended[i].value, 1);
  if (spawn->mark != NULL)
    setenv (MARK, spawn->mark, 1);
  if (setsid () >= 0 && put_at (spawn->stdin_fd, STDIN_FILENO)
      && put_at (spawn->stdout_fd, STDOUT_FILENO) && put_at (spawn->stderr_fd, STDERR_FILENO)
      && (!spawn->terminal || ioctl (STDIN_FILENO, TIOCSCTTY, 0) == 0)
      && (spawn->cwd == NULL || chdir (spawn->cwd) == 0)
      && close_range (STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
    execvp (spawn->argv[0], (char *const *) spawn->argv);
  if (write (report_fd, &errno, sizeof errno) < 0)
    _exit (126);
  _exit (127);
}

/* As fork(), but the child is this process's own parent's. */
static pid_t
fork_sibling (void)
{
  return (pid_t) syscall (SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
}

pid_t
ow_runner_process_start (const OwRunnerSpawn *spawn,
                         pid_t                parent,
                         bool                 sibling)
{
  int report[2];
  int error = 0;
  ssize_t got;
  pid_t pid;

  if (pipe2 (report, O_CLOEXEC) < 0)
    return -1;
  pid = sibling ? fork_sibling () : fork ();
  if (pid == 0)
    child_main (spawn, report[1], parent);
  close (report[1]);
  if (pid < 0)
    {
      error = errno;
    }
  else
    {
      do
        got = read (report[0], &error, sizeof error);
      while (got < 0 && errno == EINTR);
      if (got != (ssize_t) sizeof error)
        error = 0;
      else if (!sibling)
        waitpid (pid, NULL, 0);
    }
  close (report[0]);
  if (error == 0)
    return pid;
  errno = error;
  return -1;
}

pid_t
ow_runner_process_spawn (const OwRunnerSpawn *spawn)
{
  return ow_runner_inner_is_on () ? ow_runner_inner_spawn (spawn)
                                  : ow_runner_process_start (spawn, getpid (), false);
}

static bool
read_stat (const char      *pid,
           OwRunnerProcess *process)
{
  char path[64];
  char text[1024];
  char *name_start;
  char *name_end;
  ssize_t got;
  int fd;

  snprintf (path, sizeof path, "/proc/%.20s/stat", pid);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  got = read (fd, text, sizeof text - 1);
  close (fd);
  if (got <= 0)
    return false;
  text[got] = '\0';
  /* The name stands in brackets and may itself hold brackets and spaces. */
  name_start = strchr (text, '(');
  name_end = strrchr (text, ')');
  if (name_start == NULL || name_end == NULL || name_end < name_start)
    return false;
  *name_end = '\0';
  snprintf (process->name, sizeof process->name, "%.31s", name_start + 1);
  process->pid = (pid_t) atol (pid);
  return sscanf (name_end + 1, " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                 "%*d %*d %llu", &process->state, &process->parent, &process->session,
                 &process->start) == 4;
}

OwRunnerProcess *
ow_runner_process_list (size_t *n)
{
  DIR *proc = opendir ("/proc");
  OwRunnerProcess *list = NULL;
  size_t capacity = 0;
  struct dirent *entry;

  *n = 0;
  if (proc == NULL)
    return NULL;
  while ((entry = readdir (proc)) != NULL)
    {
      if (!isdigit ((unsigned char) entry->d_name[0]))
        continue;
      if (*n == capacity)
        {
          OwRunnerProcess *more = realloc (list, (capacity + 256) * sizeof *list);

          if (more == NULL)
            break;
          list = more;
          capacity += 256;
        }
      if (read_stat (entry->d_name, &list[*n]) && list[*n].state != 'Z' && list[*n].state != 'X')
        (*n)++;
    }
  closedir (proc);
  return list;
}

bool
ow_runner_process_is_below (const OwRunnerProcess *list,
                            size_t                 n,
                            size_t                 at,
                            pid_t                  root)
{
  /* The snapshot is not atomic, so a ring of parents is possible: bounded. */
  for (int depth = 0; depth < 256; depth++)
    {
      pid_t parent = list[at].parent;
      size_t i;

      if (parent == root)
        return true;
      if (parent <= 1)
        return false;
      for (i = 0; i < n && list[i].pid != parent; i++)
        ;
      if (i == n)
        return false;
      at = i;
    }
  return false;
}

bool
ow_runner_process_is_stopped (pid_t pid)
{
  OwRunnerProcess process;
  char name[32];

  snprintf (name, sizeof name, "%d", (int) pid);
  /* Not what a tracer does to it, which is over in a moment. */
  return read_stat (name, &process) && process.state == 'T';
}

bool
ow_runner_process_is_own (pid_t pid)
{
  pid_t self = getpid ();

  for (int depth = 0; depth < 256 && pid != self; depth++)
    {
      OwRunnerProcess process;
      char name[32];

      if (pid <= 1)
        return false;
      snprintf (name, sizeof name, "%d", (int) pid);
      if (!read_stat (name, &process))
        return true;
      pid = process.parent;
    }
  return true;
}

static bool
copy_mark (const char *entry,
           char        mark[OW_RUNNER_PROCESS_MARK_MAX])
{
  size_t length = strlen (entry);

  if (length == 0 || length >= OW_RUNNER_PROCESS_MARK_MAX)
    return false;
  memcpy (mark, entry, length + 1);
  return true;
}

/* What may be looked through now, @looked of which the last look took. */
static size_t
left_to_look (size_t looked)
{
  static int64_t filled;
  static size_t left;
  int64_t now = ow_runner_loop_now ();
  int64_t passed = now - filled;

  left -= looked < left ? looked : left;
  left += passed >= 1000 ? LOOKED_S - left : (size_t) passed * (LOOKED_S / 1000);
  left = left < LOOKED_S ? left : LOOKED_S;
  filled = now;
  return left;
}

bool
ow_runner_process_read_mark (pid_t pid,
                             char  mark[OW_RUNNER_PROCESS_MARK_MAX])
{
  char path[64];
  char *entry = NULL;
  size_t size = 0;
  size_t seen = 0;
  size_t max = left_to_look (0);
  bool found = false;
  FILE *file;

  if (max < LOOKED_LEAST)
    return false;
  max = max < ENVIRONMENT_MAX ? max : ENVIRONMENT_MAX;
  snprintf (path, sizeof path, "/proc/%d/environ", (int) pid);
  file = fopen (path, "re");
  if (file == NULL)
    return false;
  while (!found && seen < max)
    {
      ssize_t got = getdelim (&entry, &size, '\0', file);

      if (got <= 0)
        break;
      seen += (size_t) got;
      found = strncmp (entry, MARK "=", sizeof MARK) == 0 && copy_mark (entry + sizeof MARK, mark);
    }
  left_to_look (seen < LOOKED_LEAST ? LOOKED_LEAST : seen);
  free (entry);
  fclose (file);
  return found;
}

unsigned long long
ow_runner_process_now (void)
{
  struct timespec now;
  unsigned long long ticks = (unsigned long long) sysconf (_SC_CLK_TCK);

  clock_gettime (CLOCK_BOOTTIME, &now);
  return (unsigned long long) now.tv_sec * ticks
         + (unsigned long long) now.tv_nsec * ticks / 1000000000ull;
}

void
ow_runner_process_kill_all (int max_ms)
{
  int64_t deadline = ow_runner_loop_now () + max_ms;
  pid_t self = getpid ();
  bool any = true;

  while (any && ow_runner_loop_now () < deadline)
    {
      size_t n;
      OwRunnerProcess *list = ow_runner_process_list (&n);

      any = false;
      for (size_t i = 0; i < n; i++)
        {
          if (!ow_runner_process_is_below (list, n, i, self))
            continue;
          any = true;
          kill (list[i].pid, SIGKILL);
        }
      free (list);
      while (waitpid (-1, NULL, WNOHANG) > 0)
        any = true;
      if (any)
        usleep (1000);
    }
}

const char *
ow_runner_process_signal_name (int number)
{
  return sigabbrev_np (number);
}
