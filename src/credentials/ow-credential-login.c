/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-credential-login-private.h"

#include <string.h>
#include <unistd.h>

#include "ow-credential-aws-private.h"
#include "ow-credential-finding-private.h"
#include "ow-credential-gh-private.h"
#include "ow-credential-kube-private.h"
#include "ow-credential-ssh-private.h"
#include "ow-credential-yaml-private.h"

#define SHOWN_NOTES     6
#define MAX_KUBECONFIGS 32
#define KEY_BYTES       65536

/* git asks gh for the login at github.com, as `gh auth setup-git` sets it up: the settings of git
 * that are copied have no helper any more. */
#define GIT_KEY   "credential.https://github.com.helper"
#define GIT_VALUE "!gh auth git-credential"

/* What is done for one entry. */
typedef struct {
  OwCredentialCopy    *copy;        /* (unowned) */
  OwCredentialFinding *finding;     /* (unowned) */
  const char          *kubeconfig;  /* (unowned) (nullable) */
  GPtrArray           *environment; /* (unowned) (nullable) NULL: nothing is copied */
  GPtrArray           *written;     /* (owned) of Written: once it is clear that they are of use */
} Look;

typedef struct {
  char   *path;  /* (owned) below the home */
  GBytes *bytes; /* (owned) */
} Written;

typedef struct {
  const char *name;
  const char *what; /* what it lets the agent do */
  const char *more; /* for who is to decide about it */
  /* FALSE: there are no files. */
  gboolean  (*look)(Look *look);
} Kind;

const char *
ow_credential_use_to_string (OwCredentialUse use)
{
  switch (use)
    {
    case OW_CREDENTIAL_USE_ALL:
      return "usable";

    case OW_CREDENTIAL_USE_PART:
      return "partly";

    case OW_CREDENTIAL_USE_NOTHING:
      return "nothing";

    case OW_CREDENTIAL_USE_MISSING:
    default:
      return "missing";
    }
}

void
ow_credential_login_free (OwCredentialLogin *login)
{
  if (login == NULL)
    return;
  g_free (login->sentence);
  g_clear_pointer (&login->hosts, g_ptr_array_unref);
  g_clear_pointer (&login->consent, g_ptr_array_unref);
  g_free (login);
}

static void
free_written (gpointer data)
{
  Written *written = data;

  g_free (written->path);
  g_bytes_unref (written->bytes);
  g_free (written);
}

/* --- files --- */

/* Reads @path below the home. What was left out becomes a note of the entry's. NULL with *@there:
 * it is there, and cannot be used. */
static GBytes *
read_file (Look       *look,
           const char *path,
           gboolean   *there)
{
  GPtrArray *left_out = look->copy->left_out;
  guint before = left_out->len;
  GBytes *bytes = ow_credential_copy_is_over (look->copy)
                  ? NULL : ow_credential_copy_read (look->copy, path, OW_CREDENTIAL_YAML_BYTES);

  *there = bytes != NULL || left_out->len > before;
  for (guint i = before; i < left_out->len; i++)
    ow_credential_finding_add_note (look->finding, "%s",
                                    (const char *) g_ptr_array_index (left_out, i));
  g_ptr_array_set_size (left_out, (int) before);
  return bytes;
}

static void
note_broken (Look         *look,
             const char   *path,
             const GError *error)
{
  g_autofree char *shown = ow_credential_copy_show (path);

  ow_credential_finding_add_note (look->finding, "%s cannot be read: %s", shown, error->message);
}

static void
set_environment (Look       *look,
                 const char *name,
                 const char *path)
{
  if (look->environment != NULL)
    g_ptr_array_add (look->environment,
                     g_strdup_printf ("%s=%s/%s", name, look->copy->home, path));
}

/* --- gh --- */

