/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "wire/ow-frame.h"

typedef struct {
  GString       *seen;      /* every line in <> */
  guint          lines;
  guint          stop_at;   /* 0: never */
  OwFrameReader *reader;    /* fed from inside when @extra is set */
  const char    *extra;
} Log;

static bool
log_line (const char *line,
          size_t      length,
          void       *user_data)
{
  Log *log = user_data;

  g_assert_cmpint (line[length], ==, '\0');
  g_string_append_c (log->seen, '<');
  g_string_append_len (log->seen, line, (gssize) length);
  g_string_append_c (log->seen, '>');
  log->lines++;
  if (log->extra != NULL)
    {
      const char *extra = g_steal_pointer (&log->extra);
      gsize bytes = strlen (extra);

      g_assert_true (ow_frame_reader_feed (log->reader, extra, bytes, log_line, log, NULL));
    }
  return log->lines != log->stop_at;
}

static char *
feed_in_two (const char *data,
             gsize       length,
             gsize       split,
             gsize       max_bytes,
             gboolean   *good)
{
  OwFrameReader *reader = ow_frame_reader_new (max_bytes);
  Log log = { .seen = g_string_new (NULL) };
  char error[OW_WIRE_ERROR_SIZE] = "";
  /* Exact heap copies: a sanitizer sees any step over a part's end. */
  g_autofree char *first = g_memdup2 (data, MAX (split, 1));
  g_autofree char *second = g_memdup2 (data + split, MAX (length - split, 1));

  *good = ow_frame_reader_feed (reader, first, split, log_line, &log, error);
  *good = ow_frame_reader_feed (reader, second, length - split, log_line, &log, error);
  if (!*good)
    g_assert_cmpuint (strlen (error), >, 10);
  ow_frame_reader_free (reader);
  return g_string_free (log.seen, FALSE);
}

static void
test_every_split (void)
{
  const char session[] = "\n\r\n{\"a\":1}\n{\"b\":\"\xc3\xa9\"}\r\n\r\r\n  \nbanner \x1b[1m\n{}\n\n\nlast";
  const char *expected = "<{\"a\":1}><{\"b\":\"\xc3\xa9\"}><\r><  ><banner \x1b[1m><{}>";

  for (gsize split = 0; split < sizeof session; split++)
    {
      gboolean good = FALSE;
      g_autofree char *seen = feed_in_two (session, sizeof session - 1, split, 100, &good);

      g_assert_true (good);
      g_assert_cmpstr (seen, ==, expected);
    }
}

static void
test_cap_edge (void)
{
  static const struct {
    const char *data;
    gboolean    good;
  } cases[] = {
    { "12345678\n", TRUE }, { "12345678\r\n", TRUE }, { "123456789\n", FALSE },
    { "123456789", FALSE }, { "12345678\r", TRUE }, { "12345678\r\r\n", FALSE },
    { "12345678\rx", FALSE }, { "123456789\r\n", FALSE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      gsize length = strlen (cases[i].data);
      gboolean whole = cases[i].good && cases[i].data[length - 1] == '\n';

      for (gsize split = 0; split <= length; split++)
        {
          gboolean good = FALSE;
          g_autofree char *seen = feed_in_two (cases[i].data, length, split, 8, &good);

          g_assert_cmpint (good, ==, cases[i].good);
          g_assert_cmpstr (seen, ==, whole ? "<12345678>" : "");
        }
    }
}

static long
peak_kib (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

static void
test_long_line (void)
{
  OwFrameReader *reader = ow_frame_reader_new (OW_FRAME_MAX_BYTES);
  Log log = { .seen = g_string_new (NULL) };
  char error[OW_WIRE_ERROR_SIZE] = "";
  static char chunk[65536];
  long before = peak_kib ();
  gboolean good = TRUE;

  memset (chunk, 'x', sizeof chunk);
  for (guint i = 0; i < 1024; i++)
    {
      good = ow_frame_reader_feed (reader, chunk, sizeof chunk, log_line, &log, error);
      g_assert_cmpuint (ow_frame_reader_pending (reader), <=, OW_FRAME_MAX_BYTES + 1);
    }
  g_assert_false (good);
  g_assert_cmpuint (ow_frame_reader_pending (reader), ==, 0);
  /* The cap, and the old half while it is doubled. */
  g_assert_cmpint (peak_kib () - before, <, 24 * 1024);

  /* What follows is never read as a frame. */
  g_assert_false (ow_frame_reader_feed (reader, "\n{}\n", 4, log_line, &log, error));
  g_assert_cmpuint (log.lines, ==, 0);
  g_assert_nonnull (strstr (error, "longer"));
  ow_frame_reader_free (reader);
  g_string_free (log.seen, TRUE);
}

static void
test_stop (void)
{
  OwFrameReader *reader = ow_frame_reader_new (100);
  Log log = { .seen = g_string_new (NULL), .stop_at = 2 };

  g_assert_true (ow_frame_reader_feed (reader, "1\n2\n3\n4", 7, log_line, &log, NULL));
  g_assert_true (ow_frame_reader_feed (reader, "5\n", 2, log_line, &log, NULL));
  g_assert_cmpstr (log.seen->str, ==, "<1><2>");
  ow_frame_reader_free (reader);
  g_string_free (log.seen, TRUE);
}

static void
test_feed_inside (void)
{
  OwFrameReader *reader = ow_frame_reader_new (100);
  Log log = { .seen = g_string_new (NULL), .reader = reader, .extra = "late\nhalf" };

  g_assert_true (ow_frame_reader_feed (reader, "1\n2\n", 4, log_line, &log, NULL));
  g_assert_true (ow_frame_reader_feed (reader, "way\n", 4, log_line, &log, NULL));
  g_assert_cmpstr (log.seen->str, ==, "<1><2><late><halfway>");
  ow_frame_reader_free (reader);
  g_string_free (log.seen, TRUE);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/frame/P02/every-split", test_every_split);
  g_test_add_func ("/frame/P02/cap-edge", test_cap_edge);
  g_test_add_func ("/frame/P02/long-line", test_long_line);
  g_test_add_func ("/frame/stop", test_stop);
  g_test_add_func ("/frame/feed-inside", test_feed_inside);
  return g_test_run ();
}
