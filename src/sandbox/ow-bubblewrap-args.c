/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-bubblewrap-args-private.h"

#include <string.h>

#define PROXY_URL  "http://127.0.0.1:3128"
#define PROXY_PORT "3128"
#define LEASE      "600"
#define LOCAL      "localhost,127.0.0.1,::1"

/* Of /etc only what programs need to start, to know names and to check certificates.
 * Named one by one: /etc/ssl and /etc/pki hold private keys too, which an inside that
 * is uid 0 could read. */
static const char * const etc_files[] = {
  "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives",
  "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/ca-certificates.conf",
  "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/crypto-policies",
  "/etc/localtime", "/etc/timezone", "/etc/protocols", "/etc/services", "/etc/mime.types",
  "/etc/magic", "/etc/debian_version", "/etc/os-release", "/etc/bash.bashrc", "/etc/profile",
  "/etc/inputrc", "/etc/fonts", "/etc/perl", "/etc/python3",
  /* Without these a program that /usr holds says that it is not set up. */
  "/etc/manpath.config", "/etc/groff", "/etc/shells", "/etc/login.defs", "/etc/host.conf",
  "/etc/gai.conf", "/etc/networks", "/etc/rpc", "/etc/ethertypes", "/etc/terminfo",
  "/etc/locale.alias", "/etc/mailcap", "/etc/lsb-release", "/etc/redhat-release",
  "/etc/ImageMagick-6", "/etc/xml",
  "/etc/sgml", "/etc/dpkg", "/etc/chromium.d", "/etc/ghostscript", "/etc/texmf", "/etc/vulkan",
  "/etc/OpenCL", "/etc/maven/m2.conf", "/etc/java", "/etc/java-8-openjdk",
  "/etc/java-11-openjdk", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk",
};

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
}

static void
add_system (GPtrArray              *out,
            const OwBubblewrapArgs *args)
{
  add (out, "--ro-bind", "/usr", "/usr", NULL);
  for (guint i = 0; i < args->n_links; i++)
    {
      const OwBubblewrapLink *link = &args->links[i];

      if (link->target != NULL)
        add (out, "--symlink", link->target, link->name, NULL);
      else
        add (out, "--ro-bind", link->name, link->name, NULL);
    }
  add (out, "--perms", "0755", "--dir", "/etc", NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (etc_files); i++)
    add (out, "--ro-bind-try", etc_files[i], etc_files[i], NULL);
  add (out, "--perms", "0444", NULL);
  add_fd (out, "--file", args->fds.passwd, "/etc/passwd");
  add (out, "--perms", "0444", NULL);
  add_fd (out, "--file", args->fds.group, "/etc/group");
  add (out, "--perms", "0444", NULL);
  add_fd (out, "--file", args->fds.nsswitch, "/etc/nsswitch.conf");
  add (out, "--perms", "0444", NULL);
  add_fd (out, "--file", args->fds.hosts, "/etc/hosts");
  add (out, "--perms", "0444", NULL);
  add_fd (out, "--file", args->fds.resolv, "/etc/resolv.conf");
  add (out, "--proc", "/proc", "--dev", "/dev",
       "--perms", "1777", "--tmpfs", "/tmp",
       "--perms", "0755", "--dir", "/var",
       "--perms", "1777", "--tmpfs", "/var/tmp",
       "--perms", "0755", "--tmpfs", "/run", NULL);
}

static int
compare_by_path (gconstpointer a,
                 gconstpointer b,
                 gpointer      user_data)
{
  GPtrArray *folders = user_data;
  const OwFolder *first = g_ptr_array_index (folders, *(const guint *) a);
  const OwFolder *second = g_ptr_array_index (folders, *(const guint *) b);

  return strcmp (first->path, second->path);
}

/* A parent's path is the beginning of its child's, so this order mounts parents first
 * and a folder inside another keeps its own mode whichever was named first. */
static void
add_folders (GPtrArray              *out,
             const OwBubblewrapArgs *args)
{
  GPtrArray *folders = args->plan->folders;
  g_autofree guint *order = g_new (guint, folders->len);

  for (guint i = 0; i < folders->len; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint) folders->len, sizeof *order, compare_by_path, folders);
  for (guint i = 0; i < folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (folders, order[i]);

      add_fd (out, folder->read_only ? "--ro-bind-fd" : "--bind-fd", args->fds.folders[order[i]],
              folder->path);
    }
}

static guint
plan_programs (const OwSandboxPlan *plan)
{
  return plan->programs != NULL ? plan->programs->len : 0;
}

char **
ow_bubblewrap_args_options (const OwBubblewrapArgs *args)
{
  GPtrArray *out = g_ptr_array_new ();

  add_namespaces (out, args);
  add_environment (out, args);
  add_system (out, args);
  if (args->plan != NULL)
    {
      const OwFolder *first = g_ptr_array_index (args->plan->folders, 0);

      add_fd (out, "--bind-fd", args->fds.run_dir, OW_BUBBLEWRAP_RUN);
      /* Before the folders: a session's own folder is never covered. */
      for (guint i = 0; plan_programs (args->plan) > i; i++)
        add_fd (out, "--ro-bind-fd", args->fds.programs[i],
                ((const OwFolder *) args->plan->programs->pdata[i])->path);
      add_folders (out, args);
      add_fd (out, "--bind-fd", args->fds.home, args->plan->home);
      if (args->plan->undo != NULL)
        add_fd (out, "--bind-fd", args->fds.undo, args->plan->undo);
      add_fd (out, "--ro-bind-fd", args->fds.runner, OW_BUBBLEWRAP_RUNNER);
      add (out, "--chdir", first->path, NULL);
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

  add (out, OW_BUBBLEWRAP_RUNNER, "serve", "--socket", OW_BUBBLEWRAP_RUN "/runner.sock", NULL);
  for (guint i = 0; i < plan->folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (plan->folders, i);

      add (out, folder->read_only ? "--folder-ro" : "--folder", folder->path, NULL);
    }
  /* The names of what is mounted may be seen everywhere, as "ls /" does: there is nothing
   * here but what the arguments above put there. */
  add (out, "--landlock", "--landlock-list", "/", NULL);
  add (out, "--landlock-ro", "/usr", "--landlock-ro", "/etc", "--landlock-ro", "/proc",
       "--landlock-ro", "/opt/openworker", NULL);
  for (guint i = 0; i < args->n_links; i++)
    add (out, "--landlock-ro", args->links[i].name, NULL);
  for (guint i = 0; i < plan->folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (plan->folders, i);

      add (out, folder->read_only ? "--landlock-ro" : "--landlock-rw", folder->path, NULL);
    }
  add (out, "--landlock-rw", plan->home, "--landlock-rw", "/tmp", "--landlock-rw", "/var/tmp",
       "--landlock-rw", "/dev", "--landlock-own", OW_BUBBLEWRAP_RUN,
       "--proxy-socket", OW_BUBBLEWRAP_RUN "/proxy.sock", "--proxy-port", PROXY_PORT,
       "--lease", LEASE, NULL);
  if (plan->undo != NULL)
    add (out, "--undo", plan->undo, NULL);
  for (guint i = 0; i < plan_programs (plan); i++)
    add (out, "--landlock-ro", ((const OwFolder *) plan->programs->pdata[i])->path, NULL);
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
