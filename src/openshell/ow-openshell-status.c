/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-call-private.h"

#include <string.h>

#include "base/ow-text.h"

#define WHAT_STATUS "The OpenShell gateway cannot be used"

void
ow_openshell_status_free (OwOpenshellStatus *status)
{
  if (status == NULL)
    return;

  g_free (status->gateway);
  g_free (status->server);
  g_free (status->version);
  g_free (status->authentication);
  g_free (status);
}

/* What the command tells of the gateway, from either form of its answer. All borrowed. */
typedef struct {
  const char *status;
  const char *authentication;
  const char *provider;  /* (nullable) of the authentication, or what it said of it */
  const char *error;     /* (nullable) */
  const char *gateway;
  const char *server;
  const char *version;
} Told;

static OwOpenshellFault
fault_of_status (const Told *told)
{
  OwOpenshellFault of_error = told->error != NULL ? ow_openshell_fault_of_text (told->error)
                                                  : OW_OPENSHELL_FAULT_OTHER;

  if (strcmp (told->status, "connected") == 0)
    {
      /* A login that the gateway knows but does not allow anything is told as authenticated. */
      if (told->provider != NULL && strstr (told->provider, "authorization denied") != NULL)
        return OW_OPENSHELL_FAULT_NOT_AUTHENTICATED;
      if (strcmp (told->authentication, "authenticated") == 0 ||
          strcmp (told->authentication, "not_required") == 0)
        return OW_OPENSHELL_FAULT_NONE;
      return OW_OPENSHELL_FAULT_NOT_AUTHENTICATED;
    }
  if (strcmp (told->status, "not_configured") == 0)
    return OW_OPENSHELL_FAULT_NOT_REGISTERED;
  if (of_error == OW_OPENSHELL_FAULT_CERTIFICATE)
    return of_error;
  if (strcmp (told->status, "connected_http") == 0)
    return OW_OPENSHELL_FAULT_NOT_GATEWAY;
  if (of_error == OW_OPENSHELL_FAULT_NOT_AUTHENTICATED)
    return of_error;
  if (strcmp (told->status, "disconnected") == 0 || strcmp (told->status, "error") == 0)
    return OW_OPENSHELL_FAULT_GATEWAY_DOWN;
  return OW_OPENSHELL_FAULT_UNREADABLE;
}

static OwOpenshellStatus *
judge (const Told  *told,
       GError     **error)
{
  OwOpenshellFault fault = fault_of_status (told);
  OwOpenshellStatus *status;

  if (fault != OW_OPENSHELL_FAULT_NONE)
    {
      g_autofree char *detail = ow_openshell_text_plain (
        told->error != NULL ? told->error : told->provider != NULL ? told->provider : told->status,
        -1);

      g_propagate_error (error, ow_openshell_call_error_said (WHAT_STATUS, fault, detail));
      return NULL;
    }

  status = g_new0 (OwOpenshellStatus, 1);
  status->gateway = ow_openshell_text_plain (told->gateway, -1);
  status->server = ow_openshell_text_plain (told->server, -1);
  status->version = ow_openshell_text_plain (told->version, -1);
  status->authentication = ow_openshell_text_plain (told->authentication, -1);
  return status;
}

static OwOpenshellStatus *
judge_json (json_t  *root,
            GError **error)
{
  json_t *authentication = json_object_get (root, "authentication");
  Told told = { .status = ow_json_get_string (root, "status", "") };

  told.authentication = ow_json_get_string (authentication, "status", "");
  told.provider = ow_json_get_string (authentication, "provider", NULL);
  if (told.provider == NULL)
    told.provider = ow_json_get_string (authentication, "error", NULL);
  if (told.provider == NULL)
    told.provider = ow_json_get_string (authentication, "reason", NULL);
  told.error = ow_json_get_string (root, "error", NULL);
  told.gateway = ow_json_get_string (root, "gateway", "");
  told.server = ow_json_get_string (root, "server", "");
  told.version = ow_json_get_string (root, "version", "");
  return judge (&told, error);
}

/* The rest of the line "  KEY: rest" of @text, whose first one counts. (nullable) */
static char *
find_field (const char *text,
            const char *key)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *line = lines[i];

      while (*line == ' ')
        line++;
      if (g_str_has_prefix (line, key) && line[strlen (key)] == ':')
        return g_strstrip (g_strdup (line + strlen (key) + 1));
    }
  return NULL;
}

