/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event.h"

/* The card of a tool call on the terminal: what it is asked to do with its level, its
 * output while it runs, and how it ended. Only the first lines are shown, the rest is
 * counted. Foreign text is made visible first. Main thread; one call at a time, as the
 * agent makes them. */

void ow_card_begin  (OwEvent *event); /* tool-asked */
void ow_card_output (OwEvent *event); /* tool-output */
void ow_card_end    (OwEvent *event); /* tool-ended */
