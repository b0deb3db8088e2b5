/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-text.h"
#include "ow-face-private.h"
#include "ow-transcript-private.h"
#include "ow-watch-private.h"

typedef struct
{
  char     **folders;
  char      *provider;
  char      *model;
  char      *base_url;
  char      *approve;
  char      *record;
  gboolean   detach;
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

/* The engine may work in another directory than the person. */
static void
set_model (json_t     *params,
           const char *model)
{
  static const char REPLAY[] = "replay:";

  if (model != NULL && g_str_has_prefix (model, REPLAY) && model[strlen (REPLAY)] != '\0')
    {
      g_autofree char *path = ow_face_path (model + strlen (REPLAY));
      g_autofree char *name = g_strconcat (REPLAY, path, NULL);

      set_text (params, "model", name);
      return;
    }
  set_text (params, "model", model);
}

static json_t *
params_of (const Options *options,
           const char    *task)
{
  json_t *params = json_object ();

  json_object_set_new (params, "folders", ow_face_words (options->folders));
  set_text (params, "provider", options->provider);
  set_model (params, options->model);
  set_text (params, "base_url", options->base_url);
  set_text (params, "approve", options->approve);
  if (options->record != NULL)
    {
      g_autofree char *path = ow_face_path (options->record);

      set_text (params, "record", path);
    }
  set_text (params, "task", task);
  return params;
}

static void
print_session (OwFace       *face,
               const json_t *result,
               gpointer      user_data)
{
  const char *session = ow_json_get_string (result, "session", "");
  g_autofree char *visible = ow_text_visible (session);

  if (*session == '\0')
    {
      ow_face_fail_data (face);
      return;
    }
  g_print ("%s\n", visible);
  ow_face_finish (face, 0);
}

static void
start (OwFace        *face,
       const Options *options,
       const char    *task)
{
  OwWatchOptions watch = { .event = options->json ? show_json : show_text, .steers = TRUE };
  json_t *params = params_of (options, task);

  if (options->detach)
    {
      /* Somebody can come and answer. */
      json_object_set_new (params, "interactive", json_true ());
      face->kind = OW_FACE_CLIENT;
      ow_face_command (face, "session.start", params, print_session, NULL);
    }
  else
    {
      ow_watch_start (ow_watch_new (face, &watch), "session.start", params);
    }
}

static void
options_clear (Options *options)
{
  g_strfreev (options->folders);
  g_free (options->provider);
  g_free (options->model);
  g_free (options->base_url);
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
      "How commands run: bubblewrap or openshell (in a sandbox), or direct (in none)", "NAME" },
    { "model", 'm', 0, G_OPTION_ARG_STRING, &options.model,
      "A model of “openworker model list” (the default one where none is given), openai:NAME, "
      "or replay:FILE", "NAME" },
    { "base-url", 'u', 0, G_OPTION_ARG_STRING, &options.base_url,
      "Where openai:NAME is served", "URL" },
    { "approve", 'a', 0, G_OPTION_ARG_STRING, &options.approve,
      "ask, sandboxed (no question for calls behind a wall) or deny", "HOW" },
    { "record", 0, 0, G_OPTION_ARG_FILENAME, &options.record,
      "Write a recording that replay:FILE takes", "FILE" },
    { "detach", 'd', 0, G_OPTION_ARG_NONE, &options.detach,
      "Leave it to the engine that runs, and print the session", NULL },
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
  else if (options.model != NULL && *options.model == '\0')
    ow_face_usage (face, "--model needs a name, openai:NAME or replay:FILE.");
  else if (options.record != NULL && *options.record == '\0')
    ow_face_usage (face, "--record needs a file.");
  else if (argc != 2 || *argv[1] == '\0')
    ow_face_usage (face, "“run” takes one task, in quotes.");
  else
    start (face, &options, argv[1]);
  options_clear (&options);
}
