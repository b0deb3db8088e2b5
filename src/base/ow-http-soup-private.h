/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <libsoup/soup.h>

#include "ow-http-private.h"

/* (transfer full) for one exchange. */
SoupSession  *ow_http_session_new          (const OwHttpSettings *settings, gboolean loopback);
/* (transfer full) @request as it goes out. */
SoupMessage  *ow_http_session_make_message (GUri *uri, const OwHttpRequest *request);
/* Wipes the value that @message has of its header @name, and takes the header off. */
void          ow_http_session_wipe_header  (SoupMessage *message, const char *name);

/* (transfer full) what @message's headers say, without what @secret (nullable) holds. */
OwHttpAnswer *ow_http_answer_new           (SoupMessage *message, const char *secret);
/* (transfer full) (nullable) one header's value when it is short and of printable ASCII. */
char         *ow_http_answer_dup_header    (SoupMessage *message, const char *name,
                                            const char *secret);
/* Writes stars over what @text holds of @secret (nullable): a server may send back what it was
 * sent, and answers are shown. */
void          ow_http_answer_mask          (char *text, gsize length, const char *secret);
