/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-bubblewrap-prepare-private.h"

#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ow-bubblewrap-args-private.h"
#include "ow-ca-environment-private.h"
#include "ow-sandbox-limits-private.h"
#include "ow-seccomp-private.h"

static char *
get_user_name (uid_t uid)
{
  g_autofree char *buffer = g_malloc (16384);
  struct passwd *found = NULL;
  struct passwd entry;

  if (getpwuid_r (uid, &entry, buffer, 16384, &found) != 0 || found == NULL)
    return g_strdup (ow_bubblewrap_args_user (NULL));
  return g_strdup (ow_bubblewrap_args_user (found->pw_name));
}

/* What /proc tells of the whole machine: whose keys there are, what the kernel has where, its
 * messages. Engines of containers hide the same; bwrap needs each to be there. */
static char **
find_masked (void)
{
  static const char * const files[] = {
    "/proc/kcore", "/proc/key-users", "/proc/keys", "/proc/kmsg", "/proc/kpagecgroup",
    "/proc/kpagecount", "/proc/kpageflags", "/proc/latency_stats", "/proc/pagetypeinfo",
    "/proc/sched_debug", "/proc/slabinfo", "/proc/sysrq-trigger", "/proc/timer_list",
    "/proc/timer_stats", "/proc/vmallocinfo",
  };
  g_autoptr (GStrvBuilder) found = g_strv_builder_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
    if (access (files[i], F_OK) == 0)
      g_strv_builder_add (found, files[i]);
  return g_strv_builder_end (found);
}

static int
hand_text (OwBubblewrapLaunch *launch,
           const char         *text,
           GError            **error)
{
  return ow_bubblewrap_launch_hand_data (launch, text, strlen (text), error);
}

static gboolean
hand_system (OwBubblewrapLaunch *launch,
             OwBubblewrapArgs   *args,
             gid_t               gid,
             GError            **error)
{
  g_autofree char *passwd = ow_bubblewrap_args_passwd (args->uid, gid, args->user,
                                                       args->plan != NULL ? args->plan->home
                                                                          : "/tmp");
  g_autofree char *group = ow_bubblewrap_args_group (gid, args->user);
  int filter = ow_seccomp_make_filter (error);

  if (filter < 0)
    return FALSE;
  args->fds.seccomp = ow_bubblewrap_launch_hand_fd (launch, filter, error);
  close (filter);
  return args->fds.seccomp >= 0 &&
         (args->fds.passwd = hand_text (launch, passwd, error)) >= 0 &&
         (args->fds.group = hand_text (launch, group, error)) >= 0 &&
         (args->fds.nsswitch = hand_text (launch, "passwd: files\ngroup: files\nhosts: files dns\n",
                                          error)) >= 0 &&
         (args->fds.hosts = hand_text (launch, "127.0.0.1 localhost openworker\n::1 localhost\n",
                                       error)) >= 0 &&
         (args->fds.resolv = hand_text (launch, "", error)) >= 0;
}

/* Checks each folder once more, by its descriptor, at the last moment before it is handed on. */
static gboolean
hand_plan (OwBubblewrapLaunch *launch,
           OwBubblewrapArgs   *args,
           int                *folder_fds,
           int                *program_fds,
           GError            **error)
{
  const OwSandboxPlan *plan = args->plan;

  for (guint i = 0; i < plan->folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (plan->folders, i);

      if (!ow_folder_check (folder, error))
        return FALSE;
      folder_fds[i] = ow_bubblewrap_launch_hand_place (launch, folder->fd, error);
      if (folder_fds[i] < 0)
        return FALSE;
    }
  args->fds.folders = folder_fds;
  for (guint i = 0; plan->programs != NULL && i < plan->programs->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (plan->programs, i);

      program_fds[i] = ow_bubblewrap_launch_hand_place (launch, folder->fd, error);
      if (program_fds[i] < 0)
        return FALSE;
    }
  args->fds.programs = program_fds;
  return (args->fds.home = ow_bubblewrap_launch_hand_path (launch, plan->home, error)) >= 0 &&
         (plan->undo == NULL ||
          (args->fds.undo = ow_bubblewrap_launch_hand_path (launch, plan->undo, error)) >= 0) &&
         (args->fds.run_dir = ow_bubblewrap_launch_hand_path (launch, plan->run_dir, error)) >= 0 &&
         (args->fds.runner = ow_bubblewrap_launch_hand_path (launch, plan->runner, error)) >= 0;
}

