/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event-list.h"

/* The project's own instructions: a file of the folder work starts in, and the purpose that
 * its call's tool-asked event has. */
#define OW_AGENT_INSTRUCTIONS_NAME    "AGENTS.md"
#define OW_AGENT_INSTRUCTIONS_PURPOSE "instructions"
/* On a model-message: the number of the last event that the model knew when it was asked. Only
 * where the person said something since, which then stands behind the message. */
#define OW_AGENT_SEEN_MEMBER          "x-seen"

/* The conversation as a model reads it (model/ow-model.h), made anew from the event
 * list each time, so that there is no second account of what happened. Always well
 * formed: each tool call has a result right behind the message that asked for it,
 * whatever was cut short. New reference. */
json_t *ow_agent_history_make (OwEventList *events, const char *system_prompt);
/* Its last word is the model's own, whole and without a call: there is nothing to ask. */
gboolean ow_agent_history_is_answered (const json_t *history);
