/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* Copying under way, from the person's home into the private one, by descriptors. Paths are
 * relative to both homes. One thread at a time, which it blocks.
 *
 * Read are regular files only, and never opened for writing. A symbolic link is followed to a file
 * that is the person's own, or the system's and open to everybody, and is copied as a file. It is
 * not followed to a folder; only what an entry itself names may be a link to a folder, within the
 * home. Nothing is read of the files of this program, nor of /proc and its kind. Sockets, pipes,
 * devices and what is not the person's are left out.
 *
 * Written are new files of mode 0600 in folders of mode 0700, which are the private home's owner's
 * before they hold a byte. What has been copied already stays as it is.
 *
 * Bounded for a whole sandbox: 4,000 files, 64 MiB, 16 MiB a file, 16 levels, 20,000 names looked
 * at (figures of our own: the largest usual tree, ~/.aws with its caches, has some hundreds). */

#define OW_CREDENTIAL_FILE_BYTES (16 * 1024 * 1024)

/* NULL, or why a file that lies at @real, all links followed, is left out. */
typedef const char *(*OwCredentialCopyFilter) (const char *person, const char *real);

typedef struct {
  int           person_fd;  /* (owned) */
  int           home_fd;    /* (owned) -1 where nothing is to be written */
  char         *person;     /* (owned) the person's home, resolved */
  char         *named;      /* (owned) the same, as it is named */
  char         *home;       /* (owned) (nullable) the private home */
  uid_t         owner;      /* whose the person's home is */
  uid_t         uid;        /* whose the copies are */
  gid_t         gid;
  GPtrArray    *ours;       /* (owned) of char: folders that nothing is read of */
  GPtrArray    *left_out;   /* (owned) of char: "~/path (why)", since it was last cleared */
  OwCredentialCopyFilter filter; /* (nullable) what else decides about a file, for now */
  guint         files;      /* how many may still be copied */
  guint         names;      /* how many may still be looked at */
  guint64       bytes;      /* how many may still be written */
  gint64        deadline;
  GCancellable *cancellable; /* (nullable) borrowed */
  GError       *failure;     /* (owned) (nullable) the private home cannot be written, or a stop */
} OwCredentialCopy;

typedef enum {
  OW_CREDENTIAL_MISSING,
  OW_CREDENTIAL_FILE,
  OW_CREDENTIAL_FOLDER,
  OW_CREDENTIAL_UNUSABLE, /* noted in left_out */
} OwCredentialKind;

OwCredentialCopy *ow_credential_copy_new  (const char   *person,
                                           const char   *home,
                                           uid_t         uid,
                                           gid_t         gid,
                                           gint64        deadline,
                                           GCancellable *cancellable,
                                           GError      **error);
void              ow_credential_copy_free (OwCredentialCopy *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwCredentialCopy, ow_credential_copy_free)

/* What the person has there. */
OwCredentialKind ow_credential_copy_look  (OwCredentialCopy *self, const char *path);
/* Copies a file, or a folder with all below it. Returns how many files. */
guint            ow_credential_copy_add   (OwCredentialCopy *self, const char *path);
/* Reads a file of the person's of at most @max bytes. NULL: there is none, or it is noted. */
GBytes          *ow_credential_copy_read  (OwCredentialCopy *self, const char *path, gsize max);
/* The names in a folder of the person's, sorted; empty where there is none. */
GPtrArray       *ow_credential_copy_list  (OwCredentialCopy *self, const char *path);
/* Writes a new file; @mode is 0600 or, for a program, 0700. TRUE too when it is there already. */
gboolean         ow_credential_copy_write (OwCredentialCopy *self, const char *path,
                                           const char *data, gsize length, int mode);
/* Notes that @path was left out. */
void             ow_credential_copy_skip  (OwCredentialCopy *self, const char *path,
                                           const char *why);
/* Whether the work is to end: stopped, out of time, or broken. Sets the failure. */
gboolean         ow_credential_copy_is_over (OwCredentialCopy *self);
/* @path below the person's home as "~/…", made safe to show in one line (transfer full). */
char            *ow_credential_copy_show  (const char *path);
