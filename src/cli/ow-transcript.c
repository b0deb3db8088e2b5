/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-transcript-private.h"

#include <limits.h>
#include <string.h>

#include "base/ow-text.h"
#include "ow-card-private.h"
#include "ow-terminal-private.h"

static gboolean card_open;

/* Borrowed; lives as long as the program. */
static GPtrArray *
waiting_notices (void)
{
  static GPtrArray *waiting;

  if (waiting == NULL)
    waiting = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_event_unref);
  return waiting;
}

static void
print_session (OwEvent *event)
{
  json_t *folders = json_object_get (ow_event_get_members (event), "folders");

  ow_terminal_print (OW_STYLE_BOLD, "Session %s", ow_event_get_session (event));
  g_print (" [%s], network %s\n", ow_event_get_string (event, "level"),
           ow_event_get_string (event, "profile"));
  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      const json_t *folder = json_array_get (folders, i);
      g_autofree char *path = ow_text_visible (ow_json_get_string (folder, "path", ""));
      g_autofree char *line = ow_text_shorten (path, PATH_MAX, TRUE);

      g_print ("  %s  %s\n", line,
               ow_json_get_bool (folder, "read_only", TRUE) ? "read-only" : "read-write");
    }
  if (g_strcmp0 (ow_event_get_string (event, "level"), "direct") == 0)
    ow_terminal_print (OW_STYLE_RED,
                       "  No sandbox: commands run directly on this machine, with the same access "
                       "as your user account.\n");
}

static void
print_text (const char *mark,
            const char *text)
{
  g_autofree char *visible = ow_text_visible (text);

  if (*visible != '\0')
    g_print ("\n%s%s\n", mark, visible);
}

static void
print_host (OwEvent *event)
{
  g_autofree char *host = ow_text_visible (ow_event_get_string (event, "host"));

  if (g_strcmp0 (ow_event_get_string (event, "decision"), "allow") == 0)
    return;
  ow_terminal_print (OW_STYLE_YELLOW, "  ✗ blocked site %s:%" G_GINT64_FORMAT " (%s) [%s]\n", host,
                     ow_event_get_int (event, "port", 0), ow_event_get_string (event, "reason"),
                     ow_event_get_string (event, "level"));
}

static void
print_ended (OwEvent *event)
{
  const char *message = ow_event_get_string (event, "message");

  if (message != NULL)
    {
      g_autofree char *visible = ow_text_visible (message);

      g_printerr ("openworker: %s\n", visible);
    }
  g_print ("\nSession %s: %s\n", ow_event_get_session (event),
           ow_event_get_string (event, "outcome"));
}

/* A notice that comes while a card is open waits for its end: in between it would look
 * like the command's own words. */
static void
print_notice (OwEvent *event)
{
  if (card_open)
    g_ptr_array_add (waiting_notices (), ow_event_ref (event));
  else
    print_text ("ⓘ ", ow_event_get_string (event, "text"));
}

/* A call that was only asked for when the program was killed has no end of its own: then
 * the turn's or the session's end closes its card. */
static void
close_card (void)
{
  GPtrArray *waiting = waiting_notices ();

  card_open = FALSE;
  for (guint i = 0; i < waiting->len; i++)
    print_notice (g_ptr_array_index (waiting, i));
  g_ptr_array_set_size (waiting, 0);
}

void
ow_transcript_print (OwEvent *event)
{
  switch (ow_event_get_kind (event))
    {
    case OW_EVENT_SESSION_STARTED:
      print_session (event);
      break;
    case OW_EVENT_USER_MESSAGE:
      print_text ("> ", ow_event_get_string (event, "text"));
      break;
    case OW_EVENT_MODEL_MESSAGE:
      print_text ("● ", ow_event_get_string (event, "text"));
      break;
    case OW_EVENT_NOTICE:
      print_notice (event);
      break;
    case OW_EVENT_TOOL_ASKED:
      card_open = TRUE;
      ow_card_begin (event);
      break;
    case OW_EVENT_TOOL_OUTPUT:
      ow_card_output (event);
      break;
    case OW_EVENT_TOOL_ENDED:
      ow_card_end (event);
      close_card ();
      break;
    case OW_EVENT_HOST_DECISION:
      print_host (event);
      break;
    case OW_EVENT_WALL:
      if (g_strcmp0 (ow_event_get_string (event, "state"), "lost") == 0)
        print_text ("✗ The wall was lost: ", ow_event_get_string (event, "reason"));
      break;
    case OW_EVENT_TURN_ENDED:
      close_card ();
      break;
    case OW_EVENT_SESSION_ENDED:
      close_card ();
      print_ended (event);
      break;
    case OW_EVENT_SESSION_RESUMED:
    case OW_EVENT_MODEL_TEXT:
    case OW_EVENT_CONSENT_ASKED:
    case OW_EVENT_CONSENT_ANSWERED:
    case OW_EVENT_TOOL_STARTED:
    case OW_EVENT_N_TYPES:
    default:
      break;
    }
}
