/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-background-task-private.h"
#include "ow-runner-buffer-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-report-private.h"

#define RUNNING_MAX    16u
/* Of those that have ended; the oldest is forgotten first. */
#define ENDED_MAX      32u
#define COMMAND_MAX    (1024u * 1024u)
#define WAIT_MAX_S     600
#define WAIT_DEFAULT_S 120
/* One that ends this soon is told as ended by what started it. */
#define START_MS       100
/* What is written in pieces is answered as one. */
#define SETTLE_MS      40
#define SHOWN_COMMAND  100u
#define LISTED_COMMAND 200u

typedef enum {
  WAIT_START,
  WAIT_READ,
  WAIT_END,
  WAIT_STOP,
} WaitKind;

/* A call that waits for a task. */
typedef struct _Wait Wait;
struct _Wait {
  Wait                   *next;
  OwRunnerBackground     *set;
  OwRunnerTask           *call;
  OwRunnerBackgroundTask *task;
  WaitKind                kind;
  OwRunnerTimer           timer;
  OwRunnerTimer           settle;
};

struct _OwRunnerBackground {
  OwRunner               *runner;
  OwRunnerBackgroundTask *tasks;  /* (owned) oldest first */
  Wait                   *waits;  /* (owned) oldest first */
  unsigned int            last_id;
};

OwRunnerBackground *
ow_runner_background_new (OwRunner *runner)
{
  OwRunnerBackground *self = calloc (1, sizeof *self);

  if (self != NULL)
    self->runner = runner;
  return self;
}

/* --- what is told of a task --- */

/* The first characters of a command, on one line. */
static char *
shorten (const char *command,
         size_t      max)
{
  size_t length = strlen (command);
  bool whole = length <= max;
  char *text;

  if (!whole)
    {
      length = max;
      while (length > 0 && ((unsigned char) command[length] & 0xc0) == 0x80)
        length--;
    }
  text = malloc (length + 4);
  if (text == NULL)
    return NULL;
  for (size_t i = 0; i < length; i++)
    text[i] = (unsigned char) command[i] < 0x20 || command[i] == 0x7f ? ' ' : command[i];
  memcpy (text + length, whole ? "" : "…", whole ? 1 : sizeof "…");
  return text;
}

static void
describe_state (const OwRunnerBackgroundTask *task,
                OwRunnerBuffer               *line)
{
  OwRunnerReport report = { .exit_status = -1 };

  if (task->gone)
    ow_runner_report_set_status (&report, task->status);
  if (!task->gone)
    ow_runner_buffer_append (line, task->stopping ? "is being stopped" : "is running");
  else if (report.signal > 0)
    ow_runner_buffer_printf (line, "ended by signal %d %s", report.signal,
                             ow_runner_process_signal_name (report.signal) != NULL
                               ? ow_runner_process_signal_name (report.signal) : "");
  else
    ow_runner_buffer_printf (line, "ended with exit %d", report.exit_status);
  if (task->gone && task->was_stopped)
    ow_runner_buffer_append (line, ", stopped");
  ow_runner_buffer_printf (line, ", %.2f s", (double) ow_runner_background_task_duration (task)
                           / 1000.0);
}

static json_t *
number_or_null (int value,
                int least)
{
  return value >= least ? json_integer (value) : json_null ();
}

static json_t *
make_facts (const OwRunnerBackgroundTask *task,
            const char                   *command)
{
  uint64_t bytes = ow_runner_background_output_get_bytes (task->output);
  uint64_t unread = ow_runner_background_output_get_unread (task->output);
  OwRunnerReport report = { .exit_status = -1 };
  json_t *facts = json_object ();
  char *cwd = ow_runner_buffer_name (task->cwd, strlen (task->cwd));

  if (task->gone)
    ow_runner_report_set_status (&report, task->status);
  json_object_set_new (facts, "task", json_string (task->id));
  json_object_set_new (facts, "state", json_string (task->gone ? "ended" : "running"));
  json_object_set_new (facts, "exit_status", number_or_null (report.exit_status, 0));
  json_object_set_new (facts, "signal", number_or_null (report.signal, 1));
  json_object_set_new (facts, "stopped", json_boolean (task->was_stopped));
  json_object_set_new (facts, "duration_ms",
                       json_integer (ow_runner_background_task_duration (task)));
  json_object_set_new (facts, "cwd", json_string (cwd));
  json_object_set_new (facts, "command", json_string (command == NULL ? "" : command));
  json_object_set_new (facts, "pty", json_boolean (task->terminal));
  json_object_set_new (facts, "bytes", json_integer ((json_int_t) bytes));
  json_object_set_new (facts, "unread", json_integer ((json_int_t) unread));
  free (cwd);
  return facts;
}

