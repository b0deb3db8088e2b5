/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one call's processes write: the text of its result (head and tail are kept, the
 * middle is counted) and, where somebody listens, the messages that go out while it
 * runs (a slow reader loses the middle). Memory is bounded whatever is written.
 *
 * Pure: no descriptor, no clock. */

#define OW_RUNNER_OUTPUT_MESSAGE_MAX (32u * 1024u)
#define OW_RUNNER_OUTPUT_WAITING_MAX (256u * 1024u)

typedef enum {
  OW_RUNNER_STDOUT,
  OW_RUNNER_STDERR,
} OwRunnerStream;

typedef struct {
  OwRunnerStream stream;
  const char    *data;    /* valid until the output is next used */
  size_t         length;
  bool           is_text; /* UTF-8 without NUL */
} OwRunnerMessage;

typedef struct _OwRunnerOutput OwRunnerOutput;

/* @live: whether messages are wanted. @text_max: most bytes of the result's text.
 * @waiting_max: most bytes that wait for messages; beyond it the middle is dropped. */
OwRunnerOutput *ow_runner_output_new  (bool            live,
                                       size_t          text_max,
                                       size_t          waiting_max);
void            ow_runner_output_free (OwRunnerOutput *self);

void ow_runner_output_add (OwRunnerOutput *self,
                           OwRunnerStream  stream,
                           const char     *data,
                           size_t          length);

/* Whether what comes next goes into the text's tail only. */
bool ow_runner_output_is_full (const OwRunnerOutput *self);

/* @length bytes were written that nobody looked at. Meant where at least as many as the
 * tail holds are added next, or text would be missing there without a word. */
void ow_runner_output_skip (OwRunnerOutput *self,
                            uint64_t        length);

/* Takes the next message. A character that is not whole yet is held back for the
 * message after, unless this is the @last round. Returns false when there is none. */
bool ow_runner_output_take (OwRunnerOutput  *self,
                            bool             last,
                            OwRunnerMessage *message);

/* What the waiting bytes take, in bytes. */
size_t ow_runner_output_get_waiting (const OwRunnerOutput *self);

/* Whether bytes wait that are not just the beginning of a character. */
bool ow_runner_output_has_waiting (const OwRunnerOutput *self);

/* Returns: (owned, free()) what was written, both streams as they came, as valid UTF-8
 * without NUL. Where the middle is left out a line says how much. */
char *ow_runner_output_text (OwRunnerOutput *self,
                             size_t         *length);

/* All bytes seen; those that no message carried; those left out of the text (known
 * after ow_runner_output_text()). */
uint64_t ow_runner_output_get_bytes   (const OwRunnerOutput *self);
uint64_t ow_runner_output_get_dropped (const OwRunnerOutput *self);
uint64_t ow_runner_output_get_cut     (const OwRunnerOutput *self);
