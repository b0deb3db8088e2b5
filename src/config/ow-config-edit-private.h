/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-model-settings.h"
#include "ow-config-toml-private.h"

G_BEGIN_DECLS

/* Edits of a settings file's bytes. What is not the entry or value itself stays as it is:
 * comments, order, white space, line ends, a byte order mark. Each takes text that the
 * parser has taken, as @toml, and gives the new text (transfer full), or NULL where it does
 * not find its place. */

/* A [[models]] table at the end of the file; where the file has the list as one value, an
 * item at the end of that. */
GBytes *ow_config_edit_append_model (GBytes                *text,
                                     OwConfigToml          *toml,
                                     const OwModelSettings *settings);

/* Takes entry @index out, from its header (or brace) to its last value, with the comments
 * in between and its sub-tables. Comments above the header and below the last value are
 * not known to be about it, and stay. The empty line above goes where it leaves two. */
GBytes *ow_config_edit_remove_model (GBytes                *text,
                                     OwConfigToml          *toml,
                                     guint                  index);

/* A text at the top level: the value alone is replaced; a new one comes behind the last
 * value that is there, before the first table. */
GBytes *ow_config_edit_set_text     (GBytes                *text,
                                     OwConfigToml          *toml,
                                     const char            *key,
                                     const char            *value);

/* A text more in a list of texts at the top level, before the others; a list on lines of its own
 * gets a line more. A new list comes where a new text would. */
GBytes *ow_config_edit_add_text     (GBytes                *text,
                                     OwConfigToml          *toml,
                                     const char            *key,
                                     const char            *value);

/* Takes text @index out of a list of texts at the top level, with its comma, and with its line
 * where nothing else stands there. */
GBytes *ow_config_edit_remove_text  (GBytes                *text,
                                     OwConfigToml          *toml,
                                     const char            *key,
                                     guint                  index);

G_END_DECLS
