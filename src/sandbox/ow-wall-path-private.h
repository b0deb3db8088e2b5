/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-wall-view-private.h"

/* Where a path leads inside a wall. Links are followed as the kernel would inside where they lie
 * in what the sandbox shares with the machine; in a session's folder nothing is looked at
 * (REQ-W03), so what is a link there is not known. Blocking, any thread. */

typedef struct {
  char              *path;    /* (owned) after every link that is known */
  const OwWallPlace *place;   /* (nullable) of the view; NULL: it is not there */
  OwWallRights       rights;  /* of a command, as Landlock has them */
  gboolean           way;     /* nothing but what leads to other places */
  gboolean           absent;  /* @place would have it, and this machine has none */
  gboolean           unknown; /* it lies where a link would not be known */
} OwWallSpot;

void     ow_wall_spot_clear (OwWallSpot *spot);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (OwWallSpot, ow_wall_spot_clear)

/* @path is absolute. */
void     ow_wall_path_find  (const GArray *view, const char *path, OwWallSpot *spot);
/* Whether the account may, by the modes of what is at @path on this machine and what leads there;
 * @want as access(2) has it. */
gboolean ow_wall_path_may   (const char *path, uid_t uid, gid_t gid, int want);
