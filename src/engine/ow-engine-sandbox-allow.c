/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-sandboxes-private.h"

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-source.h"
#include "config/ow-config-hosts.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"
#include "wire/ow-address.h"

/* sandbox.allow: one more host for a session that runs, and for those to come. Private addresses
 * need a word of their own, also where a name stands for one (REQ-N03). */

#define NOT_ALLOWED "The host is not allowed"
#define CONSENT     "Give --private if you trust this session with that machine."
/* What did not answer by then is looked up by the wall itself, at each connection. */
#define RESOLVE_MS  5000

typedef struct
{
  GTask        *task;     /* (owned) */
  OwSession    *session;  /* (owned) */
  OwHost       *host;     /* (owned) */
  gboolean      machine;
  GCancellable *lookup;   /* (owned) (nullable) */
  GSource      *deadline; /* (owned) (nullable) */
} Allow;

static void
allow_free (Allow *allow)
{
  ow_source_clear (&allow->deadline);
  g_clear_object (&allow->lookup);
  g_object_unref (allow->task);
  g_object_unref (allow->session);
  ow_host_free (allow->host);
  g_free (allow);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Allow, allow_free)

/* What is no host at all is a fault of the command; an address that is one is refused. */
static OwHost *
read_host (const char *text,
           gboolean    private,
           GError    **error)
{
  g_autoptr (GError) cause = NULL;
  g_autoptr (GError) unwanted = NULL;
  OwHost *host = ow_host_parse_as (text, private ? OW_HOST_PRIVATE : OW_HOST_NAME, &cause);
  g_autoptr (OwHost) with_consent = NULL;

  if (host != NULL)
    return host;
  if (!g_error_matches (cause, OW_ERROR, OW_ERROR_REFUSED))
    {
      g_set_error_literal (error, OW_ERROR, OW_ERROR_USAGE, cause->message);
      return NULL;
    }
  with_consent = ow_host_parse_as (text, OW_HOST_PRIVATE, &unwanted);
  ow_error_set (error, OW_ERROR_REFUSED, NOT_ALLOWED, cause->message,
                with_consent == NULL ? NULL : CONSENT);
  return NULL;
}

/* @why (nullable): what kept the session that runs from it. */
static void
finish_allow (Allow        *allow,
              const GError *why)
{
  g_autofree char *path = ow_paths_get_config_file ();
  g_autofree char *name = ow_host_to_text (allow->host);
  json_t *result;
  GError *error = NULL;

  if (allow->machine && !ow_config_add_extra_host (path, allow->host, &error))
    {
      g_task_return_error (allow->task, error);
      return;
    }
  result = json_pack ("{s:s, s:b, s:b, s:s*}", "host", name, "session", why == NULL,
                      "machine", allow->machine, "why", why != NULL ? why->message : NULL);
  if (allow->host->private)
    json_object_set_new (result, "private", json_true ());
  ow_engine_return_json (allow->task, result);
}

static void
on_allowed (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (Allow) allow = user_data;
  g_autoptr (GError) error = NULL;

  if (ow_session_allow_host_finish (OW_SESSION (source), result, &error))
    finish_allow (allow, NULL);
  /* A sandbox of another kind has its list for good; later ones can still have the host. */
  else if (allow->machine && g_error_matches (error, OW_ERROR, OW_ERROR_REFUSED))
    finish_allow (allow, error);
  else
    g_task_return_error (allow->task, g_steal_pointer (&error));
}

static void
do_allow (Allow *allow)
{
  ow_session_allow_host_async (allow->session, allow->host, g_task_get_cancellable (allow->task),
                               on_allowed, allow);
}

/* --- names that stand for addresses --- */

/* NULL: nothing is against the host. A single address that is private is enough: which of them is
 * connected to is not ours to say. */
static GError *
judge (const OwHost *host,
       GList        *addresses)
{
  gboolean public = FALSE;
  GError *error = NULL;

  for (GList *link = addresses; link != NULL; link = link->next)
    {
      g_autofree char *text = g_inet_address_to_string (link->data);
      struct sockaddr_storage address;
      const OwAddressKind kind = ow_address_parse (text, &address)
                                 ? ow_address_classify ((const struct sockaddr *) &address)
                                 : OW_ADDRESS_SPECIAL;

      if (kind == OW_ADDRESS_PRIVATE)
        {
          ow_error_setf (&error, OW_ERROR_REFUSED, CONSENT, NOT_ALLOWED ": %s stands for %s, which "
                         "is a private address", host->host, text);
          return error;
        }
      public = public || kind == OW_ADDRESS_PUBLIC;
    }
  if (!public && addresses != NULL)
    ow_error_setf (&error, OW_ERROR_REFUSED, NULL, NOT_ALLOWED ": %s stands for an address of this "
                   "machine itself, and loopback and link-local ones are always refused",
                   host->host);
  return error;
}

static void
on_resolved (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  Allow *allow = user_data;
  GList *addresses = g_resolver_lookup_by_name_finish (G_RESOLVER (source), result, NULL);
  GError *error = judge (allow->host, addresses);

  g_resolver_free_addresses (addresses);
  ow_source_clear (&allow->deadline);
  if (error == NULL && !g_cancellable_set_error_if_cancelled (
        g_task_get_cancellable (allow->task), &error))
    {
      do_allow (allow);
      return;
    }
  g_task_return_error (allow->task, error);
  allow_free (allow);
}

static gboolean
on_late (gpointer user_data)
{
  Allow *allow = user_data;

  g_cancellable_cancel (allow->lookup);
  return G_SOURCE_REMOVE;
}

static void
resolve (Allow *allow)
{
  g_autoptr (GResolver) resolver = g_resolver_get_default ();

  allow->lookup = g_cancellable_new ();
  allow->deadline = ow_source_timeout (RESOLVE_MS, on_late, allow, NULL);
  g_resolver_lookup_by_name_async (resolver, allow->host->host, allow->lookup, on_resolved, allow);
}

void
ow_engine_sandboxes_allow (OwLocalEngine *self,
                           const json_t  *params,
                           GTask         *task)
{
  GError *error = NULL;
  const gboolean private = ow_json_get_bool (params, "private", FALSE);
  const char *session = ow_engine_params_need (params, "session", &error);
  const char *text = session != NULL ? ow_engine_params_need (params, "host", &error) : NULL;
  g_autoptr (OwHost) host = text != NULL ? read_host (text, private, &error) : NULL;
  OwEngineWork *work = host != NULL ? g_hash_table_lookup (self->sessions, session) : NULL;
  Allow *allow;

  if (host != NULL && work == NULL)
    ow_error_set (&error, OW_ERROR_REFUSED, "The host was not allowed",
                  "no such session runs", "See “openworker sandbox list”.");
  if (work == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  allow = g_new0 (Allow, 1);
  allow->task = g_object_ref (task);
  allow->session = g_object_ref (work->session);
  allow->host = g_steal_pointer (&host);
  allow->machine = ow_json_get_bool (params, "machine", FALSE);
  if (private || ow_host_is_address (allow->host) || g_str_has_prefix (allow->host->host, "*."))
    do_allow (allow);
  else
    resolve (allow);
}
