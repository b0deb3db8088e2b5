/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gtk/gtk.h>

/* Lays children out beside each other and begins a new row where one does not fit, as words of
 * a text: for buttons whose words are longer in another language or in larger letters. */

#define OW_TYPE_WRAP_LAYOUT (ow_wrap_layout_get_type ())
G_DECLARE_FINAL_TYPE (OwWrapLayout, ow_wrap_layout, OW, WRAP_LAYOUT, GtkLayoutManager)
