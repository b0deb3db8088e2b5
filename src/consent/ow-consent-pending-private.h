/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "consent/ow-consent.h"

/* A request that waits for its answer: what was asked, word for word, and who waits. */
typedef struct {
  char           *id;        /* (owned) random, unguessable */
  OwConsentKind   kind;
  OwLevel         level;
  char           *call;      /* (owned) (nullable) id of the tool call */
  char           *title;     /* (owned) one line: the tool's name */
  char           *subject;   /* (owned) exact bytes of what is to be done */
  char          **words;     /* (owned) (nullable) the command that "always" would allow */
  char           *always;    /* (owned) (nullable) what else it would allow, kept by @keep; neither
                              * of the two: it is not offered */
  gboolean      (*keep)(gpointer data, GError **error);
  gpointer        keep_data; /* (unowned) */
  GTask          *task;      /* (owned) */
  GSource        *timeout;   /* (owned) (nullable) NULL: parked, no deadline runs */
  GSource        *cancelled; /* (owned) (nullable) */
  gint64          deadline;  /* monotonic µs, while @timeout is there */
} OwConsentPending;

/* NULL: no id could be made. */
OwConsentPending *ow_consent_pending_new  (const OwConsentQuestion  *question,
                                           GTask                    *task,
                                           GError                  **error);
void              ow_consent_pending_free (OwConsentPending         *self);
/* New reference: what a face is told of it, in the event and in the list. */
json_t           *ow_consent_pending_describe    (const OwConsentPending *self);
const char       *ow_consent_pending_kind_name   (OwConsentKind           kind);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwConsentPending, ow_consent_pending_free)
