/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-channel-link-private.h"

/* A link without a stream: what there is to say is gathered and goes out as a batch, by one
 * process of `attach --once` each. A batch that has something new to say takes the place of the
 * one before it and joins the calls that this one was waiting for; it is begun only when every
 * question that cannot be joined has its answer. All but the first batch name the runner's
 * instance, so that what was meant for one is never done by another.
 *
 * Plain struct, owned by the link whose face it has. Main thread. */

/* Bytes of one batch: `attach --once` takes no more, and a relay may take less. */
#define OW_CHANNEL_ONCE_BYTES (4u * 1024u * 1024u)

typedef struct _OwChannelOnce OwChannelOnce;

/* @handlers are called with @owner and @user_data, as those of a link. */
OwChannelOnce *ow_channel_once_new (OwChannelLink               *owner,
                                    const OwChannelLinkHandlers *handlers,
                                    gpointer                     user_data);
void           ow_channel_once_free (OwChannelOnce *self);

/* As the functions of a link. */
void           ow_channel_once_open (OwChannelOnce  *self,
                                     const OwAttach *attach,
                                     guint           hello_ms);
void           ow_channel_once_close (OwChannelOnce *self);
const char    *ow_channel_once_get_instance   (OwChannelOnce *self);
guint          ow_channel_once_get_violations (OwChannelOnce *self);
const char    *ow_channel_once_get_complaint  (OwChannelOnce *self);
json_int_t     ow_channel_once_request (OwChannelOnce *self,
                                        const char    *method,
                                        json_t        *params,
                                        OwMcpReplyFunc reply,
                                        gpointer       user_data);
void           ow_channel_once_forget (OwChannelOnce *self,
                                       json_int_t     id);
gboolean       ow_channel_once_has_sent (OwChannelOnce *self,
                                         json_int_t     id);
void           ow_channel_once_notify (OwChannelOnce *self,
                                       const char    *method,
                                       json_t        *params);
