/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "containers/ow-container-engine.h"

/* For the files of this room. */

/* Where things are on this machine; all owned. */
typedef struct {
  char  *gateway_env;  /* the gateway's own environment file */
  char  *system;       /* Docker's socket for the whole machine */
  char  *home;
  char  *runtime;      /* (nullable) $XDG_RUNTIME_DIR */
} OwContainerPlaces;

OwContainerPlaces *ow_container_engine_places_new  (void);
void               ow_container_engine_places_free (OwContainerPlaces *places);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwContainerPlaces, ow_container_engine_places_free)

/* The value of @key in an environment file as systemd reads it (KEY=VALUE lines, quotes, comments);
 * NULL without @error when the file or the key is not there. (transfer full) */
char  *ow_container_engine_read_env (const char *path, const char *key, GError **error);
/* The sockets that the gateway tries, in its order, there or not. (transfer full) */
char **ow_container_engine_sockets  (const OwContainerPlaces *places, const char *host);

/* ow_container_engine_find_async() with @places (transfer full). */
void   ow_container_engine_find_at_async (OwContainerPlaces *places, const char *driver,
                                          GCancellable *cancellable,
                                          GAsyncReadyCallback callback, gpointer user_data);

/* --- one call --- */

typedef struct {
  int   status;  /* its exit status; -1: a signal */
  char *output;  /* (owned) text */
  char *errors;  /* (owned) plain text, one line */
} OwContainerSaid;

void ow_container_engine_said_free (OwContainerSaid *said);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwContainerSaid, ow_container_engine_said_free)

/* Runs @program with @arguments and stdin from /dev/null, at @socket (nullable: where it looks by
 * itself, with the person's own DOCKER_HOST and context). */
void             ow_container_engine_ask_async  (const char *program,
                                                 const char * const *arguments,
                                                 const char *socket, GCancellable *cancellable,
                                                 GAsyncReadyCallback callback,
                                                 gpointer user_data);
OwContainerSaid *ow_container_engine_ask_finish (GAsyncResult *result, GError **error);

/* --- what it said --- */

/* The engine that answered `info --format '{{json .}}'`; NULL when none did. Pure. */
OwContainerEngine *ow_container_engine_read_info (const char *program, const char *socket,
                                                  const char *output);
/* Why there is no engine, from what was said on stderr or in the answer. Pure. */
char              *ow_container_engine_read_trouble (const OwContainerSaid *said);

/* Completes with the error to tell for an engine that does not answer: whether this account may not
 * use it, whether only this login may not, or whether it does not run. @trouble: its own words. */
void    ow_container_engine_explain_async  (const char *program, const char *socket,
                                            const char *trouble, GCancellable *cancellable,
                                            GAsyncReadyCallback callback, gpointer user_data);
/* (transfer full) never NULL */
GError *ow_container_engine_explain_finish (GAsyncResult *result);
