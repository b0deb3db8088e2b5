/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

#include "wire/ow-json.h"

/* A recording, read and checked as a whole before anything of it is used: what
 * docs/recordings.md calls for is there, or it is an error with the line. Any thread. */

#define OW_REPLAY_FILE_MAX_BYTES (16u * 1024u * 1024u)

typedef struct {
  char    *id;       /* (owned) the model's id of the call */
  char    *name;     /* (owned) the tool */
  guint    turn;     /* index of the turn that asks for it */
  guint    line;     /* of the model-message */
  char    *pattern;  /* (owned) (nullable) as it stands in the file */
  GRegex  *regex;    /* (owned) (nullable) NULL: no tool-ended seen yet */
} OwReplayCall;

typedef struct {
  char   *text;        /* (owned) */
  json_t *tool_calls;  /* (owned) array */
  char   *finish;      /* (owned) */
} OwReplayTurn;

typedef struct {
  char       *path;   /* (owned) */
  GPtrArray  *turns;  /* (owned) OwReplayTurn */
  GHashTable *calls;  /* (owned) id → OwReplayCall */
} OwReplayFile;

OwReplayFile *ow_replay_file_read (const char *path, GError **error);
void          ow_replay_file_free (OwReplayFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwReplayFile, ow_replay_file_free)

/* TRUE: @text fits @call's pattern. An error: matching took too much work. */
gboolean      ow_replay_call_match (const OwReplayCall *call, const char *text, GError **error);
