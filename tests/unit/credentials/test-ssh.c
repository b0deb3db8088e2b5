/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* The settings of ssh, rewritten from texts (REQ-S03). */

#include <string.h>

#include "ow-ssh-config-private.h"

#define HOME "/home/ana/.config/coworker/sandbox-runtime/0"

static char *
rewrite (const char     *text,
         OwSshFindings **findings)
{
  OwSshPlaces places = {
    .person = "/data/ana", .named = "/home/ana", .home = HOME, .place = ".ssh", .runner = "/run/er",
  };

  *findings = ow_ssh_findings_new ();
  return ow_ssh_config_rewrite (&places, text, strlen (text), *findings);
}

static void
expect (const char *text,
        const char *wanted)
{
  g_autoptr (OwSshFindings) findings = NULL;
  g_autofree char *got = rewrite (text, &findings);

  g_assert_cmpstr (got, ==, wanted);
}

static void
test_kept (void)
{
  expect ("", "");
  expect ("# only a comment\n\n   \n", "");
  expect ("\xef\xbb\xbfHost a\r\n\tPort 22  \r\n", "Host a\nPort 22\n");
  expect ("Host a", "Host a\n");
  expect ("User=ana\nPort = 22\n", "User=ana\nPort = 22\n");
  expect ("StrictHostKeyChecking no\n", "StrictHostKeyChecking no\n");
  expect ("SomethingNew \"open\n", "SomethingNew \"open\n");
}

static void
test_left_out (void)
{
  expect ("IdentityAgent ~/x\naddkeystoagent yes\nControlPath=/tmp/%C\nCONTROLMASTER auto\n"
          "UseKeychain yes\n\"ForwardAgent\" yes\nIgnoreUnknown X\nProxyUseFdpass yes\n", "");
  expect ("LocalCommand rm x\nKnownHostsCommand /x\nPKCS11Provider /x.so\n", "");
}

static void
test_match (void)
{
  expect ("Match exec \"touch x\"\n User bad\n Include conf\nHost b\n User good\n",
          "Host b\nUser good\n");
  expect ("Match host a !exec=\"touch x\"\n User bad\nMatch all\n User good\n",
          "Match all\nUser good\n");
  expect ("Match originalhost a user b\n Port 1\n", "Match originalhost a user b\nPort 1\n");
  expect ("Match localnetwork 10.0.0.0/8\n User bad\nMatch final host x\n Port 2\n",
          "Match final host x\nPort 2\n");
  expect ("Match host \"open\n User bad\n", "");
  expect ("Match\n User bad\n", "");
}

