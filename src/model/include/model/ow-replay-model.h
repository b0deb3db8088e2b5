/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "model/ow-model.h"

/* A recorded conversation (docs/recordings.md): JSON lines of events. Its model turns
 * are the model-message events in order; its tool calls really run, and what comes
 * back is held against the recorded tool-ended events' "result_pattern" (a PCRE
 * pattern, unanchored, dot matches newline; one that matches the empty string is
 * refused when the file is read). A mismatch, a turn too many, or recorded turns left
 * over end the replay with an error that names call, pattern and result. Final, the
 * thread of the engine. */

#define OW_TYPE_REPLAY_MODEL (ow_replay_model_get_type ())
G_DECLARE_FINAL_TYPE (OwReplayModel, ow_replay_model, OW, REPLAY_MODEL, GObject)

OwReplayModel *ow_replay_model_new (const char *path, GError **error);
