/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>
#include <sys/types.h>

/* Why bwrap could not raise a wall, said with one next step. That it could not is decided
 * by its exit status; this only finds the words. */

typedef struct {
  int      userns_clone;      /* kernel.unprivileged_userns_clone; -1: not there */
  int      apparmor_restrict; /* kernel.apparmor_restrict_unprivileged_userns */
  int      max_userns;        /* user.max_user_namespaces */
  gboolean container;         /* this program runs in a container */
  gboolean root;              /* bwrap runs as root, whom these switches do not bind */
} OwBubblewrapFacts;

/* @uid: whom bwrap runs as, who may be another than we are. */
void ow_bubblewrap_explain_read (OwBubblewrapFacts *facts, uid_t uid);
/* Sets an OW_ERROR_REFUSED "Sessions on this machine are refused: …". */
void ow_bubblewrap_explain      (const OwBubblewrapFacts *facts, const char *errors,
                                 GError **error);
