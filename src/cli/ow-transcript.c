/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-transcript-private.h"

#include <limits.h>
#include <string.h>

#include "base/ow-text.h"
#include "events/ow-event-words.h"
#include "ow-card-private.h"
#include "ow-terminal-private.h"

/* Requests to the model of one turn, and what they came to. */
typedef struct
{
  gint64 input;
  gint64 output;
  guint  answers;
} Usage;

static struct
{
  char      *card;     /* (owned) (nullable) the call whose card is open */
  OwEvent   *lookup;   /* (owned) (nullable) the call, where the program itself made it */
  GString   *streamed; /* (owned) (nullable) what came of the answer that is under way */
  gboolean   skips;    /* its pieces are not printed */
  GPtrArray *waiting;  /* (owned) (nullable) of OwEvent: come after what is open */
  OwEvent   *ended;    /* (owned) (nullable) the session's end, until it is known what follows */
  Usage      usage;
} page;

static void print_now (OwEvent *event);

static void
print_text (const char *mark,
            const char *text)
{
  g_autofree char *visible = ow_text_visible (text);

  if (*visible != '\0')
    g_print ("\n%s%s\n", mark, visible);
}

/* What a person must not miss. */
static void
print_loud (const char *text)
{
  g_autofree char *visible = ow_text_visible (text);

  ow_terminal_print (OW_STYLE_RED, "  ! %s\n", visible);
}

static void
print_model (OwEvent *event)
{
  const char *model = ow_event_get_string (event, "model");
  const char *base_url = ow_event_get_string (event, "base_url");
  g_autofree char *name = NULL;
  g_autofree char *address = NULL;

  if (model == NULL)
    return;
  name = ow_text_visible (model);
  address = ow_text_visible (base_url != NULL ? base_url : "");
  g_print ("  model %s%s%s\n", name, *address != '\0' ? " at " : "", address);
}

static void
print_session (OwEvent    *event,
               const char *word)
{
  json_t *folders = json_object_get (ow_event_get_members (event), "folders");
  gboolean direct = g_strcmp0 (ow_event_get_string (event, "level"), "direct") == 0;
  const char *notice = ow_event_get_string (event, "notice");
  g_autofree char *level = g_strdup_printf ("[%s]", ow_event_get_string (event, "level"));
  g_autofree char *styled = ow_terminal_style (direct ? OW_STYLE_RED : OW_STYLE_GREEN, level);

  ow_terminal_print (OW_STYLE_BOLD, "Session %s", ow_event_get_session (event));
  g_print ("%s %s, network %s\n", word, styled, ow_event_get_string (event, "profile"));
  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      const json_t *folder = json_array_get (folders, i);
      g_autofree char *path = ow_text_visible (ow_json_get_string (folder, "path", ""));
      g_autofree char *line = ow_text_shorten (path, PATH_MAX, TRUE);

      g_print ("  %s  %s\n", line,
               ow_json_get_bool (folder, "read_only", TRUE) ? "read-only" : "read-write");
    }
  print_model (event);
  if (notice != NULL)
    print_loud (notice);
  if (direct)
    print_loud ("No sandbox: commands run directly on this machine, with the same access as your "
                "user account.");
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

/* Only the last end is how the command ends; an earlier one is a part of what happened. */
static void
print_ended (OwEvent  *event,
             gboolean  last)
{
  const char *message = ow_event_get_string (event, "message");

  if (message != NULL && !last)
    {
      print_text ("ⓘ ", message);
    }
  else if (message != NULL)
    {
      g_autofree char *visible = ow_text_visible (message);

      g_printerr ("openworker: %s\n", visible);
    }
  g_print ("\nSession %s: %s\n", ow_event_get_session (event),
           ow_event_get_string (event, "outcome"));
}

/* The answer that is under way ends here, whole or not. */
static void
end_streamed (void)
{
  if (page.streamed == NULL)
    return;
  if (page.streamed->len > 0 && !page.skips)
    g_print ("\n");
  g_string_free (page.streamed, TRUE);
  page.streamed = NULL;
}

/* What came while a card or an answer was open; in between it would look like its own words.
 * A call that was only asked for when the program was killed has no end of its own, nor has an
 * answer that was under way: then the turn's or the session's end closes it. */
