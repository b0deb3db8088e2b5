/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Foreign text made safe to show. Any thread; results are transfer full. */

/* Valid UTF-8 from any bytes: what is not becomes U+FFFD; NUL becomes U+2400. */
char *ow_text_from_bytes (const char *data, gssize length);

/* For a terminal or a label: C0 (but newline and tab), DEL and C1 controls become
 * caret or \x notation, bidi controls and invisible characters become \u{XXXX}, so nothing in it
 * can move the cursor, hide text or reach the clipboard. */
char *ow_text_visible    (const char *text);

/* For JSON on a terminal: the same characters, where they stand in a text of valid @json, as the
 * \u escapes of JSON, so that what reads it gets them all the same. */
char *ow_text_escape_json (const char *json);

/* Takes ANSI escape sequences (CSI, OSC, single shifts) off. */
char *ow_text_strip_ansi (const char *text);

/* At most @max_chars characters, the end replaced by "…" when cut; never in the
 * middle of a character. One line when @one_line: newlines become spaces. */
char *ow_text_shorten    (const char *text, gsize max_chars, gboolean one_line);
