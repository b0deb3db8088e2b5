/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config-credentials.h"

#include <string.h>

#include "base/ow-error.h"
#include "config-fixture.h"

/* What of the person's logins can be shared, as the settings say it (REQ-S01). */

#define ENTRY "[[sandbox_credentials]]\n"
#define NPM ENTRY "name = \"npm\"\npath = \"~/.npmrc\"\nhosts = [\"registry.example\"]\n"

static OwConfig *
load (Fixture    *f,
      const char *content)
{
  g_autoptr (GError) error = NULL;
  OwConfig *config;

  config_put (f->path, content, -1);
  config = ow_config_load (f->path, &error);
  g_assert_no_error (error);
  return config;
}

static char *
list_hosts (GPtrArray *hosts)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < hosts->len; i++)
    {
      g_autofree char *text = ow_host_to_text (g_ptr_array_index (hosts, i));

      g_string_append_printf (out, "%s%s", i > 0 ? " " : "", text);
    }
  return g_string_free (out, FALSE);
}

static void
assert_is (OwConfig   *config,
           guint       index,
           const char *name,
           const char *path,
           const char *hosts,
           gboolean    enabled)
{
  const OwConfigCredential *credential = g_ptr_array_index (ow_config_get_credentials (config),
                                                            index);
  g_autofree char *listed = list_hosts (credential->hosts);

  g_assert_cmpstr (credential->name, ==, name);
  g_assert_cmpstr (credential->path, ==, path);
  g_assert_cmpstr (listed, ==, hosts);
  g_assert_cmpint (credential->enabled, ==, enabled);
  g_assert_cmpint (credential->built_in, ==, index < 4);
  g_assert_true (ow_config_find_credential (config, name) == credential);
}

static void
test_built_in (Fixture       *f,
               gconstpointer  data)
{
  static const char * const texts[] = { NULL, "", "a = 1\n", "sandbox_credentials = []\n" };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (OwConfig) config = texts[i] != NULL ? load (f, texts[i])
                                                     : ow_config_load (f->path, NULL);

      g_assert_cmpuint (ow_config_get_credentials (config)->len, ==, 4);
      assert_is (config, 0, "ssh", ".ssh", "github.com:22 gitlab.com:22", FALSE);
      assert_is (config, 1, "gh", ".config/gh", "api.github.com:443 github.com:443", FALSE);
      assert_is (config, 2, "aws", ".aws", "*.amazonaws.com:443", FALSE);
      assert_is (config, 3, "kube", ".kube", "", FALSE);
    }
}

static void
test_merged (Fixture       *f,
             gconstpointer  data)
{
  g_autoptr (OwConfig) config = load (
    f, NPM "enabled = true\nmore = 1\n" ENTRY "name = \"kube\"\nenabled = true\n"
    "private_hosts = [\"10.0.0.5:6443\", \"k8s.corp.example\"]\n"
    ENTRY "name = \"gh\"\nenabled = true\npath = \"~/.config/gh/\"\n"
    "hosts = [\"github.com\", \"api.github.com:443\"]\n" ENTRY "name = \"Off_2.x\"\n"
    "path = \"~//a/./b/\"\n");
  const OwConfigCredential *kube = ow_config_find_credential (config, "kube");
  g_autofree char *listed = list_hosts (kube->private_hosts);

  g_assert_cmpuint (ow_config_get_credentials (config)->len, ==, 6);
  assert_is (config, 0, "ssh", ".ssh", "github.com:22 gitlab.com:22", FALSE);
  assert_is (config, 1, "gh", ".config/gh", "api.github.com:443 github.com:443", TRUE);
  assert_is (config, 3, "kube", ".kube", "", TRUE);
  assert_is (config, 4, "npm", ".npmrc", "registry.example:443", TRUE);
  assert_is (config, 5, "Off_2.x", "a/b", "", FALSE);
  g_assert_cmpstr (listed, ==, "10.0.0.5:6443 k8s.corp.example:443");
  g_assert_true (ow_config_credential_allows (kube, "10.0.0.5", 6443));
  g_assert_false (ow_config_credential_allows (kube, "10.0.0.5", 443));
  g_assert_null (ow_config_find_credential (config, "none"));
}

/* One value with braces says the same as tables with headers. */
static void
test_inline (Fixture       *f,
             gconstpointer  data)
{
  g_autoptr (OwConfig) config = load (
    f, "sandbox_credentials = [ { name = \"ssh\", enabled = true },\n  { name = 'npm', "
    "path = '~/.npmrc', hosts = ['r.example', { host = 'n.corp.example:8443', private = true }] } ]\n");
  const OwConfigCredential *npm = ow_config_find_credential (config, "npm");

  g_assert_cmpuint (ow_config_get_credentials (config)->len, ==, 5);
  assert_is (config, 0, "ssh", ".ssh", "github.com:22 gitlab.com:22", TRUE);
  assert_is (config, 4, "npm", ".npmrc", "r.example:443 n.corp.example:8443", FALSE);
  g_assert_false (((OwHost *) g_ptr_array_index (npm->hosts, 0))->private);
  g_assert_true (((OwHost *) g_ptr_array_index (npm->hosts, 1))->private);
}

