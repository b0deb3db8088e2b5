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
add_names (GPtrArray          *hosts,
           const char * const *names,
           gsize               n)
{
  for (gsize i = 0; i < n; i++)
    ow_host_add_to (hosts, &(OwHost) { .host = (char *) names[i], .port = HTTPS });
}

GPtrArray *
ow_network_profile_hosts (OwNetworkProfile profile,
                          GPtrArray       *extra_hosts)
{
  GPtrArray *hosts = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);

  add_names (hosts, strict_hosts, G_N_ELEMENTS (strict_hosts));
  if (profile == OW_PROFILE_STANDARD)
    add_names (hosts, search_hosts, G_N_ELEMENTS (search_hosts));
  for (guint i = 0; extra_hosts != NULL && i < extra_hosts->len; i++)
    ow_host_add_to (hosts, g_ptr_array_index (extra_hosts, i));
  return hosts;
}
