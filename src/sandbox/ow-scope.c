/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-scope-private.h"

#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "base/ow-text.h"
#include "config/ow-keys-bus.h"

#define DEADLINE_MS 2000
#define SHOWN       200

#define MANAGER   "org.freedesktop.systemd1"
#define PATH      "/org/freedesktop/systemd1"
#define INTERFACE "org.freedesktop.systemd1.Manager"

typedef struct {
  char            *unit;         /* (owned) */
  GVariant        *arguments;    /* (owned) */
  GDBusConnection *bus;          /* (owned) (nullable) */
  guint            subscription;
  GCancellable    *stop;         /* (owned) of what is under way */
  GSource         *deadline;     /* (owned) (nullable) */
  GSource         *caller;       /* (owned) (nullable) */
  gboolean         over;
} Placing;

static void
placing_free (gpointer data)
{
  Placing *placing = data;

  ow_source_clear (&placing->deadline);
  ow_source_clear (&placing->caller);
  g_clear_object (&placing->bus);
  g_object_unref (placing->stop);
  g_variant_unref (placing->arguments);
  g_free (placing->unit);
  g_free (placing);
}

/* Once. Takes @error, NULL: they are placed. */
static void
end (GTask  *task,
     GError *error)
{
  g_autoptr (GTask) kept = g_object_ref (task);
  Placing *placing = g_task_get_task_data (kept);

  if (placing->over)
    {
      g_clear_error (&error);
      return;
    }
  placing->over = TRUE;
  ow_source_clear (&placing->deadline);
  ow_source_clear (&placing->caller);
  g_cancellable_cancel (placing->stop);
  if (placing->subscription != 0)
    g_dbus_connection_signal_unsubscribe (placing->bus, placing->subscription);
  if (placing->bus != NULL)
    g_dbus_connection_close (placing->bus, NULL, NULL, NULL);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_boolean (task, TRUE);
}

static void
end_why (GTask      *task,
         const char *why)
{
  end (task, g_error_new_literal (OW_ERROR, OW_ERROR_FAILED, why));
}

static gboolean
on_deadline (gpointer user_data)
{
  end_why (user_data, "the service manager has not answered within two seconds");
  return G_SOURCE_REMOVE;
}

static gboolean
on_cancelled (gpointer user_data)
{
  end_why (user_data, "it was stopped");
  return G_SOURCE_REMOVE;
}

/* Comes in the end of the job: only then have the processes been moved. */
static void
on_job_removed (GDBusConnection *bus,
                const char      *sender,
                const char      *path,
                const char      *interface,
                const char      *signal,
                GVariant        *parameters,
                gpointer         user_data)
{
  GTask *task = user_data;
  Placing *placing = g_task_get_task_data (task);
  const char *unit;
  const char *outcome;
  g_autofree char *why = NULL;
  g_autofree char *shown = NULL;

  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(uoss)")))
    return;
  g_variant_get (parameters, "(uo&s&s)", NULL, NULL, &unit, &outcome);
  if (g_strcmp0 (unit, placing->unit) != 0)
    return;
  if (g_strcmp0 (outcome, "done") == 0)
    {
      end (task, NULL);
      return;
    }
  shown = ow_text_shorten (outcome, SHOWN, TRUE);
  why = g_strdup_printf ("the service manager could not make the scope (%s)", shown);
  end_why (task, why);
}

static void
on_called (GObject      *object,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (object), result,
                                                              &error);
  g_autofree char *shown = NULL;
  g_autofree char *why = NULL;

  if (reply != NULL)
    return;
  g_dbus_error_strip_remote_error (error);
  shown = ow_text_shorten (error->message, SHOWN, TRUE);
  why = g_strdup_printf ("the service manager refused the scope (%s)", shown);
  end_why (task, why);
}

