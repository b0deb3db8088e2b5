/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* Looks at config.toml when it changes, also where it is a link, and tells when it has become one
 * that cannot be used, or can be used again. Every session reads the file itself when it starts:
 * this is for the person only, and where nothing can be watched nothing is told. The thread of the
 * engine. */

typedef struct _OwEngineSettingsWatch OwEngineSettingsWatch;

/* @fault: the sentence; NULL: the settings can be used again. Once for each change of it. */
typedef void (*OwEngineSettingsFault) (const char *fault,
                                       gpointer    user_data);

/* The first look is at the file as it is now. */
OwEngineSettingsWatch *ow_engine_settings_watch_new  (OwEngineSettingsFault   func,
                                                      gpointer                user_data);
/* @func is not called any more. */
void                   ow_engine_settings_watch_free (OwEngineSettingsWatch  *self);
