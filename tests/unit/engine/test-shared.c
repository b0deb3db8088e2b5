/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "engine/ow-shared-engine.h"
#include "ow-engine-follow-private.h"
#include "ow-engine-place-private.h"
#include "ow-remote-engine-private.h"

/* A runner that never gets ready: a session with it is on its way until it is stopped. */
static const char RUNNER[] = "#!/bin/sh\nexec sleep 1000\n";

/* Faces that share one engine, that lose it, and that meet one which is none. */

typedef struct
{
  GMainLoop *loop;
  gboolean   good;
  json_t    *result; /* (owned) (nullable) */
  GError    *error;  /* (owned) (nullable) */
} Wait;

static Wait wait_for;

static void
reset (void)
{
  json_decref (wait_for.result);
  wait_for.result = NULL;
  g_clear_error (&wait_for.error);
}

static void
on_opened (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  wait_for.good = ow_shared_engine_open_finish (OW_SHARED_ENGINE (source), result,
                                                &wait_for.error);
  g_main_loop_quit (wait_for.loop);
}

static OwSharedEngine *
open_face (OwFaceKind kind)
{
  OwSharedEngine *face = ow_shared_engine_new (kind);

  reset ();
  ow_shared_engine_open_async (face, NULL, on_opened, NULL);
  g_main_loop_run (wait_for.loop);
  return face;
}

static void
on_closed (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_assert_true (ow_shared_engine_close_finish (OW_SHARED_ENGINE (source), result, NULL));
  g_main_loop_quit (wait_for.loop);
}

static void
close_face (OwSharedEngine *face)
{
  ow_shared_engine_close_async (face, FALSE, on_closed, NULL);
  g_main_loop_run (wait_for.loop);
  g_assert_cmpint (ow_shared_engine_get_role (face), ==, OW_ENGINE_NONE);
  g_object_unref (face);
}

static void
on_command (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  wait_for.result = ow_engine_command_finish (OW_ENGINE (source), result, &wait_for.error);
  g_main_loop_quit (wait_for.loop);
}

static const json_t *
run (gpointer    face,
     const char *command,
     json_t     *params)
{
  reset ();
  ow_engine_command_async (OW_ENGINE (face), command, params, NULL, on_command, NULL);
  g_main_loop_run (wait_for.loop);
  return wait_for.result;
}

static void
test_host_and_client (void)
{
  OwSharedEngine *one = open_face (OW_FACE_WINDOW);
  OwSharedEngine *two = open_face (OW_FACE_COMMAND);
  OwSharedEngine *three = open_face (OW_FACE_VISITOR);

  g_assert_cmpint (ow_shared_engine_get_role (one), ==, OW_ENGINE_HOST);
  g_assert_cmpint (ow_shared_engine_get_role (two), ==, OW_ENGINE_CLIENT);
  g_assert_cmpint (ow_shared_engine_get_role (three), ==, OW_ENGINE_CLIENT);
  g_assert_cmpstr (ow_json_get_string (run (two, "engine.status", NULL), "host", ""), ==,
                   "window");
  g_assert_cmpint (ow_json_get_int (run (three, "engine.status", NULL), "faces", 0), ==, 3);
  run (two, "session.show", json_pack ("{s:s}", "session", "nosuch"));
  g_assert_error (wait_for.error, OW_ERROR, OW_ERROR_USAGE);
  close_face (three);
  close_face (two);
  close_face (one);
}

static void
test_nobody_there (void)
{
  OwSharedEngine *face = open_face (OW_FACE_CLIENT);

  g_assert_error (wait_for.error, OW_ERROR, OW_ERROR_REFUSED);
  close_face (face);
  face = open_face (OW_FACE_VISITOR);
  g_assert_cmpint (ow_shared_engine_get_role (face), ==, OW_ENGINE_ALONE);
  g_assert_nonnull (run (face, "session.list", NULL));
  close_face (face);
}

static void
test_one_up (void)
{
  OwSharedEngine *one = open_face (OW_FACE_WINDOW);
  OwSharedEngine *up = open_face (OW_FACE_UP);

  g_assert_error (wait_for.error, OW_ERROR, OW_ERROR_REFUSED);
  close_face (up);
  close_face (one);
}

static void
on_maybe_opened (GObject      *source,
                 GAsyncResult *result,
                 gpointer      user_data)
{
  (*(guint *) user_data)++;
  ow_shared_engine_open_finish (OW_SHARED_ENGINE (source), result, NULL);
}

