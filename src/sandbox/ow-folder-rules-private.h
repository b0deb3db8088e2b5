/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-folder.h"

/* The list of what no session folder may hold or lie in (REQ-W12). */

/* FALSE with OW_ERROR_REFUSED when @folder's path or the place it is really at touches
 * one of them, a mount below it does, or it holds a container engine's socket. */
gboolean ow_folder_rules_check (const OwFolder *folder, GError **error);
