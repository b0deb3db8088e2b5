/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-config-credentials.h"

/* What an entry of the credentials would give a sandbox, told from the person's files
 * (docs/credentials.md). What the files say is data: it is capped, shown only as ow_text_visible()
 * does, and a broken file is said with its line and skipped. */

typedef enum {
  OW_CREDENTIAL_USE_ALL,
  OW_CREDENTIAL_USE_PART,    /* some of it works inside, and the sentence says what does not */
  OW_CREDENTIAL_USE_NOTHING, /* the files are there, and nothing in them can be used inside */
  OW_CREDENTIAL_USE_MISSING, /* there are no files */
} OwCredentialUse;

typedef struct {
  OwCredentialUse  use;
  char            *sentence; /* (owned) for a person; without the entry's name */
  GPtrArray       *hosts;    /* (owned) of OwHost: what it opens; private where consented to */
  GPtrArray       *consent;  /* (owned) of OwHost: private addresses that it does not open until
                              * they are among the entry's private_hosts */
} OwCredentialLogin;

/* "usable", "partly", "nothing" and "missing", as --json shows them. */
const char *ow_credential_use_to_string (OwCredentialUse use);

/* What the agent could do with @entry, for the person who is to decide about it. (transfer full) */
char *ow_credential_login_describe (const OwConfigCredential *entry);

/* @entry as it is under @home, without copying anything. Reads files and blocks on the disk, so it
 * belongs into a thread of its own, never into the engine's or a window's; a pipe or a device
 * never blocks it, and nothing is read after @deadline (of g_get_monotonic_time()). It starts no
 * program and asks no network. @kubeconfig is the person's KUBECONFIG, NULL where it is not set. */
OwCredentialLogin *ow_credential_login_look (const OwConfigCredential *entry,
                                             const char               *home,
                                             const char               *kubeconfig,
                                             gint64                    deadline);

void ow_credential_login_free (OwCredentialLogin *login);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwCredentialLogin, ow_credential_login_free)
