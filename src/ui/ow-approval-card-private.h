/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

#include "ow-transcript-item-private.h"

/* A request for the person's consent: all of what would be done, and the answers. Nothing is
 * answered in the first half second that it, or its window, is there: by a click that was meant
 * for something else. What does not fit has to be scrolled through before it can be allowed.
 *
 * Answers by activating "win.answer" (request, decision, reason). */

#define OW_TYPE_APPROVAL_CARD (ow_approval_card_get_type ())
G_DECLARE_FINAL_TYPE (OwApprovalCard, ow_approval_card, OW, APPROVAL_CARD, GtkWidget)

GtkWidget *ow_approval_card_new (OwTranscriptItem *item);
