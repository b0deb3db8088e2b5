/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-wall-view-private.h"

#include <string.h>
#include <sys/stat.h>

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
  "/etc/ImageMagick-6", "/etc/ImageMagick-7", "/etc/xml",
  /* Where Debian keeps what belongs to a language: which extensions PHP has, where R looks. */
  "/etc/php", "/etc/R", "/etc/mono", "/etc/dotnet", "/etc/octave.conf", "/etc/maven/logging",
  "/etc/ant", "/etc/vim", "/etc/emacs", "/etc/papersize",
  "/etc/sgml", "/etc/dpkg", "/etc/chromium.d", "/etc/ghostscript", "/etc/texmf", "/etc/vulkan",
  "/etc/OpenCL", "/etc/maven/m2.conf", "/etc/java", "/etc/java-8-openjdk",
  "/etc/java-11-openjdk", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk",
};

/* Files of the sandbox's own, in their places. */
static const char * const etc_own[] = {
  "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/resolv.conf",
};

static void
add (GArray      *view,
     OwWallKind   kind,
     OwWallRule   rule,
     const char  *path,
     const char  *detail,
     OwWallRights rights,
     gboolean     read_only)
{
  OwWallPlace place = {
    .kind = kind, .rule = rule, .path = path, .detail = detail, .rights = rights,
    .read_only = read_only,
  };

  g_array_append_val (view, place);
}

static void
add_folder (GArray         *view,
            OwWallRule      rule,
            const OwFolder *folder,
            gboolean        read_only,
            guint           index)
{
  OwWallPlace place = {
    .kind = OW_WALL_HANDED, .rule = rule, .path = folder->path, .detail = folder->path,
    .rights = read_only ? OW_WALL_READ : OW_WALL_WRITE, .read_only = read_only, .index = index,
  };

  g_array_append_val (view, place);
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
add_folders (GArray    *view,
             GPtrArray *folders)
{
  g_autofree guint *order = g_new (guint, folders->len);

  for (guint i = 0; i < folders->len; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint) folders->len, sizeof *order, compare_by_path, folders);
  for (guint i = 0; i < folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (folders, order[i]);

      add_folder (view, OW_WALL_RULE_FOLDER, folder, folder->read_only, order[i]);
    }
}

/* What both walls have of @plan. */
static void
add_plan (GArray              *view,
          const OwSandboxPlan *plan)
{
  /* Before the folders: a session's own folder is never covered. */
  for (guint i = 0; plan->programs != NULL && i < plan->programs->len; i++)
    add_folder (view, OW_WALL_RULE_PROGRAM, g_ptr_array_index (plan->programs, i), TRUE, i);
  add_folders (view, plan->folders);
  add (view, OW_WALL_HANDED, OW_WALL_RULE_HOME, plan->home, plan->home, OW_WALL_WRITE, FALSE);
  if (plan->undo != NULL)
    add (view, OW_WALL_HANDED, OW_WALL_RULE_UNDO, plan->undo, plan->undo, OW_WALL_SERVER, FALSE);
  add (view, OW_WALL_WAY, OW_WALL_RULE_RUNNER, OW_WALL_RUNNER_DIR, NULL, OW_WALL_READ, TRUE);
  add (view, OW_WALL_HANDED, OW_WALL_RULE_RUNNER, OW_WALL_RUNNER, plan->runner, OW_WALL_NOTHING,
       TRUE);
}

