/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-credential-finding-private.h"

/* What of ~/.aws is a login, and what in it needs something that is not inside: helper programs, a
 * browser, the metadata service of a cloud's machine, files elsewhere. Pure; one thread.
 *
 * Format: https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html */
typedef struct {
  OwCredentialFinding *finding; /* (unowned) */
  gboolean keys;         /* an access key stands in a file */
  gboolean sso;          /* a profile logs in by a browser */
  gboolean helper;       /* a profile asks a program */
  gboolean signed_in;    /* set by the caller: sso/cache or cli/cache has a file */
} OwCredentialAws;

/* @name is the file's, for the text of a fault. FALSE, with the line, where a line is no text of
 * such a file: what stands above it has been taken. */
gboolean ow_credential_aws_read   (OwCredentialAws *aws, GBytes *bytes, GError **error);
/* After the last file: says what works. */
void     ow_credential_aws_finish (OwCredentialAws *aws);
