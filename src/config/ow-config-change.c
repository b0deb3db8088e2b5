/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-change-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "base/ow-state.h"
#include "ow-config-private.h"

#define NEW_MODE     0600
#define BACKUP       ".bak"
/* 5 s in all; one of ours has it for the time of a write to disk. */
#define LOCK_TRIES   500
#define LOCK_WAIT_US 10000
/* How often another program may write in between. */
#define TRIES        5

static void
before_clear (OwConfigBefore *before)
{
  g_clear_pointer (&before->content, g_bytes_unref);
  g_clear_object (&before->config);
  g_clear_pointer (&before->toml, ow_config_toml_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (OwConfigBefore, before_clear)

OwConfigToml *
ow_config_change_parse (GBytes * content)
{
  gsize length = content != NULL ? g_bytes_get_size (content) : 0;
  g_autofree char *why = NULL;
  guint line;

  return ow_config_toml_parse (length > 0 ? g_bytes_get_data (content, NULL) : "", length, &line,
                               &why);
}

/* The bytes are read once: what is looked at is what is edited. */
static gboolean
read_before (const OwConfigChange *change,
             OwConfigBefore        *before,
             GError       **error)
{
  g_autoptr (GBytes) nothing = g_bytes_new (NULL, 0);
  struct stat st;

  before->mode = NEW_MODE;
  if (lstat (change->path, &st) == 0 || errno != ENOENT)
    {
      before->content = ow_file_read (change->path, OW_CONFIG_MAX_BYTES, error);
      if (before->content == NULL)
        return FALSE;
      if (stat (change->path, &st) == 0)
        before->mode = st.st_mode & 0777;
    }

  before->config = ow_config_parse (change->path, before->content != NULL ? before->content
                                                                          : nothing, error);
  if (before->config == NULL)
    return FALSE;
  before->toml = ow_config_change_parse (before->content);

  return TRUE;
}

static GBytes *
edit (const OwConfigChange  *change,
      const OwConfigBefore  *before,
      GError               **error)
{
  g_autoptr (GBytes) nothing = g_bytes_new (NULL, 0);
  g_autoptr (GBytes) content = change->edit (change, before, before->content != NULL
                                             ? before->content : nothing);
  g_autoptr (OwConfigToml) toml = content != NULL ? ow_config_change_parse (content) : NULL;
  g_autoptr (OwConfig) config = NULL;
  g_autoptr (GError) reason = NULL;

  if (toml == NULL || g_bytes_get_size (content) > OW_CONFIG_MAX_BYTES ||
      !change->proves (change, before, toml))
    {
      ow_error_setf (error, OW_ERROR_FAILED, "Edit the file by hand (docs/configuration.md).",
                     "Cannot edit %s: the change would touch more than itself", change->path);
      return NULL;
    }
  config = ow_config_parse (change->path, content, &reason);
  if (config == NULL)
    {
      ow_error_set (error, OW_ERROR_USAGE, "The change is not made", reason->message, NULL);
      return NULL;
    }

  return g_steal_pointer (&content);
}

static gboolean
back_up (const OwConfigChange *change,
         const OwConfigBefore *before,
         int            dir_fd,
         GError       **error)
{
  g_autofree char *name = g_path_get_basename (change->path);
  g_autofree char *backup = g_strconcat (name, BACKUP, NULL);
  g_autoptr (GError) reason = NULL;

  if (before->content == NULL ||
      ow_file_write_atomic_at (dir_fd, backup, before->content, (int) before->mode, &reason))
    return TRUE;

  ow_error_setf (error, OW_ERROR_FAILED, "The file is as it was.", "Cannot change %s: %s",
                 change->path, reason->message);
  return FALSE;
}

/* One attempt; FALSE without an error: another program has written meanwhile. */
static gboolean
try (const OwConfigChange *change,
     int            dir_fd,
     GError       **error)
{
  g_auto (OwConfigBefore) before = { 0 };
  g_autoptr (GBytes) content = NULL;
  g_autoptr (GError) reason = NULL;
  gboolean changed;

  if (!read_before (change, &before, error) ||
      (change->check != NULL && !change->check (change, &before, error)))
    return FALSE;

  content = edit (change, &before, error);
  if (content == NULL)
    return FALSE;
  if (before.content != NULL && g_bytes_equal (content, before.content))
    return TRUE;
  if (!back_up (change, &before, dir_fd, error))
    return FALSE;
  ow_state_reach ("config-backed-up");
  if (ow_file_replace (change->path, before.content, content, NEW_MODE, &changed, &reason))
    return TRUE;
  if (!changed)
    g_propagate_error (error, g_steal_pointer (&reason));

  return FALSE;
}

/* Where it cannot be locked (some network file systems) the check before the replacement
 * is what is left. */
static gboolean
lock (const OwConfigChange *change,
      int            dir_fd,
      GError       **error)
{
  for (int i = 0; i < LOCK_TRIES; i++)
    {
      if (flock (dir_fd, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR))
        return TRUE;
      g_usleep (LOCK_WAIT_US);
    }

  ow_error_setf (error, OW_ERROR_TIMED_OUT, "Try again when it is done.",
                 "Cannot change %s: another program has been changing it for 5 s", change->path);
  return FALSE;
}

gboolean
ow_config_change_apply (const OwConfigChange *change,
                        GError       **error)
{
  g_autofree char *dir = g_path_get_dirname (change->path);
  GError *failure = NULL;
  gboolean ok = FALSE;
  int dir_fd;

  if (change->creates && !ow_paths_ensure (dir, error))
    return FALSE;
  dir_fd = open (dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir_fd < 0 && errno != ENOENT)
    {
      ow_error_setf (error, OW_ERROR_FAILED, NULL, "Cannot change %s: %s", change->path,
                     g_strerror (errno));
      return FALSE;
    }

  if (dir_fd < 0 || lock (change, dir_fd, &failure))
    for (int i = 0; i < TRIES && !ok && failure == NULL; i++)
      ok = try (change, dir_fd, &failure);
  if (dir_fd >= 0)
    close (dir_fd);
  if (!ok && failure == NULL)
    ow_error_setf (&failure, OW_ERROR_FAILED, "Close the other program and try again.",
                   "Cannot change %s: another program keeps writing it", change->path);
  if (failure != NULL)
    g_propagate_error (error, failure);

  return ok;
}
