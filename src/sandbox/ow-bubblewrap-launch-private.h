/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>
#include <sys/types.h>

#include "base/ow-process.h"

/* How a child of the wall comes to run as its account and to hold its descriptors.
 *
 * As an ordinary user it only hands descriptors on. As root the child becomes the
 * folders' owner before it executes anything (bwrap run by root is no wall), and what
 * lies below a folder that this owner may not enter, such as root's own 0700 home, is
 * mounted for it, in a mount namespace of its own, on a tmpfs over /tmp.
 *
 * All memory and all descriptors are made before the fork. One launch, one spawn. */

/* How a child begins its last words when it could not be set up. */
#define OW_BUBBLEWRAP_LAUNCH_FAULT "openworker: the sandbox cannot be prepared: "

typedef struct _OwBubblewrapLaunch OwBubblewrapLaunch;

OwBubblewrapLaunch *ow_bubblewrap_launch_new  (uid_t uid, gid_t gid);
void                ow_bubblewrap_launch_free (OwBubblewrapLaunch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwBubblewrapLaunch, ow_bubblewrap_launch_free)

/* Hands @fd (duplicated) to the child as it is. Returns its number there, -1 on error. */
int ow_bubblewrap_launch_hand_fd    (OwBubblewrapLaunch *self, int fd, GError **error);
/* The same with a sealed memfd that holds @length bytes of @data. */
int ow_bubblewrap_launch_hand_data  (OwBubblewrapLaunch *self, const void *data, gsize length,
                                     GError **error);
/* Hands over the directory or file that the O_PATH descriptor @fd names, reachable for
 * the child's account. Returns its number there, -1 on error. */
int ow_bubblewrap_launch_hand_place (OwBubblewrapLaunch *self, int fd, GError **error);
/* As hand_place(), for a path; a last link is not followed. */
int ow_bubblewrap_launch_hand_path  (OwBubblewrapLaunch *self, const char *path,
                                     GError **error);
/* A path by which the child's account reaches @path, with no descriptor handed on: its
 * own, or as root one below the tmpfs. (transfer full) */
char *ow_bubblewrap_launch_reach_path (OwBubblewrapLaunch *self, const char *path,
                                       GError **error);

/* Fills in descriptors and child setup of @options; they stay valid as long as @self. */
void ow_bubblewrap_launch_apply     (OwBubblewrapLaunch *self, OwProcessOptions *options);
