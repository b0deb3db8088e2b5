/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-args-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
ow_runner_args_fail (OwRunnerToolResult *result,
                     const char         *format,
                     ...)
{
  OwRunnerBuffer text;
  char *message = NULL;
  va_list arguments;
  int length;

  va_start (arguments, format);
  length = vasprintf (&message, format, arguments);
  va_end (arguments);
  if (length < 0)
    abort ();

  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  ow_runner_buffer_bytes (&text, message, (size_t) length, NULL);
  free (message);
  free (result->text);
  result->text = ow_runner_buffer_steal (&text, &result->length);
  result->is_error = true;
}

void
ow_runner_args_answer (OwRunnerToolResult *result,
                       OwRunnerBuffer       *text,
                       json_t             *structured)
{
  free (result->text);
  result->text = ow_runner_buffer_steal (text, &result->length);
  json_decref (result->structured);
  result->structured = structured;
}

bool
ow_runner_args_string_or (const json_t       *arguments,
                          const char         *key,
                          const char        **value,
                          size_t             *length,
                          OwRunnerToolResult *result)
{
  const json_t *member = json_object_get (arguments, key);

  if (member == NULL || json_is_null (member))
    return true;
  if (!json_is_string (member))
    {
      ow_runner_args_fail (result, "The argument \"%s\" must be a text. Send the call again with "
                           "one.", key);
      return false;
    }
  *value = json_string_value (member);
  *length = json_string_length (member);
  return true;
}

bool
ow_runner_args_string (const json_t       *arguments,
                       const char         *key,
                       const char        **value,
                       size_t             *length,
                       OwRunnerToolResult *result)
{
  *value = NULL;
  *length = 0;
  if (!ow_runner_args_string_or (arguments, key, value, length, result))
    return false;
  if (*value == NULL)
    ow_runner_args_fail (result, "The argument \"%s\" is missing, so nothing was done. Send the "
                         "call again with it.", key);
  return *value != NULL;
}

bool
ow_runner_args_int (const json_t       *arguments,
                    const char         *key,
                    json_int_t          min,
                    json_int_t          max,
                    json_int_t         *value,
                    OwRunnerToolResult *result)
{
  const json_t *member = json_object_get (arguments, key);

  if (member == NULL || json_is_null (member))
    return true;
  if (!json_is_integer (member) || json_integer_value (member) < min ||
      json_integer_value (member) > max)
    {
      ow_runner_args_fail (result, "The argument \"%s\" must be a whole number from %lld to %lld. "
                           "Send the call again with one.", key, (long long) min, (long long) max);
      return false;
    }
  *value = json_integer_value (member);
  return true;
}

bool
ow_runner_args_bool (const json_t       *arguments,
                     const char         *key,
                     bool               *value,
                     OwRunnerToolResult *result)
{
  const json_t *member = json_object_get (arguments, key);

  if (member == NULL || json_is_null (member))
    return true;
  if (!json_is_boolean (member))
    {
      ow_runner_args_fail (result, "The argument \"%s\" must be true or false. Send the call "
                           "again with one of them.", key);
      return false;
    }
  *value = json_is_true (member);
  return true;
}
