/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* By what a sandbox of OpenShell is known to be ours: its name, and labels that the gateway
 * keeps. Source: docs/openshell-contract.md, "Names and limits". Any thread. */

/* Label of every sandbox of this program, and of those of this account and machine. */
#define OW_OPENSHELL_LABEL         "openworker"
#define OW_OPENSHELL_LABEL_OWNER   "openworker-owner"
#define OW_OPENSHELL_LABEL_SESSION "openworker-session"

/* What says "ours" among all users of one gateway: 16 hex digits of account, machine and place
 * of the registry. Only sandboxes that carry it are ever deleted. (transfer full) */
char  *ow_openshell_labels_owner     (void);
/* "openworker-owner=…", for a list. (transfer full) */
char  *ow_openshell_labels_selector  (void);
/* "ow-" and @id, which is all that a name ever holds. (transfer full) */
char  *ow_openshell_labels_name      (const char *id);
/* The id in a name of ours; NULL when it is no such name. (transfer full) */
char  *ow_openshell_labels_id        (const char *name);
/* "key=value" of a sandbox for @session, whose id is cut to what a label may hold.
 * (transfer full) */
char **ow_openshell_labels_make      (const char *session);
