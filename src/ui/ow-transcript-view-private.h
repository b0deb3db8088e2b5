/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

#include "ow-transcript-private.h"

/* A transcript on the screen. It stays at its end while the person is there, and where they
 * scrolled to otherwise. */

#define OW_TYPE_TRANSCRIPT_VIEW (ow_transcript_view_get_type ())
G_DECLARE_FINAL_TYPE (OwTranscriptView, ow_transcript_view, OW, TRANSCRIPT_VIEW, GtkWidget)

/* @transcript (nullable) */
void ow_transcript_view_set_transcript (OwTranscriptView *self, OwTranscript *transcript);
void ow_transcript_view_scroll_to_end  (OwTranscriptView *self);
