/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-credential-gh-private.h"
#include "ow-credential-kube-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define FILE "/home/ana/.kube/config"

typedef struct {
  OwConfigCredential  *entry;
  OwCredentialFinding *finding;
} Reading;

static Reading
reading_new (const char *name,
             const char *path)
{
  Reading reading = { ow_config_credential_new (), NULL };

  reading.entry->name = g_strdup (name);
  reading.entry->path = g_strdup (path);
  g_ptr_array_add (reading.entry->hosts, ow_host_new ("github.com", 443));
  reading.finding = ow_credential_finding_new (reading.entry, "/home/ana");
  return reading;
}

static void
reading_clear (Reading *reading)
{
  ow_credential_finding_free (reading->finding);
  ow_config_credential_free (reading->entry);
}

/* What goes to the wall's list is a host that needs no consent, whatever the file says. */
static void
check_hosts (const OwCredentialFinding *finding)
{
  for (guint i = 0; i < finding->hosts->len; i++)
    {
      const OwHost *host = g_ptr_array_index (finding->hosts, i);
      g_autofree char *text = ow_host_to_text (host);
      g_autoptr (OwHost) again = ow_host_parse_as (text, OW_HOST_ADDRESS, NULL);

      if (host->private || again == NULL || !ow_host_equal (host, again) ||
          strchr (host->host, '*') != NULL)
        abort ();
    }
  for (guint i = 0; i < finding->notes->len; i++)
    if (!g_utf8_validate (g_ptr_array_index (finding->notes, i), -1, NULL) ||
        strpbrk (g_ptr_array_index (finding->notes, i), "\033\n\r") != NULL)
      abort ();
}

static char *
list_hosts (const OwCredentialFinding *finding)
{
  GString *list = g_string_new (NULL);

  for (guint i = 0; i < finding->hosts->len; i++)
    {
      g_autofree char *text = ow_host_to_text (g_ptr_array_index (finding->hosts, i));

      g_string_append_printf (list, "%s ", text);
    }
  return g_string_free (list, FALSE);
}

/* The hosts that are opened; NULL where it is no kubeconfig. */
static char *
read_kube (GBytes  *bytes,
           GBytes **changed)
{
  Reading reading = reading_new ("kube", ".kube");
  g_autoptr (OwCredentialKube) kube = ow_credential_kube_new (reading.finding);
  g_autoptr (GError) error = NULL;
  char *hosts = NULL;

  if (ow_credential_kube_read (kube, FILE, bytes, changed, &error))
    {
      ow_credential_kube_finish (kube);
      check_hosts (reading.finding);
      hosts = list_hosts (reading.finding);
    }
  else if (error == NULL || !g_str_has_prefix (error->message, "line "))
    {
      abort ();
    }
  reading_clear (&reading);
  return hosts;
}

static void
read_gh (GBytes *bytes)
{
  Reading reading = reading_new ("gh", ".config/gh");
  g_autoptr (GError) error = NULL;

  if (!ow_credential_gh_read (reading.finding, bytes, &error) && error == NULL)
    abort ();
  check_hosts (reading.finding);
  reading_clear (&reading);
}

/* What is written into the copy is a kubeconfig again, with the same hosts, and nothing in it is
 * to be changed any more. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);
  g_autoptr (GBytes) changed = NULL;
  g_autoptr (GBytes) more = NULL;
  g_autofree char *hosts = read_kube (bytes, &changed);

  if (changed != NULL)
    {
      g_autofree char *again = read_kube (changed, &more);

      if (g_strcmp0 (hosts, again) != 0 || more != NULL)
        abort ();
    }
  read_gh (bytes);
  return 0;
}
