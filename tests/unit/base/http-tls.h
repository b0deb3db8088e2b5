/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "http-server.h"

/* An authority of the test's own, in a folder that goes with it. */
typedef struct _Authority Authority;

Authority       *authority_new         (void);
void             authority_free        (Authority *authority);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Authority, authority_free)

const char      *authority_get_file    (Authority *authority);
/* A certificate for @names ("DNS:x,IP:y"), valid from one year to another (four digits). */
GTlsCertificate *authority_issue       (Authority *authority, const char *names,
                                        const char *from, const char *to);
GTlsCertificate *authority_issue_valid (Authority *authority, const char *names);

/* What serve_tls() does once there is TLS. */
typedef struct {
  GTlsCertificate *certificate;
  const char      *text;  /* NULL: reads nothing and stays */
  gboolean         rude;  /* closes without TLS's goodbye */
} TlsServe;

/* A ServeFunc; @data is a TlsServe. */
void             serve_tls             (Server *server, int fd, gconstpointer data);
