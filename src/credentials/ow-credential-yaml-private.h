/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* What of YAML the settings of kubectl and gh are written in, as a tree: one document, texts,
 * lists and maps whose keys are texts. JSON is read by the same rules. Refused, with the line:
 * aliases (a few lines of them make a tree of any size), a key that stands twice in a map (two
 * readers would take two values), what is no UTF-8, and more than OW_CREDENTIAL_YAML_BYTES,
 * 20,000 nodes or 32 levels. No tag is believed. Pure; any thread. */

#define OW_CREDENTIAL_YAML_BYTES (1024 * 1024)

typedef enum {
  OW_CREDENTIAL_YAML_TEXT,
  OW_CREDENTIAL_YAML_LIST,
  OW_CREDENTIAL_YAML_MAP,
} OwCredentialYamlKind;

typedef struct {
  OwCredentialYamlKind kind;
  char       *text;   /* (owned) (nullable) of a text; NULL is YAML's null */
  gboolean    flat;   /* a text that stands plain or in quotes, so that it can be replaced */
  guint       line;   /* from 1 */
  gsize       start;  /* of a text: its bytes in the file, with its quotes */
  gsize       end;
  GPtrArray  *items;  /* (owned) (nullable) of a list or map: the values, in order */
  GPtrArray  *keys;   /* (owned) (nullable) of a map: char, as many as items */
  GHashTable *places; /* (owned) (nullable) of a map: key to its value */
} OwCredentialYaml;

/* The first document, which is the one that kubectl and gh read.
 * Returns: (transfer full) NULL with OW_ERROR_DATA, whose text names no file. */
OwCredentialYaml *ow_credential_yaml_parse (GBytes *bytes, GError **error);
void              ow_credential_yaml_free  (OwCredentialYaml *node);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwCredentialYaml, ow_credential_yaml_free)

/* NULL where @map is NULL, no map, or has no such key. */
const OwCredentialYaml *ow_credential_yaml_get      (const OwCredentialYaml *map, const char *key);
/* The text at @key; NULL where there is none, or one without a character. */
const char             *ow_credential_yaml_get_text (const OwCredentialYaml *map, const char *key);
gboolean                ow_credential_yaml_is       (const OwCredentialYaml *node,
                                                     OwCredentialYamlKind    kind);
