/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-http-soup-private.h"

/* What one read of a body may give. */
#define OW_HTTP_READ_BYTES 16384

/* One request and its answer. Counted references (g_rc_box): each source and each call of
 * libsoup's that is under way holds one, so that nothing comes back to what is gone. It has one
 * end, the first; what happens after that is not told. */
typedef struct {
  GTask          *task;       /* (owned) (nullable) until it returned */
  GCancellable   *stop;       /* (owned) */
  SoupSession    *session;    /* (owned) */
  SoupMessage    *message;    /* (owned) */
  GInputStream   *stream;     /* (owned) (nullable) */
  GSocket        *socket;     /* (owned) (nullable) */
  GSource        *deadline;   /* (owned) (nullable) of the phase */
  GSource        *total;      /* (owned) (nullable) */
  GSource        *cancelled;  /* (owned) (nullable) */
  GSource        *grace;      /* (owned) (nullable) */
  OwHttpHeadFunc  head;
  OwHttpDataFunc  data;
  gpointer        data_user;
  char           *where;        /* (owned) */
  char           *secret_name;  /* (owned) (nullable) */
  char           *secret;       /* (owned) (nullable) */
  guint           phase_ms[3];
  guint           total_ms;
  gsize           max_bytes;
  guint64         received;
  guint           interim;
  OwHttpFault     fault;
  char           *encoding;    /* (owned) (nullable) the headers that frame the body */
  char           *length;      /* (owned) (nullable) */
  OwHttpBody      body;
  OwHttpAnswer   *answer;      /* (owned) (nullable) */
  GByteArray     *error_body;  /* (owned) (nullable) */
  GError         *error;       /* (owned) (nullable) what it ended with */
  gboolean        busy;        /* libsoup owes an answer */
  gboolean        finished;    /* libsoup has let go of the message */
  gboolean        ended;
  char            buffer[OW_HTTP_READ_BYTES];
} OwHttpExchange;

void     ow_http_exchange_unref        (gpointer exchange);
/* @error (transfer full) (nullable). Only the first end counts. */
void     ow_http_exchange_end          (OwHttpExchange *exchange, GError *error);
/* To be called when libsoup has answered to what it was asked. */
void     ow_http_exchange_settle       (OwHttpExchange *exchange);
/* What a caller's function did may have stopped it already. */
gboolean ow_http_exchange_is_over      (OwHttpExchange *exchange);
/* Begins @phase and its deadline. */
void     ow_http_exchange_enter        (OwHttpExchange *exchange, OwHttpPhase phase);

/* The headers are there, and the stream to read the body from. */
void     ow_http_exchange_begin_answer (OwHttpExchange *exchange);
