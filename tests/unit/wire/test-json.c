/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "wire/ow-json.h"

typedef struct {
  const char *name;
  const char *text;
  gssize      length;  /* 0: up to the terminator */
} Hostile;

#define BYTES(text) text, sizeof (text) - 1

static const Hostile hostile[] = {
  { "empty", "", 0 },
  { "space", " \t\r\n ", 0 },
  { "second-value", "{} {}", 0 },
  { "second-scalar", "1 2", 0 },
  { "trailing-comma", "{},", 0 },
  { "trailing-word", "{}x", 0 },
  { "trailing-nul", BYTES ("{}\0") },
  { "leading-nul", BYTES ("\0{}") },
  { "nul-in-string", BYTES ("\"a\0b\"") },
  { "nul-after-backslash", BYTES ("\"a\\\0\"") },
  { "nul-in-key", BYTES ("{\"a\0b\":1}") },
  { "escaped-nul", "\"x\\u0000y\"", 0 },
  { "escaped-nul-in-key", "{\"a\\u0000\":1}", 0 },
  { "duplicate-key", "{\"a\":1,\"a\":2}", 0 },
  { "duplicate-key-escaped", "{\"a\":1,\"\\u0061\":2}", 0 },
  { "duplicate-key-inside", "{\"o\":[{\"a\":1,\"b\":2,\"a\":1}]}", 0 },
  { "over-int64", "9223372036854775808", 0 },
  { "under-int64", "-9223372036854775809", 0 },
  { "twenty-nines", "{\"id\":99999999999999999999}", 0 },
  { "double-overflow", "1e400", 0 },
  { "double-underflow-sign", "-1e400", 0 },
  { "digits-overflow", "1e99999999999999999999", 0 },
  { "leading-zero", "01", 0 },
  { "plus", "+1", 0 },
  { "bare-dot", "1.", 0 },
  { "dot-first", ".5", 0 },
  { "hex", "0x10", 0 },
  { "nan", "NaN", 0 },
  { "infinity", "-Infinity", 0 },
  { "bom", "\xef\xbb\xbf{}", 0 },
  { "utf8-lone-continuation", "\"\x80\"", 0 },
  { "utf8-cut", "\"\xe2\x82\"", 0 },
  { "utf8-overlong", "\"\xc0\xaf\"", 0 },
  { "utf8-overlong-nul", "\"\xc0\x80\"", 0 },
  { "utf8-surrogate", "\"\xed\xa0\x80\"", 0 },
  { "utf8-over-the-end", "\"\xf4\x90\x80\x80\"", 0 },
  { "utf8-outside-string", "\xff", 0 },
  { "latin1", "{\"a\":\"caf\xe9\"}", 0 },
  { "lone-high-surrogate", "\"\\ud800\"", 0 },
  { "lone-low-surrogate", "\"\\udc00\"", 0 },
  { "swapped-surrogates", "\"\\udc00\\ud800\"", 0 },
  { "high-then-letter", "\"\\ud800x\"", 0 },
  { "short-escape", "\"\\u12\"", 0 },
  { "unknown-escape", "\"\\x41\"", 0 },
  { "raw-newline", "\"a\nb\"", 0 },
  { "raw-escape-byte", "\"\x1b[2J\"", 0 },
  { "open-string", "\"abc", 0 },
  { "open-object", "{\"a\":1", 0 },
  { "open-array", "[1,2", 0 },
  { "crossed", "[}", 0 },
  { "only-close", "]", 0 },
  { "number-key", "{1:2}", 0 },
  { "single-quotes", "{'a':1}", 0 },
  { "comment", "{}//x", 0 },
  { "python", "True", 0 },
  { "comma-only", "[,]", 0 },
  { "quote-hides-nothing", "\"\\\"", 0 },
};

