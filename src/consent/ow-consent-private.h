/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "consent/ow-consent.h"

/* For tests: how long a request waits. It counts for requests made from then on. */
void ow_consent_set_timeout (OwConsent *self,
                             guint      timeout_ms);
