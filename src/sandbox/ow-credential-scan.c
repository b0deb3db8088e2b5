/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-credential-scan-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-text.h"

#define MAX_ENTRIES 300000
#define MAX_DEPTH   64
#define PEEK_BYTES  65536

typedef struct {
  uid_t  owner;
  gid_t  own_group;
  gint64 deadline;
  guint  left;
  char  *found; /* (owned) (nullable) */
} Scan;

static const char * const names[] = {
  "credentials", "credentials.toml", "credentials.json", "credentials.yml", "credentials.yaml",
  "credentials.xml", "credentials.ini", "credentials.db", "credentials.tfrc.json", ".credentials",
  ".credentials.json", "credential", "application_default_credentials.json", "access_tokens.db",
  "msal_token_cache.json", "token", "token.json", "token.txt", "token.toml", "token.yml",
  "token.yaml", "tokens", "tokens.json", "tokens.toml", ".token", ".netrc", "_netrc", ".pypirc",
  ".git-credentials", ".pgpass", ".my.cnf", ".dockercfg", ".htpasswd", ".env", "auth.json",
  "hosts.yml", "kubeconfig", "cookies.sqlite", "login.keyring", ".vault-token", ".boto",
  "logins.json", "key4.db", "login data", "cookies", "rclone.conf", ".s3cfg", ".authinfo",
  ".authinfo.gpg", ".smbcredentials", "pgpass.conf", "client_secret.json", "accesstokens.json",
  ".env.local", ".env.production",
};

/* What editors and people put behind the name of a copy. */
static const char * const copies[] = { "~", ".bak", ".backup", ".old", ".orig", ".save" };

static const char * const suffixes[] = { ".keyring", ".kdbx", ".p12", ".pfx", ".ppk" };

static const char * const folders[] = {
  ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", "keyrings", ".password-store",
};

/* Names that count only with one of these in the file. */
static const struct {
  const char *name;
  const char *words[4];
} by_content[] = {
  { ".npmrc", { "_auth", "_password", NULL } },
  { ".yarnrc", { "_auth", "_password", NULL } },
  { ".yarnrc.yml", { "npmAuth", NULL } },
  { "config.json", { "\"auths\"", "\"auth\"", "\"identitytoken\"", NULL } },
  { "settings.xml", { "<password>", NULL } },
  { "gradle.properties", { "assword=", "oken=", NULL } },
  { "pip.conf", { "://", NULL } },
};

static gboolean
is_in (const char         *text,
       const char * const *list,
       gsize               n)
{
  for (gsize i = 0; i < n; i++)
    if (g_ascii_strcasecmp (text, list[i]) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
has_suffix (const char *name,
            const char *suffix)
{
  gsize length = strlen (name);
  gsize n = strlen (suffix);

  return length > n && g_ascii_strcasecmp (name + length - n, suffix) == 0;
}

/* A private key by its name: its content decides. */
static gboolean
may_be_key (const char *name)
{
  return has_suffix (name, ".pem") || has_suffix (name, ".key") ||
         (g_str_has_prefix (name, "id_") && !has_suffix (name, ".pub"));
}

static gboolean
is_credential_name (const char *name)
{
  if (is_in (name, names, G_N_ELEMENTS (names)))
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (suffixes); i++)
    if (has_suffix (name, suffixes[i]))
      return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (copies); i++)
    if (has_suffix (name, copies[i]))
      {
        g_autofree char *original = g_strndup (name, strlen (name) - strlen (copies[i]));

        return is_credential_name (original);
      }
  return FALSE;
}

static void
found (Scan       *scan,
       const char *path,
       const char *what)
{
  g_autofree char *shown = ow_text_visible (path);
  g_autofree char *cut = ow_text_shorten (shown, 200, TRUE);

  scan->found = g_strdup_printf ("it holds %s, %s", cut, what);
}

