/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "ow-face-private.h"

static gboolean as_json;

static void
print_list (const json_t *list,
            const char   *before)
{
  for (size_t i = 0; i < json_array_size (list); i++)
    {
      g_autofree char *text = ow_text_visible (json_string_value (json_array_get (list, i)));

      g_print ("        %s%s\n", before, text);
    }
}

static void
print_one (const json_t *item)
{
  g_autofree char *path = ow_text_visible (ow_json_get_string (item, "path", ""));
  g_autofree char *why = ow_text_visible (ow_json_get_string (item, "why", ""));
  gboolean shared = ow_json_get_bool (item, "shared", FALSE);
  gboolean can_be = ow_json_get_bool (item, "can_be", FALSE);
  const json_t *folders = json_object_get (item, "folders");

  g_print ("%-7s %s\n", !can_be ? shared ? "REFUSED" : "cannot" : shared ? "shared" : "off", path);
  if (!can_be)
    g_print ("        %s\n", why);
  if (can_be && json_array_size (folders) > 0)
    {
      g_print ("        read-only inside:\n");
      print_list (folders, "  ");
    }
  print_list (json_object_get (item, "missing"), "not usable there: ");
}

static void
show (OwFace       *face,
      const json_t *result,
      gpointer      user_data)
{
  const json_t *programs = json_object_get (result, "programs");

  for (size_t i = 0; i < json_array_size (programs); i++)
    {
      if (as_json)
        ow_face_print_json (json_array_get (programs, i));
      else
        print_one (json_array_get (programs, i));
    }
  if (json_array_size (programs) == 0 && !as_json)
    g_print ("No folder of the PATH lies under your home.\n");
  ow_face_finish (face, 0);
}

void
ow_command_sandbox_programs (OwFace  *face,
                             int      argc,
                             char   **argv)
{
  g_autofree char *share = NULL;
  g_autofree char *unshare = NULL;
  const GOptionEntry entries[] = {
    { "share", 0, 0, G_OPTION_ARG_FILENAME, &share,
      "Let new sandboxes have the programs in this folder", "DIR" },
    { "unshare", 0, 0, G_OPTION_ARG_FILENAME, &unshare, "Do not let them any more", "DIR" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the result as JSON", NULL },
    { NULL }
  };
  const char *path = g_getenv ("PATH");
  json_t *params;

  if (!ow_face_parse (face, "", "Shows which programs under your home sandboxes could have, "
                      "read-only, and which they get. Nothing is shared until you say so, and "
                      "nothing that holds a credential.", entries, FALSE, &argc, &argv))
    return;
  if (argc != 1 || (share != NULL && unshare != NULL))
    {
      ow_face_usage (face, "“sandbox programs” takes --share DIR or --unshare DIR, and no words.");
      return;
    }
  params = json_object ();
  if (path != NULL)
    json_object_set_new (params, "path", json_string (path));
  if (share != NULL)
    json_object_set_new (params, "share", json_string (share));
  if (unshare != NULL)
    json_object_set_new (params, "unshare", json_string (unshare));
  ow_face_command (face, "sandbox.programs", params, show, NULL);
}