static void
test_include (void)
{
  static const struct {
    const char *line;
    const char *below; /* NULL: left out */
  } cases[] = {
    { "Include conf.d/*", ".ssh/conf.d/*" },
    { "include=~/.ssh/work", ".ssh/work" },
    { "Include \"/home/ana/.ssh/with space\"", ".ssh/with space" },
    { "Include /data/ana/.ssh/x", ".ssh/x" },
    { "Include ${HOME}/.ssh/x", ".ssh/x" },
    { "Include %d/.ssh/x", ".ssh/x" },
    { "Include ./a/../b", ".ssh/b" },
    { "Include ../outside", NULL },
    { "Include ~/.ssh/../.aws/credentials", NULL },
    { "Include ~/.ssh-other/x", NULL },
    { "Include /home/ana/.sshx", NULL },
    { "Include /home/anabel/.ssh/x", NULL },
    { "Include /etc/ssh/ssh_config", NULL },
    { "Include ~bob/.ssh/x", NULL },
    { "Include ~/.ssh", NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (OwSshFindings) findings = NULL;
      g_autofree char *got = rewrite (cases[i].line, &findings);
      g_autofree char *wanted = cases[i].below != NULL
                                ? g_strdup_printf ("Include \"" HOME "/%s\"\n", cases[i].below)
                                : g_strdup ("");

      g_test_message ("%s", cases[i].line);
      g_assert_cmpstr (got, ==, wanted);
      g_assert_cmpuint (findings->includes->len, ==, cases[i].below != NULL ? 1 : 0);
      g_assert_cmpuint (findings->dropped->len, ==, cases[i].below != NULL ? 0 : 1);
    }
}

/* Of the private home's path no character may be a pattern, a token or a quote. */
static void
test_strange_home (void)
{
  OwSshPlaces places = {
    .person = "/home/a", .home = "/home/a [x]*%h\"q", .place = ".ssh", .runner = "/run/er",
  };
  const char *keys[] = { "id_rsa", NULL };
  g_autoptr (OwSshFindings) findings = ow_ssh_findings_new ();
  g_autofree char *include = ow_ssh_config_rewrite (&places, "Include c/*", 11, findings);
  g_autofree char *end = ow_ssh_config_end (&places, keys, "ana smith");

  g_assert_cmpstr (include, ==, "Include \"/home/a \\[x\\]\\*%h\\\"q/.ssh/c/*\"\n");
  g_assert_nonnull (strstr (end, "IdentityFile \"/home/a [x]*%%h\\\"q/.ssh/id_rsa\"\n"));
  g_assert_null (strstr (end, "User ana"));
}

static void
test_paths (void)
{
  expect ("IdentityFile ~/.ssh/id\n", "identityfile \"" HOME "/.ssh/id\"\n");
  expect ("IdentityFile %d/.ssh/keys/%h\n", "identityfile \"" HOME "/.ssh/keys/%h\"\n");
  expect ("CertificateFile \"/home/ana/.ssh/a b\"\n", "certificatefile \"" HOME "/.ssh/a b\"\n");
  expect ("UserKnownHostsFile ~/.ssh/k1 /dev/null ~/k2\n",
          "userknownhostsfile \"" HOME "/.ssh/k1\" \"/dev/null\"\n");
  expect ("IdentityFile none\n", "identityfile \"none\"\n");
  expect ("IdentityFile ~/keys/id\nIdentityFile /mnt/id\nIdentityFile ~/.ssh/../.aws/x\n", "");
}

static void
test_proxies (void)
{
  const char *own = "ProxyCommand /run/er connect %h %p\n";

  expect ("ProxyCommand none\n", own);
  expect ("ProxyCommand nc -X connect %h %p\n", own);
  expect ("ProxyCommand ssh -W %h:%p $(touch x)\n", own);
  expect ("ProxyCommand ssh jump nc %h %p\n", own);
  expect ("ProxyCommand ssh -o ProxyCommand=x -W %h:%p jump\n", own);
  expect ("ProxyJump none\n", own);
  expect ("ProxyJump a,b:22\n", "ProxyJump a,b:22\n");
  expect ("ProxyCommand ssh -q -W %h:%p ana@jump\n", "ProxyJump ana@jump\n");
  expect ("ProxyCommand exec /usr/bin/ssh -W[%h]:%p jump\n", "ProxyJump jump\n");
}

/* What is told goes to the model: of a program its name, and never an argument. */
static void
test_told (void)
{
  static const char text[] =
    "ProxyCommand sshpass -p hunter2 nc %h %p\nLocalCommand PW=hunter2 /bin/x\n"
    "KnownHostsCommand \"/opt/a b/keys\" hunter2\nProxyCommand exec socat - PROXY:h:%h:%p,hunter2\n"
    "Match host a exec \"curl -u me:hunter2 x\"\n";
  static const char * const told[] = {
    "proxycommand sshpass (it runs a program)", "localcommand (it runs a program)",
    "knownhostscommand keys (it runs a program)", "proxycommand socat (it runs a program)",
    "Match exec (it runs a program)",
  };
  g_autoptr (OwSshFindings) findings = NULL;
  g_autofree char *got = rewrite (text, &findings);

  g_assert_null (strstr (got, "hunter2"));
  g_assert_cmpuint (findings->dropped->len, ==, G_N_ELEMENTS (told));
  for (guint i = 0; i < findings->dropped->len; i++)
    g_assert_cmpstr (g_ptr_array_index (findings->dropped, i), ==, told[i]);
}

/* What any line makes of it is one line or none of the same kind, never a second setting. */
static void
test_hostile (void)
{
  g_autoptr (OwSshFindings) findings = NULL;
  g_autofree char *deep = g_strnfill (100000, '"');
  g_autofree char *got = rewrite ("Host \001\033[2J\n Include \"a\nMatch exec \"\n x\n", &findings);
  g_autoptr (OwSshFindings) other = NULL;
  g_autofree char *long_line = rewrite (deep, &other);

  g_assert_null (strstr (got, "exec"));
  for (guint i = 0; i < findings->dropped->len; i++)
    g_assert_null (strchr (g_ptr_array_index (findings->dropped, i), '\033'));
  g_assert_nonnull (long_line);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ssh/S18/kept", test_kept);
  g_test_add_func ("/ssh/A28/left-out", test_left_out);
  g_test_add_func ("/ssh/S18/match", test_match);
  g_test_add_func ("/ssh/A29/include", test_include);
  g_test_add_func ("/ssh/A29/strange-home", test_strange_home);
  g_test_add_func ("/ssh/S18/paths", test_paths);
  g_test_add_func ("/ssh/S18/proxies", test_proxies);
  g_test_add_func ("/ssh/S18/told", test_told);
  g_test_add_func ("/ssh/hostile", test_hostile);
  return g_test_run ();
}