static void
on_connected (GObject      *object,
              GAsyncResult *result,
              gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Placing *placing = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;
  GDBusConnection *bus = g_dbus_connection_new_for_address_finish (result, &error);

  if (bus == NULL)
    {
      end_why (task, "the bus of the service manager cannot be reached");
      return;
    }
  placing->bus = bus;
  if (placing->over)
    {
      g_dbus_connection_close (bus, NULL, NULL, NULL);
      return;
    }
  g_dbus_connection_set_exit_on_close (bus, FALSE);
  placing->subscription =
    g_dbus_connection_signal_subscribe (bus, MANAGER, INTERFACE, "JobRemoved", PATH, NULL,
                                        G_DBUS_SIGNAL_FLAGS_NONE, on_job_removed,
                                        g_object_ref (task), g_object_unref);
  /* Without it the manager tells of no job; the calls are taken in their order. */
  g_dbus_connection_call (bus, MANAGER, PATH, INTERFACE, "Subscribe", NULL, NULL,
                          G_DBUS_CALL_FLAGS_NO_AUTO_START, DEADLINE_MS, NULL, NULL, NULL);
  g_dbus_connection_call (bus, MANAGER, PATH, INTERFACE, "StartTransientUnit", placing->arguments,
                          G_VARIANT_TYPE ("(o)"), G_DBUS_CALL_FLAGS_NO_AUTO_START, DEADLINE_MS,
                          placing->stop, on_called, g_object_ref (task));
}

static void
add_number (GVariantBuilder *properties,
            const char      *name,
            guint64          value)
{
  g_variant_builder_add (properties, "(sv)", name, g_variant_new_uint64 (value));
}

static GVariant *
make_arguments (const OwScopeOptions *options)
{
  GVariantBuilder properties;
  GVariantBuilder pids;

  g_variant_builder_init (&pids, G_VARIANT_TYPE ("au"));
  for (guint i = 0; i < options->n_pids; i++)
    g_variant_builder_add (&pids, "u", (guint32) options->pids[i]);
  g_variant_builder_init (&properties, G_VARIANT_TYPE ("a(sv)"));
  g_variant_builder_add (&properties, "(sv)", "Description",
                         g_variant_new_string (options->description));
  g_variant_builder_add (&properties, "(sv)", "PIDs", g_variant_builder_end (&pids));
  /* A scope that the kernel ended something in would stay listed as failed. */
  g_variant_builder_add (&properties, "(sv)", "CollectMode",
                         g_variant_new_string ("inactive-or-failed"));
  add_number (&properties, "TasksMax", options->tasks);
  if (options->cpu > 0)
    add_number (&properties, "CPUQuotaPerSecUSec", (guint64) (options->cpu * G_USEC_PER_SEC));
  if (options->memory > 0)
    {
      add_number (&properties, "MemoryMax", options->memory);
      add_number (&properties, "MemorySwapMax", 0);
    }
  return g_variant_new ("(ss@a(sv)@a(sa(sv)))", options->unit, "fail",
                        g_variant_builder_end (&properties),
                        g_variant_new_array (G_VARIANT_TYPE ("(sa(sv))"), NULL, 0));
}

/* Root's processes are the machine's manager's, whatever session it was started from. */
static char *
get_address (void)
{
  if (geteuid () != 0)
    return ow_keys_bus_get_address ();
  return g_dbus_address_get_for_bus_sync (G_BUS_TYPE_SYSTEM, NULL, NULL);
}

void
ow_scope_place_async (const OwScopeOptions *options,
                      GCancellable         *cancellable,
                      GAsyncReadyCallback   callback,
                      gpointer              user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Placing *placing = g_new0 (Placing, 1);
  g_autofree char *address = get_address ();

  placing->unit = g_strdup (options->unit);
  placing->arguments = g_variant_ref_sink (make_arguments (options));
  placing->stop = g_cancellable_new ();
  g_task_set_source_tag (task, ow_scope_place_async);
  g_task_set_task_data (task, placing, placing_free);
  if (address == NULL)
    {
      end_why (task, "no bus of this account's service manager is there");
      return;
    }
  placing->deadline = ow_source_timeout (DEADLINE_MS, on_deadline, g_object_ref (task),
                                         g_object_unref);
  placing->caller = ow_source_cancelled (cancellable, on_cancelled, g_object_ref (task),
                                         g_object_unref);
  g_dbus_connection_new_for_address (address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                     G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL,
                                     placing->stop, on_connected, g_object_ref (task));
}

gboolean
ow_scope_place_finish (GAsyncResult *result,
                       GError      **error)
{
  g_return_val_if_fail (g_task_is_valid (result, NULL), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}
