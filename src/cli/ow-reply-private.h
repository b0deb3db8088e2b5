/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* What a person typed below a request for consent. A yes is one of three exact words; whatever
 * only looks like one is asked for again. */
typedef enum {
  OW_REPLY_AGAIN,   /* not understood */
  OW_REPLY_DENY,    /* "no", "n", an empty line, no line at all */
  OW_REPLY_ONCE,    /* "yes", "once" */
  OW_REPLY_SESSION, /* "session" */
  OW_REPLY_ALWAYS,  /* "always", where it is offered */
} OwReply;

/* @line: without or with its line end; NULL: there was none. @reason (transfer full, nullable):
 * what follows "no " or "no:". */
OwReply ow_reply_parse (const char *line, gboolean always_offered, char **reason);
/* What the engine calls it; NULL for OW_REPLY_AGAIN. */
const char *ow_reply_decision (OwReply reply);
