/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-network-profile.h"

#include <string.h>

#define HTTPS 443

static const char * const strict_hosts[] = {
  "github.com", "api.github.com", "codeload.github.com", "objects.githubusercontent.com",
  "raw.githubusercontent.com", "gitlab.com",
  "pypi.org", "files.pythonhosted.org",
  "registry.npmjs.org",
  "crates.io", "static.crates.io", "index.crates.io",
  "proxy.golang.org", "sum.golang.org",
};

static const char * const search_hosts[] = {
  "api.search.brave.com", "api.tavily.com", "html.duckduckgo.com", "duckduckgo.com",
};

static void
add_host (GPtrArray  *hosts,
          const char *name,
          guint16     port)
{
  for (guint i = 0; i < hosts->len; i++)
    {
      const OwHost *host = g_ptr_array_index (hosts, i);

      if (host->port == port && strcmp (host->host, name) == 0)
        return;
    }
  g_ptr_array_add (hosts, ow_host_new (name, port));
}

GPtrArray *
ow_network_profile_hosts (OwNetworkProfile profile,
                          GPtrArray       *extra_hosts)
{
  GPtrArray *hosts = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);

  for (gsize i = 0; i < G_N_ELEMENTS (strict_hosts); i++)
    add_host (hosts, strict_hosts[i], HTTPS);
  if (profile == OW_PROFILE_STANDARD)
    for (gsize i = 0; i < G_N_ELEMENTS (search_hosts); i++)
      add_host (hosts, search_hosts[i], HTTPS);
  for (guint i = 0; extra_hosts != NULL && i < extra_hosts->len; i++)
    {
      const OwHost *host = g_ptr_array_index (extra_hosts, i);

      add_host (hosts, host->host, host->port);
    }
  return hosts;
}
