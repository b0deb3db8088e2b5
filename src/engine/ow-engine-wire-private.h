/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

#include "wire/ow-json.h"
#include "wire/ow-rpc.h"

/* Words of docs/engine-protocol.md that both sides of the socket use. */

#define OW_ENGINE_WIRE_PROTOCOL      1
#define OW_ENGINE_WIRE_BAD_PROTOCOL  (-32010)
#define OW_ENGINE_WIRE_HANDSHAKE_MS  10000
#define OW_ENGINE_WIRE_INITIALIZE    "initialize"
#define OW_ENGINE_WIRE_EVENT         "event"
#define OW_ENGINE_WIRE_ID_BYTES      16
/* Commands of one client at a time; a client has more wait. */
#define OW_ENGINE_WIRE_MAX_OPEN      64

/* A command's id: 16 to 64 hex digits. */
gboolean ow_engine_wire_is_id      (const char   *text);
/* @error as the error of the answer to @id (stolen). (new reference) */
json_t  *ow_engine_wire_error      (json_t       *id,
                                    const GError *error);
/* The other way round: an error of ours from one that came, which is data. */
void     ow_engine_wire_read_error (const json_t *object,
                                    GError      **error);
