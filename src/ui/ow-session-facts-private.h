/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

#include "events/ow-event.h"

/* What stands around a transcript: title, folders, level, whether it works. Made from the session's
 * events and nothing else; texts are as the events have them. Plain struct, main thread. */

typedef struct
{
  char     *path; /* (owned) */
  gboolean  read_only;
} OwSessionFolder;

typedef struct
{
  char      *title;    /* (owned) (nullable) the first thing the person said */
  GPtrArray *folders;  /* (owned) of (owned) OwSessionFolder */
  char      *provider; /* (owned) (nullable), as what follows */
  char      *level;
  char      *profile;
  char      *model;
  char      *base_url;
  char      *notice;
  char      *lost;     /* why the wall was lost, until it is up again */
  gboolean   working;  /* a turn runs */
  gboolean   ended;
  gint64     tokens;   /* of all messages, both ways */
} OwSessionFacts;

OwSessionFacts *ow_session_facts_new  (void);
void            ow_session_facts_free (OwSessionFacts *self);
/* TRUE when anything of the above is another one now. */
gboolean        ow_session_facts_add  (OwSessionFacts *self, OwEvent *event);
/* "~/src/dates (read-write) · ~/docs (read-only)"; (transfer full). */
char           *ow_session_facts_describe_folders (OwSessionFacts *self, const char *between);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwSessionFacts, ow_session_facts_free)
