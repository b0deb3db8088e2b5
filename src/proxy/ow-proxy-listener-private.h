/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "wire/ow-json.h"

/* The unix socket that clients come to, for its own account only. A socket that an
 * earlier process left at @path is replaced, anything else there is not touched.
 * Returns -1 with a sentence in @error. */
int  ow_proxy_listener_open  (const char *path,
                              char        error[OW_WIRE_ERROR_SIZE]);
/* Closes it and takes it away from @path. */
void ow_proxy_listener_close (int         listener,
                              const char *path);
