/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-transcript-private.h"

#include <string.h>

#include <glib/gi18n.h>

#include "base/ow-text.h"
#include "events/ow-event-words.h"
#include "ow-transcript-diff-private.h"
#include "ow-words-private.h"

/* Pieces of a message or of output are shown this often: a redraw for each would cost more than
 * a tenth of a core at the speed of a quick model. */
#define BATCH_MS 100
#define TITLE_CHARS 160
#define HOST_CHARS 120
#define MAX_SETTINGS 40
/* A message that is longer is shown cut anyway. */
#define LIVE_TEXT_MAX (1024 * 1024)

struct _OwTranscript
{
  GObject           parent_instance;

  GPtrArray        *items;    /* (owned) of (owned) OwTranscriptItem */
  GHashTable       *calls;    /* (owned) call → its item (borrowed) */
  GHashTable       *requests; /* (owned) request → its item (borrowed) */
  GHashTable       *open;     /* (owned) set of those that have not come to their end (borrowed) */
  OwTranscriptItem *live;     /* (nullable) borrowed: the message that comes in pieces */
  GHashTable       *dirty;    /* (owned) set of items with news that was not told */
  guint             batch;    /* source id, 0 when none */
  GHashTable       *hidden;   /* (owned) calls that the program makes for itself */
  GHashTable       *undos;    /* (owned) call of an undo → its tool-asked (owned) */
  gboolean          looking;  /* the session is made again only to look at its changes */
  gboolean          frozen;
  guint             told;     /* items that listeners know of */
};

static void ow_transcript_list_init (GListModelInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwTranscript, ow_transcript, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL,
                                                      ow_transcript_list_init))

static GType
ow_transcript_get_item_type (GListModel *model)
{
  return OW_TYPE_TRANSCRIPT_ITEM;
}

static guint
ow_transcript_get_n_items (GListModel *model)
{
  return OW_TRANSCRIPT (model)->told;
}

static gpointer
ow_transcript_get_item (GListModel *model,
                        guint       position)
{
  OwTranscript *self = OW_TRANSCRIPT (model);

  return position < self->told ? g_object_ref (g_ptr_array_index (self->items, position)) : NULL;
}

static void
ow_transcript_list_init (GListModelInterface *iface)
{
  iface->get_item_type = ow_transcript_get_item_type;
  iface->get_n_items = ow_transcript_get_n_items;
  iface->get_item = ow_transcript_get_item;
}

static void
tell (OwTranscript *self)
{
  guint before = self->told;

  if (self->frozen || self->items->len == before)
    return;
  self->told = self->items->len;
  g_list_model_items_changed (G_LIST_MODEL (self), before, 0, self->told - before);
}

/* Takes @item. */
static OwTranscriptItem *
append (OwTranscript     *self,
        OwTranscriptItem *item)
{
  g_ptr_array_add (self->items, item);
  tell (self);
  return item;
}

static void
take_away (OwTranscript     *self,
           OwTranscriptItem *item)
{
  guint index;

  if (!g_ptr_array_find (self->items, item, &index))
    return;
  g_hash_table_remove (self->dirty, item);
  g_hash_table_remove (self->open, item);
  g_hash_table_remove (self->calls, item->id);
  g_ptr_array_remove_index (self->items, index);
  if (index >= self->told)
    return;
  self->told--;
  g_list_model_items_changed (G_LIST_MODEL (self), index, 1, 0);
}

/* What was appended already has another look now. */
static void
changed (OwTranscript     *self,
         OwTranscriptItem *item)
{
  g_hash_table_remove (self->dirty, item);
  ow_transcript_item_changed (item);
}

void
ow_transcript_flush (OwTranscript *self)
{
  g_autoptr (GHashTable) dirty = g_steal_pointer (&self->dirty);
  GHashTableIter iter;
  gpointer item;

  self->dirty = g_hash_table_new (NULL, NULL);
  g_clear_handle_id (&self->batch, g_source_remove);
  g_hash_table_iter_init (&iter, dirty);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    ow_transcript_item_changed (item);
}

static gboolean
on_batch (gpointer user_data)
{
  OwTranscript *self = user_data;

  self->batch = 0;
  ow_transcript_flush (self);
  return G_SOURCE_REMOVE;
}

static void
changed_soon (OwTranscript     *self,
              OwTranscriptItem *item)
{
  g_hash_table_add (self->dirty, item);
  if (self->batch == 0)
    self->batch = g_timeout_add (BATCH_MS, on_batch, self);
}

static void
add_notice (OwTranscript *self,
            OwTone        tone,
            const char   *format,
            ...) G_GNUC_PRINTF (3, 4);

