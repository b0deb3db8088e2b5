/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "audit/ow-audit.h"
#include "config/ow-config.h"
#include "consent/ow-consent.h"
#include "events/ow-event-list.h"
#include "model/ow-model.h"
#include "session/ow-recording-place.h"
#include "session/ow-store.h"

/* One conversation in one wall: events, consent, sandbox and agent, made and ended
 * together. Final GObject, main thread. */

#define OW_TYPE_SESSION (ow_session_get_type ())
G_DECLARE_FINAL_TYPE (OwSession, ow_session, OW, SESSION, GObject)

typedef struct {
  const char * const *folders;    /* "DIR" or "DIR:ro"; at least one */
  OwProviderKind      provider;   /* not UNSET */
  OwNetworkProfile    profile;
  GPtrArray          *extra_hosts; /* (nullable) OwHost, borrowed */
  const char         *model_name; /* (nullable) for the record */
  OwModel            *model;      /* (nullable) NULL: only ow_session_exec_async() */
  OwApprovePolicy     approve;
  const char         *record;     /* (nullable) file to write a recording to at the end */
} OwSessionOptions;

OwSession   *ow_session_new        (OwStore *store, OwAudit *audit,
                                    const OwSessionOptions *options, GError **error);
const char  *ow_session_get_id     (OwSession *self);
OwEventList *ow_session_get_events (OwSession *self);
OwConsent   *ow_session_get_consent (OwSession *self);

/* Raises the wall, does the one task, takes the wall down, ends the session. */
void     ow_session_run_async   (OwSession *self, const char *task, GCancellable *cancellable,
                                 GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_session_run_finish  (OwSession *self, GAsyncResult *result, GError **error);
/* The same with one `exec` call instead of an agent. @status: exit status, 128+n. */
void     ow_session_exec_async  (OwSession *self, const char * const *argv,
                                 GCancellable *cancellable,
                                 GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_session_exec_finish (OwSession *self, GAsyncResult *result, int *status,
                                 GError **error);

/* Writes a recording of @list that replay:FILE takes: model-message and tool-ended
 * events, results as literal patterns (figures that differ by run, such as durations, as \d). */
gboolean ow_recording_write (OwEventList *list, OwRecordingPlace *place, GError **error);
