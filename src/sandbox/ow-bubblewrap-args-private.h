/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-wall-view-private.h"

/* The argument vectors of the bubblewrap wall, from data alone: nothing here looks at
 * the machine or opens anything. Any thread. */

#define OW_BUBBLEWRAP_PROGRAM "/usr/bin/bwrap"
#define OW_BUBBLEWRAP_RUNNER  OW_WALL_RUNNER
#define OW_BUBBLEWRAP_RUN     OW_WALL_RUN

/* Numbers that descriptors have in bwrap. -1 in the folder part: a trial without a plan. */
typedef struct {
  int args;
  int seccomp;
  int passwd;
  int group;
  int nsswitch;
  int hosts;
  int resolv;
  int home;
  int undo;           /* only where the plan has one */
  int run_dir;
  int runner;
  int info;           /* for the number of the first process inside */
  int block;          /* the inside waits until there is something to read */
  const int *programs; /* one for each of the plan's, (nullable) without any */
  const int *folders; /* one for each of the plan's, in its order */
} OwBubblewrapFds;

typedef struct {
  const char             *program; /* (nullable) NULL: the fixed one */
  const OwSandboxPlan    *plan;   /* (nullable) NULL: only the walls, for a trial */
  uid_t                   uid;    /* who the inside runs as */
  const char             *user;   /* that account's name */
  gboolean                disable_userns;
  const char * const     *masked;  /* (nullable) files below /proc that nobody opens */
  guint                   max_processes; /* inside, 0: the runner sets no limit */
  const OwWallLink *links;
  guint                   n_links;
  OwBubblewrapFds         fds;
} OwBubblewrapArgs;

/* bwrap's options, without the program and the command: what `--args` reads. (transfer full) */
char  **ow_bubblewrap_args_options (const OwBubblewrapArgs *args);
/* Each terminated by NUL, as `--args` wants them. */
GBytes *ow_bubblewrap_args_pack    (char **options);
/* The whole argv of bwrap: `--args` and the command. (transfer full) */
char  **ow_bubblewrap_args_argv    (const OwBubblewrapArgs *args);

/* Contents of /etc/passwd and /etc/group inside. */
char   *ow_bubblewrap_args_passwd  (uid_t uid, gid_t gid, const char *user, const char *home);
char   *ow_bubblewrap_args_group   (gid_t gid, const char *user);
/* @name when it is one that a passwd line can hold, else "user". */
const char *ow_bubblewrap_args_user (const char *name);
