/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <sys/stat.h>
#include <time.h>
#include <utime.h>

#include <glib/gstdio.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "patience.h"
#include "sandbox/ow-prove.h"
#include "sandbox/ow-sandbox.h"

/* --- a provider whose wall is a name and whose runner is the fake one --- */

typedef struct {
  const char *state_dir;
  const char *behaviour;
  OwLevel     level;
  gboolean    refuse_check;
  gboolean    refuse_start;
  gboolean    refuse_stop;
  guint       started;
  guint       stopped;
} Setting;

#define TEST_TYPE_INSTANCE (test_instance_get_type ())
G_DECLARE_FINAL_TYPE (TestInstance, test_instance, TEST, INSTANCE, GObject)
#define TEST_TYPE_PROVIDER (test_provider_get_type ())
G_DECLARE_FINAL_TYPE (TestProvider, test_provider, TEST, PROVIDER, GObject)

struct _TestInstance {
  GObject     parent_instance;
  Setting    *setting;
  const char *argv[4];
  OwAttach    attach;
};

struct _TestProvider {
  GObject       parent_instance;
  Setting      *setting;
  TestInstance *last; /* (unowned) */
};

static const OwAttach *
test_instance_get_attach (OwSandboxInstance *instance)
{
  TestInstance *self = TEST_INSTANCE (instance);

  self->argv[0] = FAKE_RUNNER;
  self->argv[1] = self->setting->state_dir;
  self->argv[2] = self->setting->behaviour;
  self->attach.argv = (char **) self->argv;
  return &self->attach;
}

static GPid
test_instance_get_main_pid (OwSandboxInstance *instance)
{
  return 0;
}

static void
test_instance_stop_async (OwSandboxInstance  *instance,
                          GAsyncReadyCallback callback,
                          gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (instance, NULL, callback, user_data);

  TEST_INSTANCE (instance)->setting->stopped++;
  if (TEST_INSTANCE (instance)->setting->refuse_stop)
    g_task_return_new_error (task, OW_ERROR, OW_ERROR_FAILED, "It did not end");
  else
    g_task_return_boolean (task, TRUE);
}

