/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A client of `serve --stdio` that does nothing but measure: its requests are written ahead and
 * its answers only looked into, so that its own time is small beside the server's. Prints
 * "NAME NUMBER" lines, times in milliseconds.
 *
 * bench-runner calls COUNT AT_ONCE TOOL ARGUMENTS -- SERVER…
 *    COUNT calls, AT_ONCE of them asked for at a time: median, total (of all), cpu (of the server
 *    and its children)
 * bench-runner once TOOL ARGUMENTS -- SERVER…
 *    one call: total, cpu, and its reply as it came in a line "reply …"
 * bench-runner stream CALL_COUNT CANCEL_MS TOOL ARGUMENTS -- SERVER…
 *    the same with output as it comes: first (the median time to the first byte), total, bytes
 *    (over the channel), messages, peak (resident KiB of the server). CANCEL_MS over 0: it is
 *    cancelled that long after its first output, which has to be the number of a process; cancel is
 *    then the time until that process is gone and the reply is there
 * bench-runner ready COUNT -- SERVER…
 *    the median time from its start to its line "ready" */

#define BUFFER_BYTES (4u * 1024 * 1024)
#define COUNT_MAX    100000

typedef struct {
  pid_t    pid;
  int      in;
  int      out;
  char    *buffer;
  size_t   start;
  size_t   end;
  uint64_t bytes; /* read in all */
} Server;

static _Noreturn void
give_up (const char *what)
{
  fprintf (stderr, "bench-runner: %s: %s\n", what, strerror (errno));
  exit (1);
}

static double
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (double) time.tv_sec * 1e3 + (double) time.tv_nsec / 1e6;
}

static int
compare (const void *a,
         const void *b)
{
  const double one = *(const double *) a;
  const double other = *(const double *) b;

  return one < other ? -1 : one > other;
}

static double
median (double *values,
        size_t  n)
{
  qsort (values, n, sizeof *values, compare);
  return values[n / 2];
}

static void
send_text (Server     *self,
           const char *text,
           size_t      length)
{
  while (length > 0)
    {
      ssize_t n = write (self->in, text, length);

      if (n <= 0)
        give_up ("write");
      text += n;
      length -= (size_t) n;
    }
}

/* The next line, its end not counted. It is good until the next call. */
static char *
next_line (Server *self,
           size_t *length)
{
  size_t seen = self->start;

  for (;;)
    {
      char *end = memchr (self->buffer + seen, '\n', self->end - seen);
      ssize_t n;

      if (end != NULL)
        {
          char *line = self->buffer + self->start;

          *end = '\0';
          *length = (size_t) (end - line);
          self->start = (size_t) (end + 1 - self->buffer);
          return line;
        }
      if (self->start > 0)
        {
          memmove (self->buffer, self->buffer + self->start, self->end - self->start);
          self->end -= self->start;
          self->start = 0;
        }
      seen = self->end;
      if (self->end == BUFFER_BYTES)
        give_up ("a line is too long");
      n = read (self->out, self->buffer + self->end, BUFFER_BYTES - self->end);
      if (n <= 0)
        give_up ("the server's output ended");
      self->end += (size_t) n;
      self->bytes += (uint64_t) n;
    }
}

