/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Where the body of an HTTP/1.1 answer ends. libsoup takes a connection that was closed for the
 * end of a body, whatever the answer said of its length, and a chunk size that is none for the
 * last one; so the framing is read here, strictly, from the bytes as they came. Pure. */

typedef enum {
  OW_HTTP_BODY_LENGTH,
  OW_HTTP_BODY_CLOSE,
  OW_HTTP_BODY_CHUNKS,
} OwHttpBodyKind;

typedef struct {
  OwHttpBodyKind kind;
  gboolean       done;
  guint64        left;      /* of the length told, or of this chunk */
  int            state;     /* of OW_HTTP_BODY_CHUNKS */
  guint          digits;    /* of this chunk's size */
  guint          line;      /* bytes of this line that are no content */
  guint          trailer;   /* bytes after the last chunk */
  guint64        content;
  guint64        overhead;
} OwHttpBody;

/* @encoding and @length: (nullable) the headers Transfer-Encoding and Content-Length, several of
 * one name joined by commas. NULL, or what is wrong as half a sentence. */
const char *ow_http_body_start (OwHttpBody *body, guint status, const char *encoding,
                                const char *length);
/* Takes bytes off @data; @piece is content within them and may be empty. To be called until
 * @length is 0 or the body is done. NULL, or what is wrong. */
const char *ow_http_body_take  (OwHttpBody *body, const char **data, gsize *length,
                                const char **piece, gsize *piece_length);
/* The connection ended. NULL when that is the body's end, or what is wrong. */
const char *ow_http_body_end   (OwHttpBody *body);
