/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib-object.h>

#include "config/ow-host.h"

/* The machine's settings, ~/.config/coworker/config.toml (docs/configuration.md).
 * Immutable once loaded; a file that cannot be read or understood is an error with
 * its line, never defaults; a missing file is "nothing set". Unknown keys are left
 * alone. Any thread. */

#define OW_TYPE_CONFIG (ow_config_get_type ())
G_DECLARE_FINAL_TYPE (OwConfig, ow_config, OW, CONFIG, GObject)

typedef enum {
  OW_PROVIDER_UNSET,
  OW_PROVIDER_OPENSHELL,
  OW_PROVIDER_BUBBLEWRAP,
  OW_PROVIDER_DIRECT,
} OwProviderKind;

typedef enum { OW_PROFILE_STRICT, OW_PROFILE_STANDARD } OwNetworkProfile;

OwConfig        *ow_config_load             (const char *path, GError **error);
OwProviderKind   ow_config_get_provider     (OwConfig *self);
OwNetworkProfile ow_config_get_profile      (OwConfig *self);
/* Borrowed array of OwHost. */
GPtrArray       *ow_config_get_extra_hosts  (OwConfig *self);
/* Sessions run with any release of OpenShell, not only the one that was tested. */
gboolean         ow_config_get_openshell_any_version (OwConfig *self);
/* What one sandbox of OpenShell may use, as its command takes it; borrowed, NULL: no limit. */
const char      *ow_config_get_sandbox_cpu    (OwConfig *self);
const char      *ow_config_get_sandbox_memory (OwConfig *self);
/* The bytes that an amount of memory as above stands for, at most G_MAXINT64; 0: it is none. */
guint64          ow_config_memory_bytes       (const char *text);

const char *ow_provider_kind_to_string   (OwProviderKind kind);
gboolean    ow_provider_kind_from_string (const char *text, OwProviderKind *kind);
const char *ow_network_profile_to_string (OwNetworkProfile profile);
