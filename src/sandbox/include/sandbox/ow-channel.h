/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "sandbox/ow-attach.h"
#include "tools/ow-tool-host.h"

/* The host's end of the channel to a runner (docs/runner-protocol.md): runs `attach`,
 * waits for its hello, initializes, sends calls, and attaches again when the stream
 * breaks, asking for each open call instead of repeating it. What arrives is data:
 * violations are counted and over a limit the runner is untrusted and the channel
 * closed.
 *
 * Final GObject, the thread of the engine. Signal "lost" (const char *reason): the runner is
 * another instance, gone, does not know an open call or is untrusted; open calls have
 * ended OW_OUTCOME_INTERRUPTED and the channel is of no more use. Signal "unreached" (const char
 * *complaint): the stream broke and an attempt to attach again failed; it goes on trying.
 * @complaint is what the relay said, as ow_channel_get_complaint(); the owner may know from it
 * that there is no use and give up. */

#define OW_TYPE_CHANNEL (ow_channel_get_type ())
G_DECLARE_FINAL_TYPE (OwChannel, ow_channel, OW, CHANNEL, GObject)

/* Deadlines in ms, for tests to shorten; 0, and NULL in ow_channel_new(): the default. */
typedef struct {
  guint hello_ms;     /* 5,000 */
  guint silence_ms;   /* 10,000: then a second attach is asked; a ping after half of it */
  guint request_ms;   /* 10,000: ping, probe, resume */
  guint cancel_ms;    /* 6,000: how long a stopped call may take to say so */
  guint call_ms;      /* 660,000: how long a call may take at all; exec has no limit */
  guint idle_ms;      /* 60,000: a ping with nothing to do, for the runner's lease */
} OwChannelTimes;

/* @attach is copied. */
OwChannel *ow_channel_new            (const OwAttach       *attach,
                                      const OwChannelTimes *times);
/* Completes when the runner has said hello, has our version, and is initialized. */
void       ow_channel_connect_async  (OwChannel *self, GCancellable *cancellable,
                                      GAsyncReadyCallback callback, gpointer user_data);
gboolean   ow_channel_connect_finish (OwChannel *self, GAsyncResult *result, GError **error);
const char *ow_channel_get_instance  (OwChannel *self); /* NULL before connect */
/* Whether no live stream came about, so that each thing said is a command of its own. */
gboolean   ow_channel_is_once        (OwChannel *self);
/* What the process that relays to the runner said of the latest attach that failed or broke: its
 * stderr, or what came on stdout before the runner did. At most 16 KiB of valid UTF-8, escape
 * sequences and all; "" when nothing. Borrowed until the next turn of the main loop. */
const char *ow_channel_get_complaint (OwChannel *self);

/* As OwToolHost's call. */
void          ow_channel_call_async  (OwChannel *self, const char *call_id, const char *tool,
                                      const json_t *arguments, OwToolOutputFunc output,
                                      gpointer output_data, GCancellable *cancellable,
                                      GAsyncReadyCallback callback, gpointer user_data);
OwToolResult *ow_channel_call_finish (OwChannel *self, GAsyncResult *result, GError **error);

/* An extension request (probe, ping); @params stolen; the result is a new reference. */
void     ow_channel_request_async  (OwChannel *self, const char *method, json_t *params,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
json_t  *ow_channel_request_finish (OwChannel *self, GAsyncResult *result, GError **error);
/* What is told of the attempts to attach again should they come to nothing; NULL: what the relay
 * said. Counts until it is attached. */
void     ow_channel_set_cause      (OwChannel *self, const char *cause);
/* The owner knows that the runner is gone: as if the channel had found it out. */
void     ow_channel_give_up        (OwChannel *self, const char *reason);
/* Ends it for good, without "lost"; open calls end interrupted. */
void     ow_channel_close          (OwChannel *self);
