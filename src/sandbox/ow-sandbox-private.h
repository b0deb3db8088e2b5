/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-channel.h"
#include "sandbox/ow-sandbox.h"

/* Borrowed; NULL unless started. For the proof of the wall. */
OwChannel *ow_sandbox_get_channel (OwSandbox *self);
