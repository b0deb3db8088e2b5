/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "events/ow-event-list.h"

/* Requests for consent. Whoever needs one asks and waits; a face answers by the
 * request's id; neither knows the other. A request holds exactly the bytes that are
 * to be done, is answered once, and is denied when it is closed, cancelled, or its
 * deadline passes. Each request and answer is an event of the session's list.
 *
 * Final GObject, main thread. Signal "asked" (OwConsentRequest *request) for faces. */

typedef enum {
  OW_CONSENT_TOOL,
  OW_CONSENT_HOST,
  OW_CONSENT_FOLDER,
  OW_CONSENT_CONNECTOR,
} OwConsentKind;

typedef enum { OW_DECISION_DENY, OW_DECISION_ONCE, OW_DECISION_SESSION } OwDecision;

typedef enum {
  OW_APPROVE_ASK,       /* every call that can change something is asked for */
  OW_APPROVE_SANDBOXED, /* calls behind a wall are not asked for; direct ones are */
  OW_APPROVE_DENY,      /* nothing that would need to be asked for is done */
} OwApprovePolicy;

#define OW_TYPE_CONSENT (ow_consent_get_type ())
G_DECLARE_FINAL_TYPE (OwConsent, ow_consent, OW, CONSENT, GObject)

typedef struct {
  char          *id;       /* (owned) random, unguessable */
  OwConsentKind  kind;
  char          *call;     /* (owned) (nullable) id of the tool call */
  char          *title;    /* (owned) one line: the tool's name */
  char          *subject;  /* (owned) exact bytes of what is to be done, as canonical JSON */
  OwLevel        level;
  gint64         deadline; /* monotonic µs */
} OwConsentRequest;

OwConsent  *ow_consent_new (OwEventList *events, OwApprovePolicy policy);

/* Asks; completes with the decision. What the policy or an earlier "session" answer
 * for the same exact subject already decides completes without a question. With no
 * face listening to "asked" the answer is deny, with that reason. */
void        ow_consent_request_async  (OwConsent           *self,
                                       OwConsentKind        kind,
                                       OwLevel              level,
                                       gboolean             read_only,
                                       const char          *call,
                                       const char          *title,
                                       const char          *subject,
                                       GCancellable        *cancellable,
                                       GAsyncReadyCallback  callback,
                                       gpointer             user_data);
/* @approval (transfer full): how it was decided, for the record: "policy:sandboxed",
 * "policy:read-only", "person:once", "person:session", "denied:person", "denied:policy",
 * "denied:timeout", "denied:nobody", "denied:closed", "denied:cancelled". FALSE only when a
 * question or its answer could not be written down. */
gboolean    ow_consent_request_finish (OwConsent     *self,
                                       GAsyncResult  *result,
                                       OwDecision    *decision,
                                       char         **approval,
                                       GError       **error);
/* Answers; FALSE when no open request has that id. @reason (nullable) reaches the agent. */
gboolean    ow_consent_answer         (OwConsent     *self,
                                       const char    *id,
                                       OwDecision     decision,
                                       const char    *reason);
/* Every open request is closed: denied. */
void        ow_consent_close          (OwConsent     *self);
