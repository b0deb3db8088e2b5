/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* What is read of a kubeconfig: servers, what is not inside, and paths that are rewritten. */

#include <string.h>

#include "ow-credential-kube-private.h"

#define HOME "/home/ana"
#define FILE HOME "/.kube/config"

typedef struct {
  OwConfigCredential  *entry;
  OwCredentialFinding *finding;
  OwCredentialKube    *kube;
  GBytes              *changed;
} Fixture;

static void
set_up (Fixture       *f,
        gconstpointer  data)
{
  f->entry = ow_config_credential_new ();
  f->entry->name = g_strdup ("kube");
  f->entry->path = g_strdup (".kube");
  f->entry->built_in = TRUE;
  f->finding = ow_credential_finding_new (f->entry, HOME);
  f->kube = ow_credential_kube_new (f->finding);
}

static void
tear_down (Fixture       *f,
           gconstpointer  data)
{
  ow_credential_kube_free (f->kube);
  ow_credential_finding_free (f->finding);
  ow_config_credential_free (f->entry);
  g_clear_pointer (&f->changed, g_bytes_unref);
}

static void
restart (Fixture *f)
{
  g_clear_pointer (&f->changed, g_bytes_unref);
  ow_credential_kube_free (f->kube);
  ow_credential_finding_free (f->finding);
  f->finding = ow_credential_finding_new (f->entry, HOME);
  f->kube = ow_credential_kube_new (f->finding);
}

static void
consent (Fixture    *f,
         const char *host)
{
  OwHost *parsed = ow_host_parse_as (host, OW_HOST_ADDRESS | OW_HOST_PRIVATE, NULL);

  g_assert_nonnull (parsed);
  g_ptr_array_add (f->entry->private_hosts, parsed);
}

static gboolean
try_read (Fixture    *f,
          const char *path,
          const char *text,
          GError    **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

  g_clear_pointer (&f->changed, g_bytes_unref);
  return ow_credential_kube_read (f->kube, path, bytes, &f->changed, error);
}

static void
read_one (Fixture    *f,
          const char *text)
{
  g_autoptr (GError) error = NULL;

  try_read (f, FILE, text, &error);
  g_assert_no_error (error);
  ow_credential_kube_finish (f->kube);
}

static char *
list_hosts (GPtrArray *hosts)
{
  GString *list = g_string_new (NULL);

  for (guint i = 0; i < hosts->len; i++)
    {
      g_autofree char *text = ow_host_to_text (g_ptr_array_index (hosts, i));

      g_string_append_printf (list, "%s%s", i == 0 ? "" : " ", text);
    }
  return g_string_free (list, FALSE);
}

static void
assert_hosts (Fixture    *f,
              const char *opened,
              const char *waiting)
{
  g_autofree char *hosts = list_hosts (f->finding->hosts);
  g_autofree char *consents = list_hosts (f->finding->consent);

  g_assert_cmpstr (hosts, ==, opened);
  g_assert_cmpstr (consents, ==, waiting);
}

static char *
join_notes (Fixture *f)
{
  return ow_credential_finding_join (f->finding->notes, "\n", 100);
}

static void
assert_note (Fixture    *f,
             const char *part)
{
  g_autofree char *notes = join_notes (f);

  if (strstr (notes, part) == NULL)
    g_error ("\"%s\" is not in \"%s\"", part, notes);
}

static void
assert_usable (Fixture  *f,
               gboolean  usable)
{
  g_assert_cmpuint (f->finding->works->len, ==, usable ? 1 : 0);
}

#define CLUSTER(name, server) "- name: " name "\n  cluster:\n    server: " server "\n"
#define CONTEXT(name, cluster, user) "- name: " name "\n  context: {cluster: " cluster ", user: " user \
        "}\n"

