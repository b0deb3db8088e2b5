/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* When an answer to a request counts. A click or key that was meant for what stood there before,
 * or that only raised the window, must not allow anything; neither may a person allow what they
 * have not had on the screen, or answer twice. Plain struct; @now is monotonic, in µs. */

/* A click or key in this time after the card or its window came does not count. */
#define OW_ANSWER_GATE_MS 500

typedef struct
{
  gint64   since; /* when the card, or its window, came; 0: it is not there */
  gboolean read;  /* its end was on the screen */
  gboolean done;  /* answered, here or elsewhere */
} OwAnswerGate;

/* The card came on the screen, or its window to the front. */
void     ow_answer_gate_came        (OwAnswerGate *self, gint64 now);
void     ow_answer_gate_went        (OwAnswerGate *self);
gboolean ow_answer_gate_may_deny    (const OwAnswerGate *self, gint64 now);
gboolean ow_answer_gate_may_allow   (const OwAnswerGate *self, gint64 now);
/* What is seen of a text of @height, from @top on, @seen of it: with its end it is read, and
 * stays so. Sizes of nothing laid out yet count for nothing. */
void     ow_answer_gate_saw         (OwAnswerGate *self, double top, double seen, double height);
