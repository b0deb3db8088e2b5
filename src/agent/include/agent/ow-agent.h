/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "audit/ow-audit.h"
#include "consent/ow-consent.h"
#include "events/ow-event-list.h"
#include "model/ow-model.h"
#include "tools/ow-tool-host.h"

/* The loop: history from the event list → model → tool calls through OwToolCall →
 * again, until the model asks for nothing more, a limit is reached or it is stopped.
 * It sees a tool host and consent, never a sandbox.
 *
 * Final GObject, the thread of the engine, one turn at a time. */

#define OW_TYPE_AGENT (ow_agent_get_type ())
G_DECLARE_FINAL_TYPE (OwAgent, ow_agent, OW, AGENT, GObject)

/* Limits of a turn that ask whether to go on (a request for consent of kind "limit", which pauses
 * the turn at its next step); a yes gives as much again. */
typedef struct {
  guint max_calls;      /* tool calls a turn; 0: 200 */
  guint max_seconds;    /* a turn's length; 0: 3,600 */
} OwAgentLimits;

/* @system_prompt: what the agent is told of its environment, see
 * ow_agent_describe_environment(). */
OwAgent *ow_agent_new             (OwEventList *events, OwConsent *consent, OwAudit *audit,
                                   OwToolHost *host, OwModel *model,
                                   const char *system_prompt, const OwAgentLimits *limits);
/* What it is told of its environment from the model's next step on. */
void     ow_agent_set_prompt      (OwAgent *self, const char *system_prompt);
/* Reads the AGENTS.md of the folder work starts in, through the tool host like any call, for the
 * agent to be told of as what it is: a file's words, not the person's. A file that is not there
 * is no error. Not read for a recorded model. Before the first turn, and where that folder is
 * another one; the newest reading counts. */
void     ow_agent_read_instructions_async  (OwAgent *self, GCancellable *cancellable,
                                            GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_agent_read_instructions_finish (OwAgent *self, GAsyncResult *result, GError **error);
/* Says something to the agent while it works: an event at once, read with its next step. FALSE:
 * no turn runs, or it could not be stored. */
gboolean ow_agent_steer           (OwAgent *self, const char *text, GError **error);
/* A turn runs, and was not stopped yet. */
gboolean ow_agent_is_working      (OwAgent *self);
/* The last turn failed in a way that nothing may follow: an event or a record could not be
 * written, or the tool host is gone. */
gboolean ow_agent_is_broken       (OwAgent *self);
/* Appends the user's message (@text NULL: nothing, the turn answers what is there) and works
 * until the turn ends. The error is also in the turn-ended event: OW_ERROR_INTERRUPTED when it
 * was stopped through @cancellable, OW_ERROR_FAILED at a limit.
 * Whatever ended it, each call that the model asked for has a tool-ended event, and the audit
 * is on disk. */
void     ow_agent_run_turn_async  (OwAgent *self, const char *text, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_agent_run_turn_finish (OwAgent *self, GAsyncResult *result, GError **error);

/* Ends the running turn as "failed" with @error (the wall was lost, the record cannot
 * be stored): what runs is stopped, every asked call gets its end. Without a running
 * turn nothing happens. */
void     ow_agent_fail            (OwAgent *self, const GError *error);

/* What the model is given as the result of a call of @tool: the text of its tool-ended event,
 * cut where it is long, with the way to the rest, never empty. (transfer full) */
char    *ow_agent_result_for_model (const char *tool, const char *result);

/* The system prompt (REQ-A03): folders with their modes, network profile and hosts, level, shared
 * credentials, what lost shell state means. @folders: array of {"path","read_only"}; @hosts and
 * @credentials: arrays of texts, NULL: none. (transfer full) */
char    *ow_agent_describe_environment (const json_t *folders, OwLevel level,
                                        const char *profile, const json_t *hosts,
                                        const json_t *credentials);
