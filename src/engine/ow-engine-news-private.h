/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-engine.h"

/* What a thread has to tell another one, in the order in which it came. Live events are left out
 * while many wait, everything else never. Any thread writes; the reader, and whoever frees it, is
 * the thread of the context. */

typedef struct
{
  OwEvent  *event;   /* (owned) (nullable) */
  GTask    *task;    /* (owned) (nullable) to be ended with one of these: */
  json_t   *result;  /* (owned) (nullable) */
  GError   *error;   /* (owned) (nullable) */
  gboolean  over;    /* the thread is */
  gint      running; /* -1: nothing of that */
} OwEngineNewsItem;

typedef struct _OwEngineNews OwEngineNews;

/* @item is borrowed; what it holds may be stolen. */
typedef void (*OwEngineNewsFunc) (OwEngineNewsItem *item,
                                  gpointer          owner);

/* @func is called in @context, with @owner (borrowed), who stops it before it is disposed of. */
OwEngineNews     *ow_engine_news_new      (GMainContext     *context,
                                           OwEngineNewsFunc  func,
                                           GObject          *owner);
/* Nobody writes any more: what was not told is dropped. May be called by who is being told. */
void              ow_engine_news_stop     (OwEngineNews     *self);
void              ow_engine_news_free     (OwEngineNews     *self);
OwEngineNewsItem *ow_engine_news_item_new (void);
/* @item is taken. */
void              ow_engine_news_push     (OwEngineNews     *self,
                                           OwEngineNewsItem *item);
