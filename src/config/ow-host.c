/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-host.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "wire/ow-address.h"

#define DEFAULT_PORT    443
#define MAX_NAME_CHARS  253
#define MAX_LABEL_CHARS 63
#define SHOWN_CHARS     80

OwHost *
ow_host_new (const char *host,
             guint16     port)
{
  OwHost *self = g_new0 (OwHost, 1);

  self->host = g_strdup (host);
  self->port = port;

  return self;
}

OwHost *
ow_host_copy (const OwHost *host)
{
  OwHost *copy = ow_host_new (host->host, host->port);

  copy->private = host->private;

  return copy;
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

/* Names that /etc/hosts gives to loopback. */
static gboolean
is_loopback_name (const char *last)
{
  static const char * const names[] = { "localhost", "localdomain", "ip6-localhost",
                                        "ip6-loopback" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (last, names[i]) == 0)
      return TRUE;

  return FALSE;
}

/* The fault of one label, in words that name what a person wrote. */
static const char *
find_label_fault (const char *label)
{
  if (*label == '\0')
    return "there is nothing between two of its dots, or before the first";
  if (strlen (label) > MAX_LABEL_CHARS)
    return "a label of a name has at most 63 characters";
  if (strchr (label, '*') != NULL)
    return "a \"*\" stands at the front only, with a dot behind it, as in \"*.example.com\"";
  if (!g_str_is_ascii (label))
    return "a name is written in ASCII, as \"xn--…\" where it has other letters";

  if (!is_label (label))
    return "a host name has labels of letters, digits and hyphens, and nothing else";

  return NULL;
}

/* NULL, or why @name is no name of a host. */
static const char *
find_fault (const char *name)
{
  const gboolean wildcard = g_str_has_prefix (name, "*.");
  g_auto (GStrv) labels = g_strsplit (wildcard ? name + 2 : name, ".", -1);
  guint n = g_strv_length (labels);
  const char *last;

  if (n == 0 || strlen (name) > MAX_NAME_CHARS)
    return "a host name has 1 to 253 characters";
  last = labels[n - 1];
  if (*last == '\0')
    return "a host name does not end in a dot";
  for (guint i = 0; i < n; i++)
    if (find_label_fault (labels[i]) != NULL)
      return find_label_fault (labels[i]);
  if (is_number (last))
    return "it ends in a number, as an address does, and is none that is written in full";
  if (is_loopback_name (last) || is_this_machine (name))
    return "this machine's own services are never reachable from a sandbox";
  if (wildcard && n < 2)
    return "\"*.\" needs a name of at least two labels behind it";

  return NULL;
}

/* An address in its one spelling, NULL where @name is none: what other programs take for one
 * ("10.1", "010.0.0.1", "0x7f000001") is not read, so that nobody reads it in another way. */
static char *
read_address (const char    *name,
              OwAddressKind *kind)
{
  struct sockaddr_storage address;
  char text[OW_ADDRESS_TEXT_SIZE];

  if (!ow_address_parse (name, &address))
    return NULL;
  *kind = ow_address_classify ((const struct sockaddr *) &address);
  ow_address_to_text ((const struct sockaddr *) &address, text);

  return g_strdup (text);
}

/* NULL, or why an address of that kind is not taken. */
static const char *
find_address_fault (OwAddressKind kind,
                    OwHostForm    forms)
{
  if (kind == OW_ADDRESS_SPECIAL)
    return "loopback, link-local and other addresses of the machine itself are always refused";
  if ((forms & OW_HOST_PRIVATE) != 0)
    return NULL;
  if (kind == OW_ADDRESS_PRIVATE)
    return "it is a private address, and those need your consent (private = true)";

  return (forms & OW_HOST_ADDRESS) != 0 ? NULL : "it is an address, and hosts are listed by name";
}

/* Takes @text, lower case, apart: *@name is the part without brackets, *@port what stands behind
 * the colon or NULL. Returns NULL, or why it cannot be. */
static const char *
split (char        *text,
       char       **name,
       const char **port)
{
  const gboolean v6 = *text == '[';
  char *end = v6 ? strchr (text, ']') : strchr (text, ':');

  *name = v6 ? text + 1 : text;
  *port = NULL;
  if (strstr (text, "://") != NULL || strpbrk (text, "/?#\\") != NULL)
    return "a name or an address is meant, without \"https://\" and without a path";
  if (strchr (text, '@') != NULL)
    return "a name or an address is meant, without a user";
  if (v6 && (end == NULL || (end[1] != '\0' && end[1] != ':')))
    return "the bracket around an address is closed, and behind it stands nothing or the port";
  if (v6)
    {
      *end++ = '\0';
      if (strchr (*name, ':') == NULL)
        return "brackets stand around an IPv6 address only";
    }
  else if (end != NULL && strchr (end + 1, ':') != NULL)
    return "an entry is a name, or a name and a port, such as \"example.com:443\"; an IPv6 "
           "address stands in brackets";
  if (end != NULL && *end == ':')
    {
      *end = '\0';
      *port = end + 1;
    }

  return NULL;
}

static OwHost *
fail (const char   *text,
      OwErrorKind   kind,
      const char   *why,
      GError      **error)
{
  g_autofree char *valid = ow_text_from_bytes (text, -1);
  g_autofree char *visible = ow_text_visible (valid);
  g_autofree char *shown = ow_text_shorten (visible, SHOWN_CHARS, TRUE);

  ow_error_setf (error, kind, NULL, "\"%s\" is no host for a sandbox: %s", shown, why);

  return NULL;
}

OwHost *
ow_host_parse_as (const char  *text,
                  OwHostForm   forms,
                  GError     **error)
{
  g_autofree char *lower = g_ascii_strdown (text, -1);
  g_autofree char *address = NULL;
  OwAddressKind kind = OW_ADDRESS_SPECIAL;
  const char *port_text;
  const char *why;
  guint16 port = DEFAULT_PORT;
  char *name;
  OwHost *host;

  /* An IPv6 address without brackets has no port: it is known for what it is. */
  address = read_address (lower, &kind);
  why = address == NULL ? split (lower, &name, &port_text) : NULL;
  if (why == NULL && address == NULL)
    {
      if (port_text != NULL && !parse_port (port_text, &port))
        why = "the port is a number from 1 to 65535";
      else if ((address = read_address (name, &kind)) == NULL)
        why = find_fault (name);
    }
  if (why != NULL)
    return fail (text, OW_ERROR_DATA, why, error);
  if (address != NULL && find_address_fault (kind, forms) != NULL)
    return fail (text, OW_ERROR_REFUSED, find_address_fault (kind, forms), error);

  host = ow_host_new (address != NULL ? address : name, port);
  host->private = (forms & OW_HOST_PRIVATE) != 0;

  return host;
}

OwHost *
ow_host_parse (const char  *text,
               GError     **error)
{
  return ow_host_parse_as (text, OW_HOST_NAME, error);
}

char *
ow_host_to_text (const OwHost *host)
{
  const gboolean v6 = strchr (host->host, ':') != NULL;

  return g_strdup_printf ("%s%s%s:%u", v6 ? "[" : "", host->host, v6 ? "]" : "", host->port);
}

gboolean
ow_host_is_address (const OwHost *host)
{
  OwAddressKind kind;
  g_autofree char *address = read_address (host->host, &kind);

  return address != NULL;
}

gboolean
ow_host_equal (const OwHost *a,
               const OwHost *b)
{
  return a->port == b->port && strcmp (a->host, b->host) == 0;
}

OwHost *
ow_host_find_in (GPtrArray    *hosts,
                 const OwHost *host)
{
  for (guint i = 0; i < hosts->len; i++)
    if (ow_host_equal (g_ptr_array_index (hosts, i), host))
      return g_ptr_array_index (hosts, i);

  return NULL;
}

void
ow_host_add_to (GPtrArray    *hosts,
                const OwHost *host)
{
  OwHost *known = ow_host_find_in (hosts, host);

  if (known == NULL)
    g_ptr_array_add (hosts, ow_host_copy (host));
  else
    known->private = known->private || host->private;
}

gboolean
ow_host_covers (const OwHost *entry,
                const OwHost *host)
{
  if (entry->port != host->port)
    return FALSE;
  if (g_str_has_prefix (entry->host, "*.") && !ow_host_is_address (host))
    return g_str_has_suffix (host->host, entry->host + 1) &&
           strlen (host->host) > strlen (entry->host + 1);

  return strcmp (entry->host, host->host) == 0;
}
