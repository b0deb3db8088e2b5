/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <string.h>

#include "ow-session-list-private.h"

/* An engine that tells of events, and is never asked. */
#define TEST_TYPE_ENGINE (test_engine_get_type ())
G_DECLARE_FINAL_TYPE (TestEngine, test_engine, TEST, ENGINE, GObject)

struct _TestEngine
{
  GObject parent_instance;
};

static void
test_engine_iface_init (OwEngineInterface *iface)
{
}

G_DEFINE_FINAL_TYPE_WITH_CODE (TestEngine, test_engine, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_ENGINE, test_engine_iface_init))

static void
test_engine_class_init (TestEngineClass *klass)
{
}

static void
test_engine_init (TestEngine *self)
{
}

typedef struct
{
  guint position;
  guint removed;
  guint added;
  guint told;
} Change;

static void
on_items_changed (GListModel *model,
                  guint       position,
                  guint       removed,
                  guint       added,
                  gpointer    user_data)
{
  Change *change = user_data;

  change->position = position;
  change->removed = removed;
  change->added = added;
  change->told++;
}

/* @ids: a letter each. */
static void
set (OwSessionList *list,
     const char    *ids)
{
  json_t *rows = json_array ();

  for (const char *at = ids; *at != '\0'; at++)
    {
      char id[2] = { *at, '\0' };

      json_array_append_new (rows, json_pack ("{s:s, s:s, s:s, s:s, s:s}", "session", id, "title",
                                              id, "state", "done", "level", "direct", "started",
                                              "2026-01-01T00:00:00Z"));
    }
  ow_session_list_set_rows (list, rows);
  json_decref (rows);
}

static char *
order (OwSessionList *list)
{
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (list)); i++)
    {
      g_autoptr (OwSessionItem) item = g_list_model_get_item (G_LIST_MODEL (list), i);

      g_string_append (out, ow_session_item_get_id (item));
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* Each change tells of what is between the equal ends, and no more; what stays is the same
 * object, so that a selection holds. */
static void
test_changes (void)
{
  static const struct
  {
    const char *before;
    const char *after;
    guint       told;
    guint       position;
    guint       removed;
    guint       added;
  } CASES[] = {
    { "", "abc", 1, 0, 0, 3 },
    { "abc", "abc", 0, 0, 0, 0 },
    { "abc", "dabc", 1, 0, 0, 1 },
    { "abc", "ac", 1, 1, 1, 0 },
    { "abc", "ab", 1, 2, 1, 0 },
    { "abc", "", 1, 0, 3, 0 },
    { "abc", "axc", 1, 1, 1, 1 },
    { "aab", "ab", 0, 0, 0, 0 },
    { "ab", "abb", 0, 0, 0, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (CASES); i++)
    {
      g_autoptr (OwSessionList) list = ow_session_list_new (NULL);
      g_autoptr (OwSessionItem) first = NULL;
      g_autoptr (OwSessionItem) still = NULL;
      Change change = { 0 };
      guint at;

      set (list, CASES[i].before);
      first = g_list_model_get_item (G_LIST_MODEL (list), 0);
      g_signal_connect (list, "items-changed", G_CALLBACK (on_items_changed), &change);
      set (list, CASES[i].after);
      g_assert_cmpuint (change.told, ==, CASES[i].told);
      g_assert_cmpuint (change.position, ==, CASES[i].position);
      g_assert_cmpuint (change.removed, ==, CASES[i].removed);
      g_assert_cmpuint (change.added, ==, CASES[i].added);
      at = first == NULL ? G_MAXUINT : ow_session_list_find (list, "a");
      if (at != G_MAXUINT)
        still = g_list_model_get_item (G_LIST_MODEL (list), at);
      g_assert_true (still == NULL || still == first);
    }
}

/* Rows that are none, or have wrong members, are passed over or shown as far as they go. */
static void
test_strange_rows (void)
{
  static const char * const TEXTS[] = {
    "[]", "{}", "[1, null, \"a\", []]", "[{}]", "[{\"session\": 5}]",
  };

  for (guint i = 0; i < G_N_ELEMENTS (TEXTS); i++)
    {
      g_autoptr (OwSessionList) list = ow_session_list_new (NULL);
      char error[OW_WIRE_ERROR_SIZE];
      json_t *rows = ow_json_parse (TEXTS[i], strlen (TEXTS[i]), error);

      g_assert_nonnull (rows);
      ow_session_list_set_rows (list, rows);
      g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (list)), ==, 0);
      json_decref (rows);
    }
}

static void
on_notify (guint *told)
{
  (*told)++;
}