static void
test_private_hosts (Fixture       *f,
                    gconstpointer  data)
{
  g_autoptr (OwConfig) config = load (
    f, "sandbox_extra_hosts = [\"a.example\", { host = \"git.corp.example:8443\", private = true },"
    " { host = \"10.1.2.3:80\", private = true }, { host = \"b.example\", why = 1 }]\n");
  g_autofree char *listed = list_hosts (ow_config_get_extra_hosts (config));

  g_assert_cmpstr (listed, ==, "a.example:443 git.corp.example:8443 10.1.2.3:80 b.example:443");
  for (guint i = 0; i < 4; i++)
    g_assert_cmpint (((OwHost *) g_ptr_array_index (ow_config_get_extra_hosts (config),
                                                    i))->private, ==, i == 1 || i == 2);
}

typedef struct {
  const char *text;
  guint       line;
  const char *says;
} Fault;

#define NAMED(n) ENTRY "name = \"" n "\"\n"
#define AT(p) NAMED ("a") "path = " p "\n"
#define WITH(x) AT ("\"~/.a\"") x "\n"

static const Fault faults[] = {
  { "sandbox_credentials = 1\n", 1, "[[sandbox_credentials]]" },
  { "x = 1\nsandbox_credentials = [\n1]\n", 3, "[[sandbox_credentials]]" },
  { "[sandbox_credentials]\nname = \"a\"\n", 1, "[[sandbox_credentials]]" },
  { "\n" ENTRY "enabled = true\n", 2, "needs a name" },
  { ENTRY "name = 3\n", 2, "needs a name" },
  { NAMED (""), 2, "needs a name" },
  { NAMED ("-a"), 2, "needs a name" },
  { NAMED ("a b"), 2, "needs a name" },
  { NAMED ("a/b"), 2, "needs a name" },
  { NAMED ("\xc3\xa9"), 2, "needs a name" },
  { NPM NPM, 6, "two entries" },
  { NAMED ("ssh") NAMED ("ssh"), 4, "two entries" },
  { NAMED ("ssh") "enabled = \"true\"\n", 3, "without quotes" },
  { NAMED ("ssh") "enabled = 1\n", 3, "without quotes" },
  { NAMED ("ssh") "path = \"~/.ssh2\"\n", 3, "and no other" },
  { NAMED ("ssh") "hosts = [\"github.com:22\"]\n", 3, "are its own" },
  { NAMED ("ssh") "hosts = [\"github.com:22\", \"other.example:22\"]\n", 3, "are its own" },
  { NAMED ("a"), 1, "needs a path" },
  { AT ("3"), 3, "needs a path" },
  { AT ("\"\""), 3, "begins with \"~/\"" },
  { AT ("\".npmrc\""), 3, "begins with \"~/\"" },
  { AT ("\"~other/.npmrc\""), 3, "begins with \"~/\"" },
  { AT ("\"/etc/passwd\""), 3, "outside your home" },
  { AT ("\"/\""), 3, "outside your home" },
  { AT ("\"~/../x\""), 3, "leads up" },
  { AT ("\"~/a/../../x\""), 3, "leads up" },
  { AT ("\"~/..\""), 3, "leads up" },
  { AT ("\"~\""), 3, "never shared" },
  { AT ("\"~/\""), 3, "never shared" },
  { AT ("\"~/./\""), 3, "never shared" },
  { AT ("\"~//.//\""), 3, "never shared" },
  { AT ("\"~/a\\nb\""), 3, "control characters" },
  { AT ("\"~/a\\u0000b\""), 3, "1,024 bytes" },
  { AT ("\"~/.config\""), 3, "of OpenWorker itself" },
  { AT ("\"~/.config/coworker\""), 3, "of OpenWorker itself" },
  { AT ("\"~/.config/coworker/sandbox-runtime/x\""), 3, "of OpenWorker itself" },
  { AT ("\"~/.local\""), 3, "of OpenWorker itself" },
  { AT ("\"~/.local/share/coworker\""), 3, "of OpenWorker itself" },
  { AT ("\"~/.local/state\""), 3, "of OpenWorker itself" },
  { WITH ("hosts = \"a.example\""), 4, "hosts is a list" },
  { WITH ("hosts = [\"a.example\",\n3]"), 5, "hosts is a list" },
  { WITH ("hosts = [\"a.example:0\"]"), 4, "port" },
  { WITH ("hosts = [\"10.0.0.1\"]"), 4, "10.0.0.1" },
  { WITH ("hosts = [\"localhost\"]"), 4, "this machine's own" },
  { WITH ("hosts = [{ private = true }]"), 4, "needs a host" },
  { WITH ("hosts = [{ host = \"a.example\", private = \"yes\" }]"), 4, "without quotes" },
  { WITH ("hosts = [{ host = \"127.0.0.1\", private = true }]"), 4, "127.0.0.1" },
  { WITH ("hosts = [{ host = \"169.254.169.254:80\", private = true }]"), 4, "169.254" },
  { WITH ("private_hosts = [{ host = \"10.0.0.1\" }]"), 4, "list of texts" },
  { WITH ("private_hosts = [\"::1\"]"), 4, "::1" },
  { WITH ("private_hosts = 1"), 4, "list of texts" },
  { "sandbox_extra_hosts = [{ host = \"[::1]:80\", private = true }]\n", 1, "::1" },
  { "sandbox_extra_hosts = [{ hosts = \"a.example\" }]\n", 1, "needs a host" },
  { "sandbox_extra_hosts = [\"10.0.0.1\"]\n", 1, "10.0.0.1" },
  { "sandbox_extra_hosts = [\n{ host = \"10.0.0.1\", private = false }]\n", 2, "10.0.0.1" },
};

