/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-engine.h"

/* The engine that a face uses: this process's own, in a thread of its own, when there is none
 * yet, else as a client of the one there is. When the one that is joined goes away, it joins or
 * becomes the next: events then go on from the last number seen.
 *
 * Signals: "event" (of OwEngine); "changed": the role, the notice or the number of
 * sessions that run is another one.
 * The main thread; callbacks come there. */

#define OW_TYPE_SHARED_ENGINE (ow_shared_engine_get_type ())
G_DECLARE_FINAL_TYPE (OwSharedEngine, ow_shared_engine, OW, SHARED_ENGINE, GObject)

typedef enum {
  OW_FACE_WINDOW,   /* may be the engine */
  OW_FACE_COMMAND,  /* may be the engine */
  OW_FACE_VISITOR,  /* a short command: joins one that is there, else works alone and is none */
  OW_FACE_CLIENT,   /* joins one that is there, or fails (OW_ERROR_REFUSED) */
  OW_FACE_UP,       /* has to be the engine (OW_ERROR_REFUSED when there is one), REQ-M01 */
} OwFaceKind;

typedef enum { OW_ENGINE_NONE, OW_ENGINE_HOST, OW_ENGINE_CLIENT, OW_ENGINE_ALONE } OwEngineRole;

/* To be called first in main(), before any thread: keys leave the environment
 * (config/ow-keys.h), core files are switched off. */
void            ow_shared_engine_prepare_process (void);

OwSharedEngine *ow_shared_engine_new          (OwFaceKind kind);
/* Joins or becomes the engine, within 10 s. Commands given before it is done wait for it. */
void            ow_shared_engine_open_async   (OwSharedEngine *self, GCancellable *cancellable,
                                               GAsyncReadyCallback callback, gpointer user_data);
gboolean        ow_shared_engine_open_finish  (OwSharedEngine *self, GAsyncResult *result,
                                               GError **error);
OwEngineRole    ow_shared_engine_get_role     (OwSharedEngine *self);
/* What a person must be told all the time ("not protected"), or NULL. */
const char     *ow_shared_engine_get_notice   (OwSharedEngine *self);
/* Host: how many sessions run that would end with it, this face's own included; else 0. */
guint           ow_shared_engine_get_n_running (OwSharedEngine *self);
/* Leaves. As the host it ends only when no session runs any more; with @park those that run are
 * parked first. Completes when the process may exit. */
void            ow_shared_engine_close_async  (OwSharedEngine *self, gboolean park,
                                               GAsyncReadyCallback callback, gpointer user_data);
gboolean        ow_shared_engine_close_finish (OwSharedEngine *self, GAsyncResult *result,
                                               GError **error);
