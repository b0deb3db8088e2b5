/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "events/ow-event.h"
#include "wire/ow-json.h"

/* Something that runs a tool call: a sandbox (src/sandbox) or a server outside the
 * wall (src/connectors). Implementations never interpret arguments on the host side.
 * Main thread. */

#define OW_TYPE_TOOL_HOST (ow_tool_host_get_type ())
G_DECLARE_INTERFACE (OwToolHost, ow_tool_host, OW, TOOL_HOST, GObject)

typedef enum {
  OW_OUTCOME_OK,          /* it ran; a command's own failure is still OK with its exit status */
  OW_OUTCOME_FAILED,      /* the tool answered with an error (no such file …) */
  OW_OUTCOME_CANCELLED,   /* stopped on request */
  OW_OUTCOME_INTERRUPTED, /* the runner was lost: whether it had an effect is unknown */
  OW_OUTCOME_DENIED,      /* no consent: nothing ran */
} OwToolOutcome;

const char *ow_tool_outcome_to_string (OwToolOutcome outcome);

/* What a host gives back. @text is valid UTF-8, at most 1 MiB, and data. */
typedef struct {
  OwToolOutcome outcome;
  char   *text;          /* (owned) what the model gets */
  json_t *structured;    /* (owned) (nullable) structuredContent of the runner */
  int     exit_status;   /* -1: none */
  int     signal;        /* 0: none */
  guint64 bytes;         /* output bytes seen */
  gboolean state_lost;   /* the shell's cwd, variables and tasks are gone */
} OwToolResult;

OwToolResult *ow_tool_result_new  (OwToolOutcome outcome, const char *text);
void          ow_tool_result_free (OwToolResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwToolResult, ow_tool_result_free)

/* Live output of a running call. @data is any bytes. @stream is "stdout" or "stderr". */
typedef void (*OwToolOutputFunc) (const char *stream, const char *data, gsize length,
                                  gpointer user_data);

struct _OwToolHostInterface {
  GTypeInterface parent_iface;
  OwLevel       (*get_level)   (OwToolHost *self);
  void          (*call_async)  (OwToolHost *self, const char *call_id, const char *tool,
                                const json_t *arguments, OwToolOutputFunc output,
                                gpointer output_data, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer user_data);
  OwToolResult *(*call_finish) (OwToolHost *self, GAsyncResult *result, GError **error);
};

OwLevel       ow_tool_host_get_level   (OwToolHost *self);
/* Only ow-tool-call.c may call this one: a style test counts the callers. Cancelling
 * still completes with a result (OW_OUTCOME_CANCELLED or _INTERRUPTED); an error is
 * for a host that could not even be asked, where nothing has run. */
void          ow_tool_host_call_async  (OwToolHost *self, const char *call_id, const char *tool,
                                        const json_t *arguments, OwToolOutputFunc output,
                                        gpointer output_data, GCancellable *cancellable,
                                        GAsyncReadyCallback callback, gpointer user_data);
OwToolResult *ow_tool_host_call_finish (OwToolHost *self, GAsyncResult *result, GError **error);
