/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

/* Where the person writes to the agent. Enter sends, Shift+Enter begins a line, Escape twice
 * stops.
 *
 * Signal "send" (const char *text). Stop activates "win.stop". */

#define OW_TYPE_COMPOSER (ow_composer_get_type ())
G_DECLARE_FINAL_TYPE (OwComposer, ow_composer, OW, COMPOSER, GtkWidget)

void  ow_composer_set_working (OwComposer *self, gboolean working);
/* What stands below: the model and what was used; plain text. */
void  ow_composer_set_status  (OwComposer *self, const char *status);
/* Why the last message was not taken, or NULL; plain text. */
void  ow_composer_set_error   (OwComposer *self, const char *error);
/* Gives a message back that could not be sent, unless another one was begun. */
void  ow_composer_give_back   (OwComposer *self, const char *text);
void  ow_composer_clear       (OwComposer *self);
