/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-keys.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "keyring.h"
#include "memory-search.h"

#define URL   "https://models.example/v1"
#define OTHER "https://models.example/v2"
#define KEY   "sk-test_0123456789.abcDEF"

/* What an operation came to, and what else the loop did meanwhile. */
typedef struct {
  gboolean    done;
  gboolean    ok;
  OwKeyState  state;
  char       *key;    /* (owned) (nullable) */
  GError     *error;  /* (owned) (nullable) */
  guint       ticks;
  double      seconds;
} Result;

static void
result_clear (Result *result)
{
  ow_keys_free (result->key);
  g_clear_error (&result->error);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Result, result_clear)

static gboolean
tick (gpointer user_data)
{
  ((Result *) user_data)->ticks++;
  return G_SOURCE_CONTINUE;
}

static void
on_looked_up (GObject      *source,
              GAsyncResult *async_result,
              gpointer      user_data)
{
  Result *result = user_data;

  result->key = ow_keys_lookup_finish (async_result, &result->state, &result->error);
  result->done = TRUE;
}

static void
on_stored (GObject      *source,
           GAsyncResult *async_result,
           gpointer      user_data)
{
  Result *result = user_data;

  result->ok = ow_keys_store_finish (async_result, &result->error);
  result->done = TRUE;
}

/* Turns the thread's loop until @result is there, with a clock beside it. */
static void
wait_for (Result *result)
{
  GMainContext *context = g_main_context_get_thread_default ();
  GSource *clock = g_timeout_source_new (20);
  gint64 begin = g_get_monotonic_time ();

  g_source_set_callback (clock, tick, result, NULL);
  g_source_attach (clock, context);
  while (!result->done)
    {
      g_main_context_iteration (context, TRUE);
      result->seconds = (double) (g_get_monotonic_time () - begin) / G_USEC_PER_SEC;
      g_assert_cmpfloat (result->seconds, <, 50);
    }
  g_source_destroy (clock);
  g_source_unref (clock);
}

static void
look_up (const char *url,
         Result     *result)
{
  ow_keys_lookup_async (url, NULL, on_looked_up, result);
  wait_for (result);
  g_assert_no_error (result->error);
}

static void
assert_state (const char *url,
              OwKeyState  state,
              const char *key)
{
  g_auto (Result) result = { 0 };

  look_up (url, &result);
  g_assert_cmpstr (ow_key_state_to_string (result.state), ==, ow_key_state_to_string (state));
  g_assert_cmpstr (result.key, ==, key);
  if (state != OW_KEY_SILENT)
    g_assert_cmpfloat (result.seconds, <, 4);
}

static void
store (const char *url,
       const char *key,
       Result     *result)
{
  ow_keys_store_async (url, "A label", key, NULL, on_stored, result);
  wait_for (result);
  g_assert_cmpint (result->ok, ==, result->error == NULL);
}

static void
assert_stored (const char *url,
               const char *key)
{
  g_auto (Result) result = { 0 };

  store (url, key, &result);
  g_assert_no_error (result.error);
}

static void
assert_not_stored (const char *url,
                   const char *key,
                   int         kind,
                   const char *says)
{
  g_auto (Result) result = { 0 };

  store (url, key, &result);
  g_assert_error (result.error, OW_ERROR, kind);
  g_test_message ("%s", result.error->message);
  g_assert_nonnull (strstr (result.error->message, says));
  if (key != NULL && strlen (key) > 4)
    g_assert_null (strstr (result.error->message, key));
}

