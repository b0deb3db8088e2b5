/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-error.h"
#include "ow-sse-private.h"

#define CAP (64u * 1024u)

/* An event as one line: TYPE/ID/DATA, with \n for a line end in it and \0 for a NUL. */
static gboolean
on_event (const OwSseEvent *event,
          gpointer          user_data)
{
  GString *seen = user_data;

  g_assert_cmpint (event->data[event->length], ==, '\0');
  g_string_append_printf (seen, "%s/%s/", event->event != NULL ? event->event : "",
                          event->id != NULL ? event->id : "");
  for (gsize i = 0; i < event->length; i++)
    {
      if (event->data[i] == '\n')
        g_string_append (seen, "\\n");
      else if (event->data[i] == '\0')
        g_string_append (seen, "\\0");
      else
        g_string_append_c (seen, event->data[i]);
    }
  g_string_append_c (seen, '\n');
  return strstr (event->data, "STOP") == NULL;
}

/* What comes of @text when it is fed in pieces of @size, the first of @first bytes. */
static char *
parse (const char *text,
       gsize       length,
       gsize       first,
       gsize       size)
{
  g_autoptr (OwSse) sse = ow_sse_new (CAP);
  g_autoptr (GError) error = NULL;
  GString *seen = g_string_new (NULL);
  gsize    at = 0;

  while (at < length)
    {
      gsize piece = MIN (at == 0 ? first : size, length - at);
      /* A copy of its own: a read past the end is then found. */
      g_autofree char *copy = g_memdup2 (text + at, piece);

      g_assert_true (ow_sse_feed (sse, copy, piece, on_event, seen, &error));
      g_assert_no_error (error);
      at += piece;
    }
  return g_string_free (seen, FALSE);
}

/* The same events however the bytes are split. */
static void
check_all_splits (const char *text,
                  gsize       length,
                  const char *expected)
{
  g_autofree char *bytes = parse (text, length, 1, 1);

  g_assert_cmpstr (bytes, ==, expected);
  for (gsize first = 1; first <= length; first++)
    {
      g_autofree char *seen = parse (text, length, first, length);

      g_assert_cmpstr (seen, ==, expected);
    }
}

typedef struct {
  const char *text;
  const char *events;
} Case;

static const Case cases[] = {
  { "", "" },
  { "\n\n\n", "" },
  { "data: a\n\n", "//a\n" },
  { "data:a\n\n", "//a\n" },
  { "data:  a\n\n", "// a\n" },
  { "data: a \n\n", "//a \n" },
  { "data\n\n", "//\n" },
  { "data:\n\n", "//\n" },
  { "data:\ndata:\n\n", "//\\n\n" },
  { "data: a\ndata: b\ndata\n\n", "//a\\nb\\n\n" },
  { "data: a\n\n\n\ndata: b\n\n", "//a\n//b\n" },
  { "data: a:b: c\n\n", "//a:b: c\n" },
  { ": hello\ndata: a\n: more\n\n:\n\n", "//a\n" },
  { ":\n:\n:\n\n", "" },
  { "event: ping\ndata: a\n\ndata: b\n\n", "ping//a\n//b\n" },
  { "event: ping\n\ndata: b\n\n", "//b\n" },
  { "event: a\nevent: b\ndata: x\n\n", "b//x\n" },
  { "event:\ndata: x\n\n", "//x\n" },
  { "id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "/7/a\n/7/b\n//c\n" },
  { "id: 7\n\ndata: b\n\n", "/7/b\n" },
  { "DATA: a\n data: b\ndata : c\nx: y\nz\n\n", "" },
  { "retry: 10\ndata: a\n\n", "//a\n" },
  { "data: \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n\n", "//\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n" },
  { "data: \xff\xfe\n\n", "//\xff\xfe\n" },
  { "data: STOP\n\ndata: b\n\n", "//STOP\n" },
};

static char *
with_line_ends (const char *text,
                const char *end)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  return g_strjoinv (end, lines);
}

static void
test_events (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_test_message ("case %u", (guint) i);
      check_all_splits (cases[i].text, strlen (cases[i].text), cases[i].events);
    }
}

static void
test_line_ends (void)
{
  static const char * const ends[] = { "\r", "\r\n" };

  for (gsize i = 0; i < G_N_ELEMENTS (cases) * G_N_ELEMENTS (ends); i++)
    {
      const Case *one = &cases[i / G_N_ELEMENTS (ends)];
      g_autofree char *text = with_line_ends (one->text, ends[i % G_N_ELEMENTS (ends)]);

      g_test_message ("case %u, line ends %u", (guint) (i / 2), (guint) (i % 2));
      check_all_splits (text, strlen (text), one->events);
    }
}

