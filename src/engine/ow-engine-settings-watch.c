/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-settings-watch-private.h"

#include "base/ow-paths.h"
#include "base/ow-source.h"
#include "config/ow-config.h"

/* After the first sign of a change: what an editor does to a file is several steps. */
#define WAIT_MS 250

struct _OwEngineSettingsWatch
{
  OwEngineSettingsFault  func;
  gpointer               user_data;
  GCancellable          *stop;      /* (owned) */
  char                  *path;      /* (owned) */
  char                  *fault;     /* (owned) (nullable) as it was told last */
  char                  *target;    /* (owned) (nullable) where the link leads */
  GFileMonitor          *folder;    /* (owned) (nullable) of the file's folder */
  GFileMonitor          *other;     /* (owned) (nullable) of the target's */
  GSource               *timer;     /* (owned) (nullable) a look is due */
  gboolean               looking;
  gboolean               again;     /* it changed while it was looked at */
};

/* What a look found. */
typedef struct
{
  char *fault;   /* (owned) (nullable) */
  char *target;  /* (owned) (nullable) */
} Found;

static void look (OwEngineSettingsWatch *self);

static void
found_free (gpointer data)
{
  Found *found = data;

  g_free (found->fault);
  g_free (found->target);
  g_free (found);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Found, found_free)

static gboolean
on_due (gpointer user_data)
{
  OwEngineSettingsWatch *self = user_data;

  ow_source_clear (&self->timer);
  look (self);
  return G_SOURCE_REMOVE;
}

static gboolean
is_ours (OwEngineSettingsWatch *self,
         GFile                 *file)
{
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  return path != NULL && (g_str_equal (path, self->path) ||
                          g_strcmp0 (path, self->target) == 0);
}

static void
on_changed (GFileMonitor          *monitor,
            GFile                 *file,
            GFile                 *other,
            GFileMonitorEvent      event,
            OwEngineSettingsWatch *self)
{
  /* Other things happen in that folder: each session has its home below it. */
  if (!is_ours (self, file) && !is_ours (self, other))
    return;
  if (self->timer == NULL)
    self->timer = ow_source_timeout (WAIT_MS, on_due, self, NULL);
}

static void
monitor_free (GFileMonitor          *monitor,
              OwEngineSettingsWatch *self)
{
  if (monitor == NULL)
    return;
  g_signal_handlers_disconnect_by_data (monitor, self);
  g_file_monitor_cancel (monitor);
  g_object_unref (monitor);
}

static GFileMonitor *
watch_folder_of (OwEngineSettingsWatch *self,
                 const char            *path)
{
  g_autofree char *dir = g_path_get_dirname (path);
  g_autoptr (GFile) file = g_file_new_for_path (dir);
  GFileMonitor *monitor = g_file_monitor_directory (file, G_FILE_MONITOR_WATCH_MOVES, NULL, NULL);

  if (monitor != NULL)
    g_signal_connect (monitor, "changed", G_CALLBACK (on_changed), self);
  return monitor;
}

static void
take_target (OwEngineSettingsWatch *self,
             const char            *target)
{
  if (g_strcmp0 (target, self->target) == 0)
    return;
  monitor_free (g_steal_pointer (&self->other), self);
  g_free (self->target);
  self->target = g_strdup (target);
  if (target != NULL)
    self->other = watch_folder_of (self, target);
}

/* In a thread: the file may be on a disk that does not answer. */
static void
work (GTask        *task,
      gpointer      source,
      gpointer      data,
      GCancellable *cancellable)
{
  const char *path = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (OwConfig) config = ow_config_load (path, &error);
  g_autofree char *link = g_file_read_link (path, NULL);
  Found *found = g_new0 (Found, 1);

  if (link != NULL)
    {
      g_autofree char *dir = g_path_get_dirname (path);

      found->target = g_canonicalize_filename (link, dir);
    }
  if (config == NULL)
    found->fault = g_strdup (error->message);
  g_task_return_pointer (task, found, found_free);
}

static void
on_looked (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  OwEngineSettingsWatch *self = user_data;
  g_autoptr (Found) found = g_task_propagate_pointer (G_TASK (result), NULL);

  /* Ended meanwhile, and gone. */
  if (found == NULL)
    return;
  self->looking = FALSE;
  take_target (self, found->target);
  if (self->again)
    {
      self->again = FALSE;
      look (self);
      return;
    }
  if (g_strcmp0 (found->fault, self->fault) == 0)
    return;
  g_free (self->fault);
  self->fault = g_strdup (found->fault);
  self->func (self->fault, self->user_data);
}

static void
look (OwEngineSettingsWatch *self)
{
  g_autoptr (GTask) task = NULL;

  if (self->looking)
    {
      self->again = TRUE;
      return;
    }
  self->looking = TRUE;
  task = g_task_new (NULL, self->stop, on_looked, self);
  g_task_set_source_tag (task, look);
  g_task_set_task_data (task, g_strdup (self->path), g_free);
  g_task_set_return_on_cancel (task, FALSE);
  g_task_run_in_thread (task, work);
}

OwEngineSettingsWatch *
ow_engine_settings_watch_new (OwEngineSettingsFault func,
                              gpointer              user_data)
{
  OwEngineSettingsWatch *self = g_new0 (OwEngineSettingsWatch, 1);
  g_autofree char *dir = NULL;

  self->func = func;
  self->user_data = user_data;
  self->stop = g_cancellable_new ();
  self->path = ow_paths_get_config_file ();
  dir = g_path_get_dirname (self->path);
  /* A folder that is not there would be asked for again and again. */
  if (ow_paths_ensure (dir, NULL))
    self->folder = watch_folder_of (self, self->path);
  look (self);
  return self;
}

void
ow_engine_settings_watch_free (OwEngineSettingsWatch *self)
{
  if (self == NULL)
    return;
  g_cancellable_cancel (self->stop);
  g_object_unref (self->stop);
  ow_source_clear (&self->timer);
  monitor_free (self->folder, self);
  monitor_free (self->other, self);
  g_free (self->path);
  g_free (self->fault);
  g_free (self->target);
  g_free (self);
}
