/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ow-file.h"
#include "ow-engine-cut-private.h"
#include "ow-engine-listener-private.h"
#include "ow-engine-once-private.h"
#include "ow-engine-peer-private.h"
#include "ow-engine-place-private.h"
#include "wire/ow-rpc.h"

/* The engine's side of its socket: what is kept for whom, and for how long. */

#define HELLO \
  "{\"jsonrpc\":\"2.0\",\"id\":\"0123456789abcdef\",\"method\":\"initialize\",\"params\":" \
  "{\"protocol\":1,\"version\":\"1\",\"face\":\"command\"}}\n"

typedef struct
{
  OwLocalEngine    *engine;
  OwEngineListener *listener;
  OwEnginePlace    *place;
  int               client;
} Fixture;

static void
spin (guint ms)
{
  gint64 until = g_get_monotonic_time () + ms * G_TIME_SPAN_MILLISECOND;

  while (g_get_monotonic_time () < until)
    {
      while (g_main_context_iteration (NULL, FALSE))
        ;
      g_usleep (200);
    }
}

/* Reads lines until there is one; NULL at the end of the connection. */
static char *
read_line (Fixture *fixture)
{
  GString *line = g_string_new (NULL);
  gint64 until = g_get_monotonic_time () + 20 * G_TIME_SPAN_SECOND;
  char byte;

  while (g_get_monotonic_time () < until)
    {
      gssize n = recv (fixture->client, &byte, 1, MSG_DONTWAIT);

      if (n == 0 || (n < 0 && errno != EAGAIN))
        {
          g_string_free (line, TRUE);
          return NULL;
        }
      if (n < 0)
        g_main_context_iteration (NULL, FALSE);
      else if (byte == '\n')
        return g_string_free (line, FALSE);
      else
        g_string_append_c (line, byte);
    }
  g_assert_not_reached ();
}

static void
say (Fixture    *fixture,
     const char *words)
{
  g_assert_cmpint (send (fixture->client, words, strlen (words), 0), ==, (gssize) strlen (words));
}

static void
set_up (Fixture       *fixture,
        gconstpointer  data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *line = NULL;
  int fd;

  fixture->place = ow_engine_place_new (TRUE, &error);
  g_assert_no_error (error);
  fd = ow_engine_place_listen (fixture->place, &error);
  g_assert_no_error (error);
  fixture->engine = ow_local_engine_new ();
  fixture->listener = ow_engine_listener_new (fixture->engine, "0123456789abcdef", fd);
  ow_engine_listener_start (fixture->listener);
  fixture->client = ow_engine_place_connect (fixture->place, &error);
  g_assert_no_error (error);
  g_assert_cmpint (fixture->client, >=, 0);
  say (fixture, HELLO);
  line = read_line (fixture);
  g_assert_nonnull (strstr (line, "\"engine\":\"0123456789abcdef\""));
}

static void
tear_down (Fixture       *fixture,
           gconstpointer  data)
{
  close (fixture->client);
  ow_engine_listener_close (fixture->listener);
  spin (20);
  g_object_unref (fixture->listener);
  g_object_unref (fixture->engine);
  ow_engine_place_free (fixture->place);
}

static void
emit (Fixture     *fixture,
      OwEventType  kind,
      json_t      *members)
{
  g_autoptr (OwEvent) event = ow_event_new (kind, "s", members);

  g_signal_emit_by_name (fixture->engine, "event", event);
}

static char *
make_text (gsize bytes)
{
  char *text = g_malloc (bytes + 1);

  memset (text, 'x', bytes);
  text[bytes] = '\0';
  return text;
}

static void
emit_output (Fixture *fixture,
             gsize    bytes)
{
  g_autofree char *text = make_text (bytes);

  emit (fixture, OW_EVENT_TOOL_OUTPUT, json_pack ("{s:s, s:s, s:s, s:s}", "call", "c", "level",
                                                  "direct", "stream", "stdout", "text", text));
}

static void
emit_notice (Fixture *fixture,
             gsize    bytes)
{
  g_autofree char *text = make_text (bytes);

  emit (fixture, OW_EVENT_NOTICE, json_pack ("{s:s}", "text", text));
}

