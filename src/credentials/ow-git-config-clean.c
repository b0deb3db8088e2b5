/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-git-config-private.h"

#include <string.h>

#include "base/ow-text.h"
#include "ow-credential-path-private.h"

#define MAX_DROPPED 100
#define SHOWN_CHARS 80

/* "section.name", "section.*" and "*.name"; the subsection does not count. */
static const char * const logins[] = {
  "credential.*", "sendemail.*", "imap.*", "github.*", "gitlab.*", "hub.*", "gitea.*",
  "http.extraheader", "http.cookiefile", "http.savecookies", "http.sslcert", "http.sslkey",
  "http.sslcertpasswordprotected", "http.proxysslcert", "http.proxysslkey", "http.userpwd",
  "http.proxyauthmethod", "http.emptyauth", "http.delegation", "core.askpass",
};

/* They lead past the sandbox's proxy, name a program or library that is not inside, or have one
 * run for each command. */
static const char * const programs[] = {
  "core.sshcommand", "core.fsmonitor", "core.gitproxy", "core.editor", "core.pager",
  "core.hookspath", "core.alternaterefscommand", "core.worktree", "ssh.variant",
  "sequence.editor", "interactive.difffilter", "diff.external", "diff.command", "diff.textconv",
  "merge.driver", "difftool.*", "mergetool.*", "guitool.*", "browser.*", "man.*", "web.browser",
  "help.browser", "instaweb.*", "gpg.program", "gpg.defaultkeycommand", "trailer.command",
  "trailer.cmd", "uploadpack.packobjectshook", "init.templatedir", "http.proxy", "remote.proxy",
  "http.sslcainfo", "http.sslcapath", "http.proxysslcainfo", "http.sslbackend", "tar.command",
};

/* Places of logins: no setting of git's brings one of their files along. */
static const char * const places_of_logins[] = {
  ".ssh/", ".gnupg/", ".aws/", ".azure/", ".kube/", ".docker/", ".config/gh/", ".config/gcloud/",
  ".config/coworker/", ".local/share/keyrings/", ".password-store/", ".mozilla/",
};

static const char * const files_of_logins[] = {
  ".git-credentials", "credentials", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".env",
  "hosts.yml", "auth.json", "credentials.json", "config.json",
};

/* What somebody calls a login, whosever section it is in. */
static const char * const words[] = {
  "token", "password", "passwd", "secret", "apikey", "api-key", "smtppass", "oauth",
  "privatekey", "authorization",
};

/* What the tokens of the usual hosts begin with. */
static const char * const marks[] = {
  "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "xoxb-", "xoxp-",
  "-----BEGIN", "Bearer ", "Basic ",
};

typedef struct {
  const OwGitPlaces *places;
  OwGitFindings     *findings;
} Clean;

OwGitFindings *
ow_git_findings_new (void)
{
  OwGitFindings *findings = g_new0 (OwGitFindings, 1);

  findings->includes = g_ptr_array_new_with_free_func (g_free);
  findings->files = g_ptr_array_new_with_free_func (g_free);
  findings->dropped = g_ptr_array_new_with_free_func (g_free);
  return findings;
}

void
ow_git_findings_free (OwGitFindings *findings)
{
  if (findings == NULL)
    return;
  g_ptr_array_unref (findings->includes);
  g_ptr_array_unref (findings->files);
  g_ptr_array_unref (findings->dropped);
  g_free (findings);
}

/* A key's name says nothing secret; a subsection can be a URL with a password. */
static void
note (Clean              *clean,
      const OwGitSetting *setting)
{
  GPtrArray *dropped = clean->findings->dropped;
  g_autofree char *key = g_strdup_printf ("%s.%s", setting->section, setting->name);
  g_autofree char *shown = ow_text_shorten (key, SHOWN_CHARS, TRUE);

  for (guint i = 0; i < dropped->len; i++)
    if (strcmp (g_ptr_array_index (dropped, i), shown) == 0)
      return;
  if (dropped->len < MAX_DROPPED)
    g_ptr_array_add (dropped, g_steal_pointer (&shown));
}

static gboolean
is_in (const OwGitSetting *setting,
       const char * const *list,
       gsize               n)
{
  /* The old form of a subsection, "[section.sub]", is a part of the name. */
  g_autofree char *section = g_strndup (setting->section, strcspn (setting->section, "."));
  g_autofree char *key = g_strconcat (section, ".", setting->name, NULL);
  g_autofree char *any = g_strconcat (section, ".*", NULL);

  for (gsize i = 0; i < n; i++)
    if (strcmp (list[i], key) == 0 || strcmp (list[i], any) == 0)
      return TRUE;
  return FALSE;
}

