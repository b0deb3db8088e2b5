/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-credential-kube-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "ow-credential-yaml-private.h"

#define SHOWN_NAMES 4

typedef struct {
  gsize start;
  gsize end;
  char *text; /* (owned) */
} Change;

/* What kubectl uses together. */
typedef struct {
  char *name;    /* (owned) */
  char *cluster; /* (owned) */
  char *user;    /* (owned) */
} Context;

struct _OwCredentialKube {
  OwCredentialFinding *finding; /* (unowned) */
  char       *root;     /* (owned) the entry's folder, under the person's home */
  char       *dir;      /* (owned) (nullable) of the file that is read */
  GPtrArray  *outside;  /* (owned) of char: files that are not shared */
  GArray     *changes;  /* (owned) of Change, for the file that is read */
  GArray     *contexts; /* (owned) of Context */
  GHashTable *open;     /* (owned) names of clusters whose server is a host */
  GHashTable *users;    /* (owned) names of users whose login, or some of it, is inside */
  char       *current;  /* (owned) (nullable) the context that kubectl takes by itself */
};

static void
clear_change (gpointer change)
{
  g_clear_pointer (&((Change *) change)->text, g_free);
}

static void
clear_context (gpointer data)
{
  Context *context = data;

  g_free (context->name);
  g_free (context->cluster);
  g_free (context->user);
}