static void
test_faults (Fixture       *f,
             gconstpointer  data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (faults); i++)
    {
      g_autofree char *line = g_strdup_printf ("line %u", faults[i].line);
      g_autoptr (GError) error = NULL;

      config_put (f->path, faults[i].text, -1);
      g_test_message ("%s", faults[i].text);
      g_assert_null (ow_config_load (f->path, &error));
      g_test_message ("%s", error->message);
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_assert_nonnull (strstr (error->message, line));
      g_assert_nonnull (strstr (error->message, faults[i].says));
    }
}

/* The home by its whole path, and another account's whose name begins as it does. */
static void
test_whole_paths (Fixture       *f,
                  gconstpointer  data)
{
  static const struct {
    const char *form;
    const char *path; /* NULL: refused */
  } rows[] = {
    { "%s/.npmrc", ".npmrc" }, { "%s//a/./b", "a/b" }, { "%s", NULL }, { "%s/", NULL },
    { "%s2/.npmrc", NULL }, { "%s/../x", NULL }, { "/%s/.npmrc", NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_auto (GStrv) parts = g_strsplit (rows[i].form, "%s", 2);
      g_autofree char *text = g_strconcat (parts[0], g_get_home_dir (), parts[1], NULL);
      g_autofree char *content = g_strdup_printf (NAMED ("a") "path = '%s'\n", text);
      g_autoptr (GError) error = NULL;
      g_autoptr (OwConfig) config = NULL;

      config_put (f->path, content, -1);
      config = ow_config_load (f->path, &error);
      g_test_message ("%s", text);
      if (rows[i].path == NULL)
        g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      else
        assert_is (config, 4, "a", rows[i].path, "", FALSE);
    }
}

static void
test_many (Fixture       *f,
           gconstpointer  data)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (OwConfig) config = NULL;

  for (int i = 0; i < 64; i++)
    g_string_append_printf (text, ENTRY "name = \"n%d\"\npath = \"~/%d\"\n", i, i);
  config = load (f, text->str);
  g_assert_cmpuint (ow_config_get_credentials (config)->len, ==, 68);
  g_string_append (text, NPM);
  config_put (f->path, text->str, -1);
  g_assert_null (ow_config_load (f->path, &error));
  g_assert_nonnull (strstr (error->message, "line 193: there are more than 64"));
}

#define ADD(path, function) \
  g_test_add (path, Fixture, NULL, config_set_up, function, config_tear_down)

int
main (int   argc,
      char *argv[])
{
  g_setenv ("HOME", "/home/credentials-test", TRUE);
  g_unsetenv ("XDG_CONFIG_HOME");
  g_unsetenv ("XDG_DATA_HOME");
  g_unsetenv ("XDG_STATE_HOME");
  g_test_init (&argc, &argv, NULL);
  ADD ("/credentials/S01/built-in", test_built_in);
  ADD ("/credentials/S01/merged", test_merged);
  ADD ("/credentials/S01/inline", test_inline);
  ADD ("/credentials/N03/private-hosts", test_private_hosts);
  ADD ("/credentials/S07/faults", test_faults);
  ADD ("/credentials/S01/whole-paths", test_whole_paths);
  ADD ("/credentials/S07/many", test_many);

  return g_test_run ();
}