/* However far it has come, a face that is left leaves nothing that others would wait for. */
static void
test_left_on_the_way (void)
{
  g_autofree char *dir = ow_paths_get_runtime_dir ();
  g_autofree char *socket = g_build_filename (dir, "engine", NULL);

  for (guint rounds = 0; rounds < 30; rounds++)
    {
      OwSharedEngine *face = ow_shared_engine_new (OW_FACE_UP);
      guint n_opened = 0;

      ow_shared_engine_open_async (face, NULL, on_maybe_opened, &n_opened);
      g_assert_true (g_file_test (socket, G_FILE_TEST_EXISTS));
      for (guint i = 0; i < rounds; i++)
        g_main_context_iteration (NULL, FALSE);
      close_face (face);
      g_assert_false (g_file_test (socket, G_FILE_TEST_EXISTS));
      g_assert_cmpuint (n_opened, ==, 1);
    }
}

static gboolean saw_end;

static void
on_event (OwEngine *engine,
          OwEvent  *event,
          GString  *seen)
{
  if (ow_event_get_seq (event) > 0)
    g_string_append_printf (seen, "%u ", (guint) ow_event_get_seq (event));
  if (ow_event_get_kind (event) == OW_EVENT_SESSION_ENDED)
    saw_end = TRUE;
}

static gboolean
on_wait_over (gpointer user_data)
{
  g_assert_not_reached ();
  return G_SOURCE_REMOVE;
}

static void
wait_end (void)
{
  guint timer = g_timeout_add_seconds (60, on_wait_over, NULL);

  while (!saw_end)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (timer);
}

