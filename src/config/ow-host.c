/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-host.h"

#include <string.h>

#include "base/ow-error.h"

#define DEFAULT_PORT    443
#define MAX_NAME_CHARS  253
#define MAX_LABEL_CHARS 63

OwHost *
ow_host_new (const char *host,
             guint16     port)
{
  OwHost *self = g_new0 (OwHost, 1);

  self->host = g_strdup (host);
  self->port = port;

  return self;
}

void
ow_host_free (OwHost *host)
{
  if (host == NULL)
    return;

  g_free (host->host);
  g_free (host);
}

static gboolean
parse_port (const char *text,
            guint16    *port)
{
  guint value = 0;

  if (*text < '1' || *text > '9' || strlen (text) > 5)
    return FALSE;
  for (const char *p = text; *p != '\0'; p++)
    {
      if (!g_ascii_isdigit (*p))
        return FALSE;
      value = value * 10 + (guint) g_ascii_digit_value (*p);
    }
  if (value > G_MAXUINT16)
    return FALSE;
  *port = (guint16) value;

  return TRUE;
}

static gboolean
is_label (const char *text)
{
  gsize length = strlen (text);

  if (length == 0 || length > MAX_LABEL_CHARS || text[0] == '-' || text[length - 1] == '-')
    return FALSE;
  for (const char *p = text; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && *p != '-')
      return FALSE;

  return TRUE;
}

/* Resolvers take "10.1", "0x7f.1" and "2130706433" for addresses: what makes a name one
 * is that its last label is no number in any base. */
static gboolean
is_number (const char *label)
{
  if (label[0] == '0' && (label[1] == 'x' || label[1] == 'X'))
    return TRUE;
  return strspn (label, "0123456789") == strlen (label);
}

/* The names that container engines and OpenShell give to this machine inside. OpenShell lets an
 * allowed one through although its address is link-local, as rootless Podman's is. */
static gboolean
is_this_machine (const char *name)
{
  static const char * const domains[] = { "openshell.internal", "containers.internal",
                                          "docker.internal" };

  for (gsize i = 0; i < G_N_ELEMENTS (domains); i++)
    {
      const char *domain = g_str_has_suffix (name, domains[i])
                           ? name + strlen (name) - strlen (domains[i]) : NULL;

      if (domain != NULL && (domain == name || domain[-1] == '.'))
        return TRUE;
    }
  return FALSE;
}

/* NULL, or why @name is no name of a host. */
static const char *
find_fault (const char *name)
{
  gboolean wildcard = g_str_has_prefix (name, "*.");
  g_auto (GStrv) labels = g_strsplit (wildcard ? name + 2 : name, ".", -1);
  guint n = g_strv_length (labels);
  const char *last;

  if (n == 0 || strlen (name) > MAX_NAME_CHARS)
    return "a host name has 1 to 253 characters";
  last = labels[n - 1];
  if (*last == '\0')
    return "a host name does not end in a dot";
  for (guint i = 0; i < n; i++)
    if (!is_label (labels[i]))
      return "a host name has labels of letters, digits and hyphens, and nothing else";
  if (is_number (last))
    return "it is an address, and hosts are listed by name";
  if (strcmp (last, "localhost") == 0 || is_this_machine (name))
    return "this machine's own services are never reachable from a sandbox";
  if (wildcard && n < 2)
    return "\"*.\" needs a name of at least two labels behind it";

  return NULL;
}

OwHost *
ow_host_parse (const char  *text,
               GError     **error)
{
  g_autofree char *name = g_ascii_strdown (text, -1);
  const char *why = NULL;
  guint16 port = DEFAULT_PORT;
  char *colon = strchr (name, ':');

  if (strpbrk (name, "[]/@") != NULL || (colon != NULL && strchr (colon + 1, ':') != NULL))
    {
      why = "an entry is a name, or a name and a port, such as \"example.com:443\"";
    }
  else
    {
      if (colon != NULL)
        *colon = '\0';
      if (colon != NULL && !parse_port (colon + 1, &port))
        why = "the port is a number from 1 to 65535";
      else
        why = find_fault (name);
    }
  if (why != NULL)
    {
      ow_error_setf (error, OW_ERROR_DATA, NULL, "\"%.80s\" is no host for a sandbox: %s", text,
                     why);
      return NULL;
    }

  return ow_host_new (name, port);
}
