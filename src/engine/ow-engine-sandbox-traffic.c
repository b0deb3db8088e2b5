/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-sandboxes-private.h"

#include <string.h>

#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"

/* sandbox.traffic: what left the machine in a session. Each run of it counts anew, and its last
 * traffic event has what it counted; of one that is at work the session itself knows more. */

static json_t *
find_host (json_t       *hosts,
           const json_t *like)
{
  for (size_t i = 0; i < json_array_size (hosts); i++)
    {
      json_t *host = json_array_get (hosts, i);

      if (strcmp (ow_json_get_string (host, "host", ""),
                  ow_json_get_string (like, "host", "")) == 0 &&
          ow_json_get_int (host, "port", 0) == ow_json_get_int (like, "port", 0))
        return host;
    }
  return NULL;
}

/* Bytes that one of two did not count are not known of both. */
static void
add_count (json_t       *host,
           const json_t *more,
           const char   *member)
{
  if (!json_is_integer (json_object_get (host, member)) ||
      !json_is_integer (json_object_get (more, member)))
    json_object_set_new (host, member, json_null ());
  else
    json_object_set_new (host, member, json_integer (ow_json_get_int (host, member, 0) +
                                                     ow_json_get_int (more, member, 0)));
}

static void
add_run (json_t       *sum,
         const json_t *run)
{
  for (size_t i = 0; i < json_array_size (run); i++)
    {
      const json_t *more = json_array_get (run, i);
      json_t *host = find_host (sum, more);

      if (host == NULL)
        {
          json_array_append_new (sum, json_deep_copy (more));
          continue;
        }
      add_count (host, more, "up");
      add_count (host, more, "down");
      add_count (host, more, "connections");
      add_count (host, more, "refused");
      if (json_object_get (host, "program") == NULL)
        json_object_set (host, "program", json_object_get (more, "program"));
    }
}

/* @live (nullable, moved in): of the run that is at work, in place of what it stored. */
static json_t *
sum_up (OwEventList *events,
        json_t      *live)
{
  json_t *sum = json_array ();
  const json_t *run = NULL;

  for (guint i = 0; i < ow_event_list_get_n (events); i++)
    {
      const OwEvent *event = ow_event_list_get (events, i);

      if (ow_event_get_kind (event) == OW_EVENT_TRAFFIC)
        run = json_object_get (ow_event_get_members (event), "traffic");
      else if (ow_event_get_kind (event) == OW_EVENT_SESSION_RESUMED)
        {
          add_run (sum, run);
          run = NULL;
        }
    }
  add_run (sum, live != NULL ? live : run);
  json_decref (live);
  return sum;
}

void
ow_engine_sandboxes_traffic (OwLocalEngine *self,
                             const json_t  *params,
                             GTask         *task)
{
  GError *error = NULL;
  const char *session = ow_engine_params_need (params, "session", &error);
  g_autoptr (OwEventList) events = NULL;
  OwEngineWork *work;

  if (session != NULL)
    events = ow_engine_sandboxes_need_events (self, session, &error);
  if (events == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  work = g_hash_table_lookup (self->sessions, session);
  ow_engine_return_json (task,
                         json_pack ("{s:s, s:b, s:o}", "session", session, "live", work != NULL,
                                    "hosts",
                                    sum_up (events, work != NULL
                                            ? ow_session_get_traffic (work->session) : NULL)));
}