/* --- URLs --- */

/* Whether @text has the beginning of a URL with a user. One of SSH is no secret without a
 * password. */
static gboolean
has_user (const char *text,
          gboolean   *ssh)
{
  for (const char *mark = strstr (text, "://"); mark != NULL; mark = strstr (mark + 3, "://"))
    {
      const char *start = mark;
      const char *host = mark + 3;
      gsize length = strcspn (host, "/ \t\n\"'?#");
      g_autofree char *place = g_strndup (host, length);
      const char *at = strrchr (place, '@');
      gboolean is_ssh;

      while (start > text && (g_ascii_isalnum (start[-1]) || strchr ("+-.", start[-1]) != NULL))
        start--;
      is_ssh = (mark - start == 3 && g_ascii_strncasecmp (start, "ssh", 3) == 0) ||
               (mark - start >= 4 && (g_ascii_strncasecmp (mark - 4, "+ssh", 4) == 0 ||
                                      g_ascii_strncasecmp (start, "ssh+", 4) == 0));
      *ssh = *ssh || is_ssh;
      if (at != NULL && (!is_ssh || memchr (place, ':', (gsize) (at - place)) != NULL))
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_ssh_place (const char *text)
{
  const char *at = strchr (text, '@');

  return at != NULL && strchr (at, ':') != NULL && strstr (text, "://") == NULL;
}

static gboolean
has_login (const char *text)
{
  gboolean ssh = FALSE;

  if (has_user (text, &ssh))
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (marks); i++)
    if (strstr (text, marks[i]) != NULL)
      return TRUE;
  return FALSE;
}

static gboolean
is_named_like_login (const OwGitSetting *setting)
{
  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    if (strstr (setting->name, words[i]) != NULL)
      return TRUE;
  return FALSE;
}

/* --- paths --- */

/* @path as one below the home; NULL: it does not lie there. */
static char *
find_below (const OwGitPlaces *places,
            const char        *path,
            gboolean           relative)
{
  const char *below = ow_credential_path_skip (path, places->person);
  g_autofree char *joined = NULL;
  g_autofree char *canonical = NULL;

  if (below == NULL)
    below = ow_credential_path_skip (path, places->named);
  if (below == NULL)
    below = ow_credential_path_skip (path, "~");
  if (below == NULL)
    {
      g_autofree char *folder = g_path_get_dirname (places->file);

      if (!relative || *path == '/' || *path == '~' || *path == '%')
        return NULL;
      joined = g_strconcat (folder, "/", path, NULL);
      below = joined;
    }
  /* "/" is the home here: nothing leads out of it. */
  canonical = g_canonicalize_filename (below, "/");
  return canonical[1] != '\0' ? g_strdup (canonical + 1) : NULL;
}

/* What the copies are: git's own settings and what is named like them. */
static gboolean
is_copied (const char *below)
{
  return (g_str_has_prefix (below, ".gitconfig") && strchr (below, '/') == NULL) ||
         g_str_has_prefix (below, ".config/git/");
}

static void
point_to (OwGitSetting *setting,
          const char   *below)
{
  g_free (setting->value);
  setting->value = g_strconcat ("~/", below, NULL);
}

/* "gitdir:~/work/" means a folder of the person's, which lies inside where it always does. */
static void
mend_condition (Clean        *clean,
                OwGitSetting *setting)
{
  static const char * const kinds[] = { "gitdir:~/", "gitdir/i:~/" };

  for (gsize i = 0; setting->subsection != NULL && i < G_N_ELEMENTS (kinds); i++)
    if (g_str_has_prefix (setting->subsection, kinds[i]))
      {
        const char *home = clean->places->named != NULL ? clean->places->named
                                                        : clean->places->person;
        g_autofree char *kind = g_strndup (kinds[i], strlen (kinds[i]) - 2);
        g_autofree char *old = g_steal_pointer (&setting->subsection);

        setting->subsection = g_strconcat (kind, home, "/", old + strlen (kinds[i]), NULL);
        return;
      }
}

static gboolean
keep_include (Clean        *clean,
              OwGitSetting *setting)
{
  g_autofree char *below = setting->value != NULL
                             ? find_below (clean->places, setting->value, TRUE) : NULL;

  if (below == NULL || !is_copied (below))
    {
      note (clean, setting);
      return FALSE;
    }
  mend_condition (clean, setting);
  point_to (setting, below);
  g_ptr_array_add (clean->findings->includes, g_steal_pointer (&below));
  return TRUE;
}

static gboolean
is_login_file (const char *below)
{
  g_autofree char *name = g_path_get_basename (below);

  for (gsize i = 0; i < G_N_ELEMENTS (places_of_logins); i++)
    if (g_str_has_prefix (below, places_of_logins[i]))
      return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (files_of_logins); i++)
    if (strcmp (name, files_of_logins[i]) == 0)
      return TRUE;
  return FALSE;
}

