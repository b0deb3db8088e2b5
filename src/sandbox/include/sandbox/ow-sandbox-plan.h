/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "config/ow-config.h"
#include "sandbox/ow-folder.h"

/* All that a provider needs to raise one wall. Made by OwSandbox, immutable once
 * started but for how it ended, owned by OwSandbox. */
typedef struct {
  char      *id;          /* (owned) the sandbox's id: 12 hex digits */
  char      *session;     /* (owned) the session's id, for labels and the registry */
  GPtrArray *folders;     /* (owned) OwFolder; the first is where work starts */
  GPtrArray *hosts;       /* (owned) OwHost: the allow list */
  char      *home;        /* (owned) the private home on the host, 0700, owner uid:gid */
  char      *undo;        /* (owned) (nullable) what the file tools keep, the same; stays */
  GPtrArray *programs;    /* (owned) (nullable) OwFolder: shared with programs, read-only */
  GPtrArray *bins;        /* (owned) (nullable) char: of them, for the front of the PATH */
  GPtrArray *credentials; /* (owned) (nullable) char: names of the logins that were copied */
  char     **environment; /* (owned) (nullable) "NAME=value" for every command inside */
  char      *wrappers;    /* (owned) (nullable) folder in the home, before all on the PATH */
  char      *run_dir;     /* (owned) 0700 folder for the runner's and the proxy's sockets */
  char      *runner;      /* (owned) openworker-runner on the host */
  char      *proxy;       /* (owned) openworker-proxy on the host */
  uid_t      uid;         /* who the inside runs as: the folders' owner */
  gid_t      gid;
  char      *notice;      /* (owned) (nullable) set by the provider's start: what does not hold */
  gboolean   abandoned;   /* its wall did not end: a later start removes what it made */
} OwSandboxPlan;

/* Makes the plan: checks the folders as a set, makes id, private home and run
 * folder (removed again by ow_sandbox_plan_free() through the registry). @folders
 * are moved into the plan. */
OwSandboxPlan *ow_sandbox_plan_new  (const char *session, GPtrArray *folders,
                                     GPtrArray *hosts, GError **error);
/* Takes what can be shared of @programs (of OwPrograms), whose folders are moved into the plan.
 * Returns: (transfer full) (nullable) what cannot be, in sentences. */
char          *ow_sandbox_plan_take_programs (OwSandboxPlan *plan, GPtrArray *programs);
/* Copies what is enabled of @entries (of OwConfigCredential), and git's settings, from the person's
 * home into the plan's, in a thread (credentials/ow-credentials.h), and takes the hosts and the
 * environment that belong to them. The plan stays until it has ended. direct has no use of it:
 * there the files themselves can be read.
 * Finish gives (transfer full) (nullable) in sentences what is shared and what is not. */
void           ow_sandbox_plan_take_credentials_async  (OwSandboxPlan       *plan,
                                                        GPtrArray           *entries,
                                                        GCancellable        *cancellable,
                                                        GAsyncReadyCallback  callback,
                                                        gpointer             user_data);
gboolean       ow_sandbox_plan_take_credentials_finish (OwSandboxPlan       *plan,
                                                        GAsyncResult        *result,
                                                        char               **notice,
                                                        GError             **error);
/* Removes private home, run folder and registry entry, unless it is abandoned; never the undo
 * folder, which is the session's. */
void           ow_sandbox_plan_free (OwSandboxPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwSandboxPlan, ow_sandbox_plan_free)
