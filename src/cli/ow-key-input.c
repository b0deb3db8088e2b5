/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-key-input-private.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <unistd.h>

#include "ow-output-private.h"
#include "ow-terminal-private.h"

/* No provider's key comes near it. */
#define KEY_MAX_BYTES 8192

/* One key a program. */
static struct
{
  OwFace         *face;
  OwKeyInputFunc  func;
  gpointer        user_data;
  char            data[KEY_MAX_BYTES + 2]; /* with a line end of two bytes */
  gsize           length;
} input;

static void
refuse (const char *why)
{
  explicit_bzero (input.data, sizeof input.data);
  ow_face_usage (input.face, "This is no key: %s.", why);
}

/* What is wrong with a key is never said with the key. */
static void
hand_over (gboolean may_be_empty)
{
  gsize length = input.length;

  if (length > 0 && input.data[length - 1] == '\n')
    length--;
  if (length > 0 && input.data[length - 1] == '\r')
    length--;
  if (length == 0 && !may_be_empty)
    {
      refuse ("nothing came on standard input");
      return;
    }
  if (length > KEY_MAX_BYTES)
    {
      refuse ("it is longer than 8,192 bytes");
      return;
    }
  for (gsize i = 0; i < length; i++)
    if (input.data[i] <= ' ' || input.data[i] >= 0x7f)
      {
        refuse ("it has a space, a line end or a character that is not ASCII, and keys have none");
        return;
      }
  input.data[length] = '\0';
  input.func (input.face, length > 0 ? input.data : NULL, input.user_data);
  explicit_bzero (input.data, sizeof input.data);
}

static gboolean
on_readable (int          fd,
             GIOCondition condition,
             gpointer     user_data)
{
  gsize room = sizeof input.data - input.length;
  ssize_t n = read (fd, input.data + input.length, room);

  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return G_SOURCE_CONTINUE;
  if (n > 0)
    input.length += (gsize) n;
  if (n > 0 && input.length < sizeof input.data)
    return G_SOURCE_CONTINUE;
  if (n < 0)
    refuse ("standard input cannot be read");
  else
    hand_over (FALSE);
  return G_SOURCE_REMOVE;
}

static gboolean
on_interrupt (gpointer user_data)
{
  ow_terminal_secret_restore ();
  g_printerr ("\nopenworker: Interrupted: nothing was added.\n");
  ow_face_finish (input.face, 130);
  return G_SOURCE_CONTINUE;
}

static void
on_typed (const char *line,
          gpointer    user_data)
{
  if (line == NULL)
    {
      on_interrupt (NULL);
      return;
    }
  input.length = MIN (strlen (line), sizeof input.data - 1);
  memcpy (input.data, line, input.length);
  hand_over (TRUE);
}

void
ow_key_input_read (OwFace         *face,
                   gboolean        from_stdin,
                   OwKeyInputFunc  func,
                   gpointer        user_data)
{
  input.face = face;
  input.func = func;
  input.user_data = user_data;
  if (from_stdin && isatty (STDIN_FILENO))
    from_stdin = FALSE;
  if (from_stdin)
    {
      g_unix_fd_add (STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, NULL);
    }
  else if (ow_terminal_is_interactive ())
    {
      ow_output_watch (on_interrupt, NULL);
      ow_terminal_ask_secret ("Key of the model (not shown; empty: it needs none): ", on_typed,
                              NULL);
    }
  else
    {
      func (face, NULL, user_data);
    }
}
