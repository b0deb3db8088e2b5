/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-bubblewrap-args-private.h"

#include <string.h>

#define PROXY_URL  "http://127.0.0.1:3128"
#define PROXY_PORT "3128"
#define LEASE      "600"
#define LOCAL      "localhost,127.0.0.1,::1"

static void
add (GPtrArray  *out,
     const char *first,
     ...) G_GNUC_NULL_TERMINATED;

static void
add (GPtrArray  *out,
     const char *first,
     ...)
{
  va_list list;

  va_start (list, first);
  for (const char *text = first; text != NULL; text = va_arg (list, const char *))
    g_ptr_array_add (out, g_strdup (text));
  va_end (list);
}

static void
add_fd (GPtrArray  *out,
        const char *option,
        int         fd,
        const char *to)
{
  g_ptr_array_add (out, g_strdup (option));
  g_ptr_array_add (out, g_strdup_printf ("%d", fd));
  if (to != NULL)
    g_ptr_array_add (out, g_strdup (to));
}

static void
add_namespaces (GPtrArray              *out,
                const OwBubblewrapArgs *args)
{
  add (out, "--unshare-all", "--unshare-user", NULL);
  if (args->disable_userns)
    add (out, "--disable-userns", NULL);
  add (out, "--cap-drop", "ALL", "--new-session", "--die-with-parent", "--hostname",
       "openworker", NULL);
  add_fd (out, "--seccomp", args->fds.seccomp, NULL);
}

