/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "wire/ow-json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool
fail (char        error[OW_WIRE_ERROR_SIZE],
      const char *sentence)
{
  if (error != NULL)
    snprintf (error, OW_WIRE_ERROR_SIZE, "%s", sentence);
  return false;
}

/* The limits that jansson does not have, checked in one pass without recursion and
 * without memory: its parser recurses once a level and allocates for every value, so
 * a text that is over a limit must never reach it. The pass may misread a text that
 * is no JSON; that one jansson refuses. */
static bool
check_limits (const char *data,
              size_t      length,
              char        error[OW_WIRE_ERROR_SIZE])
{
  unsigned int depth = 0;
  unsigned int values = 1;
  bool in_string = false;

  for (size_t i = 0; i < length; i++)
    {
      char c = data[i];

      if (c == '\0')
        return fail (error, "The JSON text holds a NUL byte.");
      if (in_string)
        {
          if (c == '\\' && i + 1 < length && data[i + 1] != '\0')
            i++;
          else if (c == '"')
            in_string = false;
          continue;
        }
      if (c == '"')
        in_string = true;
      else if ((c == '[' || c == '{') && ++depth > OW_JSON_MAX_DEPTH)
        return fail (error, "The JSON text is nested too deep.");
      else if ((c == ']' || c == '}') && depth > 0)
        depth--;
      if ((c == '[' || c == '{' || c == ',') && ++values > OW_JSON_MAX_VALUES)
        return fail (error, "The JSON text holds too many values.");
    }
  return true;
}

/* jansson quotes what stands near the fault; that is the peer's text and may hold
 * anything, so only its plain characters are passed on. */
static void
describe_fault (const json_error_t *fault,
                char                error[OW_WIRE_ERROR_SIZE])
{
  if (error == NULL)
    return;
  snprintf (error, OW_WIRE_ERROR_SIZE, "The text is not valid JSON at byte %d: %.100s.",
            fault->position, fault->text);
  for (char *p = error; *p != '\0'; p++)
    {
      if (*p < ' ' || *p > '~')
        *p = '?';
    }
}

json_t *
ow_json_parse (const char *data,
               size_t      length,
               char        error[OW_WIRE_ERROR_SIZE])
{
  json_error_t fault;
  json_t *value;

  if (length == 0)
    {
      fail (error, "The JSON text is empty.");
      return NULL;
    }
  if (length >= 3 && memcmp (data, "\xef\xbb\xbf", 3) == 0)
    {
      fail (error, "The JSON text begins with a byte-order mark.");
      return NULL;
    }
  if (!check_limits (data, length, error))
    return NULL;

  value = json_loadb (data, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
  if (value == NULL)
    describe_fault (&fault, error);
  return value;
}

static char *
dump (const json_t *value,
      size_t        flags,
      size_t       *length)
{
  char *text = value != NULL ? json_dumps (value, flags | JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

  if (length != NULL)
    *length = text != NULL ? strlen (text) : 0;
  return text;
}

char *
ow_json_dump (const json_t *value,
              size_t       *length)
{
  return dump (value, 0, length);
}

char *
ow_json_dump_canonical (const json_t *value,
                        size_t       *length)
{
  return dump (value, JSON_SORT_KEYS, length);
}

/* What stands after the backslash of a byte; 'u': it has no letter, 0: it needs none. */
static char
escape_of (unsigned char byte)
{
  static const char letters[0x20] = {
    ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't',
  };

  if (byte >= 0x20)
    return byte == '"' || byte == '\\' ? (char) byte : 0;
  return letters[byte] != 0 ? letters[byte] : 'u';
}

size_t
ow_json_string_size (const char *text,
                     size_t      length)
{
  size_t size = length + 2;

  for (size_t i = 0; i < length; i++)
    {
      char escape = escape_of ((unsigned char) text[i]);

      size += escape == 0 ? 0 : escape == 'u' ? 5 : 1;
    }
  return size;
}

size_t
ow_json_write_string (char       *out,
                      const char *text,
                      size_t      length)
{
  static const char digits[] = "0123456789abcdef";
  char *at = out;

  *at++ = '"';
  for (size_t i = 0; i < length; i++)
    {
      unsigned char byte = (unsigned char) text[i];
      char escape = escape_of (byte);

      if (escape == 0)
        {
          *at++ = text[i];
          continue;
        }
      *at++ = '\\';
      *at++ = escape;
      if (escape != 'u')
        continue;
      *at++ = '0';
      *at++ = '0';
      *at++ = digits[byte >> 4];
      *at++ = digits[byte & 15];
    }
  *at++ = '"';
  return (size_t) (at - out);
}

const char *
ow_json_get_string (const json_t *object,
                    const char   *key,
                    const char   *fallback)
{
  const json_t *member = json_object_get (object, key);

  return json_is_string (member) ? json_string_value (member) : fallback;
}

json_int_t
ow_json_get_int (const json_t *object,
                 const char   *key,
                 json_int_t    fallback)
{
  const json_t *member = json_object_get (object, key);

  return json_is_integer (member) ? json_integer_value (member) : fallback;
}

int
ow_json_get_bool (const json_t *object,
                  const char   *key,
                  int           fallback)
{
  const json_t *member = json_object_get (object, key);

  return json_is_boolean (member) ? json_is_true (member) : fallback;
}
