/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-paths.h"
#include "base/ow-text.h"
#include "ow-face-private.h"
#include "ow-provider-words-private.h"
#include "ow-terminal-private.h"

static gboolean as_json;

static const char *
host_words (const char *host)
{
  if (g_strcmp0 (host, "up") == 0)
    return "by itself (“openworker up”)";
  if (g_strcmp0 (host, "window") == 0)
    return "in the window";
  return "in a command (“openworker run”)";
}

static void
print_notice (const json_t *result)
{
  const char *notice = ow_json_get_string (result, "notice", NULL);

  if (notice != NULL)
    {
      g_autofree char *visible = ow_text_visible (notice);

      ow_terminal_print (OW_STYLE_RED, "! %s\n", visible);
    }
}

static void
print_counts (const json_t *result)
{
  json_int_t running = ow_json_get_int (result, "running", 0);
  json_int_t waiting = ow_json_get_int (result, "waiting", 0);

  /* Sessions, whatever number of requests one has. */
  g_print ("%" JSON_INTEGER_FORMAT " %s, %" JSON_INTEGER_FORMAT " %s for an answer%s\n",
           running, running == 1 ? "session runs" : "sessions run", waiting,
           waiting == 1 ? "waits" : "wait", waiting > 0 ? " (“openworker approvals”)" : "");
}

static void
print_provider (OwFace       *face,
                const json_t *result)
{
  if (!as_json)
    {
      g_print ("Commands of agents %s.\n",
               ow_provider_words (ow_json_get_string (result, "provider", NULL)));
      print_notice (result);
    }
  ow_face_finish (face, ow_face_is_alone (face) ? 1 : 0);
}

/* The settings can be read, and set nothing. Where they cannot, the face has failed. */
static void
show_unset (OwFace       *face,
            const json_t *result,
            gpointer      user_data)
{
  print_provider (face, result);
}

static void
show_status (OwFace       *face,
             const json_t *result,
             gpointer      user_data)
{
  gboolean there = !ow_face_is_alone (face);
  g_autofree char *place = ow_paths_get_runtime_dir ();
  g_autofree char *shown = ow_text_visible (place);
  g_autofree char *version = ow_text_visible (ow_json_get_string (result, "version", "?"));
  g_autofree char *since = ow_text_visible (ow_json_get_string (result, "since", "?"));

  if (as_json)
    {
      json_t *value = json_deep_copy (result);

      json_object_set_new (value, "engine", json_boolean (there));
      ow_face_print_json (value);
      json_decref (value);
    }
  else if (there)
    {
      g_print ("The engine runs %s, process %" JSON_INTEGER_FORMAT ", version %s, since %s.\n"
               "It listens on %s/engine.\n", host_words (ow_json_get_string (result, "host", "")),
               ow_json_get_int (result, "pid", 0), version, since, shown);
      print_counts (result);
    }
  else
    {
      g_print ("No engine runs on this machine (nothing listens on %s/engine).\n", shown);
    }
  /* That nothing is set and that it cannot be read look alike here. */
  if (ow_json_get_string (result, "provider", NULL) == NULL)
    ow_face_command (face, "config.get", NULL, show_unset, NULL);
  else
    print_provider (face, result);
}

void
ow_command_status (OwFace  *face,
                   int      argc,
                   char   **argv)
{
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print it as JSON", NULL },
    { NULL }
  };

  if (!ow_face_parse (face, "", "Tells whether an engine runs on this machine (exit status 0; 1 "
                      "where none does), and what it does.", entries, FALSE, &argc, &argv))
    return;
  if (argc != 1)
    ow_face_usage (face, "“status” takes no words.");
  else
    ow_face_command (face, "engine.status", NULL, show_status, NULL);
}
