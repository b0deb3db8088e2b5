/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "ow-face-private.h"
#include "ow-terminal-private.h"

static gboolean as_json;

static void
show_claims (OwFace       *face,
             const json_t *result,
             gpointer      user_data)
{
  const json_t *claims = json_object_get (result, "claims");
  gboolean held = ow_json_get_bool (result, "held", FALSE);

  if (as_json)
    {
      ow_face_print_json (result);
      ow_face_finish (face, held ? 0 : 1);
      return;
    }
  for (size_t i = 0; i < json_array_size (claims); i++)
    {
      const json_t *claim = json_array_get (claims, i);
      gboolean ok = ow_json_get_bool (claim, "held", FALSE);
      g_autofree char *detail = ow_text_visible (ow_json_get_string (claim, "detail", ""));
      g_autofree char *word = ow_terminal_style (ok ? OW_STYLE_GREEN : OW_STYLE_RED,
                                                 ok ? "held   " : "FAILED ");

      g_print ("%s %-16s %s (%s)\n", word, ow_json_get_string (claim, "key", "?"),
               ow_json_get_string (claim, "claim", "?"), detail);
    }
  g_print (held ? "The wall is proven.\n" : "The wall is NOT proven.\n");
  ow_face_finish (face, held ? 0 : 1);
}

void
ow_command_sandbox_prove (OwFace  *face,
                          int      argc,
                          char   **argv)
{
  g_autofree char *provider = NULL;
  const GOptionEntry entries[] = {
    { "provider", 'p', 0, G_OPTION_ARG_STRING, &provider,
      "Which wall: bubblewrap (the machine's setting where none is given)", "NAME" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the result as JSON", NULL },
    { NULL }
  };
  json_t *params;

  if (!ow_face_parse (face, "", "Tries what a sandbox must not allow, in a throw-away one. "
                      "Exit status 1 when a claim fails.", entries, FALSE, &argc, &argv))
    return;
  if (argc != 1)
    {
      ow_face_usage (face, "“sandbox prove” takes no words.");
      return;
    }
  params = json_object ();
  if (provider != NULL)
    json_object_set_new (params, "provider", json_string (provider));
  ow_face_command (face, "sandbox.prove", params, show_claims, NULL);
}
