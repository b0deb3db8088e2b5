/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "base/ow-http.h"

/* A server of bytes on 127.0.0.1: each connection in a thread of its own, which runs a function
 * with the bare socket, so that it can do what no server of a library would. */

typedef struct _Server Server;
typedef void (*ServeFunc) (Server *server, int fd, gconstpointer data);

Server     *server_new            (ServeFunc serve, gconstpointer data);
void        server_free           (Server *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Server, server_free)

guint       server_get_port       (Server *server);
char       *server_make_url       (Server *server, const char *path);
guint       server_count          (Server *server); /* connections so far */
char       *server_dup_request    (Server *server); /* (nullable) the last one */

/* For @serve: reads one request with its body; FALSE when the other side has gone. */
gboolean    server_read_request   (Server *server, int fd);
/* Keeps @request as the last one. */
void        server_keep_request   (Server *server, const char *request);
gboolean    server_write          (int fd, const char *data, gssize length);
gboolean    server_is_ending      (Server *server);
/* Until the other side closes, or the server ends. */
void        server_wait_closed    (Server *server, int fd);

/* A ServeFunc: reads a request, writes the string @data, closes. */
void        serve_text            (Server *server, int fd, gconstpointer data);
/* The same, but stays open until the other side closes. */
void        serve_text_and_stay   (Server *server, int fd, gconstpointer data);

/* One exchange of a client, and how it ended. */
typedef struct {
  GString      *body;        /* (owned) what the data function got */
  guint         heads;
  guint         pieces;
  OwHttpAnswer *answer;      /* (owned) (nullable) */
  GError       *error;       /* (owned) (nullable) */
  gint64        took_ms;
  /* What the functions do; to be set beforehand. */
  const char   *head_error;
  gsize         enough;        /* 0: all; the data function says so after this many bytes */
  guint         cancel_ms;     /* 0: not; from another thread, this long after the start */
  gsize         cancel_bytes;  /* 0: not; in the data function */
  const char   *ca_file;
  const char   *proxy;         /* "" where a test says nothing */
} Trial;

Trial      *trial_new             (void);
void        trial_free            (Trial *trial);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Trial, trial_free)

/* Runs it on the default context, or in a thread with a context of its own. */
void        trial_run             (Trial *trial, const OwHttpRequest *request,
                                   gboolean in_thread);
/* Adds @func under @path twice, for the default context and for a thread's. */
void        trial_add             (const char *path, void (*func)(gboolean in_thread));

/* Fails unless it ended with an error of @kind whose sentence has all of the words, that
 * exits as that kind does. */
void        trial_assert_error    (Trial *trial, int kind, const char *words, ...)
G_GNUC_NULL_TERMINATED;
void        trial_assert_body     (Trial *trial, guint status, const char *body);

/* GET of "/" on @server with short deadlines, as most trials want it. */
Trial      *trial_get             (Server *server, gboolean in_thread);
