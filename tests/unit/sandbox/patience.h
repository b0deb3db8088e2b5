/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Runs the main loop until @counter has reached @value; the test ends where nothing
 * happens for a minute. */
void patience_wait_until (const guint *counter,
                          guint        value);
