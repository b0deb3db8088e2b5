/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-toml-node-private.h"

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
char *
ow_config_toml_copy (const char *text,
                     gsize       length)
{
  GString *copy = g_string_sized_new (length);

  for (gsize i = 0; i < length; i++)
    {
      if (text[i] != '\0')
        g_string_append_c (copy, text[i]);
      else
        g_string_append (copy, "\uFFFD");
    }

  return g_string_free (copy, FALSE);
}

static char *
copy_text (std::string_view text)
{
  return ow_config_toml_copy (text.data (), text.size ());
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

const OwConfigTomlNode *
ow_config_toml_get_root (OwConfigToml *self)
{
  const toml::node *root = &self->table;

  return reinterpret_cast<const OwConfigTomlNode *> (root);
}

/* @node may be null; @line is then left as it is. */
static OwConfigTomlState
read_text (const toml::node  *node,
           char             **value,
           guint             *line)
{
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
ow_config_toml_get_text (OwConfigToml  *self,
                         const char    *key,
                         char         **value,
                         guint         *line)
{
  return read_text (self->table.get (key), value, line);
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
ow_config_toml_get_flag (OwConfigToml *self,
                         const char   *key,
                         gboolean     *value,
                         guint        *line)
{
  const toml::node *node = self->table.get (key);

  if (node == nullptr)
    return OW_CONFIG_TOML_ABSENT;

  *line = node->source ().begin.line;
  const auto *flag = node->as_boolean ();
  if (flag == nullptr)
    return OW_CONFIG_TOML_WRONG_TYPE;
  *value = flag->get ();

  return OW_CONFIG_TOML_FOUND;
}

OwConfigTomlState
ow_config_toml_get_amount (OwConfigToml  *self,
                           const char    *table,
                           const char    *key,
                           char         **value,
                           guint         *line)
{
  const toml::node *node = self->table.get (table);

  if (node == nullptr)
    return OW_CONFIG_TOML_ABSENT;

  *line = node->source ().begin.line;
  const auto *values = node->as_table ();
  if (values == nullptr)
    return OW_CONFIG_TOML_WRONG_TYPE;
  node = values->get (key);
  if (node == nullptr)
    return OW_CONFIG_TOML_ABSENT;

  *line = node->source ().begin.line;
  if (const auto *integer = node->as_integer ())
    {
      *value = g_strdup_printf ("%" G_GINT64_FORMAT, static_cast<gint64> (integer->get ()));
      return OW_CONFIG_TOML_FOUND;
    }
  if (const auto *number = node->as_floating_point ())
    {
      *value = static_cast<char *> (g_malloc (G_ASCII_DTOSTR_BUF_SIZE));
      g_ascii_dtostr (*value, G_ASCII_DTOSTR_BUF_SIZE, number->get ());
      return OW_CONFIG_TOML_FOUND;
    }

  return read_text (node, value, line);
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

static const toml::table *
get_item (const OwConfigToml *self,
          const char         *key,
          guint               index)
{
  const toml::node *list = self->table.get (key);
  const toml::array *array = list != nullptr ? list->as_array () : nullptr;
  const toml::node *item = array != nullptr ? array->get (index) : nullptr;

  return item != nullptr ? item->as_table () : nullptr;
}

OwConfigTomlState
ow_config_toml_get_table_text (OwConfigToml  *self,
                               const char    *key,
                               guint          index,
                               const char    *name,
                               char         **value,
                               guint         *line)
{
  const toml::table *table = get_item (self, key, index);

  if (table == nullptr)
    return OW_CONFIG_TOML_WRONG_TYPE;

  *line = table->source ().begin.line;
  return read_text (table->get (name), value, line);
}

static gboolean
copy_region (const toml::node   *node,
             OwConfigTomlRegion *region)
{
  if (node == nullptr)
    return FALSE;

  region->begin_line = node->source ().begin.line;
  region->begin_column = node->source ().begin.column;
  region->end_line = node->source ().end.line;
  region->end_column = node->source ().end.column;

  return TRUE;
}

gboolean
ow_config_toml_get_region (OwConfigToml       *self,
                           const char         *key,
                           OwConfigTomlRegion *region)
{
  return copy_region (self->table.get (key), region);
}

gboolean
ow_config_toml_get_table_region (OwConfigToml       *self,
                                 const char         *key,
                                 guint               index,
                                 OwConfigTomlRegion *region)
{
  return copy_region (get_item (self, key, index), region);
}

gboolean
ow_config_toml_is_inline (OwConfigToml *self,
                          const char   *key)
{
  const toml::node *node = self->table.get (key);
  const toml::array *array = node != nullptr ? node->as_array () : nullptr;
  const toml::table *first = array != nullptr && !array->empty () ? array->front ().as_table ()
                                                                  : nullptr;

  return array != nullptr && (first == nullptr || first->is_inline ());
}

static void
add_lines (const toml::node &node,
           GArray           *lines)
{
  if (node.is_table ())
    {
      guint line = node.source ().begin.line;

      g_array_append_val (lines, line);
      for (const auto &entry : *node.as_table ())
        add_lines (entry.second, lines);
    }
  else if (node.is_array ())
    {
      for (const toml::node &item : *node.as_array ())
        add_lines (item, lines);
    }
}

GArray *
ow_config_toml_get_table_lines (OwConfigToml *self,
                                const char   *key,
                                guint         index)
{
  GArray *lines = g_array_new (FALSE, FALSE, sizeof (guint));
  const toml::table *table = get_item (self, key, index);

  if (table != nullptr)
    add_lines (*table, lines);

  return lines;
}

/* What @table has without @key. */
static toml::table
copy_without (const toml::table &table,
              const char        *key)
{
  toml::table copy = table;

  copy.erase (key);
  return copy;
}

static toml::array
copy_list (const toml::table &table,
           const char        *key,
           int                leave)
{
  const toml::node *node = table.get (key);
  toml::array copy = node != nullptr && node->is_array () ? *node->as_array () : toml::array {};

  if (leave >= 0 && static_cast<gsize> (leave) < copy.size ())
    copy.erase (copy.cbegin () + leave);

  return copy;
}

gboolean
ow_config_toml_equals_but (OwConfigToml *self,
                           OwConfigToml *other,
                           const char   *key,
                           int           leave,
                           int           other_leave)
{
  if (copy_without (self->table, key) != copy_without (other->table, key))
    return FALSE;
  if (leave < 0 && other_leave < 0)
    return TRUE;

  return copy_list (self->table, key, leave) == copy_list (other->table, key, other_leave);
}

static toml::table *
find_table (toml::table         &root,
            const OwConfigPlace &place)
{
  if (place.table == nullptr)
    return &root;

  toml::node *node = root.get (place.table);
  if (node != nullptr && place.index >= 0)
    node = node->is_array () ? node->as_array ()->get (static_cast<gsize> (place.index)) : nullptr;

  return node != nullptr ? node->as_table () : nullptr;
}

static toml::table
copy_without (const toml::table   &table,
              const OwConfigPlace *places,
              guint                n)
{
  toml::table copy = table;

  for (guint i = 0; i < n; i++)
    {
      toml::table *found = find_table (copy, places[i]);

      if (found != nullptr)
        found->erase (places[i].key);
      if (found != nullptr && found->empty () && places[i].table != nullptr && places[i].index < 0)
        copy.erase (places[i].table);
    }

  return copy;
}

gboolean
ow_config_toml_equals_but_at (OwConfigToml        *self,
                              OwConfigToml        *other,
                              const OwConfigPlace *places,
                              guint                n)
{
  return copy_without (self->table, places, n) == copy_without (other->table, places, n);
}

/* @value as the list of one, which can be compared whatever it is. */
static gboolean
is_value (const toml::node &node,
          const char       *value)
{
  g_autofree char *text = g_strconcat ("x = [", value, "]", nullptr);
  g_autofree char *why = nullptr;
  guint line;
  g_autoptr (OwConfigToml) wanted = ow_config_toml_parse (text, strlen (text), &line, &why);
  const toml::array *list = wanted != nullptr ? wanted->table["x"].as_array () : nullptr;
  toml::array one;

  one.push_back (node);
  return list != nullptr && wanted->table.size () == 1 && *list == one;
}

gboolean
ow_config_toml_is_at (OwConfigToml        *self,
                      const OwConfigPlace *place,
                      const char          *value)
{
  const toml::table *table = find_table (self->table, *place);
  const toml::node *node = table != nullptr ? table->get (place->key) : nullptr;

  if (node == nullptr || value == nullptr)
    return node == nullptr && value == nullptr;
  return is_value (*node, value);
}

gboolean
ow_config_toml_is_first (OwConfigToml *self,
                         const char   *key,
                         const char   *value)
{
  const toml::node *node = self->table.get (key);
  const toml::array *list = node != nullptr ? node->as_array () : nullptr;

  return list != nullptr && !list->empty () && is_value (*list->get (0), value);
}