/* Each line end of its own kind; a LF after a CR is one line end, after a LF another. */
static void
test_mixed_line_ends (void)
{
  static const Case mixed[] = {
    { "data: a\r\ndata: b\rdata: c\n\r", "//a\\nb\\nc\n" },
    { "data: a\r\n\ndata: b\n\r\n", "//a\n//b\n" },
    { "data: a\r\rdata: b\r\n\r", "//a\n//b\n" },
    { "data: a\n\rdata: b\r\r\n", "//a\n//b\n" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (mixed); i++)
    check_all_splits (mixed[i].text, strlen (mixed[i].text), mixed[i].events);
}

static void
test_mark (void)
{
  static const Case marked[] = {
    { "\xef\xbb\xbf" "data: a\n\n", "//a\n" },
    { "\xef\xbb\xbf\n\ndata: a\n\n", "//a\n" },
    /* A second one, a part of one and one further on are no mark, but bytes of a line. */
    { "\xef\xbb\xbf\xef\xbb\xbf" "data: a\n\ndata: b\n\n", "//b\n" },
    { "\xef\xbb" "data: a\n\ndata: b\n\n", "//b\n" },
    { "\xef" "data: a\n\ndata: b\n\n", "//b\n" },
    { "data: a\n\n\xef\xbb\xbf" "data: b\n\n", "//a\n" },
    { "data: \xef\xbb\xbf\n\n", "//\xef\xbb\xbf\n" },
    { "\xef\xbb\xbf", "" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (marked); i++)
    check_all_splits (marked[i].text, strlen (marked[i].text), marked[i].events);
}

static void
test_nul (void)
{
  static const char text[] = "data: a\0b\nid: x\0y\nevent: p\0q\n\n\0\ndata: c\n\n";

  check_all_splits (text, sizeof text - 1, "p//a\\0b\n//c\n");
}

/* A stream that ends anywhere gives the events that were ended, and nothing of the rest. */
static void
test_cut (void)
{
  static const char text[] = "event: x\r\ndata: one\r\ndata: two\r\n\r\ndata: three\r\n\r\n";
  gsize first = strlen ("event: x\r\ndata: one\r\ndata: two\r\n\r");
  gsize second = strlen (text) - 1;

  for (gsize length = 0; length <= strlen (text); length++)
    {
      g_autofree char *seen = length > 0 ? parse (text, length, length, 1) : g_strdup ("");

      g_assert_cmpstr (seen, ==, length < first ? ""
                                   : length < second ? "x//one\\ntwo\n"
                                                     : "x//one\\ntwo\n//three\n");
    }
}

/* Over the cap: one line, one event of many lines, a comment; in one piece and in many. */
static void
test_cap (void)
{
  static const struct { const char *start; const char *unit; } floods[] = {
    { "data: ", "a" }, { ": ", "a" }, { "", "a" }, { "", "data: abcdefg\n" },
    { "data: x\n", "data:\n" }, { "event: ", "\xf0\x9f\x98\x80" },
  };
  static const gsize sizes[] = { 1, 7, 4096, G_MAXSIZE };

  for (gsize i = 0; i < G_N_ELEMENTS (floods) * G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr (OwSse) sse = ow_sse_new (CAP);
      g_autoptr (GString) text = g_string_new (floods[i / 4].start);
      g_autoptr (GString) seen = g_string_new (NULL);
      g_autoptr (GError) error = NULL;
      gboolean good = TRUE;
      gsize    fed = 0;

      while (text->len < 8 * CAP)
        g_string_append (text, floods[i / 4].unit);
      for (gsize at = 0; at < text->len && good; at += MIN (sizes[i % 4], text->len - at))
        {
          gsize size = MIN (sizes[i % 4], text->len - at);

          good = ow_sse_feed (sse, text->str + at, size, on_event, seen, &error);
          fed = at + size;
        }
      g_assert_false (good);
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_assert_nonnull (strstr (error->message, "65536"));
      if (sizes[i % 4] < CAP)
        g_assert_cmpuint (fed, <, text->len);
      g_clear_error (&error);
      /* For good: what follows cannot be trusted to begin where an event begins. */
      g_assert_false (ow_sse_feed (sse, "\n\ndata: x\n\n", 11, on_event, seen, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_assert_cmpstr (seen->str, ==, "");
    }
}

/* The cap is one of an event, not of all of them, and just under it is well. */
static void
test_under_cap (void)
{
  g_autoptr (OwSse) sse = ow_sse_new (CAP);
  g_autofree char *value = g_strnfill (CAP - 64, 'a');
  g_autofree char *text = g_strconcat ("data: ", value, "\n\n", NULL);
  g_autoptr (GString) seen = g_string_new (NULL);

  for (guint i = 0; i < 20; i++)
    g_assert_true (ow_sse_feed (sse, text, strlen (text), on_event, seen, NULL));
  g_assert_cmpuint (seen->len, ==, 20 * (CAP - 64 + 3));
}

/* Random bytes of the characters that matter: the same events however they are split. */
static void
test_random (void)
{
  static const char alphabet[] = "\r\n\r\n\n:: data:id\xef\xbb\xbf";
  g_autoptr (GRand) random = g_rand_new_with_seed ((guint32) g_test_rand_int ());

  for (guint i = 0; i < 2000; i++)
    {
      char  text[48];
      gsize length = (gsize) g_rand_int_range (random, 1, sizeof text);
      g_autofree char *whole = NULL;

      for (gsize j = 0; j < length; j++)
        {
          if (j + 6 < length && g_rand_int_range (random, 0, 5) == 0)
            j += (gsize) (g_stpcpy (text + j, "data:") - (text + j)) - 1;
          else
            text[j] = alphabet[g_rand_int_range (random, 0, sizeof alphabet - 1)];
        }
      whole = parse (text, length, length, length);
      check_all_splits (text, length, whole);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sse/events", test_events);
  g_test_add_func ("/sse/P08/line-ends", test_line_ends);
  g_test_add_func ("/sse/P08/mixed-line-ends", test_mixed_line_ends);
  g_test_add_func ("/sse/P08/mark", test_mark);
  g_test_add_func ("/sse/P08/nul", test_nul);
  g_test_add_func ("/sse/P08/cut", test_cut);
  g_test_add_func ("/sse/P08/cap", test_cap);
  g_test_add_func ("/sse/under-cap", test_under_cap);
  g_test_add_func ("/sse/random", test_random);
  return g_test_run ();
}
