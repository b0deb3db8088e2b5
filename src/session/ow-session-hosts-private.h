/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-session-private.h"

/* What a session does about the hosts that its sandbox refuses: one event for each, one question
 * to the person where an answer can still help, and what was allowed comes into force. */

OwSessionHosts *ow_session_hosts_new  (void);
void            ow_session_hosts_free (OwSessionHosts *hosts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwSessionHosts, ow_session_hosts_free)

/* A decision line of the sandbox. */
void ow_session_hosts_decided (OwSession *self, const char *line);
/* A line of the sandbox about what went to a host and came from it. */
void ow_session_hosts_traffic (OwSession *self, const char *line);
/* Stores what there is of that and was not stored yet. */
void ow_session_hosts_tell    (OwSession *self);
/* A tool call has begun (@event) or ended: which one a refusal belongs to. */
void ow_session_hosts_call    (OwSession *self, OwEvent *event);
