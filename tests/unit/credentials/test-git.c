/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* Git's settings: every form of the file, and what of them is left out. */

#include <string.h>

#include "ow-git-config-private.h"

static char *
flatten (GPtrArray *settings)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < settings->len; i++)
    {
      const OwGitSetting *setting = g_ptr_array_index (settings, i);

      g_string_append (text, setting->section);
      if (setting->subsection != NULL)
        g_string_append_printf (text, ".%s", setting->subsection);
      g_string_append_printf (text, ".%s=%s|", setting->name,
                              setting->value != NULL ? setting->value : "(true)");
    }
  return g_string_free (text, FALSE);
}

static const struct {
  const char *text;
  const char *wanted; /* NULL: broken */
} forms[] = {
  { "", "" },
  { "\xef\xbb\xbf[a]\nb=c", "a.b=c|" },
  { "[a]\r\n\tb = c\r\n", "a.b=c|" },
  { "[A]\nBc=D\n", "a.bc=D|" },
  { "[a]b=c\n", "a.b=c|" },
  { "[a] ; comment\n# another\nb = c # comment\n d = e ; comment\n", "a.b=c|a.d=e|" },
  { "[a \"B c\"]\nd=e\n", "a.B c.d=e|" },
  { "[a \"q\\\"b\\\\s\\x\"]\nd=e\n", "a.q\"b\\sx.d=e|" },
  { "[a.B]\nc=d\n", "a.b.c=d|" },
  { "[a]\nb\nc\n", "a.b=(true)|a.c=(true)|" },
  { "[a]\nb=\n", "a.b=|" },
  { "[a]\nb = \"x # y ; z\" \n", "a.b=x # y ; z|" },
  { "[a]\nb = x\\\ny\\\n  z\n", "a.b=xy  z|" },
  { "[a]\nb = \"x\\\ny\"\n", "a.b=xy|" },
  { "[a]\nb = x\\\r\ny\r\n", "a.b=xy|" },
  { "[a]\nb = \\t\\n\\b\\\\\\\"\n", "a.b=\t\n\b\\\"|" },
  { "[a]\nb =   two  words   \n", "a.b=two  words|" },
  { "[a]\nb = \"  kept  \"  \n", "a.b=  kept  |" },
  { "[a]\nb = x\"y\"z\n", "a.b=xyz|" },
  { "[a]\nb-1 = c\n", "a.b-1=c|" },
  { "[a]\nb = \"\"\n", "a.b=|" },
  { "[a]\nb = \"x\" # c\n[d]\ne=f", "a.b=x|d.e=f|" },
  { "b = c\n", NULL },
  { "[a\n", NULL },
  { "[]\n", NULL },
  { "[a b]\n", NULL },
  { "[a \"b]\n", NULL },
  { "[a \"b\" ]\n", NULL },
  { "[a]\nb = \"open\n", NULL },
  { "[a]\nb = \\x\n", NULL },
  { "[a]\n1b = c\n", NULL },
  { "[a]\nb c = d\n", NULL },
  { "[a]\nb! = d\n", NULL },
  { "[a_b]\nc=d\n", NULL },
};

static void
test_forms (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (forms); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GPtrArray) settings = ow_git_config_parse (forms[i].text, strlen (forms[i].text),
                                                            &error);
      g_autofree char *got = settings != NULL ? flatten (settings) : NULL;

      g_test_message ("%s", forms[i].text);
      g_assert_cmpstr (got, ==, forms[i].wanted);
      g_assert_true ((error == NULL) == (got != NULL));
    }
}

/* What is written means the same. */
static void
test_written (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (forms); i++)
    {
      g_autoptr (GPtrArray) settings = ow_git_config_parse (forms[i].text, strlen (forms[i].text),
                                                            NULL);
      g_autoptr (GPtrArray) again = NULL;
      g_autofree char *text = settings != NULL ? ow_git_config_write (settings) : NULL;
      g_autofree char *got = NULL;

      if (text == NULL)
        continue;
      again = ow_git_config_parse (text, strlen (text), NULL);
      g_assert_nonnull (again);
      got = flatten (again);
      g_assert_cmpstr (got, ==, forms[i].wanted);
    }
}

static void
test_broken_line (void)
{
  static const char text[] = "[a]\n b = c\n\n  d = \"token-secret\n";
  g_autoptr (GError) error = NULL;

  g_assert_null (ow_git_config_parse (text, strlen (text), &error));
  g_assert_nonnull (strstr (error->message, "line 4"));
  g_assert_null (strstr (error->message, "secret"));
  g_assert_null (ow_git_config_parse ("[a]\nb = c\0d\n", 11, NULL));
}

static char *
clean (const char     *text,
       gboolean        has_ssh,
       OwGitFindings **findings)
{
  OwGitPlaces places = {
    .person = "/data/ana", .named = "/home/ana", .file = ".gitconfig", .has_ssh = has_ssh,
  };
  g_autoptr (GPtrArray) settings = ow_git_config_parse (text, strlen (text), NULL);

  g_assert_nonnull (settings);
  *findings = ow_git_findings_new ();
  ow_git_config_clean (settings, &places, *findings);
  return flatten (settings);
}

