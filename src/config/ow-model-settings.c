/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-model-settings.h"

#include <string.h>

#include "base/ow-base-url.h"
#include "base/ow-text.h"
#include "ow-model-settings-private.h"

#define MAX_NAME_CHARS  64
#define MAX_MODEL_BYTES 256
#define MAX_PATH_BYTES  4095
#define MAX_SHOWN_CHARS 80

#define FIELD(name, needed) { #name, G_STRUCT_OFFSET (OwModelSettings, name), needed }

const OwModelSettingsField ow_model_settings_fields[OW_MODEL_SETTINGS_N_FIELDS] = {
  FIELD (name, TRUE),
  FIELD (provider, TRUE),
  FIELD (model, TRUE),
  FIELD (base_url, TRUE),
  FIELD (ca_file, FALSE),
  FIELD (proxy, FALSE),
};

void
ow_model_settings_free (OwModelSettings *settings)
{
  if (settings == NULL)
    return;

  for (guint i = 0; i < OW_MODEL_SETTINGS_N_FIELDS; i++)
    g_free (*ow_model_settings_field (settings, &ow_model_settings_fields[i]));
  g_free (settings);
}

char **
ow_model_settings_field (const OwModelSettings      *settings,
                         const OwModelSettingsField *field)
{
  return G_STRUCT_MEMBER_P ((gpointer) settings, field->offset);
}

static char *
find_name_fault (const char *value)
{
  gsize n = strspn (value, "abcdefghijklmnopqrstuvwxyz0123456789-_.");

  if (n > 0 && n <= MAX_NAME_CHARS && value[n] == '\0' && g_ascii_isalnum (value[0]))
    return NULL;
  return g_strdup ("a name has 1 to 64 lower case letters, digits, \"-\", \"_\" and \".\", and "
                   "begins with a letter or a digit");
}

static char *
find_provider_fault (const char *value)
{
  return strcmp (value, "openai") == 0 ? NULL : g_strdup ("it can be \"openai\"");
}

/* What is no character of a line: it would come out in a request, a label or a terminal. */
static gboolean
is_line (const char *value,
         gsize       max_bytes)
{
  if (*value == '\0' || strlen (value) > max_bytes || !g_utf8_validate (value, -1, NULL))
    return FALSE;
  for (const char *p = value; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (c == 0xfffd || !g_unichar_isprint (c))
        return FALSE;
    }

  return TRUE;
}

static char *
find_model_fault (const char *value)
{
  return is_line (value, MAX_MODEL_BYTES)
         ? NULL : g_strdup ("a model's name is 1 to 256 bytes of printable text");
}

static char *
find_path_fault (const char *value)
{
  return *value == '/' && is_line (value, MAX_PATH_BYTES)
         ? NULL : g_strdup ("it is the whole path of a file, beginning with \"/\"");
}

/* An empty one is "no proxy"; the others are those that requests can take (base/ow-http.h). */
static char *
find_proxy_fault (const char *value)
{
  g_autofree char *address = NULL;
  g_autofree char *fault = NULL;
  g_autoptr (GUri) uri = NULL;

  if (*value == '\0')
    return NULL;
  if (g_ascii_strncasecmp (value, "http://", strlen ("http://")) == 0)
    address = g_strdup (value);
  else if (g_ascii_strncasecmp (value, "socks5://", strlen ("socks5://")) == 0)
    address = g_strconcat ("http://", value + strlen ("socks5://"), NULL);
  else
    return g_strdup ("a proxy's address begins with http:// or socks5://");

  fault = ow_base_url_find_fault (address);
  if (fault == NULL)
    uri = g_uri_parse (address, G_URI_FLAGS_NONE, NULL);
  if (uri != NULL && strlen (g_uri_get_path (uri)) > 1)
    return g_strdup ("a proxy is an address without a path, such as "
                     "\"http://proxy.example:3128\"");
  return g_steal_pointer (&fault);
}

char *
ow_model_settings_find_fault (const OwModelSettingsField *field,
                              const char                 *value)
{
  static char *(* const finders[OW_MODEL_SETTINGS_N_FIELDS]) (const char *value) = {
    find_name_fault, find_provider_fault, find_model_fault, ow_base_url_find_fault,
    find_path_fault, find_proxy_fault,
  };
  g_autofree char *why = NULL;
  g_autofree char *shown = NULL;

  if (value == NULL && !field->required)
    return NULL;
  if (value == NULL)
    return g_strdup_printf ("a model needs %s", field->key);

  why = finders[field - ow_model_settings_fields] (value);
  if (why == NULL)
    return NULL;
  /* What may hold a password is not said again. */
  shown = ow_text_shorten (value, MAX_SHOWN_CHARS, TRUE);
  if (strpbrk (value, "@?#") != NULL)
    return g_strdup_printf ("%s: %s", field->key, why);
  return g_strdup_printf ("%s is \"%s\": %s", field->key, shown, why);
}
