/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* What went wrong with a call of `openshell`, as a class that the program can act on. The
 * command's exit status never tells them apart (docs/openshell-contract.md), so they are read from
 * its error text, of which the raw form is kept. */

typedef enum {
  OW_OPENSHELL_FAULT_NONE,
  OW_OPENSHELL_FAULT_NOT_INSTALLED,   /* no such program, or it cannot be run */
  OW_OPENSHELL_FAULT_OTHER_VERSION,   /* not the release that was tested */
  OW_OPENSHELL_FAULT_GATEWAY_DOWN,    /* nothing listens, or the connection broke */
  OW_OPENSHELL_FAULT_NOT_GATEWAY,     /* something answers, but not OpenShell */
  OW_OPENSHELL_FAULT_NOT_REGISTERED,  /* no gateway configured */
  OW_OPENSHELL_FAULT_NOT_AUTHENTICATED,
  OW_OPENSHELL_FAULT_CERTIFICATE,     /* the gateway's certificate changed: register again */
  OW_OPENSHELL_FAULT_BIND_MOUNTS_OFF, /* the driver may not mount folders of the host */
  OW_OPENSHELL_FAULT_IMAGE_ABSENT,    /* not there and not to be had */
  OW_OPENSHELL_FAULT_IMAGE_DENIED,    /* the registry refuses a login */
  OW_OPENSHELL_FAULT_DISK_FULL,
  OW_OPENSHELL_FAULT_MOUNT_SOURCE,    /* a folder is not where the engine looks for it */
  OW_OPENSHELL_FAULT_POLICY,          /* the policy was not accepted, or names what is not there */
  OW_OPENSHELL_FAULT_LANDLOCK,        /* the kernel does not do what the policy demands */
  OW_OPENSHELL_FAULT_MAIN_EXITED,     /* the sandbox's main command ended */
  OW_OPENSHELL_FAULT_INVALID,         /* an argument was refused (name, label, limit …) */
  OW_OPENSHELL_FAULT_NAME_TAKEN,      /* a sandbox of that name is there */
  OW_OPENSHELL_FAULT_NOT_FOUND,       /* no such sandbox */
  OW_OPENSHELL_FAULT_NOT_READY,       /* it is there, but in another phase */
  OW_OPENSHELL_FAULT_RELAY_CLOSED,    /* the stream to the inside broke; the outcome is unknown */
  OW_OPENSHELL_FAULT_ENGINE,          /* the container engine failed otherwise */
  OW_OPENSHELL_FAULT_NO_ANSWER,       /* our own deadline passed */
  OW_OPENSHELL_FAULT_UNREADABLE,      /* it answered what no release is known to answer */
  OW_OPENSHELL_FAULT_OTHER,
} OwOpenshellFault;

/* Errors of this room: the code is the fault, the message has the three parts of
 * base/ow-error.h (what happened, why in the command's own words made safe to show, what to do).
 * A call that its caller cancelled is OW_ERROR_INTERRUPTED instead. */
#define OW_OPENSHELL_ERROR (ow_openshell_error_quark ())
GQuark ow_openshell_error_quark (void);

/* A stable word for a fault ("gateway-down"), for events and tests. */
const char *ow_openshell_fault_to_string (OwOpenshellFault fault);
/* The class of what the command wrote to stderr; never NONE. Pure. */
OwOpenshellFault ow_openshell_fault_of_text (const char *stderr_text);
/* The text without colours and boxes, unwrapped to one line a cause ("a: b: c"), with every
 * control character made visible. (transfer full) Pure. */
char *ow_openshell_text_plain (const char *text, gssize length);
/* A cause sentence and a next step for a fault, for any face; static. @why is what ends
 * "Sessions on this machine are refused: …" without a full stop. */
const char *ow_openshell_fault_why  (OwOpenshellFault fault);
const char *ow_openshell_fault_next (OwOpenshellFault fault);