/* The fixture of the report. */
static const char three[] =
  "apiVersion: v1\n"
  "kind: Config\n"
  "current-context: mini\n"
  "clusters:\n"
  "- cluster:\n"
  "    certificate-authority-data: QQ==\n"
  "    server: https://[2001:db8::7]\n"
  "  name: six\n"
  "- cluster:\n"
  "    certificate-authority-data: QQ==\n"
  "    server: https://API.example.com:6443/with/a/path\n"
  "  name: far\n"
  "- cluster:\n"
  "    certificate-authority: " HOME "/.minikube/ca.crt\n"
  "    server: https://localhost:8443\n"
  "  name: mini\n"
  "contexts:\n"
  CONTEXT ("six", "six", "token") CONTEXT ("far", "far", "token") CONTEXT ("mini", "mini", "mini")
  "users:\n"
  "- name: token\n"
  "  user: {token: secret-of-ana}\n"
  "- name: mini\n"
  "  user:\n"
  "    client-certificate: " HOME "/.minikube/profiles/mini/client.crt\n"
  "    client-key: ../.minikube/profiles/mini/client.key\n";

static void
test_three_clusters (Fixture       *f,
                     gconstpointer  data)
{
  g_autofree char *notes = NULL;

  read_one (f, three);
  assert_hosts (f, "[2001:db8::7]:443 api.example.com:6443", "");
  assert_usable (f, TRUE);
  assert_note (f, "cluster \"mini\" is not opened: \"localhost:8443\"");
  assert_note (f, "outside ~/.kube: ~/.minikube/ca.crt, ~/.minikube/profiles/mini/client.crt, "
               "~/.minikube/profiles/mini/client.key");
  assert_note (f, "current context \"mini\"");
  g_assert_null (f->changed);
  notes = join_notes (f);
  g_assert_null (strstr (notes, "secret-of-ana"));
}

static void
test_json (Fixture       *f,
           gconstpointer  data)
{
  read_one (f, "{\n\t\"apiVersion\": \"v1\",\n\t\"clusters\":[{\"name\":\"a\",\"cluster\":{\"server\":"
            "\"https:\\/\\/a.example:6443\"}}],\"contexts\":[{\"name\":\"a\",\"context\":"
            "{\"cluster\":\"a\",\"user\":\"u\"}}],\n\t\"users\":[{\"name\":\"u\",\"user\":"
            "{\"token\":\"t\"}}]}\n");
  assert_hosts (f, "a.example:6443", "");
  assert_usable (f, TRUE);
  g_assert_cmpuint (f->finding->notes->len, ==, 0);
}

/* Never, whatever was consented to: this machine, its links, metadata of clouds, all names, and
 * what is no host. */
static void
test_never (Fixture       *f,
            gconstpointer  data)
{
  static const char * const servers[] = {
    "https://localhost:6443", "https://127.0.0.1", "https://127.8.9.1:6443", "https://[::1]:6443",
    "https://0.0.0.0:6443", "https://[::]:6443", "https://169.254.169.254", "http://169.254.169.254/x",
    "https://169.254.1.1:6443", "https://[fe80::1]:6443", "https://[fe80::1%25eth0]:6443",
    "https://[::ffff:127.0.0.1]:6443", "https://[::ffff:10.0.0.1]:6443", "https://[fd00:ec2::254]",
    "https://kubernetes.docker.internal:6443", "https://host.docker.internal:6443",
    "https://x.localhost:6443", "https://ip6-localhost:6443", "https://2130706433:6443",
    "https://0x7f.1:6443", "https://127.1:6443", "https://0177.0.0.1:6443", "https://224.0.0.1:6443",
    "https://255.255.255.255:6443", "https://*.example.com:6443", "https://*", "\"https://*.com\"",
    "https://example.com:0", "https://example.com:65536", "https://example.com:-1",
    "https://user@example.com:6443", "https://a:b@example.com", "ftp://example.com",
    "unix:///var/run/docker.sock", "file:///etc/passwd", "https://", "https:///x", "''", "~",
    "https://exa%6dple.com", "https://example.com.:6443", "\"https://example.com\\nx\"",
    "\"https://\\u2025example.com\"", "[https://example.com]", "{a: https://example.com}",
    "https://example.com:6443:6444", "https://%31%32%37.0.0.1",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (servers); i++)
    {
      g_autofree char *text = g_strdup_printf ("clusters:\n- name: c\n  cluster:\n    server: %s\n",
                                               servers[i]);
      g_autoptr (GError) error = NULL;

      restart (f);
      g_test_message ("%s", servers[i]);
      if (try_read (f, FILE, text, &error))
        ow_credential_kube_finish (f->kube);
      assert_hosts (f, "", "");
      assert_usable (f, FALSE);
      g_assert_true (f->finding->notes->len > 0 || error != NULL);
    }
}