/* Settings and links can be an agent's, where the person keeps them in a folder that sessions have:
 * what a file is called where it lies in truth is nothing that a setting or a link can say. */
const char *
ow_git_config_why_no_words (const char *person,
                            const char *real)
{
  static const char * const names[] = {
    "git", "ign", "exclude", "attributes", "message", "msg", "template", "mailmap", "signers",
  };
  const char *below = ow_credential_path_skip (real, person);
  g_autofree char *name = g_path_get_basename (real);
  g_autofree char *lower = g_ascii_strdown (name, -1);

  if (is_login_file (below != NULL ? below : real))
    return "a login by its place or name";
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (strstr (lower, names[i]) != NULL)
      return NULL;
  return "not by its name what git reads such words from";
}

/* Files that git reads for their words, and which hold no settings. */
static gboolean
keep_file (Clean        *clean,
           OwGitSetting *setting)
{
  g_autofree char *below = setting->value != NULL
                             ? find_below (clean->places, setting->value, FALSE) : NULL;

  if (below == NULL)
    return setting->value != NULL && *setting->value != '~' && *setting->value != '/';
  point_to (setting, below);
  if (!is_login_file (below))
    g_ptr_array_add (clean->findings->files, g_steal_pointer (&below));
  return TRUE;
}

/* --- one setting --- */

static gboolean
is_key (const OwGitSetting *setting,
        const char         *section,
        const char         *name)
{
  return strcmp (setting->section, section) == 0 && strcmp (setting->name, name) == 0;
}

/* A rewriting of addresses: to ones with a login, or to SSH where there is none of it inside. */
static gboolean
keep_url (Clean        *clean,
          OwGitSetting *setting)
{
  const char *to = setting->subsection != NULL ? setting->subsection : "";
  gboolean ssh = is_ssh_place (to);

  return !has_user (to, &ssh) && (!ssh || clean->places->has_ssh);
}

static gboolean
keep_setting (Clean        *clean,
              OwGitSetting *setting)
{
  if (is_in (setting, logins, G_N_ELEMENTS (logins)))
    return FALSE;
  if (strcmp (setting->section, "include") == 0 || strcmp (setting->section, "includeif") == 0)
    return strcmp (setting->name, "path") == 0 && keep_include (clean, setting);
  if (strcmp (setting->name, "gpgsign") == 0)
    {
      clean->findings->unsigned_commits |= g_strcmp0 (setting->value, "false") != 0;
      return FALSE;
    }
  if (is_in (setting, programs, G_N_ELEMENTS (programs)))
    {
      /* The others change nothing of what git does, or the sandbox has its own. */
      if (is_key (setting, "core", "hookspath"))
        note (clean, setting);
      return FALSE;
    }
  if (strcmp (setting->section, "alias") == 0 && setting->value != NULL && *setting->value == '!')
    {
      note (clean, setting);
      return FALSE;
    }
  if ((strcmp (setting->section, "url") == 0 && !keep_url (clean, setting)) ||
      is_named_like_login (setting) ||
      (setting->value != NULL && has_login (setting->value)) ||
      (setting->subsection != NULL && has_login (setting->subsection)) ||
      (g_ascii_strncasecmp (setting->section, "url.", 4) == 0))
    {
      note (clean, setting);
      return FALSE;
    }
  if (is_key (setting, "core", "excludesfile") || is_key (setting, "core", "attributesfile") ||
      is_key (setting, "commit", "template") || is_key (setting, "mailmap", "file") ||
      is_key (setting, "gpg", "allowedsignersfile"))
    return keep_file (clean, setting);
  return TRUE;
}

void
ow_git_config_clean (GPtrArray         *settings,
                     const OwGitPlaces *places,
                     OwGitFindings     *findings)
{
  Clean clean = { .places = places, .findings = findings };

  for (guint i = 0; i < settings->len;)
    {
      if (keep_setting (&clean, g_ptr_array_index (settings, i)))
        i++;
      else
        g_ptr_array_remove_index (settings, i);
    }
}
