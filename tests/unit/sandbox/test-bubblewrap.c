/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "base/ow-error.h"
#include "ow-bubblewrap-args-private.h"
#include "ow-bubblewrap-explain-private.h"
#include "ow-direct-provider-private.h"
#include "ow-landlock-check-private.h"

static const OwWallLink links[] = {
  { "/bin", "usr/bin" }, { "/lib64", "usr/lib64" }, { "/libx32", NULL },
};

static OwFolder folders[] = {
  { .path = (char *) "/srv/b/inner", .read_only = FALSE },
  { .path = (char *) "/srv/b", .read_only = TRUE },
  { .path = (char *) "/srv/a\n\"x\" y", .read_only = FALSE },
};

static const int folder_fds[] = { 30, 31, 32 };

static OwSandboxPlan plan = {
  .id = (char *) "0123456789ab", .session = (char *) "s",
  .home = (char *) "/home/ann/.config/coworker/sandbox-runtime/0123456789ab",
  .undo = (char *) "/home/ann/.local/share/coworker/sessions/s/undo",
  .run_dir = (char *) "/run/user/1000/coworker/0123456789ab",
  .runner = (char *) "/usr/libexec/openworker/openworker-runner",
};

static OwBubblewrapArgs
make_args (uid_t uid)
{
  OwBubblewrapArgs args = {
    .plan = &plan, .uid = uid, .user = "ann", .disable_userns = TRUE, .links = links,
    .n_links = G_N_ELEMENTS (links),
    .fds = { .args = 20, .seccomp = 21, .passwd = 22, .group = 23, .nsswitch = 24, .hosts = 25,
             .resolv = 26, .home = 27, .run_dir = 28, .runner = 29, .folders = folder_fds,
             .undo = 19, .info = 17, .block = 16 },
  };

  return args;
}

static char *
options_text (const OwBubblewrapArgs *args)
{
  g_auto (GStrv) options = ow_bubblewrap_args_options (args);

  return g_strjoinv ("|", options);
}

/* Read, not recorded: each line was weighed when it was written. */
static const char expected_start[] =
  "--unshare-all|--unshare-user|--disable-userns|--cap-drop|ALL|--new-session|--die-with-parent|"
  "--hostname|openworker|--seccomp|21|--clearenv|"
  "--setenv|HOME|/home/ann/.config/coworker/sandbox-runtime/0123456789ab|"
  "--setenv|PATH|/usr/local/bin:/usr/bin:/bin|--setenv|USER|ann|--setenv|LOGNAME|ann|"
  "--setenv|SHELL|/bin/bash|--setenv|LANG|C.UTF-8|--setenv|TMPDIR|/tmp|"
  "--setenv|HTTP_PROXY|http://127.0.0.1:3128|--setenv|HTTPS_PROXY|http://127.0.0.1:3128|"
  "--setenv|ALL_PROXY|http://127.0.0.1:3128|--setenv|http_proxy|http://127.0.0.1:3128|"
  "--setenv|https_proxy|http://127.0.0.1:3128|--setenv|all_proxy|http://127.0.0.1:3128|"
  "--setenv|NO_PROXY|localhost,127.0.0.1,::1|--setenv|no_proxy|localhost,127.0.0.1,::1|"
  "--ro-bind|/usr|/usr|--symlink|usr/bin|/bin|--symlink|usr/lib64|/lib64|"
  "--ro-bind|/libx32|/libx32|--perms|0755|--dir|/etc|";

static const char expected_end[] =
  "|--perms|0444|--file|22|/etc/passwd|--perms|0444|--file|23|/etc/group|"
  "--perms|0444|--file|24|/etc/nsswitch.conf|--perms|0444|--file|25|/etc/hosts|"
  "--perms|0444|--file|26|/etc/resolv.conf|"
  "--proc|/proc|--dev|/dev|--perms|1777|--tmpfs|/tmp|--perms|0755|--dir|/var|"
  "--perms|1777|--tmpfs|/var/tmp|--perms|0755|--tmpfs|/run|--bind-fd|28|/run/ow|"
  "--bind-fd|32|/srv/a\n\"x\" y|--ro-bind-fd|31|/srv/b|--bind-fd|30|/srv/b/inner|"
  "--bind-fd|27|/home/ann/.config/coworker/sandbox-runtime/0123456789ab|"
  "--bind-fd|19|/home/ann/.local/share/coworker/sessions/s/undo|"
  "--ro-bind-fd|29|/opt/openworker/openworker-runner|--info-fd|17|--block-fd|16|"
  "--chdir|/srv/b/inner|";

