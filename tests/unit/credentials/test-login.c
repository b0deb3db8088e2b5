/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* What each entry would give a sandbox, in homes of the tests' own, and what sharing it writes. */

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-file.h"
#include "ow-credential-login-private.h"

#define SECONDS 30

typedef struct {
  char               *base;
  char               *home;
  char               *copy;
  OwConfigCredential *entry;
  OwCredentialLogin  *login;
  GPtrArray          *environment;
  const char         *kubeconfig;
} Fixture;

static void
set_up (Fixture       *f,
        gconstpointer  data)
{
  f->base = g_dir_make_tmp ("login-XXXXXX", NULL);
  f->home = g_build_filename (f->base, "home", NULL);
  f->copy = g_build_filename (f->base, "copy", NULL);
  f->environment = g_ptr_array_new_with_free_func (g_free);
  g_assert_cmpint (g_mkdir (f->home, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (f->copy, 0700), ==, 0);
}

static void
tear_down (Fixture       *f,
           gconstpointer  data)
{
  ow_file_remove_tree (f->base, NULL);
  ow_credential_login_free (f->login);
  ow_config_credential_free (f->entry);
  g_ptr_array_unref (f->environment);
  g_free (f->base);
  g_free (f->home);
  g_free (f->copy);
}

static void
use_entry (Fixture    *f,
           const char *name)
{
  g_autoptr (OwConfig) config = ow_config_load ("/nonexistent/config.toml", NULL);
  const OwConfigCredential *built_in = ow_config_find_credential (config, name);

  ow_config_credential_free (f->entry);
  f->entry = ow_config_credential_new ();
  f->entry->name = g_strdup (name);
  f->entry->path = g_strdup (built_in == NULL ? ".npmrc" : built_in->path);
  f->entry->built_in = built_in != NULL;
  for (guint i = 0; built_in != NULL && i < built_in->hosts->len; i++)
    g_ptr_array_add (f->entry->hosts, ow_host_copy (g_ptr_array_index (built_in->hosts, i)));
}

static void
put (Fixture    *f,
     const char *path,
     const char *text)
{
  g_autofree char *whole = g_build_filename (f->home, path, NULL);
  g_autofree char *dir = g_path_get_dirname (whole);

  g_assert_cmpint (g_mkdir_with_parents (dir, 0700), ==, 0);
  g_assert_true (g_file_set_contents (whole, text, -1, NULL));
}

static const char *
look (Fixture *f)
{
  ow_credential_login_free (f->login);
  f->login = ow_credential_login_look (f->entry, f->home, f->kubeconfig,
                                       g_get_monotonic_time () + SECONDS * G_TIME_SPAN_SECOND);
  return f->login->sentence;
}

static const char *
share (Fixture *f)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwCredentialCopy) copy =
    ow_credential_copy_new (f->home, f->copy, geteuid (), getegid (),
                            g_get_monotonic_time () + SECONDS * G_TIME_SPAN_SECOND, NULL, &error);

  g_assert_no_error (error);
  ow_credential_login_free (f->login);
  g_ptr_array_set_size (f->environment, 0);
  f->login = ow_credential_login_share (copy, f->entry, f->kubeconfig, f->environment);
  g_assert_no_error (copy->failure);
  return f->login->sentence;
}

static void
assert_says (const char *sentence,
             const char *part)
{
  if (strstr (sentence, part) == NULL)
    g_error ("\"%s\" is not in \"%s\"", part, sentence);
}

static void
assert_use (Fixture         *f,
            OwCredentialUse  use,
            const char      *hosts)
{
  g_autoptr (GString) list = g_string_new (NULL);

  for (guint i = 0; i < f->login->hosts->len; i++)
    {
      g_autofree char *text = ow_host_to_text (g_ptr_array_index (f->login->hosts, i));

      g_string_append_printf (list, "%s%s", i == 0 ? "" : " ", text);
    }
  g_assert_cmpstr (ow_credential_use_to_string (f->login->use), ==,
                   ow_credential_use_to_string (use));
  g_assert_cmpstr (list->str, ==, hosts);
}

