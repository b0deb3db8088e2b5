/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* Raises real walls and looks at them from inside. The runner's place is taken by this
 * program itself, which applies no Landlock, so that what holds is held by bubblewrap,
 * the mounts and the filter alone. Needs root for most of it; as another account it tests
 * what that account can. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-owner.h"
#include "ow-bubblewrap-provider-private.h"
#include "ow-ready-process-private.h"
#include "sandbox/ow-sandbox-plan.h"
#include "wall-inside.h"

#define OTHER_UID 54321

typedef struct {
  char *dir;       /* everything is below it */
  char *home;
  char *first;
  uid_t uid;       /* folders' owner */
  gid_t gid;
  int   tcp;
  int   abstract;
  char  name[64];
} Place;

static char *self_path;
/* Everything is below it. HOME is the same for all tests: GLib asks for it once. */
static char *top;

static void
copy_program (const char *from,
              const char *to)
{
  g_autofree char *data = NULL;
  gsize length = 0;

  g_assert_true (g_file_get_contents (from, &data, &length, NULL));
  g_assert_true (g_file_set_contents (to, data, (gssize) length, NULL));
  g_assert_cmpint (chmod (to, 0755), ==, 0);
}

static char *
make_dir (const Place *place,
          const char  *parent,
          const char  *name)
{
  char *path = g_build_filename (parent, name, NULL);

  g_assert_cmpint (mkdir (path, 0755), ==, 0);
  g_assert_cmpint (chown (path, place->uid, place->gid), ==, 0);
  return path;
}