static gboolean
finish_boolean (GAsyncResult *result,
                GError      **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

static gboolean
test_instance_stop_finish (OwSandboxInstance *instance,
                           GAsyncResult      *result,
                           GError           **error)
{
  return finish_boolean (result, error);
}

static void
test_instance_iface_init (OwSandboxInstanceInterface *iface)
{
  iface->get_attach = test_instance_get_attach;
  iface->get_main_pid = test_instance_get_main_pid;
  iface->stop_async = test_instance_stop_async;
  iface->stop_finish = test_instance_stop_finish;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (TestInstance, test_instance, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_SANDBOX_INSTANCE,
                                                      test_instance_iface_init))

static void
test_instance_class_init (TestInstanceClass *klass)
{
}

static void
test_instance_init (TestInstance *self)
{
}

static OwLevel
test_provider_get_level (OwSandboxProvider *provider)
{
  return TEST_PROVIDER (provider)->setting->level;
}

static void
return_or_refuse (GTask      *task,
                  gboolean    refuse,
                  const char *why)
{
  GError *error = NULL;

  if (!refuse)
    {
      g_task_return_boolean (task, TRUE);
      return;
    }
  ow_error_set (&error, OW_ERROR_REFUSED, "Refused", why, NULL);
  g_task_return_error (task, error);
}

static void
test_provider_check_async (OwSandboxProvider  *provider,
                           GCancellable       *cancellable,
                           GAsyncReadyCallback callback,
                           gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (provider, cancellable, callback, user_data);

  return_or_refuse (task, TEST_PROVIDER (provider)->setting->refuse_check, "by the check");
}

static gboolean
test_provider_check_finish (OwSandboxProvider *provider,
                            GAsyncResult      *result,
                            GError           **error)
{
  return finish_boolean (result, error);
}

static void
test_provider_start_async (OwSandboxProvider  *provider,
                           OwSandboxPlan      *plan,
                           GCancellable       *cancellable,
                           GAsyncReadyCallback callback,
                           gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (provider, cancellable, callback, user_data);

  return_or_refuse (task, TEST_PROVIDER (provider)->setting->refuse_start, "by the start");
}

static OwSandboxInstance *
test_provider_start_finish (OwSandboxProvider *provider,
                            GAsyncResult      *result,
                            GError           **error)
{
  TestProvider *self = TEST_PROVIDER (provider);

  if (!finish_boolean (result, error))
    return NULL;
  self->last = g_object_new (TEST_TYPE_INSTANCE, NULL);
  self->last->setting = self->setting;
  self->setting->started++;
  return OW_SANDBOX_INSTANCE (self->last);
}

static void
test_provider_iface_init (OwSandboxProviderInterface *iface)
{
  iface->get_level = test_provider_get_level;
  iface->check_async = test_provider_check_async;
  iface->check_finish = test_provider_check_finish;
  iface->start_async = test_provider_start_async;
  iface->start_finish = test_provider_start_finish;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (TestProvider, test_provider, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_SANDBOX_PROVIDER,
                                                      test_provider_iface_init))

static void
test_provider_class_init (TestProviderClass *klass)
{
}

static void
test_provider_init (TestProvider *self)
{
}

/* --- the fixture --- */

typedef struct {
  char         *base;
  char         *writable;
  char         *read_only;
  Setting       setting;
  TestProvider *provider;
  OwSandbox    *sandbox;
  guint         done;
  GError       *error;
  char         *lost;
  guint         n_lost;
  char         *decision;
  guint         n_decisions;
} Fixture;

static void
on_lost (OwSandbox  *sandbox,
         const char *reason,
         gpointer    user_data)
{
  Fixture *fixture = user_data;

  fixture->n_lost++;
  g_free (fixture->lost);
  fixture->lost = g_strdup (reason);
}

static void
on_decision (OwSandbox  *sandbox,
             const char *line,
             gpointer    user_data)
{
  Fixture *fixture = user_data;

  fixture->n_decisions++;
  g_free (fixture->decision);
  fixture->decision = g_strdup (line);
}

static void
add_folder (GPtrArray  *folders,
            const char *path,
            const char *mode)
{
  g_autofree char *text = g_strconcat (path, mode, NULL);
  g_autoptr (GError) error = NULL;
  OwFolder *folder = ow_folder_open (text, &error);

  g_assert_no_error (error);
  g_ptr_array_add (folders, folder);
}

/* A writable folder, and a read-only one inside it. */
static void
fixture_init (Fixture    *fixture,
              const char *behaviour)
{
  GPtrArray *folders = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_folder_free);

  *fixture = (Fixture) { 0 };
  fixture->base = g_dir_make_tmp ("ow-sandbox-XXXXXX", NULL);
  fixture->writable = g_build_filename (fixture->base, "work", NULL);
  fixture->read_only = g_build_filename (fixture->writable, "ro", NULL);
  g_assert_cmpint (g_mkdir_with_parents (fixture->read_only, 0700), ==, 0);
  fixture->setting.state_dir = fixture->base;
  fixture->setting.behaviour = behaviour;
  fixture->setting.level = OW_LEVEL_BUBBLEWRAP;
  fixture->provider = g_object_new (TEST_TYPE_PROVIDER, NULL);
  fixture->provider->setting = &fixture->setting;
  add_folder (folders, fixture->writable, "");
  add_folder (folders, fixture->read_only, ":ro");
  fixture->sandbox = ow_sandbox_new (OW_SANDBOX_PROVIDER (fixture->provider), "session-1",
                                     folders,
                                     g_ptr_array_new_with_free_func ((GDestroyNotify)
                                                                     ow_host_free));
  g_signal_connect (fixture->sandbox, "lost", G_CALLBACK (on_lost), fixture);
  g_signal_connect (fixture->sandbox, "decision", G_CALLBACK (on_decision), fixture);
}

static guint
count_entries (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  guint count = 0;

  while (dir != NULL && g_dir_read_name (dir) != NULL)
    count++;
  return count;
}

/* Nothing that a sandbox makes is there any more. */
static void
assert_nothing_left (Fixture *fixture)
{
  g_autofree char *homes = ow_paths_get_private_homes ();
  g_autofree char *registry = ow_paths_get_registry_dir ();
  g_autofree char *runtime = ow_paths_get_runtime_dir ();

  g_assert_cmpuint (count_entries (homes), ==, 0);
  g_assert_cmpuint (count_entries (registry), ==, 0);
  g_assert_cmpuint (count_entries (runtime), ==, 0);
  g_assert_cmpuint (count_entries (fixture->read_only), ==, 0);
  g_assert_cmpuint (count_entries (fixture->writable), ==, 1);
  g_assert_cmpuint (fixture->setting.stopped, ==, fixture->setting.started);
}

