/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Measures how long nothing has been heard. Time during which the machine was
 * suspended is no silence: neither side could speak. Both clocks are handed in, so that
 * a test can suspend. Plain struct, one owner. */
typedef struct {
  gint64 since_us;    /* CLOCK_MONOTONIC, which stands still in suspend */
  gint64 ahead_us;    /* how far CLOCK_BOOTTIME, which does not, is ahead of it */
} OwSilence;

typedef struct {
  gint64 monotonic_us;
  gint64 boottime_us;
} OwSilenceClocks;

OwSilenceClocks ow_silence_clocks  (void);
/* Something was heard. */
void            ow_silence_heard   (OwSilence *self, OwSilenceClocks now);
/* Milliseconds of silence; 0 and a new start when the machine was suspended meanwhile. */
gint64          ow_silence_measure (OwSilence *self, OwSilenceClocks now);
