/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-text.h"
#include "ow-face-private.h"

static gboolean as_json;

static void
print_item (const json_t *item,
            const char   *what)
{
  const char *id = ow_json_get_string (item, "id", ow_json_get_string (item, "name", "?"));
  g_autofree char *shown = ow_text_visible (id);
  g_autofree char *session = ow_text_visible (ow_json_get_string (item, "session", ""));
  g_autofree char *why = ow_text_visible (ow_json_get_string (item, "why", ""));

  g_print ("%s %s, of session %s%s%s\n", what, shown, session, *why != '\0' ? ": " : "", why);
}

/* What could not go, although nobody owns it any more, is a failure. */
static void
show (OwFace       *face,
      const json_t *result,
      gpointer      user_data)
{
  const json_t *removed = json_object_get (result, "removed");
  const json_t *kept = json_object_get (result, "kept");
  gboolean failed = FALSE;

  for (size_t i = 0; i < json_array_size (kept); i++)
    failed |= strcmp (ow_json_get_string (json_array_get (kept, i), "state", ""), "left over") == 0;
  if (as_json)
    {
      ow_face_print_json (result);
      ow_face_finish (face, failed ? 1 : 0);
      return;
    }
  for (size_t i = 0; i < json_array_size (removed); i++)
    print_item (json_array_get (removed, i), "Removed");
  for (size_t i = 0; i < json_array_size (kept); i++)
    print_item (json_array_get (kept, i), "Kept");
  if (json_array_size (removed) == 0)
    g_print ("No killed run left a sandbox that could be removed.\n");
  ow_face_finish (face, failed ? 1 : 0);
}

void
ow_command_sandbox_reap (OwFace  *face,
                         int      argc,
                         char   **argv)
{
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the result as JSON", NULL },
    { NULL }
  };

  if (!ow_face_parse (face, "", "Removes the sandboxes that killed runs left, and says what it "
                      "kept and why. Exit status 1 when something of them is still there.",
                      entries, FALSE, &argc, &argv))
    return;
  if (argc == 1)
    ow_face_command (face, "sandbox.reap", NULL, show, NULL);
  else
    ow_face_usage (face, "“sandbox reap” takes no words.");
}
