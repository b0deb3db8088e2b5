/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-approval-card-private.h"

#include <string.h>

#include <glib/gi18n.h>

#include "ow-answer-gate-private.h"
#include "ow-column-layout-private.h"
#include "ow-mnemonic-private.h"
#include "ow-words-private.h"
#include "ow-wrap-layout-private.h"

/* A line that is longer is broken by us, with marks (ow_lines_whole). */
#define LINE_CHARS 2000

/* Characters that the narrowest card has room for in a line, and what is around the lines. */
#define LINE_FITS 80
#define FRAME_HEIGHT 16
#define BAR_HEIGHT 60

struct _OwApprovalCard
{
  GtkWidget          parent_instance;

  OwTranscriptItem  *item;   /* (owned) */
  GtkWindow         *window; /* (nullable) borrowed: the one it is mapped in */
  guint              arming; /* source id, 0 when none */
  OwAnswerGate       gate;
  gboolean           offered; /* the focus was put on Deny once */
  GtkLabel          *title;
  GtkButton         *again;
  GtkLabel          *level;
  GtkScrolledWindow *scroller;
  GtkTextView       *subject;
  GtkLabel          *hint;
  GtkLabel          *answer;
  GtkBox            *controls;
  GtkButton         *deny;
  GtkButton         *once;
  GtkButton         *session;
  GtkButton         *always;
  GtkLabel          *always_words;
  GtkEntry          *reason;
};

G_DEFINE_FINAL_TYPE (OwApprovalCard, ow_approval_card, GTK_TYPE_WIDGET)

static const char *
hint_of (OwApprovalCard *self)
{
  if (!self->gate.read && ow_answer_gate_may_deny (&self->gate, g_get_monotonic_time ()))
    return _ ("There is more than fits. Scroll to its end to be able to allow it.");
  if (self->item->hidden)
    return _ ("It holds characters that cannot be seen. They are shown as escapes.");
  return NULL;
}

static void
show (OwApprovalCard *self)
{
  gboolean open = !self->gate.done;
  gboolean text = self->item->text->len > 0;
  gboolean may = ow_answer_gate_may_allow (&self->gate, g_get_monotonic_time ());
  const char *hint = open ? hint_of (self) : NULL;

  gtk_widget_set_visible (GTK_WIDGET (self->controls), open);
  gtk_widget_set_visible (GTK_WIDGET (self->scroller), text && (open || self->item->expanded));
  gtk_widget_set_visible (GTK_WIDGET (self->again), text && !open && !self->item->expanded);
  gtk_widget_set_sensitive (GTK_WIDGET (self->once), may);
  gtk_widget_set_sensitive (GTK_WIDGET (self->session), may);
  gtk_widget_set_sensitive (GTK_WIDGET (self->always), may);
  gtk_label_set_text (self->hint, hint != NULL ? hint : "");
  gtk_widget_set_visible (GTK_WIDGET (self->hint), hint != NULL);
  gtk_widget_set_visible (GTK_WIDGET (self->answer), !open);
  gtk_label_set_text (self->answer, open ? ""
                                         : self->item->open ? _ ("Answered, waiting for the engine")
                                                            : self->item->note);
  if (open)
    gtk_widget_remove_css_class (GTK_WIDGET (self), "answered");
  else
    gtk_widget_add_css_class (GTK_WIDGET (self), "answered");
}

/* To Deny, unless the person is about to write something. */
static void
take_focus (OwApprovalCard *self)
{
  GtkWidget *focus = self->window == NULL ? NULL : gtk_window_get_focus (self->window);

  if (self->window == NULL || self->offered || self->gate.done)
    return;
  self->offered = TRUE;
  if (GTK_IS_TEXT_VIEW (focus) &&
      gtk_text_buffer_get_char_count (gtk_text_view_get_buffer (GTK_TEXT_VIEW (focus))) > 0)
    return;
  if (GTK_IS_EDITABLE (focus) || GTK_IS_BUTTON (focus))
    return;
  gtk_widget_grab_focus (GTK_WIDGET (self->deny));
}

