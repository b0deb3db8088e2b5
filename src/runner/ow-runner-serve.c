/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-command-private.h"
#include "ow-runner-inner-private.h"
#include "ow-runner-keep-private.h"
#include "ow-runner-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-proxy-private.h"
#include "ow-runner-server-private.h"
#include "ow-runner-settings-private.h"
#include "ow-runner-setup-private.h"
#include "ow-runner-watch-private.h"

#define LEASE_DEFAULT_S 600
#define LEASE_MAX_S     (7 * 24 * 3600)
#define KILL_MAX_MS     5000
#define FOLDERS_MAX     256u
#define PROCESSES_MAX   (4 * 1024 * 1024)

typedef struct {
  const char **items; /* (owned), as long as argv */
  size_t       n;
} List;

typedef struct {
  const char *socket;
  bool        use_stdio;
  List        folders;
  bool       *folder_ro; /* (owned) */
  bool        landlock;
  List        landlock_list;
  List        landlock_ro;
  List        landlock_rw;
  List        paths;
  List        landlock_own; /* the server's, and no command's */
  const char *proxy_socket;
  uint16_t    proxy_port;
  const char *home;
  const char *undo;
  int         lease_s;
  int         max_processes; /* 0: as it is */
  bool        die_with_parent;
} Options;

static int
usage (const char *problem,
       const char *word)
{
  fprintf (stderr,
           "openworker-runner: %s%s%s\n"
           "Usage: openworker-runner serve (--socket PATH | --stdio) --folder PATH…\n"
           "         [--folder-ro PATH]… [--landlock [--landlock-list PATH]…\n"
           "         [--landlock-ro PATH]… [--landlock-rw PATH]… [--landlock-own PATH]…]\n"
           "         [--path PATH]…\n"
           "         [--home PATH] [--undo PATH] [--proxy-socket PATH --proxy-port N]\n"
           "         [--lease SECONDS] [--max-processes N] [--die-with-parent]\n",
           problem, word == NULL ? "" : ": ", word == NULL ? "" : word);
  return OW_RUNNER_EXIT_USAGE;
}

static void
add_folder (Options    *options,
            const char *path,
            bool        read_only)
{
  options->folder_ro[options->folders.n] = read_only;
  options->folders.items[options->folders.n++] = path;
}

/* 0: it is none from 1 to @most. */
static int
read_number (const char *text,
             long        most)
{
  char *end;
  long value;

  errno = 0;
  value = strtol (text, &end, 10);
  if (errno != 0 || *text == '\0' || *end != '\0' || value < 1 || value > most)
    return 0;
  return (int) value;
}

/* Returns whether the option takes the value, and it is good. */
static bool
take_value (Options    *options,
            const char *name,
            const char *value)
{
  if (strcmp (name, "--socket") == 0)
    options->socket = value;
  else if (strcmp (name, "--folder") == 0)
    add_folder (options, value, false);
  else if (strcmp (name, "--folder-ro") == 0)
    add_folder (options, value, true);
  else if (strcmp (name, "--landlock-list") == 0)
    options->landlock_list.items[options->landlock_list.n++] = value;
  else if (strcmp (name, "--landlock-ro") == 0)
    options->landlock_ro.items[options->landlock_ro.n++] = value;
  else if (strcmp (name, "--landlock-rw") == 0)
    options->landlock_rw.items[options->landlock_rw.n++] = value;
  else if (strcmp (name, "--landlock-own") == 0)
    options->landlock_own.items[options->landlock_own.n++] = value;
  else if (strcmp (name, "--path") == 0)
    options->paths.items[options->paths.n++] = value;
  else if (strcmp (name, "--home") == 0)
    return *(options->home = value) == '/';
  else if (strcmp (name, "--undo") == 0)
    options->undo = value;
  else if (strcmp (name, "--proxy-socket") == 0)
    options->proxy_socket = value;
  else if (strcmp (name, "--proxy-port") == 0)
    return (options->proxy_port = ow_runner_proxy_port (value)) != 0;
  else if (strcmp (name, "--lease") == 0)
    return (options->lease_s = read_number (value, LEASE_MAX_S)) != 0;
  else if (strcmp (name, "--max-processes") == 0)
    return (options->max_processes = read_number (value, PROCESSES_MAX)) != 0;
  else
    return false;
  return *value != '\0';
}

