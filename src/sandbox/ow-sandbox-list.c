/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-sandbox-list.h"

#include <string.h>

#include "base/ow-text.h"
#include "config/ow-config.h"
#include "openshell/ow-openshell.h"
#include "sandbox/ow-openshell-labels.h"
#include "sandbox/ow-reaper.h"
#include "sandbox/ow-registry.h"

typedef struct
{
  json_t   *result;  /* (owned) */
  gboolean  all;
} Listing;

static void
listing_free (Listing *listing)
{
  json_decref (listing->result);
  g_free (listing);
}

static json_t *
item_to_json (const OwRegistryItem *item)
{
  g_autoptr (GDateTime) since = g_date_time_new_from_unix_utc (item->since);
  g_autofree char *text = since != NULL ? g_date_time_format (since, "%Y-%m-%dT%H:%M:%SZ") : NULL;
  g_autofree char *session = ow_text_from_bytes (item->session, -1);
  g_autofree char *provider = ow_text_from_bytes (item->provider, -1);
  gboolean planned = *item->provider == '\0';
  const char *state = !item->alive ? "left over" : planned ? "starting" : "up";
  json_t *json = json_pack ("{s:s, s:s, s:s, s:s, s:i, s:b}", "id", item->id, "session", session,
                            "provider", provider, "state", state, "pid", (int) item->owner_pid,
                            "ours", TRUE);

  if (!planned)
    json_object_set_new (json, "level", json_string (provider));
  if (item->since > 0 && text != NULL)
    json_object_set_new (json, "since", json_string (text));
  if (item->image != NULL)
    json_object_set_new (json, "image", json_string (item->image));
  if (strcmp (item->provider, ow_provider_kind_to_string (OW_PROVIDER_OPENSHELL)) == 0)
    {
      g_autofree char *name = ow_openshell_labels_name (item->id);

      json_object_set_new (json, "name", json_string (name));
    }
  return json;
}

/* New reference: array. */
static json_t *
list_registry (void)
{
  g_autoptr (GPtrArray) items = ow_registry_list ();
  json_t *list = json_array ();

  for (guint i = 0; i < items->len; i++)
    json_array_append_new (list, item_to_json (g_ptr_array_index (items, i)));
  return list;
}

/* --- what the gateway has --- */

static json_t *
find_name (const json_t *list,
           const char   *name)
{
  for (size_t i = 0; i < json_array_size (list); i++)
    if (strcmp (ow_json_get_string (json_array_get (list, i), "name", ""), name) == 0)
      return json_array_get (list, i);
  return NULL;
}

/* The registry was read before the gateway was asked: the entry of one that was started since, put
 * into @list, or NULL. */
static json_t *
add_started_since (json_t     *list,
                   const char *name)
{
  g_autoptr (GPtrArray) items = ow_registry_list ();
  g_autofree char *id = ow_openshell_labels_id (name);

  for (guint i = 0; id != NULL && i < items->len; i++)
    {
      const OwRegistryItem *item = g_ptr_array_index (items, i);
      json_t *json;

      if (strcmp (item->id, id) != 0)
        continue;
      json = item_to_json (item);
      json_array_append_new (list, json);
      return json;
    }
  return NULL;
}

static void
add_of_gateway (Listing                  *listing,
                json_t                   *list,
                const OwOpenshellSandbox *sandbox)
{
  const char *owner = g_hash_table_lookup (sandbox->labels, OW_OPENSHELL_LABEL_OWNER);
  const char *session = g_hash_table_lookup (sandbox->labels, OW_OPENSHELL_LABEL_SESSION);
  g_autofree char *self = ow_openshell_labels_owner ();
  gboolean ours = g_strcmp0 (owner, self) == 0;
  json_t  *known = find_name (list, sandbox->name);

  if (known == NULL && ours)
    known = add_started_since (list, sandbox->name);
  if (known != NULL)
    {
      json_object_set_new (known, "phase", json_string (sandbox->phase));
      if (sandbox->policy_version > 0)
        json_object_set_new (known, "policy_version", json_integer (sandbox->policy_version));
      return;
    }
  if (!ours && !listing->all)
    return;
  known = json_pack ("{s:s, s:s, s:s, s:s, s:s, s:b}", "name", sandbox->name,
                     "session", session != NULL ? session : "", "provider", "openshell",
                     "state", ours ? "left over" : "unknown", "phase", sandbox->phase,
                     "ours", ours);
  if (known == NULL)
    return;
  if (*sandbox->created_at != '\0')
    json_object_set_new (known, "since", json_string (sandbox->created_at));
  json_array_append_new (list, known);
}

static gboolean
has_openshell (const json_t *list)
{
  for (size_t i = 0; i < json_array_size (list); i++)
    if (strcmp (ow_json_get_string (json_array_get (list, i), "provider", ""), "openshell") == 0)
      return TRUE;
  return FALSE;
}

