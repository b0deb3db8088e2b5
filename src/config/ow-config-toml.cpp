/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-toml-private.h"

#include <new>
#include <string_view>
#include <toml++/toml.h>

struct _OwConfigToml
{
  toml::table table;
};

static void
text_free (gpointer data)
{
  auto *text = static_cast<OwConfigTomlText *> (data);

  g_free (text->text);
  g_free (text);
}

static char *
copy_text (std::string_view text)
{
  return g_strndup (text.data (), text.size ());
}

OwConfigToml *
ow_config_toml_parse (const char  *text,
                      gsize        length,
                      guint       *line,
                      char       **why)
{
  OwConfigToml *self = nullptr;

  *line = 0;
  *why = nullptr;
  try
    {
      self = new OwConfigToml { toml::parse (std::string_view (text, length)) };
    }
  catch (const toml::parse_error &error)
    {
      *line = error.source ().begin.line;
      *why = copy_text (error.description ());
    }
  catch (const std::exception &error)
    {
      *why = g_strdup (error.what ());
    }

  return self;
}

void
ow_config_toml_free (OwConfigToml *self)
{
  delete self;
}

OwConfigTomlState
ow_config_toml_get_text (OwConfigToml  *self,
                         const char    *key,
                         char         **value,
                         guint         *line)
{
  const toml::node *node = self->table.get (key);

  if (node == nullptr)
    return OW_CONFIG_TOML_ABSENT;

  *line = node->source ().begin.line;
  const auto *text = node->as_string ();
  if (text == nullptr)
    return OW_CONFIG_TOML_WRONG_TYPE;
  *value = copy_text (text->get ());

  return OW_CONFIG_TOML_FOUND;
}

OwConfigTomlState
ow_config_toml_get_texts (OwConfigToml  *self,
                          const char    *key,
                          GPtrArray    **values,
                          guint         *line)
{
  const toml::node *node = self->table.get (key);

  if (node == nullptr)
    return OW_CONFIG_TOML_ABSENT;

  *line = node->source ().begin.line;
  const auto *array = node->as_array ();
  if (array == nullptr)
    return OW_CONFIG_TOML_WRONG_TYPE;

  GPtrArray *texts = g_ptr_array_new_with_free_func (text_free);
  for (const toml::node &item : *array)
    {
      const auto *text = item.as_string ();

      if (text == nullptr)
        {
          *line = item.source ().begin.line;
          g_ptr_array_unref (texts);
          return OW_CONFIG_TOML_WRONG_TYPE;
        }

      auto *entry = g_new0 (OwConfigTomlText, 1);
      entry->text = copy_text (text->get ());
      entry->line = item.source ().begin.line;
      g_ptr_array_add (texts, entry);
    }
  *values = texts;

  return OW_CONFIG_TOML_FOUND;
}
