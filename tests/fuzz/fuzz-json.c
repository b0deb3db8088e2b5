/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/ow-json.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* What is accepted can be written, and what was written is read as the same value. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  char error[OW_WIRE_ERROR_SIZE] = "";
  json_t *value = ow_json_parse ((const char *) data, size, error);
  json_t *again;
  size_t length;
  char *text;

  if (value == NULL)
    {
      /* A refusal says why, in one terminated sentence. */
      if (error[0] == '\0' || memchr (error, '\0', sizeof error) == NULL)
        abort ();
      return 0;
    }
  text = ow_json_dump (value, &length);
  if (text == NULL || strlen (text) != length || memchr (text, '\n', length) != NULL)
    abort ();
  again = ow_json_parse (text, length, error);
  if (again == NULL || !json_equal (value, again))
    abort ();
  json_decref (again);
  json_decref (value);
  free (text);
  return 0;
}
