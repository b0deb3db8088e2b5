/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-card-private.h"

#include <string.h>

#include "base/ow-text.h"
#include "events/ow-event-words.h"
#include "ow-terminal-private.h"

/* Lines that a card shows. */
#define CARD_LINES 40
#define LINE_CHARS 400
/* Bytes of an unfinished line that are kept; more would not be shown. */
#define PARTIAL_MAX 4096

/* The output that came while the call ran. */
static struct
{
  char    *call;    /* (owned) (nullable) whose output this is */
  GString *partial; /* (owned) (nullable) a line without its end */
  guint    lines;   /* shown and counted */
} live;

void
ow_card_begin (OwEvent *event)
{
  const char *level = ow_event_get_string (event, "level");
  g_autofree char *title = ow_event_words_call_title (event);

  g_print ("\n");
  ow_terminal_print (OW_STYLE_BOLD, "▸ %s", title);
  g_print ("  ");
  ow_terminal_print (g_strcmp0 (level, "direct") == 0 ? OW_STYLE_RED : OW_STYLE_GREEN, "[%s]",
                     level);
  g_print ("\n");
  if (ow_event_get_string (event, "purpose") != NULL)
    ow_terminal_print (OW_STYLE_DIM, "  │ (the project's own instructions, which the agent is "
                       "told are not the person's)\n");
}

/* @diff: lines are those of a diff and bear its colours. */
static void
print_line (const char *text,
            gboolean    diff)
{
  g_autofree char *visible = ow_text_visible (text);
  g_autofree char *line = ow_text_shorten (visible, LINE_CHARS, TRUE);

  if (diff && g_str_has_prefix (line, "+"))
    ow_terminal_print (OW_STYLE_GREEN, "  │ %s\n", line);
  else if (diff && g_str_has_prefix (line, "-"))
    ow_terminal_print (OW_STYLE_RED, "  │ %s\n", line);
  else
    g_print ("  │ %s\n", line);
}

static void
end_live_line (void)
{
  if (live.lines < CARD_LINES)
    print_line (live.partial->str, FALSE);
  live.lines++;
  g_string_truncate (live.partial, 0);
}

static void
add_live (const char *text)
{
  for (const char *at = text; *at != '\0';)
    {
      const char *end = strchr (at, '\n');
      gsize length = end != NULL ? (gsize) (end - at) : strlen (at);
      gsize room = PARTIAL_MAX - live.partial->len;

      g_string_append_len (live.partial, at, (gssize) MIN (length, room));
      if (end == NULL)
        break;
      end_live_line ();
      at = end + 1;
    }
}

void
ow_card_output (OwEvent *event)
{
  const char *text = ow_event_get_string (event, "text");
  const char *data = ow_event_get_string (event, "data");
  g_autofree char *decoded = NULL;

  if (g_strcmp0 (live.call, ow_event_get_string (event, "call")) != 0)
    {
      g_free (live.call);
      live.call = g_strdup (ow_event_get_string (event, "call"));
      live.lines = 0;
      if (live.partial == NULL)
        live.partial = g_string_new (NULL);
      g_string_truncate (live.partial, 0);
    }
  if (text == NULL && data != NULL)
    {
      gsize length;
      g_autofree guchar *bytes = g_base64_decode (data, &length);

      decoded = ow_text_from_bytes ((const char *) bytes, (gssize) length);
      text = decoded;
    }
  if (text != NULL)
    add_live (text);
}

/* What came while it ran is on the screen already: the last line of the result, which
 * says how the command ended, is left. */
static void
finish_live (char **lines,
             guint  n)
{
  if (live.partial->len > 0)
    end_live_line ();
  if (live.lines > CARD_LINES)
    ow_terminal_print (OW_STYLE_DIM, "  │ … %u more lines\n", live.lines - CARD_LINES);
  if (n > 0 && g_str_has_prefix (lines[n - 1], "["))
    print_line (lines[n - 1], FALSE);
}

static void
print_result (char   **lines,
              guint    n,
              gboolean diff)
{
  guint shown = MIN (n, CARD_LINES);

  for (guint i = 0; i < shown; i++)
    print_line (lines[i], diff);
  if (n > shown)
    ow_terminal_print (OW_STYLE_DIM, "  │ … %u more lines\n", n - shown);
}

/* How a call ended, in a word or two. A command that failed is an answer like another to
 * the agent, but a person must not read "ok" below it. */
static char *
describe_outcome (OwEvent *event)
{
  const char *outcome = ow_event_get_string (event, "outcome");
  gint64 status = ow_event_get_int (event, "exit_status", 0);
  gint64 number = ow_event_get_int (event, "signal", 0);

  if (g_strcmp0 (outcome, "ok") != 0 || (status == 0 && number == 0))
    return g_strdup (outcome);
  if (number != 0)
    return g_strdup_printf ("signal %" G_GINT64_FORMAT, number);
  return g_strdup_printf ("exit %" G_GINT64_FORMAT, status);
}

void
ow_card_end (OwEvent *event)
{
  g_auto (GStrv) lines = g_strsplit (ow_event_get_string (event, "result"), "\n", -1);
  const char *outcome = ow_event_get_string (event, "outcome");
  g_autofree char *ended = describe_outcome (event);
  guint n = g_strv_length (lines);

  while (n > 0 && *lines[n - 1] == '\0')
    n--;
  if (live.call != NULL && g_str_equal (live.call, ow_event_get_string (event, "call")))
    finish_live (lines, n);
  else
    print_result (lines, n, g_str_equal (ow_event_get_string (event, "tool"), "edit"));
  g_clear_pointer (&live.call, g_free);
  ow_terminal_print (g_strcmp0 (outcome, "ok") == 0 ? OW_STYLE_DIM : OW_STYLE_RED,
                     "  └ %s, %" G_GINT64_FORMAT " ms [%s]\n", ended,
                     ow_event_get_int (event, "duration_ms", 0),
                     ow_event_get_string (event, "level"));
}
