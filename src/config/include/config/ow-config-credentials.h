/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-config.h"

/* The logins of the person's that a sandbox can get a copy of: the four that the program knows
 * (ssh, gh, aws, kube), and the [[sandbox_credentials]] of config.toml (docs/configuration.md).
 * Only the settings are here: nothing looks at the files themselves. Plain data, any thread. */

typedef struct {
  char      *name;           /* (owned) letters, digits, "-", "_", "." */
  gboolean   enabled;
  char      *path;           /* (owned) below the home, without "~/": a file or a folder */
  GPtrArray *hosts;          /* (owned) of OwHost: what it is good for; kube's are in its file */
  GPtrArray *private_hosts;  /* (owned) of OwHost: private addresses the person agreed to */
  gboolean   built_in;
} OwConfigCredential;

OwConfigCredential *ow_config_credential_new  (void);
OwConfigCredential *ow_config_credential_copy (const OwConfigCredential *credential);
void                ow_config_credential_free (OwConfigCredential *credential);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwConfigCredential, ow_config_credential_free)

/* Borrowed array of OwConfigCredential: first the built-in ones, which are off where the file
 * says nothing, then the file's own in its order. */
GPtrArray                *ow_config_get_credentials (OwConfig *self);
const OwConfigCredential *ow_config_find_credential (OwConfig *self, const char *name);
/* Whether a private address at that port was agreed to for @credential. */
gboolean                  ow_config_credential_allows (const OwConfigCredential *credential,
                                                       const char *host, guint16 port);

/* Edits; what config/ow-model-settings.h says of them holds here. A name that is not there, and
 * values that cannot be, are OW_ERROR_USAGE. */

/* @private_hosts (nullable): of OwHost, those the person has just agreed to, besides the ones
 * that are there. One that is on already changes nothing else. */
gboolean ow_config_enable_credential  (const char          *file,
                                       const char          *name,
                                       GPtrArray           *private_hosts,
                                       GError             **error);
gboolean ow_config_disable_credential (const char          *file,
                                       const char          *name,
                                       GError             **error);
/* All as a person types it: @path begins with "~/" or the home, hosts are "name:port". */
gboolean ow_config_add_credential     (const char          *file,
                                       const char          *name,
                                       const char          *path,
                                       const char * const  *hosts,
                                       const char * const  *private_hosts,
                                       gboolean             enabled,
                                       GError             **error);
/* Takes the entry out of the file; a built-in login is then off. */
gboolean ow_config_remove_credential  (const char          *file,
                                       const char          *name,
                                       GError             **error);
