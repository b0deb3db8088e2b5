/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* A server of one thread on 127.0.0.1 that answers each connection with bytes that are given, in
 * order; after the last answer that one again. It knows nothing of HTTP but where a request
 * ends. */

typedef struct {
  const char *head;     /* status line and headers, without the empty line; NULL: no answer */
  const char *body;     /* NULL: none */
  gsize       length;   /* of @body; 0: its strlen() */
  gboolean    chunked;  /* framed so; @head must not say it */
  gsize       chunk;    /* bytes of one write; 0: all */
  guint       delay_ms; /* in front of each write of the body */
  guint       repeat;   /* the body so many times more */
  gboolean    cut;      /* no end of the framing */
  gboolean    hold;     /* then says nothing more until the client leaves */
} RawAnswer;

typedef struct _RawServer RawServer;

RawServer  *raw_server_new  (const RawAnswer *answers, guint n_answers);
void        raw_server_free (RawServer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RawServer, raw_server_free)

/* http://127.0.0.1:PORT, for as long as @self is there. */
const char *raw_server_get_url        (RawServer *self);
guint       raw_server_get_n_requests (RawServer *self);
/* Request @n as it came. (transfer full) */
char       *raw_server_get_request    (RawServer *self, guint n);
