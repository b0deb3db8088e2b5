/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-explain.h"

#include <string.h>

#include "config/ow-config-credentials.h"
#include "ow-host-line-private.h"
#include "ow-openshell-policy-private.h"
#include "sandbox/ow-network-profile.h"
#include "wire/ow-address.h"
#include "wire/ow-host-list.h"

/* A host and port in the one spelling in which they are decided about. */
typedef struct {
  OwHostName   name;
  unsigned int port;
} Asked;

/* A list that has a host. */
typedef struct {
  const char *rule;
  char       *why;     /* (owned) (nullable) NULL: none has it */
  gboolean    private; /* at an address of a private network too */
} Listed;

static void
listed_clear (Listed *listed)
{
  g_free (listed->why);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Listed, listed_clear)

/* By what the proxy itself decides by. @private (nullable) becomes TRUE where the list consents to
 * private addresses, and else stays. */
static gboolean
lists (GPtrArray   *hosts,
       const Asked *asked,
       gboolean    *private)
{
  g_autoptr (GBytes) line = ow_host_line_new (hosts);
  gsize length;
  const char *text = g_bytes_get_data (line, &length);
  char error[OW_WIRE_ERROR_SIZE];
  /* Without its newline. */
  OwHostList *list = ow_host_list_parse (text, length - 1, error);
  bool private_too = false;
  gboolean found = list != NULL &&
                   ow_host_list_allows (list, &asked->name, asked->port, &private_too);

  if (found && private_too && private != NULL)
    *private = TRUE;
  ow_host_list_free (list);
  return found;
}

static gboolean
profile_lists (OwNetworkProfile profile,
               const Asked     *asked)
{
  g_autoptr (GPtrArray) hosts = ow_network_profile_hosts (profile, NULL);

  return lists (hosts, asked, NULL);
}

static const OwConfigCredential *
find_credential (const OwExplain *self,
                 const Asked     *asked,
                 gboolean         enabled)
{
  GPtrArray *all = ow_config_get_credentials (self->config);

  for (guint i = 0; all != NULL && i < all->len; i++)
    {
      const OwConfigCredential *credential = g_ptr_array_index (all, i);

      if (credential->enabled == enabled && (lists (credential->hosts, asked, NULL) ||
                                             lists (credential->private_hosts, asked, NULL)))
        return credential;
    }
  return NULL;
}

/* The first rule that has it. Whether it may be private any of them can say. */
static void
find_allowed (const OwExplain *self,
              const Asked     *asked,
              Listed          *found)
{
  OwNetworkProfile profile = ow_config_get_profile (self->config);
  const OwConfigCredential *credential = find_credential (self, asked, TRUE);
  gboolean began = self->listed == NULL || lists (self->listed, asked, &found->private);
  gboolean extra = began && lists (ow_config_get_extra_hosts (self->config), asked,
                                   &found->private);
  gboolean allowed = self->allowed != NULL && lists (self->allowed, asked, &found->private);

  if (credential != NULL)
    lists (credential->private_hosts, asked, &found->private);
  if (began && profile_lists (profile, asked))
    {
      found->rule = profile == OW_PROFILE_STRICT ? "profile-strict" : "profile-standard";
      found->why = g_strdup_printf ("the network profile \"%s\" has it",
                                    ow_network_profile_to_string (profile));
    }
  else if (extra)
    {
      found->rule = "extra-host";
      found->why = g_strdup ("sandbox_extra_hosts of config.toml has it");
    }
  else if (credential != NULL)
    {
      found->rule = "credential";
      found->why = g_strdup_printf ("it is a host of the login \"%s\", which is shared",
                                    credential->name);
    }
  else if (allowed || (self->listed != NULL && began))
    {
      found->rule = "session";
      found->why = g_strdup (allowed ? "it was allowed for this session"
                                     : "the list that this session began with has it");
    }
}

static void
say_allowed (json_t       *json,
             const Listed *found)
{
  g_autofree char *says = g_strdup_printf ("Allowed: %s. Should its name lead to an address of "
                                           "this machine%s, it is refused all the same.",
                                           found->why, found->private
                                           ? "" : " or of a private network");

  json_object_set_new (json, "allowed", json_true ());
  json_object_set_new (json, "rule", json_string (found->rule));
  json_object_set_new (json, "says", json_string (says));
}

static void
say_refused (json_t     *json,
             const char *rule,
             const char *says)
{
  json_object_set_new (json, "allowed", json_false ());
  json_object_set_new (json, "rule", json_string (rule));
  json_object_set_new (json, "says", json_string (says));
}

