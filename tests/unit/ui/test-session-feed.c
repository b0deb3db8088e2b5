/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <string.h>

#include "events/ow-event-list.h"
#include "ow-session-feed-private.h"

/* An engine that has one session, gives out its events a few at a time, and answers when it is
 * told to. */
#define TEST_TYPE_ENGINE (test_engine_get_type ())
G_DECLARE_FINAL_TYPE (TestEngine, test_engine, TEST, ENGINE, GObject)

struct _TestEngine
{
  GObject      parent_instance;

  OwEventList *events;
  GPtrArray   *waiting; /* tasks */
  guint        page;
  guint        asked;
  gboolean     broken;
};

static void
test_engine_command_async (OwEngine            *engine,
                           const char          *command,
                           json_t              *params,
                           GCancellable        *cancellable,
                           GAsyncReadyCallback  callback,
                           gpointer             user_data)
{
  TestEngine *self = TEST_ENGINE (engine);
  GTask *task = g_task_new (engine, cancellable, callback, user_data);

  g_assert_cmpstr (command, ==, "session.show");
  g_task_set_task_data (task, params, (GDestroyNotify) json_decref);
  g_ptr_array_add (self->waiting, task);
  self->asked++;
}

static json_t *
test_engine_command_finish (OwEngine      *engine,
                            GAsyncResult  *result,
                            GError       **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
test_engine_iface_init (OwEngineInterface *iface)
{
  iface->command_async = test_engine_command_async;
  iface->command_finish = test_engine_command_finish;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (TestEngine, test_engine, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_ENGINE, test_engine_iface_init))

static void
test_engine_finalize (GObject *object)
{
  TestEngine *self = TEST_ENGINE (object);

  g_object_unref (self->events);
  g_ptr_array_unref (self->waiting);
  G_OBJECT_CLASS (test_engine_parent_class)->finalize (object);
}

static void
test_engine_class_init (TestEngineClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = test_engine_finalize;
}

static void
test_engine_init (TestEngine *self)
{
  self->events = ow_event_list_new ("s");
  self->waiting = g_ptr_array_new_with_free_func (g_object_unref);
  self->page = 3;
}

static void
spin (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

/* Answers what was asked, until nothing is. */
static void
answer (TestEngine *self)
{
  while (self->waiting->len > 0)
    {
      g_autoptr (GTask) task = g_ptr_array_steal_index (self->waiting, 0);
      guint from = (guint) ow_json_get_int (g_task_get_task_data (task), "from", 1);
      json_t *events = json_array ();
      guint n = ow_event_list_get_n (self->events);
      guint i = from - 1;

      if (self->broken)
        {
          json_decref (events);
          g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_FAILED, "The store is gone.");
          spin ();
          continue;
        }
      for (; i < n && i < from - 1 + self->page; i++)
        json_array_append_new (events, ow_event_to_json (ow_event_list_get (self->events, i)));
      g_task_return_pointer (task, i < n ? json_pack ("{s:o, s:i}", "events", events, "next",
                                                      i + 1)
                                         : json_pack ("{s:o}", "events", events),
                             (GDestroyNotify) json_decref);
      spin ();
    }
}

/* @heard: the engine tells of it. */
static void
append (TestEngine *self,
        gboolean    heard)
{
  g_autofree char *text = g_strdup_printf ("%u", ow_event_list_get_n (self->events) + 1);
  g_autoptr (OwEvent) event = NULL;

  event = ow_event_list_append (self->events, OW_EVENT_NOTICE, json_pack ("{s:s}", "text", text),
                                NULL);
  if (heard)
    g_signal_emit_by_name (self, "event", event);
}

/* The feed shows each event once, in order, and all there are. */
static void
check (OwSessionFeed *feed,
       TestEngine    *engine)
{
  GListModel *model = G_LIST_MODEL (ow_session_feed_get_transcript (feed));

  g_assert_cmpuint (g_list_model_get_n_items (model), ==, ow_event_list_get_n (engine->events));
  for (guint i = 0; i < g_list_model_get_n_items (model); i++)
    {
      g_autoptr (OwTranscriptItem) item = g_list_model_get_item (model, i);
      g_autofree char *text = g_strdup_printf ("%u", i + 1);

      g_assert_cmpstr (item->text->str, ==, text);
    }
}

/* Whatever was heard before, during and after the reading, and whatever was missed. */
static void
test_nothing_missed (void)
{
  for (guint mask = 0; mask < 256; mask++)
    {
      g_autoptr (TestEngine) engine = g_object_new (TEST_TYPE_ENGINE, NULL);
      g_autoptr (OwSessionFeed) feed = NULL;

      for (guint i = 0; i < 10; i++)
        append (engine, FALSE);
      feed = ow_session_feed_new (OW_ENGINE (engine), "s");
      g_assert_true (ow_session_feed_is_loading (feed));
      for (guint bit = 0; bit < 8; bit++)
        {
          append (engine, (mask & (1 << bit)) != 0);
          if (bit == 3)
            answer (engine);
        }
      append (engine, TRUE);
      answer (engine);
      g_assert_false (ow_session_feed_is_loading (feed));
      check (feed, engine);
    }
}

static void
test_repeated (void)
{
  g_autoptr (TestEngine) engine = g_object_new (TEST_TYPE_ENGINE, NULL);
  g_autoptr (OwSessionFeed) feed = ow_session_feed_new (OW_ENGINE (engine), "s");

  for (guint i = 0; i < 5; i++)
    append (engine, TRUE);
  answer (engine);
  for (guint i = 0; i < 5; i++)
    g_signal_emit_by_name (engine, "event", ow_event_list_get (engine->events, i));
  answer (engine);
  check (feed, engine);
}

/* An event of another session is none of its business. */
static void
test_other_session (void)
{
  g_autoptr (TestEngine) engine = g_object_new (TEST_TYPE_ENGINE, NULL);
  g_autoptr (OwSessionFeed) feed = ow_session_feed_new (OW_ENGINE (engine), "s");
  g_autoptr (OwEventList) other = ow_event_list_new ("t");
  g_autoptr (OwEvent) event = NULL;

  answer (engine);
  event = ow_event_list_append (other, OW_EVENT_NOTICE, json_pack ("{s:s}", "text", "x"), NULL);
  g_signal_emit_by_name (engine, "event", event);
  answer (engine);
  check (feed, engine);
}

/* An engine that has less than it told of is not asked for ever. */
static void
test_no_circle (void)
{
  g_autoptr (TestEngine) engine = g_object_new (TEST_TYPE_ENGINE, NULL);
  g_autoptr (OwSessionFeed) feed = ow_session_feed_new (OW_ENGINE (engine), "s");
  g_autoptr (OwEventList) ahead = ow_event_list_new ("s");

  answer (engine);
  for (guint i = 0; i < 9; i++)
    {
      g_autoptr (OwEvent) event = ow_event_list_append (ahead, OW_EVENT_NOTICE,
                                                        json_pack ("{s:s}", "text", "x"), NULL);

      if (i == 8)
        g_signal_emit_by_name (engine, "event", event);
    }
  answer (engine);
  g_assert_cmpuint (engine->asked, <=, 4);
  g_assert_null (ow_session_feed_get_error (feed));
}

static void
test_error (void)
{
  g_autoptr (TestEngine) engine = g_object_new (TEST_TYPE_ENGINE, NULL);
  g_autoptr (OwSessionFeed) feed = ow_session_feed_new (OW_ENGINE (engine), "s");

  engine->broken = TRUE;
  append (engine, FALSE);
  answer (engine);
  g_assert_cmpstr (ow_session_feed_get_error (feed), ==, "The store is gone.");
  engine->broken = FALSE;
  ow_session_feed_refresh (feed);
  answer (engine);
  g_assert_null (ow_session_feed_get_error (feed));
  check (feed, engine);
}

/* Who looks at another session does not go on reading the first: a long one has many pages. */
static void
test_close (void)
{
  g_autoptr (TestEngine) engine = g_object_new (TEST_TYPE_ENGINE, NULL);
  OwSessionFeed *feed;

  for (guint i = 0; i < 10; i++)
    append (engine, FALSE);
  feed = ow_session_feed_new (OW_ENGINE (engine), "s");
  g_assert_cmpuint (engine->asked, ==, 1);
  g_object_add_weak_pointer (G_OBJECT (feed), (gpointer *) &feed);
  ow_session_feed_close (feed);
  g_object_unref (feed);
  append (engine, TRUE);
  answer (engine);
  g_assert_cmpuint (engine->asked, ==, 1);
  g_assert_null (feed);
}

static OwEvent *
make_end (void)
{
  return ow_event_new (OW_EVENT_SESSION_ENDED, "s",
                       json_pack ("{s:s, s:i, s:s}", "outcome", "failed", "exit", 1, "message",
                                  "The disk is full."));
}

/* The end is the last that stands there, @times in all, and the session does not work. */
static void
check_end (OwSessionFeed *feed,
           TestEngine    *engine,
           guint          times)
{
  GListModel *model = G_LIST_MODEL (ow_session_feed_get_transcript (feed));
  OwSessionFacts *facts = ow_session_feed_get_facts (feed);
  guint n = g_list_model_get_n_items (model);
  g_autoptr (OwTranscriptItem) last = g_list_model_get_item (model, n - 1);
  guint found = 0;

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (OwTranscriptItem) item = g_list_model_get_item (model, i);

      found += strstr (item->text->str, "The disk is full.") != NULL;
    }
  g_assert_cmpuint (found, ==, times);
  g_assert_cmpuint (n, ==, ow_event_list_get_n (engine->events) + times);
  g_assert_cmpstr (last->text->str, ==, "The session failed. The disk is full.");
  g_assert_cmpint (last->tone, ==, OW_TONE_ERROR);
  g_assert_false (facts->working);
  g_assert_true (facts->ended);
}

