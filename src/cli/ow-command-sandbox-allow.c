/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "ow-face-private.h"

static gboolean as_json;

static void
show (OwFace       *face,
      const json_t *result,
      gpointer      user_data)
{
  g_autofree char *host = ow_text_visible (ow_json_get_string (result, "host", ""));
  g_autofree char *why = ow_text_visible (ow_json_get_string (result, "why", ""));

  if (as_json)
    ow_face_print_json (result);
  else
    {
      if (ow_json_get_bool (result, "session", FALSE))
        g_print ("The session may reach %s from now on.\n", host);
      else
        g_print ("The session that runs cannot reach it: %s\n", why);
      if (ow_json_get_bool (result, "machine", FALSE))
        g_print ("New sessions on this machine may reach %s.\n", host);
    }
  ow_face_finish (face, 0);
}

void
ow_command_sandbox_allow (OwFace  *face,
                          int      argc,
                          char   **argv)
{
  gboolean machine = FALSE;
  gboolean private = FALSE;
  const GOptionEntry entries[] = {
    { "machine", 0, 0, G_OPTION_ARG_NONE, &machine,
      "Also for new sessions on this machine (sandbox_extra_hosts of config.toml)", NULL },
    { "private", 0, 0, G_OPTION_ARG_NONE, &private,
      "Also where it is an address of a private network, or stands for one", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the result as JSON", NULL },
    { NULL }
  };

  if (!ow_face_parse (face, "SESSION HOST[:PORT]", "Lets a session that runs reach a host. What "
                      "runs there can then send it whatever the session's folders hold.", entries,
                      FALSE, &argc, &argv))
    return;
  if (argc == 3)
    ow_face_command (face, "sandbox.allow",
                     json_pack ("{s:s, s:s, s:b, s:b}", "session", argv[1], "host", argv[2],
                                "machine", machine, "private", private), show, NULL);
  else
    ow_face_usage (face, "“sandbox allow” takes a session and a host.");
}