static void
say_not_listed (const OwExplain *self,
                json_t          *json,
                const Asked     *asked)
{
  const OwConfigCredential *credential = find_credential (self, asked, FALSE);
  g_autofree char *says = NULL;

  if (profile_lists (OW_PROFILE_STANDARD, asked))
    {
      says = g_strdup ("Refused: it is not on the list. The network profile \"standard\" has it.");
      json_object_set_new (json, "helps", json_string ("profile-standard"));
    }
  else if (credential != NULL)
    {
      g_autofree char *helps = g_strconcat ("credential:", credential->name, NULL);

      says = g_strdup_printf ("Refused: it is not on the list. It is a host of the login \"%s\", "
                              "which is not shared.", credential->name);
      json_object_set_new (json, "helps", json_string (helps));
    }
  else
    {
      says = g_strdup ("Refused: it is not on the list.");
      json_object_set_new (json, "helps", json_string ("allow"));
    }
  say_refused (json, "not-listed", says);
}

/* "name", "name:port", "[address]:port" and "address". */
static gboolean
read_asked (const char *text,
            Asked      *asked)
{
  const char *colon = strrchr (text, ':');
  const char *bracket = strrchr (text, ']');
  gsize length = strlen (text);

  asked->port = 443;
  if (colon != NULL && (bracket != NULL ? colon == bracket + 1 : strchr (text, ':') == colon))
    {
      asked->port = ow_host_name_parse_port (colon + 1, strlen (colon + 1));
      length = (gsize) (colon - text);
    }
  return asked->port != 0 && ow_host_name_parse (&asked->name, text, length);
}

static gboolean
is_special (const Asked *asked)
{
  struct sockaddr_storage address;

  return ow_address_parse (asked->name.text, &address) &&
         ow_address_classify ((const struct sockaddr *) &address) == OW_ADDRESS_SPECIAL;
}

/* Why no list can have it; NULL: one could. */
static char *
find_never (const Asked *asked)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwHost) host = NULL;

  if (is_special (asked))
    return g_strdup ("Refused always: it is an address of this machine, of its own link, or of a "
                     "service of its provider.");
  if (asked->name.is_address)
    return NULL;
  host = ow_host_parse (asked->name.text, &error);
  return host != NULL ? NULL : g_strdup_printf ("Refused always: %s.", error->message);
}

static void
explain_asked (const OwExplain *self,
               const Asked     *asked,
               json_t          *json)
{
  g_auto (Listed) found = { 0 };
  g_autofree char *never = find_never (asked);
  gboolean kept_from = self->provider == OW_PROVIDER_OPENSHELL &&
                       ow_openshell_policy_keeps_from (asked->port);

  if (!is_special (asked))
    find_allowed (self, asked, &found);
  if (found.why != NULL && kept_from)
    say_refused (json, "port", "Refused always: OpenShell lets no sandbox reach this port.");
  else if (found.why != NULL)
    say_allowed (json, &found);
  else if (never != NULL)
    say_refused (json, "always", never);
  else if (asked->name.is_address)
    say_refused (json, "address", "Refused: it is an address that is not on the list, and only one "
                 "that you agreed to can be there.");
  else
    say_not_listed (self, json, asked);
}

json_t *
ow_explain_host (const OwExplain *self,
                 const char      *text)
{
  Asked asked = { 0 };
  gboolean known = read_asked (text, &asked);
  g_autofree char *shown = !known ? g_strdup (text)
                           : strchr (asked.name.text, ':') != NULL
                           ? g_strdup_printf ("[%s]:%u", asked.name.text, asked.port)
                           : g_strdup_printf ("%s:%u", asked.name.text, asked.port);
  json_t *json = json_pack ("{s:s, s:s}", "host", shown,
                            "provider", ow_provider_kind_to_string (self->provider));

  if (self->provider == OW_PROVIDER_DIRECT)
    json_object_update_new (json, json_pack ("{s:b, s:s, s:s}", "allowed", TRUE, "rule", "direct",
                                             "says", "Allowed: without a sandbox nothing is "
                                             "refused."));
  else if (!known)
    say_refused (json, "invalid", strchr (text, '/') != NULL
                 ? "Refused: it is no name of a host. A path begins with \"/\" or \"~/\"."
                 : "Refused: it is no name of a host, no address that is written in full, or no "
                 "port.");
  else
    explain_asked (self, &asked, json);
  return json;
}
