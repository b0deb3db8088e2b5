/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-secret.h"
#include "model/ow-model.h"
#include "ow-openai-key-private.h"
#include "ow-openai-retry-private.h"

#define KEY "sk-test-0123456789abcdef"

static void
test_waits (void)
{
  static const struct { const char *header; gint64 ms; } headers[] = {
    { NULL, -1 }, { "", -1 }, { "x", -1 }, { "-1", -1 }, { "1.5", -1 }, { "1 ", -1 }, { "0", 0 },
    { "7", 7000 }, { "60", 60000 }, { "61", 60000 }, { "99999999999999999999999", 60000 },
    { "Wed, 21 Oct 2015 07:28:00 GMT", 0 }, { "Wed, 21 Oct 2015 07:28:20 GMT", 10000 },
    { "Wed, 21 Oct 2015 07:38:20 GMT", 60000 }, { "Wed, 21 Foo 2015 07:28:20 GMT", -1 },
    { "Wed, 21 Oct 2015 07:28:20 CET", -1 }, { "Wed, 21 Oct 2015 07:28:20 GMT x", -1 },
    { "Wed, 99 Oct 2015 07:28:20 GMT", -1 }, { "Wed, 21 Oct 2015", -1 },
    { "Wed, 21 Oct 9999 07:28:20 GMT", 60000 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (headers); i++)
    {
      g_test_message ("header \"%s\"", headers[i].header != NULL ? headers[i].header : "(none)");
      g_assert_cmpint (ow_openai_retry_read_after (headers[i].header, 1445412490), ==,
                       headers[i].ms);
    }
  for (guint n = 1; n < 80; n++)
    {
      guint least = ow_openai_retry_wait_ms (n, -1, 500, 0.0);
      guint most = ow_openai_retry_wait_ms (n, -1, 500, 0.999);
      guint told = ow_openai_retry_wait_ms (n, 7000, 500, 0.999);

      g_assert_cmpuint (least, >=, 250);
      g_assert_cmpuint (most, >, least);
      g_assert_cmpuint (most, <=, 30000);
      g_assert_cmpuint (told, >=, 7000);
      g_assert_cmpuint (told, <=, 8000);
      if (n > 1)
        g_assert_cmpuint (least, >=, ow_openai_retry_wait_ms (n - 1, -1, 500, 0.0));
    }
}

#define BEGINS "begins with http:// or https://"

static void
test_addresses (void)
{
  static const struct { const char *given; const char *url; } good[] = {
    { NULL, "https://api.openai.com/v1" },
    { "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1" },
    { "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1" },
    { "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1" },
    { "http://127.0.0.1:8080/v1//", "http://127.0.0.1:8080/v1" },
    { "HTTP://LocalHost:8080", "http://localhost:8080/v1" },
    { "https://example.org/a%2Fb/", "https://example.org/a%2Fb" },
    { "https://example.org/a/b/", "https://example.org/a/b" },
    { "HTTPS://example.org/v1", "https://example.org/v1" },
    { "https://example.org:443/v1", "https://example.org/v1" },
    { "http://127.0.0.1:80", "http://127.0.0.1/v1" },
    { "http://127.0.0.1:443", "http://127.0.0.1:443/v1" },
    { "http://[::1]:11434/v1", "http://[::1]:11434/v1" },
  };
  static const struct { const char *given; const char *says; } bad_urls[] = {
    { "", "is no address" }, { "127.0.0.1:8080", "is no address" }, { "example.org/v1", BEGINS },
    { "ftp://example.org", BEGINS }, { "file:///etc/passwd", BEGINS },
    { "http://", "is no address" }, { "http:///v1", BEGINS },
    { "https://user:secret@example.org/v1", "shown in the clear" },
    { "https://" KEY "@example.org/v1", "shown in the clear" },
    { "https://example.org/v1?key=x", "ends with its path" },
    { "https://example.org/v1#x", "ends with its path" },
    { "http://exa mple.org", "is no address" }, { "http://127.0.0.1:99999", "is no address" },
    { "\x1b[2Jhttp://x", "is no address" }, { "\xff", "is no address" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *url = ow_model_find_base_url ("openai:m", good[i].given, &error);

      g_assert_no_error (error);
      g_assert_cmpstr (url, ==, good[i].url);
    }
  for (guint i = 0; i < G_N_ELEMENTS (bad_urls); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *url = ow_model_find_base_url ("openai:m", bad_urls[i].given, &error);

      g_assert_null (url);
      g_test_message ("case %u: %s", i, error->message);
      g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
      g_assert_nonnull (strstr (error->message, bad_urls[i].says));
      g_assert_null (strchr (error->message, '\x1b'));
      g_assert_null (strstr (error->message, KEY));
      g_assert_null (strstr (error->message, "secret"));
    }
  g_assert_null (ow_model_find_base_url ("replay:x", NULL, NULL));
  g_assert_null (ow_model_find_base_url ("m", "http://127.0.0.1", NULL));
}

static void
test_options (void)
{
  static const struct { OwModelOptions options; int kind; const char *says; } bad_options[] = {
    { { .name = "openai:m", .base_url = "http://example.org/v1", .key = KEY }, OW_ERROR_REFUSED,
      "The key is not sent to http://example.org/v1" },
    { { .name = "openai:m", .base_url = "http://127.0.0.1.example.org/v1", .key = KEY },
      OW_ERROR_REFUSED, "everybody on the way could read it" },
    { { .name = "openai:m", .base_url = "http://192.168.0.7:8080", .key = KEY }, OW_ERROR_REFUSED,
      "The key is not sent" },
    { { .name = "openai:m", .key = "" }, OW_ERROR_USAGE, "key cannot be used: it is empty" },
    { { .name = "openai:m", .key = "a b" }, OW_ERROR_USAGE, "key cannot be used" },
    { { .name = "openai:m", .key = "ab\r\nX: y" }, OW_ERROR_USAGE, "key cannot be used" },
    { { .name = "openai:m", .key = "ab\n" }, OW_ERROR_USAGE, "key cannot be used" },
    { { .name = "openai:m", .key = "\xc3\xa9" }, OW_ERROR_USAGE, "key cannot be used" },
    { { .name = "openai:a\nb" }, OW_ERROR_USAGE, "name cannot be used" },
    { { .name = "openai:a\x1b[2J" }, OW_ERROR_USAGE, "name cannot be used" },
    { { .name = "openai:\xff" }, OW_ERROR_USAGE, "name cannot be used" },
    { { .name = "openai:m", .base_url = "gopher://x" }, OW_ERROR_USAGE, "is no address" },
    { { .name = "openai:m", .ca_file = "/nonexistent/ca.pem" }, OW_ERROR_USAGE, "CA file" },
    { { .name = "openai:m", .proxy = "gopher://x" }, OW_ERROR_USAGE, "proxy" },
    { { .name = "openai:" }, OW_ERROR_USAGE, "There is no model" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (bad_options); i++)
    {
      g_autoptr (GError) error = NULL;
      OwModel *model = ow_model_new (&bad_options[i].options, &error);

      g_assert_null (model);
      g_test_message ("case %u: %s", i, error->message);
      g_assert_error (error, OW_ERROR, bad_options[i].kind);
      g_assert_nonnull (strstr (error->message, bad_options[i].says));
    }
  for (guint i = 0; i < 4; i++)
    {
      const char *urls[] = { "http://localhost:1/v1", "http://[::1]:1", "http://127.8.9.1",
                             "https://example.org/v1" };
      g_autoptr (GError) error = NULL;
      OwModelOptions options = { .name = "openai:m", .base_url = urls[i], .key = KEY };
      g_autoptr (OwModel) model = ow_model_new (&options, &error);

      g_assert_no_error (error);
      g_assert_false (ow_model_is_recorded (model));
    }
}

/* The longest key that can be stored can be sent, and nothing longer. */
static void
test_longest_key (void)
{
  g_autofree char *key = g_strnfill (8193, 'k');
  OwModelOptions options = { .name = "openai:m", .key = key };
  g_autoptr (GError) error = NULL;
  g_autoptr (OwModel) model = NULL;

  g_assert_null (ow_model_new (&options, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "longer than 8,192 characters"));
  g_clear_error (&error);
  key[8192] = '\0';
  g_assert_null (ow_secret_find_fault (key));
  model = ow_model_new (&options, &error);
  g_assert_no_error (error);
  g_assert_nonnull (model);
}

/* The pages of the key are left out of core dumps, empty in a child, and gone with it. */
static void
test_key (void)
{
  g_autoptr (OwOpenaiKey) key = ow_openai_key_new (KEY, NULL);
  const char *header = ow_openai_key_get_header (key);
  gsize page = (gsize) header / (gsize) sysconf (_SC_PAGESIZE) * (gsize) sysconf (_SC_PAGESIZE);
  g_autofree char *start = g_strdup_printf ("%" G_GSIZE_MODIFIER "x-", page);
  g_autofree char *maps = NULL;
  g_autofree char *after = NULL;
  g_autofree char *taken = ow_openai_key_take_out (key, "a " KEY KEY " b");
  g_autofree char *other = ow_openai_key_take_out (NULL, KEY);
  const char *entry;
  const char *flags;

  g_assert_cmpstr (header, ==, "Bearer " KEY);
  g_assert_cmpstr (taken, ==, "a [key][key] b");
  g_assert_cmpstr (other, ==, KEY);
  g_assert_true (g_file_get_contents ("/proc/self/smaps", &maps, NULL, NULL));
  entry = g_str_has_prefix (maps, start) ? maps : strstr (maps, start);
  g_assert_nonnull (entry);
  flags = strstr (entry, "VmFlags:");
  g_assert_nonnull (flags);
  g_assert_true (strstr (flags, " dd ") != NULL && strstr (flags, " dd ") < strchr (flags, '\n'));
  g_assert_true (strstr (flags, " wf ") != NULL && strstr (flags, " wf ") < strchr (flags, '\n'));
  g_clear_pointer (&key, ow_openai_key_free);
  g_assert_true (g_file_get_contents ("/proc/self/smaps", &after, NULL, NULL));
  g_assert_null (strstr (after, start));
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openai-options/waits", test_waits);
  g_test_add_func ("/openai-options/addresses", test_addresses);
  g_test_add_func ("/openai-options/options", test_options);
  g_test_add_func ("/openai-options/longest-key", test_longest_key);
  g_test_add_func ("/openai-options/S22/key", test_key);
  return g_test_run ();
}
