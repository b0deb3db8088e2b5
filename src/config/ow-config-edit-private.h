/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-config-toml-private.h"

G_BEGIN_DECLS

/* Edits of a settings file's bytes. What is not the entry or value itself stays as it is:
 * comments, order, white space, line ends, a byte order mark. Each takes text that the
 * parser has taken, as @toml, and gives the new text (transfer full), or NULL where it does
 * not find its place. */

/* A table of a list of them at the end of the file; where the file has the list as one value,
 * an item at the end of that. @fields: of char, each a "key = value". */
GBytes *ow_config_edit_append_table (GBytes       *text,
                                     OwConfigToml *toml,
                                     const char   *list,
                                     GPtrArray    *fields);

/* Takes entry @index of @list out, from its header (or brace) to its last value, with the
 * comments in between and its sub-tables. Comments above the header and below the last value
 * are not known to be about it, and stay. The empty line above goes where it leaves two. */
GBytes *ow_config_edit_remove_table (GBytes       *text,
                                     OwConfigToml *toml,
                                     const char   *list,
                                     guint         index);

/* The value alone is replaced, whatever it is and however its table is written. A new one comes
 * behind the last value of its table; a new table at the end of the file. @value is TOML on
 * one line. */
GBytes *ow_config_edit_set_value    (GBytes              *text,
                                     OwConfigToml        *toml,
                                     const OwConfigPlace *place,
                                     const char          *value);

/* Takes the value out with its key: with its line, and what of comment is on that, or with its
 * comma. Text where it is not there is given back as it is. */
GBytes *ow_config_edit_unset_value  (GBytes              *text,
                                     OwConfigToml        *toml,
                                     const OwConfigPlace *place);

/* An item more in a list at the top level, before the others; a list on lines of its own gets a
 * line more. A new list comes where a new value would. */
GBytes *ow_config_edit_add_item     (GBytes       *text,
                                     OwConfigToml *toml,
                                     const char   *key,
                                     const char   *item);

/* Takes text @index out of a list of texts at the top level, with its comma, and with its line
 * where nothing else stands there. */
GBytes *ow_config_edit_remove_text  (GBytes       *text,
                                     OwConfigToml *toml,
                                     const char   *key,
                                     guint         index);

G_END_DECLS