/* What is live is left out for whoever does not read; what counts is not. */
static void
test_slow (Fixture       *fixture,
           gconstpointer  data)
{
  guint outputs = 0;
  guint notices = 0;

  for (guint i = 0; i < 300; i++)
    {
      emit_output (fixture, 30000);
      emit_notice (fixture, 1000);
      spin (1);
    }
  g_assert_cmpuint (ow_engine_listener_get_n (fixture->listener), ==, 1);
  while (notices < 300)
    {
      g_autofree char *line = read_line (fixture);

      g_assert_nonnull (line);
      outputs += strstr (line, "\"tool-output\"") != NULL;
      notices += strstr (line, "\"notice\"") != NULL;
    }
  g_assert_cmpuint (outputs, >, 0);
  g_assert_cmpuint (outputs, <, 200);
}

/* Who never reads is given up at 32 MiB, and costs no more. */
static void
test_never_reads (Fixture       *fixture,
                  gconstpointer  data)
{
  guint n = 0;

  while (ow_engine_listener_get_n (fixture->listener) == 1 && n < 100)
    {
      emit_notice (fixture, 1000000);
      spin (1);
      n++;
    }
  g_assert_cmpuint (n, >, 30);
  g_assert_cmpuint (n, <, 40);
  g_assert_cmpuint (g_hash_table_size (fixture->engine->faces), ==, 1);
}

/* A face that never reads its answers is not listened to for ever either. */
static void
test_answers_not_read (Fixture       *fixture,
                       gconstpointer  data)
{
  g_autofree char *id = make_text (64);
  g_autofree char *request = NULL;
  guint n = 0;

  memset (id, 'a', 64);
  request = g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"config.get\"}\n", id);
  for (gint64 until = g_get_monotonic_time () + 2 * G_TIME_SPAN_SECOND;
       g_get_monotonic_time () < until;)
    {
      gssize sent = send (fixture->client, request, strlen (request), MSG_DONTWAIT);

      if (sent > 0 && (gsize) sent < strlen (request))
        break;
      if (sent > 0)
        n++;
      g_main_context_iteration (NULL, FALSE);
    }
  g_assert_cmpuint (n, >, 0);
  g_assert_cmpuint (n, <, 100000);
  g_assert_cmpuint (ow_engine_listener_get_n (fixture->listener), ==, 1);
}

/* An event that no frame could hold comes shortened, and stays an event. */
static void
test_long_event (Fixture       *fixture,
                 gconstpointer  data)
{
  char why[OW_WIRE_ERROR_SIZE];
  g_autofree char *line = NULL;
  g_autofree char *text = make_text (9 * 1024 * 1024);
  g_autoptr (OwEvent) event = NULL;
  json_t *value;

  emit (fixture, OW_EVENT_NOTICE, json_pack ("{s:s}", "text", text));
  line = read_line (fixture);
  value = ow_json_parse (line, strlen (line), why);
  event = ow_event_from_json (json_object_get (json_object_get (value, "params"), "event"), NULL);
  g_assert_nonnull (event);
  g_assert_true (json_is_true (json_object_get (ow_event_get_members (event), "x-cut")));
  g_assert_cmpuint (strlen (line), <, OW_ENGINE_CUT_PAGE_BYTES);
  json_decref (value);
}

static void
count (const char   *id,
       const json_t *answer,
       gpointer      user_data)
{
  guint *n = user_data;

  g_assert_cmpint (ow_json_get_int (json_object_get (answer, "result"), "n", 0), ==, 7);
  (*n)++;
}