/* A key is kept, for its address and no other, replaced, and taken away. */
static void
test_kept (Keyring       *keyring,
           gconstpointer  data)
{
  g_autofree char *longest = g_strnfill (8192, 'k');

  keyring_start (keyring, TRUE);
  assert_state (URL, OW_KEY_NONE, NULL);
  assert_stored (URL, KEY);
  assert_state (URL, OW_KEY_KEYRING, KEY);
  assert_state ("HTTPS://Models.Example:443/v1/", OW_KEY_KEYRING, KEY);
  assert_state (OTHER, OW_KEY_NONE, NULL);
  assert_state ("http://models.example/v1", OW_KEY_NONE, NULL);
  assert_stored (OTHER, "other");
  assert_stored (URL, longest);
  assert_state (URL, OW_KEY_KEYRING, longest);
  assert_state (OTHER, OW_KEY_KEYRING, "other");
  assert_stored (URL, NULL);
  assert_state (URL, OW_KEY_NONE, NULL);
  assert_state (OTHER, OW_KEY_KEYRING, "other");
  assert_stored (URL, NULL);

  /* One that was started again is found again. */
  keyring_end (keyring);
  assert_state (OTHER, OW_KEY_ABSENT, NULL);
  keyring_start (keyring, TRUE);
  assert_state (OTHER, OW_KEY_KEYRING, "other");
}

static void
test_locked (Keyring       *keyring,
             gconstpointer  data)
{
  keyring_start (keyring, TRUE);
  assert_stored (URL, KEY);
  keyring_lock (keyring);
  assert_state (URL, OW_KEY_LOCKED, NULL);
  assert_state (OTHER, OW_KEY_LOCKED, NULL);
  assert_not_stored (URL, "new", OW_ERROR_REFUSED, "The keyring is locked: unlock it");
  assert_not_stored (OTHER, "new", OW_ERROR_REFUSED, "The keyring is locked: unlock it");
  assert_not_stored (URL, NULL, OW_ERROR_REFUSED, "Cannot remove the key: The keyring is locked");

  /* And one that nobody has unlocked since it was started. */
  keyring_end (keyring);
  keyring_start (keyring, FALSE);
  assert_state (URL, OW_KEY_LOCKED, NULL);
  keyring_end (keyring);
  keyring_start (keyring, TRUE);
  assert_state (URL, OW_KEY_KEYRING, KEY);
}

/* No keyring has been made yet: nothing to find, and no window to make one. */
static void
test_no_collection (Keyring       *keyring,
                    gconstpointer  data)
{
  keyring_start (keyring, FALSE);
  assert_state (URL, OW_KEY_NONE, NULL);
  assert_stored (URL, NULL);
  assert_not_stored (URL, KEY, OW_ERROR_REFUSED, "Cannot store the key: This session has no keyring");
}

/* The loop goes on at its pace while a keyring says nothing, and the lookup ends. */
static void
assert_silent (void)
{
  g_auto (Result) first = { 0 };
  g_auto (Result) second = { 0 };
  g_auto (Result) stored = { 0 };

  ow_keys_lookup_async (OTHER, NULL, on_looked_up, &second);
  ow_keys_store_async (URL, "label", KEY, NULL, on_stored, &stored);
  look_up (URL, &first);
  g_assert_cmpint (first.state, ==, OW_KEY_SILENT);
  g_assert_null (first.key);
  g_assert_cmpfloat (first.seconds, >, 4);
  /* GDBus would go on until 25 s. */
  g_assert_cmpfloat (first.seconds, <, 20);
  /* 250 in 5 s where nothing else runs. */
  g_assert_cmpuint (first.ticks, >, 25);
  wait_for (&second);
  wait_for (&stored);
  g_assert_cmpint (second.state, ==, OW_KEY_SILENT);
  g_assert_error (stored.error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (stored.error->message, "did not answer within 5 s"));
}

static void
test_silent (Keyring       *keyring,
             gconstpointer  data)
{
  keyring_start (keyring, TRUE);
  assert_stored (URL, KEY);
  keyring_signal (keyring, SIGSTOP);
  assert_silent ();
  keyring_signal (keyring, SIGCONT);
  assert_state (URL, OW_KEY_KEYRING, KEY);
}

static void
test_swallows (Keyring       *keyring,
               gconstpointer  data)
{
  keyring_fake (keyring, FAKE_SILENT, NULL);
  assert_silent ();
  g_assert_cmpint (keyring->calls, >, 0);
}

