/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "keyring.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/ow-file.h"

#define NAME "org.freedesktop.secrets"
#define PATH "/org/freedesktop/secrets"

static const char bus_config[] =
  "<busconfig><type>session</type><listen>unix:dir=%s</listen>"
  "<policy context=\"default\"><allow send_destination=\"*\"/>"
  "<allow receive_sender=\"*\"/><allow own=\"*\"/></policy>"
  "</busconfig>";

/* A test that fails ends the process where it stands. */
static void
die_with_test (gpointer data)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
}

static GSubprocessLauncher *
new_launcher (Keyring          *self,
              GSubprocessFlags  flags)
{
  GSubprocessLauncher *launcher = g_subprocess_launcher_new (flags);

  g_subprocess_launcher_setenv (launcher, "HOME", self->dir, TRUE);
  g_subprocess_launcher_setenv (launcher, "XDG_DATA_HOME", self->dir, TRUE);
  g_subprocess_launcher_setenv (launcher, "XDG_RUNTIME_DIR", self->dir, TRUE);
  g_subprocess_launcher_unsetenv (launcher, "DISPLAY");
  g_subprocess_launcher_unsetenv (launcher, "WAYLAND_DISPLAY");
  if (self->address != NULL)
    g_subprocess_launcher_setenv (launcher, "DBUS_SESSION_BUS_ADDRESS", self->address, TRUE);
  g_subprocess_launcher_set_child_setup (launcher, die_with_test, NULL, NULL);

  return launcher;
}

