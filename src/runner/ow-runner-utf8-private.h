/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Text of bytes that come from anywhere. */

/* Looks at the first character of @length (> 0) bytes at @data: its bytes, 0 when it
 * is no UTF-8 (overlong, surrogate and over U+10FFFF included), -1 when the bytes end
 * in the middle of one that is valid so far. */
int    ow_runner_utf8_step       (const char *data,
                                  size_t      length);

/* Bytes of the character at @data, 0 where no whole valid one is; NUL is none. */
size_t ow_runner_utf8_char       (const char *data,
                                  size_t      length);

/* Bytes at the end that begin a character which is not whole yet, 0 to 3. */
size_t ow_runner_utf8_incomplete (const char *data,
                                  size_t      length);

/* Whether all of it is UTF-8 without a NUL. */
bool   ow_runner_utf8_is_valid   (const char *data,
                                  size_t      length);

/* Bytes that ow_runner_utf8_append() would write for the next unit at @data; @used gets
 * the bytes that the unit takes. A byte that is no UTF-8 or a NUL is one unit and
 * becomes U+FFFD. */
size_t ow_runner_utf8_unit       (const char *data,
                                  size_t      length,
                                  size_t     *used);

/* Writes the clean form of @data to @out, at most @max bytes; returns the bytes
 * written, and in @used the bytes of @data that went into them. */
size_t ow_runner_utf8_append     (char       *out,
                                  size_t      max,
                                  const char *data,
                                  size_t      length,
                                  size_t     *used);

/* Returns: (owned, free()) @data in base64, or NULL without memory. */
char  *ow_runner_utf8_base64     (const char *data,
                                  size_t      length);
