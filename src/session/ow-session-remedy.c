/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-remedy-private.h"

#include "config/ow-config-credentials.h"
#include "sandbox/ow-network-profile.h"

static gboolean
has_host (GPtrArray    *hosts,
          const OwHost *host)
{
  for (guint i = 0; hosts != NULL && i < hosts->len; i++)
    if (ow_host_covers (g_ptr_array_index (hosts, i), host))
      return TRUE;
  return FALSE;
}

static void
add (GString    *text,
     const char *sentence)
{
  if (text->len > 0)
    g_string_append_c (text, ' ');
  g_string_append (text, sentence);
}

static void
add_profile (GString      *text,
             OwConfig     *config,
             const OwHost *host)
{
  g_autoptr (GPtrArray) standard = ow_network_profile_hosts (OW_PROFILE_STANDARD, NULL);

  if (ow_config_get_profile (config) == OW_PROFILE_STRICT && has_host (standard, host))
    add (text, "The profile \"standard\" has this host: \"openworker machine sandbox set "
         "sandbox_network_profile standard\" gives its hosts to new sessions.");
}

static void
add_login (GString                  *text,
           const OwConfigCredential *login,
           const OwHost             *host)
{
  g_autofree char *sentence = NULL;

  if (login->enabled || !has_host (login->hosts, host))
    return;
  sentence = g_strdup_printf ("The login \"%s\" is for this host: \"openworker credential enable "
                              "%s\" gives a copy of it, and its hosts, to new sessions.",
                              login->name, login->name);
  add (text, sentence);
}

char *
ow_session_remedy (OwConfig     *config,
                   const OwHost *host)
{
  g_autoptr (GString) text = g_string_new (NULL);
  GPtrArray *logins = ow_config_get_credentials (config);

  add_profile (text, config, host);
  for (guint i = 0; i < logins->len; i++)
    add_login (text, g_ptr_array_index (logins, i), host);
  return text->len > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : NULL;
}