static gboolean
look_gh (Look *look)
{
  const char *dir = look->finding->entry->path;
  g_autofree char *path = g_build_filename (dir, "hosts.yml", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;
  gboolean there;

  bytes = read_file (look, path, &there);
  if (bytes != NULL && !ow_credential_gh_read (look->finding, bytes, &error))
    note_broken (look, path, error);
  if (look->finding->works->len > 0 && look->environment != NULL)
    {
      set_environment (look, "GH_CONFIG_DIR", dir);
      g_ptr_array_add (look->environment, g_strdup ("GIT_CONFIG_COUNT=1"));
      g_ptr_array_add (look->environment, g_strdup ("GIT_CONFIG_KEY_0=" GIT_KEY));
      g_ptr_array_add (look->environment, g_strdup ("GIT_CONFIG_VALUE_0=" GIT_VALUE));
    }
  return there;
}

/* --- aws --- */

/* `aws sso login` and assumed roles leave what is a login for some hours in these. */
static gboolean
has_cache (Look *look)
{
  static const char * const dirs[] = { "sso/cache", "cli/cache" };
  gboolean found = FALSE;

  for (gsize i = 0; i < G_N_ELEMENTS (dirs); i++)
    {
      guint before = look->copy->left_out->len;
      g_autofree char *dir = g_build_filename (look->finding->entry->path, dirs[i], NULL);
      g_autoptr (GPtrArray) names = ow_credential_copy_list (look->copy, dir);

      for (guint j = 0; j < names->len; j++)
        found = found || g_str_has_suffix (g_ptr_array_index (names, j), ".json");
      g_ptr_array_set_size (look->copy->left_out, (int) before);
    }
  return found;
}

static gboolean
look_aws (Look *look)
{
  static const char * const files[] = { "config", "credentials" };
  static const char * const names[] = { "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE" };
  OwCredentialAws aws = { .finding = look->finding };
  gboolean any = FALSE;

  for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (look->finding->entry->path, files[i], NULL);
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) bytes = NULL;
      gboolean there;

      bytes = read_file (look, path, &there);
      any = any || there;
      if (bytes != NULL && !ow_credential_aws_read (&aws, bytes, &error))
        note_broken (look, path, error);
      set_environment (look, names[i], path);
    }
  aws.signed_in = aws.sso && has_cache (look);
  if (any)
    ow_credential_aws_finish (&aws);
  return any;
}

/* --- kube --- */

/* The kubeconfigs below the entry's path; the one that kubectl takes by itself where KUBECONFIG
 * names none of them. */
static GPtrArray *
list_kubeconfigs (Look *look)
{
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  const char *home = look->finding->home;
  g_autofree char *root = g_build_filename (home, look->finding->entry->path, "/", NULL);
  g_auto (GStrv) words = g_strsplit (look->kubeconfig == NULL ? "" : look->kubeconfig, ":",
                                     MAX_KUBECONFIGS);

  for (guint i = 0; words[i] != NULL; i++)
    {
      g_autofree char *whole = g_canonicalize_filename (words[i], home);
      g_autofree char *shown = ow_credential_finding_show_path (whole, home);

      if (*words[i] == '\0')
        continue;
      if (*words[i] == '/' && g_str_has_prefix (whole, root))
        g_ptr_array_add (paths, g_strdup (whole + strlen (home) + 1));
      else
        ow_credential_finding_add_note (look->finding, "KUBECONFIG names %s, which is outside "
                                        "~/%s and not shared", shown, look->finding->entry->path);
    }
  if (paths->len == 0)
    g_ptr_array_add (paths, g_build_filename (look->finding->entry->path, "config", NULL));
  return paths;
}

static gboolean
take_kubeconfig (Look             *look,
                 OwCredentialKube *kube,
                 const char       *path,
                 gboolean         *there)
{
  g_autofree char *whole = g_build_filename (look->finding->home, path, NULL);
  g_autoptr (GBytes) bytes = read_file (look, path, there);
  g_autoptr (GBytes) changed = NULL;
  g_autoptr (GError) error = NULL;
  Written *written;

  if (bytes == NULL)
    return FALSE;
  if (!ow_credential_kube_read (kube, whole, bytes, &changed, &error))
    {
      note_broken (look, path, error);
      return FALSE;
    }
  written = g_new0 (Written, 1);
  written->path = g_strdup (path);
  written->bytes = g_bytes_ref (changed != NULL ? changed : bytes);
  g_ptr_array_add (look->written, written);
  return TRUE;
}

static gboolean
look_kube (Look *look)
{
  g_autoptr (GPtrArray) paths = list_kubeconfigs (look);
  g_autoptr (OwCredentialKube) kube = ow_credential_kube_new (look->finding);
  g_autoptr (GString) list = g_string_new ("KUBECONFIG=");
  gboolean any = FALSE;
  guint n = 0;

  for (guint i = 0; i < paths->len; i++)
    {
      const char *path = g_ptr_array_index (paths, i);
      gboolean there;

      if (take_kubeconfig (look, kube, path, &there))
        g_string_append_printf (list, "%s%s/%s", n++ > 0 ? ":" : "",
                                look->environment == NULL ? "" : look->copy->home, path);
      any = any || there;
    }
  if (any)
    ow_credential_kube_finish (kube);
  if (n > 0 && look->environment != NULL)
    g_ptr_array_add (look->environment, g_strdup (list->str));
  return any;
}

