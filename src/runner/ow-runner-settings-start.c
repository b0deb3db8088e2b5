/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-settings-private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-watch-private.h"
#include "ow-runner-worker-private.h"

/* The picture of the start lies in memory that is sealed when it is whole: the process that took
 * it is gone then, and no process that is left can change it. */

#define SEALS     (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)
#define BYTES_MAX (64u * 1024 * 1024)
/* The first look is a little shorter than the later ones, so that those see what it saw. */
#define NAMES_MAX 200000u
#define READ_MAX  (24u * 1024 * 1024)
#define WALL_MS   300
#define CPU_MS    150
#define NICER     5

typedef struct {
  uint64_t n;
  uint64_t whole;
} Head;

typedef struct {
  int64_t  ctime;
  uint32_t kind;
  uint32_t executable;
  uint32_t length; /* of the path behind it, terminator included */
  char     hash[OW_RUNNER_HASH_SIZE];
} Record;

void
ow_runner_settings_start_open (OwRunnerSettingsStart *self)
{
  self->began = ow_runner_watch_clock ();
  self->fd = memfd_create ("settings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

void
ow_runner_settings_start_close (OwRunnerSettingsStart *self)
{
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
}

static bool
put (int                     fd,
     const OwRunnerSettings *settings)
{
  Head head = { settings->n, settings->whole };
  size_t room = sizeof head;
  size_t at = sizeof head;
  char *text;
  bool done;

  for (size_t i = 0; i < settings->n; i++)
    room += sizeof (Record) + strlen (settings->list[i].path) + 1;
  text = ow_runner_buffer_alloc (room);
  memcpy (text, &head, sizeof head);
  for (size_t i = 0; i < settings->n; i++)
    {
      const OwRunnerSetting *setting = &settings->list[i];
      Record record = { .ctime = setting->ctime, .kind = setting->kind,
                        .executable = setting->executable,
                        .length = (uint32_t) strlen (setting->path) + 1 };

      memcpy (record.hash, setting->hash, sizeof record.hash);
      memcpy (text + at, &record, sizeof record);
      at += sizeof record;
      memcpy (text + at, setting->path, record.length);
      at += record.length;
    }
  done = ow_runner_file_write_all (fd, text, room) == 0;
  free (text);
  return done;
}

void
ow_runner_settings_start_take (const OwRunnerRoots *roots)
{
  const OwRunnerSettingsBounds bounds = { NAMES_MAX, READ_MAX, WALL_MS, CPU_MS };
  OwRunnerSettings settings;
  pid_t parent = getpid ();

  if (roots->start == NULL || roots->start->fd < 0)
    return;
  /* Its end is nobody's affair: what is not there in time counts as not there. */
  if (fork () != 0)
    return;
  ow_runner_process_reset ();
  if (getppid () != parent)
    _exit (1);
  ow_runner_worker_close_others (roots);
  setpriority (PRIO_PROCESS, 0, NICER);
  ow_runner_settings_take (&settings, roots, bounds);
  if (put (roots->start->fd, &settings))
    fcntl (roots->start->fd, F_ADD_SEALS, SEALS);
  _exit (0);
}

bool
ow_runner_settings_start_read (const OwRunnerRoots *roots,
                               OwRunnerSettings    *self)
{
  struct stat status;
  Head head = { 0 };
  size_t at = sizeof head;
  char *text;

  *self = (OwRunnerSettings) { 0 };
  if (roots->start == NULL || roots->start->fd < 0 ||
      (fcntl (roots->start->fd, F_GET_SEALS) & F_SEAL_WRITE) == 0 ||
      fstat (roots->start->fd, &status) < 0 || status.st_size < (off_t) sizeof head ||
      status.st_size > (off_t) BYTES_MAX)
    return false;
  text = ow_runner_buffer_alloc ((size_t) status.st_size);
  if (pread (roots->start->fd, text, (size_t) status.st_size, 0) != status.st_size)
    {
      free (text);
      return false;
    }
  memcpy (&head, text, sizeof head);
  self->whole = head.whole;
  self->list = ow_runner_buffer_alloc ((head.n + 1) * sizeof *self->list);
  for (; self->n < head.n; self->n++)
    {
      OwRunnerSetting *setting = &self->list[self->n];
      Record record;

      memcpy (&record, text + at, sizeof record);
      at += sizeof record;
      *setting = (OwRunnerSetting) { .kind = record.kind, .executable = record.executable,
                                     .ctime = record.ctime };
      memcpy (setting->hash, record.hash, sizeof setting->hash);
      setting->path = ow_runner_buffer_copy (text + at, record.length - 1);
      at += record.length;
    }
  free (text);
  return true;
}
