/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* What is laid out on the host for a sandbox to not get at, and the trial outside the
 * wall that shows each bait to be a real one. All of it is ours, has random names, and
 * is gone again with ow_prove_bait_free(). Main thread. */
typedef struct {
  char    *base;              /* (owned) the temporary folder, 0700 */
  char    *writable;          /* (owned) in it: the session's folder */
  char    *read_only;         /* (owned) in it */
  char    *token;             /* (owned) what known and canary hold */
  char    *known;             /* (owned) a file in writable */
  char    *canary;            /* (owned) a file in the home, 0600 */
  char    *host;              /* (owned) a name on no list */
  char    *abstract;          /* (owned) name of the abstract socket */
  int      loopback_fd;       /* listens on 127.0.0.1 */
  guint16  loopback_port;
  int      abstract_fd;
  /* The controls: what works outside. */
  gboolean known_readable;
  gboolean canary_readable;
  gboolean read_only_writable;
  gboolean proc_sys_there;
  gboolean proc_sys_writable; /* root only: else existence is all that can be shown */
  gboolean loopback_answers;
  gboolean abstract_answers;
  gboolean has_route;         /* the machine itself could go to other machines */
} OwProveBait;

#define OW_PROVE_BAIT_PROC_SYS "/proc/sys/kernel/core_pattern"
/* An address that is routed like any public one and belongs to nobody (RFC 5737). */
#define OW_PROVE_BAIT_ADDRESS  "192.0.2.1"

/* Below @parent. A control that fails is no error: its claim cannot be proven. */
OwProveBait *ow_prove_bait_new     (const char *parent, GError **error);
void         ow_prove_bait_free    (OwProveBait *self);
/* Where root asks: makes the folders an ordinary account's, the one that became root with sudo or
 * else nobody's. Anybody else's stay theirs. */
gboolean     ow_prove_bait_give_away (OwProveBait *self, GError **error);
/* Whether anybody connected since the control did. */
gboolean     ow_prove_bait_touched (int listener);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwProveBait, ow_prove_bait_free)
