/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event-list.h"

/* What a session changed in its folders, read out of its events: nothing about it is stored beside
 * them. The `change` of a write or an edit and the `changes` of a command are what a runner said
 * (docs/runner-protocol.md), and so is what an undo answered: each member is checked, and of what
 * is not as it should be nothing is used but that it was there.
 *
 * Plain struct, any thread. */

/* Changes of file tools, and names that commands changed, that are read of one session; one
 * undo or one look has as many paths at most. */
#define OW_CHANGES_MAX      5000u
#define OW_CHANGES_COMMANDS 2000u

typedef enum {
  OW_CHANGE_THERE,    /* it can be taken back */
  OW_CHANGE_UNDONE,   /* it was */
  OW_CHANGE_NOT_KEPT, /* what the file held before was not kept */
  OW_CHANGE_OUTSIDE,  /* the session's folders are others now */
  OW_CHANGE_UNUSABLE, /* what the runner said of it makes no sense */
} OwChangeState;

/* One file, by one call of `write` or `edit`. */
typedef struct {
  char          *call;    /* (owned) */
  char          *tool;    /* (owned) */
  char          *path;    /* (owned) what the call named, where the change is unusable */
  char          *before;  /* (owned) (nullable) NULL: the tool made the file */
  char          *after;   /* (owned) (nullable) NULL where it cannot be taken back anyway */
  int            mode;
  guint          turn;    /* number of the person's message that the turn began with; 0: none */
  OwChangeState  state;
} OwChange;

/* One name that a command made, changed or took away; nothing of it can be taken back. */
typedef struct {
  char       *call;  /* (owned) */
  char       *path;  /* (owned) */
  const char *what;  /* "created", "changed" or "deleted" */
  guint       turn;
} OwCommandChange;

typedef struct {
  GPtrArray *changes;        /* (owned) OwChange, oldest first */
  GPtrArray *commands;       /* (owned) OwCommandChange, oldest first */
  guint64    commands_total; /* names that commands changed, also those that are not in the list */
  gboolean   commands_cut;   /* there may be more: there was too much to look at, or to list */
  gboolean   cut;            /* there are more changes than are read */
  guint      turns;          /* messages of the person */
  GArray    *turn_of;        /* (owned) guint: of message N, at N - 1, the turn that it is of */
} OwChanges;

/* @folders: the session's now, as in session-started. */
OwChanges  *ow_changes_read       (OwEventList *events, const json_t *folders);
void        ow_changes_free       (OwChanges *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwChanges, ow_changes_free)

/* Why a change of that state is left out, in words; NULL for one that is not. */
const char *ow_change_state_why   (OwChangeState state);

/* (transfer container) array of OwChange, borrowed: those of @call. */
GPtrArray  *ow_changes_of_call    (OwChanges *self, const char *call);
/* Those of the turn that the person's @message-th message is of; 0: of the last turn. @message
 * becomes the number of the message that the turn began with. NULL: there is no such message. */
GPtrArray  *ow_changes_of_turn    (OwChanges *self, guint *message);

/* New reference: the arguments of `undo` for what of @some can be taken back. @calls (out): new
 * reference, for each of its changes the id of the call. */
json_t     *ow_changes_for_undo   (GPtrArray *some, json_t **calls);
/* New reference: the arguments of `changes` for all of the session, each path once. */
json_t     *ow_changes_for_look   (OwChanges *self);

/* New reference: what an `undo` or a `changes` answered of each path in its @arguments, checked:
 * array of {"path", "state", "reason"?, "added"?, "removed"?}. What it said nothing usable of has
 * the state "unknown". @structured (nullable). */
json_t     *ow_changes_read_files (const json_t *arguments, const json_t *structured);
/* TRUE: a state of such an entry that says that the file was put back or taken away. */
gboolean    ow_changes_is_undone  (const char *state);
/* TRUE: @path is absolute, has no empty, "." or ".." part, and lies below one of @folders.
 * @read_only (out) (nullable): of that folder. _or_at: or is one of them. */
gboolean    ow_changes_is_inside_or_at (const json_t *folders, const char *path,
                                        gboolean *read_only);
gboolean    ow_changes_is_inside  (const json_t *folders, const char *path, gboolean *read_only);