static const char *
get_variable (Fixture    *f,
              const char *name)
{
  gsize length = strlen (name);

  for (guint i = 0; i < f->environment->len; i++)
    {
      const char *variable = g_ptr_array_index (f->environment, i);

      if (strncmp (variable, name, length) == 0 && variable[length] == '=')
        return variable + length + 1;
    }
  return NULL;
}

static void
assert_path (Fixture    *f,
             const char *name,
             const char *path)
{
  g_autofree char *whole = g_build_filename (f->copy, path, NULL);

  g_assert_cmpstr (get_variable (f, name), ==, whole);
}

/* --- gh --- */

#define GH_HOSTS "api.github.com:443 github.com:443"

static void
test_gh_keyring (Fixture       *f,
                 gconstpointer  data)
{
  use_entry (f, "gh");
  put (f, ".config/gh/hosts.yml", "github.com:\n    git_protocol: https\n    users:\n        ana:\n"
       "    user: ana\n");
  assert_says (look (f), "login is in the keyring, nothing to copy");
  assert_use (f, OW_CREDENTIAL_USE_NOTHING, "");
  assert_says (share (f), "Nothing usable to share: github.com: login is in the keyring");
  assert_use (f, OW_CREDENTIAL_USE_NOTHING, "");
  g_assert_cmpuint (f->environment->len, ==, 0);
}

static void
test_gh_token (Fixture       *f,
               gconstpointer  data)
{
  static const char * const texts[] = {
    "github.com:\n    oauth_token: gho_x\n    user: ana\n    git_protocol: https\n",
    "github.com:\n    users:\n        ana:\n            oauth_token: gho_x\n    user: ana\n",
    "github.com: {\"oauth_token\": \"gho_x\"}\n",
  };

  use_entry (f, "gh");
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      put (f, ".config/gh/hosts.yml", texts[i]);
      g_assert_cmpstr (look (f), ==, "Lets the agent use gh: pull requests, issues, releases.");
      assert_use (f, OW_CREDENTIAL_USE_ALL, GH_HOSTS);
      share (f);
      assert_path (f, "GH_CONFIG_DIR", ".config/gh");
      g_assert_cmpstr (get_variable (f, "GIT_CONFIG_COUNT"), ==, "1");
      g_assert_cmpstr (get_variable (f, "GIT_CONFIG_KEY_0"), ==,
                       "credential.https://github.com.helper");
    }
}

static void
test_gh_enterprise (Fixture       *f,
                    gconstpointer  data)
{
  use_entry (f, "gh");
  put (f, ".config/gh/hosts.yml", "github.com:\n    oauth_token: a\ngit.corp.example:\n"
       "    oauth_token: b\nother.example:\n    user: ana\n");
  assert_says (look (f), "git.corp.example is not opened until it is among sandbox_extra_hosts");
  assert_says (f->login->sentence, "other.example: login is in the keyring");
  assert_use (f, OW_CREDENTIAL_USE_PART, GH_HOSTS);
}

static void
test_gh_nothing (Fixture       *f,
                 gconstpointer  data)
{
  use_entry (f, "gh");
  assert_says (look (f), "there is no login in ~/.config/gh");
  assert_use (f, OW_CREDENTIAL_USE_MISSING, "");
  put (f, ".config/gh/hosts.yml", "");
  assert_says (look (f), "gh is not logged in");
  put (f, ".config/gh/hosts.yml", "{}\n");
  assert_says (look (f), "gh is not logged in");
  put (f, ".config/gh/hosts.yml", "github.com:\n  user: [\n");
  assert_says (look (f), "~/.config/gh/hosts.yml cannot be read: line ");
  assert_use (f, OW_CREDENTIAL_USE_NOTHING, "");
}

/* --- aws --- */

