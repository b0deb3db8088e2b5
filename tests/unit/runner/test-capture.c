/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

#include "ow-runner-capture-private.h"
#include "ow-runner-loop-private.h"

#define FLOOD_SIZE (200u * 1024u)

typedef struct {
  OwRunnerLoop *loop;
  GString      *seen; /* a letter for each stream, where it begins or takes over */
  gsize         n_bytes;
} Taker;

static void
on_output (OwRunnerStream stream,
           const char    *data,
           size_t         length,
           void          *user_data)
{
  Taker *taker = user_data;
  char letter = stream == OW_RUNNER_STDOUT ? 'o' : 'e';

  if (taker->seen->len == 0 || taker->seen->str[taker->seen->len - 1] != letter)
    g_string_append_c (taker->seen, letter);
  taker->n_bytes += length;
}

static void
on_time_over (void *user_data)
{
  Taker *taker = user_data;

  ow_runner_loop_quit (taker->loop, 0);
}

static void
write_all (int   fd,
           gsize size)
{
  g_autofree char *bytes = g_malloc0 (size);

  g_assert_cmpint (write (fd, bytes, size), ==, (gssize) size);
}

/* What was written to one stream before the other was touched comes before it, however long it
 * is: a program's last words on stderr stand after all that it printed. */
static void
test_order (gconstpointer data)
{
  OwRunnerStream first = (OwRunnerStream) GPOINTER_TO_INT (data);
  Taker taker = { .loop = ow_runner_loop_new (), .seen = g_string_new (NULL) };
  OwRunnerTimer timer = { .func = on_time_over, .user_data = &taker };
  OwRunnerDrains *drains = ow_runner_drains_new (taker.loop);
  OwRunnerCapture *capture = ow_runner_capture_new (taker.loop, drains, on_output, &taker);

  g_assert_nonnull (capture);
  write_all (ow_runner_capture_get_fd (capture, first), FLOOD_SIZE);
  write_all (ow_runner_capture_get_fd (capture, (OwRunnerStream) !first), 4);
  ow_runner_loop_start_timer (taker.loop, &timer, 200);
  ow_runner_loop_run (taker.loop);
  g_assert_cmpuint (taker.n_bytes, ==, FLOOD_SIZE + 4);
  g_assert_cmpstr (taker.seen->str, ==, first == OW_RUNNER_STDOUT ? "oe" : "eo");
  ow_runner_capture_finish (capture);
  ow_runner_drains_free (drains);
  ow_runner_loop_free (taker.loop);
  g_string_free (taker.seen, TRUE);
}

/* A reader that can take no more is not given what is left of a long piece. */
static void
on_output_pause (OwRunnerStream stream,
                 const char    *data,
                 size_t         length,
                 void          *user_data)
{
  OwRunnerCapture **capture = user_data;

  g_assert_cmpuint (length, <=, 64 * 1024);
  ow_runner_capture_set_paused (*capture, true);
}

static void
test_paused (void)
{
  OwRunnerCapture *capture = NULL;
  Taker taker = { .loop = ow_runner_loop_new () };
  OwRunnerTimer timer = { .func = on_time_over, .user_data = &taker };
  OwRunnerDrains *drains = ow_runner_drains_new (taker.loop);
  int fd;
  char rest[FLOOD_SIZE];

  capture = ow_runner_capture_new (taker.loop, drains, on_output_pause, &capture);
  g_assert_nonnull (capture);
  fd = dup (ow_runner_capture_get_fd (capture, OW_RUNNER_STDOUT));
  write_all (fd, FLOOD_SIZE);
  ow_runner_loop_start_timer (taker.loop, &timer, 200);
  ow_runner_loop_run (taker.loop);
  /* The pipe still holds all but the one piece: so much more, and no more, goes into it. */
  g_assert_cmpint (fcntl (fd, F_SETFL, O_NONBLOCK), ==, 0);
  g_assert_cmpint (write (fd, rest, sizeof rest), <=, 2 * 64 * 1024);
  close (fd);
  ow_runner_capture_finish (capture);
  ow_runner_drains_free (drains);
  ow_runner_loop_free (taker.loop);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/runner/capture/stdout-first", GINT_TO_POINTER (OW_RUNNER_STDOUT),
                        test_order);
  g_test_add_data_func ("/runner/capture/stderr-first", GINT_TO_POINTER (OW_RUNNER_STDERR),
                        test_order);
  g_test_add_func ("/runner/capture/paused", test_paused);
  return g_test_run ();
}