static void
test_refuses (gconstpointer data)
{
  const Hostile *frame = data;
  gsize length = frame->length > 0 ? (gsize) frame->length : strlen (frame->text);
  /* An exact heap copy lets a sanitizer see a read behind the end. */
  g_autofree char *copy = g_memdup2 (frame->text, MAX (length, 1));
  char error[OW_WIRE_ERROR_SIZE] = "";

  g_assert_null (ow_json_parse (copy, length, error));
  g_assert_cmpuint (strlen (error), >, 10);
  for (const char *p = error; *p != '\0'; p++)
    g_assert_true (g_ascii_isprint (*p));
}

static void
test_accepts (void)
{
  static const char *const good[] = {
    "{}", "[]", "1", "-1", "0", "true", "null", "\"\"", " {\"a\" : [1, 2.5e3]} ",
    "9223372036854775807", "-9223372036854775808", "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"",
    "\"\\u001b\"", "1e-400", "\"[[[[{{{{\"", "{\"\":1}", "\"\\\\\"", "{\"a\":1,\"A\":2}",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    {
      char error[OW_WIRE_ERROR_SIZE] = "";
      json_t *value = ow_json_parse (good[i], strlen (good[i]), error);

      if (value == NULL)
        g_error ("%s: %s", good[i], error);
      json_decref (value);
    }
}

static char *
nested (gsize       depth,
        const char *open,
        const char *close)
{
  GString *text = g_string_new (NULL);

  for (gsize i = 0; i < depth; i++)
    g_string_append (text, open);
  g_string_append_c (text, '1');
  for (gsize i = 0; close != NULL && i < depth; i++)
    g_string_append (text, close);
  return g_string_free (text, FALSE);
}

static gboolean
parses (const char *text)
{
  char error[OW_WIRE_ERROR_SIZE];
  json_t *value = ow_json_parse (text, strlen (text), error);
  gboolean good = value != NULL;

  json_decref (value);
  return good;
}

static void
test_depth_edge (void)
{
  g_autofree char *most = nested (OW_JSON_MAX_DEPTH, "[", "]");
  g_autofree char *over = nested (OW_JSON_MAX_DEPTH + 1, "[", "]");
  g_autofree char *mixed = nested (OW_JSON_MAX_DEPTH / 2 + 1, "[{\"a\":", "}]");
  g_autofree char *wide = nested (1, "[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
                                  "[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
                                  "[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
                                  "[],[],[],[],[],[],[],[],[],[],", "]");

  g_assert_true (parses (most));
  g_assert_false (parses (over));
  g_assert_false (parses (mixed));
  g_assert_true (parses (wide));
}

static void *
parse_bombs (void *user_data)
{
  static const char *const opens[] = { "[", "{\"a\":", "[{\"a\":", "[0," };
  gboolean *refused = user_data;

  *refused = TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (opens); i++)
    {
      g_autofree char *open_ended = nested (1000000, opens[i], NULL);
      g_autofree char *bomb = nested (1000000, opens[i], "]");

      *refused = *refused && !parses (open_ended) && !parses (bomb);
    }
  return NULL;
}

/* A stack that one recursion a level at depth 10^6 could not live on. */
static void
test_depth_bomb (void)
{
  pthread_attr_t attributes;
  pthread_t thread;
  gboolean refused = FALSE;

  pthread_attr_init (&attributes);
  g_assert_cmpint (pthread_attr_setstacksize (&attributes, 256 * 1024), ==, 0);
  g_assert_cmpint (pthread_create (&thread, &attributes, parse_bombs, &refused), ==, 0);
  pthread_join (thread, NULL);
  pthread_attr_destroy (&attributes);
  g_assert_true (refused);
}

static void
test_value_bomb (void)
{
  static const char *const parts[] = { "{},", "[],", "1,", "\"\"," };

  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      GString *text = g_string_new ("[");

      for (gsize n = 0; n < OW_JSON_MAX_VALUES; n++)
        g_string_append (text, parts[i]);
      g_string_append (text, "0]");
      g_assert_false (parses (text->str));
      g_string_free (text, TRUE);
    }
}

