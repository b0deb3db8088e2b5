/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* bash reads its script from a pipe as it comes (-s), so at rest there is no driver in
 * it that a command could disturb: no loop to break out of, no variable, no open
 * descriptor beside the script's, which bash itself keeps close-on-exec. A command is
 * one eval, its output goes to pipes of its own that are opened through /proc, and what
 * comes after it is a subshell in POSIX mode, where neither functions nor traps nor
 * options of the session reach. That says "d" on the marker pipe, gets the command's
 * random marker only then, and answers with it and the status. Whatever else is
 * written to the marker pipe is passed over. Where a command has left the shell unable to say
 * so (no descriptor left, a restricted shell), bash has read all of the script without it: it is
 * then told to exit, and its own status is the command's. */

/* What bash is told of one command; descriptors are the runner's numbers. */
typedef struct {
  const char *tag;   /* letters and digits that nobody could know before */
  bool first;        /* bash has just been started */
  bool restore;      /* and begins with what is in state_fd */
  bool names_hidden; /* functions have taken names that we need */
  int  state_fd;     /* a memfd: variables and functions of a shell that SIGINT ended */
  int  text_fd;      /* a memfd: a long command */
  int  stdout_fd;    /* of the command */
  int  stderr_fd;
  int  exported_fd;  /* a memfd: what it exports is written there at its end */
  int  marker_fd;    /* where its end is told */
  int  nonce_fd;     /* where its marker is read */
} OwRunnerShellScript;

/* Returns: (owned, free()) the script, @length bytes; NULL without memory. */
char *ow_runner_shell_script_make (const OwRunnerShellScript *self,
                                   const char                *command,
                                   size_t                    *length);

/* Writes @command as one eval. */
void  ow_runner_shell_script_eval (FILE       *out,
                                   const char *command);
