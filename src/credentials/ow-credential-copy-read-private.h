/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <sys/stat.h>

#include "ow-credential-copy-private.h"

/* The reading half of OwCredentialCopy: what of the person's may be opened at all. Each gives a
 * descriptor that the caller closes, or -1 with the reason noted; -1 with nothing noted where
 * there is nothing. One thread. */

/* Looks at @name in @dir_fd and follows it where it is a link: O_PATH, with @st of what it is.
 * @path is for notes. */
int ow_credential_copy_find (OwCredentialCopy *self,
                             int               dir_fd,
                             const char       *name,
                             const char       *path,
                             struct stat      *st,
                             gboolean         *is_link);
/* Whether what was found is a file that may be copied; notes why not. */
gboolean ow_credential_copy_may (OwCredentialCopy  *self,
                                 int                fd,
                                 const struct stat *st,
                                 const char        *path);
/* Opens what was found for reading. */
int ow_credential_copy_open (OwCredentialCopy *self,
                             int               found_fd,
                             const char       *path,
                             int               flags);
/* Whether @fd is a folder of this program's own, or in one. */
gboolean ow_credential_copy_is_ours (OwCredentialCopy *self,
                                     int               fd);
/* Opens the folder @path of an entry, which may be a link within the home. */
int ow_credential_copy_open_folder (OwCredentialCopy *self,
                                    const char       *path);
