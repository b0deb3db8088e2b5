/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Files without a name, by which a bash that was started here gets more than an argument
 * holds, opened through /proc. The descriptors are close-on-exec. */

/* Returns: an empty file that can be read and written, -1 with errno. */
int  ow_runner_scratch_open (void);

/* Puts @length bytes in place of what the file holds. */
bool ow_runner_scratch_put  (int         fd,
                             const char *data,
                             size_t      length);

/* Puts what @from holds, at most @max bytes, in place of what @to holds. False with @to
 * empty and errno: it is more (E2BIG), or could not be copied. */
bool ow_runner_scratch_copy (int    from,
                             int    to,
                             size_t max);
