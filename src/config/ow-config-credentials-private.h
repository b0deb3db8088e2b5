/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-config-credentials.h"
#include "ow-config-toml-node-private.h"

G_BEGIN_DECLS

#define OW_CONFIG_CREDENTIALS     "sandbox_credentials"
#define OW_CONFIG_MAX_CREDENTIALS 64
#define OW_CONFIG_MAX_HOSTS       256

/* The built-in ones, off. (transfer full) */
GPtrArray *ow_config_credentials_new       (void);
gboolean   ow_config_credentials_read      (OwConfig      *self,
                                            OwConfigToml  *toml,
                                            const char    *path,
                                            GError       **error);

gboolean   ow_config_credential_is_name    (const char    *text);
/* What comes behind the home (transfer full), or NULL and a sentence part, static. */
char      *ow_config_credential_parse_path (const char    *text,
                                            const char   **why);

/* A list of "name:port" and { host = "name:port", private = true }; @node may be NULL. @what
 * names the list in sentences. */
gboolean   ow_config_hosts_read            (const OwConfigTomlNode  *node,
                                            const char              *what,
                                            GPtrArray               *hosts,
                                            const char              *path,
                                            GError                 **error);
/* A list of texts, each of which may be an address. */
gboolean   ow_config_hosts_read_private    (const OwConfigTomlNode  *node,
                                            GPtrArray               *hosts,
                                            const char              *path,
                                            GError                 **error);
/* Such lists as a value of TOML. (transfer full) */
char      *ow_config_hosts_write           (GPtrArray               *hosts);
char      *ow_config_hosts_write_private   (GPtrArray               *hosts);

G_END_DECLS