static void
fixture_clear (Fixture *fixture)
{
  g_object_unref (fixture->sandbox);
  g_object_unref (fixture->provider);
  g_assert_true (ow_file_remove_tree (fixture->base, NULL));
  g_clear_error (&fixture->error);
  g_free (fixture->base);
  g_free (fixture->writable);
  g_free (fixture->read_only);
  g_free (fixture->lost);
  g_free (fixture->decision);
}

static void
on_started (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  Fixture *fixture = user_data;
  gboolean ok = ow_sandbox_start_finish (OW_SANDBOX (source), result, &fixture->error);

  g_assert_true (ok == (fixture->error == NULL));
  fixture->done++;
}

static void
on_stopped (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  Fixture *fixture = user_data;
  g_autoptr (GError) error = NULL;

  ow_sandbox_stop_finish (OW_SANDBOX (source), result, &error);
  g_assert_true ((error != NULL) == fixture->setting.refuse_stop);
  fixture->done++;
}

static void
start (Fixture *fixture)
{
  guint before = fixture->done;

  ow_sandbox_start_async (fixture->sandbox, NULL, on_started, fixture);
  patience_wait_until (&fixture->done, before + 1);
}

static void
stop (Fixture *fixture)
{
  guint before = fixture->done;

  ow_sandbox_stop_async (fixture->sandbox, on_stopped, fixture);
  patience_wait_until (&fixture->done, before + 1);
}

/* --- tests --- */

typedef struct {
  OwToolResult *result;
  GError       *error;
  guint         done;
} Call;

static void
on_called (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  Call *call = user_data;

  call->result = OW_TOOL_HOST_GET_IFACE (source)->call_finish (OW_TOOL_HOST (source), result,
                                                               &call->error);
  call->done++;
}

/* By the interface's table: only one place in the program calls a tool host. */
static void
run_call (Fixture    *fixture,
          Call       *call,
          const char *id)
{
  json_t *arguments = json_pack ("{s:s}", "command", "hello");

  *call = (Call) { 0 };
  OW_TOOL_HOST_GET_IFACE (fixture->sandbox)->call_async (OW_TOOL_HOST (fixture->sandbox), id,
                                                         "shell", arguments, NULL, NULL, NULL,
                                                         on_called, call);
  json_decref (arguments);
  patience_wait_until (&call->done, 1);
}

static void
test_up_and_down (void)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "honest");
  run_call (&fixture, &call, "early");
  g_assert_error (call.error, OW_ERROR, OW_ERROR_FAILED);
  g_clear_error (&call.error);

  start (&fixture);
  g_assert_no_error (fixture.error);
  g_assert_null (ow_sandbox_get_notice (fixture.sandbox));
  g_assert_cmpint (OW_TOOL_HOST_GET_IFACE (fixture.sandbox)->get_level
                     (OW_TOOL_HOST (fixture.sandbox)), ==, OW_LEVEL_BUBBLEWRAP);
  /* The tokens are gone before anybody may use it. */
  g_assert_cmpuint (count_entries (fixture.writable), ==, 1);
  g_assert_cmpuint (count_entries (fixture.read_only), ==, 0);
  run_call (&fixture, &call, "one");
  g_assert_no_error (call.error);
  g_assert_cmpstr (call.result->text, ==, "hello");
  g_clear_pointer (&call.result, ow_tool_result_free);

  stop (&fixture);
  assert_nothing_left (&fixture);
  run_call (&fixture, &call, "late");
  g_assert_error (call.error, OW_ERROR, OW_ERROR_FAILED);
  g_clear_error (&call.error);
  stop (&fixture);
  fixture_clear (&fixture);
}

typedef struct {
  const char *name;
  int         age_s;
  gboolean    goes;
} Leftover;

#define HEX "0123456789abcdef0123456789abcdef"