static void
close_open (void)
{
  g_autoptr (GPtrArray) waiting = g_steal_pointer (&page.waiting);

  end_streamed ();
  g_clear_pointer (&page.card, g_free);
  g_clear_pointer (&page.lookup, ow_event_unref);
  for (guint i = 0; waiting != NULL && i < waiting->len; i++)
    ow_transcript_print (g_ptr_array_index (waiting, i));
}

static void
print_piece (OwEvent *event)
{
  const char *text = ow_event_get_string (event, "text");
  g_autofree char *visible = NULL;

  if (page.streamed == NULL)
    page.streamed = g_string_new (NULL);
  /* Blank lines in front of an answer are no answer yet. */
  while (page.streamed->len == 0 && *text == '\n')
    text++;
  if (page.skips)
    return;
  visible = ow_text_visible (text);
  if (page.streamed->len == 0 && *visible != '\0')
    g_print ("\n● ");
  g_print ("%s", visible);
  g_string_append (page.streamed, text);
}

/* Prints of a whole answer what its pieces have not shown: mostly nothing. */
static void
print_rest (const char *text)
{
  gsize shown = page.streamed != NULL && !page.skips ? page.streamed->len : 0;

  if (shown > 0 && strncmp (text, page.streamed->str, shown) == 0)
    {
      g_autofree char *rest = ow_text_visible (text + shown);

      g_print ("%s", rest);
      end_streamed ();
      return;
    }
  end_streamed ();
  if (shown > 0)
    ow_terminal_print (OW_STYLE_DIM, "  (pieces of it were missed; it is, as a whole:)\n");
  print_text ("● ", text);
}

static void
count_usage (OwEvent *event)
{
  const json_t *usage = json_object_get (ow_event_get_members (event), "usage");

  if (usage == NULL)
    return;
  page.usage.input += ow_json_get_int (usage, "input_tokens", 0);
  page.usage.output += ow_json_get_int (usage, "output_tokens", 0);
  page.usage.answers++;
}

static void
print_usage (void)
{
  if (page.usage.answers > 0)
    ow_terminal_print (OW_STYLE_DIM, "\n  %" G_GINT64_FORMAT " tokens in, %" G_GINT64_FORMAT
                       " out, %u %s\n", page.usage.input, page.usage.output, page.usage.answers,
                       page.usage.answers == 1 ? "answer" : "answers");
  page.usage = (Usage) { 0 };
}

static void
print_message (OwEvent *event)
{
  const char *text = ow_event_get_string (event, "text");
  const char *cut = ow_event_get_string (event, "cut");

  while (*text == '\n')
    text++;
  print_rest (text);
  page.skips = FALSE;
  if (cut != NULL)
    {
      g_autofree char *visible = ow_text_visible (cut);

      ow_terminal_print (OW_STYLE_RED, "  ✗ The answer is not whole, and nothing that it asked "
                         "for was done: %s\n", visible);
    }
  count_usage (event);
  close_open ();
}

static void
print_turn (OwEvent *event)
{
  const char *message = ow_event_get_string (event, "message");

  close_open ();
  if (message != NULL && g_strcmp0 (ow_event_get_string (event, "reason"), "limit") == 0)
    print_text ("ⓘ ", message);
  print_usage ();
}

/* Calls come one at a time; should two be under way, the second one's card follows the first's. */
static gboolean
has_to_wait (OwEvent *event)
{
  const char *call = ow_event_get_string (event, "call");

  switch ((int) ow_event_get_kind (event))
    {
    case OW_EVENT_NOTICE:
    case OW_EVENT_FOLDERS_CHANGED:
    case OW_EVENT_USER_MESSAGE:
      return page.card != NULL || page.streamed != NULL;
    case OW_EVENT_HOST_DECISION:
    case OW_EVENT_WALL:
      return page.streamed != NULL;
    case OW_EVENT_TOOL_ASKED:
    case OW_EVENT_TOOL_OUTPUT:
    case OW_EVENT_TOOL_ENDED:
      return page.card != NULL && g_strcmp0 (page.card, call) != 0;
    case OW_EVENT_MODEL_TEXT:
    case OW_EVENT_MODEL_MESSAGE:
      return page.card != NULL;
    default:
      return FALSE;
    }
}

