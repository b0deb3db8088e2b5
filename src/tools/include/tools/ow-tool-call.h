/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "audit/ow-audit.h"
#include "consent/ow-consent.h"
#include "events/ow-event-list.h"
#include "tools/ow-tool-host.h"

/* The unit of work: asked → consented → recorded → running → ended | interrupted |
 * denied. Each step is an event; the begin record is in the audit (on disk when the
 * tool can change something) before the host is asked, the end record after. A record that
 * cannot be stored stops the call. This is the one function in the program that calls a tool host.
 *
 * Final GObject, the thread of the engine, used once. */

#define OW_TYPE_TOOL_CALL (ow_tool_call_get_type ())
G_DECLARE_FINAL_TYPE (OwToolCall, ow_tool_call, OW, TOOL_CALL, GObject)

typedef enum {
  OW_TOOL_CALL_ASKED, OW_TOOL_CALL_CONSENTED, OW_TOOL_CALL_RECORDED,
  OW_TOOL_CALL_RUNNING, OW_TOOL_CALL_ENDED,
} OwToolCallState;

/* @arguments is borrowed and kept (deep copy). @id: (nullable) the model's own id, kept as
 * model_call in the events; the call's id is ours and random. */
OwToolCall     *ow_tool_call_new       (OwEventList  *events,
                                        OwConsent    *consent,
                                        OwAudit      *audit,
                                        OwToolHost   *host,
                                        const char   *tool,
                                        const json_t *arguments,
                                        const char   *id);
/* What the program itself makes the call for, as in tool-asked; before it runs. */
void            ow_tool_call_set_purpose (OwToolCall *self, const char *purpose);
/* A person gave the command for this very call, so nobody is asked: its approval is "person". Not
 * for a call of a model's. @undoes (nullable, borrowed): ids of the calls whose changes it takes
 * back, as in tool-asked. Before it runs. */
void            ow_tool_call_set_commanded (OwToolCall *self, const json_t *undoes);
void            ow_tool_call_run_async (OwToolCall          *self,
                                        GCancellable        *cancellable,
                                        GAsyncReadyCallback  callback,
                                        gpointer             user_data);
/* A call that the model got wrong (no such tool, bad arguments) is a result,
 * OW_OUTCOME_FAILED, for which no host was asked; a denied or cancelled one is a
 * result too. Error: the record could not be stored, or the host could not be asked:
 * nothing ran. An end record that could not be stored is an error as well, which says
 * that the call ran; the session must stop. */
OwToolResult   *ow_tool_call_run_finish (OwToolCall    *self,
                                         GAsyncResult  *result,
                                         GError       **error);
OwToolCallState ow_tool_call_get_state (OwToolCall *self);
const char     *ow_tool_call_get_id    (OwToolCall *self);
