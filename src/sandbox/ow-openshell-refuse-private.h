/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-openshell-check-private.h"

/* The sentences that refuse sessions with OpenShell. Pure. */

#define OW_OPENSHELL_REFUSED "Sessions on this machine are refused"

/* @reason, of the rooms openshell and containers, as a refusal. What was stopped by a person
 * stays that. (transfer full) both */
GError  *ow_openshell_refuse         (GError *reason);
/* The same of a create that failed, where what is known of the machine tells more. */
GError  *ow_openshell_refuse_create  (const OwOpenshellFacts *facts, GError *reason);
/* The same of a sandbox in phase Ready in which no command runs. */
GError  *ow_openshell_refuse_phantom (GError *reason);
GError  *ow_openshell_refuse_image   (const OwContainerEngine *engine, const char *image);
GError  *ow_openshell_refuse_version (const char *version);
/* Its cause and what to do next, without what was being done: for a sentence of one's own.
 * Borrowed. */
const char *ow_openshell_refuse_why  (const GError *error);
/* Whether @error is of the class @fault. */
gboolean ow_openshell_refuse_is      (const GError *error, OwOpenshellFault fault);
