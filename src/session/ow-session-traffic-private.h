/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

#include "wire/ow-json.h"

/* What left the machine in one run of a session: for each host the bytes in both directions, the
 * connections, the tries that were refused and the program that was seen first, as its sandboxes
 * tell it. Main thread. */

typedef struct OwSessionTraffic OwSessionTraffic;

OwSessionTraffic *ow_session_traffic_new     (void);
void              ow_session_traffic_free    (OwSessionTraffic *self);

/* A line with "traffic" of openworker-proxy (docs/proxy.md), of the sandbox with that id: its
 * totals begin anew with each sandbox. What is no such line is nothing. */
void              ow_session_traffic_take    (OwSessionTraffic *self,
                                              const char       *sandbox,
                                              const char       *line);
/* The members of a host-decision event, before it is known whether it is one. */
void              ow_session_traffic_decided (OwSessionTraffic *self,
                                              const json_t     *members);

/* Whether there is something that ow_session_traffic_to_json() has not told yet. */
gboolean          ow_session_traffic_is_new  (const OwSessionTraffic *self);
/* The hosts of a traffic event (docs/events.md), by name. (transfer full) */
json_t           *ow_session_traffic_to_json (OwSessionTraffic *self);
/* The same was told: it is new no more. */
void              ow_session_traffic_told    (OwSessionTraffic *self);