static void
add_notice (OwTranscript *self,
            OwTone        tone,
            const char   *format,
            ...)
{
  OwTranscriptItem *item = ow_transcript_item_new (OW_ITEM_NOTICE, NULL);
  va_list args;

  va_start (args, format);
  g_string_vprintf (item->text, format, args);
  va_end (args);
  item->tone = tone;
  append (self, item);
}

static void
end_live (OwTranscript *self)
{
  OwTranscriptItem *item = g_steal_pointer (&self->live);

  if (item == NULL)
    return;
  item->live = FALSE;
  changed (self, item);
}

static void
add_model_text (OwTranscript *self,
                OwEvent      *event)
{
  const char *text = ow_event_get_string (event, "text");

  if (self->live == NULL)
    {
      self->live = ow_transcript_item_new (OW_ITEM_MODEL, NULL);
      self->live->live = TRUE;
      append (self, self->live);
    }
  if (self->live->text->len < LIVE_TEXT_MAX)
    g_string_append (self->live->text, text);
  changed_soon (self, self->live);
}

static void
add_model_message (OwTranscript *self,
                   OwEvent      *event)
{
  const char *text = ow_event_get_string (event, "text");
  const char *cut = ow_event_get_string (event, "cut");
  OwTranscriptItem *item = self->live;

  if (item == NULL && *text == '\0' && cut == NULL)
    return;
  if (item == NULL)
    item = append (self, ow_transcript_item_new (OW_ITEM_MODEL, NULL));
  g_string_assign (item->text, text);
  ow_words_set (&item->note, cut);
  item->live = FALSE;
  self->live = NULL;
  changed (self, item);
}

static OwTranscriptItem *
find_call (OwTranscript *self,
           OwEvent      *event)
{
  const char *call = ow_event_get_string (event, "call");

  return call == NULL ? NULL : g_hash_table_lookup (self->calls, call);
}

static OwTranscriptItem *
need_call (OwTranscript *self,
           OwEvent      *event)
{
  OwTranscriptItem *item = find_call (self, event);

  if (item != NULL)
    return item;
  end_live (self);
  item = ow_transcript_item_new (OW_ITEM_TOOL, NULL);
  item->id = g_strdup (ow_event_get_string (event, "call"));
  item->tool = ow_words_line (ow_event_get_string (event, "tool"), TITLE_CHARS);
  item->level = g_strdup (ow_event_get_string (event, "level"));
  item->diff = ow_transcript_diff_is_one (item->tool);
  item->instructions = g_strcmp0 (ow_event_get_string (event, "purpose"), "instructions") == 0;
  item->look = ow_transcript_diff_is_look (event);
  item->title = ow_event_get_kind (event) == OW_EVENT_TOOL_ENDED
                ? g_strdup (item->tool) : ow_event_words_call_title (event);
  g_hash_table_replace (self->calls, g_strdup (item->id), item);
  g_hash_table_add (self->open, item);
  return append (self, item);
}

static void
start_call (OwTranscript *self,
            OwEvent      *event)
{
  OwTranscriptItem *item = need_call (self, event);

  item->state = OW_CALL_RUNNING;
  g_hash_table_add (self->open, item);
  item->began = ow_event_get_time (event);
  ow_words_set (&item->level, ow_event_get_string (event, "level"));
  changed (self, item);
}

static void
add_output (OwTranscript *self,
            OwEvent      *event)
{
  OwTranscriptItem *item = find_call (self, event);
  const char *text = ow_event_get_string (event, "text");
  const char *data = ow_event_get_string (event, "data");
  g_autofree char *decoded = NULL;

  if (item == NULL || item->state == OW_CALL_ENDED)
    return;
  if (text == NULL && data != NULL)
    {
      gsize length;
      g_autofree guchar *bytes = g_base64_decode (data, &length);

      decoded = ow_text_from_bytes ((const char *) bytes, (gssize) length);
      text = decoded;
    }
  if (text != NULL)
    ow_lines_append (item->lines, text);
  changed_soon (self, item);
}

/* Of the calls that an undo named, those whose files were put back. */
static void
take_undo (OwTranscript *self,
           OwEvent      *ended)
{
  const char *call = ow_event_get_string (ended, "call");
  OwEvent *asked = g_hash_table_lookup (self->undos, call);
  const json_t *undoes;

  if (asked == NULL)
    return;
  undoes = json_object_get (ow_event_get_members (asked), "undoes");
  for (size_t i = 0; i < json_array_size (undoes); i++)
    {
      const char *id = json_string_value (json_array_get (undoes, i));
      OwTranscriptItem *item = g_hash_table_lookup (self->calls, id);

      if (item == NULL || item->undo == OW_UNDO_NONE ||
          !ow_transcript_diff_is_undone (asked, ended, i))
        continue;
      item->undo = OW_UNDO_DONE;
      changed (self, item);
    }
  g_hash_table_remove (self->undos, call);
}

