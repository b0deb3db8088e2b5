/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* A C face for the TOML parser, whose exceptions stay behind it. Lines count from 1. */

typedef struct _OwConfigToml OwConfigToml;

typedef enum {
  OW_CONFIG_TOML_ABSENT,
  OW_CONFIG_TOML_FOUND,
  OW_CONFIG_TOML_WRONG_TYPE,
} OwConfigTomlState;

typedef struct {
  char  *text;  /* (owned) */
  guint  line;
} OwConfigTomlText;

/* NULL with the line and a sentence part when @text is no TOML. */
OwConfigToml      *ow_config_toml_parse     (const char    *text,
                                             gsize          length,
                                             guint         *line,
                                             char         **why);
void               ow_config_toml_free      (OwConfigToml  *self);

/* A text at the top level. @value is (transfer full); @line is set unless absent. */
OwConfigTomlState  ow_config_toml_get_text  (OwConfigToml  *self,
                                             const char    *key,
                                             char         **value,
                                             guint         *line);

/* A list of texts at the top level: @values gets OwConfigTomlText, transfer full. */
OwConfigTomlState  ow_config_toml_get_texts (OwConfigToml  *self,
                                             const char    *key,
                                             GPtrArray    **values,
                                             guint         *line);

/* How many tables a list at the top level has; one item that is no table is WRONG_TYPE. */
OwConfigTomlState  ow_config_toml_count_tables   (OwConfigToml  *self,
                                                  const char    *key,
                                                  guint         *n,
                                                  guint         *line);

/* A text in one of them. Where it is absent @line is the table's. */
OwConfigTomlState  ow_config_toml_get_table_text (OwConfigToml  *self,
                                                  const char    *key,
                                                  guint          index,
                                                  const char    *name,
                                                  char         **value,
                                                  guint         *line);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwConfigToml, ow_config_toml_free)

G_END_DECLS
