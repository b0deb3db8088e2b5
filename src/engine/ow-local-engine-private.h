/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "audit/ow-audit.h"
#include "config/ow-config.h"
#include "consent/ow-consent-rules.h"
#include "engine/ow-local-engine.h"
#include "ow-engine-settings-watch-private.h"
#include "session/ow-session.h"
#include "session/ow-store.h"

/* What the parts of the engine share. One thread: that of its main context. */

/* The face in whose process the engine lives. */
#define OW_LOCAL_ENGINE_OWN_FACE 0
/* Watched sessions of one face; more is a mistake, not a wish. */
#define OW_LOCAL_ENGINE_MAX_WATCHED 256

/* Who can answer requests. */
typedef struct
{
  gboolean    all;      /* for every session */
  GHashTable *sessions; /* (owned) for these */
} OwEngineFace;

/* One session at work. */
typedef struct
{
  OwLocalEngine *engine;      /* borrowed: it owns us */
  OwSession     *session;     /* (owned) */
  GCancellable  *cancellable; /* (owned) */
  gboolean       interactive; /* its requests may be answered by a person */
  gboolean       keep;        /* it stays open after a turn */
  gboolean       busy;        /* a turn, or one command, is on its way or runs */
} OwEngineWork;

struct _OwLocalEngine
{
  GObject         parent_instance;

  OwStore        *store;     /* (owned) (nullable) opened by the first command that needs it */
  OwAudit        *audit;     /* (owned) (nullable) likewise */
  OwConsentRules *rules;     /* (owned) (nullable) likewise */
  GHashTable     *sessions;  /* (owned) id → OwEngineWork, those at work now */
  GHashTable     *resuming;  /* (owned) ids of those that are about to be */
  GHashTable     *looks;     /* (owned) of those, the ones to be looked at: GPtrArray of who asks */
  GHashTable     *faces;     /* (owned) number → OwEngineFace */
  guint           next_face;
  const char     *host;      /* static: "window", "command", "up" */
  char           *since;     /* (owned) */
  OwProviderKind  fallback;  /* REQ-M01: what holds where nothing is set; UNSET: the face decides */
  char           *notice;    /* (owned) (nullable) */
  OwEngineSettingsWatch *settings; /* (owned) (nullable) with the records */
  char           *fault;     /* (owned) (nullable) why the settings cannot be used */
};

/* As ow_engine_command_async(), for one of several faces. */
void         ow_local_engine_command_as_async (OwLocalEngine       *self,
                                               guint                face,
                                               const char          *command,
                                               json_t              *params,
                                               GCancellable        *cancellable,
                                               GAsyncReadyCallback  callback,
                                               gpointer             user_data);
/* The face whose command @task is. */
guint        ow_local_engine_get_face         (GTask               *task);
guint        ow_engine_consents_add_face         (OwLocalEngine       *self);
/* What it watched is forgotten. */
void         ow_engine_consents_remove_face      (OwLocalEngine       *self,
                                                  guint                face);
/* @host is static. */
void         ow_local_engine_set_host         (OwLocalEngine       *self,
                                               const char          *host);
/* Takes a key out of memory before its command's parameters (nullable) are given back. */
void         ow_local_engine_wipe             (json_t              *params);
/* TRUE: @command changes nothing, and may be done any number of times. */
gboolean     ow_local_engine_is_reading       (const char          *command);

/* Opens the store and the record, and first of all puts right what a killed run left:
 * its sandboxes end, its open calls are closed as interrupted. */
gboolean     ow_local_engine_open_records     (OwLocalEngine       *self,
                                               GError             **error);
/* Settings that cannot be read are a reason to refuse, whatever is wrong with the file:
 * what the person set is not known. */
OwConfig    *ow_local_engine_load_config      (GError             **error);
/* What commands run in when a face names nothing; UNSET: nothing is set. */
OwProviderKind ow_local_engine_find_provider  (OwLocalEngine       *self,
                                               OwConfig            *config);
/* Adds to what a person must be told all the time. */
void         ow_local_engine_add_notice       (OwLocalEngine       *self,
                                               const char          *format,
                                               ...) G_GNUC_PRINTF (2, 3);
/* Signal "running": how many sessions would end with the engine is another number. */
guint        ow_local_engine_count_running    (OwLocalEngine       *self);
void         ow_local_engine_tell_running     (OwLocalEngine       *self);

