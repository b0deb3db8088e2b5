/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "agent/ow-agent.h"
#include "fake-host.h"
#include "script-model.h"

#define SHELL(id) "{\"id\":\"" id "\",\"name\":\"shell\",\"arguments\":{\"command\":\"" id "\"}}"
#define ONE "[" SHELL ("c1") "]"
#define THREE "[" SHELL ("c1") "," SHELL ("c2") "," SHELL ("c3") "]"

/* An agent with a host that runs nothing and a model that says what a test tells it to. */

typedef struct {
  char         *directory;    /* (owned) */
  OwEventList  *events;
  OwConsent    *consent;
  OwAudit      *audit;
  FakeHost     *host;
  ScriptModel  *model;
  OwAgent      *agent;
  GCancellable *cancellable;
  GError       *error;
  gboolean      result;
  gboolean      done;
  gint          stop_at;      /* kind of event at which it is stopped; -1: never */
  guint         stop_after;   /* and how many of that kind come first */
  gboolean      fails;        /* ow_agent_fail() in place of the cancellable */
} Fixture;

/* @model (transfer full). */
void           agent_set_up            (Fixture *fixture, OwApprovePolicy policy,
                                        FakeMode mode, ScriptModel *model,
                                        const OwAgentLimits *limits);
void           agent_tear_down         (Fixture *fixture);
/* For ow_agent_run_turn_async(). */
void           agent_on_done           (GObject *source, GAsyncResult *result,
                                        gpointer fixture);
/* One turn to its end. @text (nullable). */
void           agent_run               (Fixture *fixture, const char *text);
guint          agent_count             (Fixture *fixture, OwEventType kind);
const OwEvent *agent_last              (Fixture *fixture);
/* The last event of that kind; fails the test when there is none. */
const OwEvent *agent_find              (Fixture *fixture, OwEventType kind);
void           agent_assert_turn_ended (Fixture *fixture, const char *reason);
/* The roles of what the model was given, such as "system user assistant tool". */
void           agent_assert_roles      (Fixture *fixture, const char *expected);
const char    *agent_history_text      (Fixture *fixture, size_t index);
