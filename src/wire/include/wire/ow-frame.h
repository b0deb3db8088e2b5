/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/ow-json.h"

/* Splits a byte stream into lines, each one frame of newline-delimited JSON-RPC.
 * A line end is LF or CRLF; empty lines are passed over. It never holds more than
 * the cap: a longer line puts the reader in a failed state for good, because what
 * follows an over-long line cannot be trusted to begin where a frame begins.
 *
 * Plain C, one owner, one thread. */

/* Largest frame, in bytes: a result of 1 MiB escaped as JSON fits. */
#define OW_FRAME_MAX_BYTES (8u * 1024u * 1024u)

typedef struct _OwFrameReader OwFrameReader;

/* Called for each whole line, terminator taken off and a NUL put behind it.
 * @line is valid during the call only. Returning false stops the feeding for good: the
 * rest, and all that is fed later, is dropped. */
typedef bool (*OwFrameFunc) (const char *line,
                             size_t      length,
                             void       *user_data);

OwFrameReader *ow_frame_reader_new  (size_t         max_bytes);
void           ow_frame_reader_free (OwFrameReader *self);

/* Gives @length bytes to the reader and calls @func for each line they complete.
 * Returns false for good once a line was over the cap, with a sentence in @error.
 * Bytes fed from inside @func wait until the outer call has come to its end. */
bool ow_frame_reader_feed (OwFrameReader *self,
                           const char    *data,
                           size_t         length,
                           OwFrameFunc    func,
                           void          *user_data,
                           char           error[OW_WIRE_ERROR_SIZE]);

/* Bytes of an unfinished line that are held now. */
size_t ow_frame_reader_pending (const OwFrameReader *self);
