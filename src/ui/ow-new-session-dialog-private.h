/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

#include "engine/ow-engine.h"

/* Asks for what a session needs: a task, folders with their modes, how commands run, a model.
 *
 * Signal "started" (const char *session): the engine has made it; the dialog closes itself. */

#define OW_TYPE_NEW_SESSION_DIALOG (ow_new_session_dialog_get_type ())
G_DECLARE_FINAL_TYPE (OwNewSessionDialog, ow_new_session_dialog, OW, NEW_SESSION_DIALOG, AdwWindow)

OwNewSessionDialog *ow_new_session_dialog_new (GtkWindow *parent, OwEngine *engine);
