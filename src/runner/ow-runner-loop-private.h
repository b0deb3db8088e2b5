/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The one loop of the runner: descriptors by epoll, and timers. A callback may add and
 * remove anything, itself included. */

typedef struct _OwRunnerLoop OwRunnerLoop;
typedef struct _OwRunnerSource OwRunnerSource;
typedef struct _OwRunnerTimer OwRunnerTimer;

typedef void (*OwRunnerSourceFunc) (uint32_t  events,
                                    void     *user_data);
typedef void (*OwRunnerTimerFunc)  (void     *user_data);

/* Lives in its owner, who stops it before going away. */
struct _OwRunnerTimer {
  OwRunnerTimerFunc func;
  void             *user_data;
  int64_t           deadline;
  OwRunnerTimer    *next;
  bool              armed;
};

OwRunnerLoop   *ow_runner_loop_new         (void);
void            ow_runner_loop_free        (OwRunnerLoop      *self);

/* Runs until ow_runner_loop_quit(), whose status it returns. */
int             ow_runner_loop_run         (OwRunnerLoop      *self);
void            ow_runner_loop_quit        (OwRunnerLoop      *self,
                                            int                status);

/* @fd stays the caller's, who removes the source before closing it. NULL: failed. */
OwRunnerSource *ow_runner_loop_add         (OwRunnerLoop      *self,
                                            int                fd,
                                            uint32_t           events,
                                            OwRunnerSourceFunc func,
                                            void              *user_data);
void            ow_runner_loop_set_events  (OwRunnerLoop      *self,
                                            OwRunnerSource    *source,
                                            uint32_t           events);
void            ow_runner_loop_remove      (OwRunnerLoop      *self,
                                            OwRunnerSource    *source);

void            ow_runner_loop_start_timer (OwRunnerLoop      *self,
                                            OwRunnerTimer     *timer,
                                            int64_t            after_ms);
void            ow_runner_loop_stop_timer  (OwRunnerLoop      *self,
                                            OwRunnerTimer     *timer);

/* Milliseconds of CLOCK_MONOTONIC, which stands still while the machine sleeps. */
int64_t         ow_runner_loop_now         (void);