static void
end_call (OwTranscript *self,
          OwEvent      *event)
{
  OwTranscriptItem *item = need_call (self, event);

  if (item->instructions && ow_event_words_is_absent (event))
    {
      take_away (self, item);
      return;
    }
  item->state = OW_CALL_ENDED;
  g_hash_table_remove (self->open, item);
  item->duration_ms = ow_event_get_int (event, "duration_ms", 0);
  ow_words_set (&item->level, ow_event_get_string (event, "level"));
  g_free (item->outcome);
  item->outcome = ow_words_outcome (ow_event_get_string (event, "outcome"),
                                    ow_event_get_int (event, "exit_status", 0),
                                    ow_event_get_int (event, "signal", 0));
  if (item->look && item->outcome == NULL)
    ow_lines_set (item->lines, "");
  else if (item->diff)
    ow_transcript_diff_set (item, ow_event_get_string (event, "result"));
  else
    ow_lines_set (item->lines, ow_event_get_string (event, "result"));
  if (ow_transcript_diff_can_undo (event))
    item->undo = OW_UNDO_OFFERED;
  changed (self, item);
  take_undo (self, event);
}

static void
add_request (OwTranscript *self,
             OwEvent      *event)
{
  OwTranscriptItem *item = ow_transcript_item_new (OW_ITEM_CONSENT, NULL);
  g_autofree char *subject = ow_event_words_subject (event);

  g_string_assign (item->text, subject);
  item->hidden = ow_event_words_has_hidden (event);
  end_live (self);
  item->id = g_strdup (ow_event_get_string (event, "request"));
  item->ask = g_strdup (ow_event_get_string (event, "kind"));
  item->title = ow_words_line (ow_event_get_string (event, "title"), TITLE_CHARS);
  item->level = g_strdup (ow_event_get_string (event, "level"));
  item->always = g_strdup (ow_event_get_string (event, "always"));
  item->open = TRUE;
  g_hash_table_replace (self->requests, g_strdup (item->id), item);
  g_hash_table_add (self->open, item);
  append (self, item);
}

/* Whoever answered: this window, another face, the clock, or a rule. */
static char *
describe_answer (OwEvent *event,
                 gboolean host)
{
  const char *decision = ow_event_get_string (event, "decision");
  const char *reason = ow_event_get_string (event, "reason");
  g_autofree char *line = reason == NULL ? NULL : ow_words_line (reason, TITLE_CHARS);

  if (g_strcmp0 (decision, "once") == 0)
    return g_strdup (_ ("Allowed once"));
  if (g_strcmp0 (decision, "session") == 0)
    return g_strdup (_ ("Allowed for this session"));
  if (g_strcmp0 (decision, "always") == 0)
    return g_strdup (host ? _ ("Allowed on this machine") : _ ("Always allowed"));
  return line != NULL && *line != '\0' ? g_strdup_printf (_ ("Denied: %s"), line)
                                       : g_strdup (_ ("Denied"));
}

static void
answer_request (OwTranscript *self,
                OwEvent      *event)
{
  OwTranscriptItem *item = g_hash_table_lookup (self->requests,
                                                ow_event_get_string (event, "request"));
  g_autofree char *approval = NULL;
  g_autofree char *said = NULL;

  /* A rule answers without having asked; the call's own card says enough. */
  if (item == NULL)
    return;
  approval = ow_words_line (ow_event_get_string (event, "approval"), TITLE_CHARS);
  said = describe_answer (event, g_strcmp0 (item->ask, "host") == 0);
  g_free (item->note);
  /* Translators: what was decided, and by what */
  item->note = item->sent || *approval == '\0' ? g_steal_pointer (&said)
                                               : g_strdup_printf (_ ("%s (%s)"), said, approval);
  item->open = FALSE;
  g_hash_table_remove (self->open, item);
  changed (self, item);
}

static void
close_item (OwTranscriptItem *item)
{
  if (item->kind == OW_ITEM_CONSENT)
    {
      item->open = FALSE;
      ow_words_set (&item->note, _ ("Closed without an answer"));
    }
  else
    {
      item->state = OW_CALL_ENDED;
      ow_words_set (&item->outcome, _ ("not run to its end"));
    }
}

/* The end of a turn or of the session is the end of what it asked and ran, whether or not that
 * was told one by one. */
