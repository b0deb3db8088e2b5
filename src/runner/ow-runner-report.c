/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-report-private.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ow-runner-process-private.h"
#include "ow-runner-utf8-private.h"

#define LEFTOVERS_MAX 32
#define LAST_LINE_MAX 8192

typedef struct {
  char   text[LAST_LINE_MAX];
  size_t length;
} Line;

static void line_add (Line       *line,
                      const char *format,
                      ...) __attribute__ ((format (printf, 2, 3)));

static void
line_add (Line       *line,
          const char *format,
          ...)
{
  size_t room = sizeof line->text - line->length;
  va_list args;
  int n;

  va_start (args, format);
  n = vsnprintf (line->text + line->length, room, format, args);
  va_end (args);
  if (n > 0)
    line->length += (size_t) n < room ? (size_t) n : room - 1;
}

void
ow_runner_report_set_status (OwRunnerReport *self,
                             int             status)
{
  self->exit_status = WIFEXITED (status) ? WEXITSTATUS (status) : -1;
  self->signal = WIFSIGNALED (status) ? WTERMSIG (status) : 0;
}

static void
add_leftovers (Line   *line,
               json_t *leftovers)
{
  size_t n = json_array_size (leftovers);

  if (n == 0)
    return;
  line_add (line, ", still running:");
  for (size_t i = 0; i < n && i < 8; i++)
    {
      json_t *entry = json_array_get (leftovers, i);

      line_add (line, "%s %lld %s", i == 0 ? "" : ",",
                (long long) ow_json_get_int (entry, "pid", 0),
                ow_json_get_string (entry, "name", "?"));
    }
  if (n > 8)
    line_add (line, " and %zu more", n - 8);
}

/* The words are read by the agent's room (ow-agent-history.c). */
static void
tell_spill (Line                *line,
            const OwRunnerSpill *spill,
            uint64_t             bytes)
{
  const char *path = spill == NULL ? NULL : ow_runner_spill_get_path (spill);
  uint64_t kept = path == NULL ? 0 : ow_runner_spill_get_bytes (spill);

  if (path == NULL)
    return;
  if (kept == bytes)
    line_add (line, ", all of the output is in %.4000s", path);
  else
    line_add (line, ", the first %llu bytes of the output are in %.4000s",
              (unsigned long long) kept, path);
}

static void
make_last_line (Line                 *line,
                const OwRunnerReport *self,
                uint64_t              bytes,
                uint64_t              dropped,
                uint64_t              cut)
{
  line->length = 0;
  if (self->signal > 0)
    {
      const char *name = ow_runner_process_signal_name (self->signal);

      line_add (line, "[signal %d%s%s", self->signal, name == NULL ? "" : " ",
                name == NULL ? "" : name);
    }
  else if (self->exit_status >= 0)
    {
      line_add (line, "[exit %d", self->exit_status);
    }
  else
    {
      line_add (line, "[did not run");
    }
  line_add (line, ", %.2f s", (double) self->duration_ms / 1000.0);
  if (self->cwd != NULL)
    line_add (line, ", %.4096s", self->cwd);
  if (self->timed_out)
    line_add (line, ", timed out after %d s and was stopped", self->timeout_s);
  if (self->cancelled)
    line_add (line, ", cancelled");
  if (self->began_anew)
    line_add (line, ", the shell had ended before this: it ran in a new one without its variables "
              "and functions");
  if (self->shell_restarted && self->state_kept)
    line_add (line, ", the shell was started again with its variables and functions");
  else if (self->shell_restarted)
    line_add (line, ", the shell ended: a new one starts without its variables and functions");
  if (cut > 0)
    line_add (line, ", %llu bytes of output left out", (unsigned long long) cut);
  tell_spill (line, self->spill, bytes);
  if (dropped > 0)
    line_add (line, ", %llu bytes not shown while it ran", (unsigned long long) dropped);
  add_leftovers (line, self->leftovers);
  line_add (line, "]");
  /* Names of folders and programs are anything; this stays one line. */
  for (size_t i = 0; i < line->length; i++)
    {
      if ((unsigned char) line->text[i] < 0x20 || line->text[i] == 0x7f)
        line->text[i] = '?';
    }
}

static json_t *
make_structured (const OwRunnerReport *self,
                 const OwRunnerOutput *output)
{
  json_t *object = json_object ();

  json_object_set_new (object, "exit_status",
                       self->exit_status >= 0 ? json_integer (self->exit_status) : json_null ());
  json_object_set_new (object, "signal",
                       self->signal > 0 ? json_integer (self->signal) : json_null ());
  if (self->cwd != NULL)
    json_object_set_new (object, "cwd", json_string_nocheck (self->cwd));
  json_object_set_new (object, "duration_ms", json_integer (self->duration_ms));
  json_object_set_new (object, "bytes",
                       json_integer ((json_int_t) ow_runner_output_get_bytes (output)));
  json_object_set_new (object, "dropped",
                       json_integer ((json_int_t) ow_runner_output_get_dropped (output)));
  json_object_set_new (object, "cut",
                       json_integer ((json_int_t) ow_runner_output_get_cut (output)));
  json_object_set_new (object, "timed_out", json_boolean (self->timed_out));
  json_object_set_new (object, "cancelled", json_boolean (self->cancelled));
  if (self->is_shell)
    {
      bool restarted = self->shell_restarted || self->began_anew;
      bool kept = !restarted || (self->state_kept && !self->began_anew);

      json_object_set_new (object, "shell_restarted", json_boolean (restarted));
      json_object_set_new (object, "state_kept", json_boolean (kept));
    }
  json_object_set (object, "leftovers", self->leftovers);
  return object;
}

