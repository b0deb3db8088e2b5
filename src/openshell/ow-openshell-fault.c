/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell-error.h"

#include <string.h>

/* Which words of an error text tell its class (docs/openshell-contract.md, "Errors"), compared in
 * lower case in the unwrapped text. The order counts:
 *
 *  - texts that name a path, a host or an image come first, by words that stand before it, so that
 *    a folder named "landlock" or "denied" does not choose the class;
 *  - what names a cause comes before what only says where something failed, because causes are
 *    wrapped in such words;
 *  - what is left says that there was no connection. */
typedef struct {
  OwOpenshellFault fault;
  const char      *words;
  const char      *also;   /* (nullable) must stand behind @words */
} Known;

static const Known known[] = {
  /* Folders and the policy. */
  { OW_OPENSHELL_FAULT_MOUNT_SOURCE, "bind source path does not exist", NULL },
  { OW_OPENSHELL_FAULT_MOUNT_SOURCE, "error while creating mount source path", NULL },
  { OW_OPENSHELL_FAULT_MOUNT_SOURCE, "mounts denied", NULL },
  { OW_OPENSHELL_FAULT_MOUNT_SOURCE, "statfs /", "no such file or directory" },
  { OW_OPENSHELL_FAULT_BIND_MOUNTS_OFF, "require enable_bind_mounts", NULL },
  { OW_OPENSHELL_FAULT_BIND_MOUNTS_OFF, "requires enable_bind_mounts", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "bind source must", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "mount target", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "driver_config", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "driver-config-json", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "invalid volume specification", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "landlock path unavailable", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "landlock ruleset has zero valid paths", NULL },
  { OW_OPENSHELL_FAULT_LANDLOCK, "landlock unavailable in hard_requirement mode", NULL },
  { OW_OPENSHELL_FAULT_LANDLOCK, "landlock filesystem sandbox unavailable", NULL },
  { OW_OPENSHELL_FAULT_LANDLOCK, "landlock restrict_self failed", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "failed to parse sandbox policy", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "failed to read sandbox policy", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "traversal component", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "path must be absolute", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "read-write path is overly broad", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "path exceeds maximum length", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "too many filesystem paths", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "must be 'sandbox' or a numeric uid/gid", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "network policy '", NULL },
  { OW_OPENSHELL_FAULT_POLICY, "policy serialized size exceeds", NULL },

  /* Disk and image. What a registry says of a login is not what it says of a missing image. */
  { OW_OPENSHELL_FAULT_DISK_FULL, "no space left on device", NULL },
  { OW_OPENSHELL_FAULT_DISK_FULL, "disk quota exceeded", NULL },
  { OW_OPENSHELL_FAULT_IMAGE_ABSENT, "pull access denied for", NULL },
  { OW_OPENSHELL_FAULT_IMAGE_DENIED, "imagepullfailed", "denied" },
  { OW_OPENSHELL_FAULT_IMAGE_DENIED, "imagepullfailed", "unauthorized" },
  { OW_OPENSHELL_FAULT_IMAGE_DENIED, "imagepullfailed", "authentication required" },
  { OW_OPENSHELL_FAULT_IMAGE_DENIED, "initializing source", "denied" },
  { OW_OPENSHELL_FAULT_IMAGE_DENIED, "initializing source", "unauthorized" },
  { OW_OPENSHELL_FAULT_IMAGE_DENIED, "initializing source", "authentication required" },
  { OW_OPENSHELL_FAULT_IMAGE_DENIED, "denied: denied", NULL },
  { OW_OPENSHELL_FAULT_IMAGE_ABSENT, "imagepullfailed", NULL },
  { OW_OPENSHELL_FAULT_IMAGE_ABSENT, "initializing source", NULL },
  { OW_OPENSHELL_FAULT_IMAGE_ABSENT, "image_pull_policy", NULL },
  { OW_OPENSHELL_FAULT_IMAGE_ABSENT, "manifest unknown", NULL },
  { OW_OPENSHELL_FAULT_IMAGE_ABSENT, "no such image", NULL },
  { OW_OPENSHELL_FAULT_IMAGE_ABSENT, "image not known", NULL },
  { OW_OPENSHELL_FAULT_IMAGE_ABSENT, "short-name", NULL },
  { OW_OPENSHELL_FAULT_IMAGE_ABSENT, "toomanyrequests", NULL },

  /* Sandboxes. */
  { OW_OPENSHELL_FAULT_MAIN_EXITED, "mainprocessexited", NULL },
  { OW_OPENSHELL_FAULT_MAIN_EXITED, "containerexited", NULL },
  { OW_OPENSHELL_FAULT_MAIN_EXITED, "containerdead", NULL },
  { OW_OPENSHELL_FAULT_MAIN_EXITED, "oomkilled", NULL },
  { OW_OPENSHELL_FAULT_NAME_TAKEN, "sandbox", "already exists" },
  { OW_OPENSHELL_FAULT_NOT_READY, "is not ready (phase:", NULL },
  { OW_OPENSHELL_FAULT_NOT_READY, "sandbox is not ready", NULL },
  { OW_OPENSHELL_FAULT_NOT_READY, "sandbox provisioning timed out", NULL },
  { OW_OPENSHELL_FAULT_NOT_FOUND, "sandbox not found", NULL },
  { OW_OPENSHELL_FAULT_NOT_FOUND, "sandbox '", "' not found" },

  /* The relay; all of them leave open what became of the command. */
  { OW_OPENSHELL_FAULT_RELAY_CLOSED, "exec relay closed", NULL },
  { OW_OPENSHELL_FAULT_RELAY_CLOSED, "supervisor relay failed", NULL },
  { OW_OPENSHELL_FAULT_RELAY_CLOSED, "supervisor session not connected", NULL },
  { OW_OPENSHELL_FAULT_RELAY_CLOSED, "relay open timed out", NULL },
  { OW_OPENSHELL_FAULT_RELAY_CLOSED, "relay channel ", NULL },
  { OW_OPENSHELL_FAULT_RELAY_CLOSED, "relay read failed", NULL },
  { OW_OPENSHELL_FAULT_RELAY_CLOSED, "relay proxy", NULL },
  { OW_OPENSHELL_FAULT_RELAY_CLOSED, "error reading a body from connection", NULL },

  /* Certificates: of the gateway, and ours where the gateway refuses it. */
  { OW_OPENSHELL_FAULT_CERTIFICATE, "badsignature", NULL },
  { OW_OPENSHELL_FAULT_CERTIFICATE, "invalid peer certificate", NULL },
  { OW_OPENSHELL_FAULT_CERTIFICATE, "unknownissuer", NULL },
  { OW_OPENSHELL_FAULT_CERTIFICATE, "received fatal alert", NULL },
  { OW_OPENSHELL_FAULT_CERTIFICATE, "is required for https endpoints", NULL },
  { OW_OPENSHELL_FAULT_CERTIFICATE, "failed to read tls ", NULL },
  { OW_OPENSHELL_FAULT_CERTIFICATE, "no private key found in tls", NULL },

  { OW_OPENSHELL_FAULT_NOT_AUTHENTICATED, "valid authentication credentials", NULL },
  { OW_OPENSHELL_FAULT_NOT_AUTHENTICATED, "does not have permission to execute", NULL },
  { OW_OPENSHELL_FAULT_NOT_AUTHENTICATED, "openshell gateway login", NULL },
  { OW_OPENSHELL_FAULT_NOT_AUTHENTICATED, "requires admin privileges", NULL },
  { OW_OPENSHELL_FAULT_NOT_AUTHENTICATED, "requires authentication", NULL },
  { OW_OPENSHELL_FAULT_NOT_AUTHENTICATED, "authentication required", NULL },
  { OW_OPENSHELL_FAULT_NOT_AUTHENTICATED, "invalid token", NULL },

  { OW_OPENSHELL_FAULT_NOT_REGISTERED, "no gateway configured", NULL },
  { OW_OPENSHELL_FAULT_NOT_REGISTERED, "no active gateway", NULL },
  { OW_OPENSHELL_FAULT_NOT_REGISTERED, "unknown gateway '", NULL },
  { OW_OPENSHELL_FAULT_NOT_REGISTERED, "no gateway metadata found", NULL },

  /* Another release: an option, a verb or a call that it does not have. */
  { OW_OPENSHELL_FAULT_OTHER_VERSION, "error: unexpected argument", NULL },
  { OW_OPENSHELL_FAULT_OTHER_VERSION, "error: unrecognized subcommand", NULL },
  { OW_OPENSHELL_FAULT_OTHER_VERSION, "required arguments were not provided", NULL },
  { OW_OPENSHELL_FAULT_OTHER_VERSION, "operation is not implemented or not supported", NULL },
  { OW_OPENSHELL_FAULT_OTHER_VERSION, "is not supported by this gateway version", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "error: invalid value", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "client specified an invalid argument", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "stdin payload exceeds", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "invalid --cpu", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "--cpu must", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "invalid --memory", NULL },
  { OW_OPENSHELL_FAULT_INVALID, "--memory must", NULL },

  { OW_OPENSHELL_FAULT_ENGINE, "containercreatefailed", NULL },
  { OW_OPENSHELL_FAULT_ENGINE, "containerstartfailed", NULL },
  { OW_OPENSHELL_FAULT_ENGINE, "sandboxtokenwritefailed", NULL },
  { OW_OPENSHELL_FAULT_ENGINE, "computeresourcemissing", NULL },
  { OW_OPENSHELL_FAULT_ENGINE, "inspectfailed", NULL },
  { OW_OPENSHELL_FAULT_ENGINE, "create sandbox failed", NULL },
  { OW_OPENSHELL_FAULT_ENGINE, "podman api ", NULL },
  { OW_OPENSHELL_FAULT_ENGINE, "docker responded with status code", NULL },
  { OW_OPENSHELL_FAULT_ENGINE, "cannot connect to the docker daemon", NULL },
  { OW_OPENSHELL_FAULT_ENGINE, "cannot connect to podman", NULL },

  /* No connection, or one to something else. */
  { OW_OPENSHELL_FAULT_NOT_GATEWAY, "grpc-status header missing", NULL },
  { OW_OPENSHELL_FAULT_NOT_GATEWAY, "frame with invalid size", NULL },
  { OW_OPENSHELL_FAULT_NOT_GATEWAY, "invalidcontenttype", NULL },
  { OW_OPENSHELL_FAULT_NOT_GATEWAY, "invalid compression flag", NULL },
  { OW_OPENSHELL_FAULT_RELAY_CLOSED, "h2 protocol error", NULL },
  { OW_OPENSHELL_FAULT_GATEWAY_DOWN, "client error (connect)", NULL },
  { OW_OPENSHELL_FAULT_GATEWAY_DOWN, "tcp connect error", NULL },
  { OW_OPENSHELL_FAULT_GATEWAY_DOWN, "dns error", NULL },
  { OW_OPENSHELL_FAULT_GATEWAY_DOWN, "transport error", NULL },
  { OW_OPENSHELL_FAULT_GATEWAY_DOWN, "connection refused", NULL },
  { OW_OPENSHELL_FAULT_GATEWAY_DOWN, "connection reset by peer", NULL },
  { OW_OPENSHELL_FAULT_GATEWAY_DOWN, "tls handshake eof", NULL },
  { OW_OPENSHELL_FAULT_GATEWAY_DOWN, "service is currently unavailable", NULL },
};

static gboolean
matches (const Known *entry,
         const char  *text)
{
  const char *found = strstr (text, entry->words);

  return found != NULL &&
         (entry->also == NULL || strstr (found + strlen (entry->words), entry->also) != NULL);
}

OwOpenshellFault
ow_openshell_fault_of_text (const char *stderr_text)
{
  g_autofree char *plain = ow_openshell_text_plain (stderr_text, -1);
  g_autofree char *lower = g_ascii_strdown (plain, -1);

  for (gsize i = 0; i < G_N_ELEMENTS (known); i++)
    if (matches (&known[i], lower))
      return known[i].fault;
  return OW_OPENSHELL_FAULT_OTHER;
}
