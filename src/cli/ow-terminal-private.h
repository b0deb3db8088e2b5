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

/* Gets a line that a person typed, valid UTF-8 whatever came, without its end; borrowed. NULL:
 * the input has ended and gives none any more. */
typedef void (*OwTerminalLine) (const char *line,
                                gpointer    user_data);
/* From here on @func (nullable: nobody) gets the lines that answer no question. */
void        ow_terminal_listen         (OwTerminalLine  func,
                                        gpointer        user_data);
/* Prints @question on stderr; @func gets the next line that is typed. One question at a time. */
void        ow_terminal_ask            (const char     *question,
                                        OwTerminalLine  func,
                                        gpointer        user_data);
/* The open question, if there is one, is answered elsewhere: its @func is not called. */
void        ow_terminal_withdraw       (void);

/* As ow_terminal_ask(), without showing what is typed: the terminal shows it again when the
 * line has come, and in whatever way the program ends before. */
void        ow_terminal_ask_secret     (const char     *question,
                                        OwTerminalLine  func,
                                        gpointer        user_data);
/* Shows again what is typed. */
void        ow_terminal_secret_restore (void);