json_t *
ow_runner_report_text (const char *text,
                       size_t      length,
                       json_t     *structured,
                       bool        is_error)
{
  json_t *content = json_object ();
  json_t *list = json_array ();
  json_t *result = json_object ();

  json_object_set_new (content, "type", json_string ("text"));
  json_object_set_new (content, "text", json_stringn (text, length));
  json_array_append_new (list, content);
  json_object_set_new (result, "content", list);
  json_object_set_new (result, "structuredContent",
                       structured == NULL ? json_object () : structured);
  json_object_set_new (result, "isError", json_boolean (is_error));
  return result;
}

char *
ow_runner_report_dump (const OwRunnerForkAnswer *answer,
                       size_t                   *length)
{
  static const char begin[] = "{\"content\":[{\"type\":\"text\",\"text\":";
  static const char middle[] = "}],\"structuredContent\":";
  const char *end = answer->is_error ? ",\"isError\":true}" : ",\"isError\":false}";
  char *result = malloc (sizeof begin + ow_json_string_size (answer->text, answer->length)
                         + sizeof middle + answer->structured_length + strlen (end));
  char *at = result;

  if (result == NULL)
    return NULL;
  at = mempcpy (at, begin, sizeof begin - 1);
  at += ow_json_write_string (at, answer->text, answer->length);
  at = mempcpy (at, middle, sizeof middle - 1);
  at = mempcpy (at, answer->structured_text, answer->structured_length);
  at = mempcpy (at, end, strlen (end));
  *length = (size_t) (at - result);
  return result;
}

json_t *
ow_runner_report_result (OwRunnerReport *self,
                         OwRunnerOutput *output)
{
  char cwd[4096];
  Line line;
  size_t length = 0;
  size_t used;
  size_t n;
  char *text = ow_runner_output_text (output, &length);
  char *whole;
  json_t *result;

  if (self->leftovers == NULL)
    self->leftovers = json_array ();
  if (self->cwd != NULL)
    {
      n = ow_runner_utf8_append (cwd, sizeof cwd - 1, self->cwd, strlen (self->cwd), &used);
      cwd[n] = '\0';
      self->cwd = cwd;
    }
  make_last_line (&line, self, ow_runner_output_get_bytes (output),
                  ow_runner_output_get_dropped (output),
                  ow_runner_output_get_cut (output));
  whole = malloc (length + 1 + 3 * LAST_LINE_MAX);
  if (text == NULL || whole == NULL)
    {
      free (text);
      free (whole);
      result = ow_runner_report_text (line.text, line.length, make_structured (self, output),
                                      false);
    }
  else
    {
      memcpy (whole, text, length);
      if (length > 0 && text[length - 1] != '\n')
        whole[length++] = '\n';
      length += ow_runner_utf8_append (whole + length, 3 * LAST_LINE_MAX, line.text, line.length,
                                       &used);
      result = ow_runner_report_text (whole, length, make_structured (self, output), false);
      free (text);
      free (whole);
    }
  json_decref (self->leftovers);
  self->leftovers = NULL;
  self->cwd = NULL;
  return result;
}

/* The child of this process that list[at] comes from; 0: from none. */
static pid_t
top_of (const OwRunnerProcess *list,
        size_t                 n,
        size_t                 at)
{
  pid_t self = getpid ();

  for (int depth = 0; depth < 256; depth++)
    {
      size_t i;

      if (list[at].parent == self)
        return list[at].pid;
      for (i = 0; i < n && list[i].pid != list[at].parent; i++)
        ;
      if (i == n || list[at].parent <= 1)
        return 0;
      at = i;
    }
  return 0;
}

static bool
belongs (OwRunner              *runner,
         const OwRunnerProcess *list,
         size_t                 n,
         size_t                 at,
         pid_t                  root,
         unsigned long long     since)
{
  char mark[OW_RUNNER_PROCESS_MARK_MAX];
  pid_t top;

  if (list[at].pid == root)
    return false;
  top = top_of (list, n, at);
  if (top == 0)
    return false;
  if (top == root)
    return true;
  /* What a background task has left behind is the task's. */
  return !ow_runner_children_is_ours (runner->children, top)
         && (list[at].session == root || list[at].start >= since)
         && !ow_runner_process_read_mark (top, mark);
}

json_t *
ow_runner_report_process (const OwRunnerProcess *process)
{
  json_t *entry = json_object ();
  char name[128];
  size_t used;
  size_t length = ow_runner_utf8_append (name, sizeof name, process->name, strlen (process->name),
                                         &used);

  json_object_set_new (entry, "pid", json_integer (process->pid));
  json_object_set_new (entry, "name", json_stringn (name, length));
  return entry;
}

json_t *
ow_runner_report_leftovers (OwRunner           *runner,
                            pid_t               root,
                            pid_t               except,
                            unsigned long long  since)
{
  json_t *array = json_array ();
  size_t n;
  OwRunnerProcess *list = ow_runner_process_list (&n);

  for (size_t i = 0; i < n && json_array_size (array) < LEFTOVERS_MAX; i++)
    {
      if (list[i].pid != except && belongs (runner, list, n, i, root, since))
        json_array_append_new (array, ow_runner_report_process (&list[i]));
    }
  free (list);
  return array;
}

void
ow_runner_report_kill (OwRunner           *runner,
                       pid_t               root,
                       unsigned long long  since)
{
  /* What is killed may just have forked: again until a look finds nothing. */
  for (int round = 0; round < 50; round++)
    {
      bool any = false;
      size_t n;
      OwRunnerProcess *list = ow_runner_process_list (&n);

      for (size_t i = 0; i < n; i++)
        {
          if (list[i].start < since || !belongs (runner, list, n, i, root, since))
            continue;
          any = true;
          kill (list[i].pid, SIGKILL);
        }
      free (list);
      if (!any)
        break;
      usleep (500);
    }
}
