/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

/* A dialog before something is lost for good. It has a response "cancel", which is the default
 * and what Escape does, and those that the caller adds. Main thread. */

/* @parent (nullable). Destroyed by its answer, or with its parent. */
AdwMessageDialog *ow_confirm_new     (GtkWindow *parent, const char *heading, const char *body);
/* Once its responses are there. */
void              ow_confirm_present (AdwMessageDialog *dialog);
