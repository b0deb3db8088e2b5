/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config.h"

#include "ow-application-private.h"

#include <glib-unix.h>
#include <glib/gi18n.h>
#include <signal.h>
#include <stdio.h>

#include "engine/ow-shared-engine.h"
#include "ow-confirm-private.h"
#include "ow-window-private.h"

#define APPLICATION_ID "org.openworker.OpenWorker"
/* Until an engine that is to end must have ended. */
#define LEAVE_SECONDS 30
/* Without a window: whether anything still runs. */
#define WATCH_SECONDS 2

struct _OwApplication
{
  AdwApplication  parent_instance;

  OwSharedEngine *engine;  /* (owned) (nullable) */
  GtkWindow      *window;  /* (nullable) weak */
  guint           watch;   /* source id while it stays without a window, else 0 */
  guint           deadline; /* source id while it leaves, else 0 */
  guint           sigterm; /* source ids */
  guint           sigint;
  gboolean        opening;
  gboolean        leaving;
};

G_DEFINE_FINAL_TYPE (OwApplication, ow_application, ADW_TYPE_APPLICATION)

static void
on_opened (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwApplication) self = user_data;
  g_autoptr (GError) error = NULL;

  self->opening = FALSE;
  ow_shared_engine_open_finish (OW_SHARED_ENGINE (source), result, &error);
  if (self->window != NULL)
    ow_window_engine_opened (OW_WINDOW (self->window), error);
}

void
ow_application_open_engine (OwApplication *self)
{
  if (self->opening || self->leaving)
    return;
  self->opening = TRUE;
  ow_shared_engine_open_async (self->engine, NULL, on_opened, g_object_ref (self));
}

static gboolean
end_now (gpointer user_data)
{
  OwApplication *self = user_data;

  self->deadline = 0;
  g_application_quit (G_APPLICATION (self));
  return G_SOURCE_REMOVE;
}

static void
on_closed (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwApplication) self = user_data;

  ow_shared_engine_close_finish (OW_SHARED_ENGINE (source), result, NULL);
  g_application_quit (G_APPLICATION (self));
}

static void
leave (OwApplication *self,
       gboolean       park)
{
  /* It may wait for sessions that others have begun meanwhile; a signal ends that too. */
  if (self->leaving && !park)
    return;
  self->leaving = TRUE;
  g_clear_handle_id (&self->watch, g_source_remove);
  g_application_hold (G_APPLICATION (self));
  if (self->window != NULL)
    gtk_widget_hide (GTK_WIDGET (self->window));
  if (park && self->deadline == 0)
    self->deadline = g_timeout_add_seconds (LEAVE_SECONDS, end_now, self);
  ow_shared_engine_close_async (self->engine, park, on_closed, g_object_ref (self));
}

/* A signal ends the program, but not the sessions' state. */
static gboolean
on_signal (gpointer user_data)
{
  leave (user_data, TRUE);
  return G_SOURCE_CONTINUE;
}

static gboolean
on_watch (gpointer user_data)
{
  OwApplication *self = user_data;

  if (ow_shared_engine_get_n_running (self->engine) > 0)
    return G_SOURCE_CONTINUE;
  self->watch = 0;
  leave (self, FALSE);
  return G_SOURCE_REMOVE;
}

/* Where there is nothing else that it could be said on. */
static void
say_on_terminal (const char *text)
{
  fprintf (stderr, "openworker-desktop: %s\n", text);
}

/* Without a window until nothing runs any more, or it is opened again. */
static void
stay (OwApplication *self)
{
  g_autoptr (GNotification) notification = g_notification_new (_ ("OpenWorker goes on"));
  guint n = ow_shared_engine_get_n_running (self->engine);
  g_autofree char *body = NULL;

  if (self->watch != 0 || self->leaving)
    return;
  body = g_strdup_printf (ngettext ("%u session runs. The program ends when it is done.",
                                    "%u sessions run. The program ends when they are done.", n),
                          n);
  g_notification_set_body (notification, body);
  if (g_application_get_dbus_connection (G_APPLICATION (self)) != NULL)
    g_application_send_notification (G_APPLICATION (self), "stays", notification);
  else
    say_on_terminal (body);
  g_application_hold (G_APPLICATION (self));
  self->watch = g_timeout_add_seconds (WATCH_SECONDS, on_watch, self);
  gtk_widget_hide (GTK_WIDGET (self->window));
}

