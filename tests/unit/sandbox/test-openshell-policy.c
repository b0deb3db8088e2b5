/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <string.h>
#include <yaml.h>

#include "base/ow-error.h"
#include "ow-openshell-policy-private.h"

/* A plan as far as a policy needs one; no folder of it has to exist. */
static OwSandboxPlan *
plan_new (void)
{
  OwSandboxPlan *plan = g_new0 (OwSandboxPlan, 1);

  plan->folders = g_ptr_array_new ();
  plan->hosts = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);
  plan->home = g_strdup ("/home/nina/.config/coworker/sandbox-runtime/0123456789ab");
  plan->uid = 1000;
  plan->gid = 1001;
  return plan;
}

static void
plan_end (OwSandboxPlan *plan)
{
  for (guint i = 0; i < plan->folders->len; i++)
    {
      OwFolder *folder = g_ptr_array_index (plan->folders, i);

      g_free (folder->path);
      g_free (folder);
    }
  g_ptr_array_unref (plan->folders);
  g_ptr_array_unref (plan->hosts);
  g_free (plan->home);
  g_free (plan);
}
/* Nothing of it is on disk, so that there is nothing to remove. */
typedef OwSandboxPlan TestPlan;
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TestPlan, plan_end)

static void
add_folder (OwSandboxPlan *plan,
            const char    *path,
            gboolean       read_only)
{
  OwFolder *folder = g_new0 (OwFolder, 1);

  folder->path = g_strdup (path);
  folder->read_only = read_only;
  folder->fd = -1;
  g_ptr_array_add (plan->folders, folder);
}

static void
add_host (OwSandboxPlan *plan,
          const char    *name,
          guint16        port)
{
  g_ptr_array_add (plan->hosts, ow_host_new (name, port));
}

static char *
render (OwSandboxPlan *plan)
{
  g_autoptr (GError) error = NULL;
  char *text = ow_openshell_policy_render (plan, &error);

  g_assert_no_error (error);
  g_assert_nonnull (text);
  return text;
}

/* --- reading it back, by another way than it was written --- */

/* Every value with the keys that lead to it: "filesystem_policy/read_only/3=/lib". */
static void
flatten (yaml_document_t *document,
         yaml_node_t     *node,
         const char      *at,
         GPtrArray       *lines)
{
  g_assert_nonnull (node);
  if (node->type == YAML_SCALAR_NODE)
    {
      g_ptr_array_add (lines, g_strdup_printf ("%s=%.*s%s", at, (int) node->data.scalar.length,
                                               (const char *) node->data.scalar.value,
                                               node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
                                               ? "" : " (text)"));
    }
  else if (node->type == YAML_SEQUENCE_NODE)
    {
      guint index = 0;

      for (yaml_node_item_t *item = node->data.sequence.items.start;
           item < node->data.sequence.items.top; item++)
        {
          g_autofree char *next = g_strdup_printf ("%s/%u", at, index++);

          flatten (document, yaml_document_get_node (document, *item), next, lines);
        }
    }
  else
    {
      for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
           pair < node->data.mapping.pairs.top; pair++)
        {
          yaml_node_t *key = yaml_document_get_node (document, pair->key);
          g_autofree char *next = g_strdup_printf ("%s/%s", at,
                                                   (const char *) key->data.scalar.value);

          flatten (document, yaml_document_get_node (document, pair->value), next, lines);
        }
    }
}

static GPtrArray *
read_back (const char *text)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
  yaml_parser_t parser;
  yaml_document_t document;

  g_assert_true (yaml_parser_initialize (&parser));
  yaml_parser_set_input_string (&parser, (const unsigned char *) text, strlen (text));
  g_assert_true (yaml_parser_load (&parser, &document));
  flatten (&document, yaml_document_get_root_node (&document), "", lines);
  yaml_document_delete (&document);
  /* And nothing behind it. */
  g_assert_true (yaml_parser_load (&parser, &document));
  g_assert_null (yaml_document_get_root_node (&document));
  yaml_document_delete (&document);
  yaml_parser_delete (&parser);
  return lines;
}

static gboolean
has (GPtrArray  *lines,
     const char *line)
{
  for (guint i = 0; i < lines->len; i++)
    if (strcmp (g_ptr_array_index (lines, i), line) == 0)
      return TRUE;
  return FALSE;
}

static void
assert_has (GPtrArray  *lines,
            const char *line)
{
  if (!has (lines, line))
    g_error ("the policy has no %s", line);
}

static guint
count (GPtrArray  *lines,
       const char *prefix)
{
  guint n = 0;

  for (guint i = 0; i < lines->len; i++)
    if (g_str_has_prefix (g_ptr_array_index (lines, i), prefix))
      n++;
  return n;
}

