/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-random.h"

#include <errno.h>
#include <sys/random.h>

#include "base/ow-error.h"

char *
ow_random_hex (gsize    n_bytes,
               GError **error)
{
  g_autofree guint8 *bytes = g_malloc (n_bytes);
  char *text;

  for (gsize at = 0; at < n_bytes;)
    {
      ssize_t got = getrandom (bytes + at, n_bytes - at, 0);

      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        {
          ow_error_set (error, OW_ERROR_FAILED, "No random number can be had", g_strerror (errno),
                        NULL);
          return NULL;
        }
      at += (gsize) got;
    }

  text = g_malloc (2 * n_bytes + 1);
  text[0] = '\0';
  for (gsize i = 0; i < n_bytes; i++)
    g_snprintf (text + 2 * i, 3, "%02x", bytes[i]);
  return text;
}
