/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "consent/ow-consent-rules.h"
#include "events/ow-event-list.h"

/* Requests for consent. Whoever needs one asks and waits; a face answers by the
 * request's id; neither knows the other. A request holds exactly the bytes that are
 * to be done, is answered once, and is denied when it is closed, cancelled, or its
 * deadline passes. Each request and answer is an event of the session's list.
 *
 * A deadline runs only while somebody is there (ow_consent_set_attended()): a request that nobody
 * could answer is denied at once, or, where the session parks, waits until somebody comes, who
 * then has the whole time.
 *
 * Final GObject, the thread of the engine. */

typedef enum {
  OW_CONSENT_TOOL,
  OW_CONSENT_HOST,
  OW_CONSENT_FOLDER,
  OW_CONSENT_CONNECTOR,
  OW_CONSENT_LIMIT,     /* a turn that reached a limit asks whether to go on */
} OwConsentKind;

typedef enum {
  OW_DECISION_DENY, OW_DECISION_ONCE, OW_DECISION_SESSION, OW_DECISION_ALWAYS,
} OwDecision;

typedef enum {
  OW_APPROVE_ASK,       /* every call that can change something is asked for */
  OW_APPROVE_SANDBOXED, /* calls behind a wall are not asked for; direct ones are */
  OW_APPROVE_DENY,      /* nothing that would need to be asked for is done */
} OwApprovePolicy;

#define OW_TYPE_CONSENT (ow_consent_get_type ())
G_DECLARE_FINAL_TYPE (OwConsent, ow_consent, OW, CONSENT, GObject)

/* What is asked; all strings borrowed. */
typedef struct {
  OwConsentKind  kind;
  OwLevel        level;
  gboolean       read_only;
  const char    *call;      /* (nullable) id of the tool call */
  const char    *title;     /* one line: the tool's name */
  const char    *subject;   /* exact bytes of what is to be done, as canonical JSON */
  const char    *command;   /* (nullable) the whole of it is this one shell command line: where it
                             * is a simple command, "always" is offered for it */
  /* For what is no command: what "always" would allow, and who keeps that. @keep is called when
   * it is answered so, before that counts; when it fails nothing is decided. Both or neither. */
  const char    *always;    /* (nullable) */
  gboolean     (*keep)(gpointer data, GError **error);
  gpointer       keep_data; /* has to stay until the request has completed */
} OwConsentQuestion;

OwConsent  *ow_consent_new          (OwEventList *events, OwApprovePolicy policy);
/* Both are FALSE at first. Attended: a face that can answer is there now. */
void        ow_consent_set_attended (OwConsent *self, gboolean attended);
void        ow_consent_set_parks    (OwConsent *self, gboolean parks);
/* What was allowed for always at @place, the folder work starts in. Without it "always" is not
 * offered. */
void        ow_consent_set_rules    (OwConsent *self, OwConsentRules *rules, const char *place);

/* The folder work starts in is another one: what was allowed for the session was allowed for the
 * one before, and is asked for again. */
void        ow_consent_set_place    (OwConsent *self, const char *place);

/* Asks; completes with the decision. What the policy, a rule or an earlier "session" answer
 * for the same exact subject already decides completes without a question. */
void        ow_consent_request_async  (OwConsent               *self,
                                       const OwConsentQuestion *question,
                                       GCancellable            *cancellable,
                                       GAsyncReadyCallback      callback,
                                       gpointer                 user_data);
/* @approval (transfer full): how it was decided, for the record: "policy:sandboxed",
 * "policy:read-only", "rule:always", "person:once", "person:session", "person:always",
 * "denied:person", "denied:policy", "denied:timeout", "denied:nobody", "denied:too-long" (over
 * 1 MiB: no face could show all of it), "denied:closed",
 * "denied:cancelled". FALSE only when a question or its answer could not be written down. */
gboolean    ow_consent_request_finish (OwConsent     *self,
                                       GAsyncResult  *result,
                                       OwDecision    *decision,
                                       char         **approval,
                                       GError       **error);
/* Answers; FALSE with OW_ERROR_USAGE when no open request has that id (answered already, closed,
 * never there) or "always" is not offered for it; then nothing is decided. A rule that cannot be
 * stored is an error too, and nothing is decided. @reason (nullable) reaches the agent. */
gboolean    ow_consent_answer         (OwConsent     *self,
                                       const char    *id,
                                       OwDecision     decision,
                                       const char    *reason,
                                       GError       **error);
/* New reference: the open requests, oldest first, as consent.list of docs/engine.md has them. */
json_t     *ow_consent_list           (OwConsent     *self);
/* Every open request is closed: denied. */
void        ow_consent_close          (OwConsent     *self);
