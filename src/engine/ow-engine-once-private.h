/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

#include "wire/ow-json.h"

/* Which commands were given, by their ids, so that one that comes again over another connection
 * is not done again. What a command held is kept as a hash, because it may hold a key. One
 * thread. */

typedef struct _OwEngineOnce OwEngineOnce;

/* @answer: {"result": …} or {"error": …}, borrowed. */
typedef void (*OwEngineOnceFunc) (const char   *id,
                                  const json_t *answer,
                                  gpointer      user_data);

typedef enum {
  OW_ENGINE_ONCE_NEW,    /* to be done now; ow_engine_once_done() tells whoever asked */
  OW_ENGINE_ONCE_KNOWN,  /* the answer is told, now or when it is there */
  OW_ENGINE_ONCE_OTHER,  /* the id is that of another command; nothing will be told */
} OwEngineOnceState;

/* @keep_us: how long an answer is kept. */
OwEngineOnce      *ow_engine_once_new  (gint64            keep_us);
void               ow_engine_once_free (OwEngineOnce     *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwEngineOnce, ow_engine_once_free)

/* @notify is called for @user_data once it is not needed any more, for OTHER too. */
OwEngineOnceState  ow_engine_once_ask  (OwEngineOnce     *self,
                                        const char       *id,
                                        const char       *command,
                                        const json_t     *params,
                                        OwEngineOnceFunc  func,
                                        gpointer          user_data,
                                        GDestroyNotify    notify);
/* Steals @answer. */
void               ow_engine_once_done (OwEngineOnce     *self,
                                        const char       *id,
                                        json_t           *answer);
