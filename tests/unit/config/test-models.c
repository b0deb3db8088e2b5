/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-model-settings.h"

#include <string.h>

#include "base/ow-base-url.h"
#include "base/ow-error.h"
#include "base/ow-http.h"
#include "config-fixture.h"

#define MODEL(n) "[[models]]\nname = \"" n "\"\nprovider = \"openai\"\nmodel = \"m\"\n" \
  "base_url = \"http://127.0.0.1:1/v1\"\n"

static OwConfig *
load (Fixture     *f,
      const char  *text,
      GError     **error)
{
  config_put (f->path, text, -1);
  return ow_config_load (f->path, error);
}

static void
test_read (Fixture       *f,
           gconstpointer  data)
{
  static const char * const texts[] = {
    MODEL ("first") "[other]\nmodels = 1\n" "[[models]]\nbase_url = 'https://models.example'\n"
    "model = \"org/big:7b\"\nfuture = { a = 1 }\nprovider = 'openai'\nname = 'se-c_0.nd'\n"
    "ca_file = '/etc/ca.pem'\nproxy = 'http://proxy.example:3128'\n[models.more]\nx = 1\n",
    "\xef\xbb\xbfmodels = [ { name = 'first', provider = 'openai', model = 'm', "
    "base_url = 'http://127.0.0.1:1/v1' },\r\n{ name = 'se-c_0.nd', provider = 'openai',"
    "model = 'org/big:7b', base_url = 'https://models.example', ca_file = '/etc/ca.pem',"
    "proxy = 'http://proxy.example:3128', future.a = 1 } ]\r\n",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwConfig) config = load (f, texts[i], &error);
      const OwModelSettings *model;

      g_assert_no_error (error);
      g_assert_cmpuint (ow_config_get_models (config)->len, ==, 2);
      model = g_ptr_array_index (ow_config_get_models (config), 0);
      g_assert_cmpstr (model->name, ==, "first");
      g_assert_null (model->ca_file);
      g_assert_null (model->proxy);
      model = ow_config_find_model (config, "se-c_0.nd");
      g_assert_nonnull (model);
      g_assert_cmpstr (model->provider, ==, "openai");
      g_assert_cmpstr (model->model, ==, "org/big:7b");
      g_assert_cmpstr (model->base_url, ==, "https://models.example");
      g_assert_cmpstr (model->ca_file, ==, "/etc/ca.pem");
      g_assert_cmpstr (model->proxy, ==, "http://proxy.example:3128");
      g_assert_null (ow_config_find_model (config, "second"));
      g_assert_null (ow_config_find_model (config, NULL));
    }
}

static void
test_none (Fixture       *f,
           gconstpointer  data)
{
  static const char * const texts[] = { "", "models = []\n", "[other]\nmodels = 1\n" };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (OwConfig) config = load (f, texts[i], NULL);

      g_assert_nonnull (config);
      g_assert_cmpuint (ow_config_get_models (config)->len, ==, 0);
    }
}

/* A fault in a model is a fault of the file, with its line: the settings of the sandbox that
 * stand beside it are never read as "nothing set". */
