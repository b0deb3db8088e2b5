/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <string.h>

/* By the names alone; nothing is looked at. Any thread. */

/* What of @path lies below @folder (nullable), a part of @path; NULL: it does not lie there. */
static inline const char *
ow_credential_path_skip (const char *path,
                         const char *folder)
{
  size_t length = folder != NULL ? strlen (folder) : 0;

  return length > 0 && strncmp (path, folder, length) == 0 && path[length] == '/'
         ? path + length + 1 : NULL;
}
