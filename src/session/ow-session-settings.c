/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-private.h"

#include "base/ow-source.h"
#include "session/ow-settings.h"
#include "tools/ow-tool-call.h"

/* The look for what a session made that other programs run later, while its sandbox is still
 * there. It is a call like any other, behind the wall and in the record. A sandbox that does not
 * answer in time is not waited for: the next look at the session's changes is one at this too. */

#define LOOK_MS 3000
#define PURPOSE "settings"

void
ow_session_settings_take (OwSession          *self,
                          const OwToolResult *result,
                          gboolean            late)
{
  json_t *members;

  if (result == NULL || result->outcome != OW_OUTCOME_OK)
    return;
  members = ow_settings_read (self->events, result->structured, self->folders, self->level, late);
  if (members != NULL)
    ow_session_append (self, OW_EVENT_EXECUTABLE_SETTINGS, members);
}

static void
on_looked (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  g_autoptr (OwToolResult) outcome = NULL;
  g_autoptr (GError) error = NULL;

  outcome = ow_tool_call_run_finish (OW_TOOL_CALL (source), result, &error);
  ow_source_clear (&self->look_timer);
  g_clear_object (&self->look);
  ow_session_settings_take (self, outcome, self->look_late);
  ow_session_take_down (self);
}

static gboolean
on_late (gpointer user_data)
{
  OwSession *self = user_data;

  g_cancellable_cancel (self->look);
  return G_SOURCE_REMOVE;
}

gboolean
ow_session_settings_look (OwSession *self)
{
  OwSettingsDue due;
  g_autoptr (OwToolCall) call = NULL;
  json_t *arguments;

  if (self->look != NULL)
    return TRUE;
  if (self->looked || !self->wall_up || self->agent == NULL ||
      ow_agent_is_broken (self->agent))
    return FALSE;
  self->looked = TRUE;
  due = ow_settings_get_due (self->events);
  if (!due.due)
    return FALSE;
  arguments = ow_settings_for_look (&due);
  call = ow_tool_call_new (self->events, self->consent, self->audit, OW_TOOL_HOST (self->sandbox),
                           PURPOSE, arguments, NULL);
  json_decref (arguments);
  ow_tool_call_set_purpose (call, PURPOSE);
  self->look = g_cancellable_new ();
  self->look_late = due.late;
  self->look_timer = ow_source_timeout (LOOK_MS, on_late, self, NULL);
  ow_tool_call_run_async (call, self->look, on_looked, g_object_ref (self));
  return TRUE;
}
