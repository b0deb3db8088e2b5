/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-config.h"

/* What else than allowing this one host would help, as sentences for the person: the profile that
 * has it, a login that is for it (REQ-N02). NULL: nothing. (transfer full) Any thread. */
char *ow_session_remedy (OwConfig *config, const OwHost *host);
