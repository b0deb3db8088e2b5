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
/* Why its end could not be stored: it has failed, whatever the row says. NULL: the row holds. */
void           ow_session_item_set_problem  (OwSessionItem *self, const char *problem);
const char    *ow_session_item_get_id       (OwSessionItem *self);
const char    *ow_session_item_get_title    (OwSessionItem *self);
const char    *ow_session_item_get_subtitle (OwSessionItem *self);
gboolean       ow_session_item_is_working   (OwSessionItem *self);