static int
parse_options (Options *options,
               int      argc,
               char   **argv)
{
  size_t room = (size_t) argc + 1;

  *options = (Options) { .lease_s = LEASE_DEFAULT_S };
  options->folders.items = calloc (room, sizeof (char *));
  options->folder_ro = calloc (room, sizeof (bool));
  options->landlock_list.items = calloc (room, sizeof (char *));
  options->landlock_ro.items = calloc (room, sizeof (char *));
  options->landlock_rw.items = calloc (room, sizeof (char *));
  options->landlock_own.items = calloc (room, sizeof (char *));
  options->paths.items = calloc (room, sizeof (char *));
  if (options->folders.items == NULL || options->folder_ro == NULL
      || options->landlock_list.items == NULL || options->landlock_ro.items == NULL
      || options->landlock_rw.items == NULL || options->landlock_own.items == NULL
      || options->paths.items == NULL)
    return 1;
  for (int i = 0; i < argc; i++)
    {
      if (strcmp (argv[i], "--stdio") == 0)
        options->use_stdio = true;
      else if (strcmp (argv[i], "--landlock") == 0)
        options->landlock = true;
      else if (strcmp (argv[i], "--die-with-parent") == 0)
        options->die_with_parent = true;
      else if (i + 1 == argc || !take_value (options, argv[i], argv[i + 1]))
        return usage ("This option is unknown, or its value is missing or wrong", argv[i]);
      else
        i++;
    }
  if (options->use_stdio == (options->socket != NULL))
    return usage ("Exactly one of --socket and --stdio is needed", NULL);
  if (options->folders.n == 0)
    return usage ("At least one --folder or --folder-ro is needed", NULL);
  if (options->folders.n > FOLDERS_MAX)
    return usage ("There are too many folders: 256 are the most", NULL);
  if ((options->proxy_socket != NULL) != (options->proxy_port != 0))
    return usage ("--proxy-socket and --proxy-port go together", NULL);
  if (options->landlock && options->undo != NULL)
    options->landlock_own.items[options->landlock_own.n++] = options->undo;
  if (!options->landlock && (options->landlock_list.n > 0 || options->landlock_ro.n > 0
                             || options->landlock_rw.n > 0 || options->landlock_own.n > 0))
    return usage ("--landlock-list, -ro, -rw and -own need --landlock", NULL);
  return 0;
}

static void
options_clear (Options *options)
{
  free (options->folders.items);
  free (options->folder_ro);
  free (options->landlock_list.items);
  free (options->landlock_ro.items);
  free (options->landlock_rw.items);
  free (options->landlock_own.items);
  free (options->paths.items);
}

static int
complain (const char *message)
{
  fprintf (stderr, "openworker-runner: %s\n", message);
  return 1;
}

static void
block_signals (sigset_t *set)
{
  sigemptyset (set);
  sigaddset (set, SIGCHLD);
  sigaddset (set, SIGTERM);
  sigaddset (set, SIGINT);
  sigaddset (set, SIGHUP);
  sigprocmask (SIG_BLOCK, set, NULL);
}

/* With --die-with-parent two processes serve: the one that does the work, and above it
 * this one, which ends all that is left when the worker is killed where it can not
 * clean up itself, and whom the parent's end reaches. */
static int
guard (pid_t worker)
{
  sigset_t set;

  block_signals (&set);
  for (;;)
    {
      int number = sigwaitinfo (&set, NULL);
      int status = 0;
      pid_t pid;

      if (number > 0 && number != SIGCHLD)
        kill (worker, SIGTERM);
      while ((pid = waitpid (-1, &status, WNOHANG)) > 0)
        {
          if (pid != worker)
            continue;
          ow_runner_process_kill_all (KILL_MAX_MS);
          return WIFEXITED (status) ? WEXITSTATUS (status) : 1;
        }
    }
}

