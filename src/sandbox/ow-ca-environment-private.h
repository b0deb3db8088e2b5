/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* On a machine with an authority of its own (a company's, a proxy's) programs are told by
 * variables which file of certificates to believe. Inside, the same programs need the same
 * file, or nothing can be installed there that can be installed outside.
 *
 * The variables of this kind in @environment ("NAME=value", terminated by NULL) whose value
 * is a plain path below the certificates that the wall shows: names and values by turns,
 * terminated by NULL. (transfer full) All others stay outside. Any thread. */
char **ow_ca_environment_pick (const char * const *environment);