/* --- the person's own --- */

static gboolean
look_own (Look *look)
{
  const char *path = look->finding->entry->path;
  g_autofree char *shown = ow_credential_copy_show (path);
  GPtrArray *left_out = look->copy->left_out;
  guint before = left_out->len;
  OwCredentialKind kind = ow_credential_copy_look (look->copy, path);

  for (guint i = before; i < left_out->len; i++)
    ow_credential_finding_add_note (look->finding, "%s",
                                    (const char *) g_ptr_array_index (left_out, i));
  g_ptr_array_set_size (left_out, (int) before);
  if (kind == OW_CREDENTIAL_FILE || kind == OW_CREDENTIAL_FOLDER)
    ow_credential_finding_add_work (look->finding, "%s", shown);
  return kind != OW_CREDENTIAL_MISSING;
}

/* --- ssh, which ow-credential-ssh.c copies --- */

static gboolean
is_private_key (GBytes *bytes)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);

  return g_strstr_len (data, (gssize) length, "PRIVATE KEY-----") != NULL;
}

static gboolean
look_ssh (Look *look)
{
  OwCredentialFinding *finding = look->finding;
  const char *dir = finding->entry->path;
  guint before = look->copy->left_out->len;
  g_autoptr (GPtrArray) locked = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) names = NULL;
  guint n_keys = 0;

  if (ow_credential_copy_look (look->copy, dir) != OW_CREDENTIAL_FOLDER)
    return look_own (look);
  names = ow_credential_copy_list (look->copy, dir);
  for (guint i = 0; i < names->len && !ow_credential_copy_is_over (look->copy); i++)
    {
      g_autofree char *path = g_build_filename (dir, g_ptr_array_index (names, i), NULL);
      g_autoptr (GBytes) bytes = ow_credential_copy_look (look->copy, path) == OW_CREDENTIAL_FILE
                                 ? ow_credential_copy_read (look->copy, path, KEY_BYTES) : NULL;

      if (bytes == NULL || !is_private_key (bytes))
        continue;
      n_keys++;
      if (ow_credential_ssh_has_passphrase (bytes))
        g_ptr_array_add (locked, ow_credential_copy_show (path));
    }
  g_ptr_array_set_size (look->copy->left_out, (int) before);
  ow_credential_finding_add_work (finding, "ssh");
  if (n_keys == 0)
    ow_credential_finding_add_note (finding, "no private key is in its files, and an agent's are "
                                    "not shared");
  if (locked->len > 0)
    {
      g_autofree char *list = ow_credential_finding_join (locked, ", ", SHOWN_NOTES);

      ow_credential_finding_add_note (finding, "a key with a passphrase cannot be used inside: %s",
                                      list);
    }
  return TRUE;
}

static const Kind kinds[] = {
  { "gh", "use gh: pull requests, issues, releases", ", as you", look_gh },
  { "aws", "use aws with your profiles", ", and whatever these may do", look_aws },
  { "kube", "use kubectl with your clusters", ", and whatever you may do there", look_kube },
  { "ssh", "push and pull over SSH, and log in to servers, as you", "", look_ssh },
};

static const Kind *
find_kind (const OwConfigCredential *entry)
{
  static const Kind own = { NULL, "use what is in it", ", as you", look_own };

  for (gsize i = 0; entry->built_in && i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kinds[i].name, entry->name) == 0)
      return &kinds[i];

  return &own;
}

/* --- what is said --- */

char *
ow_credential_login_describe (const OwConfigCredential *entry)
{
  const Kind *kind = find_kind (entry);

  return g_strdup_printf ("The agent can %s%s.", kind->what, kind->more);
}

char *
ow_credential_login_tell (const OwConfigCredential *entry)
{
  return g_strdup_printf ("Lets the agent %s.", find_kind (entry)->what);
}

static OwCredentialUse
judge (const OwCredentialFinding *finding,
       gboolean                   there)
{
  if (!there)
    return OW_CREDENTIAL_USE_MISSING;
  if (finding->works->len == 0)
    return OW_CREDENTIAL_USE_NOTHING;
  return finding->notes->len > 0 ? OW_CREDENTIAL_USE_PART : OW_CREDENTIAL_USE_ALL;
}

