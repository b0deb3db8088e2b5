/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "openshell/ow-openshell.h"

/* The log of one sandbox, followed with `openshell logs NAME --tail`. When the command ends (the
 * gateway was restarted) it is started again, at most once a second, and lines already seen are
 * not told twice. Disposing it ends the command.
 *
 * Final GObject, the thread of the engine. Signals: "line" (const char *line): one whole log line
 * as text made safe to show, at most 8 KiB; "refused" (OwOpenshellRefusal *, borrowed). */

#define OW_TYPE_OPENSHELL_LOGS (ow_openshell_logs_get_type ())
G_DECLARE_FINAL_TYPE (OwOpenshellLogs, ow_openshell_logs, OW, OPENSHELL_LOGS, GObject)

/* A host that the sandbox's own proxy refused. */
typedef struct {
  char    *host;     /* (owned) as the inside named it */
  guint16  port;
  char    *program;  /* (owned) (nullable) the program inside that asked, where the line tells */
  char    *engine;   /* (owned) (nullable) who refused it: "opa", the list of hosts; "ssrf", a host
                      * of the list that leads to an address of this machine or its network */
  char    *reason;   /* (owned) (nullable) the line's own reason */
  gint64   time_ms;  /* of the line, ms since 1970; 0 where it is not known */
} OwOpenshellRefusal;
void ow_openshell_refusal_free (OwOpenshellRefusal *refusal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwOpenshellRefusal, ow_openshell_refusal_free)
/* NULL when the line is not of a refused host. Pure. */
OwOpenshellRefusal *ow_openshell_refusal_from_line    (const char *line);
/* The same of a host that was let through; it has no reason. */
OwOpenshellRefusal *ow_openshell_refusal_from_allowed (const char *line);

OwOpenshellLogs *ow_openshell_logs_new (OwOpenshell *openshell, const char *name);