/* --- what it says --- */

static const char snapshot[] =
  "version: 1\n"
  "filesystem_policy:\n"
  "  include_workdir: false\n"
  "  read_only:\n"
  "  - \"/usr\"\n"
  "  - \"/lib\"\n"
  "  - \"/etc\"\n"
  "  - \"/proc\"\n"
  "  - \"/dev/urandom\"\n"
  "  - \"/var/log\"\n"
  "  - \"/sandbox\"\n"
  "  - \"/srv/work/doc\"\n"
  "  - \"/opt/openworker\"\n"
  "  read_write:\n"
  "  - \"/tmp\"\n"
  "  - \"/dev/null\"\n"
  "  - \"/dev/pts\"\n"
  "  - \"/srv/work\"\n"
  "  - \"/home/nina/.config/coworker/sandbox-runtime/0123456789ab\"\n"
  "landlock:\n"
  "  compatibility: hard_requirement\n"
  "process:\n"
  "  run_as_user: \"1000\"\n"
  "  run_as_group: \"1001\"\n"
  "network_policies:\n"
  "  openworker:\n"
  "    name: \"openworker\"\n"
  "    endpoints:\n"
  "    - host: \"git.example.com\"\n"
  "      port: 443\n"
  "    - host: \"**.debian.org\"\n"
  "      port: 8443\n"
  "    binaries:\n"
  "    - path: \"/**\"\n";

static void
test_snapshot (void)
{
  g_autoptr (TestPlan) plan = plan_new ();
  g_autofree char *text = NULL;

  add_folder (plan, "/srv/work", FALSE);
  add_folder (plan, "/srv/work/doc", TRUE);
  add_host (plan, "git.example.com", 443);
  add_host (plan, "*.debian.org", 8443);
  text = render (plan);
  g_assert_cmpstr (text, ==, snapshot);
}

/* Landlock is demanded whatever the plan is: "best effort" would go on without it. */
static void
test_landlock (void)
{
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (TestPlan) plan = plan_new ();
      g_autofree char *text = NULL;
      g_autoptr (GPtrArray) lines = NULL;

      add_folder (plan, "/srv/work", i % 2 == 0);
      if (i > 1)
        add_host (plan, "example.com", 443);
      text = render (plan);
      lines = read_back (text);
      assert_has (lines, "/landlock/compatibility=hard_requirement");
      assert_has (lines, "/filesystem_policy/include_workdir=false");
      g_assert_null (strstr (text, "best_effort"));
    }
}

static const char * const names[] = {
  "/srv/plain", "/srv/with space/in it", "/srv/\"quoted\"", "/srv/it's", "/srv/a #b", "/srv/? key",
  "/srv/#", "/srv/-dash", "/srv/- item", "/srv/back\\slash\\n", "/srv/{a}", "/srv/[a, b]",
  "/srv/&anchor", "/srv/*alias", "/srv/!tag", "/srv/%percent", "/srv/@at", "/srv/`tick",
  "/srv/a|b>c", "/srv/null", "/srv/true", "/srv/~", "/srv/\u00fcml\u00e4ut", "/srv/\u65e5\u672c",
  "/srv/\U0001f980", "/srv/a\u0301", "/srv/\u202e" "desrever", "/srv/\ufeffmark", "/srv/a\u00a0" "b",
  "/srv/%s%n", "/srv/$HOME", "/srv/$(id)", "/srv/;rm", "/srv/..dots", "/srv/...", "/srv/a,b",
  "/srv/very/deep/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9 and wide words",
};

/* S12: whatever a folder is called, the reader gets that name and nothing else. */
static void
test_names (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (TestPlan) plan = plan_new ();
      g_autofree char *text = NULL;
      g_autofree char *expected = g_strdup_printf ("/filesystem_policy/read_write/3=%s (text)",
                                                   names[i]);
      g_autofree char *second = g_strdup_printf ("/filesystem_policy/read_only/7=%s/ro (text)",
                                                 names[i]);
      g_autofree char *inner = g_strdup_printf ("%s/ro", names[i]);
      g_autoptr (GPtrArray) lines = NULL;

      add_folder (plan, names[i], FALSE);
      add_folder (plan, inner, TRUE);
      text = render (plan);
      lines = read_back (text);
      assert_has (lines, expected);
      assert_has (lines, second);
      g_assert_cmpuint (count (lines, "/filesystem_policy/"), ==, 1 + 8 + 4 + 2);
      g_assert_cmpuint (lines->len, ==, 1 + 15 + 1 + 2);
    }
}