static void
close_open (OwTranscript *self)
{
  GHashTableIter iter;
  gpointer item;

  end_live (self);
  g_hash_table_iter_init (&iter, self->open);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    {
      g_hash_table_iter_remove (&iter);
      close_item (item);
      changed (self, item);
    }
}

static void
add_host (OwTranscript *self,
          OwEvent      *event)
{
  g_autofree char *host = NULL;
  g_autofree char *reason = NULL;

  if (g_strcmp0 (ow_event_get_string (event, "decision"), "allow") == 0)
    return;
  host = ow_words_line (ow_event_get_string (event, "host"), HOST_CHARS);
  reason = ow_words_line (ow_event_get_string (event, "reason"), TITLE_CHARS);
  add_notice (self, OW_TONE_WARNING, _ ("Blocked site %s:%d (%s)"), host,
              (int) ow_event_get_int (event, "port", 0), reason);
}

static void
add_wall (OwTranscript *self,
          OwEvent      *event)
{
  g_autofree char *reason = ow_words_line (ow_event_get_string (event, "reason"), TITLE_CHARS * 4);

  if (g_strcmp0 (ow_event_get_string (event, "state"), "lost") == 0)
    add_notice (self, OW_TONE_ERROR, _ ("The sandbox was lost. %s"), reason);
}

static void
add_turn_end (OwTranscript *self,
              OwEvent      *event)
{
  const char *reason = ow_event_get_string (event, "reason");
  const char *message = ow_event_get_string (event, "message");

  close_open (self);
  if (g_strcmp0 (reason, "failed") == 0)
    add_notice (self, OW_TONE_ERROR, "%s", message != NULL ? message : _ ("The turn failed."));
  else if (g_strcmp0 (reason, "limit") == 0)
    add_notice (self, OW_TONE_WARNING, "%s",
                message != NULL ? message : _ ("The turn ended at its limit."));
  else if (g_strcmp0 (reason, "stopped") == 0)
    add_notice (self, OW_TONE_PLAIN, "%s", _ ("Stopped"));
  else if (message != NULL)
    add_notice (self, OW_TONE_PLAIN, "%s", message);
}

static const char *
describe_end (const char *outcome)
{
  if (g_strcmp0 (outcome, "done") == 0)
    return _ ("The session has ended.");
  if (g_strcmp0 (outcome, "stopped") == 0)
    return _ ("The session was stopped.");
  if (g_strcmp0 (outcome, "parked") == 0)
    return _ ("The session waits, because the program ended. It goes on when you write.");
  if (g_strcmp0 (outcome, "interrupted") == 0)
    return _ ("The session was interrupted: the program was killed.");
  if (g_strcmp0 (outcome, "refused") == 0)
    return _ ("The session was refused.");
  return _ ("The session failed.");
}

static void
add_session_end (OwTranscript *self,
                 OwEvent      *event)
{
  gboolean looking = self->looking;
  const char *outcome = ow_event_get_string (event, "outcome");
  const char *message = ow_event_get_string (event, "message");
  gboolean bad = g_strcmp0 (outcome, "failed") == 0 || g_strcmp0 (outcome, "refused") == 0;

  close_open (self);
  self->looking = FALSE;
  /* It stands as it did. */
  if (looking)
    return;
  if (message != NULL)
    add_notice (self, bad ? OW_TONE_ERROR : OW_TONE_PLAIN, "%s %s", describe_end (outcome),
                message);
  else
    add_notice (self, bad ? OW_TONE_ERROR : OW_TONE_PLAIN, "%s", describe_end (outcome));
}

static void
add_start (OwTranscript *self,
           OwEvent      *event)
{
  const char *notice = ow_event_get_string (event, "notice");

  self->looking = ow_event_get_string (event, "purpose") != NULL;
  if (self->looking)
    return;
  if (ow_event_get_kind (event) == OW_EVENT_SESSION_RESUMED)
    {
      close_open (self);
      add_notice (self, OW_TONE_PLAIN, "%s", _ ("The session goes on."));
    }
  if (notice != NULL)
    add_notice (self, OW_TONE_WARNING, "%s", notice);
}

static void
add_folders (OwTranscript *self,
             OwEvent      *event)
{
  g_autofree char *folders = ow_event_words_folders (event);

  add_notice (self, OW_TONE_PLAIN, _ ("Folders from the next call on: %s"), folders);
}

/* What such a call found is an event of its own. */
static gboolean
is_hidden (OwTranscript *self,
           OwEvent      *event)
{
  const char *call = ow_event_get_string (event, "call");

  if (call != NULL && ow_event_words_is_look (event))
    g_hash_table_add (self->hidden, g_strdup (call));
  return call != NULL && g_hash_table_contains (self->hidden, call);
}

