/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-paths.h"
#include "base/ow-text.h"
#include "ow-bridge-private.h"
#include "ow-face-private.h"
#include "ow-notify-private.h"
#include "ow-output-private.h"
#include "ow-provider-words-private.h"

static gboolean over_stdio;

/* What a person or a journal reads of the engine. */
static void G_GNUC_PRINTF (1, 2)
log_line (const char *format,
          ...)
{
  g_autofree char *text = NULL;
  g_autofree char *visible = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  visible = ow_text_visible (text);
  g_printerr ("openworker: %s\n", visible);
}

static void
log_notice (const char *notice)
{
  if (notice != NULL)
    log_line ("WARNING: %s", notice);
}

/* What the engine has to say of this machine, when that is new. */
static void
log_machine (const char *notice) /* (nullable) */
{
  static char *logged; /* as long as the program lives */

  if (g_strcmp0 (notice, logged) == 0)
    return;
  log_notice (notice);
  g_free (logged);
  logged = g_strdup (notice);
}

static void
log_change (OwSharedEngine *engine,
            gpointer        user_data)
{
  log_machine (ow_shared_engine_get_notice (engine));
}

static void
log_event (OwEngine *engine,
           OwEvent  *event,
           gpointer  user_data)
{
  const char *session = ow_event_get_session (event);
  const char *message = ow_event_get_string (event, "message");

  switch ((int) ow_event_get_kind (event))
    {
    case OW_EVENT_SESSION_STARTED:
    case OW_EVENT_SESSION_RESUMED:
      log_line ("Session %s %s [%s].", session,
                ow_event_get_kind (event) == OW_EVENT_SESSION_STARTED ? "starts"
                : ow_event_get_string (event, "purpose") == NULL ? "goes on"
                : "has its changes looked at or undone", ow_event_get_string (event, "level"));
      log_notice (ow_event_get_string (event, "notice"));
      break;
    case OW_EVENT_CONSENT_ASKED:
      log_line ("Session %s asks: request %s, “%s” (openworker approvals).", session,
                ow_event_get_string (event, "request"), ow_event_get_string (event, "title"));
      break;
    case OW_EVENT_SESSION_ENDED:
      log_line ("Session %s: %s%s%s", session, ow_event_get_string (event, "outcome"),
                message != NULL ? ". " : ".", message != NULL ? message : "");
      break;
    default:
      break;
    }
}

static void
log_status (OwFace       *face,
            const json_t *result,
            gpointer      user_data)
{
  g_autofree char *place = ow_paths_get_runtime_dir ();

  log_line ("The engine runs, version %s, process %" JSON_INTEGER_FORMAT ". It listens on "
            "%s/engine.", ow_json_get_string (result, "version", "?"),
            ow_json_get_int (result, "pid", 0), place);
  log_line ("Commands of agents %s.",
            ow_provider_words (ow_json_get_string (result, "provider", NULL)));
  log_machine (ow_json_get_string (result, "notice", NULL));
  if (!over_stdio)
    g_print ("ready %s/engine\n", place);
  ow_notify_send ("READY=1");
}

static gboolean
on_stop (gpointer user_data)
{
  OwFace *face = user_data;

  log_line ("Stopping: what runs is parked.");
  ow_notify_send ("STOPPING=1");
  face->parks = TRUE;
  ow_face_finish (face, 0);
  return G_SOURCE_CONTINUE;
}

/* The far side has gone. What runs in this process may be other faces', and has its end. */
static void
bridged (GObject      *source,
         GAsyncResult *result,
         gpointer      user_data)
{
  g_autoptr (GError) error = NULL;

  if (!ow_bridge_run_finish (result, &error))
    log_line ("The connection broke: %s.", error->message);
  ow_face_finish (user_data, 0);
}

static void
bridge (OwFace *face)
{
  ow_bridge_run_async (bridged, face);
}

/* An engine in this process speaks to its own stdio through its socket, like to everybody. */
static void
connected_to_own (GObject      *source,
                  GAsyncResult *result,
                  gpointer      user_data)
{
  OwFace *face = user_data;
  g_autoptr (GError) error = NULL;

  if (ow_bridge_connect_finish (result, &error))
    bridge (face);
  else
    ow_face_fail (face, error);
}

static void
be_engine (OwFace *face)
{
  g_signal_connect (face->engine, "event", G_CALLBACK (log_event), NULL);
  g_signal_connect (face->engine, "changed", G_CALLBACK (log_change), NULL);
  ow_face_command (face, "engine.status", NULL, log_status, NULL);
  if (over_stdio)
    ow_bridge_connect_async (connected_to_own, face);
}

typedef struct
{
  OwFace *face;
  GError *error; /* (owned) why this process cannot be the engine */
} Refusal;

/* Another one came first: then that one is spoken to. */
static void
connected_to_other (GObject      *source,
                    GAsyncResult *result,
                    gpointer      user_data)
{
  g_autofree Refusal *refusal = user_data;
  g_autoptr (GError) why = refusal->error;

  if (ow_bridge_connect_finish (result, NULL))
    bridge (refusal->face);
  else
    ow_face_fail (refusal->face, why);
}

static void
opened (GObject      *source,
        GAsyncResult *result,
        gpointer      user_data)
{
  OwFace *face = user_data;
  GError *error = NULL;

  if (ow_shared_engine_open_finish (OW_SHARED_ENGINE (source), result, &error))
    {
      be_engine (face);
      return;
    }
  if (over_stdio)
    {
      Refusal *refusal = g_new0 (Refusal, 1);

      *refusal = (Refusal) { face, error };
      ow_bridge_connect_async (connected_to_other, refusal);
      return;
    }
  ow_face_fail (face, error);
  g_error_free (error);
}

static void
become_engine (OwFace *face)
{
  ow_output_watch (on_stop, face);
  face->engine = ow_shared_engine_new (OW_FACE_UP);
  ow_shared_engine_open_async (face->engine, NULL, opened, face);
}

static void
looked (GObject      *source,
        GAsyncResult *result,
        gpointer      user_data)
{
  OwFace *face = user_data;

  if (ow_bridge_connect_finish (result, NULL))
    bridge (face);
  else
    become_engine (face);
}

void
ow_command_up (OwFace  *face,
               int      argc,
               char   **argv)
{
  const GOptionEntry entries[] = {
    { "stdio", 0, 0, G_OPTION_ARG_NONE, &over_stdio,
      "Speak the engine's protocol on standard input and output: the engine's that runs already, "
      "else this one's", NULL },
    { NULL }
  };

  if (!ow_face_parse (face, "", "Is the engine of this machine, in the foreground and without a "
                      "window. SIGTERM ends it: what runs is parked and can go on later.", entries,
                      FALSE, &argc, &argv))
    return;
  if (argc != 1)
    ow_face_usage (face, "“up” takes no words.");
  else if (over_stdio)
    ow_bridge_connect_async (looked, face);
  else
    become_engine (face);
}
