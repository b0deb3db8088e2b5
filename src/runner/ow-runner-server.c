/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config.h"

#include "ow-runner-server-private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ow-runner-client-private.h"
#include "ow-runner-process-private.h"

#define PROBES_MAX 16u

struct _OwRunnerServer {
  OwRunner       *runner;
  OwRunnerTasks   tasks;      /* its client is ours */
  unsigned int    generation; /* of the client: what an older one asked is not answered */
  json_t         *tools;
  json_t         *meta;
  int             listen_fd;
  OwRunnerSource *listen_source;
  bool            single;
  unsigned int    probes;
  int64_t         lease_ms;
  int64_t         heard_at;
  OwRunnerTimer   lease;
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
  { "undo", ow_tool_undo },
  { "changes", ow_tool_changes },
  { "settings", ow_tool_settings },
};

static void
run (OwRunnerServer *self,
     OwRunnerTask   *task,
     const char     *name,
     json_t         *arguments)
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
  if (ow_runner_background_is_tool (name))
    {
      ow_runner_background_run (self->runner->background, task, name, arguments);
      return;
    }
  for (size_t i = 0; i < sizeof file_tools / sizeof file_tools[0]; i++)
    {
      if (strcmp (name, file_tools[i].name) == 0)
        {
          ow_runner_tool_run (self->runner, task, file_tools[i].func, arguments);
          return;
        }
    }
}

static bool
is_tool (const char *name)
{
  if (strcmp (name, "shell") == 0 || strcmp (name, "exec") == 0
      || ow_runner_background_is_tool (name))
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

  switch (ow_runner_calls_look_up (self->tasks.calls, call_id, ow_runner_loop_now (), &call))
    {
    case OW_RUNNER_CALL_RUNNING:
      if (!ow_runner_task_join (call->user_data, id))
        ow_mcp_server_reply_error (mcp, id, OW_RPC_INVALID_REQUEST,
                                   "This call is waited for too often already.", NULL);
      return true;

    case OW_RUNNER_CALL_FINISHED:
      ow_runner_tasks_answer (&self->tasks, id, call->result, call->size);
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
  task = ow_runner_task_new (&self->tasks, id, call_id, strcmp (name, "exec") == 0);
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

  ow_runner_tasks_cancel (&self->tasks, id);
}

static void
send_finished (OwMcpServer        *mcp,
               const json_t       *id,
               const OwRunnerCall *call)
{
  static const char begin[] = "{\"state\":\"finished\",\"result\":";
  char *text = call->result == NULL ? NULL : malloc (sizeof begin + call->size);
  char *at = text;

  if (text != NULL)
    {
      at = mempcpy (at, begin, sizeof begin - 1);
      at = mempcpy (at, call->result, call->size);
      *at++ = '}';
    }
  ow_mcp_server_reply_text (mcp, id, text, (size_t) (at - text));
  free (text);
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
  switch (ow_runner_calls_look_up (self->tasks.calls, call_id, ow_runner_loop_now (), &call))
    {
    case OW_RUNNER_CALL_RUNNING:
      json_object_set_new (result, "state", json_string ("running"));
      break;

    case OW_RUNNER_CALL_FINISHED:
      json_decref (result);
      send_finished (mcp, id, call);
      return;

    case OW_RUNNER_CALL_FORGOTTEN:
      json_object_set_new (result, "state", json_string ("forgotten"));
      break;

    /* Nor will it ever be run: what its connection still holds was closed with that. */
    case OW_RUNNER_CALL_UNKNOWN:
    default:
      json_object_set_new (result, "state", json_string ("unknown"));
      break;
    }
  ow_mcp_server_reply (mcp, id, result);
}

static void
run_probe (const OwRunnerRoots *roots,
           const json_t        *arguments,
           OwRunnerToolResult  *result)
{
  result->structured = ow_runner_probe (arguments);
}

static void
on_probe_done (const OwRunnerForkAnswer *answer,
               int                       status,
               void                     *user_data)
{
  Probe *probe = user_data;
  OwRunnerServer *self = probe->server;

  self->probes--;
  if (self->tasks.client != NULL && self->generation == probe->generation)
    {
      OwMcpServer *mcp = ow_runner_client_get_mcp (self->tasks.client);

      if (answer != NULL)
        ow_mcp_server_reply_text (mcp, probe->id, answer->structured_text,
                                  answer->structured_length);
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
      if (ow_runner_fork_start (self->runner, run_probe, params, on_probe_done, probe))
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
  ow_runner_client_free (self->tasks.client);
  ow_runner_tasks_leave (&self->tasks);
  self->generation++;
}

static void
on_closed (OwRunnerClient *client,
           void           *user_data)
{
  OwRunnerServer *self = user_data;

  if (client != self->tasks.client)
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
  self->tasks.client = ow_runner_client_new (self->runner->loop, in_fd, out_fd, self->tools,
                                             self->meta, &client_handlers, self);
  return self->tasks.client != NULL;
}

/* What a command says over this socket would count as the host's word: it would have the file
 * tools, which reach what no command does. Who is on the other side of the wall has no pid here. */
static bool
is_from_command (int fd)
{
  struct ucred peer;
  socklen_t size = sizeof peer;

  return getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0
         || (peer.pid > 0 && ow_runner_process_is_own (peer.pid));
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
  if (is_from_command (fd))
    {
      close (fd);
      return;
    }
  drop_client (self);
  self->heard_at = ow_runner_loop_now ();
  self->tasks.client = ow_runner_client_new (self->runner->loop, fd, fd, self->tools, self->meta,
                                             &client_handlers, self);
  if (self->tasks.client == NULL)
    return;
  params = json_object ();
  json_object_set_new (params, "instance", json_string (self->runner->instance));
  json_object_set_new (params, "version", json_string (OW_VERSION));
  json_object_set_new (params, "pid", json_integer (getpid ()));
  ow_runner_client_send (self->tasks.client, ow_rpc_notification (OW_MCP_HELLO, params));
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
  self->tools = ow_runner_schema_new ();
  self->meta = json_object ();
  if (!ow_runner_tasks_init (&self->tasks, runner->loop) || self->tools == NULL
      || self->meta == NULL)
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
  ow_runner_loop_stop_timer (self->runner->loop, &self->lease);
  ow_runner_loop_remove (self->runner->loop, self->listen_source);
  if (self->listen_fd >= 0)
    close (self->listen_fd);
  ow_runner_tasks_clear (&self->tasks);
  json_decref (self->tools);
  json_decref (self->meta);
  free (self);
}
