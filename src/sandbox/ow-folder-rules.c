/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-folder-rules-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-fd.h"
#include "base/ow-paths.h"
#include "base/ow-program.h"
#include "base/ow-text.h"
#include "openshell/ow-openshell.h"
#include "ow-mount-table-private.h"

#define CHOOSE "Choose a folder that holds only your work, for example a project's own folder."

/* How far a folder is searched for sockets: its own entries and those of its
 * subfolders, and not more than so many. */
#define SCAN_DEPTH   1
#define SCAN_ENTRIES 20000

typedef struct {
  char    *path;    /* (owned) as it is written in the rule */
  char    *real;    /* (owned) (nullable) with every link resolved */
  OwPlace  place;   /* path NULL: unknown */
  gboolean inside;  /* a folder that lies in it is refused too */
} Rule;

static const char * const system_trees[] = {
  "/etc", "/usr", "/boot", "/proc", "/sys", "/dev", "/run", "/var/run",
  "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
  /* The runner's place inside the wall. */
  "/opt/openworker",
};

static const char * const home_trees[] = {
  ".config/coworker", ".local/share/coworker", ".local/state/coworker", ".ssh", ".gnupg",
  ".config/systemd", ".config/autostart", ".config/openshell",
};

static const char * const home_sockets[] = {
  ".docker/run/docker.sock", ".docker/desktop/docker.sock", ".rd/docker.sock",
  ".colima/default/docker.sock", ".local/share/containers/podman/machine/podman.sock",
};

static const char * const system_sockets[] = {
  "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
  "/run/crio/crio.sock",
};

static const char * const socket_names[] = {
  "docker.sock", "podman.sock", "containerd.sock", "crio.sock", "buildkitd.sock",
};

/* Mounted anywhere, these are the machine itself. */
static const char * const machine_types[] = {
  "proc", "sysfs", "devtmpfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "configfs",
  "bpf", "efivarfs", "pstore", "binfmt_misc", "fusectl", "selinuxfs", "mqueue", "devpts",
};

static gboolean
is_in (const char         *text,
       const char * const *list,
       gsize               n)
{
  for (gsize i = 0; i < n; i++)
    if (strcmp (text, list[i]) == 0)
      return TRUE;
  return FALSE;
}

static void
rule_free (gpointer data)
{
  Rule *rule = data;

  g_free (rule->path);
  g_free (rule->real);
  ow_place_clear (&rule->place);
  g_free (rule);
}

/* Finds where @rule really is; what does not exist yet is placed below the deepest
 * ancestor that does, because it may be made later. */
static void
rule_resolve (Rule      *rule,
              GPtrArray *table)
{
  g_autofree char *at = g_strdup (rule->path);
  g_autofree char *rest = g_strdup ("");

  for (;;)
    {
      int fd = open (at, O_PATH | O_CLOEXEC);
      g_autofree char *real = fd >= 0 ? ow_fd_get_path (fd) : NULL;
      g_autofree char *name = NULL;
      g_autofree char *parent = NULL;
      g_autofree char *longer = NULL;
      OwPlace place = { 0 };

      if (real != NULL && ow_mount_table_place (table, fd, real, &place))
        {
          rule->real = g_build_filename (real, rest, NULL);
          rule->place = place;
          rule->place.path = g_build_filename (place.path, rest, NULL);
          g_free (place.path);
        }
      if (fd >= 0)
        close (fd);
      if (rule->real != NULL || strcmp (at, "/") == 0)
        return;

      name = g_path_get_basename (at);
      parent = g_path_get_dirname (at);
      longer = rest[0] == '\0' ? g_strdup (name) : g_build_filename (name, rest, NULL);
      g_free (g_steal_pointer (&at));
      at = g_steal_pointer (&parent);
      g_free (g_steal_pointer (&rest));
      rest = g_steal_pointer (&longer);
    }
}

static void
add_rule (GPtrArray  *rules,
          GPtrArray  *table,
          const char *path,
          gboolean    inside)
{
  Rule *rule;

  if (path == NULL || path[0] != '/')
    return;
  rule = g_new0 (Rule, 1);
  rule->path = g_canonicalize_filename (path, "/");
  rule->inside = inside;
  rule_resolve (rule, table);
  g_ptr_array_add (rules, rule);
}