static const struct {
  const char *text;
  gboolean    has_ssh;
  const char *wanted;
} cleaned[] = {
  { "[credential]\nhelper=x\nusername=y\n[credential \"https://x\"]\nhelper=z\n", FALSE, "" },
  { "[Credential.https://x]\nhelper=z\n", FALSE, NULL },
  { "[credential.sub]\nhelper=z\n", FALSE, "" },
  { "[http]\nextraHeader=a\nEXTRAHEADER=b\n[http \"https://x/\"]\nextraheader=c\n", FALSE, "" },
  { "[http]\nsslVerify=true\ncookieFile=x\nsslCert=x\nproxy=http://p\n", FALSE,
    "http.sslverify=true|" },
  { "[url \"https://u:p@h/\"]\ninsteadOf=x:\n", FALSE, "" },
  { "[url \"https://u@h/\"]\ninsteadOf=x:\n", TRUE, "" },
  { "[url \"ssh://u:p@h/\"]\ninsteadOf=x:\n", TRUE, "" },
  { "[url \"ssh://git@h/\"]\ninsteadOf=x:\n", TRUE, "url.ssh://git@h/.insteadof=x:|" },
  { "[url \"ssh://git@h/\"]\ninsteadOf=x:\n", FALSE, "" },
  { "[url \"git@h:\"]\ninsteadOf=https://h/\n", FALSE, "" },
  { "[url \"git@h:\"]\ninsteadOf=https://h/\n", TRUE, "url.git@h:.insteadof=https://h/|" },
  { "[url \"https://h/\"]\ninsteadOf=git@h:\n", FALSE, "url.https://h/.insteadof=git@h:|" },
  { "[url \"https://h/\"]\ninsteadOf=https://t@h/\n", FALSE, "" },
  { "[remote \"o\"]\nurl=https://u:p@h/r\npushurl=https://h/r\n", FALSE,
    "remote.o.pushurl=https://h/r|" },
  { "[x]\ny=see HTTPS://u:p@h/ there\n", FALSE, "" },
  { "[core]\nsshCommand=x\nfsmonitor=true\naskPass=x\nhooksPath=~/h\neditor=x\nabbrev=9\n", TRUE,
    "core.abbrev=9|" },
  { "[core \"sub\"]\nsshCommand=x\n", TRUE, "" },
  { "[include]\npath=~/.gitconfig-work\n", FALSE, "include.path=~/.gitconfig-work|" },
  { "[include]\npath=/home/ana/.config/git/more\n", FALSE, "include.path=~/.config/git/more|" },
  { "[include]\npath=.gitconfig.local\n", FALSE, "include.path=~/.gitconfig.local|" },
  { "[include]\npath=~/.ssh/config\npath=/etc/gitconfig\npath=~/.config/git/../../x\n"
    "path=~bob/.gitconfig\npath=~/.gitconfig/../.netrc\n", FALSE, "" },
  { "[includeIf \"gitdir:~/w/\"]\npath=.gitconfig-w\n", FALSE,
    "includeif.gitdir:/home/ana/w/.path=~/.gitconfig-w|" },
  { "[includeIf \"onbranch:x\"]\npath=/mnt/x\n", FALSE, "" },
  { "[commit]\ngpgSign=true\n[tag]\ngpgSign\n", FALSE, "" },
  { "[alias]\nst=status\nx=!curl\n", FALSE, "alias.st=status|" },
  { "[github]\ntoken=x\n[my]\napiToken=y\n[sendemail]\nsmtppass=z\n[z]\nPassword=q\n", FALSE, "" },
  { "[x]\ny=ghp_abcdef\n", FALSE, "" },
  { "[filter \"lfs\"]\nprocess=git-lfs filter-process\nrequired=true\n", FALSE,
    "filter.lfs.process=git-lfs filter-process|filter.lfs.required=true|" },
  { "[core]\nexcludesFile=/home/ana/.ign\n", FALSE, "core.excludesfile=~/.ign|" },
  { "[core]\nexcludesFile=/mnt/ign\n", FALSE, "" },
  { "[safe]\ndirectory=/srv/x\n", FALSE, "safe.directory=/srv/x|" },
  { "[user]\nname=A\nemail=a@b\nsigningKey=K\n", FALSE,
    "user.name=A|user.email=a@b|user.signingkey=K|" },
};

static void
test_cleaned (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cleaned); i++)
    {
      g_autoptr (OwGitFindings) findings = NULL;
      g_autofree char *got = NULL;

      g_test_message ("%s", cleaned[i].text);
      if (cleaned[i].wanted == NULL)
        {
          g_assert_null (ow_git_config_parse (cleaned[i].text, strlen (cleaned[i].text), NULL));
          continue;
        }
      got = clean (cleaned[i].text, cleaned[i].has_ssh, &findings);
      g_assert_cmpstr (got, ==, cleaned[i].wanted);
    }
}

/* No setting brings a login along by its path. */
static void
test_named_files (void)
{
  g_autoptr (OwGitFindings) findings = NULL;
  g_autofree char *got = clean ("[core]\nexcludesFile=~/.ign\nattributesFile=~/.aws/credentials\n"
                                "[commit]\ntemplate=~/.git-credentials\n[mailmap]\n"
                                "file=~/x/../.ssh/id_rsa\n", TRUE, &findings);

  g_assert_nonnull (got);
  g_assert_cmpuint (findings->files->len, ==, 1);
  g_assert_cmpstr (g_ptr_array_index (findings->files, 0), ==, ".ign");
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/git/REQ-S03/forms", test_forms);
  g_test_add_func ("/git/REQ-S03/written", test_written);
  g_test_add_func ("/git/REQ-S03/broken-line", test_broken_line);
  g_test_add_func ("/git/REQ-S03/cleaned", test_cleaned);
  g_test_add_func ("/git/REQ-S03/named-files", test_named_files);
  return g_test_run ();
}
