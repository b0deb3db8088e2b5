/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "ow-face-private.h"

static gboolean as_json;
static gboolean changes;

static void
show_folders (OwFace       *face,
              const json_t *result,
              gpointer      user_data)
{
  const json_t *folders = json_object_get (result, "folders");
  gboolean pending = ow_json_get_bool (result, "pending", FALSE);

  if (as_json)
    {
      ow_face_print_json (result);
      ow_face_finish (face, 0);
      return;
    }
  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      const json_t *folder = json_array_get (folders, i);
      g_autofree char *path = ow_text_visible (ow_json_get_string (folder, "path", ""));

      g_print ("%s  %s\n", path, ow_json_get_bool (folder, "read_only", TRUE) ? "read-only"
                                                                              : "read-write");
    }
  if (changes && pending)
    g_print ("A call runs; the sandbox is made again with these folders when it has ended. Shell "
             "state is lost then.\n");
  else if (changes)
    g_print ("The session has these folders now. Where they are others, shell state was lost.\n");
  ow_face_finish (face, 0);
}

void
ow_command_sessions_folders (OwFace  *face,
                             int      argc,
                             char   **argv)
{
  g_auto (GStrv) add = NULL;
  g_auto (GStrv) take = NULL;
  const GOptionEntry entries[] = {
    { "add", 'a', 0, G_OPTION_ARG_FILENAME_ARRAY, &add,
      "A folder that the session may use from its next call on, or another mode of one (:ro, "
      ":rw; may be repeated)", "DIR[:ro]" },
    { "remove", 'r', 0, G_OPTION_ARG_FILENAME_ARRAY, &take,
      "A folder that it may not use any more (may be repeated)", "DIR" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the result as JSON", NULL },
    { NULL }
  };
  json_t *params;

  g_set_prgname ("openworker sessions folders");
  if (!ow_face_parse (face, "SESSION", "Shows the folders of a session, or changes those of one "
                      "that runs: its sandbox is made again with them, and shell state is lost.",
                      entries, FALSE, &argc, &argv))
    return;
  if (argc != 2)
    {
      ow_face_usage (face, "“sessions folders” takes a session.");
      return;
    }
  changes = add != NULL || take != NULL;
  params = json_pack ("{s:s}", "session", argv[1]);
  if (add != NULL)
    json_object_set_new (params, "add", ow_face_words (add));
  if (take != NULL)
    json_object_set_new (params, "remove", ow_face_words (take));
  ow_face_command (face, "session.folders", params, show_folders, NULL);
}
