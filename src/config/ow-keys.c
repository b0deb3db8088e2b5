/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-keys.h"

#include <string.h>

#include "base/ow-base-url.h"
#include "base/ow-error.h"
#include "base/ow-secret.h"
#include "ow-keys-service-private.h"

#define VARIABLE  "OPENWORKER_API_KEY"
#define SILENT_MS 5000

typedef struct {
  const char *name;
  const char *sentence;
} StateText;

/* Written once, before there are threads. */
static char *environment_key;        /* (owned) (nullable) */
static gboolean environment_refused;

static const StateText state_texts[] = {
  [OW_KEY_NONE] = { "none", "No key is stored for this address: store one with the model, or "
                    "set " VARIABLE "; a model on this machine often needs none." },
  [OW_KEY_KEYRING] = { "keyring", "The key is in the keyring: \"Passwords and Keys\" shows it, "
                       "and removing the model removes it." },
  [OW_KEY_ENVIRONMENT] = { "environment", "The key is the one of " VARIABLE ", and is not kept: "
                           "store it with the model to have it in the keyring." },
  [OW_KEY_LOCKED] = { "locked", "The keyring is locked: unlock it by logging in on the desktop or "
                      "in \"Passwords and Keys\", or set " VARIABLE ", and try again." },
  [OW_KEY_ABSENT] = { "absent", "This session has no keyring that can be used: install and start "
                      "one such as gnome-keyring, make one in \"Passwords and Keys\", or set "
                      VARIABLE "." },
  [OW_KEY_SILENT] = { "silent", "The keyring did not answer within 5 s: end its program or log in "
                      "again, or set " VARIABLE "." },
};

const char *
ow_key_state_to_string (OwKeyState state)
{
  g_return_val_if_fail ((guint) state < G_N_ELEMENTS (state_texts), NULL);

  return state_texts[state].name;
}

const char *
ow_key_state_describe (OwKeyState state)
{
  g_return_val_if_fail ((guint) state < G_N_ELEMENTS (state_texts), NULL);

  return state_texts[state].sentence;
}

gboolean
ow_keys_check (const char  *key,
               GError     **error)
{
  const char *why = ow_secret_find_fault (key);

  if (why != NULL)
    ow_error_set (error, OW_ERROR_USAGE, "This cannot be a key", why,
                  "Copy the key again from where it was made.");
  return why == NULL;
}

/* Wipes one entry of the environment where it stands: what the kernel shows as the
 * environment of the process is that memory. */
static void
take_entry (char *entry)
{
  char *value = entry + strlen (VARIABLE "=");
  gsize length = strlen (value);

  while (length > 0 && (value[length - 1] == '\n' || value[length - 1] == '\r'))
    value[--length] = '\0';
  if (length > 0 && environment_key == NULL && !environment_refused)
    {
      environment_refused = ow_secret_find_fault (value) != NULL;
      if (!environment_refused)
        environment_key = ow_secret_new (value, length);
    }
  explicit_bzero (entry, strlen (VARIABLE "=") + length);
}

void
ow_keys_take_environment (void)
{
  g_autoptr (GPtrArray) entries = g_ptr_array_new ();

  for (char **p = environ; p != NULL && *p != NULL; p++)
    if (g_str_has_prefix (*p, VARIABLE "="))
      g_ptr_array_add (entries, *p);

  g_unsetenv (VARIABLE);
  for (guint i = 0; i < entries->len; i++)
    take_entry (g_ptr_array_index (entries, i));
}

gboolean
ow_keys_check_environment (GError **error)
{
  if (environment_refused)
    ow_error_set (error, OW_ERROR_USAGE, VARIABLE " is not used", "what it holds cannot be a key: "
                  "it is too long, or has a space, a line end or a character that is not ASCII",
                  "Copy the key again from where it was made.");
  return !environment_refused;
}

void
ow_keys_free (char *key)
{
  ow_secret_free (key);
}

static void
on_looked_up (GObject      *source,
              GAsyncResult *result,
              gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  OwKeysFound *found = ow_keys_service_lookup_finish (result, &error);

  if (found == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  /* What another program put there is no better than what a person types. */
  if (found->key != NULL && ow_secret_find_fault (found->key) != NULL)
    {
      g_clear_pointer (&found->key, ow_secret_free);
      found->state = OW_KEY_NONE;
    }
  if (found->key == NULL && environment_key != NULL)
    {
      found->state = OW_KEY_ENVIRONMENT;
      found->key = ow_secret_new (environment_key, strlen (environment_key));
    }
  g_task_return_pointer (task, found, (GDestroyNotify) ow_keys_found_free);
}

void
ow_keys_lookup_async (const char          *base_url,
                      GCancellable        *cancellable,
                      GAsyncReadyCallback  callback,
                      gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_autofree char *address = ow_base_url_canonical (base_url);

  g_task_set_source_tag (task, ow_keys_lookup_async);
  if (address == NULL)
    g_task_return_pointer (task, g_new0 (OwKeysFound, 1), (GDestroyNotify) ow_keys_found_free);
  else
    ow_keys_service_lookup_async (address, SILENT_MS, cancellable, on_looked_up,
                                  g_steal_pointer (&task));
}

char *
ow_keys_lookup_finish (GAsyncResult  *result,
                       OwKeyState    *state,
                       GError       **error)
{
  g_autoptr (OwKeysFound) found = NULL;

  g_return_val_if_fail (g_task_is_valid (result, NULL), NULL);

  found = g_task_propagate_pointer (G_TASK (result), error);
  if (found == NULL)
    return NULL;

  *state = found->state;
  return g_steal_pointer (&found->key);
}

static void
on_stored (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  const char *what = g_task_get_task_data (task);
  GError *error = NULL;
  OwKeyState state;

  if (ow_keys_service_store_finish (result, &state, &error))
    {
      if (state == OW_KEY_KEYRING)
        {
          g_task_return_boolean (task, TRUE);
          return;
        }
      ow_error_set (&error, OW_ERROR_REFUSED, what, ow_key_state_describe (state), NULL);
    }
  g_task_return_error (task, error);
}

void
ow_keys_store_async (const char          *base_url,
                     const char          *label,
                     const char          *key,
                     GCancellable        *cancellable,
                     GAsyncReadyCallback  callback,
                     gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_autofree char *address = ow_base_url_canonical (base_url);
  g_autofree char *fault = ow_base_url_find_fault (base_url);
  GError *error = NULL;

  g_task_set_source_tag (task, ow_keys_store_async);
  g_task_set_task_data (task, (gpointer) (key != NULL ? "Cannot store the key"
                                                      : "Cannot remove the key"), NULL);
  if (address == NULL)
    ow_error_set (&error, OW_ERROR_USAGE, "Cannot store a key for this address", fault, NULL);
  if (error != NULL || (key != NULL && !ow_keys_check (key, &error)))
    g_task_return_error (task, error);
  else
    ow_keys_service_store_async (address, label, key, SILENT_MS, cancellable, on_stored,
                                 g_steal_pointer (&task));
}

gboolean
ow_keys_store_finish (GAsyncResult  *result,
                      GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, NULL), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}
