/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Git's settings, read and cleaned from texts alone (REQ-S03). The syntax is git-config(1)'s, read
 * as strictly as git 2.39 does: what git would end at is broken here too. Git itself is not asked:
 * its settings can run programs. Written is a text of our own, never the person's bytes, so what
 * another reader would make of them is no question. Pure; any thread. */

#define OW_GIT_CONFIG_BYTES (1024 * 1024)

typedef struct {
  char *section;    /* (owned) lower case */
  char *subsection; /* (owned) (nullable) as it stands */
  char *name;       /* (owned) lower case */
  char *value;      /* (owned) (nullable) NULL: a name alone, which means true */
} OwGitSetting;

/* Array of OwGitSetting (transfer full); NULL with OW_ERROR_DATA, whose text has the line and
 * nothing of what stands in it. */
GPtrArray *ow_git_config_parse (const char *text, gsize length, GError **error);
/* Returns: (transfer full) */
char      *ow_git_config_write (GPtrArray *settings);

typedef struct {
  const char *person;  /* the person's home */
  const char *named;   /* (nullable) the same, by another name */
  const char *file;    /* below it: what is being cleaned */
  gboolean    has_ssh; /* logins of SSH are shared too */
} OwGitPlaces;

typedef struct {
  GPtrArray *includes; /* (owned) of char, below the home: to be cleaned and copied too */
  GPtrArray *files;    /* (owned) of char, below the home: to be copied as they are */
  GPtrArray *dropped;  /* (owned) of char: keys that were left out and that somebody may miss */
  gboolean   unsigned_commits; /* commits and tags would have been signed */
} OwGitFindings;

OwGitFindings *ow_git_findings_new  (void);
void           ow_git_findings_free (OwGitFindings *findings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwGitFindings, ow_git_findings_free)

/* Takes out of @settings what is a login or may hold one, what would run a program of the machine
 * or lead past the proxy, and what leads out of the copies (docs/credentials.md has the list), and
 * has the paths that stay mean the copies. */
void ow_git_config_clean (GPtrArray         *settings,
                          const OwGitPlaces *places,
                          OwGitFindings     *findings);

/* An OwCredentialCopyFilter: NULL, or why the file at @real holds no words for git (to ignore,
 * templates, …). */
const char *ow_git_config_why_no_words (const char *person,
                                        const char *real);
