/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-output-private.h"
#include "ow-runner-utf8-private.h"

#define TEXT_MAX 4096u

static OwRunnerOutput *
new_output (void)
{
  OwRunnerOutput *output = ow_runner_output_new (true, TEXT_MAX, OW_RUNNER_OUTPUT_WAITING_MAX);

  g_assert_nonnull (output);
  return output;
}

/* Everything that waits, by stream; checks each message on the way. */
static void
take_all (OwRunnerOutput *output,
          bool            last,
          GString        *streams[2])
{
  OwRunnerMessage message;

  while (ow_runner_output_take (output, last, &message))
    {
      g_assert_cmpuint (message.length, >, 0);
      g_assert_cmpuint (message.length, <=, OW_RUNNER_OUTPUT_MESSAGE_MAX);
      g_assert_cmpint (message.is_text, ==,
                       g_utf8_validate_len (message.data, message.length, NULL));
      g_string_append_len (streams[message.stream], message.data, (gssize) message.length);
    }
}

static const struct {
  const char *name;
  const char *bytes;
  gsize       length;
  const char *clean;
} samples[] = {
  { "ascii", "abc\n", 4, "abc\n" },
  { "mixed", "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z", 11, "aä€😀z" },
  { "nul", "a\0b", 3, "a\xef\xbf\xbd" "b" },
  { "stray", "\x80\xbf", 2, "\xef\xbf\xbd\xef\xbf\xbd" },
  { "overlong", "\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd" },
  { "surrogate", "\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
  { "too-high", "\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
  { "cut", "x\xf0\x9f\x98", 4, "x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
  { "cut-then-good", "\xe2\x82\xc3\xa4", 4, "\xef\xbf\xbd\xef\xbf\xbd" "ä" },
};

/* Each sample cut at each byte, the second part later: nothing is lost or changed, and
 * what is text as a whole is text in each message. */
static void
test_split (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (samples); i++)
    {
      bool whole_is_text = g_utf8_validate_len (samples[i].bytes, samples[i].length, NULL);

      for (gsize cut = 0; cut <= samples[i].length; cut++)
        {
          OwRunnerOutput *output = new_output ();
          GString *seen = g_string_new (NULL);
          OwRunnerMessage message;
          char *text;
          size_t length;

          ow_runner_output_add (output, OW_RUNNER_STDOUT, samples[i].bytes, cut);
          while (ow_runner_output_take (output, false, &message))
            {
              g_assert_true (!whole_is_text || message.is_text);
              g_string_append_len (seen, message.data, (gssize) message.length);
            }
          g_assert_false (ow_runner_output_has_waiting (output));
          ow_runner_output_add (output, OW_RUNNER_STDOUT, samples[i].bytes + cut,
                                samples[i].length - cut);
          while (ow_runner_output_take (output, true, &message))
            {
              g_assert_true (!whole_is_text || message.is_text);
              g_string_append_len (seen, message.data, (gssize) message.length);
            }
          g_assert_cmpmem (seen->str, seen->len, samples[i].bytes, samples[i].length);
          text = ow_runner_output_text (output, &length);
          g_assert_cmpstr (text, ==, samples[i].clean);
          g_assert_cmpuint (length, ==, strlen (samples[i].clean));
          free (text);
          g_string_free (seen, TRUE);
          ow_runner_output_free (output);
        }
    }
}

/* A character of one stream stays whole when the other one speaks in between. */
static void
test_streams (void)
{
  OwRunnerOutput *output = new_output ();
  GString *streams[2] = { g_string_new (NULL), g_string_new (NULL) };
  OwRunnerMessage message;

  ow_runner_output_add (output, OW_RUNNER_STDOUT, "\xe2\x82", 2);
  g_assert_false (ow_runner_output_take (output, false, &message));
  ow_runner_output_add (output, OW_RUNNER_STDERR, "e", 1);
  ow_runner_output_add (output, OW_RUNNER_STDOUT, "\xac", 1);
  g_assert_true (ow_runner_output_take (output, false, &message));
  g_assert_cmpint (message.stream, ==, OW_RUNNER_STDERR);
  g_assert_true (ow_runner_output_take (output, false, &message));
  g_assert_cmpmem (message.data, message.length, "€", 3);
  g_assert_true (message.is_text);

  for (int i = 0; i < 1000; i++)
    {
      ow_runner_output_add (output, OW_RUNNER_STDOUT, "o", 1);
      ow_runner_output_add (output, OW_RUNNER_STDERR, "e", 1);
    }
  take_all (output, true, streams);
  g_assert_cmpuint (streams[0]->len, ==, 1000);
  g_assert_cmpuint (streams[1]->len, ==, 1000);
  g_string_free (streams[0], TRUE);
  g_string_free (streams[1], TRUE);
  ow_runner_output_free (output);
}

/* Streams that take turns do not take many messages. */
static void
test_turns_need_few_messages (void)
{
  OwRunnerOutput *output = new_output ();
  OwRunnerMessage message;
  int n = 0;

  for (int i = 0; i < 20000; i++)
    ow_runner_output_add (output, i % 2 == 0 ? OW_RUNNER_STDOUT : OW_RUNNER_STDERR, "x", 1);
  while (ow_runner_output_take (output, true, &message))
    n++;
  g_assert_cmpint (n, <=, 10);
  ow_runner_output_free (output);
}

/* Nobody takes: the oldest and the newest stay, the middle is counted, byte by byte. */
static void
test_dropped (gconstpointer data)
{
  gsize piece = GPOINTER_TO_SIZE (data);
  OwRunnerOutput *output = new_output ();
  GString *streams[2] = { g_string_new (NULL), g_string_new (NULL) };
  GString *written = g_string_new (NULL);

  while (written->len < 1000000)
    {
      gsize before = written->len;

      while (written->len < before + piece)
        g_string_append_printf (written, "%07x\n", (guint) written->len);
      ow_runner_output_add (output, OW_RUNNER_STDOUT, written->str + before,
                            written->len - before);
    }
  take_all (output, true, streams);
  g_assert_cmpuint (ow_runner_output_get_bytes (output), ==, written->len);
  g_assert_cmpuint (streams[0]->len, <=, OW_RUNNER_OUTPUT_WAITING_MAX);
  g_assert_cmpuint (streams[0]->len, >, OW_RUNNER_OUTPUT_WAITING_MAX / 4);
  g_assert_cmpuint (ow_runner_output_get_dropped (output) + streams[0]->len, ==, written->len);
  g_assert_true (memcmp (streams[0]->str, written->str, 10000) == 0);
  g_assert_true (g_str_has_suffix (streams[0]->str, written->str + written->len - 10000));
  g_string_free (streams[0], TRUE);
  g_string_free (streams[1], TRUE);
  g_string_free (written, TRUE);
  ow_runner_output_free (output);
}

/* Whatever the length and the bytes: at most the maximum, valid, the ends kept, and what
 * is left out counted. */
static void
test_text_bounds (void)
{
  static const struct {
    const char *unit;
    gsize       unit_length;
  } kinds[] = { { "x", 1 }, { "€", 3 }, { "\xff", 1 }, { "a\xff", 2 }, { "\0", 1 } };

  for (gsize kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    {
      for (gsize n = 0; n < 3 * TEXT_MAX; n += 61)
        {
          OwRunnerOutput *output = new_output ();
          char *text;
          size_t length;
          guint64 cut;

          for (gsize i = 0; i < n; i++)
            ow_runner_output_add (output, OW_RUNNER_STDOUT, kinds[kind].unit,
                                  kinds[kind].unit_length);
          text = ow_runner_output_text (output, &length);
          cut = ow_runner_output_get_cut (output);
          g_assert_true (g_utf8_validate_len (text, length, NULL));
          g_assert_cmpuint (length, <=, TEXT_MAX + 64);
          if (cut == 0)
            {
              g_assert_null (strstr (text, "left out"));
            }
          else
            {
              g_autofree char *line = g_strdup_printf ("\n[%" G_GUINT64_FORMAT
                                                       " bytes left out here]\n", cut);

              g_assert_nonnull (strstr (text, line));
              g_assert_cmpuint (cut, <, n * kinds[kind].unit_length);
              /* What is neither cut nor the line: the clean form of the rest. */
              if (kind < 2)
                g_assert_cmpuint (length - strlen (line) + cut, ==, n * kinds[kind].unit_length);
            }
          free (text);
          ow_runner_output_free (output);
        }
    }
}

static void
test_base64 (void)
{
  guchar bytes[64];

  for (gsize i = 0; i < sizeof bytes; i++)
    bytes[i] = (guchar) (i * 37 + 200);
  for (gsize length = 0; length <= sizeof bytes; length++)
    {
      g_autofree char *expected = g_base64_encode (bytes, length);
      char *text = ow_runner_utf8_base64 ((const char *) bytes, length);

      g_assert_cmpstr (text, ==, expected);
      free (text);
    }
}

/* Against GLib's own reader, all of one to three bytes and many of four. */
static void
test_step (void)
{
  for (guint value = 0; value < 0x1000000; value += value < 0x10000 ? 1 : 97)
    {
      char bytes[4] = { (char) (value & 0xff), (char) ((value >> 8) & 0xff),
                        (char) (value >> 16), (char) 0xbf };
      gunichar c = g_utf8_get_char_validated (bytes, sizeof bytes);
      int step = ow_runner_utf8_step (bytes, sizeof bytes);

      if (bytes[0] == '\0')
        g_assert_cmpint (step, ==, 1);
      else if (c > 0x10ffff)
        g_assert_cmpint (step, ==, 0);
      else
        g_assert_cmpint (step, ==, g_unichar_to_utf8 (c, NULL));
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/output/split", test_split);
  g_test_add_func ("/output/streams", test_streams);
  g_test_add_func ("/output/turns", test_turns_need_few_messages);
  g_test_add_data_func ("/output/dropped/8", GSIZE_TO_POINTER (8), test_dropped);
  g_test_add_data_func ("/output/dropped/64k", GSIZE_TO_POINTER (65536), test_dropped);
  g_test_add_data_func ("/output/dropped/all", GSIZE_TO_POINTER (1000000), test_dropped);
  g_test_add_func ("/output/text-bounds", test_text_bounds);
  g_test_add_func ("/output/base64", test_base64);
  g_test_add_func ("/output/step", test_step);
  return g_test_run ();
}