/* A text view lays its lines out little by little, and those that are missing have no height:
 * a text far longer than its place then looks as if it had been seen whole. */
static gboolean
is_laid_out (OwApprovalCard *self)
{
  GtkTextIter at;
  int y;
  int height;

  gtk_text_buffer_get_start_iter (gtk_text_view_get_buffer (self->subject), &at);
  do
    {
      gtk_text_view_get_line_yrange (self->subject, &at, &y, &height);
      if (height <= 0)
        return FALSE;
    }
  while (gtk_text_iter_forward_line (&at));
  return TRUE;
}

static void
look (OwApprovalCard *self)
{
  GtkAdjustment *adjustment = gtk_scrolled_window_get_vadjustment (self->scroller);

  if (!self->gate.read && is_laid_out (self))
    ow_answer_gate_saw (&self->gate, gtk_adjustment_get_value (adjustment),
                        gtk_adjustment_get_page_size (adjustment),
                        gtk_adjustment_get_upper (adjustment));
}

static gboolean
on_armed (gpointer user_data)
{
  OwApprovalCard *self = user_data;
  gboolean again = !self->gate.read && !is_laid_out (self);

  look (self);
  show (self);
  take_focus (self);
  if (again)
    return G_SOURCE_CONTINUE;
  self->arming = 0;
  return G_SOURCE_REMOVE;
}

static void
arm (OwApprovalCard *self)
{
  g_clear_handle_id (&self->arming, g_source_remove);
  if (gtk_widget_get_mapped (GTK_WIDGET (self)))
    {
      ow_answer_gate_came (&self->gate, g_get_monotonic_time ());
      /* A little later than the gate opens, so that it is open then. */
      self->arming = g_timeout_add (OW_ANSWER_GATE_MS + 10, on_armed, self);
    }
  show (self);
}

/* A click that only raised the window must not answer. */
static void
on_active_changed (OwApprovalCard *self)
{
  if (gtk_window_is_active (self->window))
    arm (self);
}

static void
on_scrolled (OwApprovalCard *self)
{
  if (self->gate.read)
    return;
  look (self);
  show (self);
}

static void
answer (OwApprovalCard *self,
        const char     *decision)
{
  const char *reason = gtk_editable_get_text (GTK_EDITABLE (self->reason));
  gint64 now = g_get_monotonic_time ();
  gboolean denied = g_strcmp0 (decision, "deny") == 0;

  if (!(denied ? ow_answer_gate_may_deny (&self->gate, now)
               : ow_answer_gate_may_allow (&self->gate, now)))
    return;
  self->gate.done = TRUE;
  self->item->sent = TRUE;
  show (self);
  gtk_widget_activate_action (GTK_WIDGET (self), "win.answer", "(sss)", self->item->id, decision,
                              denied ? reason : "");
}

static void
on_again_clicked (OwApprovalCard *self)
{
  self->item->expanded = TRUE;
  show (self);
}

static void
on_deny_clicked (OwApprovalCard *self)
{
  answer (self, "deny");
}

static void
on_once_clicked (OwApprovalCard *self)
{
  answer (self, "once");
}

static void
on_session_clicked (OwApprovalCard *self)
{
  answer (self, "session");
}

static void
on_always_clicked (OwApprovalCard *self)
{
  answer (self, "always");
}

static void
on_reason_changed (OwApprovalCard *self)
{
  ow_words_set (&self->item->reason,
                gtk_editable_get_text (GTK_EDITABLE (self->reason)));
}

static void
ow_approval_card_map (GtkWidget *widget)
{
  OwApprovalCard *self = OW_APPROVAL_CARD (widget);
  GtkRoot *root = gtk_widget_get_root (widget);

  GTK_WIDGET_CLASS (ow_approval_card_parent_class)->map (widget);
  self->window = GTK_IS_WINDOW (root) ? GTK_WINDOW (root) : NULL;
  if (self->window != NULL)
    g_signal_connect_object (self->window, "notify::is-active", G_CALLBACK (on_active_changed),
                             self, G_CONNECT_SWAPPED);
  arm (self);
}