/* ow-engine-work.c: sessions at work. */
OwEngineWork *ow_engine_work_add              (OwLocalEngine       *self,
                                               OwSession           *session,
                                               gboolean             interactive,
                                               gboolean             keep);
void         ow_engine_work_free              (gpointer             data);
void         ow_engine_work_run               (OwEngineWork        *work,
                                               const char          *task);
void         ow_engine_work_exec              (OwEngineWork        *work,
                                               const char * const  *argv);
/* It is not at work any more; where the same session goes on already, nothing happens. */
void         ow_engine_work_drop              (OwLocalEngine       *self,
                                               OwSession           *session);
/* Ends all of them as "parked"; @idle: only those that wait for words, and would hold up an engine
 * that is to end. */
void         ow_engine_work_park_all          (OwLocalEngine       *self,
                                               gboolean             idle);

/* ow-engine-consents.c */
void         ow_engine_consents_attend        (OwLocalEngine       *self,
                                               OwEngineWork        *work);
void         ow_engine_consents_watch         (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_consents_list          (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_consents_answer        (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
guint        ow_engine_consents_count         (OwEngineWork        *work);
void         ow_engine_face_free              (gpointer             data);

/* ow-engine-sessions.c */
void         ow_engine_sessions_start         (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_sessions_exec          (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_sessions_stop          (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_sessions_end           (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_sessions_delete        (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_sessions_list          (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_sessions_show          (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);

/* The list of a session at work, or the stored one. (transfer full) */
OwEventList *ow_engine_sessions_find_events   (OwLocalEngine       *self,
                                               const char          *id,
                                               GError             **error);

/* ow-engine-folders.c */
/* Of stored @events: the folders, borrowed from them; NULL: not known. */
const json_t *ow_engine_folders_stored        (OwEventList         *events);
void         ow_engine_sessions_folders       (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);

/* ow-engine-changes.c */
void         ow_engine_changes_show           (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_changes_undo           (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);

/* ow-engine-sandboxes.c */
void         ow_engine_sandboxes_list         (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_sandboxes_show         (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_sandboxes_delete       (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_sandboxes_reap         (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
/* ow-engine-sandbox-traffic.c */
void         ow_engine_sandboxes_traffic      (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
/* ow-engine-sandbox-hosts.c */
void         ow_engine_sandboxes_logs         (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
/* ow-engine-sandbox-allow.c */
void         ow_engine_sandboxes_allow        (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);

/* ow-engine-resume.c */
void         ow_engine_resume_say             (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_resume_session         (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
/* Lets an ended session go on, with @text (nullable) as the person's next words; @task ends with
 * @result, which is stolen. */
void         ow_engine_resume_begin           (OwLocalEngine       *self,
                                               const char          *id,
                                               const char          *text,
                                               gboolean             keep,
                                               GTask               *task,
                                               json_t              *result);

/* Makes an ended session, of stored @events, once more, for ow_session_review_async() alone; it is
 * at work until ow_engine_work_drop(). */
OwEngineWork *ow_engine_resume_review         (OwLocalEngine       *self,
                                               const char          *id,
                                               OwEventList         *events,
                                               GError             **error);

/* ow-engine-up.c: what an engine does that `openworker up` is (REQ-M01). Finds what commands
 * run in where nothing is set, and lets the sessions go on that an earlier one had. */
void         ow_engine_up_async               (OwLocalEngine       *self,
                                               GAsyncReadyCallback  callback,
                                               gpointer             user_data);
gboolean     ow_engine_up_finish              (OwLocalEngine       *self,
                                               GAsyncResult        *result,
                                               GError             **error);

/* ow-engine-explain.c */
void         ow_engine_explain_run            (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);

/* ow-engine-prove.c */
void         ow_engine_prove_run              (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);

/* ow-engine-programs.c */
void         ow_engine_programs_run           (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);

/* ow-engine-settings.c */
void         ow_engine_settings_get           (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_settings_set           (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);

/* ow-engine-credentials.c */
void         ow_engine_credentials_list       (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_credentials_enable     (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_credentials_disable    (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_credentials_add        (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_credentials_remove     (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);

/* ow-engine-models.c */
/* The models of the settings, as config.get has them. (new reference) */
json_t      *ow_engine_models_describe        (OwConfig            *config);
void         ow_engine_models_add             (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_models_list            (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_models_remove          (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
void         ow_engine_models_test            (OwLocalEngine       *self,
                                               const json_t        *params,
                                               GTask               *task);