static void
test_options (void)
{
  OwBubblewrapArgs args = make_args (1000);
  g_autofree char *text = options_text (&args);
  g_autofree char *end = g_strconcat (expected_end, "--remount-ro|/run|--remount-ro|/", NULL);
  const char *middle;
  g_auto (GStrv) words = NULL;

  g_assert_true (g_str_has_prefix (text, expected_start));
  g_assert_true (g_str_has_suffix (text, end));
  /* Between them only single names of /etc, read-only, each where it is. */
  text[strlen (text) - strlen (end)] = '\0';
  middle = text + strlen (expected_start);
  words = g_strsplit (middle, "|", -1);
  g_assert_cmpuint (g_strv_length (words) % 3, ==, 0);
  for (guint i = 0; words[i] != NULL; i += 3)
    {
      g_assert_cmpstr (words[i], ==, "--ro-bind-try");
      g_assert_true (g_str_has_prefix (words[i + 1], "/etc/"));
      g_assert_cmpstr (words[i + 1], ==, words[i + 2]);
      g_assert_cmpstr (words[i + 1], !=, "/etc/ssl");
      g_assert_cmpstr (words[i + 1], !=, "/etc/pki");
      g_assert_null (strstr (words[i + 1], "private"));
      g_assert_null (strstr (words[i + 1], "shadow"));
    }
}

/* REQ-W14: read-only, and before the folders, so that none of these is covered. */
static void
test_programs (void)
{
  static OwFolder shared = { .path = (char *) "/home/ann/.cargo/bin", .read_only = TRUE };
  static const int shared_fds[] = { 40 };
  OwSandboxPlan with = plan;
  OwBubblewrapArgs args = make_args (1000);
  g_autofree char *options = NULL;
  g_autofree char *command = NULL;
  g_auto (GStrv) argv = NULL;
  const char *place;

  with.programs = g_ptr_array_new ();
  with.bins = g_ptr_array_new ();
  g_ptr_array_add (with.programs, &shared);
  g_ptr_array_add (with.bins, shared.path);
  args.plan = &with;
  args.fds.programs = shared_fds;
  options = options_text (&args);
  place = strstr (options, "|--ro-bind-fd|40|/home/ann/.cargo/bin|");
  g_assert_nonnull (place);
  g_assert_true (place < strstr (options, "|--bind-fd|32|"));
  argv = ow_bubblewrap_args_argv (&args);
  command = g_strjoinv ("|", argv);
  g_assert_nonnull (strstr (command, "|--landlock-ro|/home/ann/.cargo/bin|"));
  g_assert_true (g_str_has_suffix (command, "|--path|/home/ann/.cargo/bin"));
  g_ptr_array_unref (with.programs);
  g_ptr_array_unref (with.bins);
}

static void
test_root (void)
{
  OwBubblewrapArgs args = make_args (0);
  g_autofree char *text = options_text (&args);

  g_assert_true (g_str_has_suffix (text, "|--remount-ro|/proc|--remount-ro|/run|--remount-ro|/"));
}

static void
test_argv (void)
{
  OwBubblewrapArgs args = make_args (1000);
  g_auto (GStrv) argv = ow_bubblewrap_args_argv (&args);
  g_autofree char *text = g_strjoinv ("|", argv);

  g_assert_cmpstr (text, ==,
                   "/usr/bin/bwrap|--args|20|--|/opt/openworker/openworker-runner|serve|"
                   "--socket|/run/ow/runner.sock|--folder|/srv/b/inner|--folder-ro|/srv/b|"
                   "--folder|/srv/a\n\"x\" y|--landlock|--landlock-list|/|"
                   "--landlock-ro|/usr|--landlock-ro|/bin|--landlock-ro|/lib64|"
                   "--landlock-ro|/libx32|--landlock-ro|/etc|--landlock-ro|/proc|"
                   "--landlock-rw|/dev|--landlock-rw|/tmp|--landlock-rw|/var/tmp|"
                   "--landlock-own|/run/ow|--landlock-rw|/srv/a\n\"x\" y|"
                   "--landlock-ro|/srv/b|--landlock-rw|/srv/b/inner|"
                   "--landlock-rw|/home/ann/.config/coworker/sandbox-runtime/0123456789ab|"
                   "--landlock-ro|/opt/openworker|--proxy-socket|/run/ow/proxy.sock|"
                   "--proxy-port|3128|"
                   "--lease|600|--undo|/home/ann/.local/share/coworker/sessions/s/undo");
}

