/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* A folder for a settings file, which is not there yet. */
typedef struct {
  char *dir;     /* (owned) */
  char *path;    /* (owned) dir/config.toml */
  char *backup;  /* (owned) what an edit leaves beside it */
} Fixture;

void config_set_up    (Fixture *f, gconstpointer data);
void config_tear_down (Fixture *f, gconstpointer data);

/* @length of @content, -1: to its NUL. */
void config_put       (const char *path, const char *content, gssize length);
