/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* A host that sandboxes may reach besides the profile's: plain data, any thread. */
typedef struct {
  char     *host;    /* (owned) DNS name, lower case, may begin "*."; or an IP address, as
                      * inet_ntop() writes it */
  guint16   port;
  gboolean  private; /* the person consented to it where it stands for a private address */
} OwHost;

/* What a text may be besides a name. */
typedef enum {
  OW_HOST_NAME    = 0,
  OW_HOST_ADDRESS = 1 << 0, /* an IP address, as the server of a kubeconfig can be one */
  OW_HOST_PRIVATE = 1 << 1, /* the person consented to private addresses: any address but those
                             * of OW_ADDRESS_SPECIAL, and the host is private */
} OwHostForm;

OwHost  *ow_host_new   (const char *host, guint16 port);
OwHost  *ow_host_copy  (const OwHost *host);
void     ow_host_free  (OwHost *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwHost, ow_host_free)

/* "name:port" or "name" (443), or with brackets around an IPv6 address. What is refused is said
 * by its kind: OW_ERROR_DATA where it is none, OW_ERROR_REFUSED where it is an address that @forms
 * does not have, and what would help (docs/configuration.md). */
OwHost  *ow_host_parse_as (const char *text, OwHostForm forms, GError **error);
/* The same with OW_HOST_NAME. */
OwHost  *ow_host_parse    (const char *text, GError **error);

/* How ow_host_parse_as() reads it. Returns: (transfer full) */
char    *ow_host_to_text    (const OwHost *host);
gboolean ow_host_is_address (const OwHost *host);
/* The same host and port, whether or not private. */
gboolean ow_host_equal      (const OwHost *a, const OwHost *b);
/* What @hosts (of OwHost) has of that host and port: borrowed, NULL where there is none. */
OwHost  *ow_host_find_in    (GPtrArray *hosts, const OwHost *host);
/* Adds a copy to @hosts, which owns what is in it. A host that is there already stays, and becomes
 * private where @host is. */
void     ow_host_add_to     (GPtrArray *hosts, const OwHost *host);
/* Whether @entry of a list has @host: itself or, with "*.", what is below it, at every depth. */
gboolean ow_host_covers     (const OwHost *entry, const OwHost *host);