static void
test_trial (void)
{
  OwBubblewrapArgs args = make_args (1000);
  g_autofree char *text = NULL;
  g_autofree char *command = NULL;
  g_auto (GStrv) argv = NULL;

  args.plan = NULL;
  args.disable_userns = FALSE;
  text = options_text (&args);
  g_assert_null (strstr (text, "--disable-userns"));
  g_assert_null (strstr (text, "-fd|2"));
  g_assert_nonnull (strstr (text, "--seccomp|21"));
  argv = ow_bubblewrap_args_argv (&args);
  command = g_strjoinv ("|", argv);
  g_assert_cmpstr (command, ==, "/usr/bin/bwrap|--args|20|--|/usr/bin/true");
}

static void
test_pack (void)
{
  const char *options[] = { "a", "", "b\nc", NULL };
  g_autoptr (GBytes) bytes = ow_bubblewrap_args_pack ((char **) options);

  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), "a\0\0b\nc", 7);
}

static void
test_accounts (void)
{
  g_autofree char *user = ow_bubblewrap_args_passwd (1000, 100, "ann", "/home/ann");
  g_autofree char *root = ow_bubblewrap_args_passwd (0, 0, "root", "/root/.config/x");
  g_autofree char *odd = ow_bubblewrap_args_passwd (5, 5, "user", "/home/a:b\nroot::0:0");
  g_autofree char *group = ow_bubblewrap_args_group (100, "ann");

  g_assert_cmpstr (user, ==,
                   "root:x:0:0:root:/:/usr/sbin/nologin\n"
                   "ann:x:1000:100::/home/ann:/bin/bash\n"
                   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
  g_assert_true (g_str_has_prefix (root, "root:x:0:0::/root/.config/x:/bin/bash\nnobody:"));
  g_assert_nonnull (strstr (odd, "\nuser:x:5:5::/tmp:/bin/bash\n"));
  g_assert_cmpstr (group, ==, "root:x:0:\nann:x:100:\nnogroup:x:65534:\n");
  g_assert_cmpstr (ow_bubblewrap_args_user ("CORP\\nina"), ==, "CORP\\nina");
  g_assert_cmpstr (ow_bubblewrap_args_user ("a:b"), ==, "user");
  g_assert_cmpstr (ow_bubblewrap_args_user ("a\nb"), ==, "user");
  g_assert_cmpstr (ow_bubblewrap_args_user ("-x"), ==, "user");
  g_assert_cmpstr (ow_bubblewrap_args_user (NULL), ==, "user");
}

typedef struct {
  const char       *errors;
  OwBubblewrapFacts facts;
  const char       *cause;
  const char       *next;
} Fault;

static const Fault faults[] = {
  { "bwrap: setting up uid map: Permission denied", { -1, 1, 1000, FALSE, FALSE }, "AppArmor",
    "apparmor_parser -r /etc/apparmor.d/openworker-bwrap" },
  { "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", { -1, 1, 1000, FALSE, FALSE },
    "AppArmor", "apparmor_parser" },
  { "bwrap: No permissions to create new namespace, likely because …", { 0, -1, 1000, FALSE, FALSE },
    "unprivileged_userns_clone is 0", "sysctl -w kernel.unprivileged_userns_clone=1" },
  { "bwrap: Creating new namespace failed: No space left on device", { -1, -1, 0, FALSE, FALSE },
    "max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=" },
  { "bwrap: Creating new namespace failed: Operation not permitted", { -1, -1, 1000, TRUE, TRUE },
    "container", "on the host" },
  { "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    { 1, 0, 1000, TRUE, FALSE }, "container", "on the host" },
  { "bwrap: Unknown option --bind-fd", { 1, 0, 1000, FALSE, FALSE }, "too old",
    "apt install --only-upgrade bubblewrap" },
  { "bwrap: something new", { 1, 0, 1000, FALSE, FALSE }, "something new", "/usr/bin/bwrap" },
  { "", { 1, 0, 1000, FALSE, FALSE }, "no reason", "/usr/bin/bwrap" },
};

static void
test_faults (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (faults); i++)
    {
      g_autoptr (GError) error = NULL;

      ow_bubblewrap_explain (&faults[i].facts, faults[i].errors, &error);
      g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
      g_assert_true (g_str_has_prefix (error->message, "Sessions on this machine are refused: "));
      g_assert_nonnull (strstr (error->message, faults[i].cause));
      g_assert_nonnull (strstr (error->message, faults[i].next));
      /* Never the switch that opens it to every program. */
      g_assert_null (strstr (error->message, "apparmor_restrict_unprivileged_userns"));
    }
}

/* The file of data/apparmor, without what is said about it. */
static char *
read_profile (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "../data/apparmor/openworker-bwrap",
                                                 NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  GString *kept = g_string_new (NULL);

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (lines[i][0] != '#' && lines[i][0] != '\0')
      g_string_append_printf (kept, "%s\n", lines[i]);
  return g_string_free (kept, FALSE);
}

/* What a person is told to run writes that profile and loads it: run here without sudo, with
 * another folder and another loader. */
static void
test_profile (void)
{
  g_autofree char *dir = g_dir_make_tmp ("ow-apparmor-XXXXXX", NULL);
  g_autofree char *to = g_strconcat (dir, "/", NULL);
  g_autofree char *file = g_build_filename (dir, "openworker-bwrap", NULL);
  g_autofree char *expected = read_profile ();
  g_autofree char *loaded = NULL;
  g_autofree char *written = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) command = NULL;
  const char *argv[] = { "/bin/sh", "-c", NULL, NULL };
  int status = -1;

  ow_bubblewrap_explain (&faults[0].facts, faults[0].errors, &error);
  command = g_string_new (strstr (error->message, "sudo sh -c '"));
  g_assert_cmpuint (g_string_replace (command, "sudo ", "", 0), ==, 1);
  g_assert_cmpuint (g_string_replace (command, "/etc/apparmor.d/", to, 0), ==, 2);
  g_assert_cmpuint (g_string_replace (command, "apparmor_parser -r", "cat", 0), ==, 1);
  g_assert_true (g_str_has_suffix (command->str, "'") || g_str_has_suffix (command->str, "'."));
  g_string_truncate (command, (gsize) (strrchr (command->str, '\'') - command->str) + 1);
  argv[2] = command->str;
  g_assert_true (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &loaded,
                               NULL, &status, NULL));
  g_assert_cmpint (status, ==, 0);
  g_assert_true (g_file_get_contents (file, &written, NULL, NULL));
  g_assert_cmpstr (written, ==, expected);
  g_assert_cmpstr (loaded, ==, expected);
  g_assert_cmpint (g_remove (file), ==, 0);
  g_assert_cmpint (g_rmdir (dir), ==, 0);
}

