/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-terminal-private.h"

#include <gio/gunixinputstream.h>
#include <termios.h>
#include <unistd.h>

gboolean
ow_terminal_has_colour (void)
{
  static int has = -1;

  if (has < 0)
    has = isatty (STDOUT_FILENO) && g_getenv ("NO_COLOR") == NULL &&
          g_strcmp0 (g_getenv ("TERM"), "dumb") != 0;
  return has;
}

gboolean
ow_terminal_is_interactive (void)
{
  return isatty (STDIN_FILENO) && isatty (STDERR_FILENO);
}

char *
ow_terminal_style (OwStyle     style,
                   const char *text)
{
  static const char * const CODES[] = {
    [OW_STYLE_BOLD] = "1", [OW_STYLE_DIM] = "2", [OW_STYLE_GREEN] = "32",
    [OW_STYLE_RED] = "31", [OW_STYLE_YELLOW] = "33",
  };

  if (!ow_terminal_has_colour ())
    return g_strdup (text);
  return g_strdup_printf ("\033[%sm%s\033[0m", CODES[style], text);
}

void
ow_terminal_print (OwStyle     style,
                   const char *format,
                   ...)
{
  g_autofree char *text = NULL;
  g_autofree char *styled = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  styled = ow_terminal_style (style, text);
  g_print ("%s", styled);
}

/* What was typed before a question was there to be read is no answer to it. */
static void
forget_typed (GDataInputStream *input)
{
  gsize held = g_buffered_input_stream_get_available (G_BUFFERED_INPUT_STREAM (input));

  if (held > 0)
    g_input_stream_skip (G_INPUT_STREAM (input), held, NULL, NULL);
  tcflush (STDIN_FILENO, TCIFLUSH);
}

static void
line_read (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  char *line = g_data_input_stream_read_line_finish_utf8 (G_DATA_INPUT_STREAM (source), result,
                                                          NULL, &error);

  if (error != NULL)
    g_task_return_error (task, g_steal_pointer (&error));
  else
    g_task_return_pointer (task, line, g_free);
}

void
ow_terminal_ask_async (const char          *question,
                       GCancellable        *cancellable,
                       GAsyncReadyCallback  callback,
                       gpointer             user_data)
{
  static GDataInputStream *input;
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);

  g_task_set_source_tag (task, ow_terminal_ask_async);
  /* One reader for the life of the program, or what it buffered would come too late. */
  if (input == NULL)
    {
      g_autoptr (GInputStream) base = g_unix_input_stream_new (STDIN_FILENO, FALSE);

      input = g_data_input_stream_new (base);
    }
  forget_typed (input);
  g_printerr ("%s", question);
  g_data_input_stream_read_line_async (input, G_PRIORITY_DEFAULT, cancellable, line_read,
                                       g_steal_pointer (&task));
}

char *
ow_terminal_ask_finish (GAsyncResult  *result,
                        GError       **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
