/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "model/ow-model.h"

/* Streamed answers as servers of many kinds write them, made from a seed, with what was put
 * into each. */

typedef struct {
  guint    dialect;      /* which kind of server */
  GString *body;         /* (owned) the event stream */
  GString *text;         /* (owned) what is said in it */
  json_t  *calls;        /* (owned) [{"id" (absent: the server gives none),"name","arguments"}] */
  json_t  *usage;        /* (owned) (nullable) as in OwModelTurn */
  gsize    finish_from;  /* where the event with the finish_reason begins */
  gsize    finish_to;    /* where it has ended */
  gboolean has_done;     /* "[DONE]" stands at the end */
} Stream;

#define STREAMS_N_DIALECTS 14

/* @max_calls, @max_pieces: bounds of its size. */
Stream  *streams_make  (guint32 seed, guint max_calls, guint max_pieces);
void     streams_free  (Stream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Stream, streams_free)

/* @turn says what was put into @stream: the text, the calls, the usage. */
void     streams_check (const Stream *stream, const OwModelTurn *turn);