OwCredentialKube *
ow_credential_kube_new (OwCredentialFinding *finding)
{
  OwCredentialKube *self = g_new0 (OwCredentialKube, 1);

  self->finding = finding;
  self->root = g_build_filename (finding->home, finding->entry->path, NULL);
  self->outside = g_ptr_array_new_with_free_func (g_free);
  self->changes = g_array_new (FALSE, TRUE, sizeof (Change));
  g_array_set_clear_func (self->changes, clear_change);
  self->contexts = g_array_new (FALSE, TRUE, sizeof (Context));
  g_array_set_clear_func (self->contexts, clear_context);
  self->open = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->users = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

void
ow_credential_kube_free (OwCredentialKube *self)
{
  if (self == NULL)
    return;
  g_free (self->root);
  g_free (self->dir);
  g_free (self->current);
  g_ptr_array_unref (self->outside);
  g_array_unref (self->changes);
  g_array_unref (self->contexts);
  g_hash_table_unref (self->open);
  g_hash_table_unref (self->users);
  g_free (self);
}

/* --- servers --- */

/* An escape in the name of a host is read by some and refused by others. */
static gboolean
has_escape (const char *address)
{
  const char *authority = strstr (address, "://") + 3;

  return memchr (authority, '%', strcspn (authority, "/?#")) != NULL;
}

/* "host:port" of a server's address as kubectl reads it, which takes https where nothing says
 * so and the cluster has a certificate, else http. NULL where it is none. */
static char *
read_address (const char *server,
              gboolean    tls)
{
  g_autofree char *with_scheme = strstr (server, "://") != NULL
                                 ? g_strdup (server)
                                 : g_strconcat (tls ? "https://" : "http://", server, NULL);
  g_autofree char *scheme = NULL;
  g_autofree char *user = NULL;
  g_autofree char *host = NULL;
  int port = -1;

  if (has_escape (with_scheme) ||
      !g_uri_split (with_scheme, G_URI_FLAGS_NONE, &scheme, &user, &host, &port, NULL, NULL, NULL,
                    NULL) ||
      user != NULL || host == NULL || *host == '\0' || strchr (host, '*') != NULL)
    return NULL;
  if (g_ascii_strcasecmp (scheme, "https") != 0 && g_ascii_strcasecmp (scheme, "http") != 0)
    return NULL;
  if (port < 0)
    port = g_ascii_strcasecmp (scheme, "https") == 0 ? 443 : 80;

  return g_strdup_printf (strchr (host, ':') != NULL ? "[%s]:%d" : "%s:%d", host, port);
}

/* Puts the server where it belongs. */
static void
take_server (OwCredentialKube *self,
             const char *cluster,
             const char *address)
{
  OwCredentialFinding *finding = self->finding;
  g_autoptr (GError) error = NULL;
  g_autoptr (OwHost) host = ow_host_parse_as (address, OW_HOST_ADDRESS, &error);
  g_autofree char *shown = ow_credential_finding_show (cluster);
  g_autofree char *text = NULL;

  if (host == NULL && g_error_matches (error, OW_ERROR, OW_ERROR_REFUSED))
    host = ow_host_parse_as (address, OW_HOST_ADDRESS | OW_HOST_PRIVATE, NULL);
  if (host == NULL)
    {
      ow_credential_finding_add_note (finding, "cluster \"%s\" is not opened: %s", shown,
                                      error->message);
      return;
    }
  text = ow_host_to_text (host);
  if (ow_config_credential_allows (finding->entry, host->host, host->port))
    {
      host->private = TRUE;
    }
  else if (host->private)
    {
      ow_credential_finding_add_note (finding, "cluster \"%s\" is at the private address %s, which "
                                      "is not opened without your consent", shown, text);
      ow_credential_finding_add_host (finding->consent, g_steal_pointer (&host));
      return;
    }
  if (ow_credential_finding_add_host (finding->hosts, g_steal_pointer (&host)))
    g_hash_table_add (self->open, g_strdup (cluster));
  else
    ow_credential_finding_add_note (finding, "more than 256 servers, of which the first are "
                                    "opened");
}

/* --- files that it names --- */

/* A path as kubectl reads it, without "." and ".."; where it is a link is not asked. */
static char *
resolve (OwCredentialKube *self,
         const char *path)
{
  return g_canonicalize_filename (path, self->dir);
}

/* The part of @path below @dir; NULL where it is not below. */
static const char *
get_below (const char *path,
           const char *dir)
{
  gsize length = strlen (dir);

  return strncmp (path, dir, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

/* @path, which is in the entry's folder as the kubeconfig is, from the kubeconfig's folder. */
static char *
make_relative (OwCredentialKube *self,
               const char *path)
{
  g_autofree char *from = g_strdup (self->dir);
  GString *relative = g_string_new (NULL);

  while (get_below (path, from) == NULL)
    {
      char *slash = strrchr (from, '/');

      if (slash == NULL)
        break;
      *slash = '\0';
      g_string_append (relative, "../");
    }
  g_string_append (relative, path + strlen (from) + 1);
  return g_string_free (relative, FALSE);
}

/* In quotes of YAML and JSON alike. */
static char *
quote (const char *text)
{
  GString *quoted = g_string_new ("\"");

  for (const char *p = text; *p != '\0'; p++)
    {
      if (*p == '"' || *p == '\\')
        g_string_append_c (quoted, '\\');
      if (g_ascii_iscntrl (*p))
        g_string_append_printf (quoted, "\\u%04x", (guint) (guchar) * p);
      else
        g_string_append_c (quoted, *p);
    }
  g_string_append_c (quoted, '"');
  return g_string_free (quoted, FALSE);
}

/* FALSE where @key of @map names a file that is not shared. */
static gboolean
take_file (OwCredentialKube       *self,
           const OwCredentialYaml *map,
           const char             *key)
{
  const char *path = ow_credential_yaml_get_text (map, key);
  const OwCredentialYaml *node = ow_credential_yaml_get (map, key);
  g_autofree char *whole = NULL;
  Change change;

  if (path == NULL)
    return TRUE;
  whole = resolve (self, path);
  if (get_below (whole, self->root) == NULL)
    {
      g_autofree char *shown = ow_credential_finding_show_path (whole, self->finding->home);

      if (!g_ptr_array_find_with_equal_func (self->outside, shown, g_str_equal, NULL))
        g_ptr_array_add (self->outside, g_steal_pointer (&shown));
      return FALSE;
    }
  if (*path == '/' && node->flat)
    {
      g_autofree char *relative = make_relative (self, whole);

      change = (Change) { .start = node->start, .end = node->end, .text = quote (relative) };
      g_array_append_val (self->changes, change);
    }
  return TRUE;
}

/* --- clusters, users and contexts --- */

typedef void (*TakeNamed) (OwCredentialKube *self, const char *name, const OwCredentialYaml *value);

/* Lists of kubeconfigs are of { name: …, @key: { … } }. */
static void
walk (OwCredentialKube       *self,
      const OwCredentialYaml *root,
      const char             *list,
      const char             *key,
      TakeNamed               take)
{
  const OwCredentialYaml *items = ow_credential_yaml_get (root, list);

  if (!ow_credential_yaml_is (items, OW_CREDENTIAL_YAML_LIST))
    return;
  for (guint i = 0; i < items->items->len; i++)
    {
      const OwCredentialYaml *item = g_ptr_array_index (items->items, i);
      const OwCredentialYaml *value = ow_credential_yaml_get (item, key);
      const char *name = ow_credential_yaml_get_text (item, "name");

      if (ow_credential_yaml_is (value, OW_CREDENTIAL_YAML_MAP))
        take (self, name == NULL ? "" : name, value);
    }
}

static void
take_cluster (OwCredentialKube       *self,
              const char             *name,
              const OwCredentialYaml *cluster)
{
  const char *server = ow_credential_yaml_get_text (cluster, "server");
  const char *insecure = ow_credential_yaml_get_text (cluster, "insecure-skip-tls-verify");
  gboolean tls = ow_credential_yaml_get (cluster, "certificate-authority") != NULL ||
                 ow_credential_yaml_get (cluster, "certificate-authority-data") != NULL ||
                 g_strcmp0 (insecure, "true") == 0;
  g_autofree char *address = server == NULL ? NULL : read_address (server, tls);
  g_autofree char *shown = ow_credential_finding_show (name);

  take_file (self, cluster, "certificate-authority");
  if (ow_credential_yaml_get_text (cluster, "proxy-url") != NULL)
    ow_credential_finding_add_note (self->finding, "cluster \"%s\" goes through a proxy of its "
                                    "own (proxy-url), which a sandbox does not reach", shown);
  else if (address == NULL)
    ow_credential_finding_add_note (self->finding, "cluster \"%s\" has no server that can be "
                                    "read", shown);
  else
    take_server (self, name, address);
}

static gboolean
has_any (const OwCredentialYaml *map,
         const char * const     *keys)
{
  for (; *keys != NULL; keys++)
    if (ow_credential_yaml_get_text (map, *keys) != NULL)
      return TRUE;

  return FALSE;
}

static void
note_helper (OwCredentialKube *self,
             const char *user,
             const char *program)
{
  g_autofree char *shown_user = ow_credential_finding_show (user);
  g_autofree char *shown = ow_credential_finding_show (program);

  ow_credential_finding_add_note (self->finding, "user \"%s\" logs in with \"%s\": its helper "
                                  "program is not inside", shown_user, shown);
}

static void
take_user (OwCredentialKube       *self,
           const char             *name,
           const OwCredentialYaml *user)
{
  static const char * const keys[] = { "token", "client-key-data", "password", NULL };
  static const char * const files[] = { "client-certificate", "client-key", "tokenFile", NULL };
  const OwCredentialYaml *exec = ow_credential_yaml_get (user, "exec");
  const OwCredentialYaml *provider = ow_credential_yaml_get (user, "auth-provider");
  gboolean inside = TRUE;
  const char *text;

  for (const char * const *key = files; *key != NULL; key++)
    inside = take_file (self, user, *key) && inside;
  if (has_any (user, keys) || (inside && has_any (user, files)) || exec != NULL || provider != NULL)
    g_hash_table_add (self->users, g_strdup (name));
  if (ow_credential_yaml_is (exec, OW_CREDENTIAL_YAML_MAP))
    {
      text = ow_credential_yaml_get_text (exec, "command");
      note_helper (self, name, text == NULL ? "" : text);
    }
  if (ow_credential_yaml_is (provider, OW_CREDENTIAL_YAML_MAP))
    {
      text = ow_credential_yaml_get_text (provider, "name");
      note_helper (self, name, text == NULL ? "" : text);
    }
}

static void
take_context (OwCredentialKube       *self,
              const char             *name,
              const OwCredentialYaml *value)
{
  Context context = {
    .name = g_strdup (name),
    .cluster = g_strdup (ow_credential_yaml_get_text (value, "cluster")),
    .user = g_strdup (ow_credential_yaml_get_text (value, "user")),
  };

  g_array_append_val (self->contexts, context);
}

/* A context is of use when its cluster is opened and its user's login is inside. */
static gboolean
is_usable (OwCredentialKube *self,
           const Context *context)
{
  return context->cluster != NULL && g_hash_table_contains (self->open, context->cluster) &&
         (context->user == NULL || g_hash_table_contains (self->users, context->user));
}

/* A cluster is no use to who has no login there. */
static void
note_user (OwCredentialKube *self,
           const Context    *context)
{
  g_autofree char *shown = NULL;

  if (context->user == NULL || g_hash_table_contains (self->users, context->user))
    return;
  shown = ow_credential_finding_show (context->user);
  ow_credential_finding_add_note (self->finding, "user \"%s\" has no login that is inside", shown);
}

static int
compare_changes (gconstpointer a,
                 gconstpointer b)
{
  const Change *first = a;
  const Change *second = b;

  return first->start < second->start ? -1 : first->start > second->start;
}

/* Nothing but the changes is another byte than before. */
static GBytes *
apply (OwCredentialKube *self,
       GBytes  *bytes)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);
  GString *text;
  gsize at = 0;

  if (self->changes->len == 0)
    return NULL;
  g_array_sort (self->changes, compare_changes);
  text = g_string_sized_new (length);
  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = &g_array_index (self->changes, Change, i);

      g_string_append_len (text, data + at, (gssize) (change->start - at));
      g_string_append (text, change->text);
      at = change->end;
    }
  g_string_append_len (text, data + at, (gssize) (length - at));
  return g_string_free_to_bytes (text);
}