static void
test_private (Fixture       *f,
              gconstpointer  data)
{
  static const char text[] = "clusters:\n"
                             CLUSTER ("a", "https://10.0.0.5:6443") CLUSTER ("b", "https://[fd00::2]")
                             CLUSTER ("c", "https://100.64.1.1:6443") CLUSTER ("d", "https://192.168.1.2")
                             CLUSTER ("e", "https://k8s.corp.example:6443");

  read_one (f, text);
  assert_hosts (f, "k8s.corp.example:6443",
                "10.0.0.5:6443 [fd00::2]:443 100.64.1.1:6443 192.168.1.2:443");
  assert_note (f, "cluster \"a\" is at the private address 10.0.0.5:6443, which is not opened "
               "without your consent");
  g_assert_false (((OwHost *) g_ptr_array_index (f->finding->hosts, 0))->private);

  /* At that port, and for a name too, whose address only the proxy sees. */
  consent (f, "10.0.0.5:6443");
  consent (f, "192.168.1.2:6443");
  consent (f, "k8s.corp.example:6443");
  restart (f);
  read_one (f, text);
  assert_hosts (f, "10.0.0.5:6443 k8s.corp.example:6443",
                "[fd00::2]:443 100.64.1.1:6443 192.168.1.2:443");
  for (guint i = 0; i < f->finding->hosts->len; i++)
    g_assert_true (((OwHost *) g_ptr_array_index (f->finding->hosts, i))->private);
}

/* Consent opens what the file has, and nothing that it has not. */
static void
test_consent_alone_opens_nothing (Fixture       *f,
                                  gconstpointer  data)
{
  consent (f, "10.0.0.5:6443");
  restart (f);
  read_one (f, "clusters:\n" CLUSTER ("a", "https://a.example"));
  assert_hosts (f, "a.example:443", "");
}

