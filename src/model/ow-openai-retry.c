/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openai-retry-private.h"

#include <stdio.h>
#include <string.h>

#define MAX_WAIT_MS 30000
#define MAX_DOUBLINGS 16

static gint64
read_date (const char *header)
{
  static const char * const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
  g_autoptr (GDateTime) date = NULL;
  char word[4] = "";
  int  day, year, hour, minute, second;
  int  month = 0;
  int  end = 0;

  /* Sun, 06 Nov 1994 08:49:37 GMT */
  if (sscanf (header, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &day, word, &year,
              &hour, &minute, &second, &end) != 6 || end == 0 || header[end] != '\0')
    return -1;
  for (int i = 0; i < (int) G_N_ELEMENTS (months); i++)
    {
      if (g_str_equal (word, months[i]))
        month = i + 1;
    }
  if (month == 0)
    return -1;
  date = g_date_time_new_utc (year, month, day, hour, minute, MIN (second, 59));
  return date != NULL ? g_date_time_to_unix (date) : -1;
}

gint64
ow_openai_retry_read_after (const char *header,
                            gint64      now_s)
{
  gsize  digits;
  gint64 at;

  if (header == NULL)
    return -1;
  digits = strspn (header, "0123456789");
  if (digits > 0 && header[digits] == '\0')
    {
      /* So many digits are longer than the cap, whatever they say. */
      gint64 seconds = digits > 9 ? G_MAXINT32 : g_ascii_strtoll (header, NULL, 10);

      return MIN (seconds * 1000, OW_OPENAI_RETRY_MAX_AFTER_MS);
    }
  at = read_date (header);
  if (at < 0)
    return -1;
  return CLAMP (at - now_s, 0, OW_OPENAI_RETRY_MAX_AFTER_MS / 1000) * 1000;
}

guint
ow_openai_retry_wait_ms (guint  n,
                         gint64 after_ms,
                         guint  base_ms,
                         double draw)
{
  guint64 longest = (guint64) base_ms << MIN (n - 1, MAX_DOUBLINGS);

  if (after_ms >= 0)
    return (guint) after_ms + (guint) (draw * base_ms);
  longest = MIN (longest, MAX_WAIT_MS);
  return (guint) (longest / 2 + draw * (double) longest / 2);
}

gboolean
ow_openai_retry_is_worth (guint status)
{
  return status == 429 || status == 500 || status == 502 || status == 503 || status == 504 ||
         status == 529;
}