static void
add_home (GPtrArray  *rules,
          GPtrArray  *table,
          const char *home)
{
  if (home == NULL || home[0] != '/')
    return;
  add_rule (rules, table, home, FALSE);
  for (gsize i = 0; i < G_N_ELEMENTS (home_trees); i++)
    {
      g_autofree char *path = g_build_filename (home, home_trees[i], NULL);

      add_rule (rules, table, path, TRUE);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (home_sockets); i++)
    {
      g_autofree char *path = g_build_filename (home, home_sockets[i], NULL);

      add_rule (rules, table, path, FALSE);
    }
}

static void
add_home_of_uid (GPtrArray *rules,
                 GPtrArray *table,
                 uid_t      uid)
{
  struct passwd *found = NULL;
  struct passwd entry;
  g_autofree char *buffer = g_malloc (16384);

  if (getpwuid_r (uid, &entry, buffer, 16384, &found) == 0 && found != NULL)
    add_home (rules, table, found->pw_dir);
}

/* What is ours wherever the XDG variables or a link of the person's have put it. */
static void
add_own (GPtrArray *rules,
         GPtrArray *table)
{
  g_autofree char *config = ow_paths_get_config_file ();
  g_autofree char *config_dir = g_path_get_dirname (config);
  g_autofree char *homes = ow_paths_get_private_homes ();
  g_autofree char *data = ow_paths_get_data_dir ();
  g_autofree char *state = ow_paths_get_state_dir ();
  g_autofree char *audit = ow_paths_get_audit_file ();
  g_autofree char *registry = ow_paths_get_registry_dir ();
  g_autofree char *store = ow_paths_get_store_file ();
  g_autofree char *runtime = ow_paths_get_runtime_dir ();

  add_rule (rules, table, config_dir, TRUE);
  add_rule (rules, table, homes, TRUE);
  add_rule (rules, table, data, TRUE);
  add_rule (rules, table, state, TRUE);
  add_rule (rules, table, registry, TRUE);
  add_rule (rules, table, runtime, TRUE);
  add_rule (rules, table, config, FALSE);
  add_rule (rules, table, audit, FALSE);
  add_rule (rules, table, store, FALSE);
}

/* "unix:///path" of the variables that the container programs read. */
static void
add_variable (GPtrArray  *rules,
              GPtrArray  *table,
              const char *variable)
{
  const char *value = g_getenv (variable);

  if (value != NULL && g_str_has_prefix (value, "unix://"))
    add_rule (rules, table, value + strlen ("unix://"), FALSE);
}

/* Sockets that somebody listens on now, by the names that container engines use: at
 * any depth, which a bounded search of the folder would not find. */
static void
add_listening (GPtrArray *rules,
               GPtrArray *table)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents ("/proc/net/unix", &text, NULL, NULL))
    return;
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *path = strchr (lines[i], '/');
      g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;

      if (name != NULL && is_in (name, socket_names, G_N_ELEMENTS (socket_names)))
        add_rule (rules, table, path, FALSE);
    }
}

/* Commands that the program gives outside the wall. One that is found in a session's folder would
 * be the agent's, or a stranger's. */
static void
add_commands (GPtrArray *rules,
              GPtrArray *table)
{
  g_autoptr (OwOpenshell) openshell = ow_openshell_find (NULL);
  g_autofree char *docker = ow_program_find ("docker");
  g_autofree char *podman = ow_program_find ("podman");

  if (openshell != NULL)
    add_rule (rules, table, ow_openshell_get_program (openshell), FALSE);
  add_rule (rules, table, docker, FALSE);
  add_rule (rules, table, podman, FALSE);
}

