/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config-credentials.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "ow-config-credentials-private.h"
#include "ow-config-private.h"

#define KEY            OW_CONFIG_CREDENTIALS
#define MAX_NAME_CHARS 64
#define MAX_PATH_BYTES 1024

typedef struct {
  const char *name;
  const char *path;
  const char *hosts[3];
} BuiltIn;

/* REQ-S01. The hosts of kube are the servers in its file. */
static const BuiltIn built_ins[] = {
  { "ssh", ".ssh", { "github.com:22", "gitlab.com:22" } },
  { "gh", ".config/gh", { "api.github.com:443", "github.com:443" } },
  { "aws", ".aws", { "*.amazonaws.com:443" } },
  { "kube", ".kube", { NULL } },
};

static GPtrArray *
new_hosts (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);
}

OwConfigCredential *
ow_config_credential_new (void)
{
  OwConfigCredential *self = g_new0 (OwConfigCredential, 1);

  self->hosts = new_hosts ();
  self->private_hosts = new_hosts ();

  return self;
}

static void
add_copies (GPtrArray *to,
            GPtrArray *hosts)
{
  for (guint i = 0; i < hosts->len; i++)
    g_ptr_array_add (to, ow_host_copy (g_ptr_array_index (hosts, i)));
}

OwConfigCredential *
ow_config_credential_copy (const OwConfigCredential *credential)
{
  OwConfigCredential *copy = ow_config_credential_new ();

  copy->name = g_strdup (credential->name);
  copy->path = g_strdup (credential->path);
  copy->enabled = credential->enabled;
  copy->built_in = credential->built_in;
  add_copies (copy->hosts, credential->hosts);
  add_copies (copy->private_hosts, credential->private_hosts);

  return copy;
}

void
ow_config_credential_free (OwConfigCredential *credential)
{
  if (credential == NULL)
    return;

  g_free (credential->name);
  g_free (credential->path);
  g_ptr_array_unref (credential->hosts);
  g_ptr_array_unref (credential->private_hosts);
  g_free (credential);
}

GPtrArray *
ow_config_credentials_new (void)
{
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_config_credential_free);

  for (gsize i = 0; i < G_N_ELEMENTS (built_ins); i++)
    {
      OwConfigCredential *self = ow_config_credential_new ();

      self->name = g_strdup (built_ins[i].name);
      self->path = g_strdup (built_ins[i].path);
      self->built_in = TRUE;
      for (const char * const *host = built_ins[i].hosts; *host != NULL; host++)
        g_ptr_array_add (self->hosts, ow_host_parse (*host, NULL));
      g_ptr_array_add (all, self);
    }

  return all;
}

/* Whether one of two paths below the home is the other or in it. */
static gboolean
overlaps (const char *a,
          const char *b)
{
  gsize n = MIN (strlen (a), strlen (b));

  return strncmp (a, b, n) == 0 && (a[n] == '\0' || a[n] == '/') && (b[n] == '\0' || b[n] == '/');
}

/* The private homes lie where these do, so that a copy would hold itself, and sessions,
 * records and approvals are nobody's login. */
static gboolean
is_ours (const char *path)
{
  g_autofree char *file = ow_paths_get_config_file ();
  g_autofree char *home = g_strconcat (g_get_home_dir (), "/", NULL);
  char *dirs[] = { g_path_get_dirname (file), ow_paths_get_data_dir (), ow_paths_get_state_dir () };
  gboolean found = FALSE;

  for (gsize i = 0; i < G_N_ELEMENTS (dirs); i++)
    {
      if (g_str_has_prefix (dirs[i], home) && overlaps (dirs[i] + strlen (home), path))
        found = TRUE;
      g_free (dirs[i]);
    }
  return found;
}

/* @text without "." and doubled slashes. NULL where it leads up. */
static char *
tidy (const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, "/", -1);
  GString *out = g_string_new (NULL);

  for (char **part = parts; *part != NULL; part++)
    {
      if (strcmp (*part, "..") == 0)
        {
          g_string_free (out, TRUE);
          return NULL;
        }
      if (**part != '\0' && strcmp (*part, ".") != 0)
        g_string_append_printf (out, "%s%s", out->len > 0 ? "/" : "", *part);
    }

  return g_string_free (out, FALSE);
}