static void
say (TestEngine *self,
     gboolean    heard)
{
  g_autoptr (OwEvent) event = NULL;

  event = ow_event_list_append (self->events, OW_EVENT_USER_MESSAGE,
                                json_pack ("{s:s}", "text", "Do it."), NULL);
  if (heard)
    g_signal_emit_by_name (self, "event", event);
}

/* An end that is in no list, because it could not be stored, stands behind what is in the list,
 * whenever it is heard: before anything was asked, while it is read, behind a gap, at the end. */
static void
test_unstored_end (void)
{
  enum { KNOWN_BEFORE, WHILE_READ, BETWEEN_PAGES, READ, BEHIND_GAP, N_MOMENTS };

  for (guint moment = 0; moment < N_MOMENTS; moment++)
    {
      g_autoptr (TestEngine) engine = g_object_new (TEST_TYPE_ENGINE, NULL);
      g_autoptr (OwSessionFeed) feed = NULL;
      g_autoptr (OwEvent) end = make_end ();

      for (guint i = 0; i < 7; i++)
        say (engine, FALSE);
      feed = ow_session_feed_new (OW_ENGINE (engine), "s");
      if (moment == KNOWN_BEFORE)
        ow_session_feed_end (feed, end);
      else if (moment == WHILE_READ)
        g_signal_emit_by_name (engine, "event", end);
      if (moment != BETWEEN_PAGES)
        answer (engine);
      if (moment == BEHIND_GAP)
        {
          say (engine, FALSE);
          say (engine, TRUE);
        }
      if (moment >= BETWEEN_PAGES)
        g_signal_emit_by_name (engine, "event", end);
      answer (engine);
      check_end (feed, engine, 1);
    }
}

