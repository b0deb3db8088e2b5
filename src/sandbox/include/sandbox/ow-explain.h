/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-config.h"
#include "wire/ow-json.h"

/* What a session could reach, and which rule says so: from the lists that its wall is made of, and
 * without a wall. In a session's folder nothing is looked at. Blocking (it looks at this machine's
 * system folders), any thread. */

typedef struct {
  OwProviderKind    provider;
  GPtrArray        *folders;     /* of OwFolder; may be empty */
  const char       *home;        /* (nullable) the private home of a session that runs */
  const char       *undo;        /* (nullable) its undo folder */
  uid_t             uid;         /* who the inside runs as */
  gid_t             gid;
  OwConfig         *config;      /* the machine's settings: network, programs, credentials */
  GPtrArray        *listed;      /* (nullable) of OwHost: what the session began with */
  GPtrArray        *allowed;     /* (nullable) of OwHost: what was allowed in the session */
} OwExplain;

/* @path is absolute, or begins with "~/". Returns: new reference,
 * {"path","provider","rule","says","there","read","write","list","whose","leads_to"?,"links"?}
 * (docs/engine.md). OW_ERROR_USAGE for what is no path. */
json_t *ow_explain_path (const OwExplain *self, const char *path, GError **error);

/* @text is HOST or HOST:PORT (443). Returns: new reference,
 * {"host","provider","allowed","rule","says","helps"?}; what is no host is "invalid". */
json_t *ow_explain_host (const OwExplain *self, const char *text);
