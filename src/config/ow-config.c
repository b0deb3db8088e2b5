/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-text.h"
#include "ow-config-credentials-private.h"
#include "ow-config-private.h"
#include "ow-config-toml-private.h"

G_DEFINE_FINAL_TYPE (OwConfig, ow_config, G_TYPE_OBJECT)

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static const char * const provider_names[] = {
  [OW_PROVIDER_OPENSHELL] = "openshell",
  [OW_PROVIDER_BUBBLEWRAP] = "bubblewrap",
  [OW_PROVIDER_DIRECT] = "direct",
};

static const char * const profile_names[] = {
  [OW_PROFILE_STRICT] = "strict",
  [OW_PROFILE_STANDARD] = "standard",
};

static void
ow_config_finalize (GObject *object)
{
  OwConfig *self = OW_CONFIG (object);

  g_clear_pointer (&self->extra_hosts, g_ptr_array_unref);
  g_clear_pointer (&self->credentials, g_ptr_array_unref);
  g_clear_pointer (&self->models, g_ptr_array_unref);
  g_clear_pointer (&self->programs, g_ptr_array_unref);
  g_free (self->cpu);
  g_free (self->memory);

  G_OBJECT_CLASS (ow_config_parent_class)->finalize (object);
}

static void
ow_config_class_init (OwConfigClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_config_finalize;
}

static void
ow_config_init (OwConfig *self)
{
  self->extra_hosts = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);
  self->credentials = ow_config_credentials_new ();
  self->programs = g_ptr_array_new_with_free_func (g_free);
  self->models = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_model_settings_free);
}

const char *
ow_provider_kind_to_string (OwProviderKind kind)
{
  g_return_val_if_fail ((guint) kind < G_N_ELEMENTS (provider_names), NULL);

  return provider_names[kind];
}

gboolean
ow_provider_kind_from_string (const char     *text,
                              OwProviderKind *kind)
{
  for (guint i = OW_PROVIDER_OPENSHELL; text != NULL && i < G_N_ELEMENTS (provider_names); i++)
    if (strcmp (provider_names[i], text) == 0)
      {
        *kind = (OwProviderKind) i;
        return TRUE;
      }

  return FALSE;
}

const char *
ow_network_profile_to_string (OwNetworkProfile profile)
{
  g_return_val_if_fail ((guint) profile < G_N_ELEMENTS (profile_names), NULL);

  return profile_names[profile];
}

gboolean
ow_config_fail (const char  *path,
                guint        line,
                const char  *why,
                GError     **error)
{
  g_autofree char *shown = ow_text_visible (why);
  g_autofree char *what = NULL;

  if (path == NULL)
    {
      ow_error_set (error, OW_ERROR_USAGE, "The settings are as they were", shown, NULL);
      return FALSE;
    }
  what = line > 0 ? g_strdup_printf ("Cannot use %s, line %u", path, line)
                  : g_strdup_printf ("Cannot use %s", path);
  ow_error_set (error, OW_ERROR_DATA, what, shown, OW_CONFIG_NEXT);
  return FALSE;
}

static gboolean
read_provider (OwConfig      *self,
               OwConfigToml  *toml,
               const char    *path,
               GError       **error)
{
  g_autofree char *text = NULL;
  g_autofree char *why = NULL;
  guint line = 0;
  OwConfigTomlState state = ow_config_toml_get_text (toml, "sandbox_provider", &text, &line);

  if (state == OW_CONFIG_TOML_ABSENT ||
      (state == OW_CONFIG_TOML_FOUND && ow_provider_kind_from_string (text, &self->provider)))
    return TRUE;

  why = g_strdup_printf ("sandbox_provider is %s%.40s%s; it can be \"openshell\", \"bubblewrap\" "
                         "or \"direct\"", text != NULL ? "\"" : "", text != NULL ? text : "no text",
                         text != NULL ? "\"" : "");
  return ow_config_fail (path, line, why, error);
}

static gboolean
read_profile (OwConfig      *self,
              OwConfigToml  *toml,
              const char    *path,
              GError       **error)
{
  g_autofree char *text = NULL;
  g_autofree char *why = NULL;
  guint line = 0;
  OwConfigTomlState state = ow_config_toml_get_text (toml, "sandbox_network_profile", &text,
                                                     &line);

  if (state == OW_CONFIG_TOML_ABSENT)
    return TRUE;
  for (guint i = 0; text != NULL && i < G_N_ELEMENTS (profile_names); i++)
    if (strcmp (profile_names[i], text) == 0)
      {
        self->profile = (OwNetworkProfile) i;
        return TRUE;
      }

  why = g_strdup_printf ("sandbox_network_profile is %s%.40s%s; it can be \"strict\" or "
                         "\"standard\"", text != NULL ? "\"" : "",
                         text != NULL ? text : "no text", text != NULL ? "\"" : "");
  return ow_config_fail (path, line, why, error);
}