/* Returns -1 in the process that is to serve, else the exit status. */
static int
split_guard (void)
{
  pid_t parent = getppid ();
  sigset_t set;
  pid_t pid;

  block_signals (&set);
  if (prctl (PR_SET_PDEATHSIG, SIGTERM) < 0 || prctl (PR_SET_CHILD_SUBREAPER, 1) < 0)
    return complain ("The kernel does not tie this process to the one that started it.");
  if (getppid () != parent)
    return complain ("The process that started this one has ended.");
  parent = getpid ();
  pid = fork ();
  if (pid < 0)
    return complain ("No process can be made.");
  if (pid > 0)
    return guard (pid);
  if (prctl (PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid () != parent)
    return complain ("The process that started this one has ended.");
  return -1;
}

/* Whoever starts a sandbox's main command may have a home of its own in mind. */
static bool
set_home (const char *home)
{
  int fd;

  if (home == NULL)
    return true;
  fd = open (home, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    {
      fprintf (stderr, "openworker-runner: The home \"%s\" cannot be opened: %s.\n", home,
               strerror (errno));
      return false;
    }
  close (fd);
  return setenv ("HOME", home, 1) == 0;
}

/* As on the person's own machine: what a person has installed comes before the system's. */
static bool
set_path (const List *paths)
{
  const char *old = getenv ("PATH");
  OwRunnerBuffer text;
  char *path;
  bool done;

  if (paths->n == 0)
    return true;
  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  for (size_t i = 0; i < paths->n; i++)
    ow_runner_buffer_printf (&text, "%s:", paths->items[i]);
  ow_runner_buffer_printf (&text, "%s", old == NULL ? "/usr/local/bin:/usr/bin:/bin" : old);
  path = ow_runner_buffer_steal (&text, NULL);
  done = path != NULL && setenv ("PATH", path, 1) == 0;
  free (path);
  return done;
}

static bool
open_roots (OwRunner      *runner,
            const Options *options)
{
  OwRunnerRoots *roots = &runner->roots;

  roots->folders = options->folders.items;
  roots->read_only = options->folder_ro;
  roots->n = options->folders.n;
  roots->fds = calloc (roots->n, sizeof (int));
  if (roots->fds == NULL)
    return false;
  for (size_t i = 0; i < roots->n; i++)
    roots->fds[i] = -1;
  for (size_t i = 0; i < roots->n; i++)
    {
      roots->fds[i] = open (roots->folders[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
      if (roots->fds[i] < 0)
        {
          fprintf (stderr, "openworker-runner: The folder \"%s\" cannot be opened: %s.\n",
                   roots->folders[i], strerror (errno));
          return false;
        }
    }
  return true;
}

static bool
open_keep (OwRunner      *runner,
           OwRunnerKeep  *keep,
           const Options *options)
{
  char error[OW_RUNNER_ERROR_SIZE];

  keep->fd = -1;
  if (options->undo == NULL)
    return true;
  if (!ow_runner_keep_open (keep, options->undo, error))
    return complain (error) == 0;
  runner->roots.keep = keep;
  return true;
}

typedef struct {
  OwRunner *runner;
  int       fd;
  bool      detached; /* lives by its socket, not by who started it */
} Signals;

static void
on_signal (uint32_t events,
           void    *user_data)
{
  Signals *signals = user_data;
  struct signalfd_siginfo info;

  while (read (signals->fd, &info, sizeof info) == (ssize_t) sizeof info)
    {
      /* A sandbox's main command may have been given a terminal that is hung up later. */
      if (info.ssi_signo != SIGCHLD && !(info.ssi_signo == SIGHUP && signals->detached))
        ow_runner_loop_quit (signals->runner->loop, 0);
    }
  ow_runner_children_reap (signals->runner->children);
}

static bool
make_instance (OwRunner *runner)
{
  unsigned char bytes[16];

  if (getrandom (bytes, sizeof bytes, 0) != (ssize_t) sizeof bytes)
    return false;
  for (size_t i = 0; i < sizeof bytes; i++)
    snprintf (runner->instance + 2 * i, 3, "%02x", bytes[i]);
  return true;
}

static bool
start_faces (const Options    *options,
             OwRunner         *runner,
             OwRunnerServer   *server,
             OwRunnerForward **forward)
{
  char error[OW_RUNNER_ERROR_SIZE] = "There is no memory.";
  int fd;

  if (options->proxy_socket != NULL)
    {
      *forward = ow_runner_forward_new (runner->loop, options->proxy_socket, options->proxy_port,
                                        error);
      if (*forward == NULL)
        return complain (error) == 0;
    }
  if (options->use_stdio)
    return ow_runner_server_serve (server, STDIN_FILENO, STDOUT_FILENO);
  fd = ow_runner_socket_listen (options->socket, error);
  if (fd < 0 || !ow_runner_server_listen (server, fd))
    return complain (error) == 0;
  /* Who waits for it sees the end of its pipe; who does not may have given no stdout at all. */
  if (write (STDOUT_FILENO, "ready\n", 6) != 6)
    complain ("stdout is closed, so nobody is told that this is ready.");
  return true;
}

static int
run (const Options *options,
     OwRunner      *runner)
{
  int64_t lease_ms = options->use_stdio ? 0 : (int64_t) options->lease_s * 1000;
  OwRunnerServer *server = NULL;
  OwRunnerForward *forward = NULL;
  Signals signals = { .runner = runner,
                      .detached = !options->use_stdio && !options->die_with_parent };
  sigset_t set;
  int status = 1;

  block_signals (&set);
  signals.fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  runner->watch = ow_runner_watch_new (runner);
  runner->shell = ow_runner_shell_new (runner);
  ow_runner_inner_watch (runner->children, ow_runner_shell_on_inner_lost, runner->shell);
  runner->background = ow_runner_background_new (runner);
  runner->spills = ow_runner_spills_new (options->home);
  if (signals.fd >= 0 && runner->watch != NULL && runner->shell != NULL
      && runner->background != NULL && runner->spills != NULL
      && ow_runner_loop_add (runner->loop, signals.fd, EPOLLIN, on_signal, &signals) != NULL)
    server = ow_runner_server_new (runner, lease_ms);
  if (server == NULL)
    complain ("There is no memory or no descriptor to begin with.");
  else if (start_faces (options, runner, server, &forward))
    {
      ow_runner_settings_start_take (&runner->roots);
      ow_runner_fork_prepare (runner);
      /* Where it cannot be made now, the first command says so. */
      ow_runner_inner_prepare ();
      ow_runner_watch_start (runner->watch);
      status = ow_runner_loop_run (runner->loop);
    }
  if (options->socket != NULL && status == 0)
    ow_runner_socket_remove (options->socket);
  ow_runner_process_kill_all (KILL_MAX_MS);
  ow_runner_watch_free (runner->watch);
  /* The shell first: what a command has written last still goes to its task. */
  ow_runner_shell_free (runner->shell);
  ow_runner_background_free (runner->background);
  ow_runner_spills_free (runner->spills);
  ow_runner_server_free (server);
  ow_runner_forward_free (forward);
  if (signals.fd >= 0)
    close (signals.fd);
  return status;
}

static int
serve (const Options *options)
{
  OwRunner runner = { 0 };
  OwRunnerKeep keep = { .fd = -1 };
  OwRunnerSettingsStart start = { NULL };
  int status = 1;

  signal (SIGPIPE, SIG_IGN);
  if (prctl (PR_SET_CHILD_SUBREAPER, 1) < 0)
    return complain ("The kernel does not give this process its orphans to end.");
  runner.loop = ow_runner_loop_new ();
  runner.children = ow_runner_children_new ();
  runner.forks = ow_runner_forks_new ();
  runner.drains = runner.loop == NULL ? NULL : ow_runner_drains_new (runner.loop);
  if (runner.children == NULL || runner.forks == NULL || runner.drains == NULL
      || !make_instance (&runner))
    complain ("There is no memory or no descriptor to begin with.");
  else if (open_roots (&runner, options) && set_home (options->home) && set_path (&options->paths)
           && open_keep (&runner, &keep, options))
    {
      ow_runner_settings_start_open (&start);
      runner.roots.start = &start;
      status = run (options, &runner);
    }
  for (size_t i = 0; runner.roots.fds != NULL && i < runner.roots.n; i++)
    {
      if (runner.roots.fds[i] >= 0)
        close (runner.roots.fds[i]);
    }
  free (runner.roots.fds);
  ow_runner_keep_close (&keep);
  ow_runner_settings_start_close (&start);
  ow_runner_drains_free (runner.drains);
  ow_runner_forks_free (runner.forks);
  ow_runner_children_free (runner.children);
  ow_runner_loop_free (runner.loop);
  return status;
}

static OwRunnerPaths
paths_of (const List *list)
{
  return (OwRunnerPaths) { (const char *const *) list->items, list->n };
}

/* Landlock's rules hold for all that is below: a place that has something of the server's in it is
 * no command's. */
static void
leave_out (List       *list,
           const List *own)
{
  size_t n = 0;

  for (size_t i = 0; i < list->n; i++)
    {
      size_t length = strlen (list->items[i]);
      bool holds = false;

      while (length > 0 && list->items[i][length - 1] == '/')
        length--;
      for (size_t j = 0; j < own->n; j++)
        holds |= strncmp (own->items[j], list->items[i], length) == 0
                 && (own->items[j][length] == '/' || own->items[j][length] == '\0');
      if (!holds)
        list->items[n++] = list->items[i];
    }
  list->n = n;
}

/* Counted are the processes and threads of this account in this user namespace, since Linux 5.14;
 * only where that is the sandbox's own is the option of use. What is allowed already stays. */
static void
limit_processes (const Options *options)
{
  struct rlimit limit;
  rlim_t most = (rlim_t) options->max_processes;

  if (most == 0 || getrlimit (RLIMIT_NPROC, &limit) != 0)
    return;
  limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
  limit.rlim_cur = limit.rlim_cur < most ? limit.rlim_cur : most;
  setrlimit (RLIMIT_NPROC, &limit);
}

/* The server's own restriction, and what the one of its commands will be. */
static bool
restrict_all (Options *options,
              char     error[OW_RUNNER_ERROR_SIZE])
{
  List all = { .items = calloc (options->landlock_rw.n + options->landlock_own.n + 1,
                                sizeof (char *)) };
  bool ok;

  if (all.items == NULL)
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "There is no memory to begin with.");
      return false;
    }
  for (size_t i = 0; i < options->landlock_rw.n; i++)
    all.items[all.n++] = options->landlock_rw.items[i];
  for (size_t i = 0; i < options->landlock_own.n; i++)
    all.items[all.n++] = options->landlock_own.items[i];
  ok = ow_runner_landlock_restrict (paths_of (&options->landlock_list),
                                    paths_of (&options->landlock_ro), paths_of (&all), error);
  free (all.items);
  leave_out (&options->landlock_ro, &options->landlock_own);
  leave_out (&options->landlock_rw, &options->landlock_own);
  ow_runner_inner_configure (paths_of (&options->landlock_list), paths_of (&options->landlock_ro),
                             paths_of (&options->landlock_rw));
  return ok;
}

int
ow_runner_serve (int    argc,
                 char **argv)
{
  char error[OW_RUNNER_ERROR_SIZE];
  Options options;
  int status = parse_options (&options, argc, argv);

  if (status == 0)
    limit_processes (&options);
  if (status == 0 && options.landlock && !restrict_all (&options, error))
    status = complain (error);
  if (status == 0 && options.die_with_parent)
    status = split_guard ();
  else if (status == 0)
    status = -1;
  if (status == -1)
    status = serve (&options);
  options_clear (&options);
  return status;
}
