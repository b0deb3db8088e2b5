/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-channel.h"

/* A channel to a fake runner (fake-runner.c), and calls on it. */

typedef struct {
  char      *state_dir;
  OwChannel *channel;
  GString   *output;
  char      *lost;      /* the reason of "lost" */
  guint      n_lost;
  guint      answered;
} Fixture;

typedef struct {
  Fixture      *fixture;
  OwToolResult *result;
  GError       *error;
  guint         done;
} Call;

/* Deadlines that a test can wait for. */
extern const OwChannelTimes quick;

/* @behaviour of the fake runner; "tty/" before it reaches the runner over a terminal. */
void    fixture_init        (Fixture              *fixture,
                             const char           *behaviour,
                             const OwChannelTimes *times);
/* The same; @attach's argv and terminal are filled in. */
void    fixture_init_attach (Fixture              *fixture,
                             const char           *behaviour,
                             const OwChannelTimes *times,
                             OwAttach              attach);
/* Takes @channel. */
void    fixture_replace_channel (Fixture   *fixture,
                                 OwChannel *channel);
void    fixture_clear       (Fixture              *fixture);
/* How long the file @name of the fake runner's is. */
guint   counted             (Fixture              *fixture,
                             const char           *name);
void    fixture_on_output   (const char           *stream,
                             const char           *data,
                             gsize                 length,
                             gpointer              user_data);

GError *try_connect         (Fixture              *fixture);
void    connect_well        (Fixture              *fixture);
void    spin                (guint                 ms);

/* The command of a call is its @id. */
void    start_call          (Fixture              *fixture,
                             Call                 *call,
                             const char           *id,
                             const char           *tool,
                             GCancellable         *cancellable);
/* Makes one call and waits for its end. */
void    run_call            (Fixture              *fixture,
                             Call                 *call,
                             const char           *id);
void    call_on_done        (GObject              *source,
                             GAsyncResult         *result,
                             gpointer              user_data);
void    call_clear          (Call                 *call);
void    assert_outcome      (const Call           *call,
                             OwToolOutcome         outcome);
