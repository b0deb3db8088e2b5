/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* How long to wait before asking again. Pure. */

/* The longest that a server may make us wait at a time. */
#define OW_OPENAI_RETRY_MAX_AFTER_MS 60000

/* What a Retry-After header of seconds or of a date says, as ms from @now_s (seconds since 1970),
 * at most the above; -1 for none and for what is neither. @header is nullable. */
gint64 ow_openai_retry_read_after (const char *header, gint64 now_s);

/* Before try @n + 1 (@n from 1): what the server said (@after_ms, -1: nothing), never less and
 * less than @base_ms more; else from half of it to all of what doubles each time from @base_ms on,
 * up to 30 s. @draw (0 to 1) spreads those who were sent away together. */
guint  ow_openai_retry_wait_ms    (guint n, gint64 after_ms, guint base_ms, double draw);

/* An answer with @status may be another one a little later. */
gboolean ow_openai_retry_is_worth (guint status);
