/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-channel-link-private.h"

/* The extension requests (ping, probe, resume) that a channel waits for. Each belongs
 * to the link it was asked on and ends with it: asking again is the asker's matter.
 * Main thread. */

typedef struct _OwOpenRequests OwOpenRequests;

OwOpenRequests *ow_open_requests_new  (guint           deadline_ms);
/* Drops what is open without completing it. */
void            ow_open_requests_free (OwOpenRequests *self);

/* Steals @params and @task, which returns the result as a new reference. @link NULL:
 * there is nobody to ask. */
void            ow_open_requests_ask  (OwOpenRequests *self,
                                       OwChannelLink  *link,
                                       const char     *method,
                                       json_t         *params,
                                       GTask          *task);
/* Ends those that were asked on @link, or all when it is NULL. */
void            ow_open_requests_fail (OwOpenRequests *self,
                                       OwChannelLink  *link,
                                       const char     *reason);
