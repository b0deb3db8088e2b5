/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event-list.h"
#include "events/ow-level.h"

/* New executable settings: files that a session made or changed and that programs outside run by
 * themselves later, or take programs to run from (docs/security.md). The runner finds them
 * (docs/runner-protocol.md), and what it says is data: checked here, member by member.
 *
 * What is known of a session stands in its events. Any thread. */

/* Of one look, and of all of a session. */
#define OW_SETTINGS_MAX 500u

/* What may be missing in what a session's events tell. */
typedef struct {
  gboolean due;    /* a call that could change something has run since the last look */
  gboolean late;   /* in a run before this one, which was not looked at at its end */
  gint64   since;  /* nanoseconds since the epoch for the tool `settings`; 0: not needed */
} OwSettingsDue;

OwSettingsDue ow_settings_get_due (OwEventList *events);
/* The same for a sandbox that is made only for the look. */
OwSettingsDue ow_settings_get_due_later (OwEventList *events);
/* New reference: the arguments of the tool for it. */
json_t       *ow_settings_for_look (const OwSettingsDue *due);

/* New reference: the members of an executable-settings event for what the tool @structured said;
 * NULL: nothing that the session's events do not have yet. @folders: the session's. */
json_t       *ow_settings_read    (OwEventList *events, const json_t *structured,
                                   const json_t *folders, OwLevel level, gboolean late);
/* New reference: the settings of all such events, each path once, as it was told last. @cut
 * (out): not all was looked at, or is listed. */
json_t       *ow_settings_collect (OwEventList *events, gboolean *cut);