static const char *
status_of_words (const char *words)
{
  static const struct { const char *words; const char *status; } known[] = {
    { "Connected", "connected" },
    { "Connected (HTTP)", "connected_http" },
    { "Disconnected", "disconnected" },
    { "Error", "error" },
    { "No gateway configured.", "not_configured" },
  };

  for (gsize i = 0; words != NULL && i < G_N_ELEMENTS (known); i++)
    if (strcmp (known[i].words, words) == 0)
      return known[i].status;
  return "";
}

static const char *
authentication_of_words (const char *words)
{
  if (words == NULL)
    return "";
  if (strcmp (words, "Authenticated") == 0 || g_str_has_prefix (words, "Authenticated ("))
    return "authenticated";
  if (strcmp (words, "Not required") == 0 || g_str_has_prefix (words, "Not required ("))
    return "not_required";
  return words;
}

OwOpenshellStatus *
ow_openshell_status_from_text (const char *text,
                               GError    **error)
{
  g_autofree char *stripped = ow_text_strip_ansi (text);
  g_autofree char *status = find_field (stripped, "Status");
  g_autofree char *authentication = find_field (stripped, "Authentication");
  g_autofree char *gateway = find_field (stripped, "Gateway");
  g_autofree char *server = find_field (stripped, "Server");
  g_autofree char *version = find_field (stripped, "Version");
  g_autofree char *reason = find_field (stripped, "gRPC error");
  Told told = { .status = status_of_words (status), .provider = authentication };

  if (reason == NULL)
    reason = find_field (stripped, "Error");
  told.authentication = authentication_of_words (authentication);
  told.error = reason;
  told.gateway = gateway != NULL ? gateway : "";
  told.server = server != NULL ? server : "";
  told.version = version != NULL ? version : "";
  return judge (&told, error);
}

static void
on_text (GTask                   *task,
         const OwOpenshellAnswer *answer)
{
  GError *error = NULL;
  OwOpenshellStatus *status = NULL;

  if (answer->output_length == 0)
    error = ow_openshell_call_error_of (WHAT_STATUS, answer);
  else
    status = ow_openshell_status_from_text (answer->output, &error);
  if (status != NULL)
    g_task_return_pointer (task, status, (GDestroyNotify) ow_openshell_status_free);
  else
    g_task_return_error (task, error);
}

/* How a command line parser says that it has no such option. */
static gboolean
knows_no_json (const OwOpenshellAnswer *answer)
{
  g_autofree char *plain = ow_openshell_text_plain (answer->errors,
                                                    (gssize) answer->errors_length);

  return answer->output_length == 0 && strstr (plain, "unexpected argument") != NULL;
}

static void
on_status (GTask                   *task,
           const OwOpenshellAnswer *answer)
{
  static const char * const plain_status[] = { "status", NULL };
  OwOpenshellCall call = { .arguments = plain_status, .what = WHAT_STATUS, .answer = on_text,
                           .deadline_ms = OW_OPENSHELL_READ_MS };
  GError *error = NULL;
  json_t *root;
  OwOpenshellStatus *status;

  if (knows_no_json (answer))
    {
      ow_openshell_call_run (g_object_ref (task), &call);
      return;
    }
  if (answer->output_length == 0)
    {
      g_task_return_error (task, ow_openshell_call_error_of (WHAT_STATUS, answer));
      return;
    }
  root = ow_openshell_call_json (WHAT_STATUS, answer, &error);
  status = root != NULL ? judge_json (root, &error) : NULL;
  json_decref (root);
  if (status != NULL)
    g_task_return_pointer (task, status, (GDestroyNotify) ow_openshell_status_free);
  else
    g_task_return_error (task, error);
}

void
ow_openshell_status_async (OwOpenshell         *self,
                           GCancellable        *cancellable,
                           GAsyncReadyCallback  callback,
                           gpointer             user_data)
{
  static const char * const arguments[] = { "status", "-o", "json", NULL };
  OwOpenshellCall call = { .arguments = arguments, .what = WHAT_STATUS, .answer = on_status,
                           .deadline_ms = OW_OPENSHELL_READ_MS };
  GTask *task = ow_openshell_call_task (self, ow_openshell_status_async, cancellable, callback,
                                        user_data);

  ow_openshell_call_run (task, &call);
}

OwOpenshellStatus *
ow_openshell_status_finish (OwOpenshell   *self,
                            GAsyncResult  *result,
                            GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
