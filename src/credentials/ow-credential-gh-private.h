/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-credential-finding-private.h"

/* Reads gh's hosts.yml: for each host, whether its token is in the file or in the keyring, which
 * cannot be copied. Hosts other than github.com are said and not opened: they are not among the
 * entry's. Pure; any thread.
 *
 * Format: https://cli.github.com/manual/gh_auth_login, and what gh 2.23 and 2.60 write.
 *
 * FALSE, with the line, where it cannot be read; then nothing was found. */
gboolean ow_credential_gh_read (OwCredentialFinding *finding,
                                GBytes              *bytes,
                                GError             **error);