GArray *
ow_wall_view_bubblewrap (const OwSandboxPlan *plan,
                         const OwWallLink    *links,
                         guint                n_links)
{
  GArray *view = g_array_new (FALSE, FALSE, sizeof (OwWallPlace));

  /* The names of what is mounted may be seen everywhere, as "ls /" does: there is nothing
   * here but what this list puts there. */
  add (view, OW_WALL_WAY, OW_WALL_RULE_WAY, "/", NULL, OW_WALL_LIST, TRUE);
  add (view, OW_WALL_BIND, OW_WALL_RULE_SYSTEM, "/usr", NULL, OW_WALL_READ, TRUE);
  for (guint i = 0; i < n_links; i++)
    add (view, links[i].target != NULL ? OW_WALL_LINK : OW_WALL_BIND, OW_WALL_RULE_SYSTEM,
         links[i].name, links[i].target, OW_WALL_READ, TRUE);
  add (view, OW_WALL_DIR, OW_WALL_RULE_ETC, "/etc", "0755", OW_WALL_READ, TRUE);
  for (gsize i = 0; i < G_N_ELEMENTS (etc_files); i++)
    add (view, OW_WALL_BIND_TRY, OW_WALL_RULE_ETC, etc_files[i], NULL, OW_WALL_NOTHING, TRUE);
  for (gsize i = 0; i < G_N_ELEMENTS (etc_own); i++)
    add (view, OW_WALL_FILE, OW_WALL_RULE_ETC_OWN, etc_own[i], NULL, OW_WALL_NOTHING, TRUE);
  add (view, OW_WALL_PROC, OW_WALL_RULE_PROC, "/proc", NULL, OW_WALL_READ, FALSE);
  add (view, OW_WALL_DEV, OW_WALL_RULE_DEV, "/dev", NULL, OW_WALL_WRITE, FALSE);
  add (view, OW_WALL_EMPTY, OW_WALL_RULE_TMP, "/tmp", "1777", OW_WALL_WRITE, FALSE);
  add (view, OW_WALL_DIR, OW_WALL_RULE_WAY, "/var", "0755", OW_WALL_NOTHING, TRUE);
  add (view, OW_WALL_EMPTY, OW_WALL_RULE_TMP, "/var/tmp", "1777", OW_WALL_WRITE, FALSE);
  add (view, OW_WALL_EMPTY, OW_WALL_RULE_RUN, "/run", "0755", OW_WALL_NOTHING, TRUE);
  if (plan != NULL)
    {
      add (view, OW_WALL_HANDED, OW_WALL_RULE_SOCKETS, OW_WALL_RUN, plan->run_dir, OW_WALL_SERVER,
           FALSE);
      add_plan (view, plan);
    }
  return view;
}

GArray *
ow_wall_view_openshell (const OwSandboxPlan *plan)
{
  /* What every sandbox may read, and write, besides its own folders. Source:
   * docs/openshell-contract.md, "The policy". */
  static const char * const read_only[] = {
    "/usr", "/lib", "/etc", "/proc", "/dev/urandom", "/var/log", "/sandbox",
  };
  static const char * const read_write[] = { "/tmp", "/dev/null", "/dev/pts" };
  GArray *view = g_array_new (FALSE, FALSE, sizeof (OwWallPlace));

  add (view, OW_WALL_IMAGE, OW_WALL_RULE_IMAGE, "/", NULL, OW_WALL_NOTHING, FALSE);
  for (gsize i = 0; i < G_N_ELEMENTS (read_only); i++)
    add (view, OW_WALL_IMAGE, OW_WALL_RULE_SYSTEM, read_only[i], NULL, OW_WALL_READ, FALSE);
  for (gsize i = 0; i < G_N_ELEMENTS (read_write); i++)
    add (view, OW_WALL_IMAGE, OW_WALL_RULE_TMP, read_write[i], NULL, OW_WALL_WRITE, FALSE);
  if (plan != NULL)
    add_plan (view, plan);
  return view;
}

guint
ow_wall_view_read_links (OwWallLink links[OW_WALL_LINKS],
                         char      *targets[OW_WALL_LINKS])
{
  static const char * const names[] = { "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };
  guint n = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      struct stat st;

      if (lstat (names[i], &st) != 0 || !(S_ISLNK (st.st_mode) || S_ISDIR (st.st_mode)))
        continue;
      targets[n] = S_ISLNK (st.st_mode) ? g_file_read_link (names[i], NULL) : NULL;
      links[n].name = names[i];
      links[n].target = targets[n];
      n++;
    }
  return n;
}

const char *
ow_wall_place_landlock (const OwWallPlace *place)
{
  switch (place->rights)
    {
    case OW_WALL_LIST:
      return "--landlock-list";
    case OW_WALL_READ:
      return "--landlock-ro";
    case OW_WALL_WRITE:
      return "--landlock-rw";
    case OW_WALL_SERVER:
      return "--landlock-own";
    case OW_WALL_NOTHING:
    default:
      return NULL;
    }
}
