/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "config/ow-host.h"

/* Which names of a list stand for an address of a private network, to which nobody has consented:
 * for a wall whose own proxy takes a name on the list for consent (REQ-N03). The profiles' own
 * hosts are not looked up. What does not answer in 3 s is not among them. */
void       ow_private_names_find_async  (GPtrArray           *hosts, /* (nullable) of OwHost */
                                         GCancellable        *cancellable,
                                         GAsyncReadyCallback  callback,
                                         gpointer             user_data);
/* (transfer full) of OwHost; never fails. */
GPtrArray *ow_private_names_find_finish (GAsyncResult        *result);

/* Takes those of @names out of @hosts and says so. (transfer full) (nullable) */
char      *ow_private_names_leave_out   (GPtrArray           *hosts,
                                         GPtrArray           *names);
