/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "wire/ow-json.h"

#include <glib.h>

/* What is wrong with a request as a server sees it that keeps to the letter of OpenAI's
 * interface, or NULL. Shares no code with what makes requests. (transfer full) */
char *check_request (const char *body, gsize length);