/* What cannot be read has ended too; once it can be, the end is behind it. */
static void
test_unstored_end_unread (void)
{
  g_autoptr (TestEngine) engine = g_object_new (TEST_TYPE_ENGINE, NULL);
  g_autoptr (OwSessionFeed) feed = ow_session_feed_new (OW_ENGINE (engine), "s");
  g_autoptr (OwEvent) end = make_end ();

  engine->broken = TRUE;
  answer (engine);
  g_signal_emit_by_name (engine, "event", end);
  ow_session_feed_refresh (feed);
  answer (engine);
  check_end (feed, engine, 1);
  engine->broken = FALSE;
  say (engine, FALSE);
  ow_session_feed_refresh (feed);
  answer (engine);
  check_end (feed, engine, 2);
}

/* One with a number that the store did not take: the list that can be read is without it, and so
 * it stands behind it; one that is in it stands there once. */
static void
test_unstored_end_numbered (void)
{
  for (guint stored = 0; stored < 2; stored++)
    {
      g_autoptr (TestEngine) engine = g_object_new (TEST_TYPE_ENGINE, NULL);
      g_autoptr (OwEventList) ahead = ow_event_list_new ("s");
      g_autoptr (OwSessionFeed) feed = NULL;
      g_autoptr (OwEvent) end = NULL;

      say (engine, FALSE);
      for (guint i = 0; i < 2; i++)
        {
          OwEventList *list = i == 0 ? ahead : engine->events;
          g_autoptr (OwEvent) event = NULL;

          if (i == 0)
            ow_event_unref (ow_event_list_append (list, OW_EVENT_NOTICE,
                                                  json_pack ("{s:s}", "text", "x"), NULL));
          else if (stored == 0)
            break;
          event = ow_event_list_append (list, OW_EVENT_SESSION_ENDED,
                                        json_pack ("{s:s, s:i, s:s}", "outcome", "failed",
                                                   "exit", 1, "message", "The disk is full."),
                                        NULL);
          if (i == 0)
            end = g_steal_pointer (&event);
        }
      feed = ow_session_feed_new (OW_ENGINE (engine), "s");
      ow_session_feed_end (feed, end);
      answer (engine);
      g_assert_true (ow_session_feed_get_facts (feed)->ended);
      g_assert_false (ow_session_feed_get_facts (feed)->working);
      g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (
                                                    ow_session_feed_get_transcript (feed))), ==, 2);
    }
}