static void
add_settings (OwTranscript *self,
              OwEvent      *event)
{
  g_autofree char *text = ow_event_words_settings (event, MAX_SETTINGS);

  add_notice (self, OW_TONE_WARNING, "%s", text);
}

void
ow_transcript_add (OwTranscript *self,
                   OwEvent      *event)
{
  if (is_hidden (self, event))
    return;
  switch (ow_event_get_kind (event))
    {
    case OW_EVENT_SESSION_STARTED:
    case OW_EVENT_SESSION_RESUMED:
      add_start (self, event);
      break;
    case OW_EVENT_USER_MESSAGE:
      append (self, ow_transcript_item_new (OW_ITEM_USER, ow_event_get_string (event, "text")));
      break;
    case OW_EVENT_MODEL_TEXT:
      add_model_text (self, event);
      break;
    case OW_EVENT_MODEL_MESSAGE:
      add_model_message (self, event);
      break;
    case OW_EVENT_TOOL_ASKED:
      need_call (self, event);
      if (json_object_get (ow_event_get_members (event), "undoes") != NULL)
        g_hash_table_insert (self->undos, g_strdup (ow_event_get_string (event, "call")),
                             ow_event_ref (event));
      break;
    case OW_EVENT_TOOL_STARTED:
      start_call (self, event);
      break;
    case OW_EVENT_TOOL_OUTPUT:
      add_output (self, event);
      break;
    case OW_EVENT_TOOL_ENDED:
      end_call (self, event);
      break;
    case OW_EVENT_CONSENT_ASKED:
      add_request (self, event);
      break;
    case OW_EVENT_CONSENT_ANSWERED:
      answer_request (self, event);
      break;
    case OW_EVENT_HOST_DECISION:
      add_host (self, event);
      break;
    case OW_EVENT_WALL:
      add_wall (self, event);
      break;
    case OW_EVENT_FOLDERS_CHANGED:
      add_folders (self, event);
      break;
    case OW_EVENT_EXECUTABLE_SETTINGS:
      add_settings (self, event);
      break;
    case OW_EVENT_NOTICE:
      add_notice (self, OW_TONE_PLAIN, "%s", ow_event_get_string (event, "text"));
      break;
    case OW_EVENT_TURN_ENDED:
      add_turn_end (self, event);
      break;
    case OW_EVENT_SESSION_ENDED:
      add_session_end (self, event);
      break;
    case OW_EVENT_N_TYPES:
    default:
      break;
    }
}

void
ow_transcript_reopen (OwTranscript *self,
                      const char   *request)
{
  OwTranscriptItem *item = g_hash_table_lookup (self->requests, request);

  if (item == NULL || !item->open)
    return;
  item->sent = FALSE;
  changed (self, item);
}

void
ow_transcript_set_undoing (OwTranscript *self,
                           const char   *call,
                           gboolean      undoing)
{
  OwTranscriptItem *item = g_hash_table_lookup (self->calls, call);

  if (item == NULL || item->undo != (undoing ? OW_UNDO_OFFERED : OW_UNDO_WAITING))
    return;
  item->undo = undoing ? OW_UNDO_WAITING : OW_UNDO_OFFERED;
  changed (self, item);
}

void
ow_transcript_freeze (OwTranscript *self)
{
  self->frozen = TRUE;
}

void
ow_transcript_thaw (OwTranscript *self)
{
  self->frozen = FALSE;
  tell (self);
}

static void
ow_transcript_finalize (GObject *object)
{
  OwTranscript *self = OW_TRANSCRIPT (object);

  g_clear_handle_id (&self->batch, g_source_remove);
  g_hash_table_unref (self->dirty);
  g_hash_table_unref (self->calls);
  g_hash_table_unref (self->requests);
  g_hash_table_unref (self->open);
  g_hash_table_unref (self->hidden);
  g_hash_table_unref (self->undos);
  g_ptr_array_unref (self->items);

  G_OBJECT_CLASS (ow_transcript_parent_class)->finalize (object);
}

static void
ow_transcript_class_init (OwTranscriptClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_transcript_finalize;
}

static void
ow_transcript_init (OwTranscript *self)
{
  self->items = g_ptr_array_new_with_free_func (g_object_unref);
  self->calls = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->requests = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->open = g_hash_table_new (NULL, NULL);
  self->hidden = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->undos = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                       (GDestroyNotify) ow_event_unref);
  self->dirty = g_hash_table_new (NULL, NULL);
}

OwTranscript *
ow_transcript_new (void)
{
  return g_object_new (OW_TYPE_TRANSCRIPT, NULL);
}
