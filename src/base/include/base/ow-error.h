/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Errors that a person reads have three parts: what happened, why, what to do next.
 * All rooms share one GError domain: what callers ask of an error is its kind, which also
 * decides an exit status. */

typedef enum {
  OW_ERROR_FAILED,      /* it was tried and did not work: exit 1 */
  OW_ERROR_USAGE,       /* what was asked for makes no sense: exit 2 */
  OW_ERROR_REFUSED,     /* the wall or a rule forbids it: exit 69 */
  OW_ERROR_INTERRUPTED, /* stopped by a person, or lost half-way: exit 130 */
  OW_ERROR_TIMED_OUT,   /* a deadline passed: exit 1 */
  OW_ERROR_DATA,        /* a file or message is not what it should be: exit 1 */
} OwErrorKind;

#define OW_ERROR (ow_error_quark ())
GQuark ow_error_quark (void);

/* Sets @error in OW_ERROR with the three parts joined as "What: why. Next." @why and
 * @next may be NULL. @error may be NULL. */
void ow_error_set (GError      **error,
                   OwErrorKind   kind,
                   const char   *what,
                   const char   *why,
                   const char   *next);
/* The same with formatted parts kept apart by the caller: @next is literal. */
void ow_error_setf (GError      **error,
                    OwErrorKind   kind,
                    const char   *next,
                    const char   *format,
                    ...) G_GNUC_PRINTF (4, 5);

/* The exit status that docs/commands.md gives for @error. */
int ow_error_exit_status (const GError *error);