static guint
count_lines (const char *text,
             gsize       length)
{
  guint lines = 1;

  for (gsize i = 0; i < length; i++)
    if (text[i] == '\n')
      lines++;

  return lines;
}

/* Nobody sees a byte order mark in an editor: where one stands in the text it is named. */
static void
fail_to_parse (const char  *path,
               const char  *text,
               gsize        length,
               guint        line,
               const char  *why,
               GError     **error)
{
  const gsize skip = strlen (BYTE_ORDER_MARK);
  const char *stray = length > skip ? memmem (text + skip, length - skip, BYTE_ORDER_MARK, skip)
                                    : NULL;
  g_autofree char *more = NULL;

  if (stray != NULL)
    more = g_strdup_printf ("%s; there is a byte order mark (BOM) on line %u, and its place is the "
                            "begin of the file", why, count_lines (text, (gsize) (stray - text)));
  ow_config_fail (path, line, more != NULL ? more : why, error);
}

static OwConfigToml *
parse (const char  *path,
       GBytes      *content,
       GError     **error)
{
  gsize length;
  const char *text = g_bytes_get_data (content, &length);
  const char *nul = length > 0 ? memchr (text, '\0', length) : NULL;
  const gboolean wide = length >= 2 && (memcmp (text, "\xff\xfe", 2) == 0 ||
                                        memcmp (text, "\xfe\xff", 2) == 0);
  g_autofree char *why = NULL;
  OwConfigToml *toml;
  guint line;

  if (wide)
    {
      ow_config_fail (path, 1, "its byte order mark (BOM) is that of UTF-16, and settings are "
                      "UTF-8: save it as that", error);
      return NULL;
    }
  if (nul != NULL)
    {
      ow_config_fail (path, count_lines (text, (gsize) (nul - text)),
                      "it holds a NUL, so it is damaged",
                      error);
      return NULL;
    }

  toml = ow_config_toml_parse (length > 0 ? text : "", length, &line, &why);
  if (toml == NULL)
    fail_to_parse (path, text, length, line, why, error);

  return toml;
}

OwConfig *
ow_config_parse (const char  *path,
                 GBytes      *content,
                 GError     **error)
{
  g_autoptr (OwConfig) self = g_object_new (OW_TYPE_CONFIG, NULL);
  g_autoptr (OwConfigToml) toml = parse (path, content, error);

  if (toml == NULL || !read_provider (self, toml, path, error) ||
      !read_profile (self, toml, path, error) ||
      !ow_config_hosts_read (ow_config_toml_node_get (ow_config_toml_get_root (toml),
                                                      "sandbox_extra_hosts"),
                             "sandbox_extra_hosts", self->extra_hosts, path, error) ||
      !ow_config_openshell_read (self, toml, path, error) ||
      !ow_config_programs_read (self, toml, path, error) ||
      !ow_config_credentials_read (self, toml, path, error) ||
      !ow_config_models_read (self, toml, path, error))
    return NULL;

  return g_steal_pointer (&self);
}

OwConfig *
ow_config_load (const char  *path,
                GError     **error)
{
  g_autoptr (GBytes) content = NULL;
  g_autoptr (GError) reason = NULL;
  struct stat st;

  /* Only a name that is not there means "nothing set": a link to nowhere is a fault. */
  if (lstat (path, &st) < 0 && errno == ENOENT)
    return g_object_new (OW_TYPE_CONFIG, NULL);

  content = ow_file_read (path, OW_CONFIG_MAX_BYTES, &reason);
  if (content == NULL)
    {
      ow_error_set (error, OW_ERROR_DATA, reason->message, NULL, OW_CONFIG_NEXT);
      return NULL;
    }

  return ow_config_parse (path, content, error);
}

OwProviderKind
ow_config_get_provider (OwConfig *self)
{
  g_return_val_if_fail (OW_IS_CONFIG (self), OW_PROVIDER_UNSET);

  return self->provider;
}

OwNetworkProfile
ow_config_get_profile (OwConfig *self)
{
  g_return_val_if_fail (OW_IS_CONFIG (self), OW_PROFILE_STRICT);

  return self->profile;
}

GPtrArray *
ow_config_get_extra_hosts (OwConfig *self)
{
  g_return_val_if_fail (OW_IS_CONFIG (self), NULL);

  return self->extra_hosts;
}
