/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gtk/gtk.h>

/* Children below each other, each as wide as there is room: a column of a transcript. Its width is
 * never asked for by its height, as GtkBoxLayout does: of labels that wrap that costs many
 * times as much, and has answers that contradict each other.
 *
 * Property "spacing" (int). */

#define OW_TYPE_COLUMN_LAYOUT (ow_column_layout_get_type ())
G_DECLARE_FINAL_TYPE (OwColumnLayout, ow_column_layout, OW, COLUMN_LAYOUT, GtkLayoutManager)