static int
listen_at (const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_strlcpy (address.sun_path, path, sizeof address.sun_path);
  g_assert_cmpint (bind (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
  g_assert_cmpint (listen (fd, 8), ==, 0);
  return fd;
}

/* A bus that takes connections and says nothing. */
static void
test_silent_bus (Keyring       *keyring,
                 gconstpointer  data)
{
  g_autofree char *path = g_build_filename (keyring->dir, "s", NULL);
  g_autofree char *address = g_strconcat ("unix:path=", path, NULL);
  int fd = listen_at (path);

  g_setenv ("DBUS_SESSION_BUS_ADDRESS", address, TRUE);
  assert_silent ();
  close (fd);
}

/* None of these is a keyring, and none is waited for or started. */
static void
test_absent (Keyring       *keyring,
             gconstpointer  data)
{
  static const char * const addresses[] = {
    "", "autolaunch:", "unix:path=/nonexistent;autolaunch:", "unixexec:path=/bin/sleep,argv1=60",
    "unix:path=/nonexistent/bus", "unix:path=/", "nonsense", "unix:", ";;;", "tcp:host=127.0.0.1,port=1",
  };
  g_autofree char *runtime_bus = g_build_filename (keyring->dir, "bus", NULL);
  g_autofree char *display = g_strdup (g_getenv ("DISPLAY"));
  int fd;

  assert_state (URL, OW_KEY_ABSENT, NULL);
  assert_not_stored (URL, KEY, OW_ERROR_REFUSED, "This session has no keyring");
  assert_not_stored (URL, NULL, OW_ERROR_REFUSED, "Cannot remove the key: This session has no keyring");
  for (gsize i = 0; i < G_N_ELEMENTS (addresses); i++)
    {
      g_test_message ("%s", addresses[i]);
      g_setenv ("DBUS_SESSION_BUS_ADDRESS", addresses[i], TRUE);
      assert_state (URL, OW_KEY_ABSENT, NULL);
    }

  /* Without an address it is the one in the runtime directory, or none. */
  g_unsetenv ("DBUS_SESSION_BUS_ADDRESS");
  g_setenv ("DISPLAY", ":0", TRUE);
  g_unsetenv ("XDG_RUNTIME_DIR");
  assert_state (URL, OW_KEY_ABSENT, NULL);
  g_setenv ("XDG_RUNTIME_DIR", keyring->dir, TRUE);
  assert_state (URL, OW_KEY_ABSENT, NULL);
  g_assert_true (g_file_set_contents (runtime_bus, "", 0, NULL));
  assert_state (URL, OW_KEY_ABSENT, NULL);
  g_assert_cmpint (g_unlink (runtime_bus), ==, 0);
  fd = listen_at (runtime_bus);
  close (fd);
  assert_state (URL, OW_KEY_ABSENT, NULL);
  g_assert_cmpint (g_unlink (runtime_bus), ==, 0);
  if (display != NULL)
    g_setenv ("DISPLAY", display, TRUE);
  else
    g_unsetenv ("DISPLAY");
}

static void
test_runtime_bus (Keyring       *keyring,
                  gconstpointer  data)
{
  g_autofree char *runtime_bus = g_build_filename (keyring->dir, "bus", NULL);
  const char *path = strstr (keyring->address, "path=") + strlen ("path=");
  g_autofree char *socket_path = g_strndup (path, strcspn (path, ","));

  keyring_start (keyring, TRUE);
  assert_stored (URL, KEY);
  g_assert_cmpint (symlink (socket_path, runtime_bus), ==, 0);
  g_unsetenv ("DBUS_SESSION_BUS_ADDRESS");
  g_setenv ("XDG_RUNTIME_DIR", keyring->dir, TRUE);
  assert_state (URL, OW_KEY_KEYRING, KEY);
  g_unsetenv ("XDG_RUNTIME_DIR");
}

/* Nothing asks a person anything, whatever the service wants. */
static void
test_prompts (Keyring       *keyring,
              gconstpointer  data)
{
  keyring_fake (keyring, FAKE_PROMPTS, NULL);
  assert_state (URL, OW_KEY_NONE, NULL);
  assert_not_stored (URL, KEY, OW_ERROR_REFUSED, "The keyring is locked");
  g_assert_cmpint (keyring->calls, >, 0);
  g_assert_cmpint (keyring->asked, ==, 0);

  keyring_fake (keyring, FAKE_LOCKED, NULL);
  assert_state (URL, OW_KEY_LOCKED, NULL);
  assert_not_stored (URL, NULL, OW_ERROR_REFUSED, "The keyring is locked");
  assert_not_stored (URL, KEY, OW_ERROR_REFUSED, "The keyring is locked");
  g_assert_cmpint (keyring->calls, >, 0);
  g_assert_cmpint (keyring->asked, ==, 0);

  /* One that wants a password before it deletes. */
  keyring_fake (keyring, FAKE_SECRET, NULL);
  assert_not_stored (URL, NULL, OW_ERROR_REFUSED, "The keyring is locked");
  g_assert_cmpint (keyring->asked, ==, 0);
}

static void
test_hostile (Keyring       *keyring,
              gconstpointer  data)
{
  g_autofree char *big = g_strnfill (8193, 'k');
  const struct {
    const char *secret;
    gssize      length;
    const char *key;  /* NULL: none */
  } rows[] = {
    { KEY, -1, KEY }, { KEY "\n", -1, KEY }, { KEY "\r\n", -1, KEY },
    { KEY "\r\nX-Other: 1", -1, NULL }, { "a\nb", -1, NULL }, { "a b", -1, NULL }, { "", 0, NULL },
    { "\n", 1, NULL }, { "k\0y", 3, NULL }, { "\0", 1, NULL }, { "k\xc3\xa9y", -1, NULL },
    { "k\xff", -1, NULL }, { "k\x7f", -1, NULL }, { "k\ty", -1, NULL }, { big, -1, NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      gsize length = rows[i].length < 0 ? strlen (rows[i].secret) : (gsize) rows[i].length;
      g_autoptr (GBytes) secret = g_bytes_new (rows[i].secret, length);

      g_test_message ("row %u", (guint) i);
      keyring_fake (keyring, FAKE_SECRET, secret);
      assert_state (URL, rows[i].key != NULL ? OW_KEY_KEYRING : OW_KEY_NONE, rows[i].key);
    }

  keyring_fake (keyring, FAKE_SECRET, NULL);
  assert_state (URL, OW_KEY_ABSENT, NULL);
  keyring_fake (keyring, FAKE_WRONG_TYPES, NULL);
  assert_state (URL, OW_KEY_ABSENT, NULL);
  assert_not_stored (URL, KEY, OW_ERROR_REFUSED, "no keyring");
  keyring_fake (keyring, FAKE_ERRORS, NULL);
  assert_state (URL, OW_KEY_ABSENT, NULL);
  assert_not_stored (URL, KEY, OW_ERROR_REFUSED, "no keyring");
  g_assert_cmpint (keyring->calls, >, 0);
}

static void
test_bad_keys (Keyring       *keyring,
               gconstpointer  data)
{
  g_autofree char *big = g_strnfill (8193, 'k');
  const char * const keys[] = {
    "", " ", "a b", "a\n", "\na", "a\r\nX: y", "a\t", "k\xc3\xa9y", "k\x7f", "\x01", big,
  };

  keyring_start (keyring, TRUE);
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    assert_not_stored (URL, keys[i], OW_ERROR_USAGE, "This cannot be a key");
  assert_not_stored ("ftp://a", KEY, OW_ERROR_USAGE, "http:// or https://");
  assert_not_stored ("http://u:p@a", KEY, OW_ERROR_USAGE, "keyring");
  assert_state (URL, OW_KEY_NONE, NULL);
  assert_state ("ftp://a", OW_KEY_NONE, NULL);
}

static gboolean
cancel (gpointer cancellable)
{
  g_cancellable_cancel (cancellable);
  return G_SOURCE_REMOVE;
}

static void
test_cancelled (Keyring       *keyring,
                gconstpointer  data)
{
  g_autoptr (GCancellable) early = g_cancellable_new ();

  keyring_fake (keyring, FAKE_SILENT, NULL);
  for (guint ms = 0; ms <= 200; ms += 50)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_auto (Result) result = { 0 };
      g_auto (Result) stored = { 0 };

      g_timeout_add (ms, cancel, cancellable);
      ow_keys_lookup_async (URL, cancellable, on_looked_up, &result);
      ow_keys_store_async (URL, "label", KEY, cancellable, on_stored, &stored);
      wait_for (&result);
      wait_for (&stored);
      g_assert_error (result.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_assert_error (stored.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_assert_null (result.key);
      g_assert_cmpfloat (result.seconds, <, 4);
    }

  {
    g_auto (Result) result = { 0 };

    g_cancellable_cancel (early);
    ow_keys_lookup_async (URL, early, on_looked_up, &result);
    wait_for (&result);
    g_assert_error (result.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  }
}

static gpointer
run_in_thread (gpointer data)
{
  g_autoptr (GMainContext) context = g_main_context_new ();

  g_main_context_push_thread_default (context);
  assert_stored (URL, KEY);
  assert_state (URL, OW_KEY_KEYRING, KEY);
  assert_state (OTHER, OW_KEY_NONE, NULL);
  assert_stored (URL, NULL);
  assert_state (URL, OW_KEY_NONE, NULL);
  g_main_context_pop_thread_default (context);

  return NULL;
}

/* In a thread with a loop of its own, while nobody turns the program's. */
static void
test_thread (Keyring       *keyring,
             gconstpointer  data)
{
  keyring_start (keyring, TRUE);
  g_thread_join (g_thread_new ("engine", run_in_thread, NULL));
}

/* The end of the session's bus is not the end of the program. */
static void
test_bus_ends (Keyring       *keyring,
               gconstpointer  data)
{
  g_auto (Result) result = { 0 };

  keyring_start (keyring, TRUE);
  assert_stored (URL, KEY);
  keyring_signal (keyring, SIGSTOP);
  ow_keys_lookup_async (URL, NULL, on_looked_up, &result);
  for (guint i = 0; i < 20; i++)
    {
      g_main_context_iteration (NULL, FALSE);
      g_usleep (10000);
    }
  g_subprocess_force_exit (keyring->bus);
  wait_for (&result);
  g_assert_cmpint (result.state, ==, OW_KEY_ABSENT);
  assert_state (URL, OW_KEY_ABSENT, NULL);
}

/* Nothing of a key is left in memory once it was stored, or was asked for and given back. */
static void
test_memory (Keyring       *keyring,
             gconstpointer  data)
{
  g_autofree char *random = g_uuid_string_random ();
  g_autofree char *veiled = g_strdup (random);
  g_auto (Result) stored = { 0 };
  Result found = { 0 };

  memory_search_veil (veiled);
  keyring_start (keyring, TRUE);
  g_assert_cmpuint (memory_search_count (veiled), ==, 1);
  store (URL, random, &stored);
  g_assert_true (stored.ok);
  explicit_bzero (random, strlen (random));
  g_assert_cmpuint (memory_search_count (veiled), ==, 0);

  look_up (URL, &found);
  g_assert_cmpint (found.state, ==, OW_KEY_KEYRING);
  g_assert_cmpuint (memory_search_count (veiled), ==, 1);
  g_assert_true (memory_search_is_not_dumped (found.key));
  ow_keys_free (found.key);
  g_assert_cmpuint (memory_search_count (veiled), ==, 0);
}

#define ADD(path, func) \
  g_test_add (path, Keyring, NULL, keyring_set_up, func, keyring_tear_down)

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  ADD ("/keys/kept", test_kept);
  ADD ("/keys/U09/locked", test_locked);
  ADD ("/keys/U09/no-collection", test_no_collection);
  ADD ("/keys/U09/silent", test_silent);
  ADD ("/keys/U09/swallows", test_swallows);
  ADD ("/keys/U09/silent-bus", test_silent_bus);
  ADD ("/keys/U09/absent", test_absent);
  ADD ("/keys/U09/prompts", test_prompts);
  ADD ("/keys/U09/hostile", test_hostile);
  ADD ("/keys/U09/cancelled", test_cancelled);
  ADD ("/keys/U09/thread", test_thread);
  ADD ("/keys/U09/bus-ends", test_bus_ends);
  ADD ("/keys/runtime-bus", test_runtime_bus);
  ADD ("/keys/bad-keys", test_bad_keys);
  ADD ("/keys/S22/memory", test_memory);

  return g_test_run ();
}