/* What of @text comes behind the home; NULL: it is not in it. */
static const char *
skip_home (const char *text)
{
  const char *home = g_get_home_dir ();
  gsize length = strlen (home);

  if (text[0] == '~' && (text[1] == '/' || text[1] == '\0'))
    return text + 1;
  while (length > 0 && home[length - 1] == '/')
    length--;
  if (length > 0 && strncmp (text, home, length) == 0 &&
      (text[length] == '/' || text[length] == '\0'))
    return text + length;
  return NULL;
}

char *
ow_config_credential_parse_path (const char  *text,
                                 const char **why)
{
  const char *rest;
  g_autofree char *path = NULL;

  *why = NULL;
  for (const char *p = text; *p != '\0'; p++)
    if (g_ascii_iscntrl (*p))
      *why = "a path has no control characters";
  if (*why != NULL)
    return NULL;
  if (!g_utf8_validate (text, -1, NULL) || strstr (text, "\uFFFD") != NULL ||
      strlen (text) > MAX_PATH_BYTES)
    {
      *why = "a path has at most 1,024 bytes of text";
      return NULL;
    }

  rest = skip_home (text);
  if (rest == NULL)
    {
      *why = text[0] == '/' ? "it is outside your home, and only what is in it can be shared"
                            : "a path begins with \"~/\"";
      return NULL;
    }
  path = tidy (rest);
  if (path == NULL)
    *why = "\"..\" leads up, and a path is written without it";
  else if (*path == '\0')
    *why = "the home itself is never shared";
  else if (is_ours (path))
    *why = "it holds a folder of OpenWorker itself or lies in one, and these are never shared";

  return *why == NULL ? g_steal_pointer (&path) : NULL;
}

gboolean
ow_config_credential_is_name (const char *text)
{
  gsize n = strlen (text);

  if (n == 0 || n > MAX_NAME_CHARS || !g_ascii_isalnum (text[0]))
    return FALSE;
  for (const char *p = text; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("-_.", *p) == NULL)
      return FALSE;
  return TRUE;
}

static OwConfigCredential *
find (OwConfig   *self,
      const char *name)
{
  for (guint i = 0; i < self->credentials->len; i++)
    {
      OwConfigCredential *credential = g_ptr_array_index (self->credentials, i);

      if (strcmp (credential->name, name) == 0)
        return credential;
    }
  return NULL;
}

static gboolean
fail (const OwConfigTomlNode  *node,
      const OwConfigTomlNode  *entry,
      const char              *path,
      GError                 **error,
      const char              *format,
      ...) G_GNUC_PRINTF (5, 6);

static gboolean
fail (const OwConfigTomlNode  *node,
      const OwConfigTomlNode  *entry,
      const char              *path,
      GError                 **error,
      const char              *format,
      ...)
{
  g_autofree char *why = NULL;
  va_list args;

  va_start (args, format);
  why = g_strdup_vprintf (format, args);
  va_end (args);
  return ow_config_fail (path, ow_config_toml_node_line (node != NULL ? node : entry), why, error);
}

static gboolean
read_path (OwConfigCredential      *credential,
           const OwConfigTomlNode  *entry,
           const char              *path,
           GError                 **error)
{
  const OwConfigTomlNode *node = ow_config_toml_node_get (entry, "path");
  g_autofree char *text = ow_config_toml_node_text (node);
  g_autofree char *found = NULL;
  const char *why;

  if (node == NULL && credential->built_in)
    return TRUE;
  if (text == NULL)
    return fail (node, entry, path, error, "the login \"%s\" needs a path, a text such as "
                 "\"~/.npmrc\"", credential->name);
  found = ow_config_credential_parse_path (text, &why);
  if (found == NULL)
    return fail (node, entry, path, error, "the path \"%.80s\" of the login \"%s\" cannot be: %s",
                 text, credential->name, why);
  if (!credential->built_in)
    credential->path = g_steal_pointer (&found);
  else if (strcmp (credential->path, found) != 0)
    return fail (node, entry, path, error, "the path of \"%s\" is \"~/%s\", and no other; give "
                 "the entry a name of its own", credential->name, credential->path);
  return TRUE;
}

