/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-output-private.h"

#include <errno.h>
#include <glib-unix.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* How long one who does not read is waited for once there was an interrupt. */
#define HURRY_MS 1000

/* Stands in front of each line of a text that has several. */
#define LINE_MARK "  │ "

/* Of the signal handler, which can be given no data. */
static int interrupt_fd = -1;
static volatile sig_atomic_t interrupted;

static int faults[3];

void
ow_output_interrupt (void)
{
  const guint64 one = 1;
  int code = errno;

  interrupted = 1;
  if (write (interrupt_fd, &one, sizeof one) < 0)
    errno = code;
  errno = code;
}

static void
on_signal (int number)
{
  ow_output_interrupt ();
}

static struct
{
  GSourceFunc func;
  gpointer    user_data;
} watch;

static gboolean
on_interrupted (int          fd,
                GIOCondition condition,
                gpointer     user_data)
{
  guint64 count = 0;

  while (read (fd, &count, sizeof count) == (ssize_t) sizeof count)
    for (guint64 i = 0; i < count; i++)
      watch.func (watch.user_data);
  return G_SOURCE_CONTINUE;
}

void
ow_output_watch (GSourceFunc func,
                 gpointer    user_data)
{
  struct sigaction action = { .sa_handler = on_signal };
  struct sigaction old;

  watch.func = func;
  watch.user_data = user_data;
  if (interrupt_fd >= 0)
    return;
  interrupt_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (interrupt_fd < 0)
    return; /* a signal then ends the program, as it does where nobody watches */
  sigaction (SIGINT, &action, NULL);
  sigaction (SIGTERM, &action, NULL);
  /* Who started it with nohup wants it to go on. */
  if (sigaction (SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
    sigaction (SIGHUP, &action, NULL);
  g_unix_fd_add_full (G_PRIORITY_HIGH, interrupt_fd, G_IO_IN, on_interrupted, NULL, NULL);
}

/* A wait that a signal ends: the main loop, which answers signals, stands still meanwhile. */
static gboolean
wait_for_room (int fd)
{
  gboolean hurry = interrupted != 0;

  for (;;)
    {
      struct pollfd fds[] = {
        { .fd = fd, .events = POLLOUT },
        { .fd = hurry ? -1 : interrupt_fd, .events = POLLIN },
      };
      int n = poll (fds, G_N_ELEMENTS (fds), hurry ? HURRY_MS : -1);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          errno = n == 0 ? ETIMEDOUT : errno;
          return FALSE;
        }
      if (fds[0].revents != 0)
        return TRUE;
      hurry = TRUE;
    }
}

gboolean
ow_output_write (int           fd,
                 gconstpointer data,
                 gsize         length)
{
  const char *text = data;

  while (length > 0 && faults[fd] == 0)
    {
      /* As much as a pipe that has room surely takes without a wait. */
      ssize_t n = wait_for_room (fd) ? write (fd, text, MIN (length, PIPE_BUF)) : -1;

      if (n < 0 && errno != EINTR && errno != EAGAIN)
        faults[fd] = errno;
      if (n <= 0)
        continue;
      text += n;
      length -= (gsize) n;
    }
  return length == 0;
}

int
ow_output_get_fault (void)
{
  return faults[STDOUT_FILENO];
}

static gboolean
has_character (const char *charset,
               const char *text,
               gssize      length)
{
  g_autofree char *converted = g_convert (text, length, charset, "UTF-8", NULL, NULL, NULL);

  return converted != NULL;
}

/* What our own words are made of has a plain form in every character set. */
static char *
make_plain (const char *text,
            const char *charset)
{
  static const struct { const char *typographic; const char *plain; } WAYS[] = {
    { "“", "\"" }, { "”", "\"" }, { "‘", "'" }, { "’", "'" }, { "…", "..." }, { "–", "-" },
    { "—", "--" }, { "→", "->" }, { "↵", "\\n" }, { "ⓘ", "i" }, { "│", "|" }, { "└", "`" },
    { "▸", ">" }, { "●", "*" }, { "✗", "x" }, { "✓", "+" }, { "µ", "u" }, { "−", "-" },
  };
  GString *plain = g_string_new (text);

  for (guint i = 0; i < G_N_ELEMENTS (WAYS); i++)
    if (strstr (plain->str, WAYS[i].typographic) != NULL &&
        !has_character (charset, WAYS[i].typographic, -1))
      g_string_replace (plain, WAYS[i].typographic, WAYS[i].plain, 0);
  return g_string_free (plain, FALSE);
}

char *
ow_output_escape (const char *text)
{
  const char *charset = NULL;
  GString *escaped;

  if (g_get_console_charset (&charset))
    return g_strdup (text);
  escaped = g_string_new (NULL);
  for (const char *at = text; *at != '\0'; at = g_utf8_next_char (at))
    {
      gssize length = g_utf8_next_char (at) - at;
      gboolean ours = (at == text || at[-1] == '\n') && g_str_has_prefix (at, LINE_MARK);

      if (ours)
        {
          g_string_append (escaped, LINE_MARK);
          at += strlen (LINE_MARK) - 1;
        }
      else if (length == 1 || has_character (charset, at, length))
        g_string_append_len (escaped, at, length);
      else
        g_string_append_printf (escaped, "\\u{%04X}", (guint) g_utf8_get_char (at));
    }
  return g_string_free (escaped, FALSE);
}

/* As GLib does it where it prints by itself: in the person's character set. */
static void
print_to (int         fd,
          const char *text)
{
  const char *charset = NULL;
  g_autofree char *plain = NULL;
  g_autofree char *converted = NULL;

  if (!g_get_console_charset (&charset))
    {
      plain = make_plain (text, charset);
      converted = g_convert_with_fallback (plain, -1, charset, "UTF-8", "?", NULL, NULL, NULL);
    }
  if (converted != NULL)
    text = converted;
  ow_output_write (fd, text, strlen (text));
}

static void
print (const char *text)
{
  print_to (STDOUT_FILENO, text);
}

static void
print_error (const char *text)
{
  print_to (STDERR_FILENO, text);
}

void
ow_output_init (void)
{
  g_set_print_handler (print);
  g_set_printerr_handler (print_error);
}

int
ow_output_finish (int status)
{
  int fault = faults[STDOUT_FILENO];

  if (fault == 0)
    return status;
  /* As the signal would have it that others leave at work. */
  if (fault == EPIPE)
    return status == 0 ? 128 + SIGPIPE : status;
  g_printerr ("openworker: Not all of the output could be written: %s.\n",
              fault == ETIMEDOUT ? "nobody reads it" : g_strerror (fault));
  return status == 0 ? 1 : status;
}