static void
end_stay (OwApplication *self)
{
  if (self->watch == 0)
    return;
  g_clear_handle_id (&self->watch, g_source_remove);
  g_application_withdraw_notification (G_APPLICATION (self), "stays");
  g_application_release (G_APPLICATION (self));
}

static gboolean
on_close_request (OwApplication *self)
{
  if (ow_shared_engine_get_n_running (self->engine) > 0)
    stay (self);
  else
    leave (self, FALSE);
  return TRUE;
}

static void
ow_application_activate (GApplication *application)
{
  OwApplication *self = OW_APPLICATION (application);

  if (self->leaving)
    return;
  end_stay (self);
  if (self->window == NULL)
    {
      g_set_weak_pointer (&self->window,
                          GTK_WINDOW (ow_window_new (ADW_APPLICATION (self), self->engine)));
      g_signal_connect_object (self->window, "close-request", G_CALLBACK (on_close_request), self,
                               G_CONNECT_SWAPPED);
    }
  gtk_window_present (self->window);
  if (ow_shared_engine_get_role (self->engine) == OW_ENGINE_NONE)
    ow_application_open_engine (self);
}

static void
on_all_stopped (GObject      *source,
                GAsyncResult *result,
                gpointer      user_data)
{
  g_autoptr (OwApplication) self = user_data;

  leave (self, TRUE);
}

static void
on_quit_response (OwApplication *self,
                  const char    *response)
{
  if (g_strcmp0 (response, "keep") == 0)
    stay (self);
  else if (g_strcmp0 (response, "stop") == 0 && self->window != NULL)
    ow_window_stop_all_async (OW_WINDOW (self->window), on_all_stopped, g_object_ref (self));
}

static void
ask_to_quit (OwApplication *self,
             guint          n)
{
  AdwMessageDialog *dialog;
  g_autofree char *body = NULL;

  body = g_strdup_printf (ngettext ("%u session runs in this program.",
                                    "%u sessions run in this program.", n), n);
  dialog = ow_confirm_new (self->window, _ ("Quit OpenWorker?"), body);
  adw_message_dialog_add_responses (dialog, "keep", _ ("_Keep running"), "stop",
                                    _ ("_Stop and quit"), NULL);
  adw_message_dialog_set_response_appearance (dialog, "stop", ADW_RESPONSE_DESTRUCTIVE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_quit_response), self,
                           G_CONNECT_SWAPPED);
  ow_confirm_present (dialog);
}

static void
action_quit (GSimpleAction *action,
             GVariant      *parameter,
             gpointer       user_data)
{
  OwApplication *self = user_data;
  guint n = ow_shared_engine_get_n_running (self->engine);

  if (self->leaving)
    return;
  if (n == 0 || self->window == NULL)
    {
      leave (self, FALSE);
      return;
    }
  /* A desktop can ask it while the window is closed. */
  g_application_activate (G_APPLICATION (self));
  ask_to_quit (self, n);
}

static const char *
describe_role (OwEngineRole role)
{
  switch (role)
    {
    case OW_ENGINE_HOST:
      return "in this program";
    case OW_ENGINE_CLIENT:
      return "in another program";
    case OW_ENGINE_ALONE:
      return "alone";
    case OW_ENGINE_NONE:
    default:
      return "none";
    }
}

