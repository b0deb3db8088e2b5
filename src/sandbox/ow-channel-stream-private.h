/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "sandbox/ow-attach.h"

/* The bytes to and from one process that relays to the runner: a pipe or a terminal as its
 * stdin, pipes as its stdout and stderr. What it wrote to stderr, and what it said before anyone
 * called it good, is kept: it is all there is to say why the stream broke. How the process ended
 * is not looked at: the end of a relay says nothing about what it relayed.
 *
 * Final GObject, the thread of the engine. After ow_channel_stream_close() no handler is called
 * any more. */

#define OW_TYPE_CHANNEL_STREAM (ow_channel_stream_get_type ())
G_DECLARE_FINAL_TYPE (OwChannelStream, ow_channel_stream, OW, CHANNEL_STREAM, GObject)

typedef struct {
  /* At least one byte, valid during the call. */
  void (*received)(const char *data, gsize length, gpointer user_data);
  /* Once: nothing comes any more, or nothing can be written. */
  void (*ended)(const char *reason, gpointer user_data);
} OwChannelStreamHandlers;

OwChannelStream *ow_channel_stream_new   (const OwChannelStreamHandlers *handlers,
                                          gpointer                       user_data);
/* Spawns @argv and begins to read. @terminal: stdin is a raw terminal. */
gboolean         ow_channel_stream_open  (OwChannelStream    *self,
                                          const char * const *argv,
                                          const char * const *envp,
                                          gboolean            terminal,
                                          GError            **error);
void             ow_channel_stream_close (OwChannelStream    *self);

/* FALSE: too much waits for a process that does not read, and this was not taken. */
gboolean         ow_channel_stream_write (OwChannelStream    *self,
                                          const char         *data,
                                          gsize               length);
/* Closes stdin once all is written: pipes only. */
void             ow_channel_stream_shut  (OwChannelStream    *self);
/* When bytes were last handed to the process (g_get_monotonic_time()); whether some wait to be. */
gint64           ow_channel_stream_get_written_us (OwChannelStream *self);
gboolean         ow_channel_stream_is_writing     (OwChannelStream *self);

/* What comes on stdout from now on is the runner's. */
void             ow_channel_stream_accept         (OwChannelStream *self);
/* What the relay itself said: at most 16 KiB of valid UTF-8, which may hold escape sequences;
 * "" when nothing. Borrowed until the next call. */
const char      *ow_channel_stream_get_complaint  (OwChannelStream *self);
