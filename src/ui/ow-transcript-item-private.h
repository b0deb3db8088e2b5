/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "ow-lines-private.h"

/* One card of a transcript. OwTranscript writes the members below, widgets read them; texts in
 * them are as the event has them, not yet made visible.
 *
 * Signal "changed": a member is another one. Main thread. */

#define OW_TYPE_TRANSCRIPT_ITEM (ow_transcript_item_get_type ())
G_DECLARE_FINAL_TYPE (OwTranscriptItem, ow_transcript_item, OW, TRANSCRIPT_ITEM, GObject)

typedef enum {
  OW_ITEM_USER,
  OW_ITEM_MODEL,
  OW_ITEM_TOOL,
  OW_ITEM_CONSENT,
  OW_ITEM_NOTICE,
} OwItemKind;

typedef enum { OW_TONE_PLAIN, OW_TONE_WARNING, OW_TONE_ERROR } OwTone;

/* What a tool call changed, and whether it can be taken back. */
typedef enum {
  OW_UNDO_NONE,     /* it changed nothing, or it is not kept */
  OW_UNDO_OFFERED,
  OW_UNDO_WAITING,  /* this window has asked for it */
  OW_UNDO_DONE,
} OwUndoState;

typedef enum {
  OW_CALL_ASKED,
  OW_CALL_RUNNING,
  OW_CALL_ENDED,
} OwCallState;

struct _OwTranscriptItem
{
  GObject      parent_instance;

  OwItemKind   kind;
  OwTone       tone;        /* notice */
  gboolean     live;        /* model: pieces still come */
  GString     *text;        /* (owned) user, model, notice; consent: all that it asks for, in
                             * words */
  char        *note;        /* (owned) (nullable) model: why it was cut; consent: how it was
                             * answered */
  char        *id;          /* (owned) (nullable) tool: the call; consent: the request */

  char        *tool;        /* (owned) (nullable) tool */
  char        *title;       /* (owned) (nullable) tool, consent: one line */
  char        *level;       /* (owned) (nullable) tool, consent */
  OwCallState  state;       /* tool */
  gint64       began;       /* tool: µs since the epoch; 0: not known */
  gint64       duration_ms; /* tool, ended */
  char        *outcome;     /* (owned) (nullable) tool: in words, where that is not "ok" */
  OwLines     *lines;       /* (owned) (nullable) tool: the output */
  gboolean     diff;        /* tool: the lines are those of a diff */
  GByteArray  *kinds;       /* (owned) (nullable) tool, diff: of each of its lines an OwDiffKind */
  guint        added;       /* tool, diff: lines that came */
  guint        removed;     /* and went */
  OwUndoState  undo;        /* tool */
  gboolean     look;        /* tool: what came of it is not shown in the card */
  gboolean     instructions; /* tool: the program itself reads the project's AGENTS.md */

  char        *ask;         /* (owned) (nullable) consent: its kind */
  char        *always;      /* (owned) (nullable) consent: what "always" would allow */
  gboolean     hidden;      /* consent: there is something in it that would not be seen */
  gboolean     open;        /* consent: nobody has answered */
  gboolean     sent;        /* consent: this window has, and waits for the engine */

  /* What a person did to the card, kept while it is scrolled out. */
  gboolean     expanded;
  char        *reason;      /* (owned) (nullable) */
};

OwTranscriptItem *ow_transcript_item_new     (OwItemKind kind, const char *text);
void              ow_transcript_item_changed (OwTranscriptItem *self);
