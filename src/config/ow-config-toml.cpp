/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-toml-private.h"

#include <cstring>
#include <new>
#include <string_view>
#include <toml++/toml.h>

#define MAX_DOTS 16

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

/* A NUL would end the text for C, and what stands before it pass for the whole: it
 * becomes a character that no setting has. */
static char *
copy_text (std::string_view text)
{
  GString *copy = g_string_sized_new (text.size ());

  for (char c : text)
    {
      if (c != '\0')
        g_string_append_c (copy, c);
      else
        g_string_append (copy, "\uFFFD");
    }

  return g_string_free (copy, FALSE);
}

/* Where the string that begins at @i ends. */
static gsize
skip_string (std::string_view text,
             gsize            i)
{
  const char quote = text[i];
  const std::string_view three = quote == '"' ? "\"\"\"" : "'''";
  const bool is_long = text.substr (i, 3) == three;

  for (i += is_long ? 3 : 1; i < text.size (); i++)
    {
      if (text[i] == '\\' && quote == '"')
        i++;
      else if (!is_long && (text[i] == quote || text[i] == '\n'))
        return i;
      else if (is_long && text.substr (i, 3) == three)
        {
          /* Up to two more belong to the text. */
          for (i += 2; i + 1 < text.size () && text[i + 1] == quote;)
            i++;
          return i;
        }
    }
  return text.size ();
}

/* The line of a key with too many parts, or 0. The parser makes a table of each part and
 * takes tables apart by recursion, so that a deep one would end the program. */
static guint
find_deep_key (std::string_view text)
{
  guint line = 1;
  guint dots = 0;

  for (gsize i = 0; i < text.size (); i++)
    {
      gsize begin = i;

      if (text[i] == '#')
        i = MIN (text.find ('\n', i), text.size ());
      else if (text[i] == '"' || text[i] == '\'')
        i = skip_string (text, i);
      else if (text[i] == '.' && ++dots > MAX_DOTS)
        return line;
      for (; begin < text.size () && begin <= i; begin++)
        line += text[begin] == '\n';
      if (i < text.size () && strchr ("=,{}[]\n", text[i]) != nullptr)
        dots = 0;
    }
  return 0;
}

OwConfigToml *
ow_config_toml_parse (const char  *text,
                      gsize        length,
                      guint       *line,
                      char       **why)
{
  OwConfigToml *self = nullptr;

  *line = find_deep_key (std::string_view (text, length));
  *why = nullptr;
  if (*line > 0)
    {
      *why = g_strdup ("a key has too many parts");
      return nullptr;
    }
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

OwConfigTomlState
ow_config_toml_count_tables (OwConfigToml *self,
                             const char   *key,
                             guint        *n,
                             guint        *line)
{
  const toml::node *node = self->table.get (key);

  *n = 0;
  if (node == nullptr)
    return OW_CONFIG_TOML_ABSENT;

  *line = node->source ().begin.line;
  const auto *array = node->as_array ();
  if (array == nullptr)
    return OW_CONFIG_TOML_WRONG_TYPE;

  for (const toml::node &item : *array)
    if (!item.is_table ())
      {
        *line = item.source ().begin.line;
        return OW_CONFIG_TOML_WRONG_TYPE;
      }
  *n = static_cast<guint> (array->size ());

  return OW_CONFIG_TOML_FOUND;
}

OwConfigTomlState
ow_config_toml_get_table_text (OwConfigToml  *self,
                               const char    *key,
                               guint          index,
                               const char    *name,
                               char         **value,
                               guint         *line)
{
  const toml::node *list = self->table.get (key);
  const toml::array *array = list != nullptr ? list->as_array () : nullptr;
  const toml::node *item = array != nullptr ? array->get (index) : nullptr;
  const toml::table *table = item != nullptr ? item->as_table () : nullptr;

  if (table == nullptr)
    return OW_CONFIG_TOML_WRONG_TYPE;

  const toml::node *node = table->get (name);
  *line = (node != nullptr ? node : table)->source ().begin.line;
  if (node == nullptr)
    return OW_CONFIG_TOML_ABSENT;
  const auto *text = node->as_string ();
  if (text == nullptr)
    return OW_CONFIG_TOML_WRONG_TYPE;
  *value = copy_text (text->get ());

  return OW_CONFIG_TOML_FOUND;
}
