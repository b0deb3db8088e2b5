/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* How the host reaches a runner: the command whose stdin and stdout are one end of the stream to
 * `serve`. Plain data, any thread. */
typedef struct {
  char   **argv;           /* (owned) argv[0] is a full path */
  char   **envp;           /* (owned) (nullable) the whole environment; NULL: a minimal one */
  char   **once_argv;      /* (owned) (nullable) where no live stream comes about: the same for one
                            * batch of requests, with a stdin that is read to its end. Its last
                            * words are the runner's `attach --once`: more are put behind them */
  gsize    once_bytes;     /* the most that one batch may have; 0, and at most: 4 MiB */
  gboolean terminal;       /* stdin has to be a terminal, in raw mode: else no live stream exists */
  guint    keep_alive_ms;  /* 0: none. The far end is not told when the host goes, and ends by
                            * itself after three times this long without a byte */
  guint    patience_ms;    /* how long a way that is broken may stay so before the runner is lost:
                            * what carries it may be started anew. 0: six attempts, some seconds */
} OwAttach;

/* A deep copy. (transfer full) */
OwAttach *ow_attach_copy (const OwAttach *attach);
void      ow_attach_free (OwAttach *attach);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwAttach, ow_attach_free)
