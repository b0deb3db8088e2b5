/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-toml-node-private.h"

#include <toml++/toml.h>

static const toml::node *
get_node (const OwConfigTomlNode *self)
{
  return reinterpret_cast<const toml::node *> (self);
}

static const OwConfigTomlNode *
wrap (const toml::node *node)
{
  return reinterpret_cast<const OwConfigTomlNode *> (node);
}

OwConfigTomlKind
ow_config_toml_node_kind (const OwConfigTomlNode *self)
{
  const toml::node *node = get_node (self);

  if (node == nullptr)
    return OW_CONFIG_TOML_NONE;
  if (node->is_table ())
    return OW_CONFIG_TOML_TABLE;
  if (node->is_array ())
    return OW_CONFIG_TOML_LIST;
  if (node->is_string ())
    return OW_CONFIG_TOML_TEXT;
  if (node->is_boolean ())
    return OW_CONFIG_TOML_FLAG;
  return node->is_number () ? OW_CONFIG_TOML_NUMBER : OW_CONFIG_TOML_TIME;
}

guint
ow_config_toml_node_line (const OwConfigTomlNode *self)
{
  return self != nullptr ? get_node (self)->source ().begin.line : 0;
}

const OwConfigTomlNode *
ow_config_toml_node_get (const OwConfigTomlNode *self,
                         const char             *key)
{
  const toml::table *table = self != nullptr ? get_node (self)->as_table () : nullptr;

  return wrap (table != nullptr ? table->get (key) : nullptr);
}

guint
ow_config_toml_node_size (const OwConfigTomlNode *self)
{
  const toml::table *table = self != nullptr ? get_node (self)->as_table () : nullptr;

  return table != nullptr ? static_cast<guint> (table->size ()) : 0;
}

guint
ow_config_toml_node_length (const OwConfigTomlNode *self)
{
  const toml::array *array = self != nullptr ? get_node (self)->as_array () : nullptr;

  return array != nullptr ? static_cast<guint> (array->size ()) : 0;
}

const OwConfigTomlNode *
ow_config_toml_node_at (const OwConfigTomlNode *self,
                        guint                   index)
{
  const toml::array *array = self != nullptr ? get_node (self)->as_array () : nullptr;

  return wrap (array != nullptr ? array->get (index) : nullptr);
}

char *
ow_config_toml_node_text (const OwConfigTomlNode *self)
{
  const auto *text = self != nullptr ? get_node (self)->as_string () : nullptr;

  return text != nullptr ? ow_config_toml_copy (text->get ().data (), text->get ().size ())
                         : nullptr;
}

gboolean
ow_config_toml_node_flag (const OwConfigTomlNode *self)
{
  const auto *flag = self != nullptr ? get_node (self)->as_boolean () : nullptr;

  return flag != nullptr && flag->get ();
}

static guint
find_last_line (const toml::node &node)
{
  guint last = node.source ().begin.line;
  const toml::table *table = node.as_table ();

  if (table != nullptr && !table->is_inline ())
    for (const auto &entry : *table)
      last = MAX (last, find_last_line (entry.second));

  return last;
}

guint
ow_config_toml_node_last_line (const OwConfigTomlNode *self)
{
  return self != nullptr ? find_last_line (*get_node (self)) : 0;
}

gboolean
ow_config_toml_node_is_inline (const OwConfigTomlNode *self)
{
  const toml::table *table = self != nullptr ? get_node (self)->as_table () : nullptr;

  return table != nullptr && table->is_inline ();
}

gboolean
ow_config_toml_node_region (const OwConfigTomlNode *self,
                            OwConfigTomlRegion     *region)
{
  if (self == nullptr)
    return FALSE;

  const toml::source_region &source = get_node (self)->source ();
  *region = { source.begin.line, source.begin.column, source.end.line, source.end.column };

  return TRUE;
}
