/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Opens a terminal that changes nothing of what passes (raw) and is nobody's controlling
 * terminal. Both descriptors are the caller's; @master does not block. FALSE: none could be
 * had, and neither is set. Any thread. */
gboolean ow_channel_pty_open (int     *master,
                              int     *slave,
                              GError **error);
