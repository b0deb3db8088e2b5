/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "sandbox/ow-attach.h"
#include "wire/ow-mcp-client.h"

/* One `attach`: its stream and the MCP client on it, from the hello to
 * the break. OwChannel makes a new one whenever the stream breaks. Nothing is sent
 * before the hello, because what is written before the other side has taken over a
 * terminal or a socket can end anywhere.
 *
 * Final GObject, main thread. After ow_channel_link_close() no handler and no reply
 * function is called any more. */

#define OW_TYPE_CHANNEL_LINK (ow_channel_link_get_type ())
G_DECLARE_FINAL_TYPE (OwChannelLink, ow_channel_link, OW, CHANNEL_LINK, GObject)

typedef struct {
  /* Once: initialized (@error NULL), or it never came to that. */
  void (*ready)(OwChannelLink *link, const GError *error, gpointer user_data);
  /* Bytes have come and were dealt with. */
  void (*received)(OwChannelLink *link, gpointer user_data);
  /* From the hello on: a newer connection gets the output of running calls at once. */
  void (*notification)(OwChannelLink *link, const char *method, json_t *params,
                       gpointer user_data);
  /* Once, after ready. @hostile: what came cannot be a runner of ours. */
  void (*broken)(OwChannelLink *link, const char *reason, gboolean hostile,
                 gpointer user_data);
} OwChannelLinkHandlers;

OwChannelLink *ow_channel_link_new  (const OwChannelLinkHandlers *handlers,
                                     gpointer                     user_data);
/* Spawns what @attach says. The outcome is told by ready, never from within this function. */
void           ow_channel_link_open (OwChannelLink  *self,
                                     const OwAttach *attach,
                                     guint           hello_ms);
/* The same without a live stream, by @attach's once_argv: ow-channel-once-private.h. */
void           ow_channel_link_open_once (OwChannelLink  *self,
                                          const OwAttach *attach,
                                          guint           hello_ms);
/* Before ow_channel_link_open(): what is said until then goes out blindly, behind initialize, and
 * nothing can be said afterwards. Its end is told as broken, good or bad. */
void           ow_channel_link_begin_batch (OwChannelLink *self);
void           ow_channel_link_close (OwChannelLink *self);
/* The runner's instance id; NULL before the hello. */
const char    *ow_channel_link_get_instance   (OwChannelLink *self);
guint          ow_channel_link_get_violations (OwChannelLink *self);
/* What the relay said besides, as ow_channel_stream_get_complaint(). */
const char    *ow_channel_link_get_complaint  (OwChannelLink *self);

/* Steals @params. @reply gets what OwMcpReplyFunc says. */
json_int_t     ow_channel_link_request (OwChannelLink *self,
                                        const char    *method,
                                        json_t        *params,
                                        OwMcpReplyFunc reply,
                                        gpointer       user_data);
/* The reply to @id is no longer wanted: it is dropped when it comes. */
void           ow_channel_link_forget  (OwChannelLink *self,
                                        json_int_t     id);
/* Whether the runner may have got the request, which has no reply yet. */
gboolean       ow_channel_link_has_sent (OwChannelLink *self,
                                         json_int_t     id);
void           ow_channel_link_notify  (OwChannelLink *self,
                                        const char    *method,
                                        json_t        *params);
