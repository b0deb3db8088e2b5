/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-channel.h"
#include "sandbox/ow-sandbox.h"

/* Shared by the files of OwSandbox: ow-sandbox.c raises it and takes it down, ow-sandbox-calls.c
 * hands calls in and gives it other folders. */

typedef enum {
  OW_SANDBOX_NEW,
  OW_SANDBOX_STARTING,
  OW_SANDBOX_UP,
  OW_SANDBOX_LOST,
  OW_SANDBOX_CHANGING, /* the old wall goes, to be raised with other folders */
  OW_SANDBOX_STOPPING,
  OW_SANDBOX_STOPPED,
} OwSandboxState;

struct _OwSandbox
{
  GObject            parent_instance;

  OwSandboxProvider *provider;    /* (owned) */
  char              *session;     /* (owned) */
  GPtrArray         *folders;     /* (owned) (nullable) of the next plan */
  GPtrArray         *hosts;       /* (owned) (nullable) of each plan */
  OwSandboxState     state;
  OwSandboxPlan     *plan;        /* (owned) (nullable) outlives the instance */
  OwSandboxInstance *instance;    /* (owned) (nullable) */
  OwChannel         *channel;     /* (owned) (nullable) */
  GTask             *starting;    /* (owned) (nullable) */
  GCancellable      *cancellable; /* (owned) ends the start */
  GSource           *caller;      /* (owned) (nullable) the starter's cancellable */
  GError            *failure;     /* (owned) (nullable) why it is being torn down */
  gboolean           proven;      /* channel and mounts, or there is a failure of them */
  gboolean           verified;    /* the rest, likewise */
  gboolean           reaping;     /* what is left at the gateway is being looked for beside it */
  gboolean           waits;       /* all but that is through */
  GError            *unproven;    /* (owned) (nullable) */
  GError            *unverified;  /* (owned) (nullable) */
  GPtrArray         *stops;       /* (owned) GTask: who waits for the end */
  GPtrArray         *changes;     /* (owned) GTask: who waits for other folders */
  GPtrArray         *held;        /* (owned) calls that wait until those are there */
  guint              n_calls;     /* that run */
  char              *only;        /* (owned) (nullable) id of the call that all others wait for */
  char              *notice;      /* (owned) (nullable) */
  gboolean           shares;      /* copies of logins, and git's settings, come inside */
  OwConfig          *settings;    /* (owned) (nullable) of the plan that is being made */
};

/* Borrowed; NULL unless started. For the proof of the wall. */
OwChannel *ow_sandbox_get_channel   (OwSandbox *self);

/* Raises a wall around self->folders. */
void       ow_sandbox_begin         (OwSandbox *self);
/* Ends a start. @error is moved in. */
void       ow_sandbox_fail          (OwSandbox *self, GError *error);

/* The wall is up with the new folders, or will never be. */
void       ow_sandbox_changed       (OwSandbox *self);
void       ow_sandbox_change_failed (OwSandbox *self);
void       ow_sandbox_held_free     (gpointer held);
void       ow_sandbox_host_init     (OwToolHostInterface *iface);
