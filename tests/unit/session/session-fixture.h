/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "script-model.h"
#include "session/ow-session.h"

/* Sessions with the runner itself, without a wall, in a home of their own; a model that says
 * what a test tells it to, and a person who allows everything unless told not to. */

typedef struct {
  char        *base;      /* (owned) */
  char        *folder;    /* (owned) */
  char        *path;      /* (owned) of the store */
  OwStore     *store;
  OwAudit     *audit;
  ScriptModel *model;
  OwSession   *session;   /* the last one made */
  gboolean     done;
  gboolean     result;
  GError      *error;     /* (owned) (nullable) */
  gboolean     silent;    /* the person answers nothing */
} Fixture;

/* g_test_init(), then the tests that @add adds, with a home of their own. */
int            session_run_tests      (int argc, char **argv, void (*add)(void));
void           session_set_up         (Fixture *fixture, gconstpointer data);
void           session_tear_down      (Fixture *fixture, gconstpointer data);
/* @model (transfer full). */
void           session_make           (Fixture *fixture, ScriptModel *model, gboolean keep);
/* Drops the session and makes it again from the store. FALSE: fixture->error says why. */
gboolean       session_make_again     (Fixture *fixture, const char *id, ScriptModel *model,
                                       gboolean keep);
void           session_begin          (Fixture *fixture, const char *task);
void           session_wait_end       (Fixture *fixture);
/* Until that many events of @kind are in the list. */
void           session_wait_for       (Fixture *fixture, OwEventType kind, guint n);
guint          session_count          (Fixture *fixture, OwEventType kind);
/* The last event of that kind; fails the test when there is none. */
const OwEvent *session_find           (Fixture *fixture, OwEventType kind);
/* The session's row in the store; new reference, NULL: none. */
json_t        *session_row            (Fixture *fixture);
void           session_assert_ended   (Fixture *fixture, const char *outcome, int exit_status);
/* The roles of what the model was given last. */
void           session_assert_roles   (Fixture *fixture, const char *expected);
