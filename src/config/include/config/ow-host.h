/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* A host that sandboxes may reach besides the profile's: plain data, any thread. */
typedef struct {
  char    *host; /* (owned) DNS name, lower case, may begin "*." */
  guint16  port;
} OwHost;

OwHost  *ow_host_new   (const char *host, guint16 port);
/* "name:port" or "name" (443); refuses IP literals, ports 0, bad labels, trailing dots. */
OwHost  *ow_host_parse (const char *text, GError **error);
void     ow_host_free  (OwHost *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwHost, ow_host_free)