static GPtrArray *
make_rules (GPtrArray      *table,
            const OwFolder *folder)
{
  GPtrArray *rules = g_ptr_array_new_with_free_func (rule_free);
  const char *runtime = g_getenv ("XDG_RUNTIME_DIR");

  add_rule (rules, table, "/", FALSE);
  for (gsize i = 0; i < G_N_ELEMENTS (system_trees); i++)
    add_rule (rules, table, system_trees[i], TRUE);
  add_home (rules, table, g_get_home_dir ());
  add_home_of_uid (rules, table, geteuid ());
  if (folder->uid != geteuid ())
    add_home_of_uid (rules, table, folder->uid);
  add_own (rules, table);

  for (gsize i = 0; i < G_N_ELEMENTS (system_sockets); i++)
    add_rule (rules, table, system_sockets[i], FALSE);
  if (runtime != NULL)
    add_rule (rules, table, runtime, FALSE);
  add_variable (rules, table, "DOCKER_HOST");
  add_variable (rules, table, "CONTAINER_HOST");
  add_listening (rules, table);
  add_commands (rules, table);

  /* What runs outside the wall must not be the agent's to change. */
  if (!folder->read_only)
    {
      g_autofree char *proxy = ow_paths_get_libexec ("openworker-proxy");
      g_autofree char *runner = ow_paths_get_libexec ("openworker-runner");

      add_rule (rules, table, proxy, FALSE);
      add_rule (rules, table, runner, FALSE);
      add_rule (rules, table, "/proc/self/exe", FALSE);
    }
  return rules;
}

static void
refuse (const OwFolder *folder,
        const char     *why,
        const char     *what,
        GError        **error)
{
  g_autofree char *path = ow_text_visible (folder->path);
  g_autofree char *shown = ow_text_visible (what);

  ow_error_setf (error, OW_ERROR_REFUSED, CHOOSE,
                 "The folder \"%s\" cannot be used in a session: it %s \"%s\"", path, why, shown);
}

static gboolean
check_rule (const OwFolder *folder,
            const OwPlace  *place,
            const Rule     *rule,
            GError        **error)
{
  const OwPlace *other = rule->place.path != NULL ? &rule->place : NULL;

  if (ow_path_contains (folder->path, rule->path) ||
      (rule->real != NULL && ow_path_contains (folder->path, rule->real)) ||
      (other != NULL && ow_place_contains (place, other)))
    {
      /* A name below /proc says nothing to a person. */
      refuse (folder, "is or holds",
              rule->real != NULL && g_str_has_prefix (rule->path, "/proc/self/") ? rule->real
                                                                                 : rule->path,
              error);
      return FALSE;
    }
  if (rule->inside && (ow_path_contains (rule->path, folder->path) ||
                       (rule->real != NULL && ow_path_contains (rule->real, folder->path)) ||
                       (other != NULL && ow_place_contains (other, place))))
    {
      refuse (folder, "lies in", rule->path, error);
      return FALSE;
    }
  return TRUE;
}