static gboolean
hand_hold (OwBubblewrapLaunch *launch,
           OwBubblewrapArgs   *args,
           OwBubblewrapHold   *hold,
           GError            **error)
{
  args->fds.info = ow_bubblewrap_launch_hand_fd (launch, ow_bubblewrap_hold_get_info (hold), error);
  if (args->fds.info < 0)
    return FALSE;
  args->fds.block = ow_bubblewrap_launch_hand_fd (launch, ow_bubblewrap_hold_get_block (hold),
                                                  error);
  return args->fds.block >= 0;
}

/* @options with the variables by which programs find this machine's own authorities. */
static char **
make_options (const OwBubblewrapArgs *args)
{
  g_auto (GStrv) options = ow_bubblewrap_args_options (args);
  g_auto (GStrv) environment = g_get_environ ();
  g_auto (GStrv) picked = ow_ca_environment_pick ((const char * const *) environment);
  g_autoptr (GStrvBuilder) all = g_strv_builder_new ();

  g_strv_builder_addv (all, (const char **) options);
  for (guint i = 0; picked[i] != NULL; i += 2)
    g_strv_builder_add_many (all, "--setenv", picked[i], picked[i + 1], NULL);
  return g_strv_builder_end (all);
}

char **
ow_bubblewrap_prepare (const char          *program,
                       const OwSandboxPlan *plan,
                       OwBubblewrapHold    *hold,
                       gboolean             disable_userns,
                       OwBubblewrapLaunch **launch_out,
                       GError             **error)
{
  uid_t uid = plan != NULL ? plan->uid : geteuid ();
  gid_t gid = plan != NULL ? plan->gid : getegid ();
  g_autofree char *user = get_user_name (uid);
  g_autofree int *folder_fds = plan != NULL ? g_new0 (int, plan->folders->len) : NULL;
  guint n_programs = plan != NULL && plan->programs != NULL ? plan->programs->len : 0;
  g_autofree int *program_fds = g_new0 (int, n_programs + 1);
  g_autoptr (OwBubblewrapLaunch) launch = ow_bubblewrap_launch_new (uid, gid);
  g_autoptr (GBytes) packed = NULL;
  g_auto (GStrv) options = NULL;
  g_auto (GStrv) targets = g_new0 (char *, OW_WALL_LINKS);
  OwWallLink links[OW_WALL_LINKS] = { 0 };
  g_auto (GStrv) masked = find_masked ();
  OwBubblewrapArgs args = {
    .program = program, .plan = hold != NULL ? plan : NULL, .uid = uid, .user = user,
    .disable_userns = disable_userns, .links = links,
    .masked = (const char * const *) masked,
    .max_processes = ow_sandbox_limits_max_processes (uid),
  };

  args.n_links = ow_wall_view_read_links (links, targets);
  if (!hand_system (launch, &args, gid, error) ||
      (hold != NULL && (!hand_plan (launch, &args, folder_fds, program_fds, error) ||
                        !hand_hold (launch, &args, hold, error))))
    return NULL;
  options = make_options (&args);
  packed = ow_bubblewrap_args_pack (options);
  args.fds.args = ow_bubblewrap_launch_hand_data (launch, g_bytes_get_data (packed, NULL),
                                                  g_bytes_get_size (packed), error);
  if (args.fds.args < 0)
    return NULL;
  *launch_out = g_steal_pointer (&launch);
  return ow_bubblewrap_args_argv (&args);
}
