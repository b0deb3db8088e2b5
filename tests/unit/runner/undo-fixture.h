/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "files-fixture.h"

/* Files with an undo folder, and the changes that the tools answered. */
typedef struct {
  Files  *files;
  json_t *changes; /* oldest first */
} Undo;

Undo *undo_new  (void);
void  undo_free (Undo *self);

/* Calls write and remembers its change. */
void  undo_write (Undo *self, const char *path, const char *content);
void  undo_edit  (Undo *self, const char *path, const char *old_text, const char *new_text);
/* Remembers the change of the answer that there is now. */
void  undo_remember (Undo *self);

/* Calls undo or changes with what is remembered; the text is borrowed. */
const char *undo_show    (Undo *self);
const char *undo_apply   (Undo *self);
const char *undo_changes (Undo *self);

/* Of the answer: the state and reason of the file below <top> ("" when there is none). */
const char *undo_state  (Undo *self, const char *path);
const char *undo_reason (Undo *self, const char *path);

/* Puts the changes that the undo itself made in the place of the remembered ones. */
void undo_take_back (Undo *self);

#define undo_assert_state(self, path, state) \
  g_assert_cmpstr (undo_state ((self), (path)), ==, (state))
#define undo_assert_file(self, path, content) \
  G_STMT_START { \
    g_autofree char *got_ = files_get ((self)->files, (path)); \
    g_assert_cmpstr (got_, ==, (content)); \
  } G_STMT_END

/* The lower-case hexadecimal SHA-256 of a text, by GLib; (owned). */
char *undo_hash (const char *content);

void undo_add_keep_tests    (void);
void undo_add_hostile_tests (void);