/* A mount below the folder comes into the sandbox with it. */
static gboolean
check_mount (const OwFolder *folder,
             const OwMount  *mount,
             GPtrArray      *rules,
             GError        **error)
{
  if (is_in (mount->type, machine_types, G_N_ELEMENTS (machine_types)))
    {
      refuse (folder, "is on, or has mounted below it, a part of the machine:", mount->point,
              error);
      return FALSE;
    }
  for (guint i = 0; i < rules->len; i++)
    {
      const Rule *rule = g_ptr_array_index (rules, i);

      if (rule->place.path == NULL)
        continue;
      if (ow_place_contains (&mount->place, &rule->place) ||
          (rule->inside && ow_place_contains (&rule->place, &mount->place)))
        {
          refuse (folder, "has mounted below it", rule->path, error);
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
is_known_socket (const struct stat *st,
                 GPtrArray         *rules)
{
  for (guint i = 0; i < rules->len; i++)
    {
      const Rule *rule = g_ptr_array_index (rules, i);
      struct stat other;

      if (rule->real != NULL && stat (rule->real, &other) == 0 && S_ISSOCK (other.st_mode) &&
          other.st_dev == st->st_dev && other.st_ino == st->st_ino)
        return TRUE;
    }
  return FALSE;
}

/* A folder that we may not read is one that the sandbox may not read either. What cannot be
 * looked at for another reason may hold anything. */
static gboolean
may_skip (const OwFolder *folder,
          const char     *name,
          GError        **error)
{
  if (errno == EACCES || errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
    return TRUE;
  refuse (folder, "cannot be searched for a container engine's socket at", name, error);
  return FALSE;
}

/* Looks at names and types only, by descriptor; nothing is followed or read. */
static gboolean
scan_sockets (const OwFolder *folder,
              const char     *name,
              int             dir_fd,
              int             depth,
              guint          *left,
              GPtrArray      *rules,
              GError        **error)
{
  int fd = openat (dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
  struct dirent *entry;
  gboolean good = TRUE;

  if (dir == NULL)
    {
      good = may_skip (folder, name, error);
      if (fd >= 0)
        close (fd);
      return good;
    }
  while (good && *left > 0 && (entry = readdir (dir)) != NULL)
    {
      struct stat st;

      (*left)--;
      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0 ||
          (entry->d_type != DT_SOCK && entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
          fstatat (fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        continue;
      if (S_ISSOCK (st.st_mode) &&
          (is_in (entry->d_name, socket_names, G_N_ELEMENTS (socket_names)) ||
           is_known_socket (&st, rules)))
        {
          refuse (folder, "holds a container engine's socket:", entry->d_name, error);
          good = FALSE;
        }
      else if (S_ISDIR (st.st_mode) && depth > 0)
        {
          int sub = openat (fd, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

          if (sub < 0)
            {
              good = may_skip (folder, entry->d_name, error);
              continue;
            }
          good = scan_sockets (folder, entry->d_name, sub, depth - 1, left, rules, error);
          close (sub);
        }
    }
  closedir (dir);
  return good;
}

/* Whoever is inside can speak to a program of this machine whose socket lies in the folder,
 * read-only or not: to a terminal multiplexer, an agent with keys, an editor. */
static gboolean
check_listeners (const OwFolder *folder,
                 GError        **error)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  g_autoptr (GError) cause = NULL;

  if (!g_file_get_contents ("/proc/net/unix", &text, NULL, &cause))
    {
      if (g_error_matches (cause, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        return TRUE; /* a kernel without such sockets */
      refuse (folder, "cannot be searched for sockets of other programs:", cause->message, error);
      return FALSE;
    }
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *path = strchr (lines[i], '/');
      struct stat st;

      if (path != NULL && ow_path_contains (folder->path, path) && lstat (path, &st) == 0 &&
          S_ISSOCK (st.st_mode))
        {
          refuse (folder, "holds a socket of a program that runs outside the sandbox:", path,
                  error);
          return FALSE;
        }
    }
  return TRUE;
}

gboolean
ow_folder_rules_check (const OwFolder *folder,
                       GError        **error)
{
  g_autoptr (GPtrArray) table = ow_mount_table_load (error);
  g_autoptr (GPtrArray) rules = NULL;
  g_autofree char *fs_path = NULL;
  const OwMount *own;
  OwPlace place = { 0 };
  guint left = SCAN_ENTRIES;

  if (table == NULL)
    return FALSE;
  own = ow_mount_table_of_fd (table, folder->fd);
  if (own == NULL || !ow_mount_table_place (table, folder->fd, folder->path, &place))
    {
      refuse (folder, "is on a file system that cannot be told:", folder->path, error);
      return FALSE;
    }
  fs_path = place.path;
  rules = make_rules (table, folder);
  for (guint i = 0; i < rules->len; i++)
    if (!check_rule (folder, &place, g_ptr_array_index (rules, i), error))
      return FALSE;
  if (is_in (own->type, machine_types, G_N_ELEMENTS (machine_types)))
    return check_mount (folder, own, rules, error);
  if (!check_listeners (folder, error))
    return FALSE;
  for (guint i = 0; i < table->len; i++)
    {
      const OwMount *mount = g_ptr_array_index (table, i);

      if (mount != own && ow_path_contains (folder->path, mount->point) &&
          !check_mount (folder, mount, rules, error))
        return FALSE;
    }
  return scan_sockets (folder, folder->path, folder->fd, SCAN_DEPTH, &left, rules, error);
}