static void
begin_card (OwEvent *event)
{
  end_streamed ();
  g_free (page.card);
  page.card = g_strdup (ow_event_get_string (event, "call"));
  /* Most projects have no instructions, and that is not worth a card. */
  if (ow_event_get_string (event, "purpose") != NULL)
    page.lookup = ow_event_ref (event);
  else
    ow_card_begin (event);
}

static void
end_card (OwEvent *event)
{
  gboolean shown = page.lookup == NULL || (!ow_event_words_is_look (page.lookup) &&
                                           !ow_event_words_is_absent (event));

  if (page.lookup != NULL && shown)
    ow_card_begin (page.lookup);
  if (shown)
    ow_card_end (event);
  close_open ();
}

static void
print_tool (OwEvent *event)
{
  switch ((int) ow_event_get_kind (event))
    {
    case OW_EVENT_TOOL_ASKED:
      begin_card (event);
      break;
    case OW_EVENT_TOOL_OUTPUT:
      ow_card_output (event);
      break;
    default:
      end_card (event);
      break;
    }
}

static void
print_folders (OwEvent *event)
{
  g_autofree char *folders = ow_event_words_folders (event);

  print_text ("ⓘ Folders from the next call on: ", folders);
}

/* A name from inside is a line of its own, whatever it holds. */
static void
print_settings (OwEvent *event)
{
  g_autofree char *lines = ow_event_words_settings (event, 40);

  close_open ();
  ow_terminal_print (OW_STYLE_RED, "⚠ ");
  g_print ("%s\n", lines);
}

static void
print_now (OwEvent *event)
{
  switch (ow_event_get_kind (event))
    {
    case OW_EVENT_SESSION_STARTED:
      print_session (event, "");
      break;
    case OW_EVENT_SESSION_RESUMED:
      print_session (event, ow_event_get_string (event, "purpose") == NULL
                            ? " goes on" : ": its changes are looked at or undone");
      break;
    case OW_EVENT_USER_MESSAGE:
      print_text ("> ", ow_event_get_string (event, "text"));
      break;
    case OW_EVENT_MODEL_TEXT:
      print_piece (event);
      break;
    case OW_EVENT_MODEL_MESSAGE:
      print_message (event);
      break;
    case OW_EVENT_FOLDERS_CHANGED:
      print_folders (event);
      break;
    case OW_EVENT_EXECUTABLE_SETTINGS:
      print_settings (event);
      break;
    case OW_EVENT_NOTICE:
      print_text ("ⓘ ", ow_event_get_string (event, "text"));
      break;
    case OW_EVENT_TOOL_ASKED:
    case OW_EVENT_TOOL_OUTPUT:
    case OW_EVENT_TOOL_ENDED:
      print_tool (event);
      break;
    case OW_EVENT_HOST_DECISION:
      print_host (event);
      break;
    case OW_EVENT_WALL:
      if (g_strcmp0 (ow_event_get_string (event, "state"), "lost") == 0)
        print_text ("✗ The wall was lost: ", ow_event_get_string (event, "reason"));
      break;
    case OW_EVENT_TURN_ENDED:
      print_turn (event);
      break;
    case OW_EVENT_SESSION_ENDED:
      close_open ();
      print_usage ();
      page.ended = ow_event_ref (event);
      break;
    case OW_EVENT_CONSENT_ASKED:
      end_streamed ();
      break;
    case OW_EVENT_CONSENT_ANSWERED:
    case OW_EVENT_TOOL_STARTED:
    case OW_EVENT_N_TYPES:
    default:
      break;
    }
}

static void
close_ended (gboolean last)
{
  g_autoptr (OwEvent) ended = g_steal_pointer (&page.ended);

  if (ended != NULL)
    print_ended (ended, last);
}

void
ow_transcript_end (void)
{
  close_ended (TRUE);
}

void
ow_transcript_print (OwEvent *event)
{
  close_ended (FALSE);
  if (!has_to_wait (event))
    {
      print_now (event);
      return;
    }
  if (page.waiting == NULL)
    page.waiting = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_event_unref);
  g_ptr_array_add (page.waiting, ow_event_ref (event));
}

void
ow_transcript_skip_piece (void)
{
  page.skips = TRUE;
}
