/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config-hosts.h"
#include "config/ow-config-programs.h"
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
#include "base/ow-text.h"
#include "ow-config-edit-private.h"
#include "ow-config-private.h"
#include "ow-model-settings-private.h"

#define NEW_MODE     0600
#define BACKUP       ".bak"
/* 5 s in all; one of ours has it for the time of a write to disk. */
#define LOCK_TRIES   500
#define LOCK_WAIT_US 10000
/* How often another program may write in between. */
#define TRIES        5

typedef enum { ADD_MODEL, REMOVE_MODEL, SET_TEXT, ADD_TEXT, REMOVE_PROGRAM } Kind;

typedef struct {
  Kind                   kind;
  const char            *path;
  const OwModelSettings *settings;  /* ADD_MODEL */
  const char            *name;      /* a model's, or the key */
  const char            *value;     /* SET_TEXT, ADD_TEXT, REMOVE_PROGRAM */
} Change;

/* The file as it was read. */
typedef struct {
  GBytes       *content;  /* (owned) (nullable) it is not there */
  mode_t        mode;
  OwConfig     *config;   /* (owned) */
  OwConfigToml *toml;     /* (owned) */
  guint         n;        /* models */
} Before;

static void
before_clear (Before *before)
{
  g_clear_pointer (&before->content, g_bytes_unref);
  g_clear_object (&before->config);
  g_clear_pointer (&before->toml, ow_config_toml_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Before, before_clear)

static OwConfigToml *
parse (GBytes * content)
{
  gsize length = content != NULL ? g_bytes_get_size (content) : 0;
  g_autofree char *why = NULL;
  guint line;

  return ow_config_toml_parse (length > 0 ? g_bytes_get_data (content, NULL) : "", length, &line,
                               &why);
}

/* The bytes are read once: what is looked at is what is edited. */
static gboolean
read_before (const Change  *change,
             Before        *before,
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
  before->toml = parse (before->content);
  before->n = ow_config_get_models (before->config)->len;

  return TRUE;
}

/* The place of the model of that name, or how many there are. */
static guint
find_model (const Before *before,
            const char   *name)
{
  GPtrArray *models = ow_config_get_models (before->config);

  for (guint i = 0; i < models->len; i++)
    if (strcmp (((OwModelSettings *) g_ptr_array_index (models, i))->name, name) == 0)
      return i;

  return models->len;
}

static gboolean
check_settings (const OwModelSettings  *settings,
                GError                **error)
{
  for (guint i = 0; i < OW_MODEL_SETTINGS_N_FIELDS; i++)
    {
      const OwModelSettingsField *field = &ow_model_settings_fields[i];
      g_autofree char *why = ow_model_settings_find_fault (
        field, *ow_model_settings_field (settings, field));
      g_autofree char *shown = why != NULL ? ow_text_visible (why) : NULL;

      if (why != NULL)
        {
          ow_error_set (error, OW_ERROR_USAGE, "Cannot add this model", shown, NULL);
          return FALSE;
        }
    }

  return TRUE;
}

static gboolean
check_change (const Change  *change,
              const Before  *before,
              GError       **error)
{
  OwConfigTomlState state;
  g_autofree char *old = NULL;
  guint line;

  if (change->kind == SET_TEXT)
    {
      state = ow_config_toml_get_text (before->toml, change->name, &old, &line);
      if (state != OW_CONFIG_TOML_WRONG_TYPE)
        return TRUE;
      ow_error_setf (error, OW_ERROR_USAGE, "Edit the file by hand.",
                     "Cannot set %s in %s: line %u has something there that is no text",
                     change->name, change->path, line);
      return FALSE;
    }

  if (change->kind == REMOVE_PROGRAM)
    {
      if (ow_config_programs_find (before->config, change->value) >= 0)
        return TRUE;
      ow_error_setf (error, OW_ERROR_USAGE,
                     "\"openworker sandbox programs\" shows those that are shared.",
                     "%s is not shared by %s", change->value, change->path);
      return FALSE;
    }

  if (change->kind == REMOVE_MODEL && find_model (before, change->name) == before->n)
    ow_error_setf (error, OW_ERROR_USAGE, "\"openworker model list\" shows those that are there.",
                   "There is no model \"%.80s\" in %s", change->name, change->path);
  else if (change->kind == ADD_MODEL && find_model (before, change->name) < before->n)
    ow_error_setf (error, OW_ERROR_USAGE, "Remove it first, or take another name.",
                   "There is a model \"%s\" in %s already", change->name, change->path);
  else if (change->kind == ADD_MODEL && before->n >= OW_CONFIG_MAX_MODELS)
    ow_error_setf (error, OW_ERROR_USAGE, "Remove one first.", "%s has %d models, which is all "
                   "it can have", change->path, OW_CONFIG_MAX_MODELS);
  else
    return TRUE;

  return FALSE;
}

/* NULL where it found no place. @leave and @new_leave: the entry that only the old text, or
 * only the new one, has. */
static GBytes *
make_content (const Change *change,
              const Before *before,
              GBytes       *old,
              int          *leave,
              int          *new_leave)
{
  *leave = -1;
  *new_leave = -1;
  switch (change->kind)
    {
    case ADD_MODEL:
      *new_leave = (int) before->n;
      return ow_config_edit_append_model (old, before->toml, change->settings);
    case REMOVE_MODEL:
      *leave = (int) find_model (before, change->name);
      return ow_config_edit_remove_model (old, before->toml, (guint) * leave);
    case ADD_TEXT:
      return ow_config_edit_add_text (old, before->toml, change->name, change->value);
    case REMOVE_PROGRAM:
      *leave = ow_config_programs_find (before->config, change->value);
      return ow_config_edit_remove_text (old, before->toml, change->name, (guint) * leave);
    case SET_TEXT:
      break;
    }

  return ow_config_edit_set_text (old, before->toml, change->name, change->value);
}

/* The list @key of @toml is @value and then what it is in @before. */
static gboolean
is_put_in_front (OwConfigToml *before,
                 OwConfigToml *toml,
                 const char   *key,
                 const char   *value)
{
  g_autoptr (GPtrArray) old = NULL;
  g_autoptr (GPtrArray) now = NULL;
  guint n = 0;
  guint line;

  if (ow_config_toml_get_texts (before, key, &old, &line) == OW_CONFIG_TOML_FOUND)
    n = old->len;
  if (ow_config_toml_get_texts (toml, key, &now, &line) != OW_CONFIG_TOML_FOUND ||
      now->len != n + 1)
    return FALSE;
  for (guint i = 0; i < now->len; i++)
    {
      const OwConfigTomlText *text = g_ptr_array_index (now, i);
      const OwConfigTomlText *was = i > 0 ? g_ptr_array_index (old, i - 1) : NULL;

      if (strcmp (text->text, was != NULL ? was->text : value) != 0)
        return FALSE;
    }

  return TRUE;
}

/* What the new text says, against the old one: the change, and nothing else. */
static gboolean
is_the_change (const Change *change,
               const Before *before,
               OwConfigToml *toml,
               int           leave,
               int           new_leave)
{
  const gboolean is_text = change->kind == SET_TEXT || change->kind == ADD_TEXT;
  g_autofree char *value = NULL;
  guint line;

  if (change->kind == ADD_TEXT &&
      !is_put_in_front (before->toml, toml, change->name, change->value))
    return FALSE;
  if (change->kind == SET_TEXT &&
      (ow_config_toml_get_text (toml, change->name, &value, &line) != OW_CONFIG_TOML_FOUND ||
       strcmp (value, change->value) != 0))
    return FALSE;

  return ow_config_toml_equals_but (before->toml, toml, is_text || change->kind == REMOVE_PROGRAM
                                    ? change->name : "models", leave,
                                    new_leave);
}

static GBytes *
edit (const Change  *change,
      const Before  *before,
      GError       **error)
{
  g_autoptr (GBytes) nothing = g_bytes_new (NULL, 0);
  int leave, new_leave;
  g_autoptr (GBytes) content = make_content (change, before, before->content != NULL
                                             ? before->content : nothing, &leave, &new_leave);
  g_autoptr (OwConfigToml) toml = content != NULL ? parse (content) : NULL;
  g_autoptr (OwConfig) config = NULL;
  g_autoptr (GError) reason = NULL;

  if (toml == NULL || g_bytes_get_size (content) > OW_CONFIG_MAX_BYTES ||
      !is_the_change (change, before, toml, leave, new_leave))
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
back_up (const Change  *change,
         const Before  *before,
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
try (const Change  *change,
     int            dir_fd,
     GError       **error)
{
  g_auto (Before) before = { 0 };
  g_autoptr (GBytes) content = NULL;
  g_autoptr (GError) reason = NULL;
  gboolean changed;

  if (!read_before (change, &before, error) || !check_change (change, &before, error))
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
lock (const Change  *change,
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

static gboolean
apply (const Change  *change,
       GError       **error)
{
  g_autofree char *dir = g_path_get_dirname (change->path);
  GError *failure = NULL;
  gboolean ok = FALSE;
  int dir_fd;

  if (change->kind != REMOVE_MODEL && !ow_paths_ensure (dir, error))
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

gboolean
ow_config_add_model (const char             *path,
                     const OwModelSettings  *settings,
                     GError                **error)
{
  const Change change = {
    .kind = ADD_MODEL, .path = path, .settings = settings, .name = settings->name,
  };

  return check_settings (settings, error) && apply (&change, error);
}

gboolean
ow_config_remove_model (const char  *path,
                        const char  *name,
                        GError     **error)
{
  const Change change = { .kind = REMOVE_MODEL, .path = path, .name = name };

  return apply (&change, error);
}

gboolean
ow_config_change_text (const char  *path,
                       const char  *key,
                       const char  *value,
                       GError     **error)
{
  const Change change = { .kind = SET_TEXT, .path = path, .name = key, .value = value };

  return apply (&change, error);
}

/* FALSE also when the settings cannot be read: the change itself finds out why. */
static gboolean
has_extra_host (const char   *path,
                const OwHost *host)
{
  g_autoptr (OwConfig) config = ow_config_load (path, NULL);
  GPtrArray *hosts = config != NULL ? ow_config_get_extra_hosts (config) : NULL;

  for (guint i = 0; hosts != NULL && i < hosts->len; i++)
    {
      const OwHost *other = g_ptr_array_index (hosts, i);

      if (other->port == host->port && strcmp (other->host, host->host) == 0)
        return TRUE;
    }

  return FALSE;
}

gboolean
ow_config_add_extra_host (const char    *path,
                          const OwHost  *host,
                          GError       **error)
{
  g_autofree char *text = g_strdup_printf ("%s:%u", host->host, host->port);
  const Change change = {
    .kind = ADD_TEXT, .path = path, .name = "sandbox_extra_hosts", .value = text,
  };

  return has_extra_host (path, host) || apply (&change, error);
}

gboolean
ow_config_add_program (const char  *path,
                       const char  *folder,
                       GError     **error)
{
  g_autoptr (OwConfig) config = ow_config_load (path, NULL);
  g_autofree char *text = ow_config_programs_write (folder);
  const Change change = {
    .kind = ADD_TEXT, .path = path, .name = OW_CONFIG_PROGRAMS, .value = text,
  };

  return (config != NULL && ow_config_programs_find (config, folder) >= 0) ||
         apply (&change, error);
}

gboolean
ow_config_remove_program (const char  *path,
                          const char  *folder,
                          GError     **error)
{
  const Change change = {
    .kind = REMOVE_PROGRAM, .path = path, .name = OW_CONFIG_PROGRAMS, .value = folder,
  };

  return apply (&change, error);
}
