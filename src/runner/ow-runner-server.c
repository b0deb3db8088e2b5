/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config.h"

#include "ow-runner-server-private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ow-runner-client-private.h"
#include "ow-runner-report-private.h"
#include "ow-runner-utf8-private.h"

/* 20 a second, and at the end of a call whatever waits (at most ten): together the 30
 * that the protocol allows. */
#define PACE_MS        50
#define CLIENT_WAITING (256u * 1024u)
/* A lossless call is read until this much waits. Below its own limit stay: this, one more
 * round of reading, and what its pipes hold when it ends. */
#define LOSSLESS_WAITING     (256u * 1024u)
#define LOSSLESS_WAITING_MAX (1024u * 1024u)
#define LOSSLESS_PACE_MS     2
#define PROBES_MAX     16u

struct _OwRunnerServer {
  OwRunner       *runner;
  OwRunnerCalls  *calls;
  OwRunnerClient *client;
  unsigned int    generation; /* of the client: what an older one asked is not answered */
  json_t         *tools;
  json_t         *meta;
  int             listen_fd;
  OwRunnerSource *listen_source;
  bool            single;
  unsigned int    unnamed;
  unsigned int    probes;
  int64_t         lease_ms;
  int64_t         heard_at;
  OwRunnerTimer   lease;
  OwRunnerTask   *tasks[OW_RUNNER_CALLS_RUNNING_MAX];
};

typedef struct {
  OwRunnerServer *server;
  unsigned int    generation;
  json_t         *id; /* (owned) */
} Probe;

static const struct {
  const char      *name;
  OwRunnerToolFunc func;
} file_tools[] = {
  { "list", ow_tool_list },
  { "read", ow_tool_read },
  { "write", ow_tool_write },
  { "edit", ow_tool_edit },
  { "grep", ow_tool_grep },
  { "glob", ow_tool_glob },
};

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
  ow_mcp_server_notify (ow_runner_client_get_mcp (task->server->client), OW_MCP_OUTPUT, params);
  task->sent_at = ow_runner_loop_now ();
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
  OwRunnerServer *server = task->server;
  OwRunnerMessage message;
  int64_t since = ow_runner_loop_now () - task->sent_at;
  int64_t pace = task->lossless ? LOSSLESS_PACE_MS : PACE_MS;

  if (!task->named)
    return;
  if (!last && !task->lossless && since < pace)
    {
      if (!task->pace.armed && ow_runner_output_has_waiting (task->output))
        ow_runner_loop_start_timer (task->runner->loop, &task->pace, pace - since);
      return;
    }
  if (server->client == NULL || !ow_runner_client_is_active (server->client)
      || (ow_runner_client_get_pending (server->client) > CLIENT_WAITING
          && !(last && task->lossless)))
    {
      if (!task->pace.armed && !last)
        ow_runner_loop_start_timer (task->runner->loop, &task->pace, pace);
      return;
    }
  while (ow_runner_output_take (task->output, last, &message))
    {
      send_output (task, &message);
      if (!last && (!task->lossless
                    || ow_runner_client_get_pending (server->client) > CLIENT_WAITING))
        break;
    }
  if (!last && ow_runner_output_has_waiting (task->output))
    ow_runner_loop_start_timer (task->runner->loop, &task->pace, pace);
}

static void
on_pace (void *user_data)
{
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
  if (!task->pace.armed)
    send_waiting (task, false);
  adapt_flow (task);
}

static void
answer (OwRunnerServer *self,
        const json_t   *id,
        const json_t   *result)
{
  /* The copy is shallow: a result may be answered more than once. */
  ow_mcp_server_reply (ow_runner_client_get_mcp (self->client), id,
                       json_copy ((json_t *) result));
}

static size_t
size_of (const json_t *result)
{
  json_t *content = json_array_get (json_object_get (result, "content"), 0);
  json_t *structured = json_object_get (result, "structuredContent");
  size_t size = 512 + json_string_length (json_object_get (content, "text"));
  const char *key;
  json_t *value;

  json_object_foreach (structured, key, value)
    size += 64 + json_string_length (value) + 64 * json_array_size (value);
  return size;
}

static void
task_free (OwRunnerTask *task)
{
  for (size_t i = 0; i < OW_RUNNER_CALLS_RUNNING_MAX; i++)
    {
      if (task->server->tasks[i] == task)
        task->server->tasks[i] = NULL;
    }
  ow_runner_loop_stop_timer (task->runner->loop, &task->pace);
  ow_runner_output_free (task->output);
  json_decref (task->waiters);
  free (task);
}