static void
on_gateway (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Listing *listing = g_task_get_task_data (task);
  json_t  *list = json_object_get (listing->result, "sandboxes");
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) sandboxes = NULL;

  sandboxes = ow_openshell_list_finish (OW_OPENSHELL (source), result, &error);
  /* Where nothing is run with it nothing is missing. */
  if (sandboxes == NULL && (listing->all || has_openshell (list)))
    {
      g_autofree char *why = ow_text_from_bytes (error->message, -1);

      json_object_set_new (listing->result, "gateway", json_string (why));
    }
  for (guint i = 0; sandboxes != NULL && i < sandboxes->len; i++)
    add_of_gateway (listing, list, g_ptr_array_index (sandboxes, i));
  g_task_return_pointer (task, json_incref (listing->result), (GDestroyNotify) json_decref);
}

void
ow_sandbox_list_async (gboolean             all,
                       GCancellable        *cancellable,
                       GAsyncReadyCallback  callback,
                       gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_autoptr (GError) error = NULL;
  g_autoptr (OwOpenshell) openshell = NULL;
  Listing *listing = g_new0 (Listing, 1);
  json_t  *list = list_registry ();

  g_task_set_source_tag (task, ow_sandbox_list_async);
  listing->all = all;
  listing->result = json_pack ("{s:o}", "sandboxes", list);
  g_task_set_task_data (task, listing, (GDestroyNotify) listing_free);
  /* It may have some of ours that no entry is left of. */
  openshell = ow_openshell_find (&error);
  if (openshell != NULL)
    {
      ow_openshell_list_async (openshell, OW_OPENSHELL_LABEL "=1", cancellable, on_gateway,
                               g_steal_pointer (&task));
      return;
    }
  if (error != NULL && has_openshell (list))
    json_object_set_new (listing->result, "gateway", json_string (error->message));
  g_task_return_pointer (task, json_incref (listing->result), (GDestroyNotify) json_decref);
}

json_t *
ow_sandbox_list_finish (GAsyncResult *result,
                        GError      **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* --- taking away what is left --- */

typedef struct
{
  json_t *before; /* (owned) */
  GError *error;  /* (owned) (nullable) */
} Reaping;

static void
reaping_free (Reaping *reaping)
{
  json_decref (reaping->before);
  g_clear_error (&reaping->error);
  g_free (reaping);
}

/* An orphan of the gateway has no id, but a name. */
static gboolean
is_in (const json_t *list,
       const json_t *item)
{
  const char *member = json_object_get (item, "id") != NULL ? "id" : "name";
  const char *wanted = ow_json_get_string (item, member, "");

  for (size_t i = 0; i < json_array_size (list); i++)
    if (strcmp (ow_json_get_string (json_array_get (list, i), member, ""), wanted) == 0)
      return TRUE;
  return FALSE;
}

static void
keep (json_t     *kept,
      json_t     *item,
      const char *why)
{
  g_autofree char *text = ow_text_from_bytes (why, -1);

  json_object_set_new (item, "why", json_string (text));
  json_array_append (kept, item);
}

/* New reference: what became of @before, of which @error (nullable) says what did not go. */
static json_t *
compare (const json_t *before,
         const json_t *after,
         const GError *error)
{
  json_t *removed = json_array ();
  json_t *kept = json_array ();

  for (size_t i = 0; i < json_array_size (before); i++)
    {
      json_t  *item = json_array_get (before, i);
      gboolean left = strcmp (ow_json_get_string (item, "state", ""), "left over") == 0;
      gboolean there = is_in (after, item);

      if (there && !left)
        keep (kept, item, "the program that owns it lives");
      else if (there)
        keep (kept, item, error != NULL ? error->message : "it was not possible to remove it");
      else if (left)
        json_array_append (removed, item);
    }
  return json_pack ("{s:o, s:o}", "removed", removed, "kept", kept);
}

static void
on_after (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Reaping *reaping = g_task_get_task_data (task);
  GError  *error = NULL;
  json_t  *after = ow_sandbox_list_finish (result, &error);

  if (after == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  g_task_return_pointer (task, compare (json_object_get (reaping->before, "sandboxes"),
                                        json_object_get (after, "sandboxes"), reaping->error),
                         (GDestroyNotify) json_decref);
  json_decref (after);
}

static void
on_reaped (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  GTask *task = user_data;
  Reaping *reaping = g_task_get_task_data (task);

  ow_reaper_run_finish (result, NULL, NULL, &reaping->error);
  ow_sandbox_list_async (FALSE, g_task_get_cancellable (task), on_after, task);
}

static void
on_before (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  GTask *task = user_data;
  Reaping *reaping = g_new0 (Reaping, 1);
  GError  *error = NULL;

  reaping->before = ow_sandbox_list_finish (result, &error);
  g_task_set_task_data (task, reaping, (GDestroyNotify) reaping_free);
  if (reaping->before != NULL)
    {
      ow_reaper_run_async (TRUE, g_task_get_cancellable (task), on_reaped, task);
      return;
    }
  g_task_return_error (task, error);
  g_object_unref (task);
}

void
ow_sandbox_list_reap_async (GCancellable        *cancellable,
                            GAsyncReadyCallback  callback,
                            gpointer             user_data)
{
  GTask *task = g_task_new (NULL, cancellable, callback, user_data);

  g_task_set_source_tag (task, ow_sandbox_list_reap_async);
  ow_sandbox_list_async (FALSE, cancellable, on_before, task);
}

json_t *
ow_sandbox_list_reap_finish (GAsyncResult *result,
                             GError      **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
