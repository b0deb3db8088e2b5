/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-confirm-private.h"

#include <glib/gi18n.h>

#include "ow-mnemonic-private.h"

AdwMessageDialog *
ow_confirm_new (GtkWindow  *parent,
                const char *heading,
                const char *body)
{
  AdwMessageDialog *dialog = ADW_MESSAGE_DIALOG (adw_message_dialog_new (parent, heading, body));

  adw_message_dialog_add_response (dialog, "cancel", _ ("_Cancel"));
  adw_message_dialog_set_default_response (dialog, "cancel");
  adw_message_dialog_set_close_response (dialog, "cancel");
  return dialog;
}

void
ow_confirm_present (AdwMessageDialog *dialog)
{
  GtkWindow *window = GTK_WINDOW (dialog);

  ow_mnemonic_name_buttons (GTK_WIDGET (dialog));
  gtk_window_present (window);
  /* Enter must not hit what destroys, where the buttons stand below each other. */
  gtk_window_set_focus (window, gtk_window_get_default_widget (window));
}
