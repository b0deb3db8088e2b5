/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-children-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-setup-private.h"

/* The second wall: with --landlock every command is restricted once more, to what the server may
 * use without what is the server's own. One process stands behind it and starts all of them, so
 * that they share one domain: they may signal and look at each other and their descriptors, and
 * neither at the server, whose domain is the outer one. What it starts are the server's children
 * all the same.
 *
 * A command's shell opens descriptors by /proc/PID/fd/N. The server's are out of its reach, so
 * those meant for it are shown in that process, under the same numbers.
 *
 * The process is in reach of the commands: one that ends or does not answer is replaced, and the
 * shell of the old one ended, since it could not use what the new one shows.
 *
 * One per program, for one thread. Errors are in errno. */

/* The process @pid has ended; another one does its work. */
typedef void (*OwRunnerInnerLost) (pid_t pid,
                                   void *user_data);

/* Switches it on; nothing is started yet. The paths are kept, not copied. */
void  ow_runner_inner_configure (OwRunnerPaths     list,
                                 OwRunnerPaths     ro,
                                 OwRunnerPaths     rw);
void  ow_runner_inner_watch     (OwRunnerChildren *children,
                                 OwRunnerInnerLost lost,
                                 void             *user_data);
bool  ow_runner_inner_is_on     (void);

/* Starts the process where it is not there, so that the first command does not wait for it. */
bool  ow_runner_inner_prepare   (void);

/* As ow_runner_process_spawn(). */
pid_t ow_runner_inner_spawn     (const OwRunnerSpawn *spawn);

/* Shows descriptors of this process to commands, until they are hidden; a number that is shown
 * again is what it is by then. At most OW_RUNNER_INNER_FDS. */
#define OW_RUNNER_INNER_FDS 16u
bool  ow_runner_inner_show      (const int *fds,
                                 size_t     n);
void  ow_runner_inner_hide      (const int *fds,
                                 size_t     n);
/* Under whose pid they are found: this process where it is off. */
pid_t ow_runner_inner_get_pid   (void);
