/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Opening a path below one folder's descriptor, so that it cannot lead out. @flags
 * are open(2)'s without O_CREAT; EXDEV is the errno of a path that would lead out. */

/* With openat2(2); ENOSYS where there is none. */
int    ow_runner_descent_kernel (int         root_fd,
                                 const char *below,
                                 int         flags);

/* Component by component with O_NOFOLLOW, following links by their text. When an
 * absolute link ends it, *@absolute (owned, malloc) is the path that it leads to. */
int    ow_runner_descent_walk   (int         root_fd,
                                 const char *below,
                                 int         flags,
                                 char      **absolute);

/* As the two above, but a link anywhere on the way or at the end, or a "..", is refused
 * with ELOOP: only the path itself leads there. */
int    ow_runner_descent_plain  (int         root_fd,
                                 const char *below,
                                 int         flags);

/* The one of the first two that is there. */
int    ow_runner_descent_open   (int         root_fd,
                                 const char *below,
                                 int         flags);

/* Takes the next component off *@rest and returns its length, 0 at the end. Empty ones
 * and "." are passed over. */
size_t ow_runner_descent_component (const char **rest,
                                    const char **component);

/* (owned, malloc) "before/after", either of them empty. */
char  *ow_runner_descent_join   (const char *before,
                                 const char *after);

/* For tests: false takes the walk as on a kernel without openat2. */
void   ow_runner_descent_set_openat2 (bool available);
