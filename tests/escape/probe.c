/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLAN_MAX  16384
#define WORDS_MAX 256
#define READ_MAX  (1024 * 1024)

static char plan[PLAN_MAX];
static char words[WORDS_MAX];

static const char * const verdicts[] = { "held", "open", "void", "info" };
static const Probe * const tables[] = { file_probes, process_probes, kernel_probes, socket_probes };

#define N_TABLES (sizeof tables / sizeof tables[0])

/* Each line becomes a text of its own: KEY=VALUE. */
static bool
plan_read (const char *path)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read (fd, plan, sizeof plan - 2);

  if (fd >= 0)
    close (fd);
  if (n <= 0)
    return false;
  for (ssize_t i = 0; i < n; i++)
    if (plan[i] == '\n')
      plan[i] = '\0';
  return true;
}

const char *
plan_get (const char *key)
{
  size_t length = strlen (key);

  for (const char *line = plan; *line != '\0'; line += strlen (line) + 1)
    if (strncmp (line, key, length) == 0 && line[length] == '=')
      return line + length + 1;
  return NULL;
}

long
plan_number (const char *key)
{
  const char *value = plan_get (key);

  return value == NULL ? 0 : strtol (value, NULL, 0);
}

void
say (const char *format, ...)
{
  va_list args;

  va_start (args, format);
  vsnprintf (words, sizeof words, format, args);
  va_end (args);
}

Verdict
refused (const char *what)
{
  say ("%s: %s", what, strerror (errno));
  return HELD;
}

bool
has_token (const char *data,
           size_t      length)
{
  const char *token = plan_get ("token");

  return token != NULL && memmem (data, length, token, strlen (token)) != NULL;
}

Verdict
token_from (int         fd,
            const char *what)
{
  static char data[READ_MAX];
  size_t at = 0;
  ssize_t n;

  if (fd < 0)
    return refused (what);
  while (at < sizeof data && (n = read (fd, data + at, sizeof data - at)) > 0)
    at += (size_t) n;
  close (fd);
  if (has_token (data, at))
    {
      say ("%s was read", what);
      return OPEN;
    }
  say ("%s: %zu bytes of something else", what, at);
  return HELD;
}

Verdict
token_at (int         dir,
          const char *path)
{
  if (path == NULL)
    return VOID;
  return token_from (openat (dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), path);
}

Verdict
leave (const char *path)
{
  int fd = path == NULL ? -1 : open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

  if (path == NULL)
    return VOID;
  if (fd < 0 || write (fd, "escaped\n", 8) != 8)
    return refused (path);
  close (fd);
  say ("%s was written", path);
  return OPEN;
}

const char *
in_folder (const char *name)
{
  static char path[4096];

  snprintf (path, sizeof path, "%s/%s", plan_get ("folder"), name);
  return path;
}

/* --- one probe in a child --- */

static void
run_here (const Probe *probe,
          int          out)
{
  char line[WORDS_MAX + 64];
  Verdict verdict;
  int n;

  setpgid (0, 0);
  words[0] = '\0';
  verdict = probe->run ();
  for (char *c = words; *c != '\0'; c++)
    if (*c == '\t' || *c == '\n')
      *c = ' ';
  n = snprintf (line, sizeof line, "%s\t%s", verdicts[verdict], words);
  _exit (write (out, line, (size_t) n) == n ? 0 : 1);
}

/* What to say of a child that wrote nothing: a filter may end it, and so may its deadline; any
 * other end is a fault of the probe and no verdict. */
static void
explain_end (int   status,
             bool  late,
             char *line,
             size_t size)
{
  if (late)
    snprintf (line, size, "held\tno answer within its time");
  else if (WIFSIGNALED (status) && WTERMSIG (status) == SIGSYS)
    snprintf (line, size, "held\tended by a filter of system calls");
  else
    snprintf (line, size, "broken\tended with status %#x", (unsigned int) status);
}

static void
run_one (const Probe *probe)
{
  char line[WORDS_MAX + 64] = "";
  int ends[2], status = 0;
  pid_t pid;
  ssize_t n = 0;
  bool late;

  if (pipe2 (ends, O_CLOEXEC) < 0 || (pid = fork ()) < 0)
    {
      printf ("%s\tbroken\tno child: %s\n", probe->name, strerror (errno));
      return;
    }
  if (pid == 0)
    run_here (probe, ends[1]);
  close (ends[1]);
  late = poll (&(struct pollfd) { .fd = ends[0], .events = POLLIN }, 1,
               (int) plan_number ("deadline_ms")) == 0;
  if (!late)
    n = read (ends[0], line, sizeof line - 1);
  kill (-pid, SIGKILL);
  kill (pid, SIGKILL);
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    continue;
  close (ends[0]);
  if (n <= 0)
    explain_end (status, late, line, sizeof line);
  printf ("%s\t%s\n", probe->name, line);
  fflush (stdout);
}

static bool
is_wanted (const char *name,
           int         argc,
           char      **argv)
{
  for (int i = 2; i < argc; i++)
    if (strcmp (argv[i], name) == 0)
      return true;
  return argc == 2;
}

static void
each_probe (int    argc,
            char **argv,
            void (*then)(const Probe *probe))
{
  for (size_t i = 0; i < N_TABLES; i++)
    for (const Probe *probe = tables[i]; probe->name != NULL; probe++)
      if (is_wanted (probe->name, argc, argv))
        then (probe);
}

static void
name_one (const Probe *probe)
{
  puts (probe->name);
}

/* probe PLAN [NAME…] | probe --list | probe --whoami | probe --victim NOTE FILE LIMIT
 *  | probe --share TOKEN KEY NAME | probe --with FILE FOLDER TOKEN -- COMMAND… */
int
main (int    argc,
      char **argv)
{
  if (argc >= 2 && strcmp (argv[1], "--victim") == 0)
    return victim_main (argc, argv);
  if (argc >= 2 && strcmp (argv[1], "--share") == 0)
    return share_main (argc, argv);
  if (argc >= 2 && strcmp (argv[1], "--with") == 0)
    return launch_main (argc, argv);
  if (argc == 2 && strcmp (argv[1], "--list") == 0)
    {
      each_probe (2, argv, name_one);
      return 0;
    }
  if (argc == 2 && strcmp (argv[1], "--whoami") == 0)
    {
      printf ("%u\n", geteuid ());
      return 0;
    }
  if (argc < 2 || !plan_read (argv[1]))
    {
      fprintf (stderr, "escape-probe: the plan cannot be read\n");
      return 2;
    }
  signal (SIGPIPE, SIG_IGN);
  each_probe (argc, argv, run_one);
  puts ("over");
  return 0;
}
