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
  const char *notice = ow_json_get_string (result, "notice", NULL);
  gboolean held = ow_json_get_bool (result, "held", FALSE);

  if (notice != NULL)
    {
      g_autofree char *visible = ow_text_visible (notice);

      g_printerr ("openworker: %s\n", visible);
    }
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

static void
print_keys (const json_t *failed)
{
  for (size_t i = 0; i < json_array_size (failed); i++)
    {
      g_autofree char *key = ow_text_visible (json_string_value (json_array_get (failed, i)));

      g_print ("  FAILED %s\n", key);
    }
}

static void
print_changes (const json_t *changed)
{
  for (size_t i = 0; i < json_array_size (changed); i++)
    {
      const json_t *one = json_array_get (changed, i);
      g_autofree char *what = ow_text_visible (ow_json_get_string (one, "what", ""));
      g_autofree char *was = ow_text_visible (ow_json_get_string (one, "was", "unknown"));
      g_autofree char *is = ow_text_visible (ow_json_get_string (one, "is", "unknown"));

      g_print ("  %s was %s and is %s\n", what, was, is);
    }
}

static void
show_last (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  const char *state = ow_json_get_string (result, "state", "unknown");
  g_autofree char *provider = ow_text_visible (ow_json_get_string (result, "provider", ""));
  g_autofree char *when = ow_text_visible (ow_json_get_string (result, "when", ""));

  if (as_json)
    ow_face_print_json (result);
  else if (g_str_equal (state, "unknown"))
    g_print ("The wall of %s was never proven on this machine.\n", provider);
  else if (g_str_equal (state, "missed"))
    g_print ("The wall of %s was NOT proven at %s.\n", provider, when);
  else if (g_str_equal (state, "stale"))
    g_print ("The wall of %s was proven at %s. Since then something changed:\n", provider, when);
  else
    g_print ("The wall of %s was proven at %s, and nothing changed since.\n", provider, when);
  if (!as_json)
    {
      print_keys (json_object_get (result, "failed"));
      print_changes (json_object_get (result, "changed"));
    }
  ow_face_finish (face, g_str_equal (state, "held") ? 0 : 1);
}

void
ow_command_sandbox_prove (OwFace  *face,
                          int      argc,
                          char   **argv)
{
  g_autofree char *provider = NULL;
  gboolean last = FALSE;
  const GOptionEntry entries[] = {
    { "provider", 'p', 0, G_OPTION_ARG_STRING, &provider,
      "Which wall: bubblewrap or openshell (the machine's setting where none is given)", "NAME" },
    { "last", 0, 0, G_OPTION_ARG_NONE, &last,
      "Try nothing: say what the last proof came to, and what changed since", NULL },
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
  if (last)
    json_object_set_new (params, "last", json_true ());
  ow_face_command (face, "sandbox.prove", params, last ? show_last : show_claims, NULL);
}
