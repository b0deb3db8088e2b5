/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-sandbox.h"
#include "session/ow-session.h"

/* What a session needs before anything of it is stored: each miss is an error and
 * leaves nothing behind. */

/* @names as ow_folder_open() takes them. (transfer full) array of OwFolder, checked as a set;
 * @json: (out) a new reference, as session-started has them. */
GPtrArray *ow_session_setup_folders (const char * const *names, json_t **json, GError **error);
/* The sandbox of @options, not started (transfer full). @folders and @hosts: (out)
 * new references, as session-started has them. */
OwSandbox *ow_session_setup_sandbox (const char *id, const OwSessionOptions *options,
                                     json_t **folders, json_t **hosts, GError **error);
