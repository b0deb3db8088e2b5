/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "config/ow-config-credentials.h"

/* What one sandbox gets of the person's logins (REQ-S01 to S03): copies in its private home, made
 * owner-only from their first byte, never the files themselves. Git's own settings are always
 * among them, without what in them is a login.
 *
 * The copies belong to the private home and go with it: whoever removes that folder (the plan, or
 * the registry for a run that was killed) removes them. */

typedef struct {
  GPtrArray *shared;      /* (owned) of char: names of the entries that were copied */
  GPtrArray *hosts;       /* (owned) of OwHost: what they are good for */
  GPtrArray *environment; /* (owned) of char "NAME=value" for every command */
  char      *bin;         /* (owned) (nullable) folder for the front of the PATH */
  GPtrArray *sentences;   /* (owned) of char: for the person and the agent; never a secret */
} OwCredentials;

/* Where from, and where to. */
typedef struct {
  char      *person;  /* (owned) the home of the person */
  char      *home;    /* (owned) the private home, which is there and empty */
  uid_t      uid;     /* whose the copies are to be */
  gid_t      gid;
  char      *runner;  /* (owned) where openworker-runner is inside: it leads ssh to the proxy */
  char      *kubeconfig; /* (owned) (nullable) the person's KUBECONFIG */
  GPtrArray *entries; /* (owned) of OwConfigCredential; those that are off are passed over */
} OwCredentialsRequest;

OwCredentialsRequest *ow_credentials_request_new  (const char *person, const char *home,
                                                   const char *runner);
void                  ow_credentials_request_free (OwCredentialsRequest *request);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwCredentialsRequest, ow_credentials_request_free)

void           ow_credentials_free (OwCredentials *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwCredentials, ow_credentials_free)

/* Copies. Blocks on the disk until @deadline (of g_get_monotonic_time()); any thread. What cannot
 * be copied is left out and said; an error is only a private home that cannot be written, a stop
 * and the deadline. */
OwCredentials *ow_credentials_take (const OwCredentialsRequest *request,
                                    gint64                      deadline,
                                    GCancellable               *cancellable,
                                    GError                    **error);

/* The same in a thread of its own, with a deadline of 30 s. Where the disk does not even answer
 * then, the thread is left to itself: it can write nothing into a private home that has been
 * removed. @request is moved in. */
void           ow_credentials_take_async  (OwCredentialsRequest *request,
                                           GCancellable         *cancellable,
                                           GAsyncReadyCallback   callback,
                                           gpointer              user_data);
OwCredentials *ow_credentials_take_finish (GAsyncResult         *result,
                                           GError              **error);
