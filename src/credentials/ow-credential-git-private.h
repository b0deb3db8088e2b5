/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "credentials/ow-credentials.h"
#include "ow-credential-copy-private.h"

/* Git's own settings, which every sandbox gets: ~/.gitconfig, ~/.config/git/config and what they
 * include of their kind, cleaned (ow-git-config-private.h); the lists of what is ignored and of
 * attributes, and the other files that they name. No other file of ~/.config/git: it is where git
 * keeps logins. A file that git could not read is left out and said. Blocks; any thread. */
void ow_credential_git_take (OwCredentials    *self,
                             OwCredentialCopy *copy,
                             gboolean          has_ssh);