static void
test_row (void)
{
  json_t *row = json_pack ("{s:s, s:s, s:s, s:s, s:b, s:i}", "session", "x", "title",
                           "R&D\n<b>plan</b>", "state", "running", "level", "bubblewrap",
                           "working", TRUE, "waiting", 0);
  g_autoptr (OwSessionItem) item = ow_session_item_new (row);
  guint told = 0;

  g_assert_cmpstr (ow_session_item_get_title (item), ==, "R&D <b>plan</b>");
  g_assert_cmpstr (ow_session_item_get_subtitle (item), ==, "Running · Built-in");
  g_assert_true (ow_session_item_is_working (item));
  g_signal_connect_swapped (item, "notify", G_CALLBACK (on_notify), &told);
  ow_session_item_update (item, row);
  g_assert_cmpuint (told, ==, 0);
  json_object_set_new (row, "waiting", json_integer (2));
  ow_session_item_update (item, row);
  g_assert_cmpstr (ow_session_item_get_subtitle (item), ==, "Needs your approval");
  /* The words and the icon. */
  g_assert_cmpuint (told, ==, 2);
  json_object_set_new (row, "title", json_string (""));
  ow_session_item_update (item, row);
  g_assert_cmpstr (ow_session_item_get_title (item), ==, "Session without a title");
  json_decref (row);
}

static void
set_state (OwSessionList *list,
           const char    *state,
           gboolean       working)
{
  json_t *rows = json_pack ("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "session", "s", "title", "Do it.",
                            "state", state, "level", "bubblewrap", "working", working, "waiting",
                            working);

  ow_session_list_set_rows (list, rows);
  json_decref (rows);
}

static void
check_item (OwSessionList *list,
            const char    *subtitle,
            gboolean       working)
{
  g_autoptr (OwSessionItem) item = g_list_model_get_item (G_LIST_MODEL (list), 0);

  g_assert_cmpstr (ow_session_item_get_subtitle (item), ==, subtitle);
  g_assert_true (ow_session_item_is_working (item) == working);
}

/* The store has it as one that runs, for good, or cannot be asked: it has failed all the same,
 * until it goes on or has a stored end. */
static void
test_unstored_end (void)
{
  g_autoptr (TestEngine) engine = g_object_new (TEST_TYPE_ENGINE, NULL);
  g_autoptr (OwSessionList) list = ow_session_list_new (OW_ENGINE (engine));
  g_autoptr (OwEvent) end = NULL;
  g_autoptr (OwEvent) resumed = NULL;

  end = ow_event_new (OW_EVENT_SESSION_ENDED, "s",
                      json_pack ("{s:s, s:i, s:s}", "outcome", "failed", "exit", 1, "message",
                                 "The disk\nis full."));
  set_state (list, "running", TRUE);
  check_item (list, "Needs your approval", TRUE);
  g_signal_emit_by_name (engine, "event", end);
  check_item (list, "Failed: The disk is full.", FALSE);
  g_assert_true (ow_session_list_get_end (list, "s") == end);
  g_assert_null (ow_session_list_get_end (list, "t"));
  set_state (list, "running", FALSE);
  check_item (list, "Failed: The disk is full.", FALSE);
  g_usleep (3000);
  resumed = ow_event_new (OW_EVENT_SESSION_RESUMED, "s",
                          json_pack ("{s:s, s:s, s:s, s:[], s:s, s:s, s:i, s:i, s:s}",
                                     "provider", "direct", "level", "direct", "profile",
                                     "default", "hosts", "approve", "ask", "version", "1",
                                     "pid", 1, "pid_start", 1, "boot_id", "b"));
  g_signal_emit_by_name (engine, "event", resumed);
  g_assert_null (ow_session_list_get_end (list, "s"));
  set_state (list, "running", TRUE);
  check_item (list, "Needs your approval", TRUE);
  g_signal_emit_by_name (engine, "event", end);
  set_state (list, "interrupted", FALSE);
  check_item (list, "Interrupted", FALSE);
  g_assert_null (ow_session_list_get_end (list, "s"));
}

static void
test_order (void)
{
  g_autoptr (OwSessionList) list = ow_session_list_new (NULL);
  g_autofree char *found = NULL;

  set (list, "cab");
  found = order (list);
  g_assert_cmpstr (found, ==, "cab");
  g_assert_cmpuint (ow_session_list_find (list, "b"), ==, 2);
  g_assert_cmpuint (ow_session_list_find (list, "z"), ==, G_MAXUINT);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/session-list/changes", test_changes);
  g_test_add_func ("/session-list/strange-rows", test_strange_rows);
  g_test_add_func ("/session-list/A35/row", test_row);
  g_test_add_func ("/session-list/unstored-end", test_unstored_end);
  g_test_add_func ("/session-list/order", test_order);
  return g_test_run ();
}
