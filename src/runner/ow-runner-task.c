/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-task-private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-report-private.h"
#include "ow-runner-utf8-private.h"

/* 20 a second, and at the end of a call whatever waits (at most ten): together the 30
 * that the protocol allows. */
#define PACE_MS        50
/* Bytes a millisecond from which on it is a flood, the time between its messages, and how often it
 * is looked whether it still is one. */
#define FLOOD_A_MS     (4u * 1024u)
#define FLOOD_PACE_MS  5000
#define LOOK_MS        200
#define CLIENT_WAITING (256u * 1024u)
/* A lossless call is read until this much waits. Below its own limit stay: this, one more
 * round of reading, and what its pipes hold when it ends. */
#define LOSSLESS_WAITING     (256u * 1024u)
#define LOSSLESS_WAITING_MAX (1024u * 1024u)
#define LOSSLESS_PACE_MS     2

static void
send_output (OwRunnerTask          *task,
             const OwRunnerMessage *message)
{
  json_t *params = json_object ();

  json_object_set_new (params, "callId", json_string (task->call->id));
  json_object_set_new (params, "stream",
                       json_string (message->stream == OW_RUNNER_STDOUT ? "stdout" : "stderr"));
  if (message->is_text)
    {
      json_object_set_new (params, "text", json_stringn (message->data, message->length));
    }
  else
    {
      char *data = ow_runner_utf8_base64 (message->data, message->length);

      json_object_set_new (params, "data", json_string (data == NULL ? "" : data));
      free (data);
    }
  ow_mcp_server_notify (ow_runner_client_get_mcp (task->tasks->client), OW_MCP_OUTPUT, params);
  task->sent_at = ow_runner_loop_now ();
}

/* Whether so much comes now that nobody can read it: then few messages are sent, or they would be
 * most of what the link carries. */
static void
look_for_flood (OwRunnerTask *task)
{
  int64_t now = ow_runner_loop_now ();
  uint64_t bytes = ow_runner_output_get_bytes (task->output);
  int64_t passed = now - task->looked_at;

  if (passed < PACE_MS)
    return;
  task->flood = task->looked_at > 0 && bytes - task->looked_of > FLOOD_A_MS * (uint64_t) passed;
  task->looked_at = now;
  task->looked_of = bytes;
}

static int64_t
pace_of (const OwRunnerTask *task)
{
  return task->lossless ? LOSSLESS_PACE_MS : task->flood ? FLOOD_PACE_MS : PACE_MS;
}

/* Reading goes on only while what waits is little. */
static void
adapt_flow (OwRunnerTask *task)
{
  if (task->flow != NULL)
    task->flow (task->job, ow_runner_output_get_waiting (task->output) > LOSSLESS_WAITING);
}

static void
send_waiting (OwRunnerTask *task,
              bool          last)
{
  OwRunnerTasks *tasks = task->tasks;
  OwRunnerMessage message;
  int64_t since = ow_runner_loop_now () - task->sent_at;
  int64_t pace = pace_of (task);

  if (!task->named)
    return;
  if (!last && !task->lossless && since < pace)
    {
      if (!task->pace.armed && ow_runner_output_has_waiting (task->output))
        ow_runner_loop_start_timer (task->tasks->loop, &task->pace,
                                    pace - since < LOOK_MS ? pace - since : LOOK_MS);
      return;
    }
  if (tasks->client == NULL || !ow_runner_client_is_active (tasks->client)
      || (ow_runner_client_get_pending (tasks->client) > CLIENT_WAITING
          && !(last && task->lossless)))
    {
      if (!task->pace.armed && !last)
        ow_runner_loop_start_timer (task->tasks->loop, &task->pace, pace);
      return;
    }
  while (ow_runner_output_take (task->output, last, &message))
    {
      send_output (task, &message);
      if (!last && (!task->lossless
                    || ow_runner_client_get_pending (tasks->client) > CLIENT_WAITING))
        break;
    }
  if (!last && ow_runner_output_has_waiting (task->output))
    ow_runner_loop_start_timer (task->tasks->loop, &task->pace, pace < LOOK_MS ? pace : LOOK_MS);
}

static void
on_pace (void *user_data)
{
  look_for_flood (user_data);
  send_waiting (user_data, false);
  adapt_flow (user_data);
}

void
ow_runner_task_output (OwRunnerTask   *task,
                       OwRunnerStream  stream,
                       const char     *data,
                       size_t          length)
{
  ow_runner_output_add (task->output, stream, data, length);
  if (task->spill != NULL)
    ow_runner_spill_add (task->spill, data, length);
  if (!task->pace.armed)
    send_waiting (task, false);
  adapt_flow (task);
}

static bool
may_skip (void *user_data)
{
  const OwRunnerTask *task = user_data;

  return !task->lossless && ow_runner_output_is_full (task->output)
         && (task->spill == NULL || !ow_runner_spill_wants (task->spill))
         && (!task->named || task->pace.armed);
}

static void
on_skipped (size_t length,
            void  *user_data)
{
  OwRunnerTask *task = user_data;

  ow_runner_output_skip (task->output, length);
}

const OwRunnerCaptureSkip ow_runner_task_skip = { .may = may_skip, .skipped = on_skipped };