/* The face that has the engine goes: the next one becomes it, and sees the end of what ran. */
static void
test_host_is_lost (void)
{
  g_autoptr (GString) seen = g_string_new (NULL);
  g_autofree char *folder = g_dir_make_tmp ("ow-shared-XXXXXX", NULL);
  OwSharedEngine *one = open_face (OW_FACE_WINDOW);
  OwSharedEngine *two = open_face (OW_FACE_COMMAND);
  g_autoptr (GString) all = g_string_new (NULL);
  g_autofree char *session = NULL;
  guint timer;
  gsize n;

  g_signal_connect (two, "event", G_CALLBACK (on_event), seen);
  session = g_strdup (ow_json_get_string (run (two, "session.exec",
                                               json_pack ("{s:[s], s:[s, s], s:s, s:b}", "folders",
                                                          folder, "argv", "/bin/sleep", "1000",
                                                          "provider", "direct", "interactive",
                                                          TRUE)),
                                          "session", ""));
  g_assert_no_error (wait_for.error);
  while (seen->len == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpuint (ow_shared_engine_get_n_running (two), ==, 0);
  g_object_run_dispose (G_OBJECT (one));
  g_object_unref (one);
  while (ow_shared_engine_get_role (two) != OW_ENGINE_HOST)
    g_main_context_iteration (NULL, TRUE);
  /* Whatever was stored of it is seen, once and in order, also what was lost on the way. */
  n = json_array_size (json_object_get (run (two, "session.show",
                                             json_pack ("{s:s}", "session", session)), "events"));
  g_assert_cmpuint (n, >, 0);
  for (guint i = 1; i <= n; i++)
    g_string_append_printf (all, "%u ", i);
  timer = g_timeout_add_seconds (60, on_wait_over, NULL);
  while (seen->len < all->len)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (timer);
  g_assert_cmpstr (seen->str, ==, all->str);
  g_signal_handlers_disconnect_by_data (two, seen);
  close_face (two);
  ow_file_remove_tree (folder, NULL);
}

/* A host that is asked to go stays until what runs has ended, whoever started it. */
static void
test_host_stays (void)
{
  g_autoptr (GString) seen = g_string_new (NULL);
  g_autofree char *folder = g_dir_make_tmp ("ow-shared-XXXXXX", NULL);
  g_autofree char *session = NULL;
  OwSharedEngine *one = open_face (OW_FACE_WINDOW);
  OwSharedEngine *two = open_face (OW_FACE_COMMAND);

  g_signal_connect (two, "event", G_CALLBACK (on_event), seen);
  session = g_strdup (ow_json_get_string (run (two, "session.exec",
                                               json_pack ("{s:[s], s:[s], s:s, s:b}", "folders",
                                                          folder, "argv", "/bin/true", "provider",
                                                          "direct", "interactive", TRUE)),
                                          "session", ""));
  saw_end = FALSE;
  while (ow_shared_engine_get_n_running (one) != 1)
    g_main_context_iteration (NULL, TRUE);
  ow_shared_engine_close_async (one, FALSE, on_closed, NULL);
  g_assert_nonnull (run (two, "session.list", NULL));
  g_assert_cmpint (ow_shared_engine_get_role (one), ==, OW_ENGINE_HOST);
  run (two, "session.stop", json_pack ("{s:s}", "session", session));
  g_main_loop_run (wait_for.loop);
  g_assert_cmpint (ow_shared_engine_get_role (one), ==, OW_ENGINE_NONE);
  wait_end ();
  g_object_unref (one);
  close_face (two);
  ow_file_remove_tree (folder, NULL);
}

/* --- an engine that is none --- */

typedef struct
{
  OwRemoteEngine *remote;
  int             fd;
  char           *lost; /* (owned) (nullable) */
  guint           n_events;
} Far;

static void
on_lost (OwRemoteEngine *remote,
         const char     *reason,
         Far            *far)
{
  far->lost = g_strdup (reason);
}

static void
on_far_event (OwEngine *engine,
              OwEvent  *event,
              Far      *far)
{
  far->n_events++;
}

static void
on_far_opened (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  wait_for.good = ow_remote_engine_open_finish (OW_REMOTE_ENGINE (source), result,
                                                &wait_for.error);
  g_main_loop_quit (wait_for.loop);
}

/* Answers hello with @hello, where %s is the id; and says @more after that. */
static void
open_far (Far        *far,
          const char *hello)
{
  g_autoptr (GSocket) socket = NULL;
  g_autoptr (GSocketConnection) connection = NULL;
  char buffer[4096];
  int fds[2];
  char *id;
  g_autofree char *answer = NULL;
  g_auto (GStrv) parts = NULL;

  reset ();
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  far->fd = fds[1];
  far->lost = NULL;
  far->n_events = 0;
  socket = g_socket_new_from_fd (fds[0], NULL);
  connection = g_socket_connection_factory_create_connection (socket);
  far->remote = ow_remote_engine_new (G_IO_STREAM (connection), "window");
  g_signal_connect (far->remote, "lost", G_CALLBACK (on_lost), far);
  g_signal_connect (far->remote, "event", G_CALLBACK (on_far_event), far);
  ow_remote_engine_open_async (far->remote, on_far_opened, NULL);
  memset (buffer, 0, sizeof buffer);
  while (recv (far->fd, buffer, sizeof buffer - 1, MSG_DONTWAIT) <= 0)
    g_main_context_iteration (NULL, FALSE);
  id = strstr (buffer, "\"id\":\"");
  g_assert_nonnull (id);
  id[6 + 32] = '\0';
  parts = g_strsplit (hello, "%s", -1);
  answer = g_strjoinv (id + 6, parts);
  g_assert_cmpint (send (far->fd, answer, strlen (answer), 0), >, 0);
  g_main_loop_run (wait_for.loop);
}

static void
close_far (Far *far)
{
  close (far->fd);
  ow_remote_engine_close (far->remote);
  g_object_unref (far->remote);
  g_free (far->lost);
}

#define GOOD_HELLO \
  "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"protocol\":1,\"version\":\"0.1.0\"," \
  "\"engine\":\"0123456789abcdef\",\"pid\":1,\"host\":\"up\"}}\n"

static const struct
{
  const char  *name;
  const char  *answer;
  OwErrorKind  kind;
  const char  *words;
} HELLOS[] = {
  { "garbage", "SSH-2.0-x\r\n", OW_ERROR_FAILED, "not valid JSON" },
  { "other-protocol", "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"protocol\":2}}\n",
    OW_ERROR_REFUSED, "another protocol" },
  { "refused", "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"error\":{\"code\":-32010,\"message\":"
    "\"Update this.\"}}\n", OW_ERROR_REFUSED, "Update this." },
  { "full", "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32002,\"message\":\"Full.\"}}\n",
    OW_ERROR_REFUSED, "Full." },
  { "no-engine", "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"protocol\":1}}\n",
    OW_ERROR_FAILED, "which engine" },
  { "other-id", "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"protocol\":1}}\n",
    OW_ERROR_FAILED, "not asked" },
  { "event-first", "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{}}\n", OW_ERROR_FAILED,
    "before it said hello" },
};

static void
test_bad_hello (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  Far far;

  open_far (&far, HELLOS[i].answer);
  g_assert_false (wait_for.good);
  g_assert_error (wait_for.error, OW_ERROR, (int) HELLOS[i].kind);
  g_assert_nonnull (strstr (wait_for.error->message, HELLOS[i].words));
  g_assert_null (far.lost);
  close_far (&far);
}

static const struct
{
  const char *name;
  const char *words;
} GARBAGE[] = {
  { "text", "hello\n" },
  { "request", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n" },
  { "no-event", "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{}}\n" },
  { "event-type", "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":{\"seq\":1,"
    "\"time\":\"2026-01-31T09:00:00.123Z\",\"session\":\"s\",\"type\":\"party\"}}}\n" },
  { "event-member", "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":{\"seq\":1,"
    "\"time\":\"2026-01-31T09:00:00.123Z\",\"session\":\"s\",\"type\":\"notice\",\"text\":\"t\","
    "\"root\":1}}}\n" },
  { "batch", "[]\n" },
};

/* What is no message of the protocol ends it, and whoever waits is told. */
static void
test_garbage (gconstpointer data)
{
  const char *words = GARBAGE[GPOINTER_TO_UINT (data)].words;
  Far far;

  /* One that believes it waits for ever; it takes milliseconds. */
  alarm (30);
  open_far (&far, GOOD_HELLO);
  g_assert_true (wait_for.good);
  reset ();
  ow_engine_command_async (OW_ENGINE (far.remote), "session.list", NULL, NULL, on_command, NULL);
  g_assert_cmpint (send (far.fd, words, strlen (words), 0), >, 0);
  g_main_loop_run (wait_for.loop);
  g_assert_error (wait_for.error, OW_ERROR, OW_ERROR_INTERRUPTED);
  while (far.lost == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpuint (far.n_events, ==, 0);
  close_far (&far);
  alarm (0);
}

/* A line without an end is given up at the cap. */
static void
test_endless_line (void)
{
  g_autofree char *piece = g_malloc (65536);
  gsize sent = 0;
  Far far;

  memset (piece, 'x', 65536);
  open_far (&far, GOOD_HELLO);
  while (far.lost == NULL && sent < 64u * 1024 * 1024)
    {
      gssize n = send (far.fd, piece, 65536, MSG_DONTWAIT | MSG_NOSIGNAL);

      sent += n > 0 ? (gsize) n : 0;
      g_main_context_iteration (NULL, FALSE);
    }
  g_assert_nonnull (far.lost);
  g_assert_cmpuint (sent, <, 10u * 1024 * 1024);
  close_far (&far);
}

/* Answers to nothing are dropped, and notifications of later versions passed over. */
static void
test_unknown_is_passed_over (void)
{
  static const char words[] =
    "{\"jsonrpc\":\"2.0\",\"id\":\"ffffffffffffffff\",\"result\":{}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":\"x\"}}\n"
    "{\"jsonrpc\":\"2.0\",\"method\":\"weather\",\"params\":{}}\n"
    "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":{\"seq\":1,"
    "\"time\":\"2026-01-31T09:00:00.123Z\",\"session\":\"s\",\"type\":\"notice\","
    "\"text\":\"t\"}}}\n";
  Far far;

  open_far (&far, GOOD_HELLO);
  g_assert_cmpint (send (far.fd, words, strlen (words), 0), >, 0);
  while (far.n_events == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_null (far.lost);
  close_far (&far);
}

int
main (int    argc,
      char **argv)
{
  g_autofree char *home = g_dir_make_tmp ("ow-shared-XXXXXX", NULL);
  g_autofree char *libexec = NULL;
  g_autofree char *runner = NULL;
  int status;

  g_setenv ("HOME", home, TRUE);
  g_unsetenv ("XDG_CONFIG_HOME");
  g_unsetenv ("XDG_DATA_HOME");
  g_unsetenv ("XDG_STATE_HOME");
  g_unsetenv ("XDG_RUNTIME_DIR");
  libexec = g_build_filename (home, "libexec", NULL);
  runner = g_build_filename (libexec, "openworker-runner", NULL);
  g_assert_cmpint (g_mkdir (libexec, 0755), ==, 0);
  g_assert_true (g_file_set_contents_full (runner, RUNNER, -1, G_FILE_SET_CONTENTS_NONE, 0755,
                                           NULL));
  g_setenv ("OPENWORKER_LIBEXEC", libexec, TRUE);
  g_test_init (&argc, &argv, NULL);
  wait_for.loop = g_main_loop_new (NULL, FALSE);
  g_test_add_func ("/engine/shared/host-and-client", test_host_and_client);
  g_test_add_func ("/engine/shared/nobody-there", test_nobody_there);
  g_test_add_func ("/engine/shared/one-up", test_one_up);
  g_test_add_func ("/engine/shared/left-on-the-way", test_left_on_the_way);
  g_test_add_func ("/engine/shared/host-is-lost", test_host_is_lost);
  g_test_add_func ("/engine/shared/host-stays", test_host_stays);
  for (guint i = 0; i < G_N_ELEMENTS (HELLOS); i++)
    {
      g_autofree char *path = g_strconcat ("/engine/remote/hello/", HELLOS[i].name, NULL);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_bad_hello);
    }
  for (guint i = 0; i < G_N_ELEMENTS (GARBAGE); i++)
    {
      g_autofree char *path = g_strconcat ("/engine/remote/P01/", GARBAGE[i].name, NULL);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_garbage);
    }
  g_test_add_func ("/engine/remote/P02/endless-line", test_endless_line);
  g_test_add_func ("/engine/remote/unknown-is-passed-over", test_unknown_is_passed_over);
  status = g_test_run ();
  reset ();
  g_main_loop_unref (wait_for.loop);
  ow_file_remove_tree (home, NULL);
  return status;
}
