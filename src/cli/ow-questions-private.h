/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-face-private.h"

/* The requests for consent of the session that is followed: asked one after the other at the
 * terminal, each until it is answered here or elsewhere. It lives as long as the program. Main
 * thread. */

typedef struct _OwQuestions OwQuestions;

OwQuestions *ow_questions_new      (OwFace      *face);
/* @event is consent-asked. With @now it is asked as soon as no other one is open; without it when
 * ow_questions_ask_open() is called. */
void         ow_questions_asked    (OwQuestions *self,
                                    OwEvent     *event,
                                    gboolean     now);
/* @event is consent-answered. */
void         ow_questions_answered (OwQuestions *self,
                                    OwEvent     *event);
/* Asks what is open. */
void         ow_questions_ask_open (OwQuestions *self);
/* The session has ended: nothing is asked any more. */
void         ow_questions_close    (OwQuestions *self);
/* The same where the question stays open for others: what is printed next begins a line. */
void         ow_questions_leave    (OwQuestions *self);
