/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-keys-service-private.h"

#include <libsecret/secret.h>
#include <string.h>

#include "base/ow-secret.h"
#include "base/ow-source.h"
#include "config/ow-keys-bus.h"

#define OW_TYPE_KEYS_SERVICE (ow_keys_service_get_type ())
G_DECLARE_FINAL_TYPE (OwKeysService, ow_keys_service, OW, KEYS_SERVICE, SecretService)

/* The library's service, which asks nobody anything: where it would put a question on the
 * screen there is an error instead. */
struct _OwKeysService
{
  SecretService parent_instance;
};

G_DEFINE_FINAL_TYPE (OwKeysService, ow_keys_service, SECRET_TYPE_SERVICE)

static const SecretSchema schema = {
  "org.openworker.ModelKey", SECRET_SCHEMA_NONE,
  { { "base-url", SECRET_SCHEMA_ATTRIBUTE_STRING }, { NULL, 0 } },
};

typedef enum { LOOK_UP, STORE, REMOVE } Aim;

/* Data of the task that is returned. It is returned once: by what was found or by the
 * deadline; a call that is still under way then ends on its own and finds @done. */
typedef struct {
  Aim               aim;
  GHashTable       *attributes;  /* (owned) */
  char             *label;       /* (owned) (nullable) */
  SecretValue      *value;       /* (owned) (nullable) to be stored */
  GCancellable     *inner;       /* (owned) */
  GSource          *deadline;    /* (owned) (nullable) */
  GSource          *cancelled;   /* (owned) (nullable) */
  GDBusConnection  *bus;         /* (owned) (nullable) */
  SecretService    *service;     /* (owned) (nullable) */
  GList            *items;       /* (owned) of SecretItem */
  gboolean          removed;
  gboolean          done;
} Job;

static GVariant *
refuse_prompt_now (SecretService       *self,
                   SecretPrompt        *prompt,
                   GCancellable        *cancellable,
                   const GVariantType  *type,
                   GError             **error)
{
  g_set_error_literal (error, SECRET_ERROR, SECRET_ERROR_IS_LOCKED, "It asks for a password");
  return NULL;
}

static void
refuse_prompt (SecretService       *self,
               SecretPrompt        *prompt,
               const GVariantType  *type,
               GCancellable        *cancellable,
               GAsyncReadyCallback  callback,
               gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, refuse_prompt);
  g_task_return_new_error (task, SECRET_ERROR, SECRET_ERROR_IS_LOCKED, "It asks for a password");
}

static GVariant *
refuse_prompt_finish (SecretService  *self,
                      GAsyncResult   *result,
                      GError        **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* The library fills in the names of the service, and the session bus, for which GDBus would
 * make a connection of its own that ends the program with the bus. */
static void
ow_keys_service_set_property (GObject      *object,
                              guint         id,
                              const GValue *value,
                              GParamSpec   *pspec)
{
}

static void
ow_keys_service_class_init (OwKeysServiceClass *klass)
{
  SecretServiceClass *service_class = SECRET_SERVICE_CLASS (klass);

  G_OBJECT_CLASS (klass)->set_property = ow_keys_service_set_property;
  g_object_class_override_property (G_OBJECT_CLASS (klass), 1, "g-bus-type");

  service_class->prompt_sync = refuse_prompt_now;
  service_class->prompt_async = refuse_prompt;
  service_class->prompt_finish = refuse_prompt_finish;
}

static void
ow_keys_service_init (OwKeysService *self)
{
}

void
ow_keys_found_free (OwKeysFound *found)
{
  ow_secret_free (found->key);
  g_free (found);
}

static void
job_free (gpointer data)
{
  Job *job = data;

  ow_source_clear (&job->deadline);
  ow_source_clear (&job->cancelled);
  g_list_free_full (job->items, g_object_unref);
  g_clear_object (&job->service);
  if (job->bus != NULL)
    g_dbus_connection_close (job->bus, NULL, NULL, NULL);
  g_clear_object (&job->bus);
  g_clear_object (&job->inner);
  g_clear_pointer (&job->value, secret_value_unref);
  g_clear_pointer (&job->attributes, g_hash_table_unref);
  g_free (job->label);
  g_free (job);
}

static gboolean
end (GTask *task)
{
  Job *job = g_task_get_task_data (task);

  if (job->done)
    return FALSE;

  job->done = TRUE;
  ow_source_clear (&job->deadline);
  ow_source_clear (&job->cancelled);
  return TRUE;
}

static void
finish (GTask      *task,
        OwKeyState  state,
        char       *key)
{
  OwKeysFound *found;

  if (!end (task))
    {
      ow_secret_free (key);
      return;
    }

  found = g_new0 (OwKeysFound, 1);
  found->state = state;
  found->key = key;
  g_task_return_pointer (task, found, (GDestroyNotify) ow_keys_found_free);
}

/* What a failed call says about the keyring. */
static void
finish_failed (GTask        *task,
               const GError *error)
{
  OwKeyState state = OW_KEY_ABSENT;

  if (g_error_matches (error, SECRET_ERROR, SECRET_ERROR_IS_LOCKED))
    state = OW_KEY_LOCKED;
  else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT) ||
           g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_NO_REPLY) ||
           g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_TIMED_OUT) ||
           g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_TIMEOUT))
    state = OW_KEY_SILENT;
  finish (task, state, NULL);
}

