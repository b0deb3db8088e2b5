/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-host-line-private.h"

#include <stdlib.h>

#include "wire/ow-json.h"

static json_t *
make_entry (const OwHost *host)
{
  json_t *entry = json_object ();

  json_object_set_new (entry, "host", json_string (host->host));
  json_object_set_new (entry, "port", json_integer (host->port));
  if (host->private)
    json_object_set_new (entry, "private", json_true ());
  return entry;
}

GBytes *
ow_host_line_new (GPtrArray *hosts)
{
  json_t *list = json_array ();
  json_t *root = json_object ();
  g_autoptr (GString) line = g_string_new (NULL);
  char *text;

  for (guint i = 0; hosts != NULL && i < hosts->len; i++)
    json_array_append_new (list, make_entry (g_ptr_array_index (hosts, i)));
  json_object_set_new (root, "allow", list);
  text = ow_json_dump (root, NULL);
  json_decref (root);
  g_string_append (line, text != NULL ? text : "{\"allow\":[]}");
  g_string_append_c (line, '\n');
  free (text);
  return g_bytes_new (line->str, line->len);
}
