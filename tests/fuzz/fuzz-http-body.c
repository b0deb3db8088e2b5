/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-http-body-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* NULL, or what is wrong; @content gets what came before. */
static const char *
read_body (const char *length,
           const char *data,
           gsize       size,
           gsize       step,
           GString    *content)
{
  OwHttpBody body;
  const char *wrong = ow_http_body_start (&body, 200, length != NULL ? NULL : "chunked", length);

  for (gsize at = 0; at < size && wrong == NULL && !body.done; at += step)
    {
      const char *rest = data + at;
      gsize left = MIN (step, size - at);

      while (left > 0 && wrong == NULL && !body.done)
        {
          const char *piece;
          gsize piece_length;

          wrong = ow_http_body_take (&body, &rest, &left, &piece, &piece_length);
          if (wrong == NULL)
            g_string_append_len (content, piece, (gssize) piece_length);
        }
    }
  return wrong != NULL ? wrong : ow_http_body_end (&body);
}

/* The first line is a length, where there is one; the rest is the body. However it is cut into
 * pieces, the same comes out. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  const char *end = memchr (data, '\n', size);
  gsize first = end != NULL ? (gsize) (end - (const char *) data) : 0;
  g_autofree char *length = first > 0 ? g_strndup (text, first) : NULL;
  const char *bytes = (const char *) data + MIN (first + 1, size);
  gsize left = size - MIN (first + 1, size);
  g_autoptr (GString) whole = g_string_new (NULL);
  const char *wrong = read_body (length, bytes, left, MAX (left, 1), whole);

  if (whole->len > left)
    abort ();
  for (gsize step = 1; step <= 3; step++)
    {
      g_autoptr (GString) parts = g_string_new (NULL);
      const char *other = read_body (length, bytes, left, step, parts);

      if (g_strcmp0 (wrong, other) != 0 || !g_string_equal (whole, parts))
        abort ();
    }
  return 0;
}
