/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "ow-diff-print-private.h"
#include "ow-face-private.h"
#include "ow-reply-private.h"
#include "ow-terminal-private.h"

/* Takes back what a turn, or a call, of a session changed. */

#define NO_TURN G_MININT64

static const char *session; /* borrowed from argv */
static gboolean as_json;
static gboolean yes;

/* Borrowed: word of a member of @entry. */
static const char *
word_of (const json_t *entry,
         const char   *key)
{
  return ow_json_get_string (entry, key, "");
}

/* What stays as it is, and why; how many they are. */
static guint
print_skipped (const json_t *result)
{
  const json_t *skipped = json_object_get (result, "skipped");
  const json_t *files = json_object_get (result, "files");
  guint n = 0;

  for (size_t i = 0; i < json_array_size (skipped) + json_array_size (files); i++)
    {
      const json_t *entry = i < json_array_size (skipped)
                            ? json_array_get (skipped, i)
                            : json_array_get (files, i - json_array_size (skipped));
      const char *state = word_of (entry, "state");
      g_autofree char *path = ow_diff_print_path (word_of (entry, "path"));
      g_autofree char *reason = ow_diff_print_path (word_of (entry, "reason"));

      if (strstr (state, "restore") != NULL || strstr (state, "remove") != NULL)
        continue;
      g_print ("%s %s: %s\n", n++ == 0 ? "Left as it is:" : "              ", path, reason);
    }
  n += (guint) ow_json_get_int (result, "skipped_left", 0);
  return n;
}

static guint
count_state (const json_t *result,
             const char   *state)
{
  const json_t *files = json_object_get (result, "files");
  guint n = 0;

  for (size_t i = 0; i < json_array_size (files); i++)
    n += strcmp (word_of (json_array_get (files, i), "state"), state) == 0;
  return n;
}

static void
show_undone (OwFace       *face,
             const json_t *result,
             gpointer      user_data)
{
  guint before = GPOINTER_TO_UINT (user_data);
  guint restored = count_state (result, "restored");
  guint removed = count_state (result, "removed");
  guint skipped;

  if (as_json)
    {
      ow_face_print_json (result);
      skipped = (guint) json_array_size (json_object_get (result, "files")) - restored - removed;
    }
  else
    {
      skipped = print_skipped (result);
      g_print ("%u file%s put back, %u removed.\n", restored, restored == 1 ? "" : "s", removed);
    }
  ow_face_finish (face, skipped + before > 0 ? 1 : 0);
}

/* What was shown, and of how much was left out already. */
typedef struct {
  OwFace *face;
  char   *preview; /* (owned) */
  guint   skipped;
  guint   todo;
} Shown;

static Shown shown;

static void
undo_now (void)
{
  ow_face_command (shown.face, "session.undo", json_pack ("{s:s, s:s}", "session", session,
                                                          "preview", shown.preview),
                   show_undone, GUINT_TO_POINTER (shown.skipped));
}

static void
on_line (const char *line,
         gpointer    user_data)
{
  g_autofree char *reason = NULL;

  switch (ow_reply_parse (line, FALSE, &reason))
    {
    case OW_REPLY_ONCE:
      undo_now ();
      break;
    case OW_REPLY_DENY:
      g_printerr ("openworker: Nothing was undone.\n");
      ow_face_finish (shown.face, 1);
      break;
    case OW_REPLY_AGAIN:
    case OW_REPLY_SESSION:
    case OW_REPLY_ALWAYS:
    default:
      ow_terminal_ask ("Please answer with the whole word. Undo this? (yes or no) ", on_line, NULL);
      break;
    }
}

static void
ask (void)
{
  g_autofree char *question = NULL;

  if (yes)
    {
      undo_now ();
      return;
    }
  if (!ow_terminal_is_interactive ())
    {
      ow_face_usage (shown.face, "Nobody can be asked here: give --yes to undo it.");
      return;
    }
  question = g_strdup_printf ("Undo this, in %u file%s? (yes or no) ", shown.todo,
                              shown.todo == 1 ? "" : "s");
  ow_terminal_ask (question, on_line, NULL);
}

/* It is shown first, whatever then is done is that. */
static void
show_preview (OwFace       *face,
              const json_t *result,
              gpointer      user_data)
{
  shown.face = face;
  shown.preview = g_strdup (ow_json_get_string (result, "call", NULL));
  shown.todo = count_state (result, "would restore") + count_state (result, "would remove");
  if (as_json && !yes)
    {
      ow_face_print_json (result);
      ow_face_finish (face, 0);
      return;
    }
  if (!as_json)
    {
      ow_diff_print (word_of (result, "diff"));
      g_print ("\n");
      shown.skipped = print_skipped (result);
    }
  else
    {
      shown.skipped = (guint) (json_array_size (json_object_get (result, "skipped")) +
                               json_array_size (json_object_get (result, "files"))) - shown.todo;
    }
  if (shown.todo > 0 && shown.preview != NULL)
    {
      ask ();
      return;
    }
  g_printerr ("openworker: Nothing of it can be undone.\n");
  ow_face_finish (face, 1);
}

void
ow_command_sessions_undo (OwFace  *face,
                          int      argc,
                          char   **argv)
{
  g_autofree char *call = NULL;
  gint64 turn = NO_TURN;
  const GOptionEntry entries[] = {
    { "call", 0, 0, G_OPTION_ARG_STRING, &call, "What this one call changed", "ID" },
    { "turn", 0, 0, G_OPTION_ARG_INT64, &turn,
      "What the turn of your N-th message changed; without it, and without --call, the last one",
      "N" },
    { "yes", 'y', 0, G_OPTION_ARG_NONE, &yes, "Do not ask", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json,
      "Print the result as JSON; without --yes only what would be done", NULL },
    { NULL }
  };
  json_t *params;

  g_set_prgname ("openworker sessions undo");
  if (!ow_face_parse (face, "SESSION", "Shows what taking back a turn, or one call, of a session "
                      "would do to its files, asks, and does it. What was changed since is left "
                      "as it is.", entries, FALSE, &argc, &argv))
    return;
  if (argc != 2 || (call != NULL && turn != NO_TURN) || (turn < 1 && turn != NO_TURN))
    {
      ow_face_usage (face, "“sessions undo” takes a session, and “--call ID” or “--turn N”.");
      return;
    }
  session = argv[1];
  params = json_pack ("{s:s}", "session", session);
  if (call != NULL)
    json_object_set_new (params, "call", json_string (call));
  if (turn != NO_TURN)
    json_object_set_new (params, "turn", json_integer (turn));
  ow_face_command (face, "session.undo", params, show_preview, NULL);
}
