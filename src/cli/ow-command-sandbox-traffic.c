/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "ow-face-private.h"

static gboolean as_json;

static char *
describe_bytes (const json_t *host,
                const char   *member)
{
  if (!json_is_integer (json_object_get (host, member)))
    return g_strdup ("not counted");
  return g_format_size ((guint64) ow_json_get_int (host, member, 0));
}

/* One line of it, for the person who wonders what went out. */
static void
print_host (const json_t *host)
{
  g_autofree char *name = ow_text_visible (ow_json_get_string (host, "host", ""));
  g_autofree char *program = ow_text_visible (ow_json_get_string (host, "program", ""));
  g_autofree char *place = *name != '\0'
                           ? g_strdup_printf ("%s:%" JSON_INTEGER_FORMAT, name,
                                              ow_json_get_int (host, "port", 0))
                           : g_strdup ("(all others)");
  g_autofree char *up = describe_bytes (host, "up");
  g_autofree char *down = describe_bytes (host, "down");

  g_print ("%-36s %12s %12s %12" JSON_INTEGER_FORMAT " %8" JSON_INTEGER_FORMAT "  %s\n", place, up,
           down, ow_json_get_int (host, "connections", 0), ow_json_get_int (host, "refused", 0),
           program);
}

static void
show (OwFace       *face,
      const json_t *result,
      gpointer      user_data)
{
  const json_t *hosts = json_object_get (result, "hosts");

  if (as_json)
    ow_face_print_json (result);
  else if (json_array_size (hosts) == 0)
    g_print ("Nothing left this machine: the session's commands asked for no host.\n");
  else
    {
      g_print ("%-36s %12s %12s %12s %8s  %s\n", "What left this machine, by host", "sent",
               "received", "connections", "refused", "first asked by");
      for (size_t i = 0; i < json_array_size (hosts); i++)
        print_host (json_array_get (hosts, i));
    }
  ow_face_finish (face, 0);
}

void
ow_command_sandbox_traffic (OwFace  *face,
                            int      argc,
                            char   **argv)
{
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the result as JSON", NULL },
    { NULL }
  };

  if (!ow_face_parse (face, "SESSION", "Shows what left this machine in a session: the hosts that "
                      "its commands reached, the bytes in both directions, and the tries that were "
                      "refused. The program is what the inside says it was. What the model is sent "
                      "is not among it.", entries, FALSE, &argc, &argv))
    return;
  if (argc == 2)
    ow_face_command (face, "sandbox.traffic", json_pack ("{s:s}", "session", argv[1]), show, NULL);
  else
    ow_face_usage (face, "“sandbox traffic” takes a session.");
}
