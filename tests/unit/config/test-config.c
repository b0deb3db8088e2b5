/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "config-fixture.h"

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

static void
assert_unset (OwConfig *config)
{
  g_assert_nonnull (config);
  g_assert_cmpint (ow_config_get_provider (config), ==, OW_PROVIDER_UNSET);
  g_assert_cmpint (ow_config_get_profile (config), ==, OW_PROFILE_STRICT);
  g_assert_cmpuint (ow_config_get_extra_hosts (config)->len, ==, 0);
}

static void
test_nothing_set (Fixture       *f,
                  gconstpointer  data)
{
  static const char * const texts[] = {
    "", "\n", "# only words\n", "other = 1\n[table]\nsandbox_provider = \"direct\"\n",
    "\xef\xbb\xbf", "\xef\xbb\xbf# x\r\n",
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (OwConfig) missing = ow_config_load (f->path, &error);

  g_assert_no_error (error);
  assert_unset (missing);
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (OwConfig) config = load (f, texts[i]);

      assert_unset (config);
    }
}

static void
test_values (Fixture       *f,
             gconstpointer  data)
{
  static const char * const texts[] = {
    "sandbox_provider = \"bubblewrap\"\nsandbox_network_profile = \"standard\"\n"
    "sandbox_extra_hosts = [\"Git.Example.com\", \"*.debian.org:8443\"]\n",
    "\xef\xbb\xbfsandbox_provider = \"bubblewrap\"\r\nsandbox_network_profile = 'standard'\r\n"
    "future = { a = 1 }\r\nsandbox_extra_hosts = [\r\n  \"git.example.com\", # why\r\n"
    "  \"*.debian.org:8443\",\r\n]\r\n[sandbox_limits]\r\ncpu = 2\r\n",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (OwConfig) config = load (f, texts[i]);
      const OwHost *host;

      g_assert_cmpint (ow_config_get_provider (config), ==, OW_PROVIDER_BUBBLEWRAP);
      g_assert_cmpint (ow_config_get_profile (config), ==, OW_PROFILE_STANDARD);
      g_assert_cmpuint (ow_config_get_extra_hosts (config)->len, ==, 2);
      host = g_ptr_array_index (ow_config_get_extra_hosts (config), 0);
      g_assert_cmpstr (host->host, ==, "git.example.com");
      g_assert_cmpuint (host->port, ==, 443);
      host = g_ptr_array_index (ow_config_get_extra_hosts (config), 1);
      g_assert_cmpstr (host->host, ==, "*.debian.org");
      g_assert_cmpuint (host->port, ==, 8443);
    }
}

/* None of these may leave the machine with defaults: each is an error, with its line
 * where it has one. */
