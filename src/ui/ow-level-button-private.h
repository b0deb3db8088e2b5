/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

#include "ow-session-facts-private.h"

/* The level of the session, always there as a shield and a word; opened it tells what that means
 * for this session. */

#define OW_TYPE_LEVEL_BUTTON (ow_level_button_get_type ())
G_DECLARE_FINAL_TYPE (OwLevelButton, ow_level_button, OW, LEVEL_BUTTON, GtkWidget)

void ow_level_button_set_facts (OwLevelButton *self, OwSessionFacts *facts);
