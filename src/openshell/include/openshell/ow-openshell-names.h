/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* What OpenShell takes as names and labels, so that nothing else is ever given to it. Source:
 * docs/openshell-contract.md, "Names and limits". Pure, any thread. */

#define OW_OPENSHELL_NAME_MAX        19
#define OW_OPENSHELL_LABEL_MAX       63
#define OW_OPENSHELL_POLICY_PATHS    256
#define OW_OPENSHELL_PATH_BYTES      4096
#define OW_OPENSHELL_CONFIG_BYTES    65536
/* The client reads 4 MiB of stdin, but the gateway takes a message of 1 MiB at most. */
#define OW_OPENSHELL_STDIN_BYTES     1000000

/* What `create` takes: a DNS label of at most OW_OPENSHELL_NAME_MAX characters, no "--". */
gboolean ow_openshell_name_is_valid  (const char *name);
/* What may stand as an argument where a sandbox is named, also one of another release's rules: a
 * DNS label of at most 63 characters, so no option and no path. */
gboolean ow_openshell_name_is_safe   (const char *name);
/* A label's value: letters, digits, '-', '_' and '.', first and last a letter or digit, at most
 * OW_OPENSHELL_LABEL_MAX; may be empty. */
gboolean ow_openshell_label_is_valid (const char *value);
/* @text cut to a valid label value: what is not of the alphabet becomes '-', runs of it one; may
 * be empty. (transfer full) */
char    *ow_openshell_label_from_text (const char *text);
