/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "agent/ow-agent.h"
#include "sandbox/ow-sandbox.h"
#include "session/ow-session.h"

/* Shared by the files of OwSession: ow-session.c makes one, ow-session-run.c runs it, and
 * ow-session-exec.c the one call of a session without an agent; ow-session-review.c the calls that
 * a person makes about its changes. */

typedef struct OwSessionHosts  OwSessionHosts;
typedef struct OwSessionReview OwSessionReview;

typedef enum {
  OW_SESSION_NEW,
  OW_SESSION_STARTING,  /* the wall goes up */
  OW_SESSION_READING,   /* the project's own instructions */
  OW_SESSION_WAITING,   /* for ow_session_say() */
  OW_SESSION_WORKING,   /* a turn, or the one call of exec */
  OW_SESSION_LEAVING,   /* the wall comes down */
  OW_SESSION_ENDED,
} OwSessionPhase;

struct _OwSession {
  GObject parent_instance;

  OwAudit          *audit;        /* (owned) */
  OwEventList      *events;       /* (owned) */
  OwConsent        *consent;      /* (owned) */
  OwSandbox        *sandbox;      /* (owned) (nullable) gone once it is down */
  OwModel          *model;        /* (owned) (nullable) */
  OwAgent          *agent;        /* (owned) (nullable) while the wall is up */
  json_t           *folders;      /* (owned) as in session-started */
  json_t           *beginning;    /* (owned) members of the session-started or -resumed to come */
  OwRecordingPlace *record;       /* (owned) (nullable) */
  OwLevel           level;
  gboolean          keep;
  gboolean          resumed;

  /* One run. */
  OwSessionPhase    phase;
  GTask            *task;         /* (owned) (nullable) */
  json_t           *argv;         /* (owned) (nullable) the one call of exec */
  GCancellable     *stop;         /* (owned) everything awaited hangs on it */
  GCancellable     *turn;         /* (owned) (nullable) the running turn */
  gulong            stop_handler;
  GError           *error;        /* (owned) (nullable) the first, which the session ends with */
  int               status;
  OwSessionHosts   *hosts;        /* (owned) */
  OwSessionReview  *review;       /* (owned) (nullable) while its changes are looked at or undone;
                                   * without an agent it is all that the run is for */
  GHashTable       *noticed;      /* (owned) notices said, so that each is said once */
  GCancellable     *look;         /* (owned) (nullable) of the look at what others will run */
  GSource          *look_timer;   /* (owned) (nullable) */
  gboolean          look_late;
  gboolean          looked;       /* or there was no need */
  gboolean          open_turn;    /* words of the person, or a turn cut short, wait for a turn */
  gboolean          ending;       /* asked to end: no turn begins any more */
  gboolean          parked;
  gboolean          wall_up;
};

/* The first error is the session's (stolen); whatever runs is brought to its end. */
void     ow_session_fail          (OwSession *self, GError *error);
/* FALSE: the session has failed with it. Steals @members. */
gboolean ow_session_append        (OwSession *self, OwEventType type, json_t *members);
void     ow_session_append_notice (OwSession *self, const char *text);
void     ow_session_drop_sandbox  (OwSession *self);
/* What the agent is told of its environment now. (transfer full) */
char    *ow_session_describe_environment (OwSession *self);
/* Of a session that waits and has to end: takes it down from the loop. */
void     ow_session_leave_soon    (OwSession *self);

/* FALSE: @task has its error. */
gboolean ow_session_check_unused  (OwSession *self, GTask *task);
/* Begins the one run. @text (nullable): the person's first words of it. */
void     ow_session_start         (OwSession *self, GTask *task, const char *text);
/* However the work ended, the wall comes down, and nobody can stop that. */
void     ow_session_take_down     (OwSession *self);
/* Says once that settings of the project itself are ignored, where there are some; then
 * ow_session_project_looked() follows, which goes on with the project's instructions. */
void     ow_session_project_look  (OwSession *self);
void     ow_session_project_looked (OwSession *self);
/* Of one that comes down with its wall up: TRUE: it is looked at what it made that others run
 * later; ow_session_take_down() follows. */
gboolean ow_session_settings_look (OwSession *self);
/* Tells what such a look found. @result (nullable). */
void     ow_session_settings_take (OwSession *self, const OwToolResult *result, gboolean late);
/* The wall is up: the one call of exec. */
void     ow_session_exec_run      (OwSession *self);

/* The wall was raised for a review: runs it, then takes the wall down. */
void     ow_session_review_run    (OwSession *self);
/* Returns what came of it to @task. */
void     ow_session_review_end    (OwSession *self, GTask *task);
/* TRUE: one runs beside the conversation and is being stopped; ow_session_take_down() follows. */
gboolean ow_session_review_stop   (OwSession *self);
void     ow_session_review_free   (OwSessionReview *review);
