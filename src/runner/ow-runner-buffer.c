/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-buffer-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-utf8-private.h"

void *
ow_runner_buffer_alloc (size_t size)
{
  return ow_runner_buffer_resize (NULL, size);
}

void *
ow_runner_buffer_resize (void  *memory,
                         size_t size)
{
  void *resized = realloc (memory, size > 0 ? size : 1);

  if (resized == NULL)
    abort ();
  return resized;
}

char *
ow_runner_buffer_copy (const char *data,
                       size_t      length)
{
  char *copy = ow_runner_buffer_alloc (length + 1);

  if (length > 0)
    memcpy (copy, data, length);
  copy[length] = '\0';
  return copy;
}

void
ow_runner_buffer_init (OwRunnerBuffer *self,
                       size_t          max)
{
  memset (self, 0, sizeof *self);
  self->max = max;
}

void
ow_runner_buffer_clear (OwRunnerBuffer *self)
{
  free (self->data);
  memset (self, 0, sizeof *self);
}

char *
ow_runner_buffer_steal (OwRunnerBuffer *self,
                        size_t         *length)
{
  char *data = self->data != NULL ? self->data : ow_runner_buffer_copy ("", 0);

  if (length != NULL)
    *length = self->length;
  data[self->length] = '\0';
  memset (self, 0, sizeof *self);
  return data;
}

static bool
put (OwRunnerBuffer *self,
     const char     *data,
     size_t          length)
{
  if (self->length > self->max || length > self->max - self->length)
    {
      self->cut = true;
      return false;
    }
  if (self->length + length + 1 > self->size)
    {
      self->size = (self->length + length + 1) * 2;
      self->data = ow_runner_buffer_resize (self->data, self->size);
    }
  if (length > 0)
    memcpy (self->data + self->length, data, length);
  self->length += length;
  self->data[self->length] = '\0';
  return true;
}

bool
ow_runner_buffer_append (OwRunnerBuffer *self,
                         const char     *text)
{
  return put (self, text, strlen (text));
}

bool
ow_runner_buffer_printf (OwRunnerBuffer *self,
                         const char     *format,
                         ...)
{
  char *text = NULL;
  va_list arguments;
  int length;
  bool done;

  va_start (arguments, format);
  length = vasprintf (&text, format, arguments);
  va_end (arguments);
  if (length < 0)
    abort ();
  done = put (self, text, (size_t) length);
  free (text);
  return done;
}

static bool
is_hex (char byte)
{
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
         (byte >= 'A' && byte <= 'F');
}

static bool
looks_escaped (const char *data,
               size_t      length)
{
  return length >= 4 && data[0] == '\\' && data[1] == 'x' && is_hex (data[2]) &&
         is_hex (data[3]);
}

static bool
put_escaped (OwRunnerBuffer *self,
             const char     *data,
             size_t          length,
             bool            controls)
{
  for (size_t at = 0; at < length;)
    {
      size_t n = ow_runner_utf8_char (data + at, length - at);
      unsigned char byte = (unsigned char) data[at];
      char escape[8];

      if (n == 0 || looks_escaped (data + at, length - at) ||
          (controls && (byte < 0x20 || byte == 0x7f)))
        {
          snprintf (escape, sizeof escape, "\\x%02x", byte);
          if (!put (self, escape, 4))
            return false;
          at += 1;
        }
      else
        {
          if (!put (self, data + at, n))
            return false;
          at += n;
        }
    }
  return true;
}

bool
ow_runner_buffer_bytes (OwRunnerBuffer *self,
                        const char     *data,
                        size_t          length,
                        bool           *escaped)
{
  if (ow_runner_utf8_is_valid (data, length))
    return put (self, data, length);
  if (escaped != NULL)
    *escaped = true;
  return put_escaped (self, data, length, false);
}

char *
ow_runner_buffer_name (const char *name,
                       size_t      length)
{
  OwRunnerBuffer text;
  bool plain = ow_runner_utf8_is_valid (name, length);

  for (size_t i = 0; plain && i < length; i++)
    plain = (unsigned char) name[i] >= 0x20 && name[i] != 0x7f &&
            !looks_escaped (name + i, length - i);
  if (plain)
    return ow_runner_buffer_copy (name, length);
  ow_runner_buffer_init (&text, length * 4 + 1);
  put_escaped (&text, name, length, true);
  return ow_runner_buffer_steal (&text, NULL);
}

static unsigned
hex_value (char digit)
{
  return digit <= '9' ? (unsigned) (digit - '0') : (unsigned) ((digit | 0x20) - 'a' + 10);
}

/* Only what a name is written with. A letter that is written so would be one that a person who is
 * asked about the path does not read. */
static bool
is_unnamed (char byte)
{
  return (unsigned char) byte < 0x20 || (unsigned char) byte >= 0x7f || byte == '\\';
}

char *
ow_runner_buffer_unname (const char *name,
                         size_t      length,
                         size_t     *bytes)
{
  char *data = ow_runner_buffer_alloc (length + 1);
  size_t n = 0;

  for (size_t at = 0; at < length;)
    {
      bool escaped = looks_escaped (name + at, length - at);
      char byte = escaped ? (char) (hex_value (name[at + 2]) << 4 | hex_value (name[at + 3])) : 0;

      escaped = escaped && is_unnamed (byte);
      data[n++] = escaped ? byte : name[at];
      at += escaped ? 4 : 1;
    }
  data[n] = '\0';
  *bytes = n;
  return data;
}

char *
ow_runner_buffer_size (unsigned long long bytes)
{
  static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
  double value = (double) bytes / 1000.0;
  char *text = NULL;
  size_t unit = 0;
  int length;

  if (bytes < 1000)
    {
      length = asprintf (&text, "%llu byte%s", bytes, bytes == 1 ? "" : "s");
    }
  else
    {
      for (; value >= 999.95 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        value /= 1000.0;
      length = asprintf (&text, "%.1f %s", value, units[unit]);
    }
  if (length < 0)
    abort ();
  return text;
}
