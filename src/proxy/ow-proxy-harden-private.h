/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>

/* What the process gives up, because it reads bytes of an untrusted peer on the open
 * side of the wall. Both return false with errno set. */

/* At the start: inherited descriptors and environment, core dumps, being traced, new
 * privileges, and living on without its parent. */
bool ow_proxy_harden_process (void);

/* Before the first client: capabilities, files (Landlock), and the system calls that a
 * proxy has no use for (seccomp). A layer that the kernel does not have is left out.
 * Below @removable, a directory, files may still be removed. */
bool ow_proxy_harden_calls (const char *removable);