gboolean
ow_credential_kube_read (OwCredentialKube *self,
                         const char       *path,
                         GBytes           *bytes,
                         GBytes          **changed,
                         GError          **error)
{
  g_autoptr (OwCredentialYaml) root = ow_credential_yaml_parse (bytes, error);

  *changed = NULL;
  if (root == NULL)
    return FALSE;
  if (!ow_credential_yaml_is (root, OW_CREDENTIAL_YAML_MAP))
    {
      ow_error_set (error, OW_ERROR_DATA, "line 1: it is no kubeconfig", NULL, NULL);
      return FALSE;
    }
  g_free (self->dir);
  self->dir = g_path_get_dirname (path);
  g_array_set_size (self->changes, 0);
  walk (self, root, "clusters", "cluster", take_cluster);
  walk (self, root, "users", "user", take_user);
  walk (self, root, "contexts", "context", take_context);
  if (self->current == NULL)
    self->current = g_strdup (ow_credential_yaml_get_text (root, "current-context"));
  *changed = apply (self, bytes);

  return TRUE;
}

void
ow_credential_kube_finish (OwCredentialKube *self)
{
  OwCredentialFinding *finding = self->finding;
  gboolean usable = self->contexts->len == 0 && g_hash_table_size (self->open) > 0;
  gboolean current = self->current == NULL;

  for (guint i = 0; i < self->contexts->len; i++)
    {
      const Context *context = &g_array_index (self->contexts, Context, i);
      gboolean good = is_usable (self, context);

      note_user (self, context);
      usable = usable || good;
      current = current || (good && strcmp (context->name, self->current) == 0);
    }
  if (self->outside->len > 0)
    {
      g_autofree char *files = ow_credential_finding_join (self->outside, ", ", SHOWN_NAMES);

      ow_credential_finding_add_note (finding, "not shared, because outside ~/%s: %s",
                                      finding->entry->path, files);
    }
  if (usable)
    ow_credential_finding_add_work (finding, "kubectl");
  if (usable && !current)
    {
      g_autofree char *shown = ow_credential_finding_show (self->current);

      ow_credential_finding_add_note (finding, "the current context \"%s\" does not work inside, "
                                      "others do (kubectl --context)", shown);
    }
}
