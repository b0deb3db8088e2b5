/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* What a killed run leaves is found by this: one file per sandbox in
 * ~/.local/state/coworker/registry, written before anything else of that sandbox
 * exists, naming its private home, run folder, processes and owner. Whose it is,
 * base/ow-owner.h tells apart. Any thread. */

typedef struct {
  char  *id;        /* (owned) sandbox id */
  char  *session;   /* (owned) */
  char  *provider;  /* (owned) */
  char  *home;      /* (owned) private home */
  char  *run_dir;   /* (owned) */
  GPid   main_pid;  /* the provider's main process, 0 before it is there */
  guint64 main_start; /* its start time, clock ticks since boot */
} OwRegistryEntry;

/* Writes or replaces the entry, owned by this process. */
gboolean ow_registry_put    (const OwRegistryEntry *entry, GError **error);
void     ow_registry_remove (const char *id);
/* Ends the processes and removes the folders of every entry whose owner is gone; the
 * entry goes last. Never touches one whose owner lives. @reaped (nullable) counts. */
gboolean ow_registry_reap   (guint *reaped, GError **error);
