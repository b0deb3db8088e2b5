/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event-list.h"

/* The conversation as a model reads it (model/ow-model.h), made anew from the event
 * list each time, so that there is no second account of what happened. Always well
 * formed: each tool call has a result right behind the message that asked for it,
 * whatever was cut short. New reference. */
json_t *ow_agent_history_make (OwEventList *events, const char *system_prompt);
