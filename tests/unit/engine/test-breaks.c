/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "engine/ow-shared-engine.h"
#include "ow-engine-place-private.h"
#include "ow-engine-wire-private.h"

/* What a face does when its connection breaks and when events are missing, seen from the engine's
 * side: the engine is this test. */

#define ONE   "00000000000000aa"
#define OTHER "00000000000000bb"
#define LONG_US (30 * G_TIME_SPAN_SECOND)

typedef struct
{
  OwEnginePlace  *place;
  int             lock;
  int             listener;
  int             peer;   /* -1: none */
  GString        *buffer;
  OwSharedEngine *face;
  GString        *seen;   /* numbers of the events */
  GString        *ends;   /* of commands, a letter each, in their order */
} Fixture;

static void
spin (gint64 until)
{
  g_assert_cmpint (g_get_monotonic_time (), <, until);
  g_main_context_iteration (NULL, FALSE);
  g_usleep (200);
}

/* The next line of the face, whichever connection it comes on. (new reference) */
static json_t *
next_request (Fixture *fixture)
{
  gint64 until = g_get_monotonic_time () + LONG_US;
  char why[OW_WIRE_ERROR_SIZE];

  for (;;)
    {
      const char *end = memchr (fixture->buffer->str, '\n', fixture->buffer->len);
      char piece[4096];
      gssize n;

      if (end != NULL)
        {
          gsize length = end - fixture->buffer->str;
          json_t *request = ow_json_parse (fixture->buffer->str, length, why);

          g_assert_nonnull (request);
          g_string_erase (fixture->buffer, 0, (gssize) length + 1);
          return request;
        }
      spin (until);
      if (fixture->peer < 0)
        fixture->peer = accept4 (fixture->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
      n = fixture->peer < 0 ? -1 : recv (fixture->peer, piece, sizeof piece, 0);
      if (n > 0)
        g_string_append_len (fixture->buffer, piece, n);
    }
}

/* TRUE: nothing more comes. */
static gboolean
is_quiet (Fixture *fixture)
{
  gint64 until = g_get_monotonic_time () + 200 * G_TIME_SPAN_MILLISECOND;
  char byte;

  while (g_get_monotonic_time () < until)
    {
      g_main_context_iteration (NULL, FALSE);
      if (fixture->buffer->len > 0 ||
          (fixture->peer >= 0 && recv (fixture->peer, &byte, 1, MSG_PEEK) > 0))
        return FALSE;
    }
  return TRUE;
}

static const char *
method_of (const json_t *request)
{
  return ow_json_get_string (request, "method", "");
}

static const char *
id_of (const json_t *request)
{
  return ow_json_get_string (request, "id", "");
}

static void
say (Fixture *fixture,
     json_t  *message)
{
  size_t length = 0;
  char *line = ow_rpc_line (message, &length);

  g_assert_cmpint (send (fixture->peer, line, length, MSG_NOSIGNAL), ==, (gssize) length);
  free (line);
}

/* @request is taken. */
static void
answer (Fixture *fixture,
        json_t  *request,
        json_t  *result)
{
  say (fixture, ow_rpc_result (json_string (id_of (request)), result));
  json_decref (request);
}

static void
take_hello (Fixture    *fixture,
            const char *engine)
{
  json_t *request = next_request (fixture);

  g_assert_cmpstr (method_of (request), ==, OW_ENGINE_WIRE_INITIALIZE);
  answer (fixture, request, json_pack ("{s:i, s:s, s:s, s:i, s:s}", "protocol", 1, "version", "1",
                                       "engine", engine, "pid", 1, "host", "up"));
}

/* What a face asks of itself is passed over. */
static json_t *
next_command (Fixture *fixture)
{
  for (;;)
    {
      json_t *request = next_request (fixture);

      if (!g_str_equal (method_of (request), "engine.status"))
        return request;
      answer (fixture, request, json_object ());
    }
}

static void
break_off (Fixture *fixture)
{
  close (fixture->peer);
  fixture->peer = -1;
  g_string_truncate (fixture->buffer, 0);
}

/* The face ends the connection by itself. */
static void
wait_left (Fixture *fixture)
{
  gint64 until = g_get_monotonic_time () + LONG_US;
  char piece[4096];

  while (recv (fixture->peer, piece, sizeof piece, 0) != 0)
    spin (until);
  break_off (fixture);
}

static json_t *
make_event (guint number)
{
  return json_pack ("{s:i, s:s, s:s, s:s, s:s}", "seq", (int) number, "time",
                    "2026-01-31T09:00:00.123Z", "session", "s", "type", "notice", "text", "t");
}

static void
tell (Fixture *fixture,
      guint    number)
{
  say (fixture, ow_rpc_notification (OW_ENGINE_WIRE_EVENT,
                                     json_pack ("{s:o}", "event", make_event (number))));
}

static void
on_event (OwEngine *engine,
          OwEvent  *event,
          Fixture  *fixture)
{
  g_string_append_printf (fixture->seen, "%u ", (guint) ow_event_get_seq (event));
}

static void
wait_seen (Fixture    *fixture,
           const char *numbers)
{
  gint64 until = g_get_monotonic_time () + LONG_US;

  while (fixture->seen->len < strlen (numbers))
    spin (until);
  g_assert_cmpstr (fixture->seen->str, ==, numbers);
}

static void
on_command (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  Fixture *fixture = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  g_string_append_c (fixture->ends, value != NULL ? '+' :
                     g_error_matches (error, OW_ERROR, OW_ERROR_INTERRUPTED) ? '?' : '-');
  json_decref (value);
}

static void
command (Fixture    *fixture,
         const char *name)
{
  ow_engine_command_async (OW_ENGINE (fixture->face), name, NULL, NULL, on_command, fixture);
}

static void
wait_ends (Fixture    *fixture,
           const char *ends)
{
  gint64 until = g_get_monotonic_time () + LONG_US;

  while (fixture->ends->len < strlen (ends))
    spin (until);
  g_assert_cmpstr (fixture->ends->str, ==, ends);
}

static void
on_opened (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GError) error = NULL;

  ow_shared_engine_open_finish (OW_SHARED_ENGINE (source), result, &error);
  g_assert_no_error (error);
}

