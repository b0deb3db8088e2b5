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
#include "tools/ow-tool-host.h"

/* One conversation in one wall: events, consent, sandbox and agent, made and ended
 * together. A session that has ended can be made again from the store and goes on in a new wall.
 * Final GObject, the thread of the engine. */

#define OW_TYPE_SESSION (ow_session_get_type ())
G_DECLARE_FINAL_TYPE (OwSession, ow_session, OW, SESSION, GObject)

typedef struct {
  const char * const *folders;    /* "DIR" or "DIR:ro"; at least one */
  OwProviderKind      provider;   /* not UNSET */
  OwNetworkProfile    profile;
  GPtrArray          *extra_hosts; /* (nullable) OwHost, borrowed */
  const char         *model_name; /* (nullable) for the record */
  const char         *base_url;   /* (nullable) likewise */
  OwModel            *model;      /* (nullable) NULL: only ow_session_exec_async() */
  OwApprovePolicy     approve;
  const char         *record;     /* (nullable) file to write a recording to at the end */
  const char         *notice;     /* (nullable) what every face is told of this machine's wall */
  gboolean            keep;       /* stays open after a turn, for ow_session_say() */
  gboolean            parks;      /* requests wait while nobody is there */
  OwConsentRules     *rules;      /* (nullable) */
} OwSessionOptions;

OwSession   *ow_session_new        (OwStore *store, OwAudit *audit,
                                    const OwSessionOptions *options, GError **error);
/* The session @id of the store, ended, to be run again: its events are those stored. @options
 * without folders, which are the session's own. Running it appends session-resumed, and a notice
 * to agent and person that says that shell state was lost and which calls were interrupted. An
 * unknown id is OW_ERROR_USAGE; one that runs, here or in another program, OW_ERROR_REFUSED. */
OwSession   *ow_session_resume     (OwStore *store, OwAudit *audit, const char *id,
                                    const OwSessionOptions *options, GError **error);
/* Of the stored @events: the last turn did not come to its own end, and is what a session that
 * goes on begins with. */
gboolean     ow_session_resume_is_cut (OwEventList *events);
const char  *ow_session_get_id     (OwSession *self);
OwEventList *ow_session_get_events (OwSession *self);
OwConsent   *ow_session_get_consent (OwSession *self);
/* Tells person and agent something of this machine; nothing where the session ends or has. */
void         ow_session_tell       (OwSession *self, const char *text);
/* A turn runs now. */
gboolean     ow_session_is_working (OwSession *self);

/* Raises the wall, does the one task (a kept session: and what it is told later), takes the wall
 * down, ends the session. @task (nullable): a resumed session goes on with the turn it was in;
 * when the last turn had come to its own end, a kept one waits. */
void     ow_session_run_async   (OwSession *self, const char *task, GCancellable *cancellable,
                                 GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_session_run_finish  (OwSession *self, GAsyncResult *result, GError **error);
/* The same with one `exec` call instead of an agent. @status: exit status, 128+n. */
void     ow_session_exec_async  (OwSession *self, const char * const *argv,
                                 GCancellable *cancellable,
                                 GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_session_exec_finish (OwSession *self, GAsyncResult *result, int *status,
                                 GError **error);

/* Tells the agent something: at work, it reads it before its next step (@now TRUE); else a turn
 * begins with it as soon as the wall is up. FALSE: the session is ending or has no agent. */
gboolean ow_session_say       (OwSession *self, const char *text, gboolean *now, GError **error);
/* Stops the turn that runs, at once; FALSE: none does. A session that is not kept ends with it. */
gboolean ow_session_stop_turn (OwSession *self);
/* Ends the session, a running turn stopped, as "done" ("stopped" when there was one) or, for an
 * engine that goes away, as "parked". */
void     ow_session_end       (OwSession *self, gboolean park);

/* Adds @host to what the session's sandbox may reach, for as long as that is up; an event says so,
 * and a notice tells the agent. OW_ERROR_REFUSED: a sandbox of its kind cannot be changed. */
void     ow_session_allow_host_async  (OwSession *self, const OwHost *host,
                                       GCancellable *cancellable,
                                       GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_session_allow_host_finish (OwSession *self, GAsyncResult *result, GError **error);
/* What left the machine in this run of the session, as in a traffic event (docs/events.md).
 * (transfer full) */
json_t  *ow_session_get_traffic       (OwSession *self);

/* Runs the call of @tool, "undo" or "changes", that a person commanded, with @arguments of
 * ow-changes.h; @undoes (nullable) as in tool-asked. In a session that runs: between two calls of
 * the agent where it is an undo that applies (OW_ERROR_REFUSED while one runs, and while another
 * review does); those that come meanwhile wait. In a resumed session that was not run: raises the
 * wall for it and takes it down again; the session ends as it had ended. The agent is told in a
 * notice what was put back. @call (out, transfer full, nullable): id of the call. */
void          ow_session_review_async  (OwSession *self, const char *tool, const json_t *arguments,
                                        const json_t *undoes, GCancellable *cancellable,
                                        GAsyncReadyCallback callback, gpointer user_data);
OwToolResult *ow_session_review_finish (OwSession *self, GAsyncResult *result, char **call,
                                        GError **error);

/* Borrowed: its folders, as in the events. */
json_t  *ow_session_get_folders (OwSession *self);
/* Takes @remove (nullable, paths) out of its folders and puts @add (nullable, "DIR" or "DIR:ro")
 * in; one that is there already gets the other mode. An event and a notice to agent and person
 * say so, and the sandbox is made again with them, without its shell state: completes when it
 * is, or at once with @pending where a call runs, for which that waits. A set that cannot be used
 * changes nothing; a sandbox that then cannot be made ends the session. */
void     ow_session_change_folders_async  (OwSession *self, const char * const *add,
                                           const char * const *remove,
                                           GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_session_change_folders_finish (OwSession *self, GAsyncResult *result,
                                           gboolean *pending, GError **error);
/* Of the stored @events: the folders as ow_folder_open() takes them (transfer full); a list that
 * does not begin with them is OW_ERROR_DATA. */
char   **ow_session_resume_folders (OwEventList *events, GError **error);
/* The same of @folders as an event has them; empty where there are none. (transfer full) */
char   **ow_session_folders_texts (const json_t *folders);

/* Writes a recording of @list that replay:FILE takes: model-message and tool-ended
 * events, results as literal patterns (figures that differ by run, such as durations, as \d). */
gboolean ow_recording_write (OwEventList *list, OwRecordingPlace *place, GError **error);
