/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-call-private.h"

#include <string.h>

#include "base/ow-text.h"
#include "openshell/ow-openshell-names.h"

#define WHAT_GET    "The sandbox cannot be looked at"
#define WHAT_LIST   "The sandboxes cannot be listed"
#define WHAT_DELETE "The sandbox was not deleted"
/* A list has a few hundred bytes a sandbox. */
#define LIST_CAP    (4u * 1024u * 1024u)
#define LIST_LIMIT  "1000"

void
ow_openshell_sandbox_free (OwOpenshellSandbox *sandbox)
{
  if (sandbox == NULL)
    return;

  g_free (sandbox->name);
  g_free (sandbox->id);
  g_free (sandbox->phase);
  g_free (sandbox->created_at);
  g_hash_table_unref (sandbox->labels);
  g_free (sandbox);
}

/* NULL when it is not a sandbox's; a name that OpenShell does not give is none. */
static OwOpenshellSandbox *
read_sandbox (json_t *object)
{
  const char *name = ow_json_get_string (object, "name", NULL);
  const char *phase = ow_json_get_string (object, "phase", NULL);
  OwOpenshellSandbox *sandbox;
  const char *key;
  json_t *value;

  if (name == NULL || phase == NULL || !ow_openshell_name_is_safe (name))
    return NULL;
  sandbox = g_new0 (OwOpenshellSandbox, 1);
  sandbox->name = g_strdup (name);
  sandbox->phase = ow_openshell_text_plain (phase, -1);
  sandbox->id = ow_openshell_text_plain (ow_json_get_string (object, "id", ""), -1);
  sandbox->created_at = ow_openshell_text_plain (ow_json_get_string (object, "created_at", ""),
                                                 -1);
  sandbox->policy_version = MAX (ow_json_get_int (object, "current_policy_version", 0), 0);
  sandbox->labels = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  json_object_foreach (json_object_get (object, "labels"), key, value)
    {
      if (json_is_string (value))
        g_hash_table_insert (sandbox->labels, ow_text_visible (key),
                             ow_text_visible (json_string_value (value)));
    }
  return sandbox;
}

/* --- one --- */

static void
on_get (GTask                   *task,
        const OwOpenshellAnswer *answer)
{
  const char *name = g_object_get_data (G_OBJECT (task), "name");
  OwOpenshellSandbox *sandbox = NULL;
  GError *error = NULL;
  json_t *root;

  if (answer->status != 0)
    {
      g_task_return_error (task, ow_openshell_call_error_of (WHAT_GET, answer));
      return;
    }
  root = ow_openshell_call_json (WHAT_GET, answer, &error);
  if (root != NULL)
    sandbox = read_sandbox (root);
  json_decref (root);
  if (sandbox == NULL || strcmp (sandbox->name, name) != 0)
    {
      ow_openshell_sandbox_free (sandbox);
      if (error == NULL)
        error = ow_openshell_call_error (WHAT_GET, OW_OPENSHELL_FAULT_UNREADABLE,
                                         "it is not about the sandbox that was asked for");
      g_task_return_error (task, error);
      return;
    }
  g_task_return_pointer (task, sandbox, (GDestroyNotify) ow_openshell_sandbox_free);
}

void
ow_openshell_get_async (OwOpenshell         *self,
                        const char          *name,
                        GCancellable        *cancellable,
                        GAsyncReadyCallback  callback,
                        gpointer             user_data)
{
  const char *arguments[] = { "sandbox", "get", name, "-o", "json", NULL };
  OwOpenshellCall call = { .arguments = arguments, .what = WHAT_GET, .answer = on_get,
                           .deadline_ms = OW_OPENSHELL_READ_MS };
  g_autoptr (GTask) task =
    ow_openshell_call_task (self, ow_openshell_get_async, cancellable, callback,
                            user_data);

  if (!ow_openshell_call_check_name (task, WHAT_GET, name))
    return;
  g_object_set_data_full (G_OBJECT (task), "name", g_strdup (name), g_free);
  ow_openshell_call_run (g_steal_pointer (&task), &call);
}

OwOpenshellSandbox *
ow_openshell_get_finish (OwOpenshell   *self,
                         GAsyncResult  *result,
                         GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/* --- what is attached to one --- */

/* A table is printed, or one known sentence. */
static void
on_attached (GTask                   *task,
             const OwOpenshellAnswer *answer)
{
  g_autofree char *plain = ow_text_strip_ansi (answer->output);

  if (answer->status != 0)
    g_task_return_error (task, ow_openshell_call_error_of (WHAT_GET, answer));
  else
    g_task_return_int (task, !g_str_has_prefix (g_strstrip (plain), "No providers attached"));
}

void
ow_openshell_has_providers_async (OwOpenshell         *self,
                                  const char          *name,
                                  GCancellable        *cancellable,
                                  GAsyncReadyCallback  callback,
                                  gpointer             user_data)
{
  const char *arguments[] = { "sandbox", "provider", "list", name, NULL };
  OwOpenshellCall call = { .arguments = arguments, .what = WHAT_GET, .answer = on_attached,
                           .deadline_ms = OW_OPENSHELL_READ_MS };
  g_autoptr (GTask) task =
    ow_openshell_call_task (self, ow_openshell_has_providers_async, cancellable, callback,
                            user_data);

  if (ow_openshell_call_check_name (task, WHAT_GET, name))
    ow_openshell_call_run (g_steal_pointer (&task), &call);
}

int
ow_openshell_has_providers_finish (OwOpenshell   *self,
                                   GAsyncResult  *result,
                                   GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), -1);

  return (int) g_task_propagate_int (G_TASK (result), error);
}

