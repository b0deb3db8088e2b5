/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-transcript-private.h"

#include <string.h>

#include "base/ow-text.h"
#include "ow-terminal-private.h"

/* Lines of a result that a card shows; the rest is counted. */
#define CARD_LINES 40
#define ARGUMENT_CHARS 120

static void
print_styled (OwStyle     style,
              const char *format,
              ...) G_GNUC_PRINTF (2, 3);

static void
print_styled (OwStyle     style,
              const char *format,
              ...)
{
  g_autofree char *text = NULL;
  g_autofree char *styled = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  styled = ow_terminal_style (style, text);
  g_print ("%s", styled);
}

static void
print_session (OwEvent *event)
{
  json_t *folders = json_object_get (ow_event_get_members (event), "folders");

  print_styled (OW_STYLE_BOLD, "Session %s", ow_event_get_session (event));
  g_print (" [%s], network %s\n", ow_event_get_string (event, "level"),
           ow_event_get_string (event, "profile"));
  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      const json_t *folder = json_array_get (folders, i);
      g_autofree char *path = ow_text_visible (ow_json_get_string (folder, "path", ""));

      g_print ("  %s  %s\n", path,
               ow_json_get_bool (folder, "read_only", TRUE) ? "read-only" : "read-write");
    }
  if (g_strcmp0 (ow_event_get_string (event, "level"), "direct") == 0)
    print_styled (OW_STYLE_RED,
                  "  No sandbox: commands run directly on this machine, with the same access "
                  "as your user account.\n");
}

static char *
describe_arguments (const json_t *arguments)
{
  static const char * const MAIN[] = { "command", "path", "pattern", NULL };
  g_autofree char *visible = NULL;
  char *dump;

  for (guint i = 0; MAIN[i] != NULL; i++)
    {
      const char *value = ow_json_get_string (arguments, MAIN[i], NULL);

      if (value != NULL)
        {
          g_autofree char *text = ow_text_visible (value);

          return ow_text_shorten (text, ARGUMENT_CHARS, TRUE);
        }
    }
  dump = ow_json_dump (arguments, NULL);
  visible = ow_text_visible (dump != NULL ? dump : "");
  free (dump);
  return ow_text_shorten (visible, ARGUMENT_CHARS, TRUE);
}

static void
print_call (OwEvent *event)
{
  const json_t *members = ow_event_get_members (event);
  g_autofree char *arguments = describe_arguments (json_object_get (members, "arguments"));
  g_autofree char *tool = ow_text_visible (ow_event_get_string (event, "tool"));

  g_print ("\n");
  print_styled (OW_STYLE_BOLD, "▸ %s", tool);
  g_print ("  %s  ", arguments);
  print_styled (g_strcmp0 (ow_event_get_string (event, "level"), "direct") == 0
                ? OW_STYLE_RED : OW_STYLE_GREEN,
                "[%s]", ow_event_get_string (event, "level"));
  g_print ("\n");
}

static void
print_result_line (const char *line)
{
  if (g_str_has_prefix (line, "+"))
    print_styled (OW_STYLE_GREEN, "  │ %s\n", line);
  else if (g_str_has_prefix (line, "-"))
    print_styled (OW_STYLE_RED, "  │ %s\n", line);
  else
    g_print ("  │ %s\n", line);
}

static void
print_result (OwEvent *event)
{
  g_autofree char *text = ow_text_visible (ow_event_get_string (event, "result"));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  const char *outcome = ow_event_get_string (event, "outcome");
  guint n = g_strv_length (lines);
  guint shown;

  while (n > 0 && *lines[n - 1] == '\0')
    n--;
  shown = MIN (n, CARD_LINES);
  for (guint i = 0; i < shown; i++)
    {
      g_autofree char *line = ow_text_shorten (lines[i], 400, TRUE);

      print_result_line (line);
    }
  if (n > shown)
    print_styled (OW_STYLE_DIM, "  │ … %u more lines\n", n - shown);
  print_styled (g_strcmp0 (outcome, "ok") == 0 ? OW_STYLE_DIM : OW_STYLE_RED,
                "  └ %s, %" G_GINT64_FORMAT " ms [%s]\n", outcome,
                ow_event_get_int (event, "duration_ms", 0),
                ow_event_get_string (event, "level"));
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
  print_styled (OW_STYLE_YELLOW, "  ✗ blocked site %s:%" G_GINT64_FORMAT " (%s) [%s]\n", host,
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
      print_text ("ⓘ ", ow_event_get_string (event, "text"));
      break;
    case OW_EVENT_TOOL_ASKED:
      print_call (event);
      break;
    case OW_EVENT_TOOL_ENDED:
      print_result (event);
      break;
    case OW_EVENT_HOST_DECISION:
      print_host (event);
      break;
    case OW_EVENT_WALL:
      if (g_strcmp0 (ow_event_get_string (event, "state"), "lost") == 0)
        print_text ("✗ The wall was lost: ", ow_event_get_string (event, "reason"));
      break;
    case OW_EVENT_SESSION_ENDED:
      print_ended (event);
      break;
    case OW_EVENT_CONSENT_ASKED:
    case OW_EVENT_CONSENT_ANSWERED:
    case OW_EVENT_TOOL_STARTED:
    case OW_EVENT_TOOL_OUTPUT:
    case OW_EVENT_TURN_ENDED:
    case OW_EVENT_N_TYPES:
    default:
      break;
    }
}
