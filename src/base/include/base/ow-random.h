/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* @n_bytes bytes from the kernel as lower-case hex digits (transfer full): ids and names
 * that nobody can guess or be given twice. NULL with an error when the kernel gives none.
 * Any thread. */
char *ow_random_hex (gsize n_bytes, GError **error);
