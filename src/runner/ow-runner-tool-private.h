/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/ow-json.h"

/* What the runner's loop and its file tools agree on. A file tool is blocking code:
 * each call has a child process of its own while it runs, whose end ends the
 * tool. A crash, a runaway allocation or a cancelled call (SIGKILL) so touches that
 * one call only. A later call may get the same process: what a tool opens it closes,
 * what it allocates it frees, threads that it starts it joins, and the mask, the folder
 * and the limits of the process it leaves alone. The result travels back to the loop
 * as text and JSON, capped. */

/* Most bytes of text that a result may have; the loop cuts what is longer. */
#define OW_RUNNER_TEXT_MAX (1024u * 1024u)

/* The folders that the file tools may use; index 0 is where work starts. */
typedef struct {
  const char **folders;   /* as given with --folder and --folder-ro */
  bool        *read_only;
  int         *fds;       /* O_PATH directories, opened when the runner starts */
  size_t       n;
  const struct _OwRunnerKeep *keep; /* (nullable) the undo folder */
  const struct _OwRunnerSettingsStart *start; /* (nullable) what is run from here, at the start */
} OwRunnerRoots;

typedef struct {
  char   *text;       /* (owned, malloc) valid UTF-8 without NUL; NULL is "" */
  size_t  length;     /* bytes of @text, terminator not counted */
  json_t *structured; /* (owned) an object; NULL is {} */
  bool    is_error;
} OwRunnerToolResult;

/* @arguments is an object that nobody has looked at yet. @result is zeroed when the
 * function is called and filled in when it returns. */
typedef void (*OwRunnerToolFunc) (const OwRunnerRoots *roots,
                                  const json_t        *arguments,
                                  OwRunnerToolResult  *result);

void ow_tool_list  (const OwRunnerRoots *roots,
                    const json_t        *arguments,
                    OwRunnerToolResult  *result);
void ow_tool_read  (const OwRunnerRoots *roots,
                    const json_t        *arguments,
                    OwRunnerToolResult  *result);
void ow_tool_write (const OwRunnerRoots *roots,
                    const json_t        *arguments,
                    OwRunnerToolResult  *result);
void ow_tool_edit  (const OwRunnerRoots *roots,
                    const json_t        *arguments,
                    OwRunnerToolResult  *result);
void ow_tool_grep  (const OwRunnerRoots *roots,
                    const json_t        *arguments,
                    OwRunnerToolResult  *result);
void ow_tool_glob  (const OwRunnerRoots *roots,
                    const json_t        *arguments,
                    OwRunnerToolResult  *result);
void ow_tool_undo  (const OwRunnerRoots *roots,
                    const json_t        *arguments,
                    OwRunnerToolResult  *result);
void ow_tool_changes (const OwRunnerRoots *roots,
                      const json_t        *arguments,
                      OwRunnerToolResult  *result);
void ow_tool_settings (const OwRunnerRoots *roots,
                       const json_t        *arguments,
                       OwRunnerToolResult  *result);
