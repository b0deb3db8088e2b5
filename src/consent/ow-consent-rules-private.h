/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "consent/ow-consent-rules.h"

/* FALSE: the file is there and cannot be used, so nothing could be added. */
gboolean ow_consent_rules_is_usable (OwConsentRules *self);
/* Takes a rule back whose "always" could not be written down. */
void     ow_consent_rules_remove    (OwConsentRules *self, OwLevel level, const char *place,
                                     const char * const *words);
