/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-credential-yaml-private.h"

#include <string.h>
#include <yaml.h>

#include "base/ow-error.h"

#define MAX_NODES 20000
#define MAX_DEPTH 32

typedef struct {
  yaml_parser_t     parser;
  const char       *data;    /* (unowned) */
  const char       *at;      /* how far characters were counted */
  gsize             at_index;
  GPtrArray        *open;    /* (owned) of OwCredentialYaml, unowned: root to where it is */
  GPtrArray        *keys;    /* (owned) for each of them the key that waits for its value */
  OwCredentialYaml *root;    /* (owned) (nullable) */
  guint             n_nodes;
} Reader;

void
ow_credential_yaml_free (OwCredentialYaml *node)
{
  if (node == NULL)
    return;
  g_free (node->text);
  g_clear_pointer (&node->items, g_ptr_array_unref);
  g_clear_pointer (&node->places, g_hash_table_unref);
  g_clear_pointer (&node->keys, g_ptr_array_unref);
  g_free (node);
}

static void
free_item (gpointer item)
{
  ow_credential_yaml_free (item);
}

static gboolean
fail (guint       line,
      const char *why,
      GError    **error)
{
  ow_error_setf (error, OW_ERROR_DATA, NULL, "line %u: %s", line, why);
  return FALSE;
}

/* libyaml counts characters; a file is changed by bytes. Marks only ever go forward. */
static gsize
find_byte (Reader *reader,
           gsize   index)
{
  while (reader->at_index < index && *reader->at != '\0')
    {
      reader->at = g_utf8_next_char (reader->at);
      reader->at_index++;
    }
  return (gsize) (reader->at - reader->data);
}

static gboolean
is_null (const char *text,
         gboolean    plain)
{
  return plain && (*text == '\0' || strcmp (text, "~") == 0 ||
                   g_ascii_strcasecmp (text, "null") == 0);
}

static OwCredentialYaml *
new_node (OwCredentialYamlKind kind,
          guint                line)
{
  OwCredentialYaml *node = g_new0 (OwCredentialYaml, 1);

  node->kind = kind;
  node->line = line;
  if (kind == OW_CREDENTIAL_YAML_TEXT)
    return node;
  node->items = g_ptr_array_new_with_free_func (free_item);
  if (kind == OW_CREDENTIAL_YAML_MAP)
    {
      node->keys = g_ptr_array_new_with_free_func (g_free);
      node->places = g_hash_table_new (g_str_hash, g_str_equal);
    }
  return node;
}

static OwCredentialYaml *
new_text (Reader             *reader,
          const yaml_event_t *event,
          guint               line)
{
  OwCredentialYaml *node = new_node (OW_CREDENTIAL_YAML_TEXT, line);
  const char *value = (const char *) event->data.scalar.value;
  gboolean plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

  node->flat = plain || event->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE ||
               event->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE;
  node->text = is_null (value, plain) ? NULL : g_strdup (value);
  node->start = find_byte (reader, event->start_mark.index);
  node->end = find_byte (reader, event->end_mark.index);
  return node;
}

/* Puts @node, which becomes owned by the tree, where it belongs. FALSE: it was a key. */
static gboolean
place (Reader           *reader,
       OwCredentialYaml *node,
       GError          **error)
{
  OwCredentialYaml *parent = reader->open->len == 0
                             ? NULL : g_ptr_array_index (reader->open, reader->open->len - 1);
  gpointer *key = parent == NULL ? NULL : &g_ptr_array_index (reader->keys, reader->keys->len - 1);

  if (parent == NULL)
    {
      reader->root = node;
      return TRUE;
    }
  if (parent->kind == OW_CREDENTIAL_YAML_LIST)
    {
      g_ptr_array_add (parent->items, node);
      return TRUE;
    }
  if (*key != NULL)
    {
      g_ptr_array_add (parent->keys, *key);
      g_ptr_array_add (parent->items, node);
      g_hash_table_insert (parent->places, *key, node);
      *key = NULL;
      return TRUE;
    }
  if (node->kind != OW_CREDENTIAL_YAML_TEXT)
    fail (node->line, "a key that is no text", error);
  else if (g_hash_table_contains (parent->places, node->text == NULL ? "" : node->text))
    fail (node->line, "a key that stands twice", error);
  else
    *key = g_strdup (node->text == NULL ? "" : node->text);
  ow_credential_yaml_free (node);
  return *key != NULL;
}

static gboolean
open_node (Reader              *reader,
           OwCredentialYamlKind kind,
           guint                line,
           GError             **error)
{
  OwCredentialYaml *node;

  if (reader->open->len >= MAX_DEPTH)
    return fail (line, "more than 32 levels", error);
  node = new_node (kind, line);
  if (!place (reader, node, error))
    return FALSE;
  g_ptr_array_add (reader->open, node);
  g_ptr_array_add (reader->keys, NULL);
  return TRUE;
}

