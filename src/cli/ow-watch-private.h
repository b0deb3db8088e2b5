/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-face-private.h"

/* Follows one session from its start command to its end for a command of this face:
 * starts it, hands its events to @event, stops it on SIGINT or SIGTERM, answers
 * requests for consent, and ends the face with the session's exit status. It lives as long
 * as the program. Main thread. */

typedef struct _OwWatch OwWatch;

typedef struct
{
  /* Shows an event; borrowed. */
  void (*event)(OwEvent *event, gpointer user_data);
  /* What answers a consent-asked event. */
  enum { OW_WATCH_ASK_PERSON, OW_WATCH_ALLOW_OWN_COMMAND } consent;
  gpointer user_data;
} OwWatchOptions;

/* @command is session.start or session.exec; @params (stolen) without "provider" when
 * nothing was given: then the machine's setting counts, and where that is not set a
 * person at a terminal is asked, and nobody else. */
void ow_watch_start (OwFace               *face,
                     const char           *command,
                     json_t               *params,
                     const OwWatchOptions *options);
