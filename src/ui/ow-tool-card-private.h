/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

#include "ow-transcript-item-private.h"

/* One call of a tool: what was asked, at which level it runs, how long it took and what came
 * out of it. Its Stop button activates "win.stop". */

#define OW_TYPE_TOOL_CARD (ow_tool_card_get_type ())
G_DECLARE_FINAL_TYPE (OwToolCard, ow_tool_card, OW, TOOL_CARD, GtkWidget)

GtkWidget *ow_tool_card_new (OwTranscriptItem *item);
