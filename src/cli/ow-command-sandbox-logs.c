/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "ow-face-private.h"
#include "ow-output-private.h"

#define FOLLOW_MS     500
#define DEFAULT_LINES 100
#define MAX_LINES     10000

static struct
{
  OwFace     *face;
  const char *session; /* borrowed from argv */
  gint64      lines;
  gint64      next;
  gboolean    follow;
  gboolean    refused;
  gboolean    json;
} options = { .lines = DEFAULT_LINES };

static void ask (OwFace *face);

static gboolean
on_time (gpointer user_data)
{
  ask (user_data);
  return G_SOURCE_REMOVE;
}

static gboolean
on_interrupt (gpointer user_data)
{
  ow_face_finish (user_data, 0);
  return G_SOURCE_CONTINUE;
}

static void
show (OwFace       *face,
      const json_t *result,
      gpointer      user_data)
{
  const json_t *lines = json_object_get (result, "lines");

  for (size_t i = 0; i < json_array_size (lines); i++)
    {
      const char *line = json_string_value (json_array_get (lines, i));
      g_autofree char *visible = ow_text_visible (line != NULL ? line : "");

      g_strdelimit (visible, "\n", ' ');
      if (options.json)
        ow_face_print_json (json_array_get (lines, i));
      else
        g_print ("%s\n", visible);
    }
  options.next = ow_json_get_int (result, "next", 0);
  if (options.follow && ow_output_get_fault () == 0)
    g_timeout_add (FOLLOW_MS, on_time, face);
  else
    ow_face_finish (face, 0);
}

static void
ask (OwFace *face)
{
  ow_face_command (face, "sandbox.logs",
                   json_pack ("{s:s, s:I, s:I, s:b}", "session", options.session,
                              "lines", (json_int_t) options.lines, "from",
                              (json_int_t) options.next, "refused", options.refused),
                   show, NULL);
}

void
ow_command_sandbox_logs (OwFace  *face,
                         int      argc,
                         char   **argv)
{
  const GOptionEntry entries[] = {
    { "follow", 'f', 0, G_OPTION_ARG_NONE, &options.follow, "Go on with what comes", NULL },
    { "lines", 'n', 0, G_OPTION_ARG_INT64, &options.lines, "How many of the last lines", "N" },
    { "refused", 0, 0, G_OPTION_ARG_NONE, &options.refused, "Only hosts that were refused", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print each line as a JSON text", NULL },
    { NULL }
  };

  if (!ow_face_parse (face, "SESSION", "Shows what a session's sandbox logged: OpenShell's own "
                      "lines, or which hosts the sandbox allowed and refused.", entries, FALSE,
                      &argc, &argv))
    return;
  if (argc != 2)
    {
      ow_face_usage (face, "“sandbox logs” takes a session.");
      return;
    }
  if (options.lines < 1 || options.lines > MAX_LINES)
    {
      ow_face_usage (face, "-n takes a number from 1 to %d.", MAX_LINES);
      return;
    }
  options.session = argv[1];
  if (options.follow)
    ow_output_watch (on_interrupt, face);
  ask (face);
}
