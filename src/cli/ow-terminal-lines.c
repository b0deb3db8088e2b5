/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-terminal-private.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/ow-text.h"

/* A line that is longer is no answer and no message. */
#define LINE_MAX_BYTES (64 * 1024)
/* What stands for it where a question is open: no word that any question takes. */
#define NO_ANSWER "\357\277\275"
/* How often a program in the background looks whether it came to the front. */
#define FRONT_MS 300

/* The one reader of stdin, for the life of the program: what another had buffered would
 * come too late. */
static struct
{
  guint           source;    /* 0: not reading */
  GString        *partial;   /* (owned) (nullable) a line without its end */
  gboolean        too_long;
  gboolean        ended;
  OwTerminalLine  listener;  /* (nullable) */
  gpointer        listener_data;
  OwTerminalLine  asker;     /* (nullable) of the open question */
  gpointer        asker_data;
} input;

static void start_reading (void);

/* Reading, or throwing away what was typed, stops a program in the background. */
static gboolean
is_in_front (void)
{
  pid_t front = tcgetpgrp (STDIN_FILENO);

  return front < 0 || front == getpgrp ();
}

static void
hand_over (const char *line)
{
  OwTerminalLine func = input.asker;

  if (func != NULL)
    {
      input.asker = NULL;
      func (line, input.asker_data);
    }
  else if (input.listener != NULL)
    {
      input.listener (line, input.listener_data);
    }
}

static void
end_line (void)
{
  g_autofree char *line = ow_text_from_bytes (input.partial->str, (gssize) input.partial->len);
  gboolean too_long = input.too_long;

  explicit_bzero (input.partial->str, input.partial->len);
  g_string_truncate (input.partial, 0);
  input.too_long = FALSE;
  if (too_long)
    g_printerr ("openworker: A line of more than %d bytes was not taken.\n", LINE_MAX_BYTES);
  if (!too_long)
    hand_over (line);
  else if (input.asker != NULL)
    hand_over (NO_ANSWER);
  explicit_bzero (line, strlen (line));
}

static void
take (const char *data,
      gsize       length)
{
  while (length > 0)
    {
      const char *end = memchr (data, '\n', length);
      gsize n = end != NULL ? (gsize) (end - data) : length;

      if (input.partial->len + n > LINE_MAX_BYTES)
        input.too_long = TRUE;
      else
        g_string_append_len (input.partial, data, (gssize) n);
      if (end == NULL)
        return;
      end_line ();
      data += n + 1;
      length -= n + 1;
    }
}

static gboolean
look_again (gpointer user_data)
{
  input.source = 0;
  start_reading ();
  return G_SOURCE_REMOVE;
}

static gboolean
on_readable (int          fd,
             GIOCondition condition,
             gpointer     user_data)
{
  char data[4096];
  ssize_t n;

  if (input.asker == NULL && input.listener == NULL)
    {
      input.source = 0;
      return G_SOURCE_REMOVE;
    }
  if (!is_in_front ())
    {
      input.source = g_timeout_add (FRONT_MS, look_again, NULL);
      return G_SOURCE_REMOVE;
    }
  n = read (fd, data, sizeof data);
  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return G_SOURCE_CONTINUE;
  if (n > 0)
    {
      take (data, (gsize) n);
      explicit_bzero (data, sizeof data);
      return G_SOURCE_CONTINUE;
    }
  input.source = 0;
  input.ended = TRUE;
  hand_over (NULL);
  return G_SOURCE_REMOVE;
}

static gboolean
say_ended (gpointer user_data)
{
  hand_over (NULL);
  return G_SOURCE_REMOVE;
}

static void
start_reading (void)
{
  if (input.partial == NULL)
    input.partial = g_string_sized_new (4096);
  if (input.source != 0)
    return;
  if (input.ended)
    g_idle_add (say_ended, NULL);
  else
    input.source = g_unix_fd_add (STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, NULL);
}

void
ow_terminal_listen (OwTerminalLine func,
                    gpointer       user_data)
{
  input.listener = func;
  input.listener_data = user_data;
  if (func != NULL && !input.ended)
    start_reading ();
}

void
ow_terminal_ask (const char     *question,
                 OwTerminalLine  func,
                 gpointer        user_data)
{
  input.asker = func;
  input.asker_data = user_data;
  /* What was typed before a question was there to be read is no answer to it. */
  if (input.partial != NULL)
    g_string_truncate (input.partial, 0);
  if (is_in_front ())
    tcflush (STDIN_FILENO, TCIFLUSH);
  g_printerr ("%s", question);
  start_reading ();
}

void
ow_terminal_withdraw (void)
{
  input.asker = NULL;
}