/* Where a server says no port: as kubectl does. */
static void
test_ports (Fixture       *f,
            gconstpointer  data)
{
  static const struct { const char *cluster; const char *hosts; } cases[] = {
    { "{server: 'https://a.example'}", "a.example:443" },
    { "{server: 'http://a.example'}", "a.example:80" },
    { "{server: 'HTTPS://a.example/'}", "a.example:443" },
    { "{server: 'a.example:6443'}", "a.example:6443" },
    { "{server: a.example}", "a.example:80" },
    { "{server: a.example, certificate-authority-data: QQ==}", "a.example:443" },
    { "{server: a.example, insecure-skip-tls-verify: true}", "a.example:443" },
    { "{server: 'https://a.example', tls-server-name: b.example}", "a.example:443" },
    { "{server: 'https://203.0.113.9'}", "203.0.113.9:443" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = g_strdup_printf ("clusters: [{name: c, cluster: %s}]\n",
                                               cases[i].cluster);

      restart (f);
      read_one (f, text);
      assert_hosts (f, cases[i].hosts, "");
      g_assert_cmpuint (f->finding->notes->len, ==, 0);
    }
}

static void
test_proxy (Fixture       *f,
            gconstpointer  data)
{
  read_one (f, "clusters: [{name: c, cluster: {server: 'https://a.example', proxy-url: "
            "'socks5://127.0.0.1:1080'}}]\n");
  assert_hosts (f, "", "");
  assert_usable (f, FALSE);
  assert_note (f, "cluster \"c\" goes through a proxy of its own (proxy-url)");
}

static void
test_helpers (Fixture       *f,
              gconstpointer  data)
{
  read_one (f, "clusters:\n" CLUSTER ("c", "https://a.example")
            "contexts:\n" CONTEXT ("c", "c", "eks")
            "users:\n- name: eks\n  user:\n    exec:\n      apiVersion: v1\n      command: aws\n"
            "      args: [eks, get-token]\n"
            "- name: old\n  user: {auth-provider: {name: gcp, config: {access-token: secret}}}\n");
  assert_hosts (f, "a.example:443", "");
  assert_usable (f, TRUE);
  assert_note (f, "user \"eks\" logs in with \"aws\": its helper program is not inside");
  assert_note (f, "user \"old\" logs in with \"gcp\": its helper program is not inside");
}

/* Nothing works where the only user's files are elsewhere. */
static void
test_files_elsewhere (Fixture       *f,
                      gconstpointer  data)
{
  read_one (f, "clusters:\n" CLUSTER ("c", "https://a.example")
            "contexts:\n" CONTEXT ("c", "c", "u")
            "users:\n- name: u\n  user: {client-certificate: /etc/k/a.crt, client-key: /etc/k/a.key}\n");
  assert_usable (f, FALSE);
  assert_note (f, "not shared, because outside ~/.kube: /etc/k/a.crt, /etc/k/a.key");

  /* With the certificate in the file itself it does. */
  restart (f);
  read_one (f, "clusters:\n" CLUSTER ("c", "https://a.example")
            "contexts:\n" CONTEXT ("c", "c", "u")
            "users:\n- name: u\n  user: {tokenFile: /etc/k/t, client-key-data: QQ==}\n");
  assert_usable (f, TRUE);
}

/* Nobody logs in as a user that is not there, or that is only a name. */
static void
test_no_user (Fixture       *f,
              gconstpointer  data)
{
  static const char * const users[] = {
    "", "users: []\n", "users: [{name: u, user: {}}]\n", "users: [{name: other, user: {token: t}}]\n",
    "users: [{name: u, user: {token: ''}}]\n", "users: [{name: u, user: {as: admin}}]\n",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (users); i++)
    {
      g_autofree char *text = g_strconcat ("clusters:\n" CLUSTER ("c", "https://a.example")
                                           "contexts:\n" CONTEXT ("c", "c", "u"), users[i], NULL);

      restart (f);
      read_one (f, text);
      assert_usable (f, FALSE);
      assert_note (f, "user \"u\" has no login that is inside");
    }
}

static void
assert_changed (Fixture    *f,
                const char *expected)
{
  gsize length;
  const char *data;

  g_assert_nonnull (f->changed);
  data = g_bytes_get_data (f->changed, &length);
  g_assert_cmpmem (data, length, expected, strlen (expected));
}

/* Whole paths into ~/.kube lead to the copy; no other byte is touched. */
static void
test_paths (Fixture       *f,
            gconstpointer  data)
{
  g_autoptr (GError) error = NULL;

  read_one (f, "# é 🙂 before\r\nclusters:\r\n- name: \"ü\"\r\n  cluster:\r\n"
            "    server: https://a.example\r\n"
            "    certificate-authority: \"" HOME "/.kube/certs/ca é.crt\"   # after\r\n"
            "users:\r\n- name: u\r\n  user: {client-certificate: '" HOME "/.kube/./a.crt', "
            "client-key: a.key, tokenFile: " HOME "/.kube/t}\r\n");
  assert_changed (f, "# é 🙂 before\r\nclusters:\r\n- name: \"ü\"\r\n  cluster:\r\n"
                  "    server: https://a.example\r\n"
                  "    certificate-authority: \"certs/ca é.crt\"   # after\r\n"
                  "users:\r\n- name: u\r\n  user: {client-certificate: \"a.crt\", "
                  "client-key: a.key, tokenFile: \"t\"}\r\n");
  g_assert_cmpuint (f->finding->notes->len, ==, 0);

  /* Behind a byte order mark. */
  restart (f);
  read_one (f, "\xef\xbb\xbf" "clusters: [{name: c, cluster: {server: 'https://b.example', "
            "certificate-authority: " HOME "/.kube/ca}}]\n");
  assert_changed (f, "\xef\xbb\xbf" "clusters: [{name: c, cluster: {server: 'https://b.example', "
                  "certificate-authority: \"ca\"}}]\n");
  assert_hosts (f, "b.example:443", "");

  /* A file in a folder below. */
  try_read (f, HOME "/.kube/work/deep/c.yaml", "clusters: [{name: c, cluster: {server: "
            "'https://b.example', certificate-authority: \"" HOME "/.kube/work/ca\\\"1.crt\"}}]\n",
            &error);
  g_assert_no_error (error);
  assert_changed (f, "clusters: [{name: c, cluster: {server: 'https://b.example', "
                  "certificate-authority: \"../ca\\\"1.crt\"}}]\n");
}

/* Contexts may name what another file has. */
static void
test_several_files (Fixture       *f,
                    gconstpointer  data)
{
  g_autoptr (GError) error = NULL;

  try_read (f, FILE, "current-context: c\ncontexts:\n" CONTEXT ("c", "c", "u"), &error);
  g_assert_no_error (error);
  try_read (f, HOME "/.kube/clusters", "clusters:\n" CLUSTER ("c", "https://a.example")
            "users: [{name: u, user: {token: t}}]\n", &error);
  g_assert_no_error (error);
  ow_credential_kube_finish (f->kube);
  assert_hosts (f, "a.example:443", "");
  assert_usable (f, TRUE);
  g_assert_cmpuint (f->finding->notes->len, ==, 0);
}

/* kubectl reads the first document, so the second opens nothing. */
static void
test_documents (Fixture       *f,
                gconstpointer  data)
{
  read_one (f, "---\nclusters:\n" CLUSTER ("a", "https://a.example") "---\nclusters:\n"
            CLUSTER ("b", "https://b.example") "---\n*nothing\n");
  assert_hosts (f, "a.example:443", "");
}

static char *
repeat (const char *text,
        guint       n)
{
  GString *all = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append (all, text);
  return g_string_free (all, FALSE);
}

static void
test_broken (Fixture       *f,
             gconstpointer  data)
{
  static const struct { const char *text; const char *why; } cases[] = {
    { "clusters:\n- name: [\n", "line " },
    { "a: 1\nb: &x [1]\nc: *x\n", "line 3: an alias" },
    { "a: 1\nclusters: []\na: 2\n", "line 3: a key that stands twice" },
    { "a: {b: 1,\n \"b\": 2}\n", "line 2: a key that stands twice" },
    { "? [a, b]\n: c\n", "line 1: a key that is no text" },
    { "- a\n- b\n", "line 1: it is no kubeconfig" },
    { "just text\n", "line 1: it is no kubeconfig" },
    { "", "line 1: there is nothing in it" },
    { "# only a comment\n", "line 1: there is nothing in it" },
    { "a: \"\\0\"\n", "line 1: a NUL" },
    { "\xff\xfe", "line 1: it is no text in UTF-8" },
    { "a:\n\t- b\n", "line 2: " },
    { "{\"clusters\": [", "line " },
  };
  g_autofree char *deep = repeat ("[", 40);
  g_autofree char *bomb = repeat ("[", 100000);
  g_autofree char *wide = repeat ("- a\n", 20001);
  const char *texts[] = { deep, bomb, wide };
  static const char * const whys[] = { "line 1: more than 32 levels", "line 1: more than 32 levels",
                                       "line 20000: more than 20,000 values" };

  for (gsize i = 0; i < G_N_ELEMENTS (cases) + G_N_ELEMENTS (texts); i++)
    {
      gsize j = i - MIN (i, G_N_ELEMENTS (cases));
      gboolean given = i < G_N_ELEMENTS (cases);
      g_autoptr (GError) error = NULL;

      g_assert_false (try_read (f, FILE, given ? cases[i].text : texts[j], &error));
      g_test_message ("%s", error->message);
      g_assert_true (g_str_has_prefix (error->message, given ? cases[i].why : whys[j]));
      assert_hosts (f, "", "");
    }
}

static void
test_many (Fixture       *f,
           gconstpointer  data)
{
  g_autoptr (GString) text = g_string_new ("clusters:\n");

  for (guint i = 0; i < 300; i++)
    g_string_append_printf (text, "- {name: c%u, cluster: {server: 'https://c%u.example'}}\n", i, i);
  read_one (f, text->str);
  g_assert_cmpuint (f->finding->hosts->len, ==, 256);
  assert_note (f, "more than 256 servers");
}

static void
test_too_large (Fixture       *f,
                gconstpointer  data)
{
  g_autofree char *text = repeat ("# 15 characters\n", 65537);
  g_autoptr (GError) error = NULL;

  g_assert_false (try_read (f, FILE, text, &error));
  g_assert_nonnull (strstr (error->message, "larger than 1 MiB"));
}

/* Kinds that are not what they should be open nothing and stop nothing. */
static void
test_odd (Fixture       *f,
          gconstpointer  data)
{
  static const char * const texts[] = {
    "clusters: text\n", "clusters: {a: b}\n", "clusters: [a, [b], {cluster: text}, {cluster: []}]\n",
    "clusters: [{cluster: {server: {a: b}}}]\n", "users: [{user: {exec: text}}]\n",
    "users: [{name: [a], user: {client-key: [a]}}]\n", "contexts: [{context: {cluster: [a]}}]\n",
    "current-context: [a]\n", "clusters: ~\nusers: null\ncontexts: ''\n", "{}\n",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      restart (f);
      read_one (f, texts[i]);
      assert_hosts (f, "", "");
      assert_usable (f, FALSE);
    }
}

/* What a file calls its things cannot play with a terminal, nor fill a page. */
static void
test_shown (Fixture       *f,
            gconstpointer  data)
{
  g_autofree char *long_name = repeat ("x", 5000);
  g_autofree char *text = g_strdup_printf ("clusters:\n- name: \"\\e[31m\\u202e%s\"\n  cluster: "
                                           "{server: 'https://localhost'}\n", long_name);
  g_autofree char *notes = NULL;

  read_one (f, text);
  notes = join_notes (f);
  g_assert_null (strchr (notes, '\033'));
  g_assert_null (strstr (notes, "\u202e"));
  g_assert_cmpuint (strlen (notes), <, 500);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

#define ADD(path, function) \
        g_test_add ("/kube/" path, Fixture, NULL, set_up, function, tear_down)
  ADD ("A30/three-clusters", test_three_clusters);
  ADD ("A30/files-elsewhere", test_files_elsewhere);
  ADD ("S14/never", test_never);
  ADD ("S14/private", test_private);
  ADD ("S14/consent-alone", test_consent_alone_opens_nothing);
  ADD ("S19/helpers", test_helpers);
  ADD ("S19/no-user", test_no_user);
  ADD ("json", test_json);
  ADD ("ports", test_ports);
  ADD ("proxy", test_proxy);
  ADD ("paths", test_paths);
  ADD ("several-files", test_several_files);
  ADD ("documents", test_documents);
  ADD ("broken", test_broken);
  ADD ("too-large", test_too_large);
  ADD ("many", test_many);
  ADD ("odd", test_odd);
  ADD ("shown", test_shown);
#undef ADD

  return g_test_run ();
}
