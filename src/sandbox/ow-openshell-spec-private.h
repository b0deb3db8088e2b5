/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-openshell-check-private.h"
#include "sandbox/ow-sandbox-plan.h"

/* All that `openshell sandbox create` is given for one plan. */
typedef struct {
  OwOpenshellSpec spec;      /* points into what follows */
  char           *name;      /* (owned) */
  char           *policy;    /* (owned) full path; the file goes with the plan's run folder */
  char           *mounts;    /* (owned) JSON */
  char          **labels;    /* (owned) */
  char          **command;   /* (owned) */
  char           *cpu;       /* (owned) (nullable) */
  char           *memory;    /* (owned) (nullable) */
} OwOpenshellWords;

/* The runner's socket, inside. */
#define OW_OPENSHELL_SOCKET "/tmp/.openworker.sock"

/* Checks the folders once more, by descriptor, and writes the policy. OW_ERROR_REFUSED. */
OwOpenshellWords *ow_openshell_words_new  (const OwSandboxPlan *plan,
                                           const OwOpenshellFacts *facts, GError **error);
void              ow_openshell_words_free (OwOpenshellWords *words);
/* The main command: `serve` with the folders and home of @plan, closed with Landlock once more from
 * inside. (transfer full) Pure. */
char            **ow_openshell_words_command (const OwSandboxPlan *plan);
/* The mounts for @driver, outer folders first. (transfer full) Pure. */
char             *ow_openshell_words_mounts  (const OwSandboxPlan *plan, const char *driver,
                                              gboolean selinux, GError **error);
