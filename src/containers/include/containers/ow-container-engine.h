/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* A container engine on this machine, asked through its own command. The gateway of OpenShell
 * runs without this program's environment and ignores docker's contexts, so the engine that it
 * uses and the one that `docker` uses here can be two: their ids are compared.
 *
 * Every function runs a command or two with a deadline, never as root by itself. The thread of
 * the engine. Errors: OW_ERROR_REFUSED with cause and next step, OW_ERROR_INTERRUPTED,
 * OW_ERROR_TIMED_OUT. */

typedef enum { OW_ENGINE_DOCKER, OW_ENGINE_PODMAN } OwEngineKind;

typedef struct {
  OwEngineKind kind;       /* what really answers: podman also behind the name docker */
  gboolean     shim;       /* podman that calls itself docker */
  gboolean     snap;       /* Docker from the snap store: it does not see hidden folders */
  gboolean     rootless;
  char        *program;    /* (owned) the command that was asked */
  char        *socket;     /* (owned) (nullable) where it answers, as a path; NULL: where that
                            * command looks by itself */
  char        *version;    /* (owned) */
  char        *id;         /* (owned) (nullable) the daemon's own id; podman has none */
  char        *root_dir;   /* (owned) (nullable) where its images lie */
  char        *other;      /* (owned) (nullable) where `docker` of this account answers as another
                            * daemon: there are two, and only this one counts */
} OwContainerEngine;

void ow_container_engine_free (OwContainerEngine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwContainerEngine, ow_container_engine_free)

/* The engine that a local gateway with this @driver uses ("docker" or "podman"): asked at the
 * sockets where the gateway looks, those of gateway.env first. Told apart in errors: not installed;
 * it does not run; it runs and this account may not use it, or not in this login yet; and an engine
 * of this account that is at none of the places where the gateway looks, each named. A gateway on
 * another machine is not asked about: its engine cannot be. */
void               ow_container_engine_find_async  (const char *driver, GCancellable *cancellable,
                                                    GAsyncReadyCallback callback,
                                                    gpointer user_data);
OwContainerEngine *ow_container_engine_find_finish (GAsyncResult *result, GError **error);

/* TRUE in @present when the engine has the image; an image that is not there is no error. */
void     ow_container_engine_has_image_async  (const OwContainerEngine *engine, const char *image,
                                               GCancellable *cancellable,
                                               GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_container_engine_has_image_finish (GAsyncResult *result, gboolean *present,
                                               GError **error);

/* Whether the engine can show @path to a container at all: NULL, or why not (Docker from the snap
 * store and a hidden folder, …). (transfer full) Pure. */
char *ow_container_engine_cannot_mount (const OwContainerEngine *engine, const char *path);
/* The command line that a person runs to download @image with it. (transfer full) Pure. */
char *ow_container_engine_pull_line (const OwContainerEngine *engine, const char *image);