static void
close_node (Reader *reader)
{
  g_free (g_ptr_array_index (reader->keys, reader->keys->len - 1));
  g_ptr_array_set_size (reader->keys, (int) reader->keys->len - 1);
  g_ptr_array_set_size (reader->open, (int) reader->open->len - 1);
}

static gboolean
take_event (Reader             *reader,
            const yaml_event_t *event,
            GError            **error)
{
  guint line = (guint) event->start_mark.line + 1;

  switch (event->type)
    {
    case YAML_ALIAS_EVENT:
      return fail (line, "an alias (\"*name\"), which is not read", error);

    case YAML_SCALAR_EVENT:
      if (memchr (event->data.scalar.value, 0, event->data.scalar.length) != NULL)
        return fail (line, "a NUL in a text", error);
      if (++reader->n_nodes > MAX_NODES)
        return fail (line, "more than 20,000 values", error);
      return place (reader, new_text (reader, event, line), error);

    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
      if (++reader->n_nodes > MAX_NODES)
        return fail (line, "more than 20,000 values", error);
      return open_node (reader, event->type == YAML_MAPPING_START_EVENT
                                ? OW_CREDENTIAL_YAML_MAP : OW_CREDENTIAL_YAML_LIST, line, error);

    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      close_node (reader);
      return TRUE;

    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    default:
      return TRUE;
    }
}

/* Until the first document has ended. */
static gboolean
read_document (Reader  *reader,
               GError **error)
{
  for (;;)
    {
      yaml_event_t event;
      gboolean ok;
      gboolean last;

      if (!yaml_parser_parse (&reader->parser, &event))
        return fail ((guint) reader->parser.problem_mark.line + 1, reader->parser.problem != NULL
                     ? reader->parser.problem : "it cannot be read", error);
      last = event.type == YAML_DOCUMENT_END_EVENT || event.type == YAML_STREAM_END_EVENT;
      ok = take_event (reader, &event, error);
      yaml_event_delete (&event);
      if (!ok || last)
        return ok;
    }
}

static gboolean
check_bytes (const char *data,
             gsize       length,
             GError    **error)
{
  if (length > OW_CREDENTIAL_YAML_BYTES)
    return fail (1, "it is larger than 1 MiB", error);
  if (memchr (data, 0, length) != NULL || !g_utf8_validate (data, (gssize) length, NULL))
    return fail (1, "it is no text in UTF-8", error);
  return TRUE;
}

OwCredentialYaml *
ow_credential_yaml_parse (GBytes  *bytes,
                          GError **error)
{
  gsize length;
  const char *raw = g_bytes_get_data (bytes, &length);
  g_autofree char *data = g_strndup (raw == NULL ? "" : raw, length);
  Reader reader = { .data = data, .at = data };
  OwCredentialYaml *root = NULL;

  if (!check_bytes (raw == NULL ? "" : raw, length, error))
    return NULL;
  if (!yaml_parser_initialize (&reader.parser))
    {
      fail (1, "no memory", error);
      return NULL;
    }
  reader.open = g_ptr_array_new ();
  reader.keys = g_ptr_array_new ();
  yaml_parser_set_encoding (&reader.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string (&reader.parser, (const unsigned char *) data, length);
  if (read_document (&reader, error))
    root = g_steal_pointer (&reader.root);
  if (root == NULL && error != NULL && *error == NULL)
    fail (1, "there is nothing in it", error);
  while (reader.open->len > 0)
    close_node (&reader);
  ow_credential_yaml_free (reader.root);
  g_ptr_array_unref (reader.open);
  g_ptr_array_unref (reader.keys);
  yaml_parser_delete (&reader.parser);
  return root;
}

gboolean
ow_credential_yaml_is (const OwCredentialYaml *node,
                       OwCredentialYamlKind    kind)
{
  return node != NULL && node->kind == kind;
}

const OwCredentialYaml *
ow_credential_yaml_get (const OwCredentialYaml *map,
                        const char             *key)
{
  if (!ow_credential_yaml_is (map, OW_CREDENTIAL_YAML_MAP))
    return NULL;
  return g_hash_table_lookup (map->places, key);
}

const char *
ow_credential_yaml_get_text (const OwCredentialYaml *map,
                             const char             *key)
{
  const OwCredentialYaml *node = ow_credential_yaml_get (map, key);

  if (!ow_credential_yaml_is (node, OW_CREDENTIAL_YAML_TEXT) || node->text == NULL ||
      *node->text == '\0')
    return NULL;
  return node->text;
}