static void
append_others (OwRunnerBuffer *line,
               const json_t   *others)
{
  size_t n = json_array_size (others);

  for (size_t i = 0; i < n && i < 8; i++)
    {
      const json_t *entry = json_array_get (others, i);

      ow_runner_buffer_printf (line, "%s %lld %s", i == 0 ? ", still running of it:" : ",",
                               (long long) ow_json_get_int (entry, "pid", 0),
                               ow_json_get_string (entry, "name", "?"));
    }
  if (n > 8)
    ow_runner_buffer_printf (line, " and %zu more", n - 8);
}

/* "[t1 ended with exit 0, 3.21 s, /folder: npm run build]" */
static void
append_last_line (OwRunnerBuffer               *text,
                  const OwRunnerBackgroundTask *task,
                  uint64_t                      cut,
                  const json_t                 *others,
                  const char                   *note)
{
  char *command = shorten (task->command, SHOWN_COMMAND);
  char *cwd = ow_runner_buffer_name (task->cwd, strlen (task->cwd));

  ow_runner_buffer_printf (text, "[%s ", task->id);
  describe_state (task, text);
  ow_runner_buffer_printf (text, ", %s: %s", cwd, command == NULL ? "" : command);
  if (cut > 0)
    ow_runner_buffer_printf (text, ", %llu bytes of output left out (read more often, or let the "
                             "command write to a file)", (unsigned long long) cut);
  if (task->gone)
    append_others (text, others);
  if (note != NULL)
    ow_runner_buffer_printf (text, ", %s", note);
  ow_runner_buffer_append (text, "]");
  free (command);
  free (cwd);
}

/* Its new output, and how it is with it. */
static json_t *
make_result (OwRunnerBackgroundTask *task,
             WaitKind                kind,
             bool                    cancelled)
{
  size_t length = 0;
  uint64_t cut = 0;
  char *output = NULL;
  json_t *facts;
  size_t n;
  OwRunnerProcess *processes = ow_runner_process_list (&n);
  json_t *others = ow_runner_background_task_others (task, processes, n);
  json_t *result;
  OwRunnerBuffer text;
  const char *note = NULL;

  free (processes);
  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  if (kind != WAIT_START && !cancelled)
    output = ow_runner_background_output_take (task->output, task->ended, &length, &cut);
  if (output != NULL && length > 0)
    {
      ow_runner_buffer_append (&text, output);
      if (output[length - 1] != '\n')
        ow_runner_buffer_append (&text, "\n");
    }
  if (cancelled)
    note = "the waiting was cancelled";
  else if (kind == WAIT_START && !task->gone)
    note = "it goes on in the background: look at it with task_read";
  else if (kind == WAIT_STOP && task->stopping)
    note = "not all of it could be killed";
  append_last_line (&text, task, cut, others, note);
  free (output);
  facts = make_facts (task, task->command);
  json_object_set_new (facts, "cut", json_integer ((json_int_t) cut));
  json_object_set_new (facts, "leftovers", others);
  if (cancelled)
    json_object_set_new (facts, "cancelled", json_true ());
  result = ow_runner_report_text (text.data == NULL ? "" : text.data, text.length, facts, false);
  ow_runner_buffer_clear (&text);
  return result;
}

/* --- waiting --- */

static void
wait_free (Wait *wait)
{
  for (Wait **at = &wait->set->waits; *at != NULL; at = &(*at)->next)
    {
      if (*at == wait)
        {
          *at = wait->next;
          break;
        }
    }
  ow_runner_loop_stop_timer (wait->set->runner->loop, &wait->timer);
  ow_runner_loop_stop_timer (wait->set->runner->loop, &wait->settle);
  free (wait);
}

static void
wait_answer (Wait *wait,
             bool  cancelled)
{
  OwRunnerTask *call = wait->call;
  json_t *result = make_result (wait->task, wait->kind, cancelled);

  wait_free (wait);
  ow_runner_task_finish (call, result);
}

static void
on_wait_over (void *user_data)
{
  wait_answer (user_data, false);
}

/* Only the waiting ends. */
static void
cancel_wait (void *job)
{
  wait_answer (job, true);
}

static bool
is_over (const Wait *wait)
{
  switch (wait->kind)
    {
    case WAIT_STOP:
      return wait->task->ended && !wait->task->stopping;
    case WAIT_START:
    case WAIT_READ:
    case WAIT_END:
    default:
      return wait->task->ended;
    }
}

