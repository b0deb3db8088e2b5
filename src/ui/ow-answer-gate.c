/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-answer-gate-private.h"

void
ow_answer_gate_came (OwAnswerGate *self,
                     gint64        now)
{
  self->since = now;
}

void
ow_answer_gate_went (OwAnswerGate *self)
{
  self->since = 0;
}

gboolean
ow_answer_gate_may_deny (const OwAnswerGate *self,
                         gint64              now)
{
  return self->since != 0 && !self->done && now - self->since >= OW_ANSWER_GATE_MS * 1000;
}

gboolean
ow_answer_gate_may_allow (const OwAnswerGate *self,
                          gint64              now)
{
  return ow_answer_gate_may_deny (self, now) && self->read;
}

void
ow_answer_gate_saw (OwAnswerGate *self,
                    double        top,
                    double        seen,
                    double        height)
{
  if (seen >= 1 && height >= 1)
    self->read = self->read || top + seen >= height - 1;
}