/* --- all --- */

static GPtrArray *
read_list (json_t  *root,
           GError **error)
{
  g_autoptr (GPtrArray) list =
    g_ptr_array_new_with_free_func ((GDestroyNotify) ow_openshell_sandbox_free);
  size_t index;
  json_t *value;

  if (!json_is_array (root))
    {
      g_propagate_error (error, ow_openshell_call_error (WHAT_LIST, OW_OPENSHELL_FAULT_UNREADABLE,
                                                         "it is not a list"));
      return NULL;
    }
  json_array_foreach (root, index, value)
    {
      OwOpenshellSandbox *sandbox = read_sandbox (value);

      if (sandbox == NULL)
        {
          g_propagate_error (error, ow_openshell_call_error (
                               WHAT_LIST, OW_OPENSHELL_FAULT_UNREADABLE,
                               "an entry has no name or no phase"));
          return NULL;
        }
      g_ptr_array_add (list, sandbox);
    }
  return g_steal_pointer (&list);
}

static void
on_list (GTask                   *task,
         const OwOpenshellAnswer *answer)
{
  GPtrArray *list = NULL;
  GError *error = NULL;
  json_t *root;

  if (answer->status != 0)
    {
      g_task_return_error (task, ow_openshell_call_error_of (WHAT_LIST, answer));
      return;
    }
  root = ow_openshell_call_json (WHAT_LIST, answer, &error);
  if (root != NULL)
    list = read_list (root, &error);
  json_decref (root);
  if (list != NULL)
    g_task_return_pointer (task, list, (GDestroyNotify) g_ptr_array_unref);
  else
    g_task_return_error (task, error);
}

void
ow_openshell_list_async (OwOpenshell         *self,
                         const char          *selector,
                         GCancellable        *cancellable,
                         GAsyncReadyCallback  callback,
                         gpointer             user_data)
{
  const char *arguments[] = { "sandbox", "list", "--limit", LIST_LIMIT, "-o", "json",
                              selector != NULL ? "--selector" : NULL, selector, NULL };
  OwOpenshellCall call = { .arguments = arguments, .what = WHAT_LIST, .answer = on_list,
                           .deadline_ms = OW_OPENSHELL_READ_MS, .cap = LIST_CAP };
  GTask *task = ow_openshell_call_task (self, ow_openshell_list_async, cancellable, callback,
                                        user_data);

  ow_openshell_call_run (task, &call);
}

GPtrArray *
ow_openshell_list_finish (OwOpenshell   *self,
                          GAsyncResult  *result,
                          GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/* --- none --- */

/* Success and absence have words of their own; an entry is forgotten by them, so nothing else
 * will do. */
static void
on_delete (GTask                   *task,
           const OwOpenshellAnswer *answer)
{
  g_autofree char *plain = ow_openshell_text_plain (answer->output,
                                                    (gssize) answer->output_length);
  const char *name = g_object_get_data (G_OBJECT (task), "name");
  g_autofree char *deleted = g_strdup_printf ("Deleted sandbox %s", name);
  g_autofree char *absent = g_strdup_printf ("Sandbox %s not found", name);

  if (ow_openshell_call_failed (answer))
    {
      if (ow_openshell_fault_of_text (answer->errors) == OW_OPENSHELL_FAULT_NOT_FOUND)
        g_task_return_boolean (task, TRUE);
      else
        g_task_return_error (task, ow_openshell_call_error_of (WHAT_DELETE, answer));
    }
  else if (g_str_has_suffix (plain, deleted) || g_str_has_suffix (plain, absent))
    {
      g_task_return_boolean (task, TRUE);
    }
  else
    {
      g_task_return_error (task, ow_openshell_call_error_said (
                             WHAT_DELETE, OW_OPENSHELL_FAULT_UNREADABLE, plain));
    }
}

void
ow_openshell_delete_async (OwOpenshell         *self,
                           const char          *name,
                           GCancellable        *cancellable,
                           GAsyncReadyCallback  callback,
                           gpointer             user_data)
{
  const char *arguments[] = { "sandbox", "delete", name, NULL };
  OwOpenshellCall call = { .arguments = arguments, .what = WHAT_DELETE, .answer = on_delete,
                           .deadline_ms = OW_OPENSHELL_DELETE_MS };
  g_autoptr (GTask) task =
    ow_openshell_call_task (self, ow_openshell_delete_async, cancellable, callback,
                            user_data);

  if (!ow_openshell_call_check_name (task, WHAT_DELETE, name))
    return;
  g_object_set_data_full (G_OBJECT (task), "name", g_strdup (name), g_free);
  ow_openshell_call_run (g_steal_pointer (&task), &call);
}

gboolean
ow_openshell_delete_finish (OwOpenshell   *self,
                            GAsyncResult  *result,
                            GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}
