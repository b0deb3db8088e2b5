/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-text.h"
#include "ow-face-private.h"
#include "ow-terminal-private.h"

static const char *wanted; /* borrowed from argv */
static gboolean yes;

static void
on_deleted (OwFace       *face,
            const json_t *result,
            gpointer      user_data)
{
  g_autofree char *session = ow_text_visible (ow_json_get_string (result, "session", ""));
  g_autofree char *shown = ow_text_visible (wanted);

  if (strcmp (ow_json_get_string (result, "what", ""), "ended") == 0)
    g_print ("Session %s is stopped, and its sandbox is gone.\n", session);
  else
    g_print ("Sandbox %s is removed.\n", shown);
  ow_face_finish (face, 0);
}

static void
delete_now (OwFace *face)
{
  ow_face_command (face, "sandbox.delete", json_pack ("{s:s}", "sandbox", wanted), on_deleted,
                   NULL);
}

static void
on_line (const char *line,
         gpointer    user_data)
{
  OwFace *face = user_data;

  if (line != NULL && strcmp (line, "yes") == 0)
    {
      delete_now (face);
      return;
    }
  g_printerr ("openworker: Nothing was deleted.\n");
  ow_face_finish (face, 1);
}

/* What it means is said before it is done. */
static void
on_found (OwFace       *face,
          const json_t *result,
          gpointer      user_data)
{
  g_autofree char *session = ow_text_visible (ow_json_get_string (result, "session", ""));
  g_autofree char *question = NULL;

  if (yes)
    {
      delete_now (face);
      return;
    }
  if (!ow_terminal_is_interactive ())
    {
      ow_face_usage (face, "Nobody can be asked here: give --yes to delete it.");
      return;
    }
  if (strcmp (ow_json_get_string (result, "state", ""), "left over") == 0)
    question = g_strdup ("A killed run left this sandbox. Remove it? (yes or no) ");
  else
    question = g_strdup_printf ("Session %s runs in it and would be stopped. Delete the sandbox? "
                                "(yes or no) ", session);
  ow_terminal_ask (question, on_line, face);
}

void
ow_command_sandbox_delete (OwFace  *face,
                           int      argc,
                           char   **argv)
{
  const GOptionEntry entries[] = {
    { "yes", 'y', 0, G_OPTION_ARG_NONE, &yes, "Do not ask", NULL },
    { NULL }
  };

  if (!ow_face_parse (face, "SANDBOX|SESSION", "Deletes a sandbox. A session that runs in it is "
                      "stopped; it can go on later in another one.", entries, FALSE, &argc, &argv))
    return;
  if (argc != 2)
    {
      ow_face_usage (face, "“sandbox delete” takes a sandbox or a session.");
      return;
    }
  wanted = argv[1];
  ow_face_command (face, "sandbox.show", json_pack ("{s:s}", "sandbox", wanted), on_found, NULL);
}
