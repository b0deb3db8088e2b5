/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Server-sent events (the event stream of HTML's standard) out of bytes as they come, with no
 * input or output of its own. Lines end in CR, LF or CRLF, also in a CRLF that two reads share; a
 * byte-order mark is passed over at the very start only; comments, "retry" (nobody comes back to
 * a stream here) and fields that it does not know are passed over. An event that its blank line
 * does not end is none: a stream that was cut ends in nothing. What it holds is bounded: a line
 * or an event over the cap fails it for good.
 *
 * Bytes are not looked at further: data may hold NUL and need not be UTF-8. One owner, one
 * thread. */

typedef struct _OwSse OwSse;

typedef struct {
  const char *event;   /* (nullable) its type; NULL: "message" */
  const char *id;      /* (nullable) the last one that was told, also by an earlier event */
  const char *data;    /* lines joined by LF, a NUL behind them */
  gsize       length;  /* of @data */
} OwSseEvent;

/* What @event points to is valid during the call. FALSE stops the feeding for good: what
 * follows is dropped. */
typedef gboolean (*OwSseFunc) (const OwSseEvent *event, gpointer user_data);

/* @max_bytes: of a line, and of the data of one event. */
OwSse   *ow_sse_new  (gsize max_bytes);
void     ow_sse_free (OwSse *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwSse, ow_sse_free)

/* FALSE for good once something was over the cap (OW_ERROR_DATA). Not to be called from @func. */
gboolean ow_sse_feed (OwSse *self, const char *data, gsize length, OwSseFunc func,
                      gpointer user_data, GError **error);
