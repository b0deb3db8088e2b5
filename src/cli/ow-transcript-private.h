/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event.h"

/* Prints events as a person reads them, tool calls as cards with their level. Foreign
 * text is made visible first: nothing in it can move the cursor. */
void ow_transcript_print (OwEvent *event);
