/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-config-scan-private.h"

G_BEGIN_DECLS

/* What the edits of a settings file are made of: its text, where its statements are, and what
 * changes. Offsets are in bytes. */

typedef struct {
  OwConfigScan *scan;      /* (owned) */
  GArray       *splices;   /* (owned) in any order; no two overlap */
} OwConfigSplices;

/* Borrows @text. */
OwConfigSplices *ow_config_splices_new   (GBytes           *text);
void             ow_config_splices_free  (OwConfigSplices  *edit);
/* @text (transfer full) (nullable) comes in place of what is there. */
void             ow_config_splices_add   (OwConfigSplices  *edit,
                                          gsize             begin,
                                          gsize             end,
                                          char             *text);
GBytes          *ow_config_splices_apply (OwConfigSplices  *edit);

/* A basic string of TOML. */
void             ow_config_append_quoted (GString    *out,
                                          const char *value);
char            *ow_config_quote         (const char *value);

gsize            ow_config_skip_blanks     (const OwConfigScan *scan,
                                            gsize               i);
gboolean         ow_config_is_eol          (const OwConfigScan *scan,
                                            gsize               i);
/* How long the line end at @i is, 0: there is none. A file can have both kinds. */
gsize            ow_config_eol_bytes       (const OwConfigScan *scan,
                                            gsize               i);
/* Where the line with @i ends, before its line end. */
gsize            ow_config_find_line_end   (const OwConfigScan *scan,
                                            gsize               i);
gsize            ow_config_find_line_begin (const OwConfigScan *scan,
                                            gsize               i);

/* A statement at the top level, without its line end: behind the last one that is there, before
 * the first table. */
void             ow_config_insert_first    (OwConfigSplices    *edit,
                                            const char         *statement);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwConfigSplices, ow_config_splices_free)

G_END_DECLS
