/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

/* A folder of a session that is to be made: its path, whether it is read-only, and a button that
 * takes it out (signal "removed"). */

#define OW_TYPE_FOLDER_ROW (ow_folder_row_get_type ())
G_DECLARE_FINAL_TYPE (OwFolderRow, ow_folder_row, OW, FOLDER_ROW, AdwActionRow)

GtkWidget  *ow_folder_row_new      (const char *path);
const char *ow_folder_row_get_path (OwFolderRow *self);
/* As session.start takes it: "PATH:ro" or "PATH:rw"; (transfer full). */
char       *ow_folder_row_get_spec (OwFolderRow *self);
