/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-face-private.h"
#include "ow-transcript-private.h"
#include "ow-watch-private.h"

typedef struct
{
  char     **folders;
  char      *provider;
  char      *model;
  char      *approve;
  char      *record;
  gboolean   json;
} Options;

static void
show_json (OwEvent  *event,
           gpointer  user_data)
{
  json_t *value = ow_event_to_json (event);

  ow_face_print_json (value);
  json_decref (value);
}

static void
show_text (OwEvent  *event,
           gpointer  user_data)
{
  ow_transcript_print (event);
}

static void
set_text (json_t     *params,
          const char *key,
          const char *text)
{
  if (text != NULL)
    json_object_set_new (params, key, json_string (text));
}

static void
start (OwFace        *face,
       const Options *options,
       const char    *task)
{
  OwWatchOptions watch = { options->json ? show_json : show_text, OW_WATCH_ASK_PERSON, NULL };
  json_t *params = json_object ();

  json_object_set_new (params, "folders", ow_face_words (options->folders));
  set_text (params, "provider", options->provider);
  set_text (params, "model", options->model);
  set_text (params, "approve", options->approve);
  set_text (params, "record", options->record);
  set_text (params, "task", task);
  ow_watch_start (face, "session.start", params, &watch);
}

static void
options_clear (Options *options)
{
  g_strfreev (options->folders);
  g_free (options->provider);
  g_free (options->model);
  g_free (options->approve);
  g_free (options->record);
}

void
ow_command_run (OwFace  *face,
                int      argc,
                char   **argv)
{
  Options options = { 0 };
  const GOptionEntry entries[] = {
    { "folder", 'f', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.folders,
      "A folder the session may use; repeatable, the first is where work starts", "DIR[:ro]" },
    { "provider", 'p', 0, G_OPTION_ARG_STRING, &options.provider,
      "How commands run: bubblewrap (in a sandbox) or direct (in none)", "NAME" },
    { "model", 'm', 0, G_OPTION_ARG_STRING, &options.model,
      "The model: replay:FILE", "NAME" },
    { "approve", 'a', 0, G_OPTION_ARG_STRING, &options.approve,
      "ask, sandboxed (no question for calls behind a wall) or deny", "HOW" },
    { "record", 0, 0, G_OPTION_ARG_FILENAME, &options.record,
      "Write a recording that replay:FILE takes", "FILE" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json,
      "Print events as JSON lines (docs/events.md)", NULL },
    { NULL }
  };

  if (!ow_face_parse (face, "TASK", "Does one task with an agent whose tools run in a sandbox.",
                      entries, FALSE, &argc, &argv))
    {
      options_clear (&options);
      return;
    }
  if (argc > 1 && g_str_equal (argv[1], "--"))
    {
      argv++;
      argc--;
    }
  if (options.folders == NULL)
    ow_face_usage (face, "“run” needs a --folder to work in.");
  else if (options.model == NULL || *options.model == '\0')
    ow_face_usage (face, "“run” needs a --model; in this release that is replay:FILE.");
  else if (argc != 2 || *argv[1] == '\0')
    ow_face_usage (face, "“run” takes one task, in quotes.");
  else
    start (face, &options, argv[1]);
  options_clear (&options);
}
