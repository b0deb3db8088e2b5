/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "ow-runner-path-private.h"
#include "ow-runner-place-private.h"

/* Files as the tools handle them: only regular ones are ever read or written, and a
 * file is replaced as a whole or not at all. */

/* "folder", "FIFO (named pipe)", "socket", … for a sentence. */
const char *ow_runner_file_kind (mode_t mode);

/* Whether the descriptor's file system makes its content up (proc, sysfs …), where
 * reading may block, never end or have effects. *@name is then its name. */
bool    ow_runner_file_is_made_up (int          fd,
                                   const char **name);

/* Opens a regular file for reading, without ever waiting for a FIFO or device.
 * Returns -1 with the sentence in @result. */
int     ow_runner_file_open (const OwRunnerPath  *path,
                             const OwRunnerRoots *roots,
                             struct stat         *status,
                             OwRunnerToolResult  *result);

/* The same below a directory that is already open, for walks: @name is one component.
 * Returns -1 for whatever is not a regular file. */
int     ow_runner_file_open_at (int                  directory,
                                const char          *name,
                                struct stat         *status);

/* read(2) that is not interrupted. */
ssize_t ow_runner_file_read (int                  fd,
                             char                *buffer,
                             size_t               size);

/* The same until the buffer is full or the file ends. Returns how many bytes, -1 with errno. */
ssize_t ow_runner_file_read_all (int                 fd,
                                 char               *buffer,
                                 size_t              size);

/* Writes all of it: 0, or -1 with errno. */
int     ow_runner_file_write_all (int                fd,
                                  const char        *content,
                                  size_t             length);

/* What a file holds that is not shown as text: "PNG image", "binary file", or NULL
 * when the first bytes look like text. */
const char *ow_runner_file_binary_kind (const char *head,
                                        size_t      length);

/* Whether the place may be written to: it is free, or a regular file that is not write
 * protected. False with the sentence in @result. */
bool    ow_runner_file_may_replace (const OwRunnerPath  *path,
                                    const OwRunnerPlace *place,
                                    OwRunnerToolResult  *result);

/* Puts a new file with this content in the place, by rename: another name of the old
 * file keeps what it had, and a reader sees the old or the new whole. The old file's
 * permission bits stay. @unchanged (nullable): give up when the file is no more as it
 * was then. Where there was none, one that has come since is left alone. False with the
 * sentence in @result. */
bool    ow_runner_file_replace (const OwRunnerPath  *path,
                                const OwRunnerPlace *place,
                                const struct stat   *unchanged,
                                const char          *content,
                                size_t               length,
                                OwRunnerToolResult  *result);

/* Takes the file out of its folder, unless it is no more as it was in @unchanged. False
 * with the sentence in @result. */
bool    ow_runner_file_remove  (const OwRunnerPath  *path,
                                const OwRunnerPlace *place,
                                const struct stat   *unchanged,
                                OwRunnerToolResult  *result);
