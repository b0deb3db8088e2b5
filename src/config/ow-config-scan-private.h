/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-config-toml-private.h"

G_BEGIN_DECLS

/* The bytes of a settings file that the parser has taken, cut at the ends of its
 * statements. Offsets are in bytes. Borrows the text. */

typedef enum {
  OW_CONFIG_LINE_BLANK,
  OW_CONFIG_LINE_COMMENT,
  OW_CONFIG_LINE_HEADER,
  OW_CONFIG_LINE_VALUE,
} OwConfigLineKind;

/* A statement: one line, or more where its value has more. */
typedef struct {
  OwConfigLineKind kind;
  guint            number;  /* of its first line, from 1 */
  gsize            begin;
  gsize            end;     /* behind its line end */
} OwConfigLine;

typedef struct {
  const char *text;
  gsize       length;
  gsize       begin;   /* behind a byte order mark */
  const char *eol;     /* the file's line end */
  GArray     *lines;   /* (owned) of OwConfigLine */
} OwConfigScan;

OwConfigScan *ow_config_scan_new        (const char               *text,
                                         gsize                     length);
void          ow_config_scan_free       (OwConfigScan             *self);

/* FALSE when there is no such place in the text. */
gboolean      ow_config_scan_find       (OwConfigScan             *self,
                                         const OwConfigTomlRegion *region,
                                         gsize                    *begin,
                                         gsize                    *end);

OwConfigLine *ow_config_scan_get        (OwConfigScan             *self,
                                         guint                     index);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwConfigScan, ow_config_scan_free)

G_END_DECLS
