/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-terminal-private.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

/* Signals that end the program at once; those that are watched (ow_output_watch) come to the
 * main loop, which restores the terminal like every other way out. */
static const int FATAL[] = { SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGUSR1,
                             SIGUSR2 };

/* Of the signal handler, which can be given no data. */
static struct termios before;
static volatile sig_atomic_t hidden;

/* The secret's own caller. */
static OwTerminalLine done;
static gpointer done_data;

static void
show_again (void)
{
  if (!hidden)
    return;
  hidden = 0;
  tcsetattr (STDIN_FILENO, TCSANOW, &before);
}

static void
on_fatal (int number)
{
  show_again ();
  /* The handler is gone (SA_RESETHAND): this one ends the program. */
  raise (number);
}

static gboolean
hide (void)
{
  struct sigaction action = { .sa_handler = on_fatal, .sa_flags = SA_RESETHAND };
  struct termios now;

  if (tcgetattr (STDIN_FILENO, &before) != 0)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (FATAL); i++)
    sigaction (FATAL[i], &action, NULL);
  now = before;
  now.c_lflag &= ~(tcflag_t) (ECHO | ECHOE | ECHOK);
  now.c_lflag |= ECHONL;
  /* A shell that got the terminal back by a stop would show nothing either. */
  now.c_cc[VSUSP] = _POSIX_VDISABLE;
  hidden = 1;
  return tcsetattr (STDIN_FILENO, TCSAFLUSH, &now) == 0;
}

static void
on_line (const char *line,
         gpointer    user_data)
{
  ow_terminal_secret_restore ();
  done (line, done_data);
}

void
ow_terminal_ask_secret (const char     *question,
                        OwTerminalLine  func,
                        gpointer        user_data)
{
  done = func;
  done_data = user_data;
  if (!hide ())
    g_printerr ("openworker: This terminal shows what is typed.\n");
  ow_terminal_ask (question, on_line, NULL);
}

void
ow_terminal_secret_restore (void)
{
  show_again ();
}