static void
set_up (Fixture       *fixture,
        gconstpointer  data)
{
  g_autoptr (GError) error = NULL;

  fixture->place = ow_engine_place_new (TRUE, &error);
  g_assert_no_error (error);
  fixture->lock = ow_engine_place_lock (fixture->place, &error);
  fixture->listener = ow_engine_place_listen (fixture->place, &error);
  g_assert_cmpint (fixture->listener, >=, 0);
  fixture->peer = -1;
  fixture->buffer = g_string_new (NULL);
  fixture->seen = g_string_new (NULL);
  fixture->ends = g_string_new (NULL);
  fixture->face = ow_shared_engine_new (OW_FACE_COMMAND);
  g_signal_connect (fixture->face, "event", G_CALLBACK (on_event), fixture);
  ow_shared_engine_open_async (fixture->face, NULL, on_opened, NULL);
  take_hello (fixture, ONE);
  answer (fixture, next_request (fixture), json_object ());
}

static void
on_closed (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_assert_true (ow_shared_engine_close_finish (OW_SHARED_ENGINE (source), result, NULL));
  *(gboolean *) user_data = TRUE;
}

static void
tear_down (Fixture       *fixture,
           gconstpointer  data)
{
  gboolean closed = FALSE;

  ow_shared_engine_close_async (fixture->face, FALSE, on_closed, &closed);
  while (!closed)
    g_main_context_iteration (NULL, TRUE);
  g_object_unref (fixture->face);
  if (fixture->peer >= 0)
    close (fixture->peer);
  close (fixture->listener);
  g_unlink (fixture->place->socket);
  close (fixture->lock);
  ow_engine_place_free (fixture->place);
  g_string_free (fixture->buffer, TRUE);
  g_string_free (fixture->seen, TRUE);
  g_string_free (fixture->ends, TRUE);
}

/* The same engine gets what is unanswered again, under the same ids. */
static void
test_sent_again (Fixture       *fixture,
                 gconstpointer  data)
{
  g_autofree char *stop = NULL;
  g_autofree char *list = NULL;
  json_t *request;

  command (fixture, "session.stop");
  command (fixture, "session.list");
  for (guint i = 0; i < 3; i++)
    {
      request = next_command (fixture);
      g_assert_cmpstr (method_of (request), ==, "session.stop");
      if (stop != NULL)
        g_assert_cmpstr (id_of (request), ==, stop);
      g_free (stop);
      stop = g_strdup (id_of (request));
      json_decref (request);
      request = next_command (fixture);
      g_assert_cmpstr (method_of (request), ==, "session.list");
      g_free (list);
      list = g_strdup (id_of (request));
      json_decref (request);
      break_off (fixture);
      take_hello (fixture, ONE);
    }
  answer (fixture, next_command (fixture), json_object ());
  answer (fixture, next_command (fixture), json_object ());
  wait_ends (fixture, "++");
  g_assert_true (is_quiet (fixture));
}

/* To another engine only what reads is sent: whether the rest was done is not known. */
static void
test_other_engine (Fixture       *fixture,
                   gconstpointer  data)
{
  json_t *request;

  command (fixture, "session.stop");
  command (fixture, "session.list");
  json_decref (next_command (fixture));
  json_decref (next_command (fixture));
  break_off (fixture);
  take_hello (fixture, OTHER);
  request = next_command (fixture);
  g_assert_cmpstr (method_of (request), ==, "session.list");
  answer (fixture, request, json_object ());
  wait_ends (fixture, "?+");
}