static void
ow_approval_card_unmap (GtkWidget *widget)
{
  OwApprovalCard *self = OW_APPROVAL_CARD (widget);

  if (self->window != NULL)
    g_signal_handlers_disconnect_by_data (self->window, self);
  self->window = NULL;
  g_clear_handle_id (&self->arming, g_source_remove);
  ow_answer_gate_went (&self->gate);
  GTK_WIDGET_CLASS (ow_approval_card_parent_class)->unmap (widget);
}

static void
ow_approval_card_dispose (GObject *object)
{
  OwApprovalCard *self = OW_APPROVAL_CARD (object);
  GtkWidget *child;

  g_clear_handle_id (&self->arming, g_source_remove);
  gtk_widget_dispose_template (GTK_WIDGET (self), OW_TYPE_APPROVAL_CARD);
  /* Those that no member of the struct is bound to are left. */
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  g_clear_object (&self->item);

  G_OBJECT_CLASS (ow_approval_card_parent_class)->dispose (object);
}

static void
ow_approval_card_class_init (OwApprovalCardClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ow_approval_card_dispose;
  widget_class->map = ow_approval_card_map;
  widget_class->unmap = ow_approval_card_unmap;
  g_type_ensure (OW_TYPE_WRAP_LAYOUT);
  g_type_ensure (OW_TYPE_COLUMN_LAYOUT);
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/org/openworker/OpenWorker/ow-approval-card.ui");
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, title);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, again);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, level);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, scroller);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, subject);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, hint);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, answer);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, controls);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, deny);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, once);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, session);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, always);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, always_words);
  gtk_widget_class_bind_template_child (widget_class, OwApprovalCard, reason);
  gtk_widget_class_bind_template_callback (widget_class, on_again_clicked);
  gtk_widget_class_bind_template_callback (widget_class, on_deny_clicked);
  gtk_widget_class_bind_template_callback (widget_class, on_once_clicked);
  gtk_widget_class_bind_template_callback (widget_class, on_session_clicked);
  gtk_widget_class_bind_template_callback (widget_class, on_always_clicked);
  gtk_widget_class_bind_template_callback (widget_class, on_reason_changed);
}

static void
ow_approval_card_init (OwApprovalCard *self)
{
  GtkAdjustment *adjustment;

  gtk_widget_init_template (GTK_WIDGET (self));
  adjustment = gtk_scrolled_window_get_vadjustment (self->scroller);
  g_signal_connect_object (adjustment, "changed", G_CALLBACK (on_scrolled), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (adjustment, "value-changed", G_CALLBACK (on_scrolled), self,
                           G_CONNECT_SWAPPED);
}

/* What is asked for, in words of ours where the title is only a tool's name. */
static char *
describe_request (OwTranscriptItem *item)
{
  if (g_strcmp0 (item->ask, "host") == 0)
    /* Translators: a host and a port, such as “example.org:443” */
    return g_strdup_printf (_ ("Let this session reach %s?"), item->title);
  if (g_strcmp0 (item->ask, "tool") != 0)
    return g_strdup (item->title);
  if (g_strcmp0 (item->title, "shell") == 0)
    return g_strdup (_ ("Run this command?"));
  if (g_strcmp0 (item->title, "task_start") == 0)
    return g_strdup (_ ("Run this command in the background?"));
  /* Translators: the name of a tool, such as “write” */
  return g_strdup_printf (_ ("Allow “%s”?"), item->title);
}

/* Without hyphens where a line is broken: one would look like the text's own. */
static void
set_subject (OwApprovalCard *self,
             const char     *text)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (self->subject);
  GtkTextTag *tag = gtk_text_buffer_create_tag (buffer, NULL, "insert-hyphens", FALSE, NULL);
  GtkTextIter start;
  GtkTextIter end;

  gtk_text_buffer_set_text (buffer, text, -1);
  gtk_text_buffer_get_bounds (buffer, &start, &end);
  gtk_text_buffer_apply_tag (buffer, tag, &start, &end);
}

/* The height for @text, guessed from its lines: what a text view asks for changes while it lays
 * them out, and its place must not shrink under what a person reads. */