static void
test_aws_keys (Fixture       *f,
               gconstpointer  data)
{
  use_entry (f, "aws");
  put (f, ".aws/credentials", "[default]\naws_access_key_id = AKIA\naws_secret_access_key=x\n"
       "# a comment\n; another\n\n[work]\nAWS_ACCESS_KEY_ID=AKIB\n");
  put (f, ".aws/config", "[default]\nregion = eu-central-1\ns3 =\n  max_concurrent_requests = 2\n"
       "[profile chain]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = default\n");
  g_assert_cmpstr (look (f), ==, "Lets the agent use aws with your profiles.");
  assert_use (f, OW_CREDENTIAL_USE_ALL, "*.amazonaws.com:443");
  share (f);
  assert_path (f, "AWS_CONFIG_FILE", ".aws/config");
  assert_path (f, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
}

static void
test_aws_helpers (Fixture       *f,
                  gconstpointer  data)
{
  use_entry (f, "aws");
  put (f, ".aws/config", "[profile vault]\ncredential_process = /opt/bin/vault --secret abc\n"
       "[profile chain]\nrole_arn = arn\nsource_profile = vault\n"
       "[profile ec2]\nrole_arn = arn\ncredential_source = Ec2InstanceMetadata\n"
       "[profile web]\nweb_identity_token_file = /var/run/token\n"
       "[profile china]\nregion = cn-north-1\n"
       "[profile own]\nendpoint_url = https://ana:abc/d@s3.example/x\n");
  assert_says (look (f), "profile \"vault\" asks \"/opt/bin/vault\": its helper program is not inside");
  assert_says (f->login->sentence, "profile \"ec2\" logs in by Ec2InstanceMetadata");
  assert_says (f->login->sentence, "/var/run/token");
  assert_says (f->login->sentence, "cn-north-1");
  assert_says (f->login->sentence, "profile \"own\" asks https://…s3.example/x");
  g_assert_null (strstr (f->login->sentence, "abc"));
  /* Copied, because the person has it so, and said. */
  assert_use (f, OW_CREDENTIAL_USE_PART, "*.amazonaws.com:443");
}

static void
test_aws_sso (Fixture       *f,
              gconstpointer  data)
{
  use_entry (f, "aws");
  put (f, ".aws/config", "[profile dev]\nsso_session = corp\nsso_account_id = 1\n"
       "[sso-session corp]\nsso_start_url = https://corp.awsapps.com/start\nsso_region = eu-west-1\n");
  assert_says (look (f), "you are not signed in: run \"aws sso login\" first");
  assert_use (f, OW_CREDENTIAL_USE_NOTHING, "");
  put (f, ".aws/sso/cache/0123.json", "{}");
  assert_says (look (f), "works until it expires");
  assert_use (f, OW_CREDENTIAL_USE_PART, "*.amazonaws.com:443");
}

static void
test_aws_broken (Fixture       *f,
                 gconstpointer  data)
{
  use_entry (f, "aws");
  put (f, ".aws/config", "[default\nregion = x\n");
  assert_says (look (f), "~/.aws/config cannot be read: line 1");
  assert_use (f, OW_CREDENTIAL_USE_NOTHING, "");
  put (f, ".aws/config", "[default]\nregion = x\nnothing\n");
  assert_says (look (f), "line 3");
  put (f, ".aws/config", "region = x\n");
  assert_says (look (f), "line 1");
  put (f, ".aws/credentials", "[default]\naws_access_key_id=a\n");
  assert_says (look (f), "Lets the agent use aws with your profiles; ~/.aws/config cannot be read");
}

/* --- kube --- */

#define CLUSTER "clusters: [{name: c, cluster: {server: 'https://a.example:6443'}}]\n"

static void
test_kube_share (Fixture       *f,
                 gconstpointer  data)
{
  g_autofree char *text = g_strdup_printf (CLUSTER "users: [{name: u, user: {tokenFile: %s/.kube/t}}]\n",
                                           f->home);
  g_autofree char *written = g_build_filename (f->copy, ".kube/config", NULL);
  g_autofree char *content = NULL;
  struct stat st;

  use_entry (f, "kube");
  put (f, ".kube/config", text);
  g_assert_cmpstr (share (f), ==, "Lets the agent use kubectl with your clusters.");
  assert_use (f, OW_CREDENTIAL_USE_ALL, "a.example:6443");
  assert_path (f, "KUBECONFIG", ".kube/config");
  g_assert_true (g_file_get_contents (written, &content, NULL, NULL));
  g_assert_cmpstr (content, ==, CLUSTER "users: [{name: u, user: {tokenFile: \"t\"}}]\n");
  g_assert_cmpint (lstat (written, &st), ==, 0);
  g_assert_cmpuint (st.st_mode, ==, S_IFREG | 0600);
}

/* What cannot be used is not copied. */
static void
test_kube_nothing (Fixture       *f,
                   gconstpointer  data)
{
  g_autofree char *written = g_build_filename (f->copy, ".kube", NULL);

  use_entry (f, "kube");
  assert_says (look (f), "there is no login in ~/.kube");
  assert_use (f, OW_CREDENTIAL_USE_MISSING, "");
  put (f, ".kube/config", "clusters: [{name: c, cluster: {server: 'https://10.0.0.1:6443'}}]\n");
  assert_says (share (f), "without your consent");
  assert_use (f, OW_CREDENTIAL_USE_NOTHING, "");
  g_assert_cmpuint (f->login->consent->len, ==, 1);
  g_assert_cmpuint (f->environment->len, ==, 0);
  g_assert_false (g_file_test (written, G_FILE_TEST_EXISTS));
  put (f, ".kube/config", "clusters: [\n- a: *b\n");
  assert_says (share (f), "~/.kube/config cannot be read: line 2");
  assert_use (f, OW_CREDENTIAL_USE_NOTHING, "");
  g_assert_false (g_file_test (written, G_FILE_TEST_EXISTS));
}

static void
test_kube_variable (Fixture       *f,
                    gconstpointer  data)
{
  g_autofree char *list = g_strdup_printf ("%s/.kube/work/a.yaml::%s/elsewhere.yaml:relative:%s/.kube/"
                                           "../out:%s/.kube/b", f->home, f->home, f->home, f->home);
  g_autofree char *expected = g_strdup_printf ("%s/.kube/work/a.yaml:%s/.kube/b", f->copy, f->copy);

  use_entry (f, "kube");
  put (f, ".kube/config", "clusters: [{name: z, cluster: {server: 'https://not-used.example'}}]\n");
  put (f, ".kube/work/a.yaml", CLUSTER);
  put (f, ".kube/b", "clusters: [{name: d, cluster: {server: 'https://d.example'}}]\n");
  put (f, "elsewhere.yaml", CLUSTER);
  f->kubeconfig = list;
  assert_says (share (f), "KUBECONFIG names ~/elsewhere.yaml, which is outside ~/.kube");
  assert_use (f, OW_CREDENTIAL_USE_PART, "a.example:6443 d.example:443");
  g_assert_cmpstr (get_variable (f, "KUBECONFIG"), ==, expected);

  /* Where it names none of the entry's, the one that kubectl has by itself. */
  f->kubeconfig = "/etc/rancher/k3s.yaml";
  assert_says (share (f), "KUBECONFIG names /etc/rancher/k3s.yaml");
  assert_use (f, OW_CREDENTIAL_USE_PART, "not-used.example:443");
}

/* --- what lies there --- */

/* A pipe, a device, a folder and a link that leads nowhere: said, at once, whichever entry. */
static void
test_no_files (Fixture       *f,
               gconstpointer  data)
{
  static const struct { const char *name; const char *file; } entries[] = {
    { "gh", ".config/gh/hosts.yml" }, { "aws", ".aws/credentials" }, { "kube", ".kube/config" },
    { "npm", ".npmrc" },
  };
  static const char * const targets[] = { NULL, "/dev/zero", "/nonexistent", "/proc/self/environ" };

  for (gsize i = 0; i < G_N_ELEMENTS (entries); i++)
    for (gsize j = 0; j < G_N_ELEMENTS (targets); j++)
      {
        g_autofree char *path = g_build_filename (f->home, entries[i].file, NULL);
        gint64 start = g_get_monotonic_time ();

        use_entry (f, entries[i].name);
        put (f, entries[i].file, "");
        g_assert_cmpint (g_unlink (path), ==, 0);
        if (targets[j] == NULL)
          g_assert_cmpint (mkfifo (path, 0600), ==, 0);
        else
          g_assert_cmpint (symlink (targets[j], path), ==, 0);
        look (f);
        g_test_message ("%s: %s", entries[i].name, f->login->sentence);
        assert_says (f->login->sentence, entries[i].file);
        assert_use (f, OW_CREDENTIAL_USE_NOTHING, "");
        g_assert_cmpint (g_get_monotonic_time () - start, <, 5 * G_TIME_SPAN_SECOND);
        g_unlink (path);
      }
}

static void
test_own (Fixture       *f,
          gconstpointer  data)
{
  use_entry (f, "npm");
  g_ptr_array_add (f->entry->hosts, ow_host_new ("registry.example", 443));
  assert_says (look (f), "there is no login in ~/.npmrc");
  assert_use (f, OW_CREDENTIAL_USE_MISSING, "");
  put (f, ".npmrc", "//registry.example/:_authToken=x\n");
  g_assert_cmpstr (look (f), ==, "Lets the agent use what is in it.");
  assert_use (f, OW_CREDENTIAL_USE_ALL, "registry.example:443");
  share (f);
  g_assert_cmpuint (f->environment->len, ==, 0);
}

#define SSH_HOSTS "github.com:22 gitlab.com:22"

/* Keys of two forms, each open and with a passphrase; the first bytes tell. */
static void
test_ssh (Fixture       *f,
          gconstpointer  data)
{
  use_entry (f, "ssh");
  assert_says (look (f), "there is no login in ~/.ssh");
  put (f, ".ssh/known_hosts", "github.com ssh-ed25519 x\n");
  assert_says (look (f), "no private key is in its files, and an agent's are not shared");
  assert_use (f, OW_CREDENTIAL_USE_PART, SSH_HOSTS);
  put (f, ".ssh/id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\n"
       "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n");
  put (f, ".ssh/old", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n");
  g_assert_cmpstr (look (f), ==, "Lets the agent push and pull over SSH, and log in to servers, as "
                   "you.");
  assert_use (f, OW_CREDENTIAL_USE_ALL, SSH_HOSTS);
  put (f, ".ssh/id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\n"
       "b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABDk\n");
  put (f, ".ssh/old", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIE\n");
  assert_says (look (f), "a key with a passphrase cannot be used inside: ~/.ssh/id_ed25519, ~/.ssh/old");
  assert_use (f, OW_CREDENTIAL_USE_PART, SSH_HOSTS);
}

static void
test_late (Fixture       *f,
           gconstpointer  data)
{
  use_entry (f, "gh");
  put (f, ".config/gh/hosts.yml", "github.com: {oauth_token: a}\n");
  ow_credential_login_free (f->login);
  f->login = ow_credential_login_look (f->entry, f->home, NULL, g_get_monotonic_time () - 1);
  assert_use (f, OW_CREDENTIAL_USE_NOTHING, "");
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

#define ADD(path, function) \
        g_test_add ("/login/" path, Fixture, NULL, set_up, function, tear_down)
  ADD ("gh/A27/S19/keyring", test_gh_keyring);
  ADD ("gh/token", test_gh_token);
  ADD ("gh/enterprise", test_gh_enterprise);
  ADD ("gh/nothing", test_gh_nothing);
  ADD ("aws/keys", test_aws_keys);
  ADD ("aws/C16/helpers", test_aws_helpers);
  ADD ("aws/C16/sso", test_aws_sso);
  ADD ("aws/broken", test_aws_broken);
  ADD ("kube/share", test_kube_share);
  ADD ("kube/nothing", test_kube_nothing);
  ADD ("kube/variable", test_kube_variable);
  ADD ("no-files", test_no_files);
  ADD ("own", test_own);
  ADD ("S19/ssh", test_ssh);
  ADD ("late", test_late);
#undef ADD

  return g_test_run ();
}
