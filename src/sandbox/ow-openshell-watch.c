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
#define MAX_COUNTED   1000

struct OwOpenshellWatch {
  OwOpenshellLogs     *logs;      /* (owned) */
  OwOcsfFile          *file;      /* (owned) (nullable) */
  gboolean             said;      /* that lines cannot be kept */
  GHashTable          *counts;    /* (owned) "HOST:PORT" to the connections */
  OwOpenshellWatchFunc decision;
  OwOpenshellWatchFunc traffic;
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
on_refused (OwOpenshellLogs    *logs,
            OwOpenshellRefusal *refusal,
            gpointer            user_data)
{
  OwOpenshellWatch *self = user_data;
  g_autofree char *program = refusal->program == NULL
                             ? NULL : ow_text_shorten (refusal->program, PROGRAM_CHARS, TRUE);
  json_t *decision = json_pack ("{s:s, s:i, s:s, s:s, s:s*, s:I}", "host", refusal->host,
                                "port", refusal->port, "decision", "refuse",
                                "reason", reason_of (refusal), "program", program,
                                "time_ms", (json_int_t) refusal->time_ms);
  char *text = decision != NULL ? ow_json_dump (decision, NULL) : NULL;

  json_decref (decision);
  if (text != NULL)
    self->decision (text, self->user_data);
  free (text);
}

/* What was let through is counted, and no more: what runs inside can write such a line itself, by
 * the name of a program. Of bytes OpenShell's log does not tell. */
static void
count (OwOpenshellWatch         *self,
       const OwOpenshellRefusal *allowed)
{
  g_autofree char *key = g_strdup_printf ("%s:%u", allowed->host, allowed->port);
  g_autofree char *program = allowed->program == NULL
                             ? NULL : ow_text_shorten (allowed->program, PROGRAM_CHARS, TRUE);
  const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (self->counts, key)) + 1;
  json_t *json;
  char *text;

  if (n == 1 && g_hash_table_size (self->counts) >= MAX_COUNTED)
    return;
  g_hash_table_insert (self->counts, g_steal_pointer (&key), GUINT_TO_POINTER (n));
  json = json_pack ("{s:s, s:i, s:I, s:s*}", "traffic", allowed->host, "port", allowed->port,
                    "connections", (json_int_t) n, "program", program);
  text = json != NULL ? ow_json_dump (json, NULL) : NULL;
  json_decref (json);
  if (text != NULL)
    self->traffic (text, self->user_data);
  free (text);
}

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
    count (self, allowed);
}

OwOpenshellWatch *
ow_openshell_watch_new (OwOpenshell          *openshell,
                        const char           *sandbox,
                        const char           *session,
                        OwOpenshellWatchFunc  decision,
                        OwOpenshellWatchFunc  traffic,
                        gpointer              user_data)
{
  OwOpenshellWatch *self = g_new0 (OwOpenshellWatch, 1);
  g_autoptr (GError) error = NULL;

  self->decision = decision;
  self->traffic = traffic;
  self->counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
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
  g_hash_table_unref (self->counts);
  ow_ocsf_file_free (self->file);
  g_free (self);
}