static void
test_once (void)
{
  g_autoptr (OwEngineOnce) once = ow_engine_once_new (G_TIME_SPAN_SECOND * 600);
  json_t *params = json_pack ("{s:s}", "a", "b");
  json_t *other = json_pack ("{s:s}", "a", "c");
  guint told = 0;

  g_assert_cmpint (ow_engine_once_ask (once, "aa", "x", params, count, &told, NULL), ==,
                   OW_ENGINE_ONCE_NEW);
  g_assert_cmpint (ow_engine_once_ask (once, "AA", "x", params, count, &told, NULL), ==,
                   OW_ENGINE_ONCE_KNOWN);
  g_assert_cmpint (ow_engine_once_ask (once, "aa", "x", other, count, &told, NULL), ==,
                   OW_ENGINE_ONCE_OTHER);
  g_assert_cmpint (ow_engine_once_ask (once, "aa", "y", params, count, &told, NULL), ==,
                   OW_ENGINE_ONCE_OTHER);
  g_assert_cmpuint (told, ==, 0);
  ow_engine_once_done (once, "aa", json_pack ("{s:{s:i}}", "result", "n", 7));
  g_assert_cmpuint (told, ==, 2);
  g_assert_cmpint (ow_engine_once_ask (once, "aa", "x", params, count, &told, NULL), ==,
                   OW_ENGINE_ONCE_KNOWN);
  g_assert_cmpuint (told, ==, 3);

  /* A thousand later ones, and it is forgotten; one that is not done never is. */
  g_assert_cmpint (ow_engine_once_ask (once, "bb", "x", params, count, &told, NULL), ==,
                   OW_ENGINE_ONCE_NEW);
  for (guint i = 0; i < 1100; i++)
    {
      g_autofree char *id = g_strdup_printf ("%x", i + 0x1000);
      guint ignored = 0;

      g_assert_cmpint (ow_engine_once_ask (once, id, "x", params, count, &ignored, NULL), ==,
                       OW_ENGINE_ONCE_NEW);
      ow_engine_once_done (once, id, json_pack ("{s:{s:i}}", "result", "n", 7));
    }
  g_assert_cmpint (ow_engine_once_ask (once, "aa", "x", other, count, &told, NULL), ==,
                   OW_ENGINE_ONCE_NEW);
  g_assert_cmpint (ow_engine_once_ask (once, "bb", "x", params, count, &told, NULL), ==,
                   OW_ENGINE_ONCE_KNOWN);
  json_decref (params);
  json_decref (other);
}

static void
test_lock (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwEnginePlace) place = ow_engine_place_new (TRUE, &error);
  int one = ow_engine_place_lock (place, &error);
  int two;

  g_assert_cmpint (one, >=, 0);
  g_assert_cmpint (ow_engine_place_lock (place, &error), ==, -1);
  g_assert_no_error (error);
  /* A file that has lost its name holds nobody off, and whoever comes next takes the new one. */
  g_assert_cmpint (g_unlink (place->lock), ==, 0);
  two = ow_engine_place_lock (place, &error);
  g_assert_cmpint (two, >=, 0);
  close (one);
  close (two);
}

/* An engine that has lost its lock's name leaves the place to the one that came after it. */
static void
test_leave (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwEnginePlace) place = ow_engine_place_new (TRUE, &error);
  int one = ow_engine_place_lock (place, &error);
  int socket_one = ow_engine_place_listen (place, &error);
  int two;
  int socket_two;

  g_assert_cmpint (socket_one, >=, 0);
  g_assert_cmpint (g_unlink (place->lock), ==, 0);
  two = ow_engine_place_lock (place, &error);
  g_assert_cmpint (two, >=, 0);
  socket_two = ow_engine_place_listen (place, &error);
  g_assert_cmpint (socket_two, >=, 0);
  ow_engine_place_leave (place->socket, one);
  g_assert_true (g_file_test (place->socket, G_FILE_TEST_EXISTS));
  ow_engine_place_leave (place->socket, two);
  g_assert_false (g_file_test (place->socket, G_FILE_TEST_EXISTS));
  close (socket_one);
  close (socket_two);
  close (one);
  close (two);
}

int
main (int    argc,
      char **argv)
{
  g_autofree char *home = g_dir_make_tmp ("ow-listen-XXXXXX", NULL);
  int status;

  g_setenv ("HOME", home, TRUE);
  g_unsetenv ("XDG_CONFIG_HOME");
  g_unsetenv ("XDG_DATA_HOME");
  g_unsetenv ("XDG_STATE_HOME");
  g_unsetenv ("XDG_RUNTIME_DIR");
  g_test_init (&argc, &argv, NULL);
#define ADD(name, func) g_test_add ("/engine/listener/" name, Fixture, NULL, set_up, func, tear_down)
  ADD ("slow", test_slow);
  ADD ("never-reads", test_never_reads);
  ADD ("answers-not-read", test_answers_not_read);
  ADD ("P02/long-event", test_long_event);
  g_test_add_func ("/engine/once", test_once);
  g_test_add_func ("/engine/lock", test_lock);
  g_test_add_func ("/engine/leave", test_leave);
  status = g_test_run ();
  ow_file_remove_tree (home, NULL);
  return status;
}