void
ow_runner_task_finish (OwRunnerTask *task,
                       json_t       *result)
{
  OwRunnerServer *self = task->server;
  OwRunnerCall *call = task->call;
  size_t i;
  json_t *id;

  send_waiting (task, true);
  ow_runner_calls_finish (self->calls, call, json_incref (result), size_of (result),
                          ow_runner_loop_now ());
  if (self->client != NULL)
    {
      json_array_foreach (task->waiters, i, id)
        answer (self, id, result);
    }
  if (!task->named)
    ow_runner_calls_drop (self->calls, call);
  json_decref (result);
  task_free (task);
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

static OwRunnerTask *
task_new (OwRunnerServer *self,
          const json_t   *id,
          const char     *call_id,
          bool            lossless)
{
  OwRunnerTask *task = calloc (1, sizeof *task);
  char unnamed[32];

  if (task == NULL)
    return NULL;
  /* The dot keeps our own ids apart from all that a client can name. */
  snprintf (unnamed, sizeof unnamed, ".%u", ++self->unnamed);
  *task = (OwRunnerTask) { .runner = self->runner, .server = self, .named = call_id != NULL,
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
      if (self->tasks[i] == NULL)
        {
          self->tasks[i] = task;
          break;
        }
    }
  return task;
}

static void
run (OwRunnerServer *self,
     OwRunnerTask   *task,
     const char     *name,
     const json_t   *arguments)
{
  if (strcmp (name, "shell") == 0)
    {
      ow_runner_shell_run (self->runner->shell, task, arguments);
      return;
    }
  if (strcmp (name, "exec") == 0)
    {
      ow_runner_exec_run (self->runner, task, arguments);
      return;
    }
  for (size_t i = 0; i < sizeof file_tools / sizeof file_tools[0]; i++)
    {
      if (strcmp (name, file_tools[i].name) == 0)
        {
          ow_runner_fork_run (self->runner, task, file_tools[i].func, arguments);
          return;
        }
    }
}

static bool
is_tool (const char *name)
{
  if (strcmp (name, "shell") == 0 || strcmp (name, "exec") == 0)
    return true;
  for (size_t i = 0; i < sizeof file_tools / sizeof file_tools[0]; i++)
    {
      if (strcmp (name, file_tools[i].name) == 0)
        return true;
    }
  return false;
}

/* Joins or answers a call that there was before. Returns false when there was none. */
static bool
join (OwRunnerServer *self,
      OwRunnerClient *client,
      const json_t   *id,
      const char     *call_id)
{
  OwMcpServer *mcp = ow_runner_client_get_mcp (client);
  OwRunnerCall *call;

  switch (ow_runner_calls_look_up (self->calls, call_id, ow_runner_loop_now (), &call))
    {
    case OW_RUNNER_CALL_RUNNING:
      {
        OwRunnerTask *task = call->user_data;

        if (json_array_size (task->waiters) < OW_RUNNER_CALLS_RUNNING_MAX)
          json_array_append_new (task->waiters, json_deep_copy (id));
        else
          ow_mcp_server_reply_error (mcp, id, OW_RPC_INVALID_REQUEST,
                                     "This call is waited for too often already.", NULL);
        return true;
      }

    case OW_RUNNER_CALL_FINISHED:
      answer (self, id, call->result);
      return true;

    case OW_RUNNER_CALL_FORGOTTEN:
      ow_mcp_server_reply_error (mcp, id, OW_RPC_UNKNOWN_CALL,
                                 "This call has run and its result is no longer kept. It is not "
                                 "run again.", NULL);
      return true;

    case OW_RUNNER_CALL_UNKNOWN:
    default:
      return false;
    }
}

static void
on_call (OwRunnerClient *client,
         const json_t   *id,
         const char     *name,
         json_t         *arguments,
         json_t         *meta,
         void           *user_data)
{
  OwRunnerServer *self = user_data;
  OwMcpServer *mcp = ow_runner_client_get_mcp (client);
  json_t *call_id_value = json_object_get (meta, OW_MCP_META_CALL_ID);
  const char *call_id = json_string_value (call_id_value);
  OwRunnerTask *task;

  if (call_id_value != NULL && (call_id == NULL || !ow_runner_calls_is_id (call_id)))
    {
      ow_mcp_server_reply_error (mcp, id, OW_RPC_INVALID_PARAMS,
                                 "openworker/callId must be 1 to 64 of A-Z, a-z, 0-9, _ and -.",
                                 NULL);
      return;
    }
  if (call_id != NULL && join (self, client, id, call_id))
    return;
  if (!is_tool (name))
    {
      ow_mcp_server_reply_error (mcp, id, OW_RPC_INVALID_PARAMS, "There is no such tool.", NULL);
      return;
    }
  task = task_new (self, id, call_id, strcmp (name, "exec") == 0);
  if (task == NULL)
    {
      ow_mcp_server_reply_error (mcp, id, OW_RPC_INTERNAL_ERROR,
                                 "Too many calls run at once, or have run. Nothing was run.",
                                 NULL);
      return;
    }
  run (self, task, name, arguments);
}

static void
on_cancelled (OwRunnerClient *client,
              const json_t   *id,
              void           *user_data)
{
  OwRunnerServer *self = user_data;

  for (size_t i = 0; i < OW_RUNNER_CALLS_RUNNING_MAX; i++)
    {
      OwRunnerTask *task = self->tasks[i];
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

static void
resume (OwRunnerServer *self,
        OwMcpServer    *mcp,
        const json_t   *id,
        json_t         *params)
{
  const char *call_id = ow_json_get_string (params, "callId", "");
  json_t *result;
  OwRunnerCall *call;

  if (!ow_runner_calls_is_id (call_id))
    {
      ow_mcp_server_reply_error (mcp, id, OW_RPC_INVALID_PARAMS, "callId is missing or no id.",
                                 NULL);
      return;
    }
  result = json_object ();
  switch (ow_runner_calls_look_up (self->calls, call_id, ow_runner_loop_now (), &call))
    {
    case OW_RUNNER_CALL_RUNNING:
      json_object_set_new (result, "state", json_string ("running"));
      break;

    case OW_RUNNER_CALL_FINISHED:
      json_object_set_new (result, "state", json_string ("finished"));
      json_object_set (result, "result", call->result);
      break;

    case OW_RUNNER_CALL_FORGOTTEN:
    case OW_RUNNER_CALL_UNKNOWN:
    default:
      json_object_set_new (result, "state", json_string ("unknown"));
      break;
    }
  ow_mcp_server_reply (mcp, id, result);
}

static json_t *
run_probe (const OwRunnerRoots *roots,
           const json_t        *arguments,
           void                *user_data)
{
  return ow_runner_probe (arguments);
}

static void
on_probe_done (json_t *value,
               int     status,
               void   *user_data)
{
  Probe *probe = user_data;
  OwRunnerServer *self = probe->server;

  self->probes--;
  if (self->client != NULL && self->generation == probe->generation)
    {
      OwMcpServer *mcp = ow_runner_client_get_mcp (self->client);

      if (value != NULL)
        ow_mcp_server_reply (mcp, probe->id, json_incref (value));
      else
        ow_mcp_server_reply_error (mcp, probe->id, OW_RPC_INTERNAL_ERROR, "The probe broke off.",
                                   NULL);
    }
  json_decref (probe->id);
  free (probe);
}

static void
start_probe (OwRunnerServer *self,
             OwMcpServer    *mcp,
             const json_t   *id,
             json_t         *params)
{
  Probe *probe = self->probes < PROBES_MAX ? calloc (1, sizeof *probe) : NULL;

  if (probe != NULL)
    {
      *probe = (Probe) { .server = self, .generation = self->generation,
                         .id = json_deep_copy (id) };
      self->probes++;
      if (ow_runner_fork_start (self->runner, run_probe, params, NULL, on_probe_done, probe) > 0)
        return;
      self->probes--;
      json_decref (probe->id);
      free (probe);
    }
  ow_mcp_server_reply_error (mcp, id, OW_RPC_INTERNAL_ERROR, "No process could be made for the "
                             "probe.", NULL);
}

static bool
on_request (OwRunnerClient *client,
            const json_t   *id,
            const char     *method,
            json_t         *params,
            void           *user_data)
{
  OwRunnerServer *self = user_data;
  OwMcpServer *mcp = ow_runner_client_get_mcp (client);

  if (strcmp (method, OW_MCP_RESUME) == 0)
    resume (self, mcp, id, params);
  else if (strcmp (method, OW_MCP_PROBE) == 0)
    start_probe (self, mcp, id, params);
  else
    return false;
  return true;
}

static void
on_heard (OwRunnerClient *client,
          void           *user_data)
{
  OwRunnerServer *self = user_data;

  self->heard_at = ow_runner_loop_now ();
}

static void
drop_client (OwRunnerServer *self)
{
  ow_runner_client_free (self->client);
  self->client = NULL;
  self->generation++;
  for (size_t i = 0; i < OW_RUNNER_CALLS_RUNNING_MAX; i++)
    {
      if (self->tasks[i] != NULL)
        json_array_clear (self->tasks[i]->waiters);
    }
}

static void
on_closed (OwRunnerClient *client,
           void           *user_data)
{
  OwRunnerServer *self = user_data;

  if (client != self->client)
    return;
  if (self->single)
    ow_runner_client_flush (client, 2000);
  drop_client (self);
  if (self->single)
    ow_runner_loop_quit (self->runner->loop, 0);
}

static const OwRunnerClientHandlers client_handlers = {
  .call = on_call,
  .request = on_request,
  .cancelled = on_cancelled,
  .heard = on_heard,
  .closed = on_closed,
};

bool
ow_runner_server_serve (OwRunnerServer *self,
                        int             in_fd,
                        int             out_fd)
{
  self->single = true;
  self->client = ow_runner_client_new (self->runner, in_fd, out_fd, self->tools, self->meta,
                                       &client_handlers, self);
  return self->client != NULL;
}

static void
on_connection (uint32_t events,
               void    *user_data)
{
  OwRunnerServer *self = user_data;
  int fd = accept4 (self->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  json_t *params;

  if (fd < 0)
    return;
  drop_client (self);
  self->heard_at = ow_runner_loop_now ();
  self->client = ow_runner_client_new (self->runner, fd, fd, self->tools, self->meta,
                                       &client_handlers, self);
  if (self->client == NULL)
    return;
  params = json_object ();
  json_object_set_new (params, "instance", json_string (self->runner->instance));
  json_object_set_new (params, "version", json_string (OW_VERSION));
  json_object_set_new (params, "pid", json_integer (getpid ()));
  ow_runner_client_send (self->client, ow_rpc_notification (OW_MCP_HELLO, params));
}

bool
ow_runner_server_listen (OwRunnerServer *self,
                         int             fd)
{
  self->listen_fd = fd;
  self->listen_source = ow_runner_loop_add (self->runner->loop, fd, EPOLLIN, on_connection, self);
  return self->listen_source != NULL;
}

static void
on_lease (void *user_data)
{
  OwRunnerServer *self = user_data;
  int64_t left = self->heard_at + self->lease_ms - ow_runner_loop_now ();

  if (left <= 0)
    ow_runner_loop_quit (self->runner->loop, 0);
  else
    ow_runner_loop_start_timer (self->runner->loop, &self->lease, left);
}

OwRunnerServer *
ow_runner_server_new (OwRunner *runner,
                      int64_t   lease_ms)
{
  OwRunnerServer *self = calloc (1, sizeof *self);

  if (self == NULL)
    return NULL;
  *self = (OwRunnerServer) { .runner = runner, .listen_fd = -1, .lease_ms = lease_ms,
                             .heard_at = ow_runner_loop_now (),
                             .lease = { .func = on_lease, .user_data = self } };
  self->calls = ow_runner_calls_new ();
  self->tools = ow_runner_schema_new ();
  self->meta = json_object ();
  if (self->calls == NULL || self->tools == NULL || self->meta == NULL)
    {
      ow_runner_server_free (self);
      return NULL;
    }
  json_object_set_new (self->meta, OW_MCP_META_INSTANCE, json_string (runner->instance));
  json_object_set_new (self->meta, OW_MCP_META_VERSION, json_string (OW_VERSION));
  if (lease_ms > 0)
    ow_runner_loop_start_timer (runner->loop, &self->lease, lease_ms);
  return self;
}

void
ow_runner_server_free (OwRunnerServer *self)
{
  if (self == NULL)
    return;
  drop_client (self);
  for (size_t i = 0; i < OW_RUNNER_CALLS_RUNNING_MAX; i++)
    {
      if (self->tasks[i] != NULL)
        task_free (self->tasks[i]);
    }
  ow_runner_loop_stop_timer (self->runner->loop, &self->lease);
  ow_runner_loop_remove (self->runner->loop, self->listen_source);
  if (self->listen_fd >= 0)
    close (self->listen_fd);
  ow_runner_calls_free (self->calls);
  json_decref (self->tools);
  json_decref (self->meta);
  free (self);
}
