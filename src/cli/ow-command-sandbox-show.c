/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "ow-face-private.h"

static gboolean as_json;

static void
print_text (const json_t *item,
            const char   *member,
            const char   *label)
{
  const char *text = ow_json_get_string (item, member, NULL);
  g_autofree char *visible = text != NULL && *text != '\0' ? ow_text_visible (text) : NULL;

  if (visible != NULL)
    g_print ("%-9s %s\n", label, visible);
}

static void
print_folders (const json_t *folders)
{
  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      const json_t *folder = json_array_get (folders, i);
      g_autofree char *path = ow_text_visible (ow_json_get_string (folder, "path", ""));

      g_print ("%-9s %s  %s\n", i == 0 ? "folders" : "", path,
               ow_json_get_bool (folder, "read_only", TRUE) ? "read-only" : "read-write");
    }
}

static void
print_hosts (const json_t *hosts,
             const char   *label)
{
  for (size_t i = 0; i < json_array_size (hosts); i++)
    {
      const char *host = json_string_value (json_array_get (hosts, i));
      g_autofree char *visible = ow_text_visible (host != NULL ? host : "");

      g_print ("%-9s %s\n", i == 0 ? label : "", visible);
    }
}

static void
print_refused (const json_t *refused)
{
  for (size_t i = 0; i < json_array_size (refused); i++)
    {
      const json_t *entry = json_array_get (refused, i);
      g_autofree char *host = ow_text_visible (ow_json_get_string (entry, "host", ""));
      g_autofree char *reason = ow_text_visible (ow_json_get_string (entry, "reason", ""));

      g_print ("%-9s %s  %" JSON_INTEGER_FORMAT " x  %s\n", i == 0 ? "refused" : "", host,
               ow_json_get_int (entry, "count", 0), reason);
    }
}

static void
show (OwFace       *face,
      const json_t *result,
      gpointer      user_data)
{
  if (as_json)
    {
      ow_face_print_json (result);
      ow_face_finish (face, 0);
      return;
    }
  print_text (result, "id", "sandbox");
  print_text (result, "name", "name");
  print_text (result, "session", "session");
  print_text (result, "provider", "provider");
  print_text (result, "level", "level");
  print_text (result, "state", "state");
  print_text (result, "phase", "phase");
  print_text (result, "since", "since");
  print_text (result, "image", "image");
  print_text (result, "home", "home");
  if (json_object_get (result, "policy_version") != NULL)
    g_print ("%-9s version %" JSON_INTEGER_FORMAT "\n", "policy",
             ow_json_get_int (result, "policy_version", 0));
  print_folders (json_object_get (result, "folders"));
  print_hosts (json_object_get (result, "hosts"), "hosts");
  print_hosts (json_object_get (result, "allowed"), "allowed");
  print_refused (json_object_get (result, "refused"));
  print_text (result, "log", "log");
  ow_face_finish (face, 0);
}

void
ow_command_sandbox_show (OwFace  *face,
                         int      argc,
                         char   **argv)
{
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the result as JSON", NULL },
    { NULL }
  };

  if (!ow_face_parse (face, "SANDBOX|SESSION", "Shows all that is known of one sandbox.", entries,
                      FALSE, &argc, &argv))
    return;
  if (argc == 2)
    ow_face_command (face, "sandbox.show", json_pack ("{s:s}", "sandbox", argv[1]), show, NULL);
  else
    ow_face_usage (face, "“sandbox show” takes a sandbox or a session.");
}
