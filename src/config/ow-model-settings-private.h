/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-model-settings.h"

G_BEGIN_DECLS

/* The keys of a [[models]] table and where they go, in the order they are written. */
typedef struct {
  const char *key;
  gsize       offset;    /* in OwModelSettings */
  gboolean    required;
} OwModelSettingsField;

#define OW_MODEL_SETTINGS_N_FIELDS 6
extern const OwModelSettingsField ow_model_settings_fields[OW_MODEL_SETTINGS_N_FIELDS];

char **ow_model_settings_field      (const OwModelSettings      *settings,
                                     const OwModelSettingsField *field);

/* NULL, or why @value (nullable: it is absent) cannot be the field's: a sentence part
 * (transfer full). */
char  *ow_model_settings_find_fault (const OwModelSettingsField *field,
                                     const char                 *value);

G_END_DECLS