static gboolean
on_deadline (gpointer user_data)
{
  GTask *task = user_data;
  Job *job = g_task_get_task_data (task);
  g_autoptr (GCancellable) inner = g_object_ref (job->inner);

  finish (task, OW_KEY_SILENT, NULL);
  g_cancellable_cancel (inner);

  return G_SOURCE_REMOVE;
}

static gboolean
on_cancelled (gpointer user_data)
{
  GTask *task = user_data;
  Job *job = g_task_get_task_data (task);
  g_autoptr (GCancellable) inner = g_object_ref (job->inner);

  if (end (task))
    g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_CANCELLED, "Stopped");
  g_cancellable_cancel (inner);

  return G_SOURCE_REMOVE;
}

/* The next step, or NULL when the call is over already or failed. */
static Job *
go_on (GTask  *task,
       GError *error)
{
  Job *job = g_task_get_task_data (task);

  if (error != NULL)
    finish_failed (task, error);

  return job->done ? NULL : job;
}

static void
on_secret (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (SecretValue) value = NULL;
  const char *text;
  gsize length;

  secret_item_load_secret_finish (SECRET_ITEM (source), result, &error);
  if (go_on (task, error) == NULL)
    return;

  value = secret_item_get_secret (SECRET_ITEM (source));
  text = value != NULL ? secret_value_get (value, &length) : NULL;
  if (text == NULL || memchr (text, '\0', length) != NULL)
    {
      finish (task, OW_KEY_NONE, NULL);
      return;
    }
  /* Other programs store the end of the line with the key. */
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
    length--;
  finish (task, OW_KEY_KEYRING, ow_secret_new (text, length));
}

static void
on_created (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (SecretItem) item = secret_item_create_finish (result, &error);

  if (go_on (task, error) != NULL)
    finish (task, OW_KEY_KEYRING, NULL);
}

/* There is no item, or one is to be made: what counts is the collection that new ones go to. */
static void
on_collection (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (SecretCollection) collection = secret_collection_for_alias_finish (result, &error);
  Job *job = go_on (task, error);

  if (job == NULL)
    return;

  if (collection != NULL && secret_collection_get_locked (collection))
    finish (task, OW_KEY_LOCKED, NULL);
  else if (job->aim == LOOK_UP)
    finish (task, OW_KEY_NONE, NULL);
  else if (job->aim == REMOVE)
    finish (task, OW_KEY_KEYRING, NULL);
  else if (collection == NULL)
    finish (task, OW_KEY_ABSENT, NULL);
  else
    secret_item_create (collection, &schema, job->attributes, job->label, job->value,
                        SECRET_ITEM_CREATE_REPLACE, job->inner, on_created,
                        g_steal_pointer (&task));
}

static void
look_at_collection (GTask *task)
{
  Job *job = g_task_get_task_data (task);

  secret_collection_for_alias (job->service, SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_NONE,
                               job->inner, on_collection, g_object_ref (task));
}

static void remove_next (GTask *task);

static void
on_deleted (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;

  secret_item_delete_finish (SECRET_ITEM (source), result, &error);
  if (go_on (task, error) != NULL)
    remove_next (task);
}

static void
remove_next (GTask *task)
{
  Job *job = g_task_get_task_data (task);
  g_autoptr (SecretItem) item = NULL;

  if (job->items == NULL)
    {
      finish (task, OW_KEY_KEYRING, NULL);
      return;
    }

  item = job->items->data;
  job->items = g_list_delete_link (job->items, job->items);
  if (secret_item_get_locked (item))
    finish (task, OW_KEY_LOCKED, NULL);
  else
    secret_item_delete (item, job->inner, on_deleted, g_object_ref (task));
}

