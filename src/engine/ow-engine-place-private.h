/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Where one user's one engine listens, and who it is: the lock and the socket of
 * docs/engine-protocol.md. Nothing here waits. Any thread. */

typedef struct
{
  char *dir;    /* (owned) */
  char *lock;   /* (owned) path of the lock file */
  char *socket; /* (owned) path of the socket */
} OwEnginePlace;

/* Makes the folder where it is not there and @create is TRUE. A path that no socket can have is
 * OW_ERROR_REFUSED. */
OwEnginePlace *ow_engine_place_new     (gboolean              create,
                                        GError              **error);
void           ow_engine_place_free    (OwEnginePlace        *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwEnginePlace, ow_engine_place_free)

/* A descriptor that holds the lock for as long as it is open; -1 when another has it (without
 * @error) and when it cannot be tried. */
int            ow_engine_place_lock    (const OwEnginePlace  *self,
                                        GError              **error);
/* Only by whom holds the lock: takes away what a dead engine left and listens. -1 with @error. */
int            ow_engine_place_listen  (const OwEnginePlace  *self,
                                        GError              **error);
/* Takes the name of the socket away, where @lock still is the lock: where it has lost its name,
 * the socket may be the next engine's. */
void           ow_engine_place_leave   (const char           *socket,
                                        int                   lock);
/* -1 without @error when nobody listens now. Whoever does is of this user. */
int            ow_engine_place_connect (const OwEnginePlace  *self,
                                        GError              **error);
/* TRUE: what is at the other end of @fd is a process of this user. */
gboolean       ow_engine_place_is_own  (int                   fd);
