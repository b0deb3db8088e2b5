/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-settings-private.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-watch-private.h"
#include "ow-runner-worker-private.h"

/* The picture of the start lies in memory that the process which takes it has in common with the
 * server and those that run its tools. What runs commands gives it up: commands may look at that
 * process and change it. */

#define BYTES_MAX (4u * 1024 * 1024)
/* The first look is a little shorter than the later ones, so that those see what it saw. */
#define NAMES_MAX 200000u
#define READ_MAX  (24u * 1024 * 1024)
#define WALL_MS   300
#define CPU_MS    150
#define NICER     5

struct _OwRunnerSettingsMemory {
  uint32_t done;  /* written last */
  uint32_t n;
  uint32_t whole;
  char     text[];
};

typedef struct {
  int64_t  ctime;
  uint32_t kind;
  uint32_t executable;
  uint32_t length; /* of the path behind it, terminator included */
  char     hash[OW_RUNNER_HASH_SIZE];
} Record;

/* For the one process that must not have it. */
static OwRunnerSettingsMemory *memory;

void
ow_runner_settings_start_open (OwRunnerSettingsStart *self)
{
  void *map = mmap (NULL, BYTES_MAX, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  self->began = ow_runner_watch_clock ();
  self->memory = memory = map == MAP_FAILED ? NULL : map;
}

void
ow_runner_settings_start_drop (void)
{
  if (memory != NULL)
    munmap (memory, BYTES_MAX);
  memory = NULL;
}

void
ow_runner_settings_start_close (OwRunnerSettingsStart *self)
{
  ow_runner_settings_start_drop ();
  self->memory = NULL;
}

static void
put (OwRunnerSettingsMemory *self,
     const OwRunnerSettings *settings)
{
  size_t room = BYTES_MAX - sizeof *self;
  size_t at = 0;

  self->whole = settings->whole;
  for (size_t i = 0; i < settings->n; i++)
    {
      const OwRunnerSetting *setting = &settings->list[i];
      Record record = { .ctime = setting->ctime, .kind = setting->kind,
                        .executable = setting->executable,
                        .length = (uint32_t) strlen (setting->path) + 1 };

      if (at + sizeof record + record.length > room)
        {
          self->whole = false;
          break;
        }
      memcpy (record.hash, setting->hash, sizeof record.hash);
      memcpy (self->text + at, &record, sizeof record);
      at += sizeof record;
      memcpy (self->text + at, setting->path, record.length);
      at += record.length;
      self->n++;
    }
  __atomic_store_n (&self->done, 1, __ATOMIC_RELEASE);
}

void
ow_runner_settings_start_take (const OwRunnerRoots *roots)
{
  const OwRunnerSettingsBounds bounds = { NAMES_MAX, READ_MAX, WALL_MS, CPU_MS };
  OwRunnerSettings settings;
  pid_t parent = getpid ();

  if (roots->start == NULL || roots->start->memory == NULL)
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
  put (roots->start->memory, &settings);
  _exit (0);
}

bool
ow_runner_settings_start_read (const OwRunnerRoots *roots,
                               OwRunnerSettings    *self)
{
  const OwRunnerSettingsMemory *from = roots->start == NULL ? NULL : roots->start->memory;
  size_t at = 0;

  *self = (OwRunnerSettings) { 0 };
  if (from == NULL || !__atomic_load_n (&from->done, __ATOMIC_ACQUIRE))
    return false;
  self->whole = from->whole;
  self->list = ow_runner_buffer_alloc ((from->n + 1) * sizeof *self->list);
  for (; self->n < from->n; self->n++)
    {
      OwRunnerSetting *setting = &self->list[self->n];
      Record record;

      memcpy (&record, from->text + at, sizeof record);
      at += sizeof record;
      *setting = (OwRunnerSetting) { .kind = record.kind, .executable = record.executable,
                                     .ctime = record.ctime };
      memcpy (setting->hash, record.hash, sizeof setting->hash);
      setting->path = ow_runner_buffer_copy (from->text + at, record.length - 1);
      at += record.length;
    }
  return true;
}
