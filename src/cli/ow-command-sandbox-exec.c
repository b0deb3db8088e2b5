/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/ow-text.h"
#include "ow-face-private.h"
#include "ow-output-private.h"
#include "ow-watch-private.h"

/* As long as the program lives. */
typedef struct
{
  OwFace *face;
  guint64 shown; /* bytes of output that came */
} Exec;

/* The command's own bytes go to our stdout and stderr untouched: it is the person's
 * command, and its output may be piped on. Where stdout takes no more of it, the command is
 * ended: by itself it would go on for ever. */
static void
show_output (Exec    *exec,
             OwEvent *event)
{
  gboolean was_taken = ow_output_get_fault () == 0;
  int fd = g_strcmp0 (ow_event_get_string (event, "stream"), "stderr") == 0 ? STDERR_FILENO
                                                                           : STDOUT_FILENO;
  const char *text = ow_event_get_string (event, "text");
  const char *data = ow_event_get_string (event, "data");

  if (text != NULL)
    {
      ow_output_write (fd, text, strlen (text));
      exec->shown += strlen (text);
    }
  else if (data != NULL)
    {
      gsize length;
      g_autofree guchar *bytes = g_base64_decode (data, &length);

      ow_output_write (fd, bytes, length);
      exec->shown += length;
    }
  if (was_taken && ow_output_get_fault () != 0)
    ow_output_interrupt ();
}

static void
print_note (const char *text)
{
  g_autofree char *visible = ow_text_visible (text);

  g_printerr ("openworker: %s\n", visible);
}

static void
show_event (OwEvent  *event,
            gpointer  user_data)
{
  Exec *exec = user_data;
  json_int_t lost;
  const json_t *structured = json_object_get (ow_event_get_members (event), "structured");

  switch ((int) ow_event_get_kind (event))
    {
    case OW_EVENT_TOOL_OUTPUT:
      show_output (exec, event);
      break;
    case OW_EVENT_TOOL_ENDED:
      /* Why one has not come to its end is said when the session ends. */
      if (g_strcmp0 (ow_event_get_string (event, "outcome"), "ok") != 0)
        break;
      /* What the runner dropped, and what was on its way when the connection broke. */
      lost = ow_json_get_int (structured, "bytes", 0) - (json_int_t) exec->shown;
      if (lost > 0)
        g_printerr ("openworker: %" JSON_INTEGER_FORMAT " bytes of the output were lost.\n", lost);
      break;
    case OW_EVENT_NOTICE:
      print_note (ow_event_get_string (event, "text"));
      break;
    case OW_EVENT_SESSION_ENDED:
      if (ow_output_get_fault () != 0)
        ow_face_finish (exec->face, ow_output_get_fault () == EPIPE ? 128 + SIGPIPE : 1);
      else if (ow_event_get_string (event, "message") != NULL)
        print_note (ow_event_get_string (event, "message"));
      break;
    default:
      break;
    }
}

void
ow_command_sandbox_exec (OwFace  *face,
                         int      argc,
                         char   **argv)
{
  OwWatchOptions watch = { .event = show_event, .consent = OW_WATCH_ALLOW_OWN_COMMAND };
  Exec *exec;
  g_auto (GStrv) folders = NULL;
  g_autofree char *provider = NULL;
  const GOptionEntry entries[] = {
    { "folder", 'f', 0, G_OPTION_ARG_FILENAME_ARRAY, &folders,
      "A folder the command may use; repeatable, the first is where it starts", "DIR[:ro]" },
    { "provider", 'p', 0, G_OPTION_ARG_STRING, &provider,
      "How the command runs: bubblewrap or openshell (in a sandbox), or direct (in none)",
      "NAME" },
    { NULL }
  };
  json_t *params;

  if (!ow_face_parse (face, "-- COMMAND [WORD…]",
                      "Runs one command in a sandbox. The exit status is the command's, "
                      "128+n for a signal; its stdin is empty.",
                      entries, TRUE, &argc, &argv))
    return;
  if (argc > 1 && g_str_equal (argv[1], "--"))
    {
      argv++;
      argc--;
    }
  if (folders == NULL)
    {
      ow_face_usage (face, "“sandbox exec” needs a --folder to work in.");
      return;
    }
  if (argc < 2 || argv[1][0] == '\0')
    {
      ow_face_usage (face, "“sandbox exec” needs a command after “--”.");
      return;
    }

  params = json_pack ("{s:o, s:o}", "folders", ow_face_words (folders),
                      "argv", ow_face_words (argv + 1));
  if (provider != NULL)
    json_object_set_new (params, "provider", json_string (provider));
  exec = g_new0 (Exec, 1);
  exec->face = face;
  watch.user_data = exec;
  ow_watch_start (ow_watch_new (face, &watch), "session.exec", params);
}
