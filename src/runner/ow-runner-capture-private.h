/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-loop-private.h"
#include "ow-runner-output-private.h"

/* The two pipes that the processes of one call write to. What still holds them when
 * the call has ended (a daemon) must neither delay the call nor be killed by a closed
 * pipe: the reading ends then go to OwRunnerDrains, which read slowly and throw away. */

typedef struct _OwRunnerDrains OwRunnerDrains;
typedef struct _OwRunnerCapture OwRunnerCapture;

typedef void (*OwRunnerCaptureFunc) (OwRunnerStream stream,
                                     const char    *data,
                                     size_t         length,
                                     void          *user_data);

OwRunnerDrains  *ow_runner_drains_new         (OwRunnerLoop       *loop);
void             ow_runner_drains_free        (OwRunnerDrains     *self);
/* Takes @fd, which does not block. */
void             ow_runner_drains_add         (OwRunnerDrains     *self,
                                               int                 fd);

/* For whom the middle of a flood need not be looked at. @may: whether what comes now may be passed
 * over; @skipped: so many bytes were. What is kept of the end comes through OwRunnerCaptureFunc. */
typedef struct {
  bool (*may)(void    *user_data);
  void (*skipped)(size_t   length,
                  void    *user_data);
} OwRunnerCaptureSkip;

/* At least this much of the end is kept. */
#define OW_RUNNER_CAPTURE_TAIL (512u * 1024u)

/* NULL with errno when there are no descriptors. */
OwRunnerCapture *ow_runner_capture_new        (OwRunnerLoop       *loop,
                                               OwRunnerDrains     *drains,
                                               OwRunnerCaptureFunc func,
                                               void               *user_data);

/* @skip (static) is asked with the user data of the function. */
void             ow_runner_capture_set_skip   (OwRunnerCapture           *self,
                                               const OwRunnerCaptureSkip *skip);

/* The writing end, owned by the capture. */
int              ow_runner_capture_get_fd     (OwRunnerCapture    *self,
                                               OwRunnerStream      stream);

/* Closes the writing ends in this process. */
void             ow_runner_capture_close_fds  (OwRunnerCapture    *self);

/* Reads no more for the time being: who writes has to wait. */
void             ow_runner_capture_set_paused (OwRunnerCapture    *self,
                                               bool                paused);

/* Takes what is in the pipes now, not waiting for their end, and frees the capture. */
void             ow_runner_capture_finish     (OwRunnerCapture    *self);
