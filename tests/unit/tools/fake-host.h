/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "tools/ow-tool-host.h"

/* A tool host that runs nothing: it answers as told and counts how often it was asked. */

typedef enum {
  FAKE_ANSWER,  /* with @outcome and @text */
  FAKE_HANG,    /* until cancelled, then as cancelled */
  FAKE_ERROR,   /* could not be asked */
} FakeMode;

#define FAKE_TYPE_HOST (fake_host_get_type ())
G_DECLARE_FINAL_TYPE (FakeHost, fake_host, FAKE, HOST, GObject)

struct _FakeHost {
  GObject parent_instance;

  FakeMode       mode;
  OwLevel        level;
  OwToolOutcome  outcome;
  char          *text;         /* (owned) */
  gboolean       state_lost;
  guint          n_calls;
  guint          n_running;
  guint          max_running;
  const char    *output;       /* (nullable) sent while running */
  gsize          output_length;
  /* (nullable) called when asked, before anything else. */
  void         (*asked)        (FakeHost *self, const char *call_id, gpointer data);
  gpointer       asked_data;
  OwToolOutputFunc kept_output; /* of the last call, to talk on after its end */
  gpointer         kept_data;
};

FakeHost *fake_host_new (FakeMode mode, const char *text);

/* Runs the main context until @done; fails the test after 20 s. */
void      fake_wait     (const gboolean *done);
