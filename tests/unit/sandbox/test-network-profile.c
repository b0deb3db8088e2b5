/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <string.h>

#include "sandbox/ow-network-profile.h"

/* REQ-N01, as docs/openshell.md has it. */
static const char strict[] =
  "api.github.com codeload.github.com crates.io files.pythonhosted.org github.com gitlab.com "
  "index.crates.io objects.githubusercontent.com proxy.golang.org pypi.org "
  "raw.githubusercontent.com registry.npmjs.org static.crates.io sum.golang.org";
static const char standard[] =
  "api.github.com api.search.brave.com api.tavily.com codeload.github.com crates.io duckduckgo.com "
  "files.pythonhosted.org github.com gitlab.com html.duckduckgo.com index.crates.io "
  "objects.githubusercontent.com proxy.golang.org pypi.org raw.githubusercontent.com "
  "registry.npmjs.org static.crates.io sum.golang.org";

static int
compare (gconstpointer a,
         gconstpointer b)
{
  return strcmp ((*(OwHost * const *) a)->host, (*(OwHost * const *) b)->host);
}

static char *
to_text (GPtrArray *hosts)
{
  GString *text = g_string_new (NULL);

  g_ptr_array_sort (hosts, compare);
  for (guint i = 0; i < hosts->len; i++)
    {
      const OwHost *host = g_ptr_array_index (hosts, i);

      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", host->host);
      if (host->port != 443)
        g_string_append_printf (text, ":%u", host->port);
    }
  return g_string_free (text, FALSE);
}

static void
test_profiles (void)
{
  g_autoptr (GPtrArray) few = ow_network_profile_hosts (OW_PROFILE_STRICT, NULL);
  g_autoptr (GPtrArray) more = ow_network_profile_hosts (OW_PROFILE_STANDARD, NULL);
  g_autofree char *few_text = to_text (few);
  g_autofree char *more_text = to_text (more);

  g_assert_cmpstr (few_text, ==, strict);
  g_assert_cmpstr (more_text, ==, standard);
}

static void
test_extra (void)
{
  g_autoptr (GPtrArray) extra = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);
  g_autoptr (GPtrArray) hosts = NULL;
  g_autofree char *text = NULL;
  g_autofree char *expected = g_strconcat ("*.example.com ", strict, " z.example.com:8443", NULL);

  g_ptr_array_add (extra, ow_host_new ("*.example.com", 443));
  g_ptr_array_add (extra, ow_host_new ("github.com", 443)); /* there already */
  g_ptr_array_add (extra, ow_host_new ("z.example.com", 8443));
  hosts = ow_network_profile_hosts (OW_PROFILE_STRICT, extra);
  g_ptr_array_set_size (extra, 0); /* the list holds its own */
  text = to_text (hosts);
  g_assert_cmpstr (text, ==, expected);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/network-profile/profiles", test_profiles);
  g_test_add_func ("/network-profile/extra", test_extra);
  return g_test_run ();
}