/* What a killed proof left goes, and nothing that could be anything else. */
static void
test_leftovers (void)
{
  static const Leftover leftovers[] = {
    { ".openworker-proof-" HEX, 3600, TRUE },
    { ".openworker-proof-" HEX "0", 3600, FALSE },
    { ".openworker-proof-", 3600, FALSE },
    { ".openworker-proof-0123456789ABCDEF0123456789ABCDEF", 3600, FALSE },
    { "openworker-proof-" HEX, 3600, FALSE },
    /* Another run may be waiting for this one. */
    { ".openworker-proof-ffffffffffffffffffffffffffffffff", 5, FALSE },
  };
  Fixture fixture;
  struct stat status;

  fixture_init (&fixture, "honest");
  for (gsize i = 0; i < G_N_ELEMENTS (leftovers); i++)
    {
      g_autofree char *path = g_build_filename (fixture.writable, leftovers[i].name, NULL);
      struct utimbuf times = { .modtime = time (NULL) - leftovers[i].age_s };

      g_assert_true (g_file_set_contents (path, HEX HEX, -1, NULL));
      g_assert_cmpint (g_utime (path, &times), ==, 0);
    }
  start (&fixture);
  g_assert_no_error (fixture.error);
  for (gsize i = 0; i < G_N_ELEMENTS (leftovers); i++)
    {
      g_autofree char *path = g_build_filename (fixture.writable, leftovers[i].name, NULL);

      g_assert_true ((g_lstat (path, &status) < 0) == leftovers[i].goes);
    }
  stop (&fixture);
  fixture_clear (&fixture);
}

typedef struct {
  const char *behaviour;
  gboolean    in_read_only; /* which of the two folders is named */
  const char *says;
} Lie;

static const Lie lies[] = {
  { "probe-blind", FALSE, "cannot be read inside" },
  { "probe-other", FALSE, "another folder stands in its place" },
  { "probe-claims", FALSE, "does not appear outside" },
  { "probe-exit", FALSE, "stream has ended" },
  { "probe-identity", TRUE, "another folder, or none" },
  { "probe-writes", TRUE, "is to be read-only and a file could be made" },
  { "probe-gone", TRUE, "could not be tried" },
};

static void
test_lie (gconstpointer data)
{
  const Lie *lie = data;
  const char *folder;
  g_autofree char *named = NULL;
  Fixture fixture;

  fixture_init (&fixture, lie->behaviour);
  folder = lie->in_read_only ? fixture.read_only : fixture.writable;
  named = g_strdup_printf ("%s ", folder);
  start (&fixture);
  g_assert_error (fixture.error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (fixture.error->message, named));
  g_assert_nonnull (strstr (fixture.error->message, lie->says));
  assert_nothing_left (&fixture);
  fixture_clear (&fixture);
}

/* Without a wall nothing hinders a command: said, and not proven. */
static void
test_direct (void)
{
  Fixture fixture;

  fixture_init (&fixture, "probe-writes");
  fixture.setting.level = OW_LEVEL_DIRECT;
  start (&fixture);
  g_assert_no_error (fixture.error);
  g_assert_nonnull (strstr (ow_sandbox_get_notice (fixture.sandbox), "read-only"));
  stop (&fixture);
  assert_nothing_left (&fixture);
  fixture_clear (&fixture);
}

static void
test_half_started (gconstpointer data)
{
  const char *where = data;
  Fixture fixture;

  fixture_init (&fixture, g_str_equal (where, "channel") ? "version" : "honest");
  fixture.setting.refuse_check = g_str_equal (where, "check");
  fixture.setting.refuse_start = g_str_equal (where, "start");
  start (&fixture);
  g_assert_error (fixture.error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_cmpuint (fixture.setting.started, ==, g_str_equal (where, "channel"));
  assert_nothing_left (&fixture);
  fixture_clear (&fixture);
}

static void
test_cancelled (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Fixture fixture;

  /* At every step of the main loop on the way up. */
  for (guint steps = 0; steps < 60; steps++)
    {
      gboolean cancelled = FALSE;

      fixture_init (&fixture, "honest");
      g_cancellable_reset (cancellable);
      ow_sandbox_start_async (fixture.sandbox, cancellable, on_started, &fixture);
      for (guint i = 0; i < steps && fixture.done == 0; i++)
        g_main_context_iteration (NULL, TRUE);
      cancelled = fixture.done == 0;
      g_cancellable_cancel (cancellable);
      patience_wait_until (&fixture.done, 1);
      if (cancelled && fixture.error == NULL)
        g_test_message ("step %u was the last", steps);
      if (fixture.error == NULL)
        stop (&fixture);
      assert_nothing_left (&fixture);
      fixture_clear (&fixture);
      if (!cancelled)
        return;
    }
}

static void
test_stop_while_starting (void)
{
  Fixture fixture;

  fixture_init (&fixture, "no-hello");
  ow_sandbox_start_async (fixture.sandbox, NULL, on_started, &fixture);
  while (fixture.setting.started == 0)
    g_main_context_iteration (NULL, TRUE);
  ow_sandbox_stop_async (fixture.sandbox, on_stopped, &fixture);
  patience_wait_until (&fixture.done, 2);
  g_assert_nonnull (fixture.error);
  assert_nothing_left (&fixture);
  fixture_clear (&fixture);
}

static void
test_lost (void)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "honest");
  start (&fixture);
  g_assert_no_error (fixture.error);
  g_signal_emit_by_name (fixture.provider->last, "ended", "the wall fell");
  g_assert_cmpuint (fixture.n_lost, ==, 1);
  g_assert_cmpstr (fixture.lost, ==, "the wall fell");
  run_call (&fixture, &call, "late");
  g_assert_error (call.error, OW_ERROR, OW_ERROR_FAILED);
  g_clear_error (&call.error);
  stop (&fixture);
  assert_nothing_left (&fixture);
  fixture_clear (&fixture);
}