/* Whom bwrap runs as counts, and not who starts it: root becomes the folders' owner. */
static void
test_facts (void)
{
  OwBubblewrapFacts facts;

  ow_bubblewrap_explain_read (&facts, 1000);
  g_assert_false (facts.root);
  ow_bubblewrap_explain_read (&facts, 0);
  g_assert_true (facts.root);
}

static void
test_landlock (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (ow_landlock_check_answer (7, 0, &error), ==, 7);
  g_assert_no_error (error);
  g_assert_cmpint (ow_landlock_check_answer (-1, ENOSYS, &error), ==, 0);
  g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "5.13"));
  g_clear_error (&error);
  g_assert_cmpint (ow_landlock_check_answer (-1, EOPNOTSUPP, &error), ==, 0);
  g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "lsm="));
  g_clear_error (&error);
  g_assert_cmpint (ow_landlock_check_answer (-1, EPERM, &error), ==, 0);
  g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "--system-call-filter="));
  g_clear_error (&error);
  g_assert_cmpint (ow_landlock_check_answer (0, 0, &error), ==, 0);
  g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
}

static void
test_direct_environment (void)
{
  static const char * const own[] = {
    "PATH=/bin", "HOME=/home/ann", "OPENWORKER_API_KEY=k", "OPENWORKER_LIBEXEC=/x",
    "OPENWORKER_SANDBOX=ffffffffffff", "A=OPENWORKER_API_KEY", NULL,
  };
  g_auto (GStrv) envp = ow_direct_provider_environment (own, "0123456789ab");
  g_autofree char *text = g_strjoinv ("|", envp);

  g_assert_cmpstr (text, ==, "PATH=/bin|HOME=/home/ann|A=OPENWORKER_API_KEY|"
                   "OPENWORKER_SANDBOX=0123456789ab");
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  plan.folders = g_ptr_array_new ();
  for (gsize i = 0; i < G_N_ELEMENTS (folders); i++)
    g_ptr_array_add (plan.folders, &folders[i]);
  g_test_add_func ("/bubblewrap/options", test_options);
  g_test_add_func ("/bubblewrap/S23/root", test_root);
  g_test_add_func ("/bubblewrap/programs", test_programs);
  g_test_add_func ("/bubblewrap/argv", test_argv);
  g_test_add_func ("/bubblewrap/trial", test_trial);
  g_test_add_func ("/bubblewrap/pack", test_pack);
  g_test_add_func ("/bubblewrap/accounts", test_accounts);
  g_test_add_func ("/bubblewrap/S25/faults", test_faults);
  g_test_add_func ("/bubblewrap/S25/profile", test_profile);
  g_test_add_func ("/bubblewrap/S25/facts", test_facts);
  g_test_add_func ("/landlock-check/answers", test_landlock);
  g_test_add_func ("/direct/environment", test_direct_environment);
  return g_test_run ();
}