static json_t *
resumed_members (void)
{
  return json_pack ("{s:s, s:s, s:s, s:[], s:s, s:s, s:i, s:i, s:s}", "provider", "direct",
                    "level", "direct", "profile", "default", "hosts", "approve", "ask",
                    "version", "1", "pid", 1, "pid_start", 1, "boot_id", "b");
}

/* One that goes on after that is not ended by it. */
static void
test_unstored_end_resumed (void)
{
  g_autoptr (TestEngine) engine = g_object_new (TEST_TYPE_ENGINE, NULL);
  g_autoptr (OwSessionFeed) feed = NULL;
  g_autoptr (OwEvent) end = make_end ();
  g_autoptr (OwEvent) event = NULL;

  /* Times have milliseconds. */
  g_usleep (3000);
  event = ow_event_list_append (engine->events, OW_EVENT_SESSION_RESUMED, resumed_members (),
                                NULL);
  g_assert_nonnull (event);
  say (engine, FALSE);
  feed = ow_session_feed_new (OW_ENGINE (engine), "s");
  ow_session_feed_end (feed, end);
  answer (engine);
  g_assert_true (ow_session_feed_get_facts (feed)->working);
  g_assert_false (ow_session_feed_get_facts (feed)->ended);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/session-feed/nothing-missed", test_nothing_missed);
  g_test_add_func ("/session-feed/repeated", test_repeated);
  g_test_add_func ("/session-feed/other-session", test_other_session);
  g_test_add_func ("/session-feed/no-circle", test_no_circle);
  g_test_add_func ("/session-feed/error", test_error);
  g_test_add_func ("/session-feed/close", test_close);
  g_test_add_func ("/session-feed/unstored-end", test_unstored_end);
  g_test_add_func ("/session-feed/unstored-end-unread", test_unstored_end_unread);
  g_test_add_func ("/session-feed/unstored-end-numbered", test_unstored_end_numbered);
  g_test_add_func ("/session-feed/unstored-end-resumed", test_unstored_end_resumed);
  return g_test_run ();
}
