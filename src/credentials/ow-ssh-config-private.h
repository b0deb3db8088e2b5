/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* A person's ssh_config made to work in a sandbox, from texts alone (REQ-S03; ssh_config(5) of
 * OpenSSH 9.2 is what is meant by a keyword here). Pure; any thread.
 *
 * In what is written the paths are those of the copies, because ssh resolves "~" by the account
 * and not by HOME. There is no agent and no shared connection, and every connection goes through
 * the runner to the proxy; a jump host stays one. What would run a program of the machine is left
 * out: "Match exec", ProxyCommand, LocalCommand, KnownHostsCommand, PKCS#11 and the like, but that
 * "ProxyCommand ssh -W" becomes ProxyJump. Whether host keys are checked is never changed.
 * Keywords that this ssh does not know are ignored by it.
 *
 * A line that cannot be read is kept: ssh says what is wrong with it. */

#define OW_SSH_CONFIG_BYTES (1024 * 1024)

typedef struct {
  const char *person; /* the person's home */
  const char *named;  /* (nullable) the same, by another name */
  const char *home;   /* the private home */
  const char *place;  /* where in both the folder is: ".ssh" */
  const char *runner; /* openworker-runner, as it is inside */
} OwSshPlaces;

/* What was met: for the driver and for the person. */
typedef struct {
  GPtrArray *includes; /* (owned) of char: patterns below both homes, to be rewritten too */
  GPtrArray *dropped;  /* (owned) of char: what was left out, each once; no arguments of programs */
} OwSshFindings;

OwSshFindings *ow_ssh_findings_new  (void);
void           ow_ssh_findings_free (OwSshFindings *findings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwSshFindings, ow_ssh_findings_free)

/* Rewrites the lines of one file. Returns: (transfer full) */
char *ow_ssh_config_rewrite (const OwSshPlaces *places,
                             const char        *text,
                             gsize              length,
                             OwSshFindings     *findings);

/* What stands before and behind the lines of the main file. @keys: names in the folder of the
 * usual keys that are there. @user: (nullable) the person's account, which the inside may not
 * have. Returns: (transfer full) */
char *ow_ssh_config_begin (void);
char *ow_ssh_config_end   (const OwSshPlaces  *places,
                           const char * const *keys,
                           const char         *user);
