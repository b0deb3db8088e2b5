/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-event-private.h"

#include <string.h>

static const char * const kind_names[OW_EVENT_N_TYPES] = {
  [OW_EVENT_SESSION_STARTED] = "session-started",
  [OW_EVENT_SESSION_RESUMED] = "session-resumed",
  [OW_EVENT_USER_MESSAGE] = "user-message",
  [OW_EVENT_MODEL_TEXT] = "model-text",
  [OW_EVENT_MODEL_MESSAGE] = "model-message",
  [OW_EVENT_TOOL_ASKED] = "tool-asked",
  [OW_EVENT_CONSENT_ASKED] = "consent-asked",
  [OW_EVENT_CONSENT_ANSWERED] = "consent-answered",
  [OW_EVENT_TOOL_STARTED] = "tool-started",
  [OW_EVENT_TOOL_OUTPUT] = "tool-output",
  [OW_EVENT_TOOL_ENDED] = "tool-ended",
  [OW_EVENT_HOST_DECISION] = "host-decision",
  [OW_EVENT_WALL] = "wall",
  [OW_EVENT_FOLDERS_CHANGED] = "folders-changed",
  [OW_EVENT_EXECUTABLE_SETTINGS] = "executable-settings",
  [OW_EVENT_TRAFFIC] = "traffic",
  [OW_EVENT_NOTICE] = "notice",
  [OW_EVENT_TURN_ENDED] = "turn-ended",
  [OW_EVENT_SESSION_ENDED] = "session-ended",
};

const char *
ow_event_kind_name (OwEventType type)
{
  g_return_val_if_fail ((guint) type < OW_EVENT_N_TYPES, NULL);

  return kind_names[type];
}

gboolean
ow_event_kind_is_live (OwEventType type)
{
  return type == OW_EVENT_TOOL_OUTPUT || type == OW_EVENT_MODEL_TEXT;
}

gboolean
ow_event_kind_from_name (const char  *name,
                         OwEventType *type)
{
  for (guint i = 0; name != NULL && i < OW_EVENT_N_TYPES; i++)
    if (strcmp (kind_names[i], name) == 0)
      {
        *type = (OwEventType) i;
        return TRUE;
      }

  return FALSE;
}
