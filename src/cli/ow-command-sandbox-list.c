/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "ow-face-private.h"

static gboolean as_json;

static char *
text_of (const json_t *item,
         const char   *member)
{
  g_autofree char *visible = ow_text_visible (ow_json_get_string (item, member, ""));

  return ow_text_shorten (*visible != '\0' ? visible : "-", 40, TRUE);
}

static void
print_item (const json_t *item)
{
  g_autofree char *name = text_of (item, json_object_get (item, "id") != NULL ? "id" : "name");
  g_autofree char *session = text_of (item, "session");
  g_autofree char *provider = text_of (item, "provider");
  g_autofree char *state = text_of (item, "state");
  g_autofree char *since = text_of (item, "since");
  g_autofree char *phase = text_of (item, "phase");

  g_print ("%-12s  %-16s  %-10s  %-9s  %s", name, session, provider,
           ow_json_get_bool (item, "ours", FALSE) ? state : "not ours", since);
  if (json_object_get (item, "folders") != NULL)
    g_print ("  %" JSON_INTEGER_FORMAT " %s", ow_json_get_int (item, "folders", 0),
             ow_json_get_int (item, "folders", 0) == 1 ? "folder" : "folders");
  if (json_object_get (item, "phase") != NULL)
    g_print ("  %s", phase);
  g_print ("\n");
}

static void
show_list (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  const json_t *sandboxes = json_object_get (result, "sandboxes");
  const char   *gateway = ow_json_get_string (result, "gateway", NULL);

  for (size_t i = 0; i < json_array_size (sandboxes); i++)
    {
      if (as_json)
        ow_face_print_json (json_array_get (sandboxes, i));
      else
        print_item (json_array_get (sandboxes, i));
    }
  if (json_array_size (sandboxes) == 0 && !as_json)
    g_print ("There is no sandbox.\n");
  if (gateway != NULL)
    {
      g_autofree char *visible = ow_text_visible (gateway);

      g_printerr ("openworker: OpenShell was not asked: %s\n", visible);
    }
  ow_face_finish (face, 0);
}

void
ow_command_sandbox_list (OwFace  *face,
                         int      argc,
                         char   **argv)
{
  gboolean all = FALSE;
  const GOptionEntry entries[] = {
    { "all", 0, 0, G_OPTION_ARG_NONE, &all,
      "Also those of other accounts and machines that OpenShell's gateway has", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print JSON lines", NULL },
    { NULL }
  };

  if (!ow_face_parse (face, "", "Lists the sandboxes of this account on this machine, also what a "
                      "killed run left.", entries, FALSE, &argc, &argv))
    return;
  if (argc == 1)
    ow_face_command (face, "sandbox.list", json_pack ("{s:b}", "all", all), show_list, NULL);
  else
    ow_face_usage (face, "“sandbox list” takes no words.");
}