static SecretItem *
find_open (GList *items)
{
  for (GList *l = items; l != NULL; l = l->next)
    if (!secret_item_get_locked (l->data))
      return l->data;

  return NULL;
}

static void
on_items (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  GList *items = secret_service_search_finish (SECRET_SERVICE (source), result, &error);
  Job *job = go_on (task, error);
  SecretItem *open;

  if (job == NULL)
    {
      g_list_free_full (items, g_object_unref);
      return;
    }

  job->items = items;
  open = find_open (items);
  if (items == NULL)
    look_at_collection (task);
  else if (job->aim == REMOVE)
    remove_next (task);
  else if (open == NULL)
    finish (task, OW_KEY_LOCKED, NULL);
  else
    secret_item_load_secret (open, job->inner, on_secret, g_steal_pointer (&task));
}

static void
on_service (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GObject) service = g_async_initable_new_finish (G_ASYNC_INITABLE (source), result,
                                                             &error);
  Job *job = go_on (task, error);

  if (job == NULL)
    return;

  job->service = SECRET_SERVICE (g_steal_pointer (&service));
  if (job->aim == STORE)
    look_at_collection (task);
  else
    secret_service_search (job->service, &schema, job->attributes, SECRET_SEARCH_ALL, job->inner,
                           on_items, g_steal_pointer (&task));
}

static void
on_bus (GObject      *source,
        GAsyncResult *result,
        gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  GDBusConnection *bus = g_dbus_connection_new_for_address_finish (result, &error);
  Job *job = g_task_get_task_data (task);

  job->bus = bus;
  if (go_on (task, error) != NULL)
    g_async_initable_new_async (OW_TYPE_KEYS_SERVICE, G_PRIORITY_DEFAULT, job->inner, on_service,
                                g_object_ref (task), "g-connection", bus, "flags",
                                SECRET_SERVICE_OPEN_SESSION, NULL);
}

static void
watch (GTask *task,
       guint  ms)
{
  Job *job = g_task_get_task_data (task);

  job->deadline = ow_source_timeout (ms, on_deadline, g_object_ref (task), g_object_unref);
  job->cancelled = ow_source_cancelled (g_task_get_cancellable (task), on_cancelled,
                                        g_object_ref (task), g_object_unref);
}

static void
start (GTask      *task,
       Aim         aim,
       const char *address,
       const char *label,
       const char *key,
       guint       ms)
{
  Job *job = g_new0 (Job, 1);
  g_autofree char *bus = ow_keys_bus_get_address ();

  job->aim = aim;
  job->attributes = secret_attributes_build (&schema, "base-url", address, NULL);
  job->label = g_strdup (label);
  job->value = key != NULL ? secret_value_new (key, -1, "text/plain") : NULL;
  job->inner = g_cancellable_new ();
  g_task_set_task_data (task, job, job_free);
  g_task_set_check_cancellable (task, FALSE);
  watch (task, ms);

  if (bus == NULL)
    finish (task, OW_KEY_ABSENT, NULL);
  else
    g_dbus_connection_new_for_address (bus, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                       G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL,
                                       job->inner, on_bus, g_object_ref (task));
}

void
ow_keys_service_lookup_async (const char          *address,
                              guint                ms,
                              GCancellable        *cancellable,
                              GAsyncReadyCallback  callback,
                              gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);

  g_task_set_source_tag (task, ow_keys_service_lookup_async);
  start (task, LOOK_UP, address, NULL, NULL, ms);
}

OwKeysFound *
ow_keys_service_lookup_finish (GAsyncResult  *result,
                               GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, NULL), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

void
ow_keys_service_store_async (const char          *address,
                             const char          *label,
                             const char          *key,
                             guint                ms,
                             GCancellable        *cancellable,
                             GAsyncReadyCallback  callback,
                             gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);

  g_task_set_source_tag (task, ow_keys_service_store_async);
  start (task, key != NULL ? STORE : REMOVE, address, label, key, ms);
}

gboolean
ow_keys_service_store_finish (GAsyncResult  *result,
                              OwKeyState    *state,
                              GError       **error)
{
  g_autoptr (OwKeysFound) found = ow_keys_service_lookup_finish (result, error);

  if (found != NULL)
    *state = found->state;
  return found != NULL;
}
