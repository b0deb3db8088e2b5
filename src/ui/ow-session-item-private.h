/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "events/ow-event.h"

/* One session of the list. Properties, all read only: "title" (one visible line), "subtitle" (its
 * state in words), "icon-name". Main thread. */

#define OW_TYPE_SESSION_ITEM (ow_session_item_get_type ())
G_DECLARE_FINAL_TYPE (OwSessionItem, ow_session_item, OW, SESSION_ITEM, GObject)

/* @row: one of session.list. */
OwSessionItem *ow_session_item_new          (const json_t *row);
void           ow_session_item_update       (OwSessionItem *self, const json_t *row);
/* How it ended, where the row does not know it, and why; NULL: the row holds. */
void           ow_session_item_set_end      (OwSessionItem *self, const char *outcome,
                                             const char *message);
const char    *ow_session_item_get_id       (OwSessionItem *self);
const char    *ow_session_item_get_title    (OwSessionItem *self);
const char    *ow_session_item_get_subtitle (OwSessionItem *self);
gboolean       ow_session_item_is_working   (OwSessionItem *self);