static void
assert_refused (OwSandboxPlan *plan,
                const char    *words)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = ow_openshell_policy_render (plan, &error);

  g_assert_null (text);
  g_assert_nonnull (error);
  if (strstr (error->message, words) == NULL)
    g_error ("\"%s\" is not in \"%s\"", words, error->message);
  /* A refusal is one line for any face. */
  g_assert_null (strpbrk (error->message, "\n\r\033"));
}

static const struct {
  const char *path;
  const char *words;
} bad_names[] = {
  { "/srv/a\nb", "line break" },
  { "/srv/a\r", "line break" },
  { "/srv/\033[31mred", "control character" },
  { "/srv/a\tb", "control character" },
  { "/srv/a\xc2\x85" "b", "control character" },
  { "/srv/a\177", "control character" },
  { "/srv/a:b", "colon" },
  { "/srv/a: b", "colon" },
  { "/srv/a ", "white space" },
  { "/srv/a\u2003", "white space" },
  { "/srv/\xff\xfe", "UTF-8" },
  { "srv/relative", "whole one" },
  { "", "whole one" },
  { "/sandbox", "/sandbox" },
  { "/sandbox/work", "/sandbox" },
  { "/opt", "/opt/openshell" },
  { "/opt/openshell/bin", "/opt/openshell" },
  { "/opt/openworker", "/opt/openworker" },
  { "/run/openshell", "/run/openshell" },
};

static void
test_bad_names (void)
{
  g_autoptr (TestPlan) long_plan = plan_new ();
  g_autofree char *long_name = g_strnfill (4097, 'a');

  for (gsize i = 0; i < G_N_ELEMENTS (bad_names); i++)
    for (guint read_only = 0; read_only < 2; read_only++)
      {
        g_autoptr (TestPlan) plan = plan_new ();
        g_autoptr (GError) error = NULL;

        add_folder (plan, "/srv/good", FALSE);
        add_folder (plan, bad_names[i].path, read_only != 0);
        assert_refused (plan, bad_names[i].words);
        g_assert_false (ow_openshell_policy_check_path (bad_names[i].path, &error));
        g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
      }
  long_name[0] = '/';
  add_folder (long_plan, long_name, FALSE);
  assert_refused (long_plan, "4,096 bytes");
  /* One byte less is a path like any other. */
  long_name[4096] = '\0';
  g_assert_true (ow_openshell_policy_check_path (long_name, NULL));
  /* The place of one of its own that another only begins like. */
  g_assert_true (ow_openshell_policy_check_path ("/sandboxes", NULL));
  g_assert_true (ow_openshell_policy_check_path ("/opt/openworkers", NULL));
}

/* The private home is a mount like the others. */
static void
test_bad_home (void)
{
  g_autoptr (TestPlan) plan = plan_new ();

  add_folder (plan, "/srv/work", FALSE);
  g_free (plan->home);
  plan->home = g_strdup ("/home/line\nbreak/.config/coworker/sandbox-runtime/0123456789ab");
  assert_refused (plan, "line break");
}

/* S12: 256 paths in all, ours among them. */
static void
test_many (void)
{
  g_autoptr (TestPlan) plan = plan_new ();
  g_autofree char *text = NULL;
  g_autoptr (GPtrArray) lines = NULL;

  for (guint i = 0; i < 256 - 8 - 4; i++)
    {
      g_autofree char *path = g_strdup_printf ("/srv/%u", i);

      add_folder (plan, path, i % 2 == 0);
    }
  text = render (plan);
  lines = read_back (text);
  g_assert_cmpuint (count (lines, "/filesystem_policy/read_"), ==, 256);
  add_folder (plan, "/srv/one-more", FALSE);
  assert_refused (plan, "245 folders");
}

/* OpenShell runs nothing as root, and would say so late and in other words. */
static void
test_root (void)
{
  g_autoptr (TestPlan) plan = plan_new ();

  add_folder (plan, "/srv/of-root", FALSE);
  plan->uid = 0;
  assert_refused (plan, "as root");
  plan->uid = 1000;
  plan->gid = 0;
  assert_refused (plan, "group of root");
  plan->gid = 4000000000u;
  plan->uid = 4000000000u;
  {
    g_autofree char *text = render (plan);
    g_autoptr (GPtrArray) lines = read_back (text);

    assert_has (lines, "/process/run_as_user=4000000000 (text)");
    assert_has (lines, "/process/run_as_group=4000000000 (text)");
  }
}

static const char * const bad_hosts[] = {
  "", "*", "*.com", "**.example.com", "example.com.", "10.0.0.1", "169.254.169.254", "::1", "[::1]",
  "127.1", "2130706433", "0x7f.1", "localhost", "api.localhost", "a b.com", "a\nb.com", "a\"b.com",
  "-a.com", "user@a.com", "a.com/x", "a.com:80", "\u00fcml.example.com", "a..b", "exa*mple.com",
};

