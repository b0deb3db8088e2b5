/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "agent/ow-agent.h"
#include "ow-agent-stream-private.h"

/* Shared by the files of OwAgent. */

typedef enum { TURN_GOES_ON, TURN_DONE, TURN_STOPPED, TURN_LIMIT, TURN_FAILED } OwAgentTurnEnd;

struct _OwAgent {
  GObject parent_instance;

  OwEventList   *events;       /* (owned) */
  OwConsent     *consent;      /* (owned) */
  OwAudit       *audit;        /* (owned) */
  OwToolHost    *host;         /* (owned) */
  OwModel       *model;        /* (owned) */
  OwAgentStream *stream;       /* (owned) */
  char          *prompt;       /* (owned) */
  json_t        *tools;        /* (owned) */
  OwAgentLimits  limits;

  /* One turn. Everything awaited in it hangs on @stop: once that is cancelled, what
   * runs comes to its end, the calls still to make end at once as cancelled, and the
   * turn ends with @end. */
  GTask         *task;         /* (owned) (nullable) NULL: no turn */
  GCancellable  *stop;         /* (owned) (nullable) */
  gulong         stop_handler; /* on the caller's cancellable */
  json_t        *calls;        /* (owned) (nullable) what the model asks for now */
  size_t         next_call;
  guint          n_calls;
  guint          n_asked;      /* events that the model was told of when it was asked last */
  OwAgentTurnEnd end;
  GError        *error;        /* (owned) (nullable) the first one */
  gboolean       broken;

  /* What was granted; a limit that is reached is asked about at the next step. */
  guint          granted_calls;
  guint          granted_seconds;
  GSource       *clock;        /* (owned) (nullable) runs but while a person is asked */
  gint64         clock_left;   /* µs */
  gulong         clock_handler;
  gboolean       time_is_up;
};

/* The first reason counts: what follows from it is not told in its place. Steals @error. */
void     ow_agent_set_end          (OwAgent *self, OwAgentTurnEnd end, GError *error);
/* What could not be written down (@error, stolen) ends the turn, and nothing may follow it. */
void     ow_agent_break            (OwAgent *self, GError *error);
/* Goes on with the turn's next call, or with the model. */
void     ow_agent_next_step        (OwAgent *self);

/* The clock of a turn's time limit. */
void     ow_agent_limit_start      (OwAgent *self);
void     ow_agent_limit_end        (OwAgent *self);
/* TRUE: a limit is reached, somebody is asked, and ow_agent_next_step() comes later. */
gboolean ow_agent_limit_pause      (OwAgent *self, gboolean before_call);