static void
test_round_trip (void)
{
  const char *text = "{\"b\":\"\\u001b\\n\",\"a\":[1,2.5,null,true,\"\xc3\xa9\"]}";
  json_t *value = ow_json_parse (text, strlen (text), NULL);
  json_t *bad = json_object ();
  gsize length = 0;
  char *plain = ow_json_dump (value, &length);
  char *sorted = ow_json_dump_canonical (value, NULL);

  g_assert_cmpstr (plain, ==, "{\"b\":\"\\u001B\\n\",\"a\":[1,2.5,null,true,\"\xc3\xa9\"]}");
  g_assert_cmpuint (length, ==, strlen (plain));
  g_assert_cmpstr (sorted, ==, "{\"a\":[1,2.5,null,true,\"\xc3\xa9\"],\"b\":\"\\u001B\\n\"}");
  json_object_set_new (bad, "x", json_string_nocheck ("\xff"));
  g_assert_null (ow_json_dump (bad, &length));
  g_assert_cmpuint (length, ==, 0);
  g_assert_null (ow_json_dump (NULL, NULL));
  free (plain);
  free (sorted);
  json_decref (bad);
  json_decref (value);
}

/* A text that is written piece by piece is the one that a value of it would become. */
static void
test_string (void)
{
  char all[0x7f + 16];
  gsize n = 0;

  for (char byte = 1; byte < 0x7f; byte++)
    all[n++] = byte;
  memcpy (all + n, "\x7f\u00e9\u2028\U0001F600", 1 + 2 + 3 + 4);
  n += 10;
  for (gsize from = 0; from < 0x7f; from++)
    {
      json_t *value = json_stringn (all + from, n - from);
      g_autofree char *whole = ow_json_dump (value, NULL);
      gsize size = ow_json_string_size (all + from, n - from);
      g_autofree char *written = g_malloc (size + 1);

      g_assert_cmpuint (ow_json_write_string (written, all + from, n - from), ==, size);
      written[size] = '\0';
      /* jansson writes capitals in its escapes and no short form more than this does. */
      g_assert_cmpint (g_ascii_strcasecmp (written, whole), ==, 0);
      json_decref (value);
    }
  g_assert_cmpuint (ow_json_string_size ("", 0), ==, 2);
}

static void
test_getters (void)
{
  const char *text = "{\"s\":\"x\",\"i\":7,\"t\":true,\"f\":false,\"n\":null,\"r\":1.5}";
  json_t *value = ow_json_parse (text, strlen (text), NULL);

  g_assert_cmpstr (ow_json_get_string (value, "s", "d"), ==, "x");
  g_assert_cmpstr (ow_json_get_string (value, "i", "d"), ==, "d");
  g_assert_null (ow_json_get_string (value, "gone", NULL));
  g_assert_cmpint (ow_json_get_int (value, "i", 1), ==, 7);
  g_assert_cmpint (ow_json_get_int (value, "r", 1), ==, 1);
  g_assert_cmpint (ow_json_get_int (value, "s", -1), ==, -1);
  g_assert_cmpint (ow_json_get_bool (value, "t", 0), ==, 1);
  g_assert_cmpint (ow_json_get_bool (value, "f", 1), ==, 0);
  g_assert_cmpint (ow_json_get_bool (value, "n", 1), ==, 1);
  g_assert_cmpstr (ow_json_get_string (NULL, "s", "d"), ==, "d");
  json_decref (value);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (hostile); i++)
    {
      g_autofree char *path = g_strdup_printf ("/json/P01/refuses/%s", hostile[i].name);

      g_test_add_data_func (path, &hostile[i], test_refuses);
    }
  g_test_add_func ("/json/P01/accepts", test_accepts);
  g_test_add_func ("/json/P01/depth-edge", test_depth_edge);
  g_test_add_func ("/json/P01/depth-bomb", test_depth_bomb);
  g_test_add_func ("/json/P01/value-bomb", test_value_bomb);
  g_test_add_func ("/json/round-trip", test_round_trip);
  g_test_add_func ("/json/string", test_string);
  g_test_add_func ("/json/getters", test_getters);
  return g_test_run ();
}
