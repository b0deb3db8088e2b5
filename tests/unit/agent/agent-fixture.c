/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "agent-fixture.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-file.h"

static void
on_appended (OwEventList *events,
             OwEvent     *event,
             Fixture     *fixture)
{
  if ((gint) ow_event_get_kind (event) != fixture->stop_at || fixture->stop_after-- > 0)
    return;
  fixture->stop_at = -1;
  if (fixture->fails)
    {
      g_autoptr (GError) error = NULL;

      ow_error_set (&error, OW_ERROR_FAILED, "The wall is gone", NULL, NULL);
      ow_agent_fail (fixture->agent, error);
      return;
    }
  g_cancellable_cancel (fixture->cancellable);
}

void
agent_set_up (Fixture             *fixture,
              OwApprovePolicy      policy,
              FakeMode             mode,
              ScriptModel         *model,
              const OwAgentLimits *limits)
{
  g_autofree char *path = NULL;

  memset (fixture, 0, sizeof *fixture);
  fixture->stop_at = -1;
  fixture->directory = g_dir_make_tmp ("ow-agent-XXXXXX", NULL);
  path = g_build_filename (fixture->directory, "audit.jsonl", NULL);
  fixture->events = ow_event_list_new ("s1");
  g_signal_connect (fixture->events, "appended", G_CALLBACK (on_appended), fixture);
  fixture->consent = ow_consent_new (fixture->events, policy);
  fixture->audit = ow_audit_open (path, NULL);
  g_assert_nonnull (fixture->audit);
  fixture->host = fake_host_new (mode, "seen");
  fixture->model = model;
  fixture->agent = ow_agent_new (fixture->events, fixture->consent, fixture->audit,
                                 OW_TOOL_HOST (fixture->host), OW_MODEL (model), "the prompt",
                                 limits);
  fixture->cancellable = g_cancellable_new ();
}

void
agent_tear_down (Fixture *fixture)
{
  g_clear_object (&fixture->agent);
  g_clear_object (&fixture->host);
  g_clear_object (&fixture->model);
  g_clear_object (&fixture->consent);
  g_clear_object (&fixture->audit);
  g_clear_object (&fixture->events);
  g_clear_object (&fixture->cancellable);
  g_clear_error (&fixture->error);
  g_assert_true (ow_file_remove_tree (fixture->directory, NULL));
  g_free (fixture->directory);
}

void
agent_on_done (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  Fixture *fixture = user_data;

  fixture->result = ow_agent_run_turn_finish (OW_AGENT (source), result, &fixture->error);
  fixture->done = TRUE;
}

void
agent_run (Fixture    *fixture,
           const char *text)
{
  fixture->done = FALSE;
  ow_agent_run_turn_async (fixture->agent, text, fixture->cancellable, agent_on_done, fixture);
  fake_wait (&fixture->done);
}

guint
agent_count (Fixture     *fixture,
             OwEventType  kind)
{
  guint n = 0;

  for (guint i = 0; i < ow_event_list_get_n (fixture->events); i++)
    n += ow_event_get_kind (ow_event_list_get (fixture->events, i)) == kind;
  return n;
}

const OwEvent *
agent_last (Fixture *fixture)
{
  return ow_event_list_get (fixture->events, ow_event_list_get_n (fixture->events) - 1);
}

void
agent_assert_turn_ended (Fixture    *fixture,
                         const char *reason)
{
  g_assert_cmpint (ow_event_get_kind (agent_last (fixture)), ==, OW_EVENT_TURN_ENDED);
  g_assert_cmpstr (ow_event_get_string (agent_last (fixture), "reason"), ==, reason);
  /* Every asked call has its end. */
  g_assert_cmpuint (agent_count (fixture, OW_EVENT_TOOL_ASKED), ==,
                    agent_count (fixture, OW_EVENT_TOOL_ENDED));
}

void
agent_assert_roles (Fixture    *fixture,
                    const char *expected)
{
  g_autoptr (GString) roles = g_string_new (NULL);

  for (size_t i = 0; i < json_array_size (fixture->model->history); i++)
    g_string_append_printf (roles, "%s%s", i > 0 ? " " : "",
                            ow_json_get_string (json_array_get (fixture->model->history, i),
                                                "role", "?"));
  g_assert_cmpstr (roles->str, ==, expected);
}

const char *
agent_history_text (Fixture *fixture,
                    size_t   index)
{
  return ow_json_get_string (json_array_get (fixture->model->history, index), "text", NULL);
}

const OwEvent *
agent_find (Fixture *fixture,
            OwEventType   kind)
{
  for (guint i = ow_event_list_get_n (fixture->events); i > 0; i--)
    {
      const OwEvent *event = ow_event_list_get (fixture->events, i - 1);

      if (ow_event_get_kind (event) == kind)
        return event;
    }
  g_assert_not_reached ();
}
