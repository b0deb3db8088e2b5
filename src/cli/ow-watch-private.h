/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-face-private.h"

/* Follows one session for a command of this face: hands on its events in their order, each once,
 * answers requests for consent, says to the agent what is typed, and ends the face when the
 * session ends or an interrupt says so. It lives as long as the program. Main thread. */

typedef struct _OwWatch OwWatch;

typedef enum
{
  OW_WATCH_ASK_PERSON,        /* where one sits at a terminal; else nobody */
  OW_WATCH_ALLOW_OWN_COMMAND, /* the person typed the command: that was the answer */
} OwWatchConsent;

typedef struct
{
  /* Shows an event; borrowed. */
  void           (*event)(OwEvent *event, gpointer user_data);
  gpointer         user_data;
  OwWatchConsent   consent;
  gboolean         steers;   /* what is typed is said to the agent */
  gboolean         detaches; /* an interrupt leaves the session at work, in place of stopping it */
} OwWatchOptions;

OwWatch *ow_watch_new    (OwFace               *face,
                          const OwWatchOptions *options);
/* @command is session.start or session.exec; @params (stolen) without "provider" when
 * nothing was given: then the machine's setting counts, and where that is not set a
 * person at a terminal is asked, and nobody else. */
void     ow_watch_start  (OwWatch              *self,
                          const char           *command,
                          json_t               *params);
/* A session that is there already, from its first event. */
void     ow_watch_follow (OwWatch              *self,
                          const char           *session);