static void
action_about (GSimpleAction *action,
              GVariant      *parameter,
              gpointer       user_data)
{
  OwApplication *self = user_data;
  GtkWidget *about = adw_about_window_new ();
  g_autofree char *debug = NULL;

  debug = g_strdup_printf ("OpenWorker %s\nEngine: %s\nGTK %u.%u.%u\nlibadwaita %u.%u.%u\n"
                           "GLib %u.%u.%u\n", OW_VERSION,
                           describe_role (ow_shared_engine_get_role (self->engine)),
                           gtk_get_major_version (), gtk_get_minor_version (),
                           gtk_get_micro_version (), adw_get_major_version (),
                           adw_get_minor_version (), adw_get_micro_version (),
                           glib_major_version, glib_minor_version, glib_micro_version);
  g_object_set (about, "application-name", "OpenWorker", "application-icon", APPLICATION_ID,
                "developer-name", _ ("The OpenWorker authors"), "version", OW_VERSION,
                "license-type", GTK_LICENSE_APACHE_2_0, "debug-info", debug,
                "debug-info-filename", "openworker-debug-info.txt", NULL);
  gtk_window_set_transient_for (GTK_WINDOW (about), self->window);
  gtk_window_present (GTK_WINDOW (about));
}

static void
add_actions (OwApplication *self)
{
  static const GActionEntry ENTRIES[] = {
    { "about", action_about, NULL, NULL, NULL, { 0 } },
    { "quit", action_quit, NULL, NULL, NULL, { 0 } },
  };
  static const struct
  {
    const char *action;
    const char *keys[2];
  } KEYS[] = {
    { "app.quit", { "<Control>q", NULL } },
    { "win.new-session", { "<Control>n", NULL } },
    { "win.sidebar", { "F9", NULL } },
    { "window.close", { "<Control>w", NULL } },
  };

  g_action_map_add_action_entries (G_ACTION_MAP (self), ENTRIES, G_N_ELEMENTS (ENTRIES), self);
  for (guint i = 0; i < G_N_ELEMENTS (KEYS); i++)
    gtk_application_set_accels_for_action (GTK_APPLICATION (self), KEYS[i].action, KEYS[i].keys);
}

static void
ow_application_startup (GApplication *application)
{
  OwApplication *self = OW_APPLICATION (application);

  G_APPLICATION_CLASS (ow_application_parent_class)->startup (application);
  gtk_window_set_default_icon_name (APPLICATION_ID);
  add_actions (self);
  self->sigterm = g_unix_signal_add (SIGTERM, on_signal, self);
  self->sigint = g_unix_signal_add (SIGINT, on_signal, self);
  self->engine = ow_shared_engine_new (OW_FACE_WINDOW);
}

static void
ow_application_shutdown (GApplication *application)
{
  OwApplication *self = OW_APPLICATION (application);

  g_clear_handle_id (&self->watch, g_source_remove);
  g_clear_handle_id (&self->deadline, g_source_remove);
  g_clear_handle_id (&self->sigterm, g_source_remove);
  g_clear_handle_id (&self->sigint, g_source_remove);
  if (self->window != NULL)
    gtk_window_destroy (self->window);
  g_clear_weak_pointer (&self->window);
  g_clear_object (&self->engine);

  G_APPLICATION_CLASS (ow_application_parent_class)->shutdown (application);
}

static int
ow_application_handle_local_options (GApplication *application,
                                     GVariantDict *options)
{
  if (g_variant_dict_contains (options, "version"))
    {
      printf ("openworker-desktop %s\n", OW_VERSION);
      return 0;
    }
  if (gtk_init_check ())
    return -1;
  /* GTK would end the process with a word for programmers. */
  say_on_terminal (_ ("There is no display here to show a window on. Run this in a graphical "
                      "session, or do without a window: openworker --help."));
  return 1;
}

static void
ow_application_class_init (OwApplicationClass *klass)
{
  GApplicationClass *application_class = G_APPLICATION_CLASS (klass);

  application_class->activate = ow_application_activate;
  application_class->handle_local_options = ow_application_handle_local_options;
  application_class->shutdown = ow_application_shutdown;
  application_class->startup = ow_application_startup;
}

static void
ow_application_init (OwApplication *self)
{
  g_application_add_main_option (G_APPLICATION (self), "version", 0, 0, G_OPTION_ARG_NONE,
                                 _ ("Print the version and exit"), NULL);
}

OwApplication *
ow_application_new (void)
{
  return g_object_new (OW_TYPE_APPLICATION, "application-id", APPLICATION_ID, "flags",
                       G_APPLICATION_DEFAULT_FLAGS, NULL);
}
