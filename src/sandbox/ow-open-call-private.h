/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-channel-link-private.h"
#include "tools/ow-tool-host.h"

/* One tool call that the host waits for, over as many links as it takes. It is asked
 * at most once: a call that may have reached the runner is afterwards only joined.
 * Everything from the runner is capped and checked here.
 *
 * Plain struct owned by OwChannel's table, main thread. When it ends, the handler
 * ended runs first (and frees it), then the task completes. */

/* Bytes of one output notification. */
#define OW_OPEN_CALL_OUTPUT_BYTES (32u * 1024u)
/* Bytes of a call's arguments, as JSON: with the rest it must fit a frame. */
#define OW_OPEN_CALL_ARGUMENT_BYTES (4u * 1024u * 1024u)
/* Bytes of a result's text. */
#define OW_OPEN_CALL_TEXT_BYTES   (1024u * 1024u)

typedef struct _OwOpenCall OwOpenCall;

typedef struct {
  void (*ended)(OwOpenCall *call, gpointer user_data);
  void (*violation)(OwOpenCall *call, gpointer user_data);
  guint cancel_ms;    /* how long a stopped call may take to say so */
  guint call_ms;      /* how long a call may take at all; exec has no limit */
} OwOpenCallHandlers;

typedef struct {
  const char      *id;
  const char      *tool;
  const json_t    *arguments;
  OwToolOutputFunc output;      /* (nullable) */
  gpointer         output_data;
} OwOpenCallRequest;

/* @task is moved in: it returns an OwToolResult. @handlers is kept by address. */
OwOpenCall *ow_open_call_new  (const OwOpenCallRequest  *request,
                               GTask                    *task,
                               const OwOpenCallHandlers *handlers,
                               gpointer                  user_data);
void        ow_open_call_free (OwOpenCall *self);

const char *ow_open_call_get_id  (const OwOpenCall *self);
/* Whether the runner may know of it. */
gboolean    ow_open_call_is_sent (const OwOpenCall *self);
/* Asks on @link, or joins when it was sent before. */
void        ow_open_call_send    (OwOpenCall *self, OwChannelLink *link);
/* The link is gone: what was asked on it is forgotten. */
void        ow_open_call_unlink  (OwOpenCall *self);

/* FALSE for a notification that breaks the protocol. */
gboolean    ow_open_call_output  (OwOpenCall *self, const json_t *params);
/* The result that openworker/resume kept. Ends the call. */
void        ow_open_call_finish  (OwOpenCall *self, json_t *result);
/* What openworker/resume said of it, but for "running". @answer (nullable): none. Ends the call. */
void        ow_open_call_settle  (OwOpenCall *self, json_t *answer);
/* The runner is lost. Ends the call, as an error when it was never sent. */
void        ow_open_call_lose    (OwOpenCall *self, const char *reason);
