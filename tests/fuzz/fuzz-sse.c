/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-sse-private.h"

#define CAP 4096

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static gboolean
on_event (const OwSseEvent *event,
          gpointer          user_data)
{
  GString *seen = user_data;

  if (event->data[event->length] != '\0' || event->length > CAP)
    abort ();
  g_string_append_printf (seen, "[%s|%s|", event->event != NULL ? event->event : "",
                          event->id != NULL ? event->id : "");
  g_string_append_len (seen, event->data, (gssize) event->length);
  g_string_append_c (seen, ']');
  return event->length != 7;
}

/* What comes of @data in pieces of @step, of which each grows by @more. */
static GString *
parse (const uint8_t *data,
       size_t         size,
       size_t         step,
       size_t         more)
{
  g_autoptr (OwSse) sse = ow_sse_new (CAP);
  GString *seen = g_string_new (NULL);
  gboolean good = TRUE;
  size_t at = 0;

  while (at < size && good)
    {
      size_t piece = MIN (step, size - at);
      g_autofree char *copy = g_memdup2 (data + at, piece);
      g_autoptr (GError) error = NULL;

      good = ow_sse_feed (sse, copy, piece, on_event, seen, &error);
      if (good != (error == NULL))
        abort ();
      at += piece;
      step += more;
    }
  g_string_append_printf (seen, "%d", good);
  return seen;
}

/* The same events, and the same end, however the bytes are split. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  size_t step = size > 0 ? 1 + data[size - 1] % 13 : 1;
  GString *bytes = parse (data, size, 1, 0);
  GString *pieces = parse (data, size, step, 1);
  GString *whole = parse (data, size, MAX (size, 1), 0);

  if (!g_string_equal (bytes, pieces) || !g_string_equal (bytes, whole))
    abort ();
  g_string_free (bytes, TRUE);
  g_string_free (pieces, TRUE);
  g_string_free (whole, TRUE);
  return 0;
}
