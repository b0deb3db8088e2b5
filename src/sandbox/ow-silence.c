/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-silence-private.h"

#include <time.h>

/* The two clocks are read one after the other: less than this is no suspend. */
#define SUSPEND_US (500 * G_TIME_SPAN_MILLISECOND)

static gint64
read_clock (clockid_t id)
{
  struct timespec now = { 0 };

  clock_gettime (id, &now);
  return (gint64) now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

OwSilenceClocks
ow_silence_clocks (void)
{
  OwSilenceClocks clocks;

  clocks.monotonic_us = read_clock (CLOCK_MONOTONIC);
  clocks.boottime_us = read_clock (CLOCK_BOOTTIME);
  return clocks;
}

void
ow_silence_heard (OwSilence      *self,
                  OwSilenceClocks now)
{
  self->since_us = now.monotonic_us;
  self->ahead_us = now.boottime_us - now.monotonic_us;
}

gint64
ow_silence_measure (OwSilence      *self,
                    OwSilenceClocks now)
{
  gint64 ahead_us = now.boottime_us - now.monotonic_us;

  /* What was on its way when the machine slept still has to arrive. */
  if (ahead_us - self->ahead_us > SUSPEND_US)
    ow_silence_heard (self, now);
  return MAX (0, now.monotonic_us - self->since_us) / 1000;
}