/* A built-in one has its own hosts, and an entry that lists others would seem to change them. */
static gboolean
read_hosts (OwConfigCredential      *credential,
            const OwConfigTomlNode  *entry,
            const char              *path,
            GError                 **error)
{
  const OwConfigTomlNode *node = ow_config_toml_node_get (entry, "hosts");
  g_autoptr (GPtrArray) hosts = new_hosts ();
  gboolean same = TRUE;

  if (!ow_config_hosts_read (node, "hosts", hosts, path, error))
    return FALSE;
  if (!credential->built_in)
    {
      g_ptr_array_extend_and_steal (credential->hosts, g_steal_pointer (&hosts));
      return TRUE;
    }
  for (guint i = 0; i < hosts->len; i++)
    same = same && ow_host_find_in (credential->hosts, g_ptr_array_index (hosts, i)) != NULL;
  if (node != NULL && (!same || hosts->len != credential->hosts->len))
    return fail (node, entry, path, error, "the hosts of \"%s\" are its own; others go into "
                 "sandbox_extra_hosts, or an entry with a name of its own", credential->name);
  return TRUE;
}

static gboolean
read_entry (OwConfig                *self,
            const OwConfigTomlNode  *entry,
            GHashTable              *names,
            const char              *path,
            GError                 **error)
{
  const OwConfigTomlNode *node = ow_config_toml_node_get (entry, "name");
  const OwConfigTomlNode *enabled = ow_config_toml_node_get (entry, "enabled");
  g_autofree char *name = ow_config_toml_node_text (node);
  OwConfigCredential *credential;

  if (name == NULL || !ow_config_credential_is_name (name))
    return fail (node, entry, path, error, "an entry of " KEY " needs a name of 1 to 64 letters, "
                 "digits, \"-\", \"_\" and \".\", that begins with a letter or a digit");
  if (!g_hash_table_add (names, g_strdup (name)))
    return fail (node, entry, path, error, "there are two entries of " KEY " with the name \"%s\"",
                 name);
  if (enabled != NULL && ow_config_toml_node_kind (enabled) != OW_CONFIG_TOML_FLAG)
    return fail (enabled, entry, path, error, "enabled of the login \"%s\" is true or false, "
                 "without quotes", name);

  credential = find (self, name);
  if (credential == NULL)
    {
      credential = ow_config_credential_new ();
      credential->name = g_strdup (name);
      g_ptr_array_add (self->credentials, credential);
    }
  credential->enabled = ow_config_toml_node_flag (enabled);

  return read_path (credential, entry, path, error) &&
         read_hosts (credential, entry, path, error) &&
         ow_config_hosts_read_private (ow_config_toml_node_get (entry, "private_hosts"),
                                       credential->private_hosts, path, error);
}

gboolean
ow_config_credentials_read (OwConfig      *self,
                            OwConfigToml  *toml,
                            const char    *path,
                            GError       **error)
{
  const OwConfigTomlNode *list = ow_config_toml_node_get (ow_config_toml_get_root (toml), KEY);
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint n = ow_config_toml_node_length (list);

  if (list != NULL && ow_config_toml_node_kind (list) != OW_CONFIG_TOML_LIST)
    return fail (list, NULL, path, error, KEY " is a list of tables, each of them headed "
                 "[[" KEY "]]");
  for (guint i = 0; i < n; i++)
    {
      const OwConfigTomlNode *entry = ow_config_toml_node_at (list, i);

      if (ow_config_toml_node_kind (entry) != OW_CONFIG_TOML_TABLE)
        return fail (entry, NULL, path, error, KEY " is a list of tables, each of them headed "
                     "[[" KEY "]]");
      if (i >= OW_CONFIG_MAX_CREDENTIALS)
        return fail (entry, NULL, path, error, "there are more than %d entries of " KEY,
                     OW_CONFIG_MAX_CREDENTIALS);
      if (!read_entry (self, entry, names, path, error))
        return FALSE;
    }

  return TRUE;
}

GPtrArray *
ow_config_get_credentials (OwConfig *self)
{
  g_return_val_if_fail (OW_IS_CONFIG (self), NULL);

  return self->credentials;
}

const OwConfigCredential *
ow_config_find_credential (OwConfig   *self,
                           const char *name)
{
  g_return_val_if_fail (OW_IS_CONFIG (self), NULL);

  return find (self, name);
}

gboolean
ow_config_credential_allows (const OwConfigCredential *credential,
                             const char               *host,
                             guint16                   port)
{
  const OwHost wanted = { .host = (char *) host, .port = port };

  return ow_host_find_in (credential->private_hosts, &wanted) != NULL;
}