static void
add_environment (GPtrArray              *out,
                 const OwBubblewrapArgs *args)
{
  static const char * const proxy_names[] = {
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
  };

  add (out, "--clearenv",
       "--setenv", "HOME", args->plan != NULL ? args->plan->home : "/tmp",
       "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin",
       "--setenv", "USER", args->user,
       "--setenv", "LOGNAME", args->user,
       "--setenv", "SHELL", "/bin/bash",
       "--setenv", "LANG", "C.UTF-8",
       "--setenv", "TMPDIR", "/tmp", NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (proxy_names); i++)
    add (out, "--setenv", proxy_names[i], PROXY_URL, NULL);
  /* The loopback of the inside is its own: a server that a command starts there is not
   * a matter for the proxy. */
  add (out, "--setenv", "NO_PROXY", LOCAL, "--setenv", "no_proxy", LOCAL, NULL);
  for (guint i = 0; args->plan != NULL && args->plan->environment != NULL &&
       args->plan->environment[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (args->plan->environment[i], "=", 2);

      add (out, "--setenv", pair[0], pair[1], NULL);
    }
}

/* The descriptor of what the plan hands in at @place, or of a file of the sandbox's own. */
static int
find_fd (const OwBubblewrapArgs *args,
         const OwWallPlace      *place)
{
  const OwBubblewrapFds *fds = &args->fds;

  switch ((int) place->rule)
    {
    case OW_WALL_RULE_SOCKETS:
      return fds->run_dir;
    case OW_WALL_RULE_PROGRAM:
      return fds->programs[place->index];
    case OW_WALL_RULE_FOLDER:
      return fds->folders[place->index];
    case OW_WALL_RULE_HOME:
      return fds->home;
    case OW_WALL_RULE_UNDO:
      return fds->undo;
    case OW_WALL_RULE_RUNNER:
      return fds->runner;
    default:
      break;
    }
  return strcmp (place->path, "/etc/passwd") == 0 ? fds->passwd
         : strcmp (place->path, "/etc/group") == 0 ? fds->group
         : strcmp (place->path, "/etc/nsswitch.conf") == 0 ? fds->nsswitch
         : strcmp (place->path, "/etc/hosts") == 0 ? fds->hosts
         : fds->resolv;
}

static void
add_place (GPtrArray              *out,
           const OwBubblewrapArgs *args,
           const OwWallPlace      *place)
{
  switch (place->kind)
    {
    case OW_WALL_BIND:
      add (out, "--ro-bind", place->path, place->path, NULL);
      break;
    case OW_WALL_BIND_TRY:
      add (out, "--ro-bind-try", place->path, place->path, NULL);
      break;
    case OW_WALL_LINK:
      add (out, "--symlink", place->detail, place->path, NULL);
      break;
    case OW_WALL_DIR:
      add (out, "--perms", place->detail, "--dir", place->path, NULL);
      break;
    case OW_WALL_EMPTY:
      add (out, "--perms", place->detail, "--tmpfs", place->path, NULL);
      break;
    case OW_WALL_FILE:
      add (out, "--perms", "0444", NULL);
      add_fd (out, "--file", find_fd (args, place), place->path);
      break;
    case OW_WALL_PROC:
      add (out, "--proc", place->path, NULL);
      break;
    case OW_WALL_DEV:
      add (out, "--dev", place->path, NULL);
      break;
    case OW_WALL_HANDED:
      add_fd (out, place->read_only ? "--ro-bind-fd" : "--bind-fd", find_fd (args, place),
              place->path);
      break;
    case OW_WALL_WAY:
    case OW_WALL_IMAGE:
    default:
      break;
    }
}

char **
ow_bubblewrap_args_options (const OwBubblewrapArgs *args)
{
  GPtrArray *out = g_ptr_array_new ();
  g_autoptr (GArray) view = ow_wall_view_bubblewrap (args->plan, args->links, args->n_links);

  add_namespaces (out, args);
  add_environment (out, args);
  for (guint i = 0; i < view->len; i++)
    add_place (out, args, &g_array_index (view, OwWallPlace, i));
  /* A device on a mount that has none: it cannot be opened. */
  for (guint i = 0; args->masked != NULL && args->masked[i] != NULL; i++)
    add (out, "--ro-bind", "/dev/null", args->masked[i], NULL);
  if (args->plan != NULL)
    {
      add_fd (out, "--info-fd", args->fds.info, NULL);
      add_fd (out, "--block-fd", args->fds.block, NULL);
      add (out, "--chdir", ((const OwFolder *) args->plan->folders->pdata[0])->path, NULL);
    }
  /* To the kernel uid 0 inside is uid 0 outside where no capability is asked for, and
   * that is how /proc/sys is guarded: only a read-only mount keeps it shut then. */
  if (args->uid == 0)
    add (out, "--remount-ro", "/proc", NULL);
  add (out, "--remount-ro", "/run", "--remount-ro", "/", NULL);
  g_ptr_array_add (out, NULL);
  return (char **) g_ptr_array_free (out, FALSE);
}

GBytes *
ow_bubblewrap_args_pack (char **options)
{
  GByteArray *bytes = g_byte_array_new ();

  for (guint i = 0; options[i] != NULL; i++)
    g_byte_array_append (bytes, (const guint8 *) options[i], (guint) strlen (options[i]) + 1);
  return g_byte_array_free_to_bytes (bytes);
}

static void
add_serve (GPtrArray              *out,
           const OwBubblewrapArgs *args)
{
  const OwSandboxPlan *plan = args->plan;
  g_autoptr (GArray) view = ow_wall_view_bubblewrap (plan, args->links, args->n_links);

  add (out, OW_BUBBLEWRAP_RUNNER, "serve", "--socket", OW_BUBBLEWRAP_RUN "/runner.sock", NULL);
  for (guint i = 0; i < plan->folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (plan->folders, i);

      add (out, folder->read_only ? "--folder-ro" : "--folder", folder->path, NULL);
    }
  add (out, "--landlock", NULL);
  for (guint i = 0; i < view->len; i++)
    {
      const OwWallPlace *place = &g_array_index (view, OwWallPlace, i);
      const char *option = ow_wall_place_landlock (place);

      if (option != NULL && place->rule != OW_WALL_RULE_UNDO)
        add (out, option, place->path, NULL);
    }
  add (out, "--proxy-socket", OW_BUBBLEWRAP_RUN "/proxy.sock", "--proxy-port", PROXY_PORT,
       "--lease", LEASE, NULL);
  if (args->max_processes > 0)
    {
      g_autofree char *most = g_strdup_printf ("%u", args->max_processes);

      add (out, "--max-processes", most, NULL);
    }
  if (plan->undo != NULL)
    add (out, "--undo", plan->undo, NULL);
  if (plan->wrappers != NULL)
    add (out, "--path", plan->wrappers, NULL);
  for (guint i = 0; plan->bins != NULL && i < plan->bins->len; i++)
    add (out, "--path", g_ptr_array_index (plan->bins, i), NULL);
}

char **
ow_bubblewrap_args_argv (const OwBubblewrapArgs *args)
{
  GPtrArray *out = g_ptr_array_new ();

  add (out, args->program != NULL ? args->program : OW_BUBBLEWRAP_PROGRAM, NULL);
  add_fd (out, "--args", args->fds.args, NULL);
  add (out, "--", NULL);
  if (args->plan != NULL)
    add_serve (out, args);
  else
    add (out, "/usr/bin/true", NULL);
  g_ptr_array_add (out, NULL);
  return (char **) g_ptr_array_free (out, FALSE);
}

static gboolean
fits_passwd (const char *text)
{
  for (; *text != '\0'; text++)
    if (*text == ':' || g_ascii_iscntrl (*text))
      return FALSE;
  return TRUE;
}

const char *
ow_bubblewrap_args_user (const char *name)
{
  if (name == NULL || name[0] == '\0' || name[0] == '-' || !fits_passwd (name) ||
      !g_utf8_validate (name, -1, NULL))
    return "user";
  return name;
}

char *
ow_bubblewrap_args_passwd (uid_t       uid,
                           gid_t       gid,
                           const char *user,
                           const char *home)
{
  const char *place = fits_passwd (home) ? home : "/tmp";
  GString *text = g_string_new (NULL);

  if (uid != 0)
    g_string_append (text, "root:x:0:0:root:/:/usr/sbin/nologin\n");
  g_string_append_printf (text, "%s:x:%u:%u::%s:/bin/bash\n", user, uid, gid, place);
  g_string_append (text, "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
  return g_string_free (text, FALSE);
}

char *
ow_bubblewrap_args_group (gid_t       gid,
                          const char *user)
{
  GString *text = g_string_new (NULL);

  if (gid != 0)
    g_string_append (text, "root:x:0:\n");
  g_string_append_printf (text, "%s:x:%u:\n", user, gid);
  g_string_append (text, "nogroup:x:65534:\n");
  return g_string_free (text, FALSE);
}
