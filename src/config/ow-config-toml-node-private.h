/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-config-toml-private.h"

G_BEGIN_DECLS

/* What stands in a settings file, as a tree. A node is borrowed and lives as long as the
 * OwConfigToml it is of; NULL is "not there", and every function takes it. */

typedef struct _OwConfigTomlNode OwConfigTomlNode;

typedef enum {
  OW_CONFIG_TOML_NONE,
  OW_CONFIG_TOML_TABLE,
  OW_CONFIG_TOML_LIST,
  OW_CONFIG_TOML_TEXT,
  OW_CONFIG_TOML_FLAG,
  OW_CONFIG_TOML_NUMBER,
  OW_CONFIG_TOML_TIME,
} OwConfigTomlKind;

const OwConfigTomlNode *ow_config_toml_get_root    (OwConfigToml            *self);
OwConfigTomlKind        ow_config_toml_node_kind   (const OwConfigTomlNode  *self);
/* The line it begins on; 0: it is not there. */
guint                   ow_config_toml_node_line   (const OwConfigTomlNode  *self);

/* What a table has by that name, and how many it has; how many a list has, and one of them. */
const OwConfigTomlNode *ow_config_toml_node_get    (const OwConfigTomlNode  *self,
                                                    const char              *key);
guint                   ow_config_toml_node_size   (const OwConfigTomlNode  *self);
guint                   ow_config_toml_node_length (const OwConfigTomlNode  *self);
const OwConfigTomlNode *ow_config_toml_node_at     (const OwConfigTomlNode  *self,
                                                    guint                    index);

/* (transfer full) (nullable) unless it is a text. */
char                   *ow_config_toml_node_text   (const OwConfigTomlNode  *self);
gboolean                ow_config_toml_node_flag   (const OwConfigTomlNode  *self);

/* The line on which the last begins of what a table has, at any depth. */
guint                   ow_config_toml_node_last_line (const OwConfigTomlNode *self);

/* Tables: written with braces, as one value. */
gboolean                ow_config_toml_node_is_inline (const OwConfigTomlNode *self);
gboolean                ow_config_toml_node_region (const OwConfigTomlNode  *self,
                                                    OwConfigTomlRegion      *region);

G_END_DECLS
