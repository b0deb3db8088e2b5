/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "wire/ow-json.h"

/* Lines of JSON-RPC over a stream, both ways, for either side of the engine's socket. What is
 * written waits in memory until the other side takes it; its owner looks at how much does. Final
 * GObject, the main context of the thread that makes it. */

#define OW_TYPE_ENGINE_LINES (ow_engine_lines_get_type ())
G_DECLARE_FINAL_TYPE (OwEngineLines, ow_engine_lines, OW, ENGINE_LINES, GObject)

typedef struct
{
  /* A whole line; @line is valid during the call only, and may be written over. */
  void (*line)(char     *line,
               gsize     length,
               gpointer  user_data);
  /* Nothing more comes: @reason is a sentence, NULL where the other side just ended. Once. */
  void (*ended)(const char *reason,
                gpointer    user_data);
  /* All that was written has been taken. (nullable) */
  void (*drained)(gpointer user_data);
} OwEngineLinesHandlers;

/* @handlers is borrowed for as long as the object is; none is called after
 * ow_engine_lines_close(). */
OwEngineLines *ow_engine_lines_new          (GIOStream                   *stream,
                                             const OwEngineLinesHandlers *handlers,
                                             gpointer                     user_data);
void           ow_engine_lines_start        (OwEngineLines               *self);
/* Writes @message (stolen) as one line; FALSE: it cannot be one, or the stream is closed. */
gboolean       ow_engine_lines_write        (OwEngineLines               *self,
                                             json_t                      *message);
/* @line is one already, newline included. */
void           ow_engine_lines_write_line   (OwEngineLines               *self,
                                             const char                  *line,
                                             gsize                        length);
/* Bytes that the other side has not taken yet. */
gsize          ow_engine_lines_get_waiting  (OwEngineLines               *self);
/* Nothing is read until ow_engine_lines_resume(). */
void           ow_engine_lines_pause        (OwEngineLines               *self);
void           ow_engine_lines_resume       (OwEngineLines               *self);
/* Ends it at once; with @flush what waits is still written, for at most 2 s. */
void           ow_engine_lines_close        (OwEngineLines               *self,
                                             gboolean                     flush);
