/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-private.h"

/* Tells what changed in the folders while a command of the shell ran. The looking is done
 * by a process of its own, which keeps what it saw last, so that neither a large tree nor
 * a file system that hangs holds the server up: what takes too long is told as cut.
 *
 * What happened when is told by the times that the file system gave, which no program can
 * set (ctime). What is older than the command is counted as having come between two
 * commands. Who did it nobody can tell: what the person or a background task changes
 * while the command runs is among what is told, and what the file tools change is not. */

/* @changes (borrowed): the member "changes" of the command's result. */
typedef void (*OwRunnerWatchFunc) (json_t *changes,
                                   void   *user_data);

OwRunnerWatch *ow_runner_watch_new   (OwRunner           *runner);
/* Whoever waits is not called any more. */
void           ow_runner_watch_free  (OwRunnerWatch      *self);

/* Takes the first look, so that no command waits for it. */
void           ow_runner_watch_start (OwRunnerWatch      *self);

/* Whether a command may begin. Where not, @func is called once when it may, soon; its
 * @changes is NULL. */
bool           ow_runner_watch_ready (OwRunnerWatch      *self,
                                      OwRunnerWatchFunc   func,
                                      void               *user_data);

/* The wall clock as the kernel stamps files with it, in nanoseconds. */
int64_t        ow_runner_watch_clock (void);

/* Looks, and calls @func once, later but within OW_RUNNER_WATCH_MAX_MS. @since: when the
 * command began, by ow_runner_watch_clock(). One at a time. */
#define OW_RUNNER_WATCH_MAX_MS 500
void           ow_runner_watch_look  (OwRunnerWatch      *self,
                                      int64_t             since,
                                      OwRunnerWatchFunc   func,
                                      void               *user_data);

/* A file tool has ended, with this structured content: what it changed is no command's doing. */
void           ow_runner_watch_note  (OwRunnerWatch      *self,
                                      const json_t       *structured);
