/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-sandbox-plan.h"

/* What is where in a sandbox, and what a command may do there: one list for each wall, from which
 * its making (bubblewrap's options, the runner's Landlock rules, OpenShell's policy and mounts) and
 * its explanation come. Data alone: nothing here looks at the machine. Any thread. */

#define OW_WALL_RUNNER_DIR "/opt/openworker"
#define OW_WALL_RUNNER     OW_WALL_RUNNER_DIR "/openworker-runner"
#define OW_WALL_RUN        "/run/ow"

typedef enum {
  OW_WALL_WAY,      /* nothing of its own: what leads to other places */
  OW_WALL_IMAGE,    /* of OpenShell's image, whatever is there */
  OW_WALL_BIND,     /* this machine's own, at the same path */
  OW_WALL_BIND_TRY, /* the same, where there is one */
  OW_WALL_LINK,
  OW_WALL_DIR,      /* a folder of the sandbox's own, that stays as it is */
  OW_WALL_EMPTY,    /* one that is empty at the start */
  OW_WALL_FILE,     /* a file of the sandbox's own */
  OW_WALL_PROC,
  OW_WALL_DEV,
  OW_WALL_HANDED,   /* of the plan */
} OwWallKind;

/* Why it is there; ow_wall_rule_to_string() has their names. */
typedef enum {
  OW_WALL_RULE_NONE,
  OW_WALL_RULE_WAY,
  OW_WALL_RULE_IMAGE,
  OW_WALL_RULE_SYSTEM,
  OW_WALL_RULE_ETC,
  OW_WALL_RULE_ETC_OWN,
  OW_WALL_RULE_PROC,
  OW_WALL_RULE_DEV,
  OW_WALL_RULE_TMP,
  OW_WALL_RULE_RUN,
  OW_WALL_RULE_SOCKETS,
  OW_WALL_RULE_RUNNER,
  OW_WALL_RULE_PROGRAM,
  OW_WALL_RULE_FOLDER,
  OW_WALL_RULE_HOME,
  OW_WALL_RULE_UNDO,
} OwWallRule;

/* What Landlock lets a command do, there and below. */
typedef enum {
  OW_WALL_NOTHING = 0,
  OW_WALL_LIST    = 1 << 0,
  OW_WALL_READ    = 1 << 1, /* and list, and run */
  OW_WALL_WRITE   = 1 << 2, /* and all of that */
  OW_WALL_SERVER  = 1 << 3, /* the runner alone, and no command */
} OwWallRights;

typedef struct {
  OwWallKind   kind;
  OwWallRule   rule;
  const char  *path;
  const char  *detail;    /* (nullable) LINK: where to; DIR, EMPTY: the mode; HANDED: whence */
  OwWallRights rights;
  gboolean     read_only; /* the mount itself */
  guint        index;     /* FOLDER and PROGRAM: which of the plan's */
} OwWallPlace;

/* A top-level name such as /bin: a link (@target) or a directory of its own (NULL). */
typedef struct {
  const char *name;
  const char *target;
} OwWallLink;

/* Arrays of OwWallPlace in the order of mounting, outer ones first. They point into @plan and
 * @links. @plan (nullable): only what every sandbox has. */
GArray *ow_wall_view_bubblewrap (const OwSandboxPlan *plan, const OwWallLink *links,
                                 guint n_links);
GArray *ow_wall_view_openshell  (const OwSandboxPlan *plan);

/* The machine's own top-level names; @targets are g_free()d by the caller. Reads / only.
 * Returns: how many of the @links were filled, at most OW_WALL_LINKS. */
#define OW_WALL_LINKS 8
guint   ow_wall_view_read_links (OwWallLink links[OW_WALL_LINKS], char *targets[OW_WALL_LINKS]);

/* The option that gives the runner @place's rights; NULL where it has none of its own. */
const char *ow_wall_place_landlock (const OwWallPlace *place);
