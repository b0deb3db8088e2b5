/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-events-private.h"

#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-owner.h"
#include "base/ow-text.h"
#include "config.h"

/* The longest DNS name, and some for what is not one. */
#define MAX_HOST_CHARS 300

const char *
ow_session_events_approve_name (OwApprovePolicy policy)
{
  switch (policy)
    {
    case OW_APPROVE_ASK:
      return "ask";
    case OW_APPROVE_SANDBOXED:
      return "sandboxed";
    default:
      return "deny";
    }
}

static void
set_text (json_t     *members,
          const char *name,
          const char *value)
{
  g_autofree char *text = NULL;

  if (value == NULL)
    return;
  text = ow_text_from_bytes (value, -1);
  json_object_set_new (members, name, json_string (text));
}

json_t *
ow_session_events_started (const OwSessionOptions *options,
                           OwLevel                 level,
                           const json_t           *folders,
                           const json_t           *hosts)
{
  g_autofree char *boot_id = ow_owner_boot_id ();
  json_t *members = json_object ();

  if (folders != NULL)
    json_object_set (members, "folders", (json_t *) folders);
  json_object_set_new (members, "provider",
                       json_string (ow_provider_kind_to_string (options->provider)));
  json_object_set_new (members, "level", json_string (ow_level_to_string (level)));
  set_text (members, "model", options->model_name);
  set_text (members, "base_url", options->base_url);
  set_text (members, "notice", options->notice);
  json_object_set_new (members, "profile",
                       json_string (ow_network_profile_to_string (options->profile)));
  json_object_set (members, "hosts", (json_t *) hosts);
  json_object_set_new (members, "approve",
                       json_string (ow_session_events_approve_name (options->approve)));
  json_object_set_new (members, "version", json_string (OW_VERSION));
  json_object_set_new (members, "pid", json_integer (getpid ()));
  json_object_set_new (members, "pid_start",
                       json_integer ((json_int_t) ow_owner_process_start (getpid ())));
  json_object_set_new (members, "boot_id", json_string (boot_id));
  return members;
}

json_t *
ow_session_events_wall (const char *state,
                        OwLevel     level,
                        const char *reason)
{
  json_t *members = json_object ();

  json_object_set_new (members, "state", json_string (state));
  json_object_set_new (members, "level", json_string (ow_level_to_string (level)));
  set_text (members, "reason", reason);
  return members;
}

json_t *
ow_session_events_wall_up (OwLevel     level,
                           const char *reason,
                           GPtrArray  *credentials)
{
  json_t *members = ow_session_events_wall ("up", level, reason);
  json_t *names = json_array ();

  for (guint i = 0; credentials != NULL && i < credentials->len; i++)
    json_array_append_new (names, json_string (g_ptr_array_index (credentials, i)));
  if (json_array_size (names) > 0)
    json_object_set (members, "credentials", names);
  json_decref (names);
  return members;
}

json_t *
ow_session_events_ended (const GError *error,
                         int           status,
                         gboolean      parked,
                         gboolean      cut)
{
  const char *outcome = "failed";
  json_t     *members = json_object ();

  if (error == NULL)
    outcome = parked ? "parked" : "done";
  else if (g_error_matches (error, OW_ERROR, OW_ERROR_REFUSED))
    outcome = "refused";
  else if (g_error_matches (error, OW_ERROR, OW_ERROR_INTERRUPTED))
    outcome = "stopped";
  json_object_set_new (members, "outcome", json_string (outcome));
  json_object_set_new (members, "exit",
                       json_integer (error != NULL ? ow_error_exit_status (error) : status));
  if (error != NULL)
    set_text (members, "message", error->message);
  else if (parked && cut)
    {
      json_object_set_new (members, "cut", json_true ());
      set_text (members, "message", "A turn was cut short. It goes on with the session.");
    }
  return members;
}

static char *
describe_refusal (const char *host,
                  json_int_t  port,
                  const char *reason)
{
  g_autofree char *shown = ow_text_visible (host);

  /* What can be seen from inside anyway (no such name, no answer) needs no notice. */
  if (g_str_equal (reason, "not_listed"))
    return g_strdup_printf ("%s:%" JSON_INTEGER_FORMAT " was refused by this session's list of "
                            "hosts; it is not a network fault.", shown, port);
  if (g_str_equal (reason, "address"))
    return g_strdup_printf ("%s:%" JSON_INTEGER_FORMAT " was refused by this session's wall, "
                            "because its address is a local or private one; it is not a network "
                            "fault.", shown, port);
  return NULL;
}

json_t *
ow_session_events_decision (const char  *line,
                            OwLevel      level,
                            gint64      *time_ms,
                            char       **notice)
{
  char              message[OW_WIRE_ERROR_SIZE];
  json_t           *decision = ow_json_parse (line, strlen (line), message);
  const char       *verdict = ow_json_get_string (decision, "decision", "");
  const char       *host = ow_json_get_string (decision, "host", NULL);
  const char       *reason = ow_json_get_string (decision, "reason", NULL);
  const char       *address = ow_json_get_string (decision, "address", NULL);
  const char       *program = ow_json_get_string (decision, "program", NULL);
  json_int_t        port = ow_json_get_int (decision, "port", -1);
  gboolean          refused = g_str_equal (verdict, "refuse");
  g_autofree char  *short_host = NULL;
  json_t           *members = NULL;

  *notice = NULL;
  *time_ms = ow_json_get_int (decision, "time_ms", g_get_real_time () / 1000);
  if ((refused || g_str_equal (verdict, "allow")) && host != NULL && reason != NULL &&
      port >= 0 && port <= G_MAXUINT16)
    {
      short_host = ow_text_shorten (host, MAX_HOST_CHARS, TRUE);
      members = json_object ();
      json_object_set_new (members, "host", json_string (short_host));
      json_object_set_new (members, "port", json_integer (port));
      json_object_set_new (members, "decision", json_string (verdict));
      json_object_set_new (members, "reason", json_string (reason));
      json_object_set_new (members, "level", json_string (ow_level_to_string (level)));
      if (address != NULL)
        json_object_set_new (members, "address", json_string (address));
      if (program != NULL)
        json_object_set_new (members, "program", json_string (program));
      if (refused)
        *notice = describe_refusal (short_host, port, reason);
    }
  json_decref (decision);
  return members;
}
