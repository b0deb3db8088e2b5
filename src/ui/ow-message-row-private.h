/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

#include "ow-transcript-item-private.h"

/* What the person, the model or the program said: plain text, never markup. */

#define OW_TYPE_MESSAGE_ROW (ow_message_row_get_type ())
G_DECLARE_FINAL_TYPE (OwMessageRow, ow_message_row, OW, MESSAGE_ROW, GtkWidget)

GtkWidget *ow_message_row_new (OwTranscriptItem *item);
