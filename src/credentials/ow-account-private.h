/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* The library of ow-account-module.c, which this program carries in itself: it is to be there in
 * whatever way the program was installed. Static data; any thread. */
const char *ow_account_get_module (gsize *length);