void
keyring_set_up (Keyring       *self,
                gconstpointer  data)
{
  g_autoptr (GSubprocessLauncher) launcher = NULL;
  g_autoptr (GDataInputStream) out = NULL;
  g_autofree char *config = NULL;
  g_autofree char *text = NULL;
  g_autofree char *option = NULL;
  g_autoptr (GError) error = NULL;

  self->dir = g_dir_make_tmp ("ow-keyring-XXXXXX", NULL);
  g_assert_nonnull (self->dir);
  config = g_build_filename (self->dir, "bus.conf", NULL);
  text = g_strdup_printf (bus_config, self->dir);
  g_assert_true (g_file_set_contents (config, text, -1, NULL));
  option = g_strconcat ("--config-file=", config, NULL);

  launcher = new_launcher (self, G_SUBPROCESS_FLAGS_STDOUT_PIPE |
                           G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  self->bus = g_subprocess_launcher_spawn (launcher, &error, "dbus-daemon", option, "--nofork",
                                           "--print-address=1", NULL);
  g_assert_no_error (error);
  out = g_data_input_stream_new (g_subprocess_get_stdout_pipe (self->bus));
  self->address = g_data_input_stream_read_line (out, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (self->address);
  g_setenv ("DBUS_SESSION_BUS_ADDRESS", self->address, TRUE);
}

static void
end_process (GSubprocess **process)
{
  if (*process == NULL)
    return;

  g_subprocess_force_exit (*process);
  g_subprocess_wait (*process, NULL, NULL);
  g_clear_object (process);
}

void
keyring_tear_down (Keyring       *self,
                   gconstpointer  data)
{
  if (self->fake != NULL)
    g_dbus_connection_close_sync (self->fake, NULL, NULL);
  g_clear_object (&self->fake);
  end_process (&self->keyring);
  end_process (&self->bus);
  g_clear_pointer (&self->fake_secret, g_bytes_unref);
  g_unsetenv ("DBUS_SESSION_BUS_ADDRESS");
  g_assert_true (ow_file_remove_tree (self->dir, NULL));
  g_free (self->address);
  g_free (self->dir);
}

static GDBusConnection *
connect_to_bus (Keyring *self)
{
  g_autoptr (GError) error = NULL;
  GDBusConnection *bus = g_dbus_connection_new_for_address_sync (
    self->address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
    G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL, NULL, &error);

  g_assert_no_error (error);
  return bus;
}

static gboolean
has_owner (GDBusConnection *bus)
{
  g_autoptr (GVariant) reply = g_dbus_connection_call_sync (
    bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner",
    g_variant_new ("(s)", NAME), NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);

  return reply != NULL;
}

void
keyring_start (Keyring  *self,
               gboolean  unlocked)
{
  g_autoptr (GDBusConnection) bus = connect_to_bus (self);
  g_autoptr (GSubprocessLauncher) launcher = NULL;
  g_autoptr (GError) error = NULL;
  GOutputStream *in;

  launcher = new_launcher (self, G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_SILENCE |
                           G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  self->keyring = g_subprocess_launcher_spawn (launcher, &error, "gnome-keyring-daemon",
                                               "--components=secrets", "--foreground",
                                               unlocked ? "--unlock" : NULL, NULL);
  g_assert_no_error (error);
  in = g_subprocess_get_stdin_pipe (self->keyring);
  g_assert_true (g_output_stream_write_all (in, "pw", 2, NULL, NULL, NULL));
  g_assert_true (g_output_stream_close (in, NULL, NULL));

  for (guint i = 0; !has_owner (bus) && i < 3000; i++)
    g_usleep (10000);
  g_assert_true (has_owner (bus));
}

void
keyring_end (Keyring *self)
{
  end_process (&self->keyring);
}

/* Every thread of the process: one that runs on for a moment may still answer. */
static gboolean
is_stopped (const char *pid)
{
  g_autofree char *tasks = g_build_filename ("/proc", pid, "task", NULL);
  g_autoptr (GDir) dir = g_dir_open (tasks, 0, NULL);
  const char *name;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (tasks, name, "stat", NULL);
      g_autofree char *text = NULL;
      const char *state;

      if (!g_file_get_contents (path, &text, NULL, NULL))
        continue;
      state = strrchr (text, ')');
      if (state == NULL || state[1] != ' ' || state[2] != 'T')
        return FALSE;
    }
  return TRUE;
}

void
keyring_signal (Keyring *self,
                int      signal)
{
  const char *pid = g_subprocess_get_identifier (self->keyring);

  g_subprocess_send_signal (self->keyring, signal);
  for (guint i = 0; signal == SIGSTOP && !is_stopped (pid); i++)
    {
      g_assert_cmpuint (i, <, 10000);
      g_usleep (1000);
    }
}

void
keyring_lock (Keyring *self)
{
  g_autoptr (GDBusConnection) bus = connect_to_bus (self);
  g_autoptr (GVariant) alias = NULL;
  g_autoptr (GVariant) reply = NULL;
  g_autoptr (GError) error = NULL;
  const char *paths[] = { NULL, NULL };

  alias = g_dbus_connection_call_sync (bus, NAME, PATH, "org.freedesktop.Secret.Service",
                                       "ReadAlias", g_variant_new ("(s)", "default"),
                                       G_VARIANT_TYPE ("(o)"), G_DBUS_CALL_FLAGS_NONE, -1, NULL,
                                       &error);
  g_assert_no_error (error);
  g_variant_get (alias, "(&o)", &paths[0]);
  reply = g_dbus_connection_call_sync (bus, NAME, PATH, "org.freedesktop.Secret.Service", "Lock",
                                       g_variant_new ("(^ao)", paths), NULL,
                                       G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
  g_assert_no_error (error);
}

static GVariant *
make_properties (const char *path,
                 gboolean    locked)
{
  GVariantBuilder all;

  g_variant_builder_init (&all, G_VARIANT_TYPE ("a{sv}"));
  if (strcmp (path, PATH) == 0)
    {
      const char * const collections[] = { "/c", NULL };

      g_variant_builder_add (&all, "{sv}", "Collections", g_variant_new_objv (collections, -1));
      return g_variant_new ("(a{sv})", &all);
    }

  g_variant_builder_add (&all, "{sv}", "Locked", g_variant_new_boolean (locked));
  g_variant_builder_add (&all, "{sv}", "Label", g_variant_new_string ("label"));
  g_variant_builder_add (&all, "{sv}", "Created", g_variant_new_uint64 (1));
  g_variant_builder_add (&all, "{sv}", "Modified", g_variant_new_uint64 (1));
  if (strcmp (path, "/c") == 0)
    g_variant_builder_add (&all, "{sv}", "Items", g_variant_new_objv (NULL, 0));
  else
    g_variant_builder_add (&all, "{sv}", "Attributes", g_variant_new_parsed ("@a{ss} {}"));
  return g_variant_new ("(a{sv})", &all);
}

/* What the fake answers, or NULL for an error. */
static GVariant *
make_answer (Keyring      *self,
             GDBusMessage *call)
{
  const char *member = g_dbus_message_get_member (call);
  GVariant *body = g_dbus_message_get_body (call);
  const char *text = NULL;
  const gboolean locked = self->fake_kind == FAKE_LOCKED;

  if (strcmp (member, "OpenSession") == 0)
    {
      g_variant_get (body, "(&sv)", &text, NULL);
      return strcmp (text, "plain") == 0
             ? g_variant_new ("(vo)", g_variant_new_string (""), "/s") : NULL;
    }
  if (strcmp (member, "GetAll") == 0)
    return make_properties (g_dbus_message_get_path (call), locked);
  if (strcmp (member, "ReadAlias") == 0)
    return g_variant_new ("(o)", "/c");
  if (strcmp (member, "SearchItems") == 0)
    return g_variant_new_parsed (self->fake_kind == FAKE_PROMPTS ? "(@ao [], @ao [])"
                                 : locked ? "(@ao [], [objectpath '/c/i'])"
                                          : "([objectpath '/c/i'], @ao [])");
  if (strcmp (member, "CreateItem") == 0)
    return g_variant_new ("(oo)", "/", "/prompt");
  if (strcmp (member, "Delete") == 0)
    return g_variant_new ("(o)", "/prompt");
  if (strcmp (member, "GetSecret") == 0 && self->fake_secret != NULL)
    return g_variant_new ("((o@ay@ays))", "/s", g_variant_new_parsed ("@ay []"),
                          g_variant_new_from_bytes (G_VARIANT_TYPE ("ay"), self->fake_secret, TRUE),
                          "text/plain");
  return NULL;
}

/* Runs in the connection's own thread. */
static GDBusMessage *
answer (GDBusConnection *bus,
        GDBusMessage    *message,
        gboolean         incoming,
        gpointer         user_data)
{
  Keyring *self = user_data;
  g_autoptr (GDBusMessage) reply = NULL;
  const char *member = g_dbus_message_get_member (message);
  GVariant *body = NULL;

  if (!incoming || g_dbus_message_get_message_type (message) != G_DBUS_MESSAGE_TYPE_METHOD_CALL)
    return message;

  g_atomic_int_inc (&self->calls);
  if (strcmp (member, "Prompt") == 0 || strcmp (member, "Unlock") == 0)
    g_atomic_int_inc (&self->asked);
  if (self->fake_kind == FAKE_WRONG_TYPES)
    body = g_variant_new ("(i)", 7);
  else if (self->fake_kind != FAKE_ERRORS && self->fake_kind != FAKE_SILENT)
    body = make_answer (self, message);

  if (self->fake_kind != FAKE_SILENT)
    {
      reply = body != NULL ? g_dbus_message_new_method_reply (message)
                           : g_dbus_message_new_method_error_literal (
        message, self->fake_kind == FAKE_ERRORS ? "org.freedesktop.DBus.Error.AccessDenied"
                                                : "org.freedesktop.DBus.Error.NotSupported",
        "No");
      if (body != NULL)
        g_dbus_message_set_body (reply, body);
      g_dbus_connection_send_message (bus, reply, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL);
    }
  g_object_unref (message);
  return NULL;
}

void
keyring_fake (Keyring  *self,
              FakeKind  kind,
              GBytes   *secret)
{
  g_autoptr (GVariant) reply = NULL;
  g_autoptr (GError) error = NULL;

  self->fake_kind = kind;
  g_clear_pointer (&self->fake_secret, g_bytes_unref);
  self->fake_secret = secret != NULL ? g_bytes_ref (secret) : NULL;
  self->asked = 0;
  self->calls = 0;
  if (self->fake != NULL)
    return;

  self->fake = connect_to_bus (self);
  reply = g_dbus_connection_call_sync (self->fake, "org.freedesktop.DBus",
                                       "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                       "RequestName", g_variant_new ("(su)", NAME, 0), NULL,
                                       G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
  g_assert_no_error (error);
  g_dbus_connection_add_filter (self->fake, answer, self, NULL);
}