/* S14: only a name, or every depth below one; what else stands in the list ends the start. */
static void
test_bad_hosts (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (bad_hosts); i++)
    {
      g_autoptr (TestPlan) plan = plan_new ();

      add_folder (plan, "/srv/work", FALSE);
      add_host (plan, "good.example.com", 443);
      add_host (plan, bad_hosts[i], 443);
      assert_refused (plan, "no host for a sandbox");
    }
  {
    g_autoptr (TestPlan) plan = plan_new ();

    add_folder (plan, "/srv/work", FALSE);
    add_host (plan, "good.example.com", 0);
    assert_refused (plan, "port");
  }
}

/* S14, S15: each host once, with its port, for every program inside; none where there are none. */
static void
test_hosts (void)
{
  g_autoptr (TestPlan) plan = plan_new ();
  g_autofree char *none = NULL;
  g_autofree char *text = NULL;
  g_autoptr (GPtrArray) lines = NULL;

  add_folder (plan, "/srv/work", FALSE);
  none = render (plan);
  g_assert_null (strstr (none, "endpoints"));
  add_host (plan, "EXAMPLE.com", 443);
  add_host (plan, "*.amazonaws.com", 443);
  text = render (plan);
  lines = read_back (text);
  assert_has (lines, "/network_policies/openworker/endpoints/0/host=example.com (text)");
  assert_has (lines, "/network_policies/openworker/endpoints/0/port=443");
  assert_has (lines, "/network_policies/openworker/endpoints/1/host=**.amazonaws.com (text)");
  assert_has (lines, "/network_policies/openworker/binaries/0/path=/** (text)");
  g_assert_cmpuint (count (lines, "/network_policies/"), ==, 1 + 4 + 1);
}

/* S14: a kubeconfig's server may be an address; a private one only with the person's consent. */
static void
test_addresses (void)
{
  g_autoptr (TestPlan) plan = plan_new ();
  g_autofree char *text = NULL;
  g_autoptr (GPtrArray) lines = NULL;

  add_folder (plan, "/srv/work", FALSE);
  add_host (plan, "203.0.113.9", 8443);
  add_host (plan, "2001:db8::7", 443);
  add_host (plan, "10.0.0.1", 443);
  assert_refused (plan, "10.0.0.1:443");
  ((OwHost *) g_ptr_array_index (plan->hosts, 2))->private = TRUE;
  text = render (plan);
  lines = read_back (text);
  assert_has (lines, "/network_policies/openworker/endpoints/0/host=203.0.113.9 (text)");
  assert_has (lines, "/network_policies/openworker/endpoints/1/host=2001:db8::7 (text)");
  assert_has (lines, "/network_policies/openworker/endpoints/2/host=10.0.0.1 (text)");
  ((OwHost *) g_ptr_array_index (plan->hosts, 0))->private = TRUE;
  g_free (((OwHost *) g_ptr_array_index (plan->hosts, 0))->host);
  ((OwHost *) g_ptr_array_index (plan->hosts, 0))->host = g_strdup ("127.0.0.1");
  assert_refused (plan, "always refused");
}

/* What OpenShell will not let through is said before somebody waits for it. */
static void
test_ports (void)
{
  g_autoptr (TestPlan) plan = plan_new ();
  g_autofree char *none = NULL;
  g_autofree char *text = NULL;

  add_host (plan, "a.example.com", 443);
  none = ow_openshell_policy_tell_ports (plan);
  g_assert_null (none);
  add_host (plan, "k.example.com", 6443);
  for (guint i = 0; i < 5; i++)
    add_host (plan, "etcd.example.com", 2379);
  text = ow_openshell_policy_tell_ports (plan);
  g_assert_nonnull (strstr (text, "k.example.com:6443, etcd.example.com:2379"));
  g_assert_nonnull (strstr (text, "and 2 more"));
  g_assert_null (strstr (text, "a.example.com"));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openshell-policy/S15/snapshot", test_snapshot);
  g_test_add_func ("/openshell-policy/S15/landlock", test_landlock);
  g_test_add_func ("/openshell-policy/S12/names", test_names);
  g_test_add_func ("/openshell-policy/S12/bad-names", test_bad_names);
  g_test_add_func ("/openshell-policy/S12/bad-home", test_bad_home);
  g_test_add_func ("/openshell-policy/S12/many", test_many);
  g_test_add_func ("/openshell-policy/root", test_root);
  g_test_add_func ("/openshell-policy/S14/bad-hosts", test_bad_hosts);
  g_test_add_func ("/openshell-policy/S14/hosts", test_hosts);
  g_test_add_func ("/openshell-policy/S14/addresses", test_addresses);
  g_test_add_func ("/openshell-policy/ports", test_ports);
  return g_test_run ();
}