/* What still runs may still write: its folders stay until a later start finds them. */
static void
test_not_stopped (void)
{
  g_autofree char *homes = ow_paths_get_private_homes ();
  g_autofree char *registry = ow_paths_get_registry_dir ();
  g_autofree char *runtime = ow_paths_get_runtime_dir ();
  Fixture fixture;

  fixture_init (&fixture, "honest");
  start (&fixture);
  g_assert_no_error (fixture.error);
  fixture.setting.refuse_stop = TRUE;
  stop (&fixture);
  fixture_clear (&fixture);
  g_assert_cmpuint (count_entries (homes), ==, 1);
  g_assert_cmpuint (count_entries (registry), >, 0);
  g_assert_true (ow_file_remove_tree (homes, NULL));
  g_assert_true (ow_file_remove_tree (registry, NULL));
  g_assert_true (ow_file_remove_tree (runtime, NULL));
}

static void
test_decisions (void)
{
  const char *line = "{\"decision\":\"refuse\",\"host\":\"example.com\",\"port\":443,"
                     "\"reason\":\"not_listed\"}";
  Fixture fixture;

  fixture_init (&fixture, "honest");
  start (&fixture);
  g_signal_emit_by_name (fixture.provider->last, "decision", line);
  g_assert_cmpuint (fixture.n_decisions, ==, 1);
  g_assert_cmpstr (fixture.decision, ==, line);
  g_signal_emit_by_name (fixture.provider->last, "decision", "{\"decision\":\"allow\"}");
  g_signal_emit_by_name (fixture.provider->last, "decision", "ready");
  g_assert_cmpuint (fixture.n_decisions, ==, 1);
  stop (&fixture);
  fixture_clear (&fixture);
}

static void
test_disposed (void)
{
  Fixture fixture;

  fixture_init (&fixture, "honest");
  start (&fixture);
  g_assert_no_error (fixture.error);
  g_assert_finalize_object (fixture.sandbox);
  fixture.setting.stopped = fixture.setting.started;
  assert_nothing_left (&fixture);
  /* One that was never started is as easily dropped. */
  fixture.sandbox = ow_sandbox_new (OW_SANDBOX_PROVIDER (fixture.provider), "", NULL, NULL);
  fixture_clear (&fixture);
}

/* --- proving --- */

typedef struct {
  json_t *claims;
  GError *error;
  guint   done;
} Proof;

static void
on_proven (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  Proof *proof = user_data;

  proof->claims = ow_prove_run_finish (result, &proof->error);
  proof->done++;
}

static const char * const keys[] = {
  "folder", "home", "read_only", "proc_sys", "host", "loopback", "abstract_socket",
};

static guint
count_named (const char *path,
             const char *prefix)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;
  guint count = 0;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    count += g_str_has_prefix (name, prefix);
  return count;
}