/* Answers it where there is what it waits for. */
static void
wait_look (Wait *wait)
{
  if (is_over (wait))
    wait_answer (wait, false);
  else if (wait->kind == WAIT_READ && !wait->settle.armed
           && ow_runner_background_output_has_unread (wait->task->output))
    ow_runner_loop_start_timer (wait->set->runner->loop, &wait->settle, SETTLE_MS);
}

static void
on_changed (OwRunnerBackgroundTask *task,
            void                   *user_data)
{
  OwRunnerBackground *self = user_data;
  Wait *next;

  for (Wait *wait = self->waits; wait != NULL; wait = next)
    {
      next = wait->next;
      if (wait->task == task)
        wait_look (wait);
    }
}

/* @after_ms 0: it is answered at once. */
static void
wait_add (OwRunnerBackground     *self,
          OwRunnerTask           *call,
          OwRunnerBackgroundTask *task,
          WaitKind                kind,
          int64_t                 after_ms)
{
  Wait *wait = calloc (1, sizeof *wait);
  Wait **end = &self->waits;

  if (wait == NULL)
    {
      ow_runner_task_refuse (call, "There is no memory to wait for the task %s.", task->id);
      return;
    }
  *wait = (Wait) { .set = self, .call = call, .task = task, .kind = kind,
                   .timer = { .func = on_wait_over, .user_data = wait },
                   .settle = { .func = on_wait_over, .user_data = wait } };
  while (*end != NULL)
    end = &(*end)->next;
  *end = wait;
  call->job = wait;
  call->cancel = cancel_wait;
  if (after_ms <= 0)
    {
      wait_answer (wait, false);
      return;
    }
  ow_runner_loop_start_timer (self->runner->loop, &wait->timer, after_ms);
  wait_look (wait);
}

void
ow_runner_background_free (OwRunnerBackground *self)
{
  if (self == NULL)
    return;
  while (self->waits != NULL)
    wait_free (self->waits);
  while (self->tasks != NULL)
    {
      OwRunnerBackgroundTask *task = self->tasks;

      self->tasks = task->next;
      ow_runner_background_task_free (task);
    }
  free (self);
}

/* --- the tools --- */

/* NULL: the call has been refused. */
static OwRunnerBackgroundTask *
find (OwRunnerBackground *self,
      OwRunnerTask       *call,
      const json_t       *arguments)
{
  const char *id = ow_json_get_string (arguments, "task", NULL);
  unsigned int number = 0;
  char rest;

  for (OwRunnerBackgroundTask *task = self->tasks; id != NULL && task != NULL; task = task->next)
    {
      if (strcmp (task->id, id) == 0)
        return task;
    }
  if (id == NULL)
    ow_runner_task_refuse (call, "\"task\" must be the id of a task, such as t1.");
  else if (sscanf (id, "t%u%c", &number, &rest) == 1 && number > 0 && number <= self->last_id)
    ow_runner_task_refuse (call, "The task %.16s has ended, and what it wrote is no longer kept: "
                           "that is done for the last %u.", id, ENDED_MAX);
  else
    ow_runner_task_refuse (call, "There is no task %.64s. task_list tells which there are; when "
                           "the sandbox is started again all tasks are gone.", id);
  return NULL;
}

/* Reads a number of seconds. False: the call has been refused. */
static bool
read_seconds (OwRunnerTask *call,
              const json_t *arguments,
              const char   *name,
              double        fallback,
              int64_t      *ms)
{
  const json_t *value = json_object_get (arguments, name);
  double seconds = value == NULL || json_is_null (value) ? fallback : json_number_value (value);

  if ((value == NULL || json_is_null (value) || json_is_number (value)) && seconds >= 0
      && seconds <= WAIT_MAX_S)
    {
      *ms = (int64_t) (seconds * 1000);
      return true;
    }
  ow_runner_task_refuse (call, "\"%s\" must be a number of seconds from 0 to %d.", name,
                         WAIT_MAX_S);
  return false;
}

static unsigned int
count (OwRunnerBackground *self,
       bool                ended)
{
  unsigned int n = 0;

  for (OwRunnerBackgroundTask *task = self->tasks; task != NULL; task = task->next)
    n += task->ended == ended;
  return n;
}

static bool
is_waited_for (OwRunnerBackground           *self,
               const OwRunnerBackgroundTask *task)
{
  for (Wait *wait = self->waits; wait != NULL; wait = wait->next)
    {
      if (wait->task == task)
        return true;
    }
  return false;
}

static void
forget_oldest (OwRunnerBackground *self)
{
  OwRunnerBackgroundTask **at = &self->tasks;

  for (unsigned int n = count (self, true); n > ENDED_MAX && *at != NULL;)
    {
      OwRunnerBackgroundTask *task = *at;

      if (!task->ended || task->stopping || is_waited_for (self, task))
        {
          at = &task->next;
          continue;
        }
      *at = task->next;
      ow_runner_background_task_free (task);
      n--;
    }
}

