/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "wire/ow-host-list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  OwHostName  host;
  bool         wildcard;    /* every name below the host, not the host itself */
  bool         private_too;
  unsigned int port;
} Entry;

struct _OwHostList {
  size_t n_entries;
  Entry  entries[];
};

static bool
parse_entry (Entry        *self,
             const json_t *value)
{
  const char *host = ow_json_get_string (value, "host", "");
  const json_t *private_too = json_object_get (value, "private");
  json_int_t port = ow_json_get_int (value, "port", 0);
  size_t known = 2;

  self->wildcard = strncmp (host, "*.", 2) == 0;
  if (self->wildcard)
    host += 2;
  if (!ow_host_name_parse (&self->host, host, strlen (host)))
    return false;
  if (self->wildcard && self->host.is_address)
    return false;
  if (port < 1 || port > 65535)
    return false;
  self->port = (unsigned int) port;
  if (private_too != NULL)
    {
      if (!json_is_boolean (private_too))
        return false;
      known++;
    }
  self->private_too = json_is_true (private_too);
  return json_object_size (value) == known;
}

static OwHostList *
from_json (const json_t *root,
           char          error[OW_WIRE_ERROR_SIZE])
{
  const json_t *allow = json_object_get (root, "allow");
  size_t n_entries = json_array_size (allow);
  OwHostList *self;

  if (!json_is_array (allow) || n_entries > OW_HOST_LIST_MAX)
    {
      snprintf (error, OW_WIRE_ERROR_SIZE, "The list has no array \"allow\" of at most %d hosts.",
                OW_HOST_LIST_MAX);
      return NULL;
    }
  self = calloc (1, sizeof *self + n_entries * sizeof (Entry));
  if (self == NULL)
    abort ();
  self->n_entries = n_entries;
  for (size_t i = 0; i < n_entries; i++)
    {
      if (parse_entry (&self->entries[i], json_array_get (allow, i)))
        continue;
      snprintf (error, OW_WIRE_ERROR_SIZE, "Entry %zu of the list is not a host with a port.",
                i + 1);
      ow_host_list_free (self);
      return NULL;
    }
  return self;
}

OwHostList *
ow_host_list_parse (const char *line,
                    size_t      length,
                    char        error[OW_WIRE_ERROR_SIZE])
{
  json_t *root = ow_json_parse (line, length, error);
  OwHostList *self;

  if (root == NULL)
    return NULL;
  self = from_json (root, error);
  json_decref (root);
  return self;
}

void
ow_host_list_free (OwHostList *self)
{
  free (self);
}

static bool
matches (const Entry       *entry,
         const OwHostName *host)
{
  size_t length = strlen (host->text);
  size_t tail = strlen (entry->host.text);

  if (entry->host.is_address != host->is_address)
    return false;
  if (!entry->wildcard)
    return strcmp (entry->host.text, host->text) == 0;
  return length > tail + 1 && host->text[length - tail - 1] == '.' &&
         strcmp (host->text + length - tail, entry->host.text) == 0;
}

bool
ow_host_list_allows (const OwHostList *self,
                     const OwHostName *host,
                     unsigned int       port,
                     bool              *private_too)
{
  bool allowed = false;

  *private_too = false;
  for (size_t i = 0; i < self->n_entries; i++)
    {
      if (self->entries[i].port != port || !matches (&self->entries[i], host))
        continue;
      allowed = true;
      *private_too = *private_too || self->entries[i].private_too;
    }
  return allowed;
}
