/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

#include "ow-runner-keep-private.h"
#include "ow-runner-tool-private.h"

/* A tree for the file tools: <top>/work (writable, where relative paths start),
 * <top>/work/frozen (read-only, nested in it), <top>/other (writable) and
 * <top>/outside, which is none of the session's folders and holds "secret". */
typedef struct {
  char              *top;
  char              *work;
  char              *outside;
  const char        *folders[3];
  bool               read_only[3];
  int                fds[3];
  OwRunnerRoots      roots;
  OwRunnerToolResult result;
  OwRunnerKeep       keep;
} Files;

#define FILES_SECRET "outside-secret-4711"

Files *files_new  (void);
void   files_free (Files *self);

/* Has what the tools change kept in <top>/undo. */
void   files_keep (Files *self);

/* A path below <top>; valid until the next 16 calls. */
const char *files_path (Files *self, const char *format, ...) G_GNUC_PRINTF (2, 3);
void        files_put  (Files *self, const char *path, const char *content);
void        files_put_bytes (Files *self, const char *path, const char *content, gsize length);
char       *files_get  (Files *self, const char *path);
void        files_link (Files *self, const char *path, const char *target);

/* Calls a tool; @arguments are JSON text with ' for ". The text of the answer is
 * checked for what holds of every answer and borrowed until the next call. */
const char *files_call (Files *self, const char *tool, const char *arguments, ...)
G_GNUC_PRINTF (3, 4);
const char *files_call_json (Files *self, const char *tool, json_t *arguments);
json_int_t  files_int  (Files *self, const char *member);
bool        files_bool (Files *self, const char *member);

/* The same in a process of its own, whose peak of memory and duration are looked at. */
const char *files_call_bounded (Files *self, const char *tool, const char *arguments);

/* Fails unless the answer is an error in which @part stands, and <top>/outside is as
 * it was made. */
void files_assert_refused (Files *self, const char *part);
void files_assert_done    (Files *self);
void files_assert_outside (Files *self);

#define files_assert_has(text, part) \
  G_STMT_START { \
    if (strstr ((text), (part)) == NULL) \
      g_error ("%s:%d: \"%s\" is not in: %s", __FILE__, __LINE__, (part), (text)); \
  } G_STMT_END
#define files_assert_lacks(text, part) \
  G_STMT_START { \
    if (strstr ((text), (part)) != NULL) \
      g_error ("%s:%d: \"%s\" is in: %s", __FILE__, __LINE__, (part), (text)); \
  } G_STMT_END

void files_add_path_tests   (void);
void files_add_kind_tests   (void);
void files_add_bound_tests  (void);
void files_add_change_tests (void);
void files_add_text_tests   (void);
void files_add_search_tests (void);