/* The proxy's part: it tells of the name that it was asked for. */
static gboolean
on_proxy_turn (gpointer user_data)
{
  Fixture *fixture = user_data;
  g_autofree char *path = g_build_filename (fixture->base, "asked", NULL);
  g_autoptr (GBytes) name = ow_file_read (path, 256, NULL);
  g_autofree char *line = NULL;

  if (name == NULL || g_bytes_get_size (name) == 0)
    return G_SOURCE_CONTINUE;
  line = g_strdup_printf ("{\"decision\":\"refuse\",\"host\":\"%.*s\",\"port\":443,"
                          "\"reason\":\"not_listed\"}", (int) g_bytes_get_size (name),
                          (const char *) g_bytes_get_data (name, NULL));
  g_signal_emit_by_name (fixture->provider->last, "decision", line);
  return G_SOURCE_REMOVE;
}

static void
prove (Fixture *fixture,
       Proof   *proof)
{
  *proof = (Proof) { 0 };
  ow_prove_run_async (OW_SANDBOX_PROVIDER (fixture->provider), NULL, NULL, on_proven, proof);
  patience_wait_until (&proof->done, 1);
  /* Neither canary nor temporary folder stays, whatever came out. */
  g_assert_cmpuint (count_named (g_get_home_dir (), ".openworker-canary-"), ==, 0);
  g_assert_cmpuint (count_named (g_get_tmp_dir (), "openworker-prove-"), ==, 0);
  assert_nothing_left (fixture);
}

/* The claims that hold are exactly those of @held, a list of keys. */
static void
assert_held (const Proof        *proof,
             const char * const *held)
{
  size_t i;
  json_t *claim;

  g_assert_no_error (proof->error);
  g_assert_cmpuint (json_array_size (proof->claims), ==, G_N_ELEMENTS (keys));
  json_array_foreach (proof->claims, i, claim)
    {
      const char *key = ow_json_get_string (claim, "key", "");

      g_test_message ("%s: %s", key, ow_json_get_string (claim, "detail", ""));
      g_assert_cmpstr (key, ==, keys[i]);
      g_assert_cmpint (ow_json_get_bool (claim, "held", -1), ==, g_strv_contains (held, key));
      g_assert_cmpstr (ow_json_get_string (claim, "claim", ""), !=, "");
      g_assert_cmpstr (ow_json_get_string (claim, "detail", ""), !=, "");
    }
}

/* No wall: each claim but the folder's has to fall. */
static void
test_prove_open (void)
{
  const char *held[] = { "folder", NULL, NULL };
  Fixture fixture;
  Proof proof;

  /* Only root can open that file for writing in the first place. */
  if (g_access ("/proc/sys/kernel/core_pattern", W_OK) < 0)
    held[1] = "proc_sys";
  fixture_init (&fixture, "open");
  fixture.setting.level = OW_LEVEL_DIRECT;
  prove (&fixture, &proof);
  assert_held (&proof, held);
  json_decref (proof.claims);
  fixture_clear (&fixture);
}

static void
test_prove_walled (void)
{
  const char *held[] = {
    "folder", "home", "read_only", "proc_sys", "host", "loopback", "abstract_socket", NULL
  };
  Fixture fixture;
  Proof proof;

  fixture_init (&fixture, "walled");
  g_timeout_add (10, on_proxy_turn, &fixture);
  prove (&fixture, &proof);
  assert_held (&proof, held);
  json_decref (proof.claims);
  fixture_clear (&fixture);
}

/* A 403 that the proxy itself knows nothing of proves nothing. */
static void
test_prove_no_decision (void)
{
  const char *held[] = {
    "folder", "home", "read_only", "proc_sys", "loopback", "abstract_socket", NULL
  };
  Fixture fixture;
  Proof proof;

  fixture_init (&fixture, "walled-mute");
  prove (&fixture, &proof);
  assert_held (&proof, held);
  json_decref (proof.claims);
  fixture_clear (&fixture);
}

/* P03: a runner that connects and says that it could not. */
static void
test_prove_liar (void)
{
  Fixture fixture;
  Proof proof;
  json_t *claim;

  fixture_init (&fixture, "walled-liar");
  g_timeout_add (10, on_proxy_turn, &fixture);
  prove (&fixture, &proof);
  g_assert_no_error (proof.error);
  claim = json_array_get (proof.claims, 5);
  g_assert_cmpint (ow_json_get_bool (claim, "held", -1), ==, 0);
  claim = json_array_get (proof.claims, 6);
  g_assert_cmpint (ow_json_get_bool (claim, "held", -1), ==, 0);
  json_decref (proof.claims);
  fixture_clear (&fixture);
}

