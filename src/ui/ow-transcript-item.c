/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-transcript-item-private.h"

G_DEFINE_FINAL_TYPE (OwTranscriptItem, ow_transcript_item, G_TYPE_OBJECT)

static guint changed_signal;

static void
ow_transcript_item_finalize (GObject *object)
{
  OwTranscriptItem *self = OW_TRANSCRIPT_ITEM (object);

  g_string_free (self->text, TRUE);
  g_free (self->note);
  g_free (self->id);
  g_free (self->tool);
  g_free (self->title);
  g_free (self->level);
  g_free (self->outcome);
  g_clear_pointer (&self->lines, ow_lines_free);
  g_clear_pointer (&self->kinds, g_byte_array_unref);
  g_free (self->ask);
  g_free (self->always);
  g_free (self->reason);

  G_OBJECT_CLASS (ow_transcript_item_parent_class)->finalize (object);
}

static void
ow_transcript_item_class_init (OwTranscriptItemClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_transcript_item_finalize;

  /* A member is another one. */
  changed_signal = g_signal_new ("changed", OW_TYPE_TRANSCRIPT_ITEM, G_SIGNAL_RUN_LAST, 0,
                                 NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
ow_transcript_item_init (OwTranscriptItem *self)
{
  self->text = g_string_new (NULL);
}

OwTranscriptItem *
ow_transcript_item_new (OwItemKind  kind,
                        const char *text)
{
  OwTranscriptItem *self = g_object_new (OW_TYPE_TRANSCRIPT_ITEM, NULL);

  self->kind = kind;
  if (text != NULL)
    g_string_assign (self->text, text);
  if (kind == OW_ITEM_TOOL)
    self->lines = ow_lines_new ();
  return self;
}

void
ow_transcript_item_changed (OwTranscriptItem *self)
{
  g_signal_emit (self, changed_signal, 0);
}