static int
listen_on (struct sockaddr *address,
           socklen_t        length)
{
  int fd = socket (address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int again = socket (address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_assert_cmpint (bind (fd, address, length), ==, 0);
  g_assert_cmpint (listen (fd, 8), ==, 0);
  g_assert_cmpint (getsockname (fd, address, &length), ==, 0);
  /* The control: from outside it answers. */
  g_assert_cmpint (connect (again, address, length), ==, 0);
  close (again);
  return fd;
}

static unsigned int
open_listeners (Place *place)
{
  struct sockaddr_in in = { .sin_family = AF_INET };
  struct sockaddr_un un = { .sun_family = AF_UNIX };

  in.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  place->tcp = listen_on ((struct sockaddr *) &in, sizeof in);
  g_snprintf (place->name, sizeof place->name, "ow-wall-%d-%u", getpid (), g_random_int ());
  memcpy (un.sun_path + 1, place->name, strlen (place->name));
  place->abstract = listen_on ((struct sockaddr *) &un,
                               (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 +
                                            strlen (place->name)));
  return ntohs (in.sin_port);
}

static gid_t
group_of (uid_t uid)
{
  struct passwd *entry = getpwuid (uid);

  return entry != NULL ? entry->pw_gid : uid;
}

static Place *
place_new (uid_t uid)
{
  Place *place = g_new0 (Place, 1);
  g_autofree char *libexec = NULL;
  g_autofree char *runner = NULL;
  g_autofree char *proxy = NULL;
  g_autofree char *canary = NULL;
  g_autofree char *params = NULL;
  g_autofree char *text = NULL;

  place->uid = uid;
  place->gid = geteuid () == 0 ? group_of (uid) : getegid ();
  place->dir = g_build_filename (top, "place", NULL);
  g_assert_cmpint (mkdir (place->dir, 0755), ==, 0);
  place->home = g_build_filename (place->dir, "home", NULL);
  libexec = g_build_filename (place->dir, "libexec", NULL);
  g_assert_cmpint (mkdir (place->home, 0700), ==, 0);
  g_assert_cmpint (mkdir (libexec, 0700), ==, 0);
  place->first = make_dir (place, place->dir, "work of \"mine\"\nand more");
  runner = g_build_filename (libexec, "openworker-runner", NULL);
  proxy = g_build_filename (libexec, "openworker-proxy", NULL);
  copy_program (self_path, runner);
  copy_program (g_getenv ("OW_TEST_PROXY"), proxy);
  canary = g_build_filename (place->home, "canary", NULL);
  g_assert_true (g_file_set_contents (canary, "c", 1, NULL));
  params = g_build_filename (place->first, "params", NULL);
  text = g_strdup_printf ("%u %u %u %u %s %s\n", place->uid, place->gid, open_listeners (place),
                          (unsigned int) getpid (), place->name, canary);
  g_assert_true (g_file_set_contents (params, text, -1, NULL));
  g_assert_cmpint (chmod (params, 0644), ==, 0);

  g_setenv ("OPENWORKER_LIBEXEC", libexec, TRUE);
  g_setenv ("OPENWORKER_API_KEY", "secret", TRUE);
  return place;
}

static void
place_free (Place *place)
{
  g_autoptr (GError) error = NULL;

  close (place->tcp);
  close (place->abstract);
  ow_file_remove_tree (place->dir, &error);
  g_assert_no_error (error);
  g_free (place->dir);
  g_free (place->home);
  g_free (place->first);
  g_free (place);
}

static void
host_free (gpointer data)
{
  g_free (((OwHost *) data)->host);
  g_free (data);
}

static GPtrArray *
make_hosts (void)
{
  GPtrArray *hosts = g_ptr_array_new_with_free_func (host_free);
  OwHost *host = g_new0 (OwHost, 1);

  host->host = g_strdup ("github.com");
  host->port = 443;
  g_ptr_array_add (hosts, host);
  return hosts;
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

typedef struct {
  gboolean           done;
  OwSandboxInstance *instance;
  GError            *error;
} Wait;

static void
on_started (GObject      *object,
            GAsyncResult *result,
            gpointer      user_data)
{
  Wait *wait = user_data;

  wait->instance = ow_sandbox_provider_start_finish (OW_SANDBOX_PROVIDER (object), result,
                                                     &wait->error);
  wait->done = TRUE;
}

static void
on_stopped (GObject      *object,
            GAsyncResult *result,
            gpointer      user_data)
{
  Wait *wait = user_data;

  ow_sandbox_instance_stop_finish (OW_SANDBOX_INSTANCE (object), result, &wait->error);
  wait->done = TRUE;
}

static gboolean
on_tick (gpointer user_data)
{
  return G_SOURCE_CONTINUE;
}

static void
run_until_done (Wait *wait)
{
  gint64 end = g_get_monotonic_time () + 100 * G_USEC_PER_SEC;
  guint tick = g_timeout_add (50, on_tick, NULL);

  while (!wait->done && g_get_monotonic_time () < end)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (tick);
  g_assert_true (wait->done);
  wait->done = FALSE;
}

static void
on_ended (OwSandboxInstance *instance,
          const char        *reason,
          gboolean          *ended)
{
  g_test_message ("ended: %s", reason);
  *ended = TRUE;
}

static char *
read_report (Place    *place,
             gboolean *ended)
{
  g_autofree char *path = g_build_filename (place->first, "report", NULL);
  gint64 end = g_get_monotonic_time () + 100 * G_USEC_PER_SEC;
  g_autofree char *text = NULL;

  while (!*ended && g_get_monotonic_time () < end)
    {
      g_main_context_iteration (NULL, FALSE);
      if (g_file_get_contents (path, &text, NULL, NULL) && strstr (text, "END\n") != NULL)
        return g_steal_pointer (&text);
      g_clear_pointer (&text, g_free);
      g_usleep (5000);
    }
  return NULL;
}

static void
raise_and_look (Place     *place,
                GPtrArray *folders)
{
  g_autoptr (GError) error = NULL;
  OwSandboxPlan *plan = ow_sandbox_plan_new ("test-session", folders, make_hosts (), &error);
  g_autoptr (OwBubblewrapProvider) provider = ow_bubblewrap_provider_new ();
  g_autofree char *home = NULL;
  g_autofree char *run_dir = NULL;
  g_autofree char *report = NULL;
  Wait wait = { 0 };
  gboolean ended = FALSE;
  GPid pid;

  g_assert_no_error (error);
  g_assert_cmpuint (plan->uid, ==, place->uid);
  ow_sandbox_provider_start_async (OW_SANDBOX_PROVIDER (provider), plan, NULL, on_started, &wait);
  run_until_done (&wait);
  g_assert_no_error (wait.error);
  g_signal_connect (wait.instance, "ended", G_CALLBACK (on_ended), &ended);
  report = read_report (place, &ended);
  g_assert_cmpstr (report, ==, "END\n");

  pid = ow_sandbox_instance_get_main_pid (wait.instance);
  g_assert_cmpuint (ow_owner_process_start (pid), >, 0);
  ow_sandbox_instance_stop_async (wait.instance, on_stopped, &wait);
  run_until_done (&wait);
  g_assert_no_error (wait.error);
  g_assert_cmpuint (ow_owner_process_start (pid), ==, 0);
  g_object_unref (wait.instance);

  home = g_strdup (plan->home);
  run_dir = g_strdup (plan->run_dir);
  g_assert_true (g_file_test (home, G_FILE_TEST_IS_DIR));
  ow_sandbox_plan_free (plan);
  g_assert_false (g_file_test (home, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (run_dir, G_FILE_TEST_EXISTS));
}

/* Read-only in read-write and the other way round, named child first. */
static void
look_from_inside (uid_t uid)
{
  Place *place = place_new (uid);
  GPtrArray *folders = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_folder_free);
  g_autofree char *inner = make_dir (place, place->first, "kept");
  g_autofree char *outer = make_dir (place, place->dir, "outer");
  g_autofree char *open_one = make_dir (place, outer, "open");

  add_folder (folders, place->first, "");
  add_folder (folders, inner, ":ro");
  add_folder (folders, open_one, "");
  add_folder (folders, outer, ":ro");
  raise_and_look (place, folders);
  place_free (place);
}

static void
test_own (void)
{
  look_from_inside (geteuid ());
}

static void
test_other (void)
{
  if (geteuid () != 0)
    {
      g_test_skip ("needs root");
      return;
    }
  look_from_inside (OTHER_UID);
}

static void
become_other (gpointer user_data)
{
  if (setresgid (OTHER_UID, OTHER_UID, OTHER_UID) != 0 ||
      setresuid (OTHER_UID, OTHER_UID, OTHER_UID) != 0)
    _exit (99);
}

/* The same program as an ordinary account. */
static void
test_user (void)
{
  g_autofree char *dir = NULL;
  g_autofree char *program = NULL;
  g_autofree char *proxy = NULL;
  g_autofree char *output = NULL;
  g_autofree char *errors = NULL;
  g_auto (GStrv) environment = g_get_environ ();
  g_autoptr (GError) error = NULL;
  char *argv[] = { NULL, (char *) "-p", (char *) "/wall/S23/own", NULL };
  int status = 0;

  if (geteuid () != 0)
    {
      g_test_skip ("needs root to become an ordinary account");
      return;
    }
  dir = g_dir_make_tmp ("ow-wall-XXXXXX", NULL);
  g_assert_cmpint (chmod (dir, 0755), ==, 0);
  program = g_build_filename (dir, "test-wall", NULL);
  copy_program (self_path, program);
  /* The build may lie where only root can go. */
  proxy = g_build_filename (dir, "proxy", NULL);
  copy_program (g_getenv ("OW_TEST_PROXY"), proxy);
  environment = g_environ_setenv (environment, "OW_TEST_PROXY", proxy, TRUE);
  argv[0] = program;
  g_assert_true (g_spawn_sync ("/", argv, environment, G_SPAWN_DEFAULT, become_other, NULL, &output,
                               &errors, &status, &error));
  g_assert_no_error (error);
  if (status != 0)
    g_test_message ("%s\n%s", output, errors);
  g_assert_cmpint (status, ==, 0);
  g_assert_nonnull (strstr (output, "ok 1 /wall/S23/own"));
  g_assert_true (ow_file_remove_tree (dir, NULL));
}

/* Of those of the machine's authorities one goes inside, and no machine's own. */
static void
set_authorities (void)
{
  g_auto (GStrv) names = g_listenv ();

  for (gsize i = 0; names[i] != NULL; i++)
    if (g_str_has_prefix (g_getenv (names[i]), "/etc/"))
      g_unsetenv (names[i]);
  g_setenv ("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt", TRUE);
  g_setenv ("SSL_CERT_DIR", "/etc/ssl/private", TRUE);
}

int
main (int    argc,
      char **argv)
{
  g_autofree char *home = NULL;
  int status;

  if (argc > 1 && strcmp (argv[1], "serve") == 0)
    return wall_inside_main (argc, argv);
  self_path = g_file_read_link ("/proc/self/exe", NULL);
  top = g_dir_make_tmp ("ow-wall-XXXXXX", NULL);
  chmod (top, 0755);
  home = g_build_filename (top, "place", "home", NULL);
  g_setenv ("HOME", home, TRUE);
  g_unsetenv ("XDG_RUNTIME_DIR");
  g_unsetenv ("XDG_CONFIG_HOME");
  g_unsetenv ("XDG_STATE_HOME");
  g_unsetenv ("XDG_DATA_HOME");
  set_authorities ();
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/wall/S23/own", test_own);
  g_test_add_func ("/wall/S23/other", test_other);
  g_test_add_func ("/wall/S23/user", test_user);
  status = g_test_run ();
  ow_file_remove_tree (top, NULL);
  g_free (top);
  return status;
}