static void
test_broken (Fixture       *f,
             gconstpointer  data)
{
  static const struct {
    const char *text;
    gssize      length;
    const char *says;
  } rows[] = {
    { "sandbox_provider = ", -1, "line 1" },
    { "a = 1\nsandbox_provider = \"bubblewrap\n", -1, "line 2" },
    { "a = 1\n\nsandbox_provider = \"none\"\n", -1, "line 3" },
    { "sandbox_provider = \"none\"", -1, "\"openshell\", \"bubblewrap\" or \"direct\"" },
    { "sandbox_provider = \"\"", -1, "line 1" },
    { "sandbox_provider = \"Bubblewrap\"", -1, "line 1" },
    { "sandbox_provider = \"bubblewrap \"", -1, "line 1" },
    { "sandbox_provider = false", -1, "line 1" },
    { "sandbox_provider = [\"bubblewrap\"]", -1, "line 1" },
    { "[sandbox_provider]\nx = 1", -1, "line 1" },
    { "sandbox_provider = \"direct\"\nsandbox_provider = \"bubblewrap\"", -1, "line 2" },
    { "sandbox_network_profile = \"open\"", -1, "\"strict\" or \"standard\"" },
    { "sandbox_network_profile = 3", -1, "line 1" },
    { "sandbox_provider = \"bubblewrap\\u0000\"", -1, "line 1" },
    { "sandbox_network_profile = \"strict\\u0000x\"", -1, "line 1" },
    { "sandbox_extra_hosts = [\"a.org\\u0000.b.org\"]", -1, "line 1" },
    { "sandbox_extra_hosts = \"a.example\"", -1, "line 1" },
    { "sandbox_extra_hosts = [\n\"a.example\",\n5]", -1, "line 3" },
    { "sandbox_extra_hosts = [\n\"a.example\",\n\"127.0.0.1\"]", -1, "line 3" },
    { "sandbox_extra_hosts = [[\"a.example\"]]", -1, "line 1" },
    { "sandbox_programs = \"~/bin\"", -1, "list of texts" },
    { "sandbox_programs = [\n1]", -1, "line 2" },
    { "sandbox_programs = [\n\"~/bin\",\n\"bin\"]", -1, "line 3" },
    { "sandbox_programs = [\"~ann/bin\"]", -1, "no whole path" },
    { "sandbox_programs = [\"/a\\u0007b\"]", -1, "line 1" },
    { "sandbox_provider = \"bubblewrap\"\n\0\0\0\0", 37, "line 2" },
    { "\0", 1, "line 1" },
    { "x = \"\xff\"", -1, "line 1" },
    { "not toml at all", -1, "line 1" },
    { "{\"sandbox_provider\": \"direct\"}", -1, "line 1" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;

      config_put (f->path, rows[i].text, rows[i].length);
      g_assert_null (ow_config_load (f->path, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      if (strstr (error->message, rows[i].says) == NULL)
        g_test_message ("row %" G_GSIZE_FORMAT ": %s", i, error->message);
      g_assert_nonnull (strstr (error->message, rows[i].says));
      g_assert_nonnull (strstr (error->message, f->path));
    }
}

/* What OpenShell is given is exactly what both of its engines take: one of them takes an amount
 * that it does not understand for no limit. */
static void
test_openshell (Fixture       *f,
                gconstpointer  data)
{
  static const struct {
    const char *text;
    gboolean    any_version;
    const char *cpu;
    const char *memory;
  } good[] = {
    { "", FALSE, NULL, NULL },
    { "sandbox_openshell_any_version = false", FALSE, NULL, NULL },
    { "sandbox_openshell_any_version = true", TRUE, NULL, NULL },
    { "[sandbox_limits]", FALSE, NULL, NULL },
    { "[sandbox_limits]\nfuture = 1", FALSE, NULL, NULL },
    { "[sandbox_limits]\ncpu = 2", FALSE, "2", NULL },
    { "[sandbox_limits]\ncpu = 0.5\nmemory = \"4Gi\"", FALSE, "0.5", "4Gi" },
    { "sandbox_limits = { cpu = \"500m\", memory = 1073741824 }", FALSE, "500m", "1073741824" },
    { "[sandbox_limits]\nmemory = 67108864", FALSE, NULL, "67108864" },
    { "[sandbox_limits]\nmemory = \"68M\"", FALSE, NULL, "68M" },
    { "[sandbox_limits]\nmemory = \"64Mi\"", FALSE, NULL, "64Mi" },
    { "sandbox_limits.cpu = \"1.5\"\nsandbox_limits.memory = \"512M\"", FALSE, "1.5", "512M" },
  };
  static const char * const bad[] = {
    "sandbox_openshell_any_version = \"true\"", "sandbox_openshell_any_version = 1",
    "sandbox_openshell_any_version = [true]", "[sandbox_openshell_any_version]",
    "sandbox_limits = 2", "[[sandbox_limits]]\ncpu = 2", "[sandbox_limits]\ncpu = true",
    "[sandbox_limits]\ncpu = 0", "[sandbox_limits]\ncpu = -1", "[sandbox_limits]\ncpu = 0.001",
    "[sandbox_limits]\ncpu = \"\"", "[sandbox_limits]\ncpu = \"2 \"",
    "[sandbox_limits]\ncpu = \"two\"", "[sandbox_limits]\ncpu = \"0.5m\"",
    "[sandbox_limits]\ncpu = \"1.2.3\"", "[sandbox_limits]\ncpu = \".5\"",
    "[sandbox_limits]\ncpu = \"5.\"", "[sandbox_limits]\ncpu = inf", "[sandbox_limits]\ncpu = nan",
    "[sandbox_limits]\ncpu = [2]",
    "[sandbox_limits]\ncpu = \"--privileged\"", "[sandbox_limits]\ncpu = 99999",
    "[sandbox_limits]\nmemory = 0", "[sandbox_limits]\nmemory = \"1.5Gi\"",
    "[sandbox_limits]\nmemory = \"4gb\"", "[sandbox_limits]\nmemory = \"4 Gi\"",
    "[sandbox_limits]\nmemory = -5", "[sandbox_limits]\nmemory = \"Gi\"",
    "[sandbox_limits]\nmemory = 1.5", "[sandbox_limits]\nmemory = \"9999999999999999Ti\"",
    "[sandbox_limits]\nmemory = \"4Gi\\u0000\"",
    "[sandbox_limits]\nmemory = 1", "[sandbox_limits]\nmemory = 67108863",
    "[sandbox_limits]\nmemory = \"63Mi\"", "[sandbox_limits]\nmemory = \"67M\"",
    "[sandbox_limits]\nmemory = \"65535Ki\"",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autoptr (OwConfig) config = load (f, good[i].text);

      g_assert_cmpint (ow_config_get_openshell_any_version (config), ==, good[i].any_version);
      g_assert_cmpstr (ow_config_get_sandbox_cpu (config), ==, good[i].cpu);
      g_assert_cmpstr (ow_config_get_sandbox_memory (config), ==, good[i].memory);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;

      config_put (f->path, bad[i], -1);
      if (ow_config_load (f->path, &error) != NULL)
        g_error ("%s was taken", bad[i]);
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_assert_nonnull (strstr (error->message, ", line "));
    }
}

/* A byte order mark that is not where it belongs is what the sentence is about. */
static void
test_bom (Fixture       *f,
          gconstpointer  data)
{
#define BOM "\xef\xbb\xbf"
  static const struct {
    const char *text;
    gssize      length;
    const char *says;
  } rows[] = {
    { BOM BOM "a = 1\n", -1, "(BOM) on line 1" }, { "a = 1\r\n" BOM "b = 1\r\n", -1, "(BOM) on line 2" },
    { BOM "a = 1\n\n" BOM "[b]\n", -1, "(BOM) on line 3" },
    { "\xff\xfe" "a\0 \0", 6, "UTF-16" }, { "\xfe\xff\0a", 4, "UTF-16" },
  };
  g_autoptr (OwConfig) config = load (f, BOM "sandbox_provider = \"direct\"\r\n# " BOM "\r\n");

  g_assert_cmpint (ow_config_get_provider (config), ==, OW_PROVIDER_DIRECT);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;

      config_put (f->path, rows[i].text, rows[i].length);
      g_assert_null (ow_config_load (f->path, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, rows[i].says));
    }
}

static char *
repeat (const char *text,
        guint       n)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append (out, text);
  return g_string_free (out, FALSE);
}

/* A deep table is refused before the parser makes it: it would be taken apart by
 * recursion. Each @part comes many times, between @begin and @end. */
static void
test_deep (Fixture       *f,
           gconstpointer  data)
{
  static const struct {
    const char *begin;
    const char *part;
    const char *end;
  } rows[] = {
    { "x = 1\n", "a.", "a = 1\n" }, { "x = 1\n", "a . ", "a = 1\n" },
    { "x = 1\n", "\"a\".", "a = 1\n" }, { "x = 1\n", "'a'.", "a = 1\n" },
    { "\n[", "a.", "a]\n" }, { "\n[[", "a.", "a]]\n" }, { "\nx = { ", "a.", "a = 1 }\n" },
    { "\nx = [{ ", "a.", "a = 1 }]\n" }, { "#\"\n", "a.", "a = 1\n" },
    /* Ends of strings that a careless eye takes for something else. */
    { "\nx = ['''a''''', { ", "a.", "a = 1 }]\n" }, { "\nx = ['\\', { ", "a.", "a = 1 }]\n" },
    { "\nx = [\"\"\"\\\"\"\"\"\"\", { ", "a.", "a = 1 }]\n" },
    { "\nx = [\"\\\\\", \"\", '', { ", "a.", "a = 1 }]\n" },
    { "x = 1\n", "[", "" }, { "x = ", "{ a = ", "" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *middle = repeat (rows[i].part, 100000);
      g_autofree char *text = g_strconcat (rows[i].begin, middle, rows[i].end, NULL);
      g_autoptr (GError) error = NULL;

      config_put (f->path, text, -1);
      g_assert_null (ow_config_load (f->path, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_test_message ("row %" G_GSIZE_FORMAT ": %s", i, error->message);
      if (rows[i].end[0] != '\0')
        g_assert_nonnull (strstr (error->message, "line 2: a key has too many parts"));
    }
}

/* Dots elsewhere are no parts of keys, and as deep as a file may be it is read. */
static void
test_not_deep (Fixture       *f,
               gconstpointer  data)
{
  g_autofree char *dots = g_strnfill (1000, '.');
  g_autofree char *table = repeat ("{ a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p = ", 250);
  g_autofree char *ends = repeat (" }", 250);
  g_autofree char *numbers = repeat ("1.5, ", 1000);
  g_autofree char *text = g_strdup_printf (
    "# %s\na = \"%s\"\nb = '%s'\nc = \"\"\"\n%s\n\\\"\"\"\"\"\nd = '''%s'''\n"
    "e = [%s]\nf = %s1%s\n\"%s\" = 1\n[a1.b.c]\n", dots, dots, dots, dots, dots, numbers,
    table, ends, dots);
  g_autoptr (OwConfig) config = load (f, text);

  assert_unset (config);
}

/* A file cut at any byte is either read as what it then says, or an error; where the
 * cut falls into the provider's line it is never silently unset. */
static void
test_every_cut (Fixture       *f,
                gconstpointer  data)
{
  const char *text = "sandbox_provider = \"bubblewrap\"\n";
  gsize key = strlen ("sandbox_provider = \"bubblewrap\"");

  for (gsize n = 1; n <= strlen (text); n++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwConfig) config = NULL;

      config_put (f->path, text, (gssize) n);
      config = ow_config_load (f->path, &error);
      if (n < key)
        g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      else
        g_assert_cmpint (ow_config_get_provider (config), ==, OW_PROVIDER_BUBBLEWRAP);
    }
}

static void
assert_refused (const char *path)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (ow_config_load (path, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
}

static void
test_unreadable (Fixture       *f,
                 gconstpointer  data)
{
  g_autofree char *below = g_build_filename (f->path, "config.toml", NULL);
  g_autofree char *big = g_strnfill (1024 * 1024 + 1, '#');

  config_put (f->path, big, -1);
  assert_refused (f->path);
  assert_refused (below);
  g_assert_cmpint (g_chmod (f->path, 0), ==, 0);
  if (geteuid () != 0)
    {
      assert_refused (f->path);
    }
  else
    {
      /* Root reads everything, so it is another user who may not. */
      g_assert_cmpint (seteuid (65534), ==, 0);
      assert_refused (f->path);
      g_assert_cmpint (seteuid (0), ==, 0);
      g_assert_cmpint (g_chmod (f->dir, 0755), ==, 0);
      g_assert_cmpint (seteuid (65534), ==, 0);
      assert_refused (f->path);
      g_assert_cmpint (seteuid (0), ==, 0);
    }
  g_assert_cmpint (g_unlink (f->path), ==, 0);

  g_assert_cmpint (g_mkdir (f->path, 0700), ==, 0);
  assert_refused (f->path);
  g_assert_cmpint (g_rmdir (f->path), ==, 0);

  g_assert_cmpint (mkfifo (f->path, 0600), ==, 0);
  assert_refused (f->path);
  g_assert_cmpint (g_unlink (f->path), ==, 0);

  g_assert_cmpint (symlink ("nowhere", f->path), ==, 0);
  assert_refused (f->path);
  g_assert_cmpint (g_unlink (f->path), ==, 0);

  g_assert_cmpint (symlink ("config.toml", f->path), ==, 0);
  assert_refused (f->path);
}

static void
test_hosts (void)
{
  static const struct {
    const char *text;
    const char *host;
    guint16     port;
  } rows[] = {
    { "example.com", "example.com", 443 },
    { "EXAMPLE.com:80", "example.com", 80 },
    { "*.example.com", "*.example.com", 443 },
    { "intranet", "intranet", 443 },
    { "xn--bcher-kva.example:65535", "xn--bcher-kva.example", 65535 },
    { "1.example.com", "1.example.com", 443 },
    { "", NULL, 0 }, { ":443", NULL, 0 }, { "a.example:", NULL, 0 }, { "a.example:0", NULL, 0 },
    { "a.example:65536", NULL, 0 }, { "a.example:+1", NULL, 0 }, { "a.example:0443", NULL, 0 },
    { "a.example:443:1", NULL, 0 }, { "a.example: 443", NULL, 0 }, { "a.example:99999999", NULL, 0 },
    { "a.example.", NULL, 0 }, { ".a.example", NULL, 0 }, { "a..example", NULL, 0 },
    { "-a.example", NULL, 0 }, { "a-.example", NULL, 0 }, { "a_b.example", NULL, 0 },
    { "a b.example", NULL, 0 }, { " a.example", NULL, 0 }, { "a.example\n", NULL, 0 },
    { "b\xc3\xbc" "cher.example", NULL, 0 }, { "a.example/path", NULL, 0 },
    { "https://a.example", NULL, 0 }, { "u@a.example", NULL, 0 },
    { "10.1", NULL, 0 }, { "2130706433", NULL, 0 },
    { "0x7f.1", NULL, 0 }, { "0x7f000001", NULL, 0 }, { "127.0.0.0x1", NULL, 0 },
    { "010.0.0.1", NULL, 0 }, { "017700000001", NULL, 0 }, { "10.0.0.1.", NULL, 0 },
    { "10.0.0.256", NULL, 0 }, { "[::1]443", NULL, 0 }, { "[::1", NULL, 0 },
    { "[example.com]", NULL, 0 }, { "fe80::1%lo", NULL, 0 }, { "[fe80::1%25lo]:443", NULL, 0 },
    { "http:a.example", NULL, 0 }, { "a.example?x", NULL, 0 }, { "a.example#x", NULL, 0 },
    { "a.example\\b", NULL, 0 }, { "u:p@a.example:443", NULL, 0 },
    { "a.example\t", NULL, 0 }, { "a\x01.example", NULL, 0 }, { "a.example\xff", NULL, 0 },
    { ".", NULL, 0 }, { "..", NULL, 0 }, { "a.example..", NULL, 0 },
    { "ip6-localhost", NULL, 0 }, { "localhost.localdomain", NULL, 0 },
    { "*.localhost", NULL, 0 }, { "*.10.0.0.1", NULL, 0 }, { "*example.com", NULL, 0 },
    { "localhost", NULL, 0 }, { "LocalHost:8080", NULL, 0 }, { "a.localhost", NULL, 0 },
    { "host.openshell.internal", NULL, 0 }, { "Host.Docker.Internal:80", NULL, 0 },
    { "host.containers.internal:8080", NULL, 0 }, { "*.docker.internal", NULL, 0 },
    { "*", NULL, 0 }, { "*.", NULL, 0 }, { "*.com", NULL, 0 }, { "*.*.com", NULL, 0 },
    { "a.*.com", NULL, 0 }, { "*a.example.com", NULL, 0 }, { "**.example.com", NULL, 0 },
  };
  g_autofree char *label = g_strnfill (64, 'a');
  g_autofree char *long_label = g_strconcat (label, ".example", NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwHost) host = ow_host_parse (rows[i].text, &error);

      if (rows[i].host == NULL)
        {
          if (host != NULL)
            g_test_message ("taken: \"%s\"", rows[i].text);
          g_assert_null (host);
          g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
          continue;
        }
      g_assert_no_error (error);
      g_assert_false (host->private);
      g_assert_cmpstr (host->host, ==, rows[i].host);
      g_assert_cmpuint (host->port, ==, rows[i].port);
    }
  g_assert_null (ow_host_parse (long_label, NULL));
}

/* REQ-N03: an address is taken where the form has it, and that of the machine itself never, however
 * it is written. */
static void
test_addresses (void)
{
  static const struct {
    const char *text;
    int         from; /* the least of the forms below that takes it; 3: none */
    const char *shown;
  } rows[] = {
    { "203.0.113.5", 1, "203.0.113.5:443" },
    { "203.0.113.5:8443", 1, "203.0.113.5:8443" },
    { "[2001:DB8:0::1]:8443", 1, "[2001:db8::1]:8443" },
    { "2001:db8::1", 1, "[2001:db8::1]:443" },
    { "10.0.0.1:6443", 2, "10.0.0.1:6443" }, { "172.16.0.1", 2, "172.16.0.1:443" },
    { "192.168.1.1", 2, "192.168.1.1:443" }, { "100.64.0.1", 2, "100.64.0.1:443" },
    { "[fd00::1]", 2, "[fd00::1]:443" },
    { "127.0.0.1", 3, NULL }, { "127.1.2.3:6443", 3, NULL }, { "0.0.0.0", 3, NULL },
    { "169.254.169.254:80", 3, NULL }, { "100.100.100.200", 3, NULL }, { "::", 3, NULL },
    { "224.0.0.1", 3, NULL }, { "255.255.255.255", 3, NULL }, { "::1", 3, NULL },
    { "[::1]:443", 3, NULL }, { "[fe80::1]:443", 3, NULL }, { "[::ffff:10.0.0.1]", 3, NULL },
    { "[::ffff:127.0.0.1]:443", 3, NULL }, { "[::ffff:a00:1]", 3, NULL }, { "::10.0.0.1", 3, NULL },
    { "[64:ff9b::7f00:1]", 3, NULL }, { "[2002:7f00:1::]", 3, NULL }, { "[fd00:ec2::254]", 3, NULL },
  };
  static const OwHostForm forms[] = { OW_HOST_NAME, OW_HOST_ADDRESS, OW_HOST_PRIVATE };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    for (int form = 0; form < (int) G_N_ELEMENTS (forms); form++)
      {
        g_autoptr (GError) error = NULL;
        g_autoptr (OwHost) host = ow_host_parse_as (rows[i].text, forms[form], &error);
        g_autofree char *shown = host != NULL ? ow_host_to_text (host) : NULL;

        g_test_message ("%s as %d", rows[i].text, form);
        if (form < rows[i].from)
          {
            g_assert_null (host);
            g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
            continue;
          }
        g_assert_no_error (error);
        g_assert_cmpstr (shown, ==, rows[i].shown);
        g_assert_cmpint (host->private, ==, form == 2);
        g_assert_true (ow_host_is_address (host));
      }
}

/* What is refused is said by what is wrong with it, and nothing of it reaches a terminal. */
static void
test_host_words (void)
{
  static const char * const rows[][2] = {
    { "https://a.example", "without \"https://\"" }, { "u@a.example", "without a user" },
    { "b\xc3\xbc" "cher.example", "xn--" }, { "a..example", "between two of its dots" },
    { "a.example.", "does not end in a dot" }, { "*", "stands at the front only" },
    { "a.example:0", "from 1 to 65535" }, { "2130706433", "ends in a number" },
    { "localhost", "this machine's own services" }, { "a::b::c", "in brackets" },
    { "a\x1b[2J.example", "^[" },
  };
  g_autofree char *many = g_strnfill (300, 'a');
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) why = NULL;

      g_assert_null (ow_host_parse (rows[i][0], &why));
      if (strstr (why->message, rows[i][1]) == NULL)
        g_test_message ("%s: %s", rows[i][0], why->message);
      g_assert_nonnull (strstr (why->message, rows[i][1]));
      g_assert_null (strchr (why->message, '\x1b'));
    }
  g_assert_null (ow_host_parse (many, &error));
  g_assert_cmpuint (strlen (error->message), <, 250);
}

static void
test_covers (void)
{
  static const struct {
    const char *entry;
    const char *host;
    gboolean    covers;
  } rows[] = {
    { "a.example", "a.example", TRUE }, { "a.example", "b.a.example", FALSE },
    { "a.example", "a.example:80", FALSE }, { "*.a.example", "a.example", FALSE },
    { "*.a.example", "b.a.example", TRUE }, { "*.a.example", "c.b.a.example", TRUE },
    { "*.a.example", "ba.example", FALSE }, { "10.0.0.1", "10.0.0.1", TRUE },
    { "10.0.0.1", "10.0.0.2", FALSE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (OwHost) entry = ow_host_parse_as (rows[i].entry, OW_HOST_PRIVATE, NULL);
      g_autoptr (OwHost) host = ow_host_parse_as (rows[i].host, OW_HOST_PRIVATE, NULL);
      g_autoptr (OwHost) copy = ow_host_copy (entry);

      g_assert_cmpint (ow_host_covers (entry, host), ==, rows[i].covers);
      g_assert_true (ow_host_equal (entry, copy));
      g_assert_true (copy->private);
    }
}

static void
test_names (void)
{
  OwProviderKind kind;

  for (OwProviderKind k = OW_PROVIDER_OPENSHELL; k <= OW_PROVIDER_DIRECT; k++)
    {
      g_assert_true (ow_provider_kind_from_string (ow_provider_kind_to_string (k), &kind));
      g_assert_cmpint (kind, ==, k);
    }
  g_assert_false (ow_provider_kind_from_string ("", &kind));
  g_assert_false (ow_provider_kind_from_string (NULL, &kind));
  g_assert_null (ow_provider_kind_to_string (OW_PROVIDER_UNSET));
  g_assert_cmpstr (ow_network_profile_to_string (OW_PROFILE_STRICT), ==, "strict");
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, config_set_up, func, config_tear_down)

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  ADD ("/config/nothing-set", test_nothing_set);
  ADD ("/config/values", test_values);
  ADD ("/config/S07/broken", test_broken);
  ADD ("/config/openshell", test_openshell);
  ADD ("/config/A31/read", test_bom);
  ADD ("/config/S07/deep", test_deep);
  ADD ("/config/not-deep", test_not_deep);
  ADD ("/config/S07/every-cut", test_every_cut);
  ADD ("/config/S07/unreadable", test_unreadable);
  g_test_add_func ("/config/S14/hosts", test_hosts);
  g_test_add_func ("/config/S14/N03/addresses", test_addresses);
  g_test_add_func ("/config/S14/words", test_host_words);
  g_test_add_func ("/config/S14/N01/covers", test_covers);
  g_test_add_func ("/config/names", test_names);

  return g_test_run ();
}