/* A canary that cannot be made outside either makes the claim fall. */
static void
test_prove_no_control (void)
{
  const char *held[] = {
    "folder", "read_only", "proc_sys", "host", "loopback", "abstract_socket", NULL
  };
  g_autofree char *home = g_strdup (g_get_home_dir ());
  g_autofree char *moved = g_strconcat (home, ".moved", NULL);
  Fixture fixture;
  Proof proof;

  fixture_init (&fixture, "walled");
  g_timeout_add (10, on_proxy_turn, &fixture);
  /* Not even root can make a file in a folder that is not there. */
  g_assert_cmpint (g_rename (home, moved), ==, 0);
  proof = (Proof) { 0 };
  ow_prove_run_async (OW_SANDBOX_PROVIDER (fixture.provider), NULL, NULL, on_proven, &proof);
  g_assert_cmpint (g_rename (moved, home), ==, 0);
  patience_wait_until (&proof.done, 1);
  assert_held (&proof, held);
  json_decref (proof.claims);
  fixture_clear (&fixture);
}

static void
test_prove_refused (void)
{
  Proof proof = { 0 };
  Fixture fixture;

  fixture_init (&fixture, "honest");
  fixture.setting.refuse_check = TRUE;
  ow_prove_run_async (OW_SANDBOX_PROVIDER (fixture.provider), NULL, NULL, on_proven, &proof);
  patience_wait_until (&proof.done, 1);
  g_assert_null (proof.claims);
  g_assert_error (proof.error, OW_ERROR, OW_ERROR_REFUSED);
  g_clear_error (&proof.error);
  assert_nothing_left (&fixture);
  fixture_clear (&fixture);
}

int
main (int    argc,
      char **argv)
{
  g_autofree char *root = g_mkdtemp (g_strdup ("/tmp/ow-sandbox-test-XXXXXX"));
  g_autofree char *home = g_build_filename (root, "home", NULL);
  g_autofree char *runtime = g_build_filename (root, "run", NULL);
  g_autofree char *tmp = g_build_filename (root, "tmp", NULL);
  int status;

  /* Before GLib looks at them: nothing of a test lands in a person's home. */
  g_setenv ("HOME", home, TRUE);
  g_setenv ("XDG_RUNTIME_DIR", runtime, TRUE);
  g_setenv ("TMPDIR", tmp, TRUE);
  g_unsetenv ("XDG_CONFIG_HOME");
  g_unsetenv ("XDG_DATA_HOME");
  g_unsetenv ("XDG_STATE_HOME");
  g_assert_true (g_mkdir (home, 0700) == 0 && g_mkdir (runtime, 0700) == 0
                 && g_mkdir (tmp, 0700) == 0);

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sandbox/up-and-down", test_up_and_down);
  for (gsize i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      g_autofree char *path = g_strconcat (lies[i].in_read_only ? "/sandbox/S09/" : "/sandbox/S11/",
                                           lies[i].behaviour, NULL);

      g_test_add_data_func (path, &lies[i], test_lie);
    }
  g_test_add_func ("/sandbox/S21/leftovers", test_leftovers);
  g_test_add_func ("/sandbox/direct", test_direct);
  g_test_add_data_func ("/sandbox/half-started/check", "check", test_half_started);
  g_test_add_data_func ("/sandbox/half-started/start", "start", test_half_started);
  g_test_add_data_func ("/sandbox/half-started/channel", "channel", test_half_started);
  g_test_add_func ("/sandbox/cancelled", test_cancelled);
  g_test_add_func ("/sandbox/stop-while-starting", test_stop_while_starting);
  g_test_add_func ("/sandbox/P13/lost", test_lost);
  g_test_add_func ("/sandbox/not-stopped", test_not_stopped);
  g_test_add_func ("/sandbox/decisions", test_decisions);
  g_test_add_func ("/sandbox/disposed", test_disposed);
  g_test_add_func ("/sandbox/prove/open", test_prove_open);
  g_test_add_func ("/sandbox/prove/walled", test_prove_walled);
  g_test_add_func ("/sandbox/prove/no-decision", test_prove_no_decision);
  g_test_add_func ("/sandbox/prove/P03/liar", test_prove_liar);
  g_test_add_func ("/sandbox/prove/no-control", test_prove_no_control);
  g_test_add_func ("/sandbox/prove/refused", test_prove_refused);
  status = g_test_run ();
  ow_file_remove_tree (root, NULL);
  return status;
}
