/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-config.h"

/* The models of a machine: the [[models]] tables of config.toml (docs/configuration.md).
 * Plain data, any thread. Their keys are not here (config/ow-keys.h). */

typedef struct {
  char *name;      /* (owned) what --model takes; lower case letters, digits, "-", "_", "." */
  char *provider;  /* (owned) "openai" */
  char *model;     /* (owned) the model's name at its provider */
  char *base_url;  /* (owned) http: or https: */
  char *ca_file;   /* (owned) (nullable) */
  char *proxy;     /* (owned) (nullable) */
} OwModelSettings;

void ow_model_settings_free (OwModelSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwModelSettings, ow_model_settings_free)

/* Borrowed array of OwModelSettings, in the file's order; the first is the default. */
GPtrArray             *ow_config_get_models  (OwConfig *self);
const OwModelSettings *ow_config_find_model  (OwConfig *self, const char *name); /* (nullable) */

/* Edits of the file: every byte that is not the entry's stays (comments, order, line ends,
 * BOM, mode; a link is followed once), the change is atomic, a backup is kept as
 * config.toml.bak, and a file that is broken is not edited. An entry of that name that is
 * there, values that cannot be, and none to remove: OW_ERROR_USAGE. Blocking: for moments,
 * or up to 5 s while another program has the file's folder locked (OW_ERROR_TIMED_OUT). */
gboolean ow_config_add_model    (const char *path, const OwModelSettings *settings,
                                 GError **error);
gboolean ow_config_remove_model (const char *path, const char *name, GError **error);