static char *
say (const OwCredentialFinding *finding,
     const Kind                *kind,
     OwCredentialUse            use)
{
  g_autofree char *notes = ow_credential_finding_join (finding->notes, "; ", SHOWN_NOTES);
  g_autofree char *path = ow_credential_copy_show (finding->entry->path);

  switch (use)
    {
    case OW_CREDENTIAL_USE_ALL:
      return ow_credential_login_tell (finding->entry);

    case OW_CREDENTIAL_USE_PART:
      return g_strdup_printf ("Lets the agent %s; %s.", kind->what, notes);

    case OW_CREDENTIAL_USE_NOTHING:
      return g_strdup_printf ("Nothing usable to share: %s.",
                              *notes != '\0' ? notes : "no login is in its files");

    case OW_CREDENTIAL_USE_MISSING:
    default:
      return g_strdup_printf ("Nothing to share: there is no login in %s%s%s.", path,
                              *notes != '\0' ? "; " : "", notes);
    }
}

/* The entry's own hosts, but for kube, whose hosts are those of its file. */
static void
add_own_hosts (OwCredentialFinding *finding)
{
  const OwConfigCredential *entry = finding->entry;

  for (guint i = 0; i < entry->hosts->len; i++)
    ow_credential_finding_add_host (finding->hosts,
                                    ow_host_copy (g_ptr_array_index (entry->hosts, i)));
  for (guint i = 0; i < entry->private_hosts->len; i++)
    ow_credential_finding_add_host (finding->hosts,
                                    ow_host_copy (g_ptr_array_index (entry->private_hosts, i)));
}

/* A copy that cannot be written is copy's failure. */
static void
write_all (OwCredentialCopy *copy,
           GPtrArray        *written)
{
  for (guint i = 0; i < written->len; i++)
    {
      const Written *file = g_ptr_array_index (written, i);
      gsize length;
      const char *data = g_bytes_get_data (file->bytes, &length);

      ow_credential_copy_write (copy, file->path, data, length, 0600);
    }
}

static OwCredentialLogin *
read_entry (OwCredentialCopy         *copy,
            const OwConfigCredential *entry,
            const char               *kubeconfig,
            GPtrArray                *environment)
{
  g_autoptr (OwCredentialFinding) finding = ow_credential_finding_new (entry, copy->named);
  const Kind *kind = find_kind (entry);
  guint variables = environment == NULL ? 0 : environment->len;
  g_autoptr (GPtrArray) written = g_ptr_array_new_with_free_func (free_written);
  Look look = { copy, finding, kubeconfig, environment, written };
  OwCredentialLogin *login = g_new0 (OwCredentialLogin, 1);
  gboolean there = kind->look (&look);

  if (copy->failure != NULL)
    {
      there = TRUE;
      g_ptr_array_set_size (finding->works, 0);
      ow_credential_finding_add_note (finding, "%s", copy->failure->message);
    }
  login->use = judge (finding, there);
  if (kind->look != look_kube)
    add_own_hosts (finding);
  if (login->use == OW_CREDENTIAL_USE_NOTHING || login->use == OW_CREDENTIAL_USE_MISSING)
    {
      /* What cannot be used is not copied, and opens nothing. */
      g_ptr_array_set_size (finding->hosts, 0);
      if (environment != NULL)
        g_ptr_array_set_size (environment, (int) variables);
    }
  else if (environment != NULL)
    {
      write_all (copy, written);
    }
  login->sentence = say (finding, kind, login->use);
  login->hosts = g_ptr_array_ref (finding->hosts);
  login->consent = g_ptr_array_ref (finding->consent);
  return login;
}

OwCredentialLogin *
ow_credential_login_share (OwCredentialCopy         *copy,
                           const OwConfigCredential *entry,
                           const char               *kubeconfig,
                           GPtrArray                *environment)
{
  return read_entry (copy, entry, kubeconfig, environment);
}

OwCredentialLogin *
ow_credential_login_look (const OwConfigCredential *entry,
                          const char               *home,
                          const char               *kubeconfig,
                          gint64                    deadline)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwCredentialCopy) copy =
    ow_credential_copy_new (home, NULL, geteuid (), getegid (), deadline, NULL, &error);
  OwCredentialLogin *login;

  if (copy != NULL)
    return read_entry (copy, entry, kubeconfig, NULL);
  login = g_new0 (OwCredentialLogin, 1);
  login->use = OW_CREDENTIAL_USE_NOTHING;
  login->sentence = g_steal_pointer (&error->message);
  login->hosts = g_ptr_array_new ();
  login->consent = g_ptr_array_new ();
  return login;
}
