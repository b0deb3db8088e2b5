/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Where the program keeps things (docs/architecture.md, "Where things live"). All
 * return new strings (transfer full). Only ow_paths_ensure() creates anything.
 * The folders may hold another program's files: never list one and act on names
 * that are not ours. Any thread. */

char *ow_paths_get_config_file      (void); /* ~/.config/coworker/config.toml */
char *ow_paths_get_private_homes    (void); /* ~/.config/coworker/sandbox-runtime */
char *ow_paths_get_data_dir         (void); /* ~/.local/share/coworker */
char *ow_paths_get_state_dir        (void); /* ~/.local/state/coworker */
char *ow_paths_get_audit_file       (void); /* state/audit.jsonl */
char *ow_paths_get_registry_dir     (void); /* state/registry */
char *ow_paths_get_ocsf_dir         (void); /* state/ocsf: OpenShell's own log lines */
char *ow_paths_get_store_file       (void); /* data/sessions.sqlite */
char *ow_paths_get_approvals_file   (void); /* data/approvals.json */

/* $XDG_RUNTIME_DIR/coworker when that directory is ours and 0700, else state/run. */
char *ow_paths_get_runtime_dir      (void);

/* Full path of a program of ours in libexec: $OPENWORKER_LIBEXEC (the tree's build,
 * tests) else the installed place; links are resolved where the program is there. */
char *ow_paths_get_libexec          (const char *program);

/* Creates @path and its missing parents, each new one 0700. An existing @path must be
 * a directory of this user, not writable by others. */
gboolean ow_paths_ensure            (const char  *path,
                                     GError     **error);
