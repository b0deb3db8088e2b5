/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell.h"

#include <gio/gio.h>

G_DEFINE_QUARK (ow - openshell - error - quark, ow_openshell_error)

#define NEXT_INSTALL "Install OpenShell " OW_OPENSHELL_VERSION " (docs/openshell.md)."

static const struct {
  const char *word;
  const char *why;
  const char *next;
} faults[] = {
  [OW_OPENSHELL_FAULT_NONE] = { "none", "nothing is wrong", "Nothing has to be done." },
  [OW_OPENSHELL_FAULT_NOT_INSTALLED] = {
    "not-installed", "the command openshell is not there or cannot be run",
    NEXT_INSTALL
  },
  [OW_OPENSHELL_FAULT_OTHER_VERSION] = {
    "other-version", "OpenShell is not the release that was tested",
    NEXT_INSTALL
  },
  [OW_OPENSHELL_FAULT_GATEWAY_DOWN] = {
    "gateway-down", "the OpenShell gateway does not answer or the connection to it broke",
    "Start it with `systemctl --user restart openshell-gateway`."
  },
  [OW_OPENSHELL_FAULT_NOT_GATEWAY] = {
    "not-gateway", "what answers at the gateway's address speaks HTTP but is not OpenShell",
    "Look at the address with `openshell gateway list`."
  },
  [OW_OPENSHELL_FAULT_NOT_REGISTERED] = {
    "not-registered", "no OpenShell gateway is registered for this account",
    "Run `openshell gateway add https://127.0.0.1:17670 --local --name openshell`."
  },
  [OW_OPENSHELL_FAULT_NOT_AUTHENTICATED] = {
    "not-authenticated", "the OpenShell gateway does not accept the login of this account",
    "Look at it with `openshell status`, then run `openshell gateway login`."
  },
  [OW_OPENSHELL_FAULT_CERTIFICATE] = {
    "certificate",
    "the OpenShell gateway's certificate is not the one that was registered, as after the gateway "
    "was set up again",
    "Register it again with `openshell gateway add`."
  },
  [OW_OPENSHELL_FAULT_BIND_MOUNTS_OFF] = {
    "bind-mounts-off", "the OpenShell gateway may not mount folders of this machine",
    "Set enable_bind_mounts = true for its driver in gateway.toml and restart the gateway."
  },
  [OW_OPENSHELL_FAULT_IMAGE_ABSENT] = {
    "image-absent", "the sandbox image is not there and cannot be downloaded",
    "Look at the network and the image's name, or download it by hand."
  },
  [OW_OPENSHELL_FAULT_IMAGE_DENIED] = {
    "image-denied", "the image's registry refuses the download",
    "A public image needs no login: log out of the registry, for example with "
    "`docker logout ghcr.io`."
  },
  [OW_OPENSHELL_FAULT_DISK_FULL] = {
    "disk-full", "the disk of the container engine is full",
    "Make room on it; what was downloaded is kept."
  },
  [OW_OPENSHELL_FAULT_MOUNT_SOURCE] = {
    "mount-source", "a folder of the session is not where the container engine looks for it",
    "Look whether the folder is there and whether the engine runs on this machine."
  },
  [OW_OPENSHELL_FAULT_POLICY] = {
    "policy", "the sandbox's policy was not accepted or names a path that its image does not have",
    "Use the image that this program was made for."
  },
  [OW_OPENSHELL_FAULT_LANDLOCK] = {
    "landlock", "the kernel does not enforce what the policy demands (Landlock)",
    "Use a kernel with Landlock switched on (lsm=…,landlock)."
  },
  [OW_OPENSHELL_FAULT_MAIN_EXITED] = {
    "main-exited", "the tool runner in the sandbox ended", "Start the session again."
  },
  [OW_OPENSHELL_FAULT_INVALID] = {
    "invalid", "an argument is outside what OpenShell takes",
    "Look for the cause with `openworker sandbox prove --provider openshell`."
  },
  [OW_OPENSHELL_FAULT_NAME_TAKEN] = {
    "name-taken", "a sandbox of that name is there", "Start the session again."
  },
  [OW_OPENSHELL_FAULT_NOT_FOUND] = {
    "not-found", "there is no such sandbox any more", "Start the session again."
  },
  [OW_OPENSHELL_FAULT_NOT_READY] = {
    "not-ready", "the sandbox is not ready", "Look at it with `openshell sandbox list`."
  },
  [OW_OPENSHELL_FAULT_RELAY_CLOSED] = {
    "relay-closed", "the stream to the sandbox broke and nobody knows how the command ended",
    "Look whether the gateway runs with `openshell status`."
  },
  [OW_OPENSHELL_FAULT_ENGINE] = {
    "engine", "the container engine failed", "Look at it with `docker info` or `podman info`."
  },
  [OW_OPENSHELL_FAULT_NO_ANSWER] = {
    "no-answer", "no answer from openshell", "Look whether the gateway hangs with "
    "`openshell status`, and restart it with `systemctl --user restart openshell-gateway`."
  },
  [OW_OPENSHELL_FAULT_UNREADABLE] = {
    "unreadable", "openshell answered what this program cannot read",
    NEXT_INSTALL
  },
  [OW_OPENSHELL_FAULT_OTHER] = {
    "other", "openshell failed", "Look at the gateway with `openshell status`."
  },
};

/* Also of a number that is no fault, as it may come out of a store. */
static gsize
place_of (OwOpenshellFault fault)
{
  return (gsize) fault < G_N_ELEMENTS (faults) ? (gsize) fault : OW_OPENSHELL_FAULT_OTHER;
}

const char *
ow_openshell_fault_to_string (OwOpenshellFault fault)
{
  return faults[place_of (fault)].word;
}

const char *
ow_openshell_fault_why (OwOpenshellFault fault)
{
  return faults[place_of (fault)].why;
}

const char *
ow_openshell_fault_next (OwOpenshellFault fault)
{
  return faults[place_of (fault)].next;
}