static void
test_faults (Fixture       *f,
             gconstpointer  data)
{
#define WITH(key, value) "sandbox_provider = \"bubblewrap\"\n[[models]]\n" \
  "name = \"a\"\nprovider = \"openai\"\n" key " = " value "\n"
#define URL(value) WITH ("model = 'm'\nbase_url", "\"" value "\"")
  static const struct {
    const char *text;
    const char *line;
    const char *says;
  } rows[] = {
    { "models = 1", "line 1", "[[models]]" }, { "\nmodels = [1]", "line 2", "[[models]]" },
    { "models = [{}, 1]", "line 1", "[[models]]" }, { "[models]\nname = 'a'", "line 1", "[[models]]" },
    { "\n[[models]]\n", "line 2", "a model needs name" },
    { "[[models]]\nname = 'a'", "line 1", "a model needs provider" },
    { "[[models]]\nname = 'a'\nprovider = 'openai'", "line 1", "a model needs model" },
    { WITH ("model", "'m'"), "line 2", "a model needs base_url" },
    { WITH ("model", "1"), "line 5", "model of a model is a text" },
    { WITH ("model", "''"), "line 5", "printable" }, { WITH ("model", "\"a\\u0000\""), "line 5", "printable" },
    { WITH ("model", "\"a\\nb\""), "line 5", "printable" },
    { WITH ("model", "\"a\\u202eb\""), "line 5", "printable" },
    { MODEL ("a") MODEL ("b") MODEL ("a"), "line 12", "two models with the name \"a\"" },
    { MODEL (""), "line 2", "lower case" }, { MODEL ("A"), "line 2", "lower case" },
    { MODEL ("a b"), "line 2", "lower case" }, { MODEL ("-a"), "line 2", "lower case" },
    { MODEL (".a"), "line 2", "lower case" }, { MODEL ("a:b"), "line 2", "lower case" },
    { MODEL ("a/b"), "line 2", "lower case" }, { MODEL ("\xc3\xa9"), "line 2", "lower case" },
    { MODEL ("a\\u0000"), "line 2", "lower case" },
    { "[[models]]\nname = 'a'\nprovider = 'gpt'", "line 3", "it can be \"openai\"" },
    { "[[models]]\nname = 'a'\nprovider = 'OpenAI'", "line 3", "it can be \"openai\"" },
    { URL (""), "line 6", "1 to 2,048" }, { URL ("models.example"), "line 6", "http:// or https://" },
    { URL ("ftp://a.example"), "line 6", "http:// or https://" },
    { URL ("file:///etc/passwd"), "line 6", "http:// or https://" },
    { URL ("http:"), "line 6", "http:// or https://" }, { URL ("http://"), "line 6", "http:// or https://" },
    { URL ("http:///v1"), "line 6", "http:// or https://" }, { URL ("http://a:0/"), "line 6", "http:// or https://" },
    { URL ("http://a:99999/"), "line 6", "http:// or https://" },
    { URL ("https://u@a.example"), "line 6", "keyring" },
    { URL ("https://u:pw@a.example"), "line 6", "keyring" }, { URL ("https://@a.example"), "line 6", "keyring" },
    { URL ("https://a.example/?key=pw"), "line 6", "no \\\"?\\\"" },
    { URL ("https://a.example/#pw"), "line 6", "no \\\"?\\\"" },
    { URL ("https://a.example?"), "line 6", "no \\\"?\\\"" },
    { URL ("https://a.example/a b"), "line 6", "space" }, { URL ("https://a.example/\\n"), "line 6", "space" },
    { URL ("https://b\xc3\xbc.example"), "line 6", "not written" },
    { URL (" https://a.example"), "line 6", "space" }, { URL ("https://a.example/\\u0000"), "line 6", "not written" },
    { URL ("http://a") "ca_file = 'ca.pem'", "line 7", "whole path" },
    { URL ("http://a") "ca_file = 1", "line 7", "is a text" },
    { URL ("http://a") "proxy = 'p:1'", "line 7", "http:// or socks5://" },
    { URL ("http://a") "proxy = 'https://p:1'", "line 7", "http:// or socks5://" },
    { URL ("http://a") "proxy = 'socks4://p:1'", "line 7", "http:// or socks5://" },
    { URL ("http://a") "proxy = 'socks5:p:1'", "line 7", "http:// or socks5://" },
    { URL ("http://a") "proxy = 'socks5://'", "line 7", "proxy" },
    { URL ("http://a") "proxy = 'socks5://p:1/path'", "line 7", "without a path" },
    { URL ("http://a") "proxy = 'socks5://u:pw@p:1'", "line 7", "keyring" },
    { URL ("http://a") "proxy = 'http://p:1/path'", "line 7", "without a path" },
    { URL ("http://a") "proxy = 'http://u:pw@p:1'", "line 7", "keyring" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *says = g_strcompress (rows[i].says);

      g_test_message ("%s", rows[i].text);
      g_assert_null (load (f, rows[i].text, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, rows[i].line));
      g_assert_nonnull (strstr (error->message, says));
      g_assert_nonnull (strstr (error->message, "Mend the file"));
      g_assert_null (strstr (error->message, "pw"));
    }
}

/* A proxy that can be set is one that requests can take, and the other way round. */
static void
test_proxies (Fixture       *f,
              gconstpointer  data)
{
  static const struct { const char *proxy; gboolean good; } rows[] = {
    { "", TRUE }, { "http://proxy.example:3128", TRUE }, { "http://127.0.0.1:1/", TRUE },
    { "HTTP://proxy.example:1", TRUE }, { "http://[::1]:1", TRUE },
    { "socks5://proxy.example:1080", TRUE }, { "SOCKS5://127.0.0.1:1", TRUE },
    { "https://proxy.example:3128", FALSE }, { "socks4://127.0.0.1:1", FALSE },
    { "socks://127.0.0.1:1", FALSE }, { "socks5h://127.0.0.1:1", FALSE },
    { "direct://", FALSE }, { "proxy.example:3128", FALSE }, { "//proxy.example", FALSE },
    { "http://", FALSE }, { "socks5://", FALSE }, { "socks5://:1", FALSE },
    { "http://u@proxy.example:1", FALSE }, { "socks5://u:w@proxy.example:1", FALSE },
    { "http://a b:1", FALSE }, { "http://proxy.example:0", FALSE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *text = g_strdup_printf (MODEL ("a") "proxy = '%s'\n", rows[i].proxy);
      g_autoptr (GError) error = NULL;
      g_autoptr (OwConfig) config = load (f, text, &error);
      g_autoptr (OwHttp) http = ow_http_new (NULL, rows[i].proxy, NULL);

      g_test_message ("%s: %s", rows[i].proxy, error != NULL ? error->message : "taken");
      g_assert_cmpint (config != NULL, ==, rows[i].good);
      g_assert_cmpint (http != NULL, ==, rows[i].good);
    }
}

static void
test_many (Fixture       *f,
           gconstpointer  data)
{
  GString *text = g_string_new (NULL);
  g_autofree char *long_name = g_strnfill (65, 'a');
  g_autofree char *long_model = g_strdup_printf (
    "[[models]]\nname = '%s'\nprovider = 'openai'\nmodel = 'm'\nbase_url = 'http://a'", long_name);
  g_autoptr (GError) error = NULL;

  g_assert_null (load (f, long_model, &error));
  g_assert_nonnull (strstr (error->message, "1 to 64"));
  g_clear_error (&error);

  for (guint i = 0; i < 257; i++)
    g_string_append_printf (text, "[[models]]\nname = 'm%u'\nprovider = 'openai'\nmodel = 'm'\n"
                            "base_url = 'http://a'\n", i);
  g_assert_null (load (f, text->str, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "more than 256 models"));
  g_string_free (text, TRUE);
}

/* What a key is bound to: one spelling for one server, and different ones for different. */
static void
test_canonical (void)
{
  static const struct {
    const char *text;
    const char *canonical;
  } rows[] = {
    { "http://localhost", "http://localhost" }, { "http://localhost/", "http://localhost" },
    { "HTTP://LocalHost:80//", "http://localhost" },
    { "https://a.example:443/v1/", "https://a.example/v1" },
    { "https://a.example:80/v1", "https://a.example:80/v1" },
    { "http://a.example:443/v1", "http://a.example:443/v1" },
    { "https://a.example/V1", "https://a.example/V1" },
    { "http://[::1]:8080/v1", "http://[::1]:8080/v1" },
    { "https://a.example/a%2Fb", "https://a.example/a%2Fb" },
    { "https://a.example/a/b", "https://a.example/a/b" }, { "https://a%2Fb.example", NULL },
    { "https://a.example@b.example", NULL }, { "https://a.example?x", NULL }, { "", NULL },
    { "javascript:alert(1)", NULL }, { "http://a.example\r\nX: y", NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *canonical = ow_base_url_canonical (rows[i].text);

      g_assert_cmpstr (canonical, ==, rows[i].canonical);
    }
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, config_set_up, func, config_tear_down)

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  ADD ("/config/models/read", test_read);
  ADD ("/config/models/none", test_none);
  ADD ("/config/S07/models", test_faults);
  ADD ("/config/models/proxies", test_proxies);
  ADD ("/config/S07/many-models", test_many);
  g_test_add_func ("/config/models/canonical", test_canonical);

  return g_test_run ();
}
