/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-config-private.h"

G_BEGIN_DECLS

/* Changes of the settings file, all of which go through ow_config_change_apply(): read, edit,
 * prove that nothing else changed, back up, replace. Two of ours take turns by a lock on the
 * directory; what another program writes meanwhile is seen before the replacement, and the
 * change is made again on that. */

/* The file as it was read. */
typedef struct {
  GBytes       *content;  /* (owned) (nullable) it is not there */
  mode_t        mode;
  OwConfig     *config;   /* (owned) */
  OwConfigToml *toml;     /* (owned) */
} OwConfigBefore;

typedef struct _OwConfigChange OwConfigChange;

/* What a kind of change does; each can be called more than once, with what was read then. */
struct _OwConfigChange
{
  const char    *path;
  gboolean       creates;  /* where there is no file, there is one afterwards */
  gconstpointer  data;     /* borrowed: the kind's own */

  /* (nullable) FALSE: it makes no sense (OW_ERROR_USAGE). */
  gboolean     (*check)  (const OwConfigChange  *self,
                          const OwConfigBefore  *before,
                          GError               **error);
  /* The new text (transfer full), or NULL where there is no place for it in @text. */
  GBytes      *(*edit)   (const OwConfigChange *self,
                          const OwConfigBefore *before,
                          GBytes               *text);
  /* Whether the new text says the change, and else what the old one did. */
  gboolean     (*proves) (const OwConfigChange *self,
                          const OwConfigBefore *before,
                          OwConfigToml         *now);
};

/* Blocking (config/ow-model-settings.h says for how long). */
gboolean      ow_config_change_apply (const OwConfigChange  *change,
                                      GError               **error);

/* NULL: it is no TOML. */
OwConfigToml *ow_config_change_parse (GBytes                *content);

/* Values to set, in this order. */
typedef struct {
  OwConfigPlace  place;
  const char    *value;  /* TOML; NULL: to be taken out */
} OwConfigStep;

/* What the edit and the proof of a change do that is such steps. */
GBytes       *ow_config_steps_edit   (const OwConfigStep    *steps,
                                      guint                  n,
                                      GBytes                *text);
gboolean      ow_config_steps_prove  (const OwConfigStep    *steps,
                                      guint                  n,
                                      OwConfigToml          *before,
                                      OwConfigToml          *now);

/* Sets the text @key at the top level. OW_ERROR_USAGE: what @key is there is no text. */
gboolean      ow_config_change_text  (const char            *path,
                                      const char            *key,
                                      const char            *value,
                                      GError               **error);

G_END_DECLS
