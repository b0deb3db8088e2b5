/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-error.h"

#include <gio/gio.h>
#include <string.h>

#define EXIT_FAILED      1
#define EXIT_USAGE       2
#define EXIT_UNAVAILABLE 69
#define EXIT_INTERRUPTED 130

G_DEFINE_QUARK (ow - error - quark, ow_error)

/* Parts arrive with and without a full stop; the joint text has one between two. */
static void
append_part (GString    *text,
             const char *separator,
             const char *part)
{
  gsize length;

  if (part == NULL || *part == '\0')
    return;

  if (text->len > 0)
    {
      if (*separator == ':')
        while (text->len > 0 && text->str[text->len - 1] == '.')
          g_string_truncate (text, text->len - 1);
      else if (strchr (".!?", text->str[text->len - 1]) == NULL)
        g_string_append_c (text, '.');
      g_string_append (text, *separator == ':' ? ": " : " ");
    }

  length = strlen (part);
  while (length > 0 && g_ascii_isspace (part[length - 1]))
    length--;
  g_string_append_len (text, part, length);
}

static char *
join_parts (const char *what,
            const char *why,
            const char *next)
{
  GString *text = g_string_new (NULL);

  append_part (text, ":", what);
  append_part (text, ":", why);
  append_part (text, ".", next);
  if (next != NULL && text->len > 0 && strchr (".!?", text->str[text->len - 1]) == NULL)
    g_string_append_c (text, '.');

  return g_string_free (text, FALSE);
}

void
ow_error_set (GError      **error,
              OwErrorKind   kind,
              const char   *what,
              const char   *why,
              const char   *next)
{
  g_autofree char *message = NULL;

  if (error == NULL)
    return;

  message = join_parts (what, why, next);
  g_set_error_literal (error, OW_ERROR, (int) kind, message);
}

void
ow_error_setf (GError      **error,
               OwErrorKind   kind,
               const char   *next,
               const char   *format,
               ...)
{
  g_autofree char *what = NULL;
  va_list args;

  if (error == NULL)
    return;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);

  ow_error_set (error, kind, what, NULL, next);
}

int
ow_error_exit_status (const GError *error)
{
  if (error == NULL)
    return 0;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return EXIT_INTERRUPTED;
  if (error->domain != OW_ERROR)
    return EXIT_FAILED;

  switch ((OwErrorKind) error->code)
    {
    case OW_ERROR_USAGE:
      return EXIT_USAGE;
    case OW_ERROR_REFUSED:
      return EXIT_UNAVAILABLE;
    case OW_ERROR_INTERRUPTED:
      return EXIT_INTERRUPTED;
    case OW_ERROR_FAILED:
    case OW_ERROR_TIMED_OUT:
    case OW_ERROR_DATA:
      break;
    }

  return EXIT_FAILED;
}