static void
server_spawn (Server *self,
              char  **argv)
{
  posix_spawn_file_actions_t actions;
  int to[2];
  int from[2];

  *self = (Server) { .buffer = malloc (BUFFER_BYTES) };
  if (pipe (to) != 0 || pipe (from) != 0 || self->buffer == NULL)
    give_up ("pipe");
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2 (&actions, from[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np (&actions, STDERR_FILENO + 1);
  if (posix_spawn (&self->pid, argv[0], &actions, NULL, argv, environ) != 0)
    give_up (argv[0]);
  posix_spawn_file_actions_destroy (&actions);
  close (to[0]);
  close (from[1]);
  self->in = to[1];
  self->out = from[0];
}

static void
server_start (Server *self,
              char  **argv)
{
  static const char hello[] =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n"
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
  size_t length;

  server_spawn (self, argv);
  send_text (self, hello, strlen (hello));
  if (strstr (next_line (self, &length), "protocolVersion") == NULL)
    give_up ("initialize");
}

static double
milliseconds (struct timeval time)
{
  return (double) time.tv_sec * 1e3 + (double) time.tv_usec / 1e3;
}

/* Ends it and returns the processor time that it and its children took. */
static double
server_end (Server *self)
{
  struct rusage usage;

  close (self->in);
  if (wait4 (self->pid, NULL, 0, &usage) != self->pid)
    give_up ("wait");
  close (self->out);
  free (self->buffer);
  return milliseconds (usage.ru_utime) + milliseconds (usage.ru_stime);
}

/* Returns: (owned) one request */
static char *
make_call (unsigned int number,
           const char  *tool,
           const char  *arguments,
           bool         named,
           size_t      *length)
{
  char meta[64] = "";
  char *text;
  int n;

  if (named)
    snprintf (meta, sizeof meta, ",\"_meta\":{\"openworker/callId\":\"b%u\"}", number);
  n = asprintf (&text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{"
                "\"name\":\"%s\",\"arguments\":%s%s}}\n", number, tool, arguments, meta);
  if (n < 0)
    give_up ("memory");
  *length = (size_t) n;
  return text;
}

/* The number of the request that a good reply answers; 0: it is a notification. */
static unsigned int
reply_number (const char *line)
{
  static const char begin[] = "{\"jsonrpc\":\"2.0\",\"id\":";

  if (strncmp (line, begin, strlen (begin)) != 0)
    return 0;
  if (strstr (line, "\"isError\":false") == NULL)
    {
      fprintf (stderr, "bench-runner: a call failed: %.2000s\n", line);
      exit (1);
    }
  return (unsigned int) strtoul (line + strlen (begin), NULL, 10);
}

static void
run_calls (Server      *server,
           unsigned int first,
           unsigned int count,
           unsigned int at_once,
           const char  *tool,
           const char  *arguments,
           double      *values)
{
  char **texts = calloc (count, sizeof *texts);
  size_t *lengths = calloc (count, sizeof *lengths);
  double *begun = calloc (count, sizeof *begun);
  unsigned int asked = 0;

  if (texts == NULL || lengths == NULL || begun == NULL)
    give_up ("memory");
  for (unsigned int i = 0; i < count; i++)
    texts[i] = make_call (first + i, tool, arguments, false, &lengths[i]);
  for (unsigned int answered = 0; answered < count;)
    {
      size_t length;
      unsigned int number;

      for (; asked < count && asked - answered < at_once; asked++)
        {
          begun[asked] = now ();
          send_text (server, texts[asked], lengths[asked]);
        }
      number = reply_number (next_line (server, &length));
      if (number < first || number >= first + count)
        continue;
      values[number - first] = now () - begun[number - first];
      answered++;
    }
  for (unsigned int i = 0; i < count; i++)
    free (texts[i]);
  free (texts);
  free (lengths);
  free (begun);
}

static int
calls (char **argv,
       char **server_argv)
{
  unsigned int count = (unsigned int) atoi (argv[0]);
  unsigned int at_once = (unsigned int) atoi (argv[1]);
  unsigned int warm = count < 200 ? count : 200;
  double *values = calloc (COUNT_MAX, sizeof *values);
  Server server;
  double begun;
  double total;

  if (count == 0 || count > COUNT_MAX || at_once == 0 || values == NULL)
    return 2;
  server_start (&server, server_argv);
  run_calls (&server, 1, warm, at_once, argv[2], argv[3], values);
  begun = now ();
  run_calls (&server, 1 + warm, count, at_once, argv[2], argv[3], values);
  total = now () - begun;
  printf ("median %.5f\ntotal %.3f\n", median (values, count), total);
  printf ("cpu %.3f\n", server_end (&server));
  free (values);
  return 0;
}

static int
once (char **argv,
      char **server_argv)
{
  Server server;
  double begun;
  double total;
  size_t length;
  char *text = make_call (1, argv[0], argv[1], false, &length);
  char *line;

  server_start (&server, server_argv);
  begun = now ();
  send_text (&server, text, length);
  line = next_line (&server, &length);
  total = now () - begun;
  reply_number (line);
  printf ("total %.3f\nreply %s\n", total, line);
  printf ("cpu %.3f\n", server_end (&server));
  free (text);
  return 0;
}

static long
peak_kib (pid_t pid)
{
  char path[64];
  char line[256];
  long peak = 0;
  FILE *file;

  snprintf (path, sizeof path, "/proc/%d/status", (int) pid);
  file = fopen (path, "re");
  if (file == NULL)
    give_up (path);
  while (fgets (line, sizeof line, file) != NULL)
    sscanf (line, "VmHWM: %ld", &peak);
  fclose (file);
  return peak;
}

/* One call whose output is heard; returns its time to the first byte. */
static double
run_stream (Server       *server,
            unsigned int  number,
            char        **argv,
            double        cancel_ms,
            uint64_t     *messages)
{
  size_t length;
  char *text = make_call (number, argv[0], argv[1], true, &length);
  double begun = now ();
  double first = 0;
  double cancelled = 0;
  pid_t writer = 0;
  char *line;

  send_text (server, text, length);
  free (text);
  while (line = next_line (server, &length), reply_number (line) != number)
    {
      const char *output = strstr (line, "\"text\":\"");

      ++*messages;
      if (first == 0)
        first = now () - begun;
      if (writer == 0 && output != NULL)
        writer = atoi (output + strlen ("\"text\":\""));
      if (cancel_ms > 0 && cancelled == 0 && now () - begun - first > cancel_ms)
        {
          char request[128];
          int n = snprintf (request, sizeof request, "{\"jsonrpc\":\"2.0\",\"method\":"
                            "\"notifications/cancelled\",\"params\":{\"requestId\":%u}}\n", number);

          cancelled = now ();
          send_text (server, request, (size_t) n);
        }
    }
  if (cancel_ms > 0)
    {
      if (writer <= 0 || strstr (line, "\"cancelled\":true") == NULL)
        give_up ("the call was not cancelled, or named no process");
      while (kill (writer, 0) == 0)
        usleep (200);
      printf ("cancel %.3f\n", now () - cancelled);
    }
  return first;
}

static int
stream (char **argv,
        char **server_argv)
{
  unsigned int count = (unsigned int) atoi (argv[0]);
  double *values = calloc (COUNT_MAX, sizeof *values);
  uint64_t messages = 0;
  uint64_t before;
  Server server;
  double begun;
  double total;

  if (count == 0 || count > COUNT_MAX || values == NULL)
    return 2;
  server_start (&server, server_argv);
  before = server.bytes;
  begun = now ();
  for (unsigned int i = 0; i < count; i++)
    values[i] = run_stream (&server, i + 1, argv + 2, atof (argv[1]), &messages);
  total = now () - begun;
  printf ("first %.5f\ntotal %.3f\nbytes %llu\nmessages %llu\npeak %ld\n", median (values, count),
          total, (unsigned long long) (server.bytes - before), (unsigned long long) messages,
          peak_kib (server.pid));
  printf ("cpu %.3f\n", server_end (&server));
  free (values);
  return 0;
}

static int
ready (char **argv,
       char **server_argv)
{
  unsigned int count = (unsigned int) atoi (argv[0]);
  double *values = calloc (COUNT_MAX, sizeof *values);
  Server server;
  size_t length;

  if (count == 0 || count > COUNT_MAX || values == NULL)
    return 2;
  for (unsigned int i = 0; i < count; i++)
    {
      double begun = now ();

      server_spawn (&server, server_argv);
      if (strcmp (next_line (&server, &length), "ready") != 0)
        give_up ("it did not say that it is ready");
      values[i] = now () - begun;
      kill (server.pid, SIGTERM);
      server_end (&server);
    }
  printf ("median %.5f\n", median (values, count));
  free (values);
  return 0;
}

int
main (int    argc,
      char **argv)
{
  static const struct {
    const char *name;
    int         words;
    int       (*func) (char **argv,
                       char **server_argv);
  } commands[] = { { "calls", 4, calls }, { "once", 2, once }, { "stream", 4, stream },
                   { "ready", 1, ready } };

  signal (SIGPIPE, SIG_IGN);
  for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++)
    {
      if (strcmp (argv[1], commands[i].name) != 0 || argc < commands[i].words + 4
          || strcmp (argv[commands[i].words + 2], "--") != 0)
        continue;
      return commands[i].func (argv + 2, argv + commands[i].words + 3);
    }
  fprintf (stderr, "Usage: bench-runner calls | once | stream | ready … -- SERVER…\n");
  return 2;
}
