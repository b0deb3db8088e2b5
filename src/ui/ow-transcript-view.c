/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-transcript-view-private.h"

#include "ow-approval-card-private.h"
#include "ow-message-row-private.h"
#include "ow-tool-card-private.h"

/* As far from the end as this a person still reads along. */
#define NEAR_END 40

struct _OwTranscriptView
{
  GtkWidget          parent_instance;

  GtkScrolledWindow *scroller;
  GtkListView       *list;
  OwTranscript      *transcript; /* (owned) (nullable) */
  gboolean           following;  /* the person is at the end */
  guint              tick;       /* callback id, 0 when none */
};

G_DEFINE_FINAL_TYPE (OwTranscriptView, ow_transcript_view, GTK_TYPE_WIDGET)

static void
on_setup (GtkSignalListItemFactory *factory,
          GtkListItem              *list_item,
          gpointer                  user_data)
{
  gtk_list_item_set_activatable (list_item, FALSE);
  gtk_list_item_set_selectable (list_item, FALSE);
}

static void
on_bind (GtkSignalListItemFactory *factory,
         GtkListItem              *list_item,
         gpointer                  user_data)
{
  OwTranscriptItem *item = gtk_list_item_get_item (list_item);
  GtkWidget *child;

  switch (item->kind)
    {
    case OW_ITEM_TOOL:
      child = ow_tool_card_new (item);
      break;
    case OW_ITEM_CONSENT:
      child = ow_approval_card_new (item);
      break;
    case OW_ITEM_USER:
    case OW_ITEM_MODEL:
    case OW_ITEM_NOTICE:
    default:
      child = ow_message_row_new (item);
      break;
    }
  gtk_list_item_set_child (list_item, child);
}

static void
on_unbind (GtkSignalListItemFactory *factory,
           GtkListItem              *list_item,
           gpointer                  user_data)
{
  gtk_list_item_set_child (list_item, NULL);
}

static GtkAdjustment *
adjustment_of (OwTranscriptView *self)
{
  return gtk_scrolled_window_get_vadjustment (self->scroller);
}

static double
end_of (GtkAdjustment *adjustment)
{
  return gtk_adjustment_get_upper (adjustment) - gtk_adjustment_get_page_size (adjustment);
}

/* The list guesses the heights of rows it has not made, so its end moves while it gets
 * there: each frame until it stands still. */
static gboolean
on_tick (GtkWidget     *widget,
         GdkFrameClock *clock,
         gpointer       user_data)
{
  OwTranscriptView *self = OW_TRANSCRIPT_VIEW (widget);
  GtkAdjustment *adjustment = adjustment_of (self);
  double end = end_of (adjustment);

  if (self->following && gtk_adjustment_get_value (adjustment) < end - 0.5)
    {
      gtk_adjustment_set_value (adjustment, end);
      return G_SOURCE_CONTINUE;
    }
  self->tick = 0;
  return G_SOURCE_REMOVE;
}

static void
follow (OwTranscriptView *self)
{
  if (self->following && self->tick == 0)
    self->tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), on_tick, NULL, NULL);
}

static void
jump_to_end (OwTranscriptView *self)
{
  guint n = self->transcript == NULL ? 0
            : g_list_model_get_n_items (G_LIST_MODEL (self->transcript));

  if (n > 0)
    gtk_widget_activate_action (GTK_WIDGET (self->list), "list.scroll-to-item", "u", n - 1);
  follow (self);
}

static void
on_items_changed (OwTranscriptView *self)
{
  if (self->following)
    jump_to_end (self);
}

/* A person who scrolls away is left there; who comes back to the end follows again. */
static gboolean
on_scroll (OwTranscriptView         *self,
           double                    dx,
           double                    dy,
           GtkEventControllerScroll *controller)
{
  if (dy < 0)
    self->following = FALSE;
  return FALSE;
}

static void
on_value_changed (OwTranscriptView *self)
{
  GtkAdjustment *adjustment = adjustment_of (self);
  double distance = end_of (adjustment) - gtk_adjustment_get_value (adjustment);

  if (distance < NEAR_END)
    self->following = TRUE;
  else if (self->tick == 0)
    self->following = FALSE;
}

static void
ow_transcript_view_dispose (GObject *object)
{
  OwTranscriptView *self = OW_TRANSCRIPT_VIEW (object);
  GtkWidget *child;

  if (self->transcript != NULL)
    g_signal_handlers_disconnect_by_data (self->transcript, self);
  g_clear_object (&self->transcript);
  gtk_widget_dispose_template (GTK_WIDGET (self), OW_TYPE_TRANSCRIPT_VIEW);
  /* Those that no member of the struct is bound to are left. */
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);

  G_OBJECT_CLASS (ow_transcript_view_parent_class)->dispose (object);
}

static void
ow_transcript_view_class_init (OwTranscriptViewClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ow_transcript_view_dispose;
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/org/openworker/OpenWorker/ow-transcript-view.ui");
  gtk_widget_class_bind_template_child (widget_class, OwTranscriptView, scroller);
  gtk_widget_class_bind_template_child (widget_class, OwTranscriptView, list);
  gtk_widget_class_bind_template_callback (widget_class, on_setup);
  gtk_widget_class_bind_template_callback (widget_class, on_bind);
  gtk_widget_class_bind_template_callback (widget_class, on_unbind);
}

static void
ow_transcript_view_init (OwTranscriptView *self)
{
  GtkEventController *scroll;

  gtk_widget_init_template (GTK_WIDGET (self));
  self->following = TRUE;
  g_signal_connect_object (adjustment_of (self), "changed", G_CALLBACK (follow), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (adjustment_of (self), "value-changed", G_CALLBACK (on_value_changed),
                           self, G_CONNECT_SWAPPED);
  scroll = gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);
  gtk_event_controller_set_propagation_phase (scroll, GTK_PHASE_CAPTURE);
  g_signal_connect_swapped (scroll, "scroll", G_CALLBACK (on_scroll), self);
  gtk_widget_add_controller (GTK_WIDGET (self), scroll);
}

void
ow_transcript_view_set_transcript (OwTranscriptView *self,
                                   OwTranscript     *transcript)
{
  g_autoptr (GtkNoSelection) selection = NULL;

  if (self->transcript != NULL)
    g_signal_handlers_disconnect_by_data (self->transcript, self);
  g_set_object (&self->transcript, transcript);
  if (transcript != NULL)
    selection = gtk_no_selection_new (G_LIST_MODEL (g_object_ref (transcript)));
  gtk_list_view_set_model (self->list, GTK_SELECTION_MODEL (selection));
  /* After the list's own handler, so that it knows of the new rows. */
  if (transcript != NULL)
    g_signal_connect_object (transcript, "items-changed", G_CALLBACK (on_items_changed), self,
                             G_CONNECT_SWAPPED | G_CONNECT_AFTER);
  self->following = TRUE;
  jump_to_end (self);
}

void
ow_transcript_view_scroll_to_end (OwTranscriptView *self)
{
  self->following = TRUE;
  jump_to_end (self);
}
