/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* The terminal that the person sits at, when there is one. Main thread. */

/* Colours only where a person sees them: stdout is a terminal, NO_COLOR is not set,
 * TERM is not dumb. */
gboolean    ow_terminal_has_colour     (void);
/* Somebody can be asked: stdin and stderr are terminals. */
gboolean    ow_terminal_is_interactive (void);

typedef enum { OW_STYLE_BOLD, OW_STYLE_DIM, OW_STYLE_GREEN, OW_STYLE_RED, OW_STYLE_YELLOW } OwStyle;
/* @text in that style, or as it is without colours. (transfer full) */
char       *ow_terminal_style          (OwStyle     style,
                                        const char *text);

/* Prints in that style on stdout. */
void        ow_terminal_print          (OwStyle     style,
                                        const char *format,
                                        ...) G_GNUC_PRINTF (2, 3);

/* Prints @question on stderr and reads one line from stdin without blocking the main loop.
 * The line is NULL at the end of input. */
void        ow_terminal_ask_async      (const char          *question,
                                        GCancellable        *cancellable,
                                        GAsyncReadyCallback  callback,
                                        gpointer             user_data);
char       *ow_terminal_ask_finish     (GAsyncResult        *result,
                                        GError             **error);