/* A number that does not follow is asked for, and what then comes twice is dropped. */
static void
test_gap (Fixture       *fixture,
          gconstpointer  data)
{
  json_t *request;

  tell (fixture, 5);
  wait_seen (fixture, "5 ");
  tell (fixture, 8);
  request = next_command (fixture);
  g_assert_cmpstr (method_of (request), ==, "session.show");
  g_assert_cmpint (ow_json_get_int (json_object_get (request, "params"), "from", 0), ==, 6);
  tell (fixture, 9);
  answer (fixture, request, json_pack ("{s:[o, o], s:i}", "events", make_event (6),
                                       make_event (7), "next", 8));
  request = next_command (fixture);
  g_assert_cmpint (ow_json_get_int (json_object_get (request, "params"), "from", 0), ==, 8);
  answer (fixture, request, json_pack ("{s:[o, o]}", "events", make_event (8), make_event (9)));
  wait_seen (fixture, "5 6 7 8 9 ");
  for (guint i = 1; i < 11; i++)
    tell (fixture, i);
  wait_seen (fixture, "5 6 7 8 9 10 ");
}

/* After a break what came meanwhile is asked for at once. */
static void
test_missed (Fixture       *fixture,
             gconstpointer  data)
{
  json_t *request;

  tell (fixture, 1);
  wait_seen (fixture, "1 ");
  break_off (fixture);
  take_hello (fixture, OTHER);
  request = next_command (fixture);
  g_assert_cmpstr (method_of (request), ==, "session.show");
  answer (fixture, request, json_pack ("{s:[o, o]}", "events", make_event (2), make_event (3)));
  wait_seen (fixture, "1 2 3 ");
}

static json_t *
refill (guint first,
        guint second,
        int   next)
{
  json_t *result = json_pack ("{s:[o, o]}", "events", make_event (first), make_event (second));

  if (next > 0)
    json_object_set_new (result, "next", json_integer (next));
  return result;
}

/* What is no answer to that ends the connection in place of being shown or asked for forever. */
static void
test_bad_refill (Fixture       *fixture,
                 gconstpointer  data)
{
  json_t *answers[] = {
    json_object (),
    json_pack ("{s:s}", "events", "none"),
    json_pack ("{s:[], s:i}", "events", "next", 2),
    json_pack ("{s:[i]}", "events", 7),
    refill (3, 4, 0),
    refill (1, 2, 0),
    refill (2, 2, 3),
  };

  tell (fixture, 1);
  wait_seen (fixture, "1 ");
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      json_t *request;

      g_string_truncate (fixture->seen, 0);
      tell (fixture, 100 * i + 1);
      tell (fixture, 100 * i + 50);
      request = next_command (fixture);
      g_assert_cmpstr (method_of (request), ==, "session.show");
      answer (fixture, request, answers[i]);
      wait_left (fixture);
      take_hello (fixture, ONE);
    }
}

/* Of more commands than an engine takes at a time the rest waits, and comes in its order. */
static void
test_many (Fixture       *fixture,
           gconstpointer  data)
{
  g_autoptr (GString) all = g_string_new (NULL);
  GQueue open = G_QUEUE_INIT;
  guint n = 0;

  for (guint i = 0; i < 300; i++)
    {
      command (fixture, "session.list");
      g_string_append_c (all, '+');
    }
  while (n < OW_ENGINE_WIRE_MAX_OPEN)
    {
      g_queue_push_tail (&open, next_command (fixture));
      n++;
    }
  g_assert_true (is_quiet (fixture));
  while (!g_queue_is_empty (&open))
    {
      answer (fixture, g_queue_pop_head (&open), json_object ());
      if (n++ < 300)
        g_queue_push_tail (&open, next_command (fixture));
    }
  wait_ends (fixture, all->str);
}

/* Those that wait are sent again with the others. */
static void
test_many_and_a_break (Fixture       *fixture,
                       gconstpointer  data)
{
  g_autoptr (GString) all = g_string_new (NULL);

  for (guint i = 0; i < 100; i++)
    {
      command (fixture, "session.list");
      g_string_append_c (all, '+');
    }
  json_decref (next_command (fixture));
  break_off (fixture);
  take_hello (fixture, ONE);
  for (guint i = 0; i < 100; i++)
    answer (fixture, next_command (fixture), json_object ());
  wait_ends (fixture, all->str);
}

int
main (int    argc,
      char **argv)
{
  g_autofree char *home = g_dir_make_tmp ("ow-breaks-XXXXXX", NULL);
  int status;

  g_setenv ("HOME", home, TRUE);
  g_unsetenv ("XDG_CONFIG_HOME");
  g_unsetenv ("XDG_DATA_HOME");
  g_unsetenv ("XDG_STATE_HOME");
  g_unsetenv ("XDG_RUNTIME_DIR");
  g_test_init (&argc, &argv, NULL);
#define ADD(name, func) g_test_add ("/engine/breaks/" name, Fixture, NULL, set_up, func, tear_down)
  ADD ("sent-again", test_sent_again);
  ADD ("other-engine", test_other_engine);
  ADD ("gap", test_gap);
  ADD ("missed", test_missed);
  ADD ("bad-refill", test_bad_refill);
  ADD ("many", test_many);
  ADD ("many-and-a-break", test_many_and_a_break);
  status = g_test_run ();
  ow_file_remove_tree (home, NULL);
  return status;
}
