/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gtk/gtk.h>

/* A button with a mnemonic tells a screen reader its words twice in this GTK, once with the
 * underscore. Gives those below @root the name that is read, after their labels are set. */
void ow_mnemonic_name_buttons (GtkWidget *root);
