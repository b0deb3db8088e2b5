/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-watch-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-text.h"
#include "openshell/ow-openshell-logs.h"
#include "sandbox/ow-ocsf-file.h"
#include "wire/ow-json.h"

/* The inside names its programs; one with a long name is no way to be refused unseen. */
#define PROGRAM_CHARS 200

struct OwOpenshellWatch {
  OwOpenshellLogs     *logs;      /* (owned) */
  OwOcsfFile          *file;      /* (owned) (nullable) */
  gboolean             said;      /* that lines cannot be kept */
  OwOpenshellWatchFunc decision;
  gpointer             user_data;
};

static void
say_once (OwOpenshellWatch *self,
          const GError     *error)
{
  if (!self->said)
    g_debug ("OpenShell's log is not kept: %s", error->message);
  self->said = TRUE;
}

/* A host of the list can be refused too, for where it leads or because it leads nowhere: nobody
 * is asked to put it on the list. */
static const char *
reason_of (const OwOpenshellRefusal *refusal)
{
  if (g_strcmp0 (refusal->engine, "ssrf") != 0)
    return "not_listed";
  return refusal->reason != NULL && strstr (refusal->reason, "resolution failed") != NULL
         ? "resolve" : "address";
}

static void
tell (OwOpenshellWatch         *self,
      const OwOpenshellRefusal *said,
      const char               *decision,
      const char               *reason)
{
  g_autofree char *program = said->program == NULL
                             ? NULL : ow_text_shorten (said->program, PROGRAM_CHARS, TRUE);
  json_t *json = json_pack ("{s:s, s:i, s:s, s:s, s:s*, s:I}", "host", said->host,
                            "port", said->port, "decision", decision, "reason", reason,
                            "program", program, "time_ms", (json_int_t) said->time_ms);
  char *text = json != NULL ? ow_json_dump (json, NULL) : NULL;

  json_decref (json);
  if (text != NULL)
    self->decision (text, self->user_data);
  free (text);
}

static void
on_refused (OwOpenshellLogs    *logs,
            OwOpenshellRefusal *refusal,
            gpointer            user_data)
{
  tell (user_data, refusal, "refuse", reason_of (refusal));
}

/* What was let through is counted: of bytes OpenShell's log does not tell. */
static void
on_line (OwOpenshellLogs *logs,
         const char      *line,
         gpointer         user_data)
{
  OwOpenshellWatch *self = user_data;
  g_autoptr (OwOpenshellRefusal) allowed = ow_openshell_refusal_from_allowed (line);
  g_autoptr (GError) error = NULL;

  if (self->file != NULL && !ow_ocsf_file_append (self->file, line, &error))
    say_once (self, error);
  if (allowed != NULL)
    tell (self, allowed, "allow", "listed");
}

OwOpenshellWatch *
ow_openshell_watch_new (OwOpenshell          *openshell,
                        const char           *sandbox,
                        const char           *session,
                        OwOpenshellWatchFunc  decision,
                        gpointer              user_data)
{
  OwOpenshellWatch *self = g_new0 (OwOpenshellWatch, 1);
  g_autoptr (GError) error = NULL;

  self->decision = decision;
  self->user_data = user_data;
  self->file = ow_ocsf_file_open (session, &error);
  if (self->file == NULL)
    say_once (self, error);
  self->logs = ow_openshell_logs_new (openshell, sandbox);
  g_signal_connect (self->logs, "line", G_CALLBACK (on_line), self);
  g_signal_connect (self->logs, "refused", G_CALLBACK (on_refused), self);
  return self;
}

void
ow_openshell_watch_free (OwOpenshellWatch *self)
{
  if (self == NULL)
    return;
  g_signal_handlers_disconnect_by_data (self->logs, self);
  g_object_unref (self->logs);
  ow_ocsf_file_free (self->file);
  g_free (self);
}
