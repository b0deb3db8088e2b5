/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "openshell/ow-openshell.h"

/* Watches the log of one sandbox of OpenShell: keeps its lines in the session's file
 * (sandbox/ow-ocsf-file.h) and tells each refused host as a decision line of the form that
 * docs/proxy.md gives, with "program" and "time_ms" where the log tells them.
 *
 * Plain structure, the thread of the engine. */
typedef struct OwOpenshellWatch OwOpenshellWatch;

typedef void (*OwOpenshellWatchFunc) (const char *line, gpointer user_data);

/* Never fails: a log that cannot be kept is said in the debug log, and refusals are still told.
 * Neither function is called from within this one. @traffic: a line with the connections to a
 * host so far, without bytes; what runs inside can add to it, so it is for a person to read. */
OwOpenshellWatch *ow_openshell_watch_new  (OwOpenshell *openshell, const char *sandbox,
                                           const char *session, OwOpenshellWatchFunc decision,
                                           OwOpenshellWatchFunc traffic,
                                           gpointer user_data);
void              ow_openshell_watch_free (OwOpenshellWatch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwOpenshellWatch, ow_openshell_watch_free)
