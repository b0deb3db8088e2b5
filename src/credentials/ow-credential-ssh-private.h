/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "credentials/ow-credentials.h"
#include "ow-credential-copy-private.h"

/* The entry ssh: its folder is copied with the config rewritten (ow-ssh-config-private.h), and
 * ssh, scp and sftp find that one, as git does: by wrappers at the front of the PATH and by
 * GIT_SSH_COMMAND, because ssh looks for its files in the home of the account, which need not be
 * the private home. Adds to @self what there is to be told. Returns how many files were copied.
 * Blocks; any thread. */
guint ow_credential_ssh_take (OwCredentials              *self,
                              OwCredentialCopy           *copy,
                              const OwConfigCredential   *entry,
                              const OwCredentialsRequest *request);
/* Whether @bytes are a private key that needs a passphrase. Pure. */
gboolean ow_credential_ssh_has_passphrase (GBytes *bytes);
