/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-local-engine-private.h"

/* What the commands about sandboxes share. */

/* (transfer full) (nullable) the events of @session, at work or stored, without putting right what
 * a killed run left. */
OwEventList  *ow_engine_sandboxes_find_events (OwLocalEngine *self,
                                               const char    *session);
/* The same; without such a session NULL and OW_ERROR_USAGE. */
OwEventList  *ow_engine_sandboxes_need_events (OwLocalEngine *self,
                                               const char    *session,
                                               GError       **error);
/* Borrowed (nullable): @member of the last of @events (nullable) that has it. */
const json_t *ow_engine_sandboxes_find_member (OwEventList   *events,
                                               const char    *member);
/* Adds to @item what the session's @events (nullable) and OpenShell's log tell of its sandbox. */
void          ow_engine_sandboxes_describe    (json_t        *item,
                                               OwEventList   *events);
