/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "containers/ow-container-engine.h"
#include "openshell/ow-openshell.h"

/* Whether sandboxes of OpenShell can be made on this machine now, and with what. The thread of
 * the engine. */

/* The base image that the program was tested with, by its digest. Source:
 * docs/openshell-contract.md, "Base image". */
#define OW_OPENSHELL_BASE_IMAGE \
        "ghcr.io/nvidia/openshell-community/sandboxes/base@sha256:" \
        "aeef1c63f00e2913ea002ccb3aaf925f338b5c5d70e63576f0d95c16a138044e"
/* Names another one. */
#define OW_OPENSHELL_IMAGE_VARIABLE "OPENWORKER_SANDBOX_IMAGE"

/* What a check found. Immutable. */
typedef struct {
  int                 refs;
  OwOpenshell        *openshell;  /* (owned) */
  OwOpenshellGateway *gateway;    /* (owned) */
  OwContainerEngine  *engine;     /* (owned) (nullable) of a gateway that is not here */
  char               *version;    /* (owned) of the command */
  char               *image;      /* (owned) */
  gboolean            selinux;    /* the kernel enforces SELinux */
} OwOpenshellFacts;

OwOpenshellFacts *ow_openshell_facts_ref   (OwOpenshellFacts *facts);
void              ow_openshell_facts_unref (OwOpenshellFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwOpenshellFacts, ow_openshell_facts_unref)

/* Asks for version, gateway, engine and image side by side. What was found good is not asked
 * again for 30 s in this process, but for the settings. Every error is OW_ERROR_REFUSED, "Sessions
 * on this machine are refused: …", or OW_ERROR_INTERRUPTED. */
void              ow_openshell_check_async  (GCancellable *cancellable,
                                             GAsyncReadyCallback callback, gpointer user_data);
/* A new reference. */
OwOpenshellFacts *ow_openshell_check_finish (GAsyncResult *result, GError **error);
/* Something failed that the check had found good: ask again. */
void              ow_openshell_check_forget (void);
/* TRUE where the file @enforce (/sys/fs/selinux/enforce) says that SELinux is enforced. */
gboolean          ow_openshell_check_is_enforcing (const char *enforce);
