/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-paths.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "config.h"

#define FOLDER_NAME "coworker"

/* A relative value of an XDG variable is to be ignored, says its specification. */
static char *
get_xdg_dir (const char *variable,
             const char *below_home)
{
  const char *value = g_getenv (variable);

  if (value != NULL && g_path_is_absolute (value))
    return g_build_filename (value, FOLDER_NAME, NULL);

  return g_build_filename (g_get_home_dir (), below_home, FOLDER_NAME, NULL);
}

static char *
get_below (char       *dir,
           const char *name)
{
  g_autofree char *owned = dir;

  return g_build_filename (owned, name, NULL);
}

static char *
get_config_dir (void)
{
  return get_xdg_dir ("XDG_CONFIG_HOME", ".config");
}

char *
ow_paths_get_config_file (void)
{
  return get_below (get_config_dir (), "config.toml");
}

char *
ow_paths_get_private_homes (void)
{
  return get_below (get_config_dir (), "sandbox-runtime");
}

char *
ow_paths_get_data_dir (void)
{
  return get_xdg_dir ("XDG_DATA_HOME", ".local/share");
}

char *
ow_paths_get_state_dir (void)
{
  return get_xdg_dir ("XDG_STATE_HOME", ".local/state");
}

char *
ow_paths_get_audit_file (void)
{
  return get_below (ow_paths_get_state_dir (), "audit.jsonl");
}

char *
ow_paths_get_registry_dir (void)
{
  return get_below (ow_paths_get_state_dir (), "registry");
}

char *
ow_paths_get_ocsf_dir (void)
{
  return get_below (ow_paths_get_state_dir (), "ocsf");
}

char *
ow_paths_get_store_file (void)
{
  return get_below (ow_paths_get_data_dir (), "sessions.sqlite");
}

char *
ow_paths_get_approvals_file (void)
{
  return get_below (ow_paths_get_data_dir (), "approvals.json");
}

char *
ow_paths_get_runtime_dir (void)
{
  const char *value = g_getenv ("XDG_RUNTIME_DIR");
  struct stat st;

  if (value != NULL && g_path_is_absolute (value) && stat (value, &st) == 0 &&
      S_ISDIR (st.st_mode) && st.st_uid == geteuid () && (st.st_mode & 0777) == 0700)
    return g_build_filename (value, FOLDER_NAME, NULL);

  return get_below (ow_paths_get_state_dir (), "run");
}

char *
ow_paths_get_libexec (const char *program)
{
  const char *dir = g_getenv ("OPENWORKER_LIBEXEC");
  g_autofree char *path = NULL;
  g_autofree char *real = NULL;

  g_return_val_if_fail (program != NULL && strchr (program, '/') == NULL, NULL);

  if (dir == NULL || !g_path_is_absolute (dir))
    dir = OW_LIBEXECDIR;

  path = g_build_filename (dir, program, NULL);
  /* A sandbox binds the program itself, so a link is followed here and not there. */
  real = realpath (path, NULL);
  return g_strdup (real != NULL ? real : path);
}

static gboolean
check_folder (const char         *path,
              const struct stat  *st,
              GError            **error)
{
  if (!S_ISDIR (st->st_mode))
    {
      ow_error_setf (error, OW_ERROR_FAILED, "Move it away and try again.",
                     "Cannot use %s: it is not a folder", path);
      return FALSE;
    }
  if (st->st_uid != geteuid ())
    {
      ow_error_setf (error, OW_ERROR_FAILED, "Run the program as the folder's owner.",
                     "Cannot use %s: it belongs to another user (uid %u)", path, st->st_uid);
      return FALSE;
    }
  if ((st->st_mode & 0022) != 0)
    {
      g_autofree char *next = g_strdup_printf ("Run: chmod go-w '%s'", path);

      ow_error_setf (error, OW_ERROR_FAILED, next,
                     "Cannot use %s: others can write in it (mode %04o)", path,
                     st->st_mode & 07777);
      return FALSE;
    }

  return TRUE;
}

/* Creates what is missing of @path from the top down; the pieces are cut in place. */
static gboolean
create_missing (char    *path,
                GError **error)
{
  for (char *p = path + 1;; p++)
    {
      char kept = *p;

      if (kept != '/' && kept != '\0')
        continue;

      *p = '\0';
      if (mkdir (path, 0700) < 0 && errno != EEXIST)
        {
          int code = errno;
          struct stat st;

          /* On a read-only or foreign parent mkdir names that before "exists". */
          if (stat (path, &st) < 0)
            {
              ow_error_setf (error, OW_ERROR_FAILED, NULL, "Cannot create the folder %s: %s",
                             path, g_strerror (code));
              return FALSE;
            }
        }
      *p = kept;
      if (kept == '\0')
        return TRUE;
    }
}

gboolean
ow_paths_ensure (const char  *path,
                 GError     **error)
{
  g_autofree char *canonical = NULL;
  struct stat st;

  if (path == NULL || !g_path_is_absolute (path))
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL, "Cannot create the folder %s: not a full path",
                     path != NULL ? path : "(none)");
      return FALSE;
    }

  canonical = g_canonicalize_filename (path, "/");
  if (stat (canonical, &st) < 0)
    {
      if (!create_missing (canonical, error))
        return FALSE;
      if (stat (canonical, &st) < 0)
        {
          ow_error_setf (error, OW_ERROR_FAILED, NULL, "Cannot use the folder %s: %s", canonical,
                         g_strerror (errno));
          return FALSE;
        }
    }

  return check_folder (canonical, &st, error);
}