static int
guess_height (OwApprovalCard *self,
              const char     *text)
{
  PangoContext *context = gtk_widget_get_pango_context (GTK_WIDGET (self->subject));
  PangoFontMetrics *metrics = pango_context_get_metrics (context, NULL, NULL);
  int line = PANGO_PIXELS_CEIL (pango_font_metrics_get_height (metrics)) + 1;
  int most = gtk_scrolled_window_get_max_content_height (self->scroller);
  int height = FRAME_HEIGHT;

  pango_font_metrics_unref (metrics);
  for (const char *at = text; *at != '\0' && height < most;)
    {
      const char *end = strchrnul (at, '\n');
      gsize rows = 1 + (gsize) (end - at) / LINE_FITS;

      height += line * (int) MIN (rows, 100);
      at = *end == '\0' ? end : end + 1;
    }
  return MIN (height, most);
}

/* A scrollbar is higher than a few lines. */
static void
set_height (OwApprovalCard *self,
            int             height)
{
  if (height < BAR_HEIGHT)
    gtk_scrolled_window_set_policy (self->scroller, GTK_POLICY_NEVER, GTK_POLICY_NEVER);
  else
    gtk_scrolled_window_set_min_content_height (self->scroller, height);
}

/* What "always" means, which differs by what is asked. */
static char *
describe_always (const OwTranscriptItem *item)
{
  g_autofree char *what = ow_lines_whole (item->always, LINE_CHARS);

  if (g_strcmp0 (item->ask, "host") == 0)
    return g_strdup_printf (_ ("Every program in this session can then send what it can read to "
                               "this host. On this machine means that every later session may "
                               "reach %s too."), what);
  return g_strdup_printf (_ ("Always allow means exactly this command, in every session: %s"),
                          what);
}

static void
fill (OwApprovalCard   *self,
      OwTranscriptItem *item)
{
  g_autofree char *text = ow_lines_whole (item->text->str, LINE_CHARS);
  g_autofree char *name = g_strdup_printf (_ ("Approval: %s"), item->title);
  g_autofree char *heading = describe_request (item);
  gboolean limit = g_strcmp0 (item->ask, "limit") == 0;
  gboolean host = g_strcmp0 (item->ask, "host") == 0;

  gtk_label_set_text (self->title, heading);
  gtk_label_set_text (self->level, ow_words_level (item->level));
  gtk_widget_add_css_class (GTK_WIDGET (self->level), ow_words_level_class (item->level));
  set_subject (self, text);
  self->gate.read = *text == '\0';
  set_height (self, guess_height (self, text));
  gtk_widget_set_visible (GTK_WIDGET (self->level), !limit);
  if (limit)
    gtk_button_set_label (self->once, _ ("_Go on"));
  if (host)
    gtk_button_set_label (self->always, _ ("Allow on this _machine"));
  ow_mnemonic_name_buttons (GTK_WIDGET (self));
  gtk_widget_set_visible (GTK_WIDGET (self->once), !host);
  gtk_widget_set_visible (GTK_WIDGET (self->session), !limit);
  gtk_widget_set_visible (GTK_WIDGET (self->always), item->always != NULL);
  gtk_widget_set_visible (GTK_WIDGET (self->always_words), item->always != NULL);
  if (item->always != NULL)
    {
      g_autofree char *words = describe_always (item);

      gtk_label_set_text (self->always_words, words);
    }
  if (item->reason != NULL)
    gtk_editable_set_text (GTK_EDITABLE (self->reason), item->reason);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
}

/* Another face, the clock or the end of the turn may have closed it. */
static void
on_item_changed (OwApprovalCard *self)
{
  self->gate.done = !self->item->open || self->item->sent;
  show (self);
}

GtkWidget *
ow_approval_card_new (OwTranscriptItem *item)
{
  OwApprovalCard *self = g_object_new (OW_TYPE_APPROVAL_CARD, NULL);

  self->item = g_object_ref (item);
  fill (self, item);
  show (self);
  g_signal_connect_object (item, "changed", G_CALLBACK (on_item_changed), self,
                           G_CONNECT_SWAPPED);
  return GTK_WIDGET (self);
}