void
ow_runner_tasks_answer (OwRunnerTasks *self,
                        const json_t  *id,
                        const char    *result,
                        size_t         length)
{
  ow_mcp_server_reply_text (ow_runner_client_get_mcp (self->client), id, result, length);
}

static void
task_free (OwRunnerTask *task)
{
  for (size_t i = 0; i < OW_RUNNER_CALLS_RUNNING_MAX; i++)
    {
      if (task->tasks->list[i] == task)
        task->tasks->list[i] = NULL;
    }
  ow_runner_loop_stop_timer (task->tasks->loop, &task->pace);
  ow_runner_output_free (task->output);
  ow_runner_spill_free (task->spill);
  json_decref (task->waiters);
  free (task);
}

void
ow_runner_task_finish_text (OwRunnerTask *task,
                            char         *result,
                            size_t        length)
{
  OwRunnerTasks *self = task->tasks;
  OwRunnerCall *call = task->call;
  size_t i;
  json_t *id;

  send_waiting (task, true);
  if (self->client != NULL)
    {
      json_array_foreach (task->waiters, i, id)
        ow_runner_tasks_answer (self, id, result, length);
    }
  if (task->named)
    {
      ow_runner_calls_finish (self->calls, call, result, length, ow_runner_loop_now ());
    }
  else
    {
      ow_runner_calls_drop (self->calls, call);
      free (result);
    }
  task_free (task);
}

void
ow_runner_task_finish (OwRunnerTask *task,
                       json_t       *result)
{
  size_t length = 0;
  char *text = ow_json_dump (result, &length);

  json_decref (result);
  ow_runner_task_finish_text (task, text, length);
}

void
ow_runner_task_refuse (OwRunnerTask *task,
                       const char   *format,
                       ...)
{
  char raw[1024];
  char text[1024];
  size_t length;
  size_t used;
  va_list args;

  va_start (args, format);
  vsnprintf (raw, sizeof raw, format, args);
  va_end (args);
  length = ow_runner_utf8_append (text, sizeof text, raw, strlen (raw), &used);
  ow_runner_task_finish (task, ow_runner_report_text (text, length, NULL, true));
}

OwRunnerTask *
ow_runner_task_new (OwRunnerTasks *self,
                    const json_t  *id,
                    const char    *call_id,
                    bool           lossless)
{
  OwRunnerTask *task = calloc (1, sizeof *task);
  char unnamed[32];

  if (task == NULL)
    return NULL;
  /* The dot keeps our own ids apart from all that a client can name. */
  snprintf (unnamed, sizeof unnamed, ".%u", ++self->unnamed);
  *task = (OwRunnerTask) { .tasks = self, .named = call_id != NULL,
                           .lossless = lossless,
                           .pace = { .func = on_pace, .user_data = task } };
  task->output = ow_runner_output_new (task->named, OW_RUNNER_TEXT_MAX - 64 * 1024,
                                       lossless ? LOSSLESS_WAITING_MAX
                                                : OW_RUNNER_OUTPUT_WAITING_MAX);
  task->waiters = json_array ();
  if (task->output != NULL && task->waiters != NULL)
    task->call = ow_runner_calls_begin (self->calls, call_id != NULL ? call_id : unnamed);
  if (task->call == NULL)
    {
      task_free (task);
      return NULL;
    }
  json_array_append_new (task->waiters, json_deep_copy (id));
  task->call->user_data = task;
  for (size_t i = 0; i < OW_RUNNER_CALLS_RUNNING_MAX; i++)
    {
      if (self->list[i] == NULL)
        {
          self->list[i] = task;
          break;
        }
    }
  return task;
}

bool
ow_runner_task_join (OwRunnerTask *task,
                     const json_t *id)
{
  return json_array_size (task->waiters) < OW_RUNNER_CALLS_RUNNING_MAX
         && json_array_append_new (task->waiters, json_deep_copy (id)) == 0;
}

bool
ow_runner_tasks_init (OwRunnerTasks *self,
                      OwRunnerLoop  *loop)
{
  *self = (OwRunnerTasks) { .loop = loop, .calls = ow_runner_calls_new () };
  return self->calls != NULL;
}

void
ow_runner_tasks_clear (OwRunnerTasks *self)
{
  for (size_t i = 0; i < OW_RUNNER_CALLS_RUNNING_MAX; i++)
    {
      if (self->list[i] != NULL)
        task_free (self->list[i]);
    }
  ow_runner_calls_free (self->calls);
}

void
ow_runner_tasks_cancel (OwRunnerTasks *self,
                        const json_t  *id)
{
  for (size_t i = 0; i < OW_RUNNER_CALLS_RUNNING_MAX; i++)
    {
      OwRunnerTask *task = self->list[i];
      size_t at;
      json_t *waiter;

      if (task == NULL)
        continue;
      json_array_foreach (task->waiters, at, waiter)
        {
          if (!json_equal (waiter, id))
            continue;
          task->cancelled = true;
          if (task->cancel != NULL)
            task->cancel (task->job);
          return;
        }
    }
}

void
ow_runner_tasks_leave (OwRunnerTasks *self)
{
  self->client = NULL;
  for (size_t i = 0; i < OW_RUNNER_CALLS_RUNNING_MAX; i++)
    {
      if (self->list[i] != NULL)
        json_array_clear (self->list[i]->waiters);
    }
}
