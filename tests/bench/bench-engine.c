/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/ow-audit.h"
#include "engine/ow-local-engine.h"
#include "engine/ow-shared-engine.h"
#include "ow-sse-private.h"

/* Measures what of the engine can be measured without a window. Prints "NAME MILLISECONDS"
 * lines.
 *
 * bench-engine inside | socket | audit FILE | sse */

#define N_CALLS   2000
#define N_APPENDS 2000
#define SSE_BYTES (8u * 1024u * 1024u)
/* What a socket gives at once. */
#define SSE_READ  4096u

typedef struct {
  GMainLoop *loop;
  OwEngine  *engine;
  guint      left;
  gint64     begun;
} Calls;

static G_GNUC_NORETURN void
give_up (const char   *what,
         const GError *error)
{
  fprintf (stderr, "bench-engine: %s: %s\n", what, error != NULL ? error->message : "?");
  exit (1);
}

static void
print_figure (const char *name,
              gint64      since,
              double      n)
{
  printf ("%s %.6f\n", name, (double) (g_get_monotonic_time () - since) / 1000.0 / n);
}

static void call (Calls *calls);

static void
on_called (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  Calls *calls = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  if (value == NULL)
    give_up ("engine.status", error);
  json_decref (value);
  if (--calls->left == 0)
    g_main_loop_quit (calls->loop);
  else
    call (calls);
}

static void
call (Calls *calls)
{
  ow_engine_command_async (calls->engine, "engine.status", NULL, NULL, on_called, calls);
}

static void
measure_calls (OwEngine   *engine,
               const char *name)
{
  Calls calls = { g_main_loop_new (NULL, FALSE), engine, N_CALLS, g_get_monotonic_time () };

  call (&calls);
  g_main_loop_run (calls.loop);
  print_figure (name, calls.begun, N_CALLS);
  g_main_loop_unref (calls.loop);
}

static void
on_opened (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GError) error = NULL;

  if (!ow_shared_engine_open_finish (OW_SHARED_ENGINE (source), result, &error))
    give_up ("the engine", error);
  g_main_loop_quit (user_data);
}

static void
measure_socket (void)
{
  g_autoptr (OwSharedEngine) engine = ow_shared_engine_new (OW_FACE_CLIENT);
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);

  ow_shared_engine_open_async (engine, NULL, on_opened, loop);
  g_main_loop_run (loop);
  measure_calls (OW_ENGINE (engine), "socket");
}

static void
measure_audit (const char *file)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwAudit) audit = ow_audit_open (file, &error);
  g_autoptr (OwEvent) event = NULL;
  gint64 begun;

  if (audit == NULL)
    give_up ("the record", error);
  event = ow_event_new (OW_EVENT_TOOL_STARTED, "bench",
                        json_pack ("{s:s, s:s, s:{s:s}, s:s, s:s}", "call", "c1", "tool", "shell",
                                   "arguments", "command", "make -C src check",
                                   "level", "bubblewrap", "approval", "policy:sandboxed"));
  begun = g_get_monotonic_time ();
  for (guint i = 0; i < N_APPENDS; i++)
    if (!ow_audit_append (audit, event, FALSE, &error))
      give_up ("a record", error);
  print_figure ("append", begun, N_APPENDS);
}

static gboolean
on_event (const OwSseEvent *event,
          gpointer          user_data)
{
  guint *n = user_data;

  (*n)++;
  return TRUE;
}

/* What a model sends for one token, over and over, in reads of the size that a socket gives. */
static void
measure_sse (void)
{
  static const char line[] =
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,"
    "\"delta\":{\"content\":\" token\"},\"finish_reason\":null}]}\n\n";
  g_autoptr (GString) stream = g_string_new (NULL);
  g_autoptr (OwSse) sse = ow_sse_new (1024 * 1024);
  g_autoptr (GError) error = NULL;
  guint n_lines = 0;
  guint n_events = 0;
  gint64 begun;

  for (; stream->len < SSE_BYTES; n_lines++)
    g_string_append (stream, line);
  begun = g_get_monotonic_time ();
  for (gsize at = 0; at < stream->len; at += SSE_READ)
    if (!ow_sse_feed (sse, stream->str + at, MIN (SSE_READ, stream->len - at), on_event, &n_events,
                      &error))
      give_up ("the stream", error);
  if (n_events != n_lines)
    give_up ("the stream was not read whole", NULL);
  print_figure ("sse_mib", begun, (double) SSE_BYTES / (1024.0 * 1024.0));
}

int
main (int    argc,
      char **argv)
{
  if (argc == 2 && g_str_equal (argv[1], "inside"))
    {
      g_autoptr (OwLocalEngine) engine = ow_local_engine_new ();

      measure_calls (OW_ENGINE (engine), "inside");
    }
  else if (argc == 2 && g_str_equal (argv[1], "socket"))
    measure_socket ();
  else if (argc == 3 && g_str_equal (argv[1], "audit"))
    measure_audit (argv[2]);
  else if (argc == 2 && g_str_equal (argv[1], "sse"))
    measure_sse ();
  else
    return 2;
  return 0;
}
