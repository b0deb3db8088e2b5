/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ow-runner-keep-private.h"
#include "ow-runner-path-private.h"
#include "ow-runner-tool-private.h"

/* Files in the folders that a program outside runs by itself, or that name programs which it
 * then runs: hooks and configuration of git, settings of editors, agents, build servers, what
 * a shell, a package manager or the desktop reads. A picture of them is taken when the runner
 * starts and again when the tool `settings` is asked; it says what is another one since.
 *
 * A picture is bounded in names, bytes and time; folders are gone over level by level, so what is
 * missed lies deepest. A link among the files counts with what it leads to in the folders. The
 * bounds and the lists of names are ours. */

typedef enum {
  OW_RUNNER_SETTING_NONE,
  OW_RUNNER_SETTING_GIT_HOOK,
  OW_RUNNER_SETTING_GIT_CONFIG,
  OW_RUNNER_SETTING_GIT_REPOSITORY,
  OW_RUNNER_SETTING_HOOKS,       /* of a manager of git hooks */
  OW_RUNNER_SETTING_EDITOR,
  OW_RUNNER_SETTING_AGENT,
  OW_RUNNER_SETTING_ENVIRONMENT, /* read when the folder is entered */
  OW_RUNNER_SETTING_PACKAGE,
  OW_RUNNER_SETTING_PIPELINE,
  OW_RUNNER_SETTING_STARTUP,     /* of a shell, a desktop, a login */
  OW_RUNNER_SETTING_INTERPRETER,
  OW_RUNNER_SETTING_N,
} OwRunnerSettingKind;

const char         *ow_runner_setting_name    (OwRunnerSettingKind kind);

/* What a file called @name is in a folder called @folder of the kind @inherited. */
OwRunnerSettingKind ow_runner_setting_of_file   (const char         *folder,
                                                 const char         *name,
                                                 OwRunnerSettingKind inherited);
/* What all files below the folder @path (absolute) are; NONE: each by its own name. */
OwRunnerSettingKind ow_runner_setting_of_folder (const char         *path);

/* (owned, malloc) of a manifest of packages the part that names programs, in one form for equal
 * ones; NULL where it names none. What cannot be read is all of it. */
char               *ow_runner_setting_scripts   (const char *content,
                                                 size_t      length);

/* Calls @func for each path in a configuration of git that leads to hooks (@is_hooks) or to more
 * configuration, as it stands there. */
typedef void (*OwRunnerSettingPathFunc) (const char *path,
                                         bool        is_hooks,
                                         void       *user_data);
void                ow_runner_setting_git_paths (const char              *content,
                                                 size_t                   length,
                                                 OwRunnerSettingPathFunc  func,
                                                 void                    *user_data);

typedef struct {
  char               *path; /* (owned) absolute, its own bytes */
  OwRunnerSettingKind kind;
  bool                executable;
  int64_t             ctime; /* nanoseconds of the wall clock */
  char                hash[OW_RUNNER_HASH_SIZE]; /* "": a folder, or it could not be read */
} OwRunnerSetting;

typedef struct {
  OwRunnerSetting *list;  /* (owned) each path once, in the order of their bytes */
  size_t           n;
  size_t           size;
  bool             whole; /* all of the folders were looked at */
} OwRunnerSettings;

typedef struct {
  size_t names;
  size_t bytes; /* of files that are read */
  int    wall_ms;
  int    cpu_ms;
} OwRunnerSettingsBounds;

void ow_runner_settings_take  (OwRunnerSettings       *self,
                               const OwRunnerRoots    *roots,
                               OwRunnerSettingsBounds  bounds);
void ow_runner_settings_clear (OwRunnerSettings       *self);

/* The picture that was taken at the start, where the tool's process finds it. */
typedef struct _OwRunnerSettingsMemory OwRunnerSettingsMemory;
typedef struct _OwRunnerSettingsStart {
  OwRunnerSettingsMemory *memory; /* (owned) (nullable) shared with what is forked */
  int64_t                 began;  /* wall clock as the kernel stamps files with it */
} OwRunnerSettingsStart;

void ow_runner_settings_start_open  (OwRunnerSettingsStart *self);
/* In a process that commands can look at. */
void ow_runner_settings_start_drop  (void);
void ow_runner_settings_start_close (OwRunnerSettingsStart *self);
/* In a process of its own: takes the picture and puts it there. */
void ow_runner_settings_start_take  (const OwRunnerRoots   *roots);
/* False: it is not there, or not yet. */
bool ow_runner_settings_start_read  (const OwRunnerRoots   *roots,
                                     OwRunnerSettings      *self);
