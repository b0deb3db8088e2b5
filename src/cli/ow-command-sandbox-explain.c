/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "ow-face-private.h"

static gboolean as_json;

static void
print_answer (const json_t *answer)
{
  const char *path = ow_json_get_string (answer, "path", NULL);
  const char *leads_to = ow_json_get_string (answer, "leads_to", NULL);
  g_autofree char *what = ow_text_visible (path != NULL ? path
                                           : ow_json_get_string (answer, "host", ""));
  g_autofree char *says = ow_text_visible (ow_json_get_string (answer, "says", ""));
  g_autofree char *leads = leads_to != NULL ? ow_text_visible (leads_to) : NULL;

  g_print ("%s\n", what);
  if (leads != NULL)
    g_print ("  leads to %s\n", leads);
  g_print ("  %s [%s]\n", says, ow_json_get_string (answer, "rule", "?"));
  if (path != NULL && ow_json_get_bool (answer, "there", FALSE))
    g_print ("  read: %s, write: %s, list: %s\n",
             ow_json_get_bool (answer, "read", FALSE) ? "yes" : "no",
             ow_json_get_bool (answer, "write", FALSE) ? "yes" : "no",
             ow_json_get_bool (answer, "list", FALSE) ? "yes" : "no");
  if (json_object_get (answer, "links") != NULL)
    g_print ("  Should it be, or lie behind, a symbolic link, then what that leads to counts.\n");
}

static void
show (OwFace       *face,
      const json_t *result,
      gpointer      user_data)
{
  const json_t *answers = json_object_get (result, "answers");

  for (size_t i = 0; i < json_array_size (answers); i++)
    {
      if (as_json)
        ow_face_print_json (json_array_get (answers, i));
      else
        print_answer (json_array_get (answers, i));
    }
  ow_face_finish (face, 0);
}

void
ow_command_sandbox_explain (OwFace  *face,
                            int      argc,
                            char   **argv)
{
  g_auto (GStrv) folders = NULL;
  g_autofree char *session = NULL;
  g_autofree char *provider = NULL;
  const GOptionEntry entries[] = {
    { "folder", 'f', 0, G_OPTION_ARG_FILENAME_ARRAY, &folders,
      "A folder that the session would have; repeatable", "DIR[:ro]" },
    { "session", 's', 0, G_OPTION_ARG_STRING, &session,
      "A session, with its own folders and hosts", "ID" },
    { "provider", 'p', 0, G_OPTION_ARG_STRING, &provider,
      "Which wall: bubblewrap or openshell (the session's or the machine's where none is given)",
      "NAME" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print JSON lines", NULL },
    { NULL }
  };
  json_t *params;

  if (!ow_face_parse (face, "PATH|HOST[:PORT]…", "Says whether a session could reach a path or a "
                      "host, and which rule says so. Nothing is started for it, and in a session's "
                      "folders nothing is looked at.", entries, FALSE, &argc, &argv))
    return;
  if (argc > 1 && g_str_equal (argv[1], "--"))
    {
      argv++;
      argc--;
    }
  if (argc < 2 || (session != NULL && folders != NULL))
    {
      ow_face_usage (face, argc < 2 ? "“sandbox explain” takes a path or a host."
                     : "“sandbox explain” takes --folder or --session, not both.");
      return;
    }
  params = json_pack ("{s:o}", "what", ow_face_words (argv + 1));
  if (folders != NULL)
    json_object_set_new (params, "folders", ow_face_words (folders));
  if (session != NULL)
    json_object_set_new (params, "session", json_string (session));
  if (provider != NULL)
    json_object_set_new (params, "provider", json_string (provider));
  ow_face_command (face, "sandbox.explain", params, show, NULL);
}
