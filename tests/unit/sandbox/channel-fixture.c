/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "channel-fixture.h"

#include <sys/stat.h>

#include <glib/gstdio.h>

#include "base/ow-file.h"
#include "patience.h"

const OwChannelTimes quick = {
  .hello_ms = 1500, .silence_ms = 800, .request_ms = 3000, .cancel_ms = 150,
  .call_ms = 20000, .idle_ms = 60000,
};

static void
on_lost (OwChannel  *channel,
         const char *reason,
         gpointer    user_data)
{
  Fixture *fixture = user_data;

  fixture->n_lost++;
  g_free (fixture->lost);
  fixture->lost = g_strdup (reason);
}

void
spin (guint ms)
{
  gint64 end = g_get_monotonic_time () + ms * 1000;

  while (g_get_monotonic_time () < end)
    {
      g_main_context_iteration (NULL, FALSE);
      g_usleep (2000);
    }
}

void
fixture_init_attach (Fixture              *fixture,
                     const char           *behaviour,
                     const OwChannelTimes *times,
                     OwAttach              attach)
{
  gboolean terminal = g_str_has_prefix (behaviour, "tty/");
  const char *argv[] = { FAKE_RUNNER, NULL, behaviour + (terminal ? 4 : 0), NULL };

  attach.argv = (char **) argv;
  attach.terminal = terminal;
  *fixture = (Fixture) { 0 };
  fixture->state_dir = g_dir_make_tmp ("ow-channel-XXXXXX", NULL);
  g_assert_nonnull (fixture->state_dir);
  argv[1] = fixture->state_dir;
  fixture->output = g_string_new (NULL);
  fixture->channel = ow_channel_new (&attach, times != NULL ? times : &quick);
  g_signal_connect (fixture->channel, "lost", G_CALLBACK (on_lost), fixture);
}

void
fixture_init (Fixture              *fixture,
              const char           *behaviour,
              const OwChannelTimes *times)
{
  fixture_init_attach (fixture, behaviour, times, (OwAttach) { 0 });
}

void
fixture_replace_channel (Fixture   *fixture,
                         OwChannel *channel)
{
  g_object_unref (fixture->channel);
  fixture->channel = channel;
  g_signal_connect (channel, "lost", G_CALLBACK (on_lost), fixture);
}

void
fixture_clear (Fixture *fixture)
{
  ow_channel_close (fixture->channel);
  spin (20);
  /* Nothing of a channel outlives it. */
  g_assert_finalize_object (fixture->channel);
  g_assert_true (ow_file_remove_tree (fixture->state_dir, NULL));
  g_string_free (fixture->output, TRUE);
  g_free (fixture->state_dir);
  g_free (fixture->lost);
}

guint
counted (Fixture    *fixture,
         const char *name)
{
  g_autofree char *path = g_build_filename (fixture->state_dir, name, NULL);
  GStatBuf status;

  return g_stat (path, &status) == 0 ? (guint) status.st_size : 0;
}

typedef struct {
  Fixture *fixture;
  gboolean ok;
  GError  *error;
} Connect;

static void
on_connected (GObject      *source,
              GAsyncResult *result,
              gpointer      user_data)
{
  Connect *connect = user_data;

  connect->ok = ow_channel_connect_finish (OW_CHANNEL (source), result, &connect->error);
  connect->fixture->answered++;
}

GError *
try_connect (Fixture *fixture)
{
  Connect connect = { fixture, FALSE, NULL };
  guint before = fixture->answered;

  ow_channel_connect_async (fixture->channel, NULL, on_connected, &connect);
  patience_wait_until (&fixture->answered, before + 1);
  g_assert_true (connect.ok == (connect.error == NULL));
  return connect.error;
}

void
connect_well (Fixture *fixture)
{
  g_autoptr (GError) error = try_connect (fixture);

  g_assert_no_error (error);
}

void
fixture_on_output (const char *stream,
                   const char *data,
                   gsize       length,
                   gpointer    user_data)
{
  Fixture *fixture = user_data;

  g_string_append_printf (fixture->output, "%s:", stream);
  g_string_append_len (fixture->output, data, (gssize) length);
  g_string_append_c (fixture->output, ';');
}

void
call_on_done (GObject      *source,
              GAsyncResult *result,
              gpointer      user_data)
{
  Call *call = user_data;

  call->result = ow_channel_call_finish (OW_CHANNEL (source), result, &call->error);
  g_assert_true ((call->result == NULL) == (call->error != NULL));
  call->done++;
}

void
start_call (Fixture      *fixture,
            Call         *call,
            const char   *id,
            const char   *tool,
            GCancellable *cancellable)
{
  json_t *arguments = json_pack ("{s:s}", "command", id);

  *call = (Call) { .fixture = fixture };
  ow_channel_call_async (fixture->channel, id, tool, arguments, fixture_on_output, fixture,
                         cancellable, call_on_done, call);
  json_decref (arguments);
}

void
call_clear (Call *call)
{
  g_clear_pointer (&call->result, ow_tool_result_free);
  g_clear_error (&call->error);
}

void
run_call (Fixture    *fixture,
          Call       *call,
          const char *id)
{
  start_call (fixture, call, id, "shell", NULL);
  patience_wait_until (&call->done, 1);
}

void
assert_outcome (const Call   *call,
                OwToolOutcome outcome)
{
  g_assert_no_error (call->error);
  g_assert_cmpint (call->result->outcome, ==, outcome);
}
