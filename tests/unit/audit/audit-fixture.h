/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "audit/ow-audit.h"

/* A record in a folder of its own, and events to put into it. */

typedef struct {
  char *dir;
  char *path;
} Fixture;

void           fixture_set_up    (Fixture       *f,
                                  gconstpointer  data);
void           fixture_tear_down (Fixture       *f,
                                  gconstpointer  data);

OwEvent       *make_started      (const char *call);
OwEvent       *make_ended        (const char *call,
                                  const char *result);

/* Appends @n begins, "c1" on, and asserts that each was taken. */
void           append_some       (const char *path,
                                  guint       n);
OwAuditReport *verify            (const char *path);
gboolean       is_clean          (const char *path,
                                  guint64     n_records);
