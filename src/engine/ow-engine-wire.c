/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-wire-private.h"

#include <gio/gio.h>
#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"

#define MIN_ID_BYTES      16
#define MAX_ID_BYTES      64
#define MAX_MESSAGE_CHARS 8192

/* The place of a kind in this list is its number on the wire. */
static const OwErrorKind KINDS[] = {
  OW_ERROR_FAILED, OW_ERROR_USAGE, OW_ERROR_REFUSED, OW_ERROR_INTERRUPTED, OW_ERROR_TIMED_OUT,
  OW_ERROR_DATA,
};
#define FIRST_CODE (-32000)

gboolean
ow_engine_wire_is_id (const char *text)
{
  gsize length = text != NULL ? strlen (text) : 0;

  if (length < MIN_ID_BYTES || length > MAX_ID_BYTES)
    return FALSE;
  for (gsize i = 0; i < length; i++)
    if (!g_ascii_isxdigit (text[i]))
      return FALSE;
  return TRUE;
}

json_t *
ow_engine_wire_error (json_t       *id,
                      const GError *error)
{
  g_autofree char *text = ow_text_from_bytes (error->message, -1);
  int code = FIRST_CODE;

  for (guint i = 0; i < G_N_ELEMENTS (KINDS); i++)
    if (g_error_matches (error, OW_ERROR, (int) KINDS[i]))
      code = FIRST_CODE - (int) i;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    code = FIRST_CODE - 3;
  return ow_rpc_error (id, code, text, NULL);
}

void
ow_engine_wire_read_error (const json_t  *object,
                           GError       **error)
{
  json_int_t code = ow_json_get_int (object, "code", 0);
  g_autofree char *text = NULL;
  OwErrorKind kind = OW_ERROR_FAILED;

  text = ow_text_shorten (ow_json_get_string (object, "message", ""), MAX_MESSAGE_CHARS, FALSE);
  if (code <= FIRST_CODE && code > FIRST_CODE - (int) G_N_ELEMENTS (KINDS))
    kind = KINDS[FIRST_CODE - code];
  else if (code == OW_ENGINE_WIRE_BAD_PROTOCOL)
    kind = OW_ERROR_REFUSED;
  g_set_error_literal (error, OW_ERROR, (int) kind,
                       *text != '\0' ? text : "The engine gave no reason.");
}
