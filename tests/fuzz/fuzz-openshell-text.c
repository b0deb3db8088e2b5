/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "openshell/ow-openshell-logs.h"
#include "openshell/ow-openshell-mounts.h"
#include "openshell/ow-openshell-names.h"
#include "openshell/ow-openshell.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* One line, valid, and nothing in it that a terminal would act on. */
static void
check_safe (const char *text)
{
  if (!g_utf8_validate (text, -1, NULL))
    abort ();
  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (c < 0x20 || (c >= 0x7F && c <= 0x9F))
        abort ();
    }
}

static void
check_error_text (const uint8_t *data,
                  size_t         size,
                  const char    *text)
{
  g_autofree char *plain = ow_openshell_text_plain ((const char *) data, (gssize) size);
  OwOpenshellFault fault = ow_openshell_fault_of_text (text);

  check_safe (plain);
  if (fault == OW_OPENSHELL_FAULT_NONE || fault > OW_OPENSHELL_FAULT_OTHER)
    abort ();
}

/* Ready only where it says so itself. */
static void
check_status (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwOpenshellStatus) status = ow_openshell_status_from_text (text, &error);

  if ((status == NULL) != (error != NULL))
    abort ();
  if (error != NULL)
    {
      if (error->domain != OW_OPENSHELL_ERROR)
        abort ();
      check_safe (error->message);
      return;
    }
  check_safe (status->gateway);
  check_safe (status->server);
  check_safe (status->version);
  if (strcmp (status->authentication, "authenticated") != 0 &&
      strcmp (status->authentication, "not_required") != 0)
    abort ();
}

static void
check_refusal (const char *text)
{
  g_autoptr (OwOpenshellRefusal) refusal = ow_openshell_refusal_from_line (text);

  if (refusal == NULL)
    return;
  if (refusal->port == 0 || *refusal->host == '\0' || refusal->time_ms < 0)
    abort ();
  for (const char *p = refusal->host; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("-._:[]", *p) == NULL)
      abort ();
  if (refusal->engine != NULL && g_str_has_prefix (refusal->engine, "l7"))
    abort ();
}

static void
check_names (const char *text)
{
  g_autofree char *label = ow_openshell_label_from_text (text);
  OwOpenshellMount mount = { text, text, TRUE };
  g_autofree char *json = ow_openshell_mounts_to_json ("docker", &mount, 1, FALSE, NULL);

  if (!ow_openshell_label_is_valid (label))
    abort ();
  if (ow_openshell_name_is_valid (text) && !ow_openshell_label_is_valid (text))
    abort ();
  if (json != NULL && (text[0] != '/' || strpbrk (text, ":\n\r\t") != NULL))
    abort ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autofree char *text = g_malloc (size + 1);

  if (size > 0)
    memcpy (text, data, size);
  text[size] = '\0';
  check_error_text (data, size, text);
  check_status (text);
  check_refusal (text);
  check_names (text);
  return 0;
}
