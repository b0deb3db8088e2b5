/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* The system call filter of the bubblewrap wall, as a BPF program in a sealed memfd
 * (close-on-exec), read position 0. What it forbids are ways to other namespaces and
 * mounts, to the terminal that started us, and to parts of the kernel that no work in a
 * folder needs. -1 with an error when it cannot be made. Any thread. */
int ow_seccomp_make_filter (GError **error);
