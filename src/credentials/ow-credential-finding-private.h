/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-config-credentials.h"

/* What is found out about one entry while its files are read: what works, what does not and why,
 * and the hosts. Plain data, one thread. */
typedef struct {
  const OwConfigCredential *entry; /* (unowned) */
  const char *home;      /* (unowned) the person's, which whole paths in the files begin with */
  GPtrArray  *hosts;     /* (owned) of OwHost: opened */
  GPtrArray  *consent;   /* (owned) of OwHost: private, and not agreed to */
  GPtrArray  *works;     /* (owned) of char: what the agent can use */
  GPtrArray  *notes;     /* (owned) of char: what it cannot, parts of a sentence */
} OwCredentialFinding;

OwCredentialFinding *ow_credential_finding_new  (const OwConfigCredential *entry,
                                                 const char               *home);
void                 ow_credential_finding_free (OwCredentialFinding *finding);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwCredentialFinding, ow_credential_finding_free)

void ow_credential_finding_add_work (OwCredentialFinding *finding, const char *format, ...)
G_GNUC_PRINTF (2, 3);
/* The same note is kept once. */
void ow_credential_finding_add_note (OwCredentialFinding *finding, const char *format, ...)
G_GNUC_PRINTF (2, 3);
/* Takes @host; the same one is kept once. FALSE: there are 256 already (a cap of our own; nobody's
 * kubeconfig comes near it), and it is not kept. */
gboolean ow_credential_finding_add_host (GPtrArray *hosts, OwHost *host);

/* Texts joined as "a, b and 3 more". (transfer full) */
char *ow_credential_finding_join (GPtrArray *texts, const char *separator, guint most);

/* For a sentence: one line of at most 80 characters that cannot play with a terminal. */
char *ow_credential_finding_show (const char *text);
/* A path as the person knows it, with "~" for their home. (transfer full) */
char *ow_credential_finding_show_path (const char *path, const char *home);
