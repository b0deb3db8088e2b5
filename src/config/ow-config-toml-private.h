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
/* A text as C has it: a NUL in it is U+FFFD, which no setting has. (transfer full) */
char              *ow_config_toml_copy      (const char    *text,
                                             gsize          length);

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

/* true or false at the top level. */
OwConfigTomlState  ow_config_toml_get_flag  (OwConfigToml  *self,
                                             const char    *key,
                                             gboolean      *value,
                                             guint         *line);

/* A number or a text in a table at the top level, as a text (transfer full). Where the table
 * is something else, WRONG_TYPE with its line. */
OwConfigTomlState  ow_config_toml_get_amount (OwConfigToml  *self,
                                              const char    *table,
                                              const char    *key,
                                              char         **value,
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

/* Where something stands: lines and columns from 1, columns in characters; the end is
 * behind it. */
typedef struct {
  guint begin_line;
  guint begin_column;
  guint end_line;
  guint end_column;
} OwConfigTomlRegion;

/* FALSE: it is not there. */
gboolean           ow_config_toml_get_region     (OwConfigToml        *self,
                                                  const char          *key,
                                                  OwConfigTomlRegion  *region);
gboolean           ow_config_toml_get_table_region (OwConfigToml        *self,
                                                    const char          *key,
                                                    guint                index,
                                                    OwConfigTomlRegion  *region);

/* Whether the list is one value ("key = [ … ]"), and not a table for each header. */
gboolean           ow_config_toml_is_inline      (OwConfigToml        *self,
                                                  const char          *key);

/* The lines on which the table of the list and the tables in it begin, of guint. */
GArray            *ow_config_toml_get_table_lines (OwConfigToml        *self,
                                                   const char          *key,
                                                   guint                index);

/* Whether @self and @other say the same but for @key, and of the lists there all but item
 * @leave of @self (negative: none is left out) and @other_leave of @other. With both
 * negative what @key is does not count. */
gboolean           ow_config_toml_equals_but     (OwConfigToml        *self,
                                                  OwConfigToml        *other,
                                                  const char          *key,
                                                  int                  leave,
                                                  int                  other_leave);

/* Where a value is: by its key at the top level, in a table there, or in one of a list of
 * tables. */
typedef struct {
  const char *table;  /* NULL: the top level */
  int         index;  /* in the list; -1: @table is no list */
  const char *key;
} OwConfigPlace;

/* Whether both say the same but for what is at these places, and for a table that has nothing
 * else. */
gboolean           ow_config_toml_equals_but_at  (OwConfigToml         *self,
                                                  OwConfigToml         *other,
                                                  const OwConfigPlace  *places,
                                                  guint                 n);

/* Whether what is at @place is @value, which is TOML; NULL: nothing is there. */
gboolean           ow_config_toml_is_at          (OwConfigToml         *self,
                                                  const OwConfigPlace  *place,
                                                  const char           *value);

/* Whether the first item of the list is @value. */
gboolean           ow_config_toml_is_first       (OwConfigToml         *self,
                                                  const char           *key,
                                                  const char           *value);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwConfigToml, ow_config_toml_free)

G_END_DECLS