static void
run_start (OwRunnerBackground *self,
           OwRunnerTask       *call,
           const json_t       *arguments)
{
  const char *command = ow_json_get_string (arguments, "command", NULL);
  const json_t *terminal = json_object_get (arguments, "pty");
  OwRunnerBackgroundTask *task;
  OwRunnerBackgroundTask **end = &self->tasks;
  char id[16];

  if (command == NULL || strlen (command) > COMMAND_MAX)
    {
      ow_runner_task_refuse (call, "\"command\" must be a text of at most %u bytes.", COMMAND_MAX);
      return;
    }
  if (terminal != NULL && !json_is_boolean (terminal) && !json_is_null (terminal))
    {
      ow_runner_task_refuse (call, "\"pty\" must be true or false.");
      return;
    }
  if (count (self, false) >= RUNNING_MAX)
    {
      ow_runner_task_refuse (call, "%u tasks run already, which is the most. Nothing was run. Stop "
                             "one with task_stop, or wait for one with task_wait.", RUNNING_MAX);
      return;
    }
  snprintf (id, sizeof id, "t%u", self->last_id + 1);
  task = ow_runner_background_task_new (self->runner, id, command, json_is_true (terminal),
                                        on_changed, self);
  if (task == NULL)
    {
      int error = errno;

      ow_runner_task_refuse (call, "The task could not be started in %.512s: %s. Nothing was run.",
                             ow_runner_shell_get_place (self->runner->shell).cwd,
                             strerror (error));
      return;
    }
  self->last_id++;
  while (*end != NULL)
    end = &(*end)->next;
  *end = task;
  forget_oldest (self);
  wait_add (self, call, task, WAIT_START, START_MS);
}

static void
run_list (OwRunnerBackground *self,
          OwRunnerTask       *call)
{
  json_t *list = json_array ();
  json_t *structured = json_object ();
  size_t n;
  OwRunnerProcess *processes = ow_runner_process_list (&n);
  OwRunnerBuffer text;
  json_t *result;

  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  for (OwRunnerBackgroundTask *task = self->tasks; task != NULL; task = task->next)
    {
      char *command = shorten (task->command, LISTED_COMMAND);
      json_t *facts = make_facts (task, command);

      if (task->gone)
        json_object_set_new (facts, "leftovers",
                             ow_runner_background_task_others (task, processes, n));
      append_last_line (&text, task, 0, json_object_get (facts, "leftovers"), NULL);
      ow_runner_buffer_printf (&text, " %llu bytes not read\n", (unsigned long long)
                               ow_runner_background_output_get_unread (task->output));
      json_array_append_new (list, facts);
      free (command);
    }
  free (processes);
  if (self->tasks == NULL)
    ow_runner_buffer_append (&text, "There are no tasks.");
  json_object_set_new (structured, "running", json_integer (count (self, false)));
  json_object_set_new (structured, "tasks", list);
  result = ow_runner_report_text (text.data, text.length, structured, false);
  ow_runner_buffer_clear (&text);
  ow_runner_task_finish (call, result);
}

static void
run_stop (OwRunnerBackground     *self,
          OwRunnerTask           *call,
          OwRunnerBackgroundTask *task)
{
  ow_runner_background_task_stop (task);
  /* It ends by itself, in whichever way. */
  wait_add (self, call, task, WAIT_STOP, 60 * 1000);
}

bool
ow_runner_background_is_tool (const char *name)
{
  static const char *const names[] = {
    "task_start", "task_read", "task_wait", "task_stop", "task_list",
  };

  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    {
      if (strcmp (name, names[i]) == 0)
        return true;
    }
  return false;
}

void
ow_runner_background_run (OwRunnerBackground *self,
                          OwRunnerTask       *call,
                          const char         *tool,
                          const json_t       *arguments)
{
  OwRunnerBackgroundTask *task = NULL;
  int64_t ms;

  if (strcmp (tool, "task_start") == 0)
    run_start (self, call, arguments);
  else if (strcmp (tool, "task_list") == 0)
    run_list (self, call);
  else if ((task = find (self, call, arguments)) == NULL)
    return;
  else if (strcmp (tool, "task_stop") == 0)
    run_stop (self, call, task);
  else if (strcmp (tool, "task_read") == 0)
    {
      if (read_seconds (call, arguments, "wait_s", 0, &ms))
        wait_add (self, call, task, WAIT_READ, ms);
    }
  else if (read_seconds (call, arguments, "timeout_s", WAIT_DEFAULT_S, &ms))
    {
      wait_add (self, call, task, WAIT_END, ms);
    }
}
