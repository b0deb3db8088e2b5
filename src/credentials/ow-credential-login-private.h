/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "credentials/ow-credential-login.h"
#include "ow-credential-copy-private.h"

/* ow_credential_login_look() for an entry that is being copied: call it before the entry's path is
 * added to @copy, and add that only where something can be used (ALL or PART). A kubeconfig is
 * written by it, so that the hosts that are opened are those of the very bytes inside. Appends to
 * @environment (of owned "NAME=value") how the programs inside find their copy. One thread, which
 * it blocks. */
OwCredentialLogin *ow_credential_login_share (OwCredentialCopy         *copy,
                                              const OwConfigCredential *entry,
                                              const char               *kubeconfig,
                                              GPtrArray                *environment);

/* What @entry lets the agent do, for a session that has all of it. (transfer full) */
char              *ow_credential_login_tell  (const OwConfigCredential *entry);
