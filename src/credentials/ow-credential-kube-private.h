/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-credential-finding-private.h"

/* The kubeconfigs of one account, YAML or JSON, which kubectl reads as one. Their servers become
 * hosts: names and public addresses, and private addresses that the entry's private_hosts have.
 * What is on this machine or link-local never does (REQ-N03). Files that they name outside the
 * entry's folder are listed and not looked at. Pure; one thread.
 *
 * Format: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/ */
typedef struct _OwCredentialKube OwCredentialKube;

OwCredentialKube *ow_credential_kube_new  (OwCredentialFinding *finding);
void              ow_credential_kube_free (OwCredentialKube *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwCredentialKube, ow_credential_kube_free)

/* Reads one, which lies at @path: whole, under the person's home.
 *
 * @changed: (out) (nullable): the file with the whole paths that lead into the entry's folder
 * made relative to its own, which is how kubectl reads them; NULL where nothing is to change.
 * FALSE, with the line, where it is no kubeconfig; then nothing of it was taken. */
gboolean ow_credential_kube_read   (OwCredentialKube *self,
                                    const char       *path,
                                    GBytes           *bytes,
                                    GBytes          **changed,
                                    GError          **error);
/* After the last one: says what works. */
void     ow_credential_kube_finish (OwCredentialKube *self);