/* TRUE also where the file cannot be read: what it holds is not known then. */
static gboolean
holds (int                 dir_fd,
       const char         *name,
       const char * const *words)
{
  g_autofree char *text = g_malloc (PEEK_BYTES + 1);
  int fd = openat (dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  ssize_t length = fd >= 0 ? read (fd, text, PEEK_BYTES) : -1;
  gboolean any = length < 0;

  if (fd >= 0)
    close (fd);
  for (gsize i = 0; length > 0 && !any && words[i] != NULL; i++)
    any = memmem (text, (gsize) length, words[i], strlen (words[i])) != NULL;
  return any;
}

static gboolean
is_of_tests (const char *path)
{
  static const char * const parts[] = {
    "test", "tests", "testing", "testdata", "fixtures", "fixture", "example", "examples",
  };
  g_auto (GStrv) words = g_strsplit (path, "/", -1);

  for (guint i = 0; words[i] != NULL && words[i + 1] != NULL; i++)
    if (is_in (words[i], parts, G_N_ELEMENTS (parts)))
      return TRUE;
  return FALSE;
}

static void
check_file (Scan              *scan,
            int                dir_fd,
            const char        *name,
            const char        *path,
            const struct stat *st)
{
  static const char * const key_words[] = { "PRIVATE KEY", NULL };

  if (is_credential_name (name))
    found (scan, path, "which holds credentials by its name");
  else if (may_be_key (name) && holds (dir_fd, name, key_words) &&
           !((st->st_mode & 0044) == 0044 && is_of_tests (path)))
    found (scan, path, "which holds a private key");
  for (gsize i = 0; scan->found == NULL && i < G_N_ELEMENTS (by_content); i++)
    if (g_ascii_strcasecmp (name, by_content[i].name) == 0 &&
        holds (dir_fd, name, by_content[i].words))
      found (scan, path, "which holds credentials");
}

/* What a link leads to is not there inside, unless it is shared by another folder; one to a
 * credential says that somebody reads it from here. */
static void
check_link (Scan       *scan,
            int         dir_fd,
            const char *name,
            const char *path)
{
  char target[4096];
  ssize_t length = readlinkat (dir_fd, name, target, sizeof target - 1);
  g_autofree char *last = NULL;

  if (length < 0)
    return;
  target[length] = '\0';
  last = g_path_get_basename (target);
  if (is_credential_name (name) || is_credential_name (last) ||
      is_in (last, folders, G_N_ELEMENTS (folders)))
    found (scan, path, "a link to what holds credentials by its name");
}

static void
check_owner (Scan              *scan,
             const char        *path,
             const struct stat *st)
{
  if (S_ISLNK (st->st_mode))
    return;
  if (st->st_uid != scan->owner && st->st_uid != 0)
    found (scan, path, "which belongs to another account");
  else if ((st->st_mode & 0002) != 0 && !((st->st_mode & S_ISVTX) != 0 && S_ISDIR (st->st_mode)))
    found (scan, path, "which everybody can write");
  else if ((st->st_mode & 0020) != 0 && st->st_gid != scan->own_group)
    found (scan, path, "which another group can write");
}

static void scan_folder (Scan       *scan,
                         int         fd,
                         const char *path,
                         guint       depth);

static void
check_entry (Scan       *scan,
             int         dir_fd,
             const char *name,
             const char *path,
             guint       depth)
{
  struct stat st;
  int fd;

  if (fstatat (dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
    {
      if (errno != ENOENT)
        found (scan, path, "which cannot be looked at");
      return;
    }
  check_owner (scan, path, &st);
  if (scan->found != NULL)
    return;
  if (S_ISREG (st.st_mode))
    check_file (scan, dir_fd, name, path, &st);
  else if (S_ISLNK (st.st_mode))
    check_link (scan, dir_fd, name, path);
  else if (!S_ISDIR (st.st_mode))
    found (scan, path, "a socket, pipe or device");
  else if (is_in (name, folders, G_N_ELEMENTS (folders)))
    found (scan, path, "a folder of credentials by its name");
  else if ((fd = openat (dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
    found (scan, path, "which cannot be looked through");
  else
    scan_folder (scan, fd, path, depth + 1);
}

/* Takes @fd. */
static void
scan_folder (Scan       *scan,
             int         fd,
             const char *path,
             guint       depth)
{
  DIR *dir = fdopendir (fd);
  struct dirent *entry;

  if (dir == NULL || depth > MAX_DEPTH)
    {
      if (dir != NULL)
        closedir (dir);
      else
        close (fd);
      found (scan, path, "which cannot be looked through");
      return;
    }
  while (scan->found == NULL && (entry = readdir (dir)) != NULL)
    {
      g_autofree char *below = NULL;

      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
        continue;
      if (scan->left-- == 0 || g_get_monotonic_time () > scan->deadline)
        {
          scan->found = g_strdup ("it is too large to be looked through for credentials");
          break;
        }
      below = *path == '\0' ? g_strdup (entry->d_name)
                            : g_build_filename (path, entry->d_name, NULL);
      check_entry (scan, dirfd (dir), entry->d_name, below, depth);
    }
  closedir (dir);
}

char *
ow_credential_scan (int    dir_fd,
                    uid_t  owner,
                    gint64 deadline)
{
  Scan scan = {
    .owner = owner, .own_group = getegid (), .deadline = deadline, .left = MAX_ENTRIES,
  };
  int fd = openat (dir_fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

  if (fd < 0)
    return g_strdup_printf ("it cannot be looked through: %s", g_strerror (errno));
  scan_folder (&scan, fd, "", 0);
  return scan.found;
}
