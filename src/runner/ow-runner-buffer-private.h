/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* A growing text that is always valid UTF-8 without NUL, whatever bytes are put in:
 * what is not text becomes \xNN. Within a piece that was escaped a backslash that
 * could be taken for such an escape becomes \x5c, so the bytes can be told back.
 *
 * It never grows over its cap: what does not fit whole is left out and @cut is set.
 * Memory that runs out ends the process, which is one call only. */
typedef struct {
  char  *data;   /* (owned) (nullable) */
  size_t length;
  size_t size;
  size_t max;
  bool   cut;
} OwRunnerBuffer;

void  ow_runner_buffer_init    (OwRunnerBuffer *self,
                                size_t          max);
void  ow_runner_buffer_clear   (OwRunnerBuffer *self);
/* (owned, malloc) the text; @self is empty afterwards. */
char *ow_runner_buffer_steal   (OwRunnerBuffer *self,
                                size_t         *length);
bool  ow_runner_buffer_append  (OwRunnerBuffer *self,
                                const char     *text);
bool  ow_runner_buffer_printf  (OwRunnerBuffer *self,
                                const char     *format,
                                ...) __attribute__ ((format (printf, 2, 3)));

/* Appends foreign bytes; @escaped (nullable) is set when something was escaped. */
bool  ow_runner_buffer_bytes   (OwRunnerBuffer *self,
                                const char     *data,
                                size_t          length,
                                bool           *escaped);

/* A file name made safe for a line of text: control characters are escaped too, and what
 * looks like an escape. (owned, malloc) */
char *ow_runner_buffer_name    (const char *name,
                                size_t      length);

/* (owned, malloc) the name that the above was made of. */
char *ow_runner_buffer_unname  (const char *name,
                                size_t      length,
                                size_t     *bytes);

/* "1.5 MB" (owned, malloc) */
char  *ow_runner_buffer_size   (unsigned long long bytes);

/* Never return NULL. */
void  *ow_runner_buffer_alloc  (size_t size);
void  *ow_runner_buffer_resize (void  *memory,
                                size_t size);
char  *ow_runner_buffer_copy   (const char *data,
                                size_t      length);
