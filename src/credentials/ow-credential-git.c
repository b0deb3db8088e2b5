/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-credential-git-private.h"

#include <string.h>

#include "ow-credential-finding-private.h"
#include "ow-git-config-private.h"

#define MAX_FILES 64
#define MAX_NAMED 8

/* Read by git whether or not it is told to. */
static const char * const plain_files[] = {
  ".gitignore_global", ".config/git/ignore", ".config/git/attributes",
};

static const char * const setting_files[] = { ".config/git/config", ".gitconfig" };

typedef struct {
  OwCredentials    *self;
  OwCredentialCopy *copy;
  OwGitFindings    *findings; /* (owned) */
  GPtrArray        *queue;    /* (owned) of char: files of settings, each once */
  gboolean          has_ssh;
} Git;

static void
queue_file (Git        *git,
            const char *path)
{
  for (guint i = 0; i < git->queue->len; i++)
    if (strcmp (g_ptr_array_index (git->queue, i), path) == 0)
      return;
  if (git->queue->len < MAX_FILES)
    g_ptr_array_add (git->queue, g_strdup (path));
}

static void
take_settings (Git        *git,
               const char *path)
{
  OwGitPlaces places = {
    .person = git->copy->person, .named = git->copy->named, .file = path,
    .has_ssh = git->has_ssh,
  };
  g_autoptr (GError) reason = NULL;
  g_autoptr (GPtrArray) settings = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *text = NULL;
  gsize length = 0;
  const char *data;

  if (ow_credential_copy_look (git->copy, path) == OW_CREDENTIAL_FILE)
    bytes = ow_credential_copy_read (git->copy, path, OW_GIT_CONFIG_BYTES);
  if (bytes == NULL)
    return;
  data = g_bytes_get_data (bytes, &length);
  settings = ow_git_config_parse (length > 0 ? data : "", length, &reason);
  if (settings == NULL)
    {
      ow_credential_copy_skip (git->copy, path, reason->message);
      return;
    }
  ow_git_config_clean (settings, &places, git->findings);
  text = ow_git_config_write (settings);
  ow_credential_copy_write (git->copy, path, text, strlen (text), 0600);
  for (guint i = 0; i < git->findings->includes->len; i++)
    queue_file (git, g_ptr_array_index (git->findings->includes, i));
  g_ptr_array_set_size (git->findings->includes, 0);
}

/* Never a folder: what a setting names is one file. */
static void
take_file (Git        *git,
           const char *path)
{
  if (ow_credential_copy_look (git->copy, path) == OW_CREDENTIAL_FILE)
    ow_credential_copy_add (git->copy, path);
}

static void
tell (Git *git)
{
  GPtrArray *dropped = git->findings->dropped;
  g_autofree char *list = ow_credential_finding_join (dropped, ", ", MAX_NAMED);

  if (dropped->len > 0)
    g_ptr_array_add (git->self->sentences,
                     g_strdup_printf ("Left out of the settings of git: %s.", list));
  if (git->findings->unsigned_commits)
    g_ptr_array_add (git->self->sentences,
                     g_strdup ("Commits made inside are not signed: the key is not there."));
}

void
ow_credential_git_take (OwCredentials    *self,
                        OwCredentialCopy *copy,
                        gboolean          has_ssh)
{
  g_autoptr (OwGitFindings) findings = ow_git_findings_new ();
  g_autoptr (GPtrArray) queue = g_ptr_array_new_with_free_func (g_free);
  Git git = {
    .self = self, .copy = copy, .findings = findings, .queue = queue, .has_ssh = has_ssh,
  };

  for (gsize i = 0; i < G_N_ELEMENTS (setting_files); i++)
    queue_file (&git, setting_files[i]);
  for (guint i = 0; i < queue->len && !ow_credential_copy_is_over (copy); i++)
    take_settings (&git, g_ptr_array_index (queue, i));
  copy->filter = ow_git_config_why_no_words;
  for (gsize i = 0; i < G_N_ELEMENTS (plain_files); i++)
    take_file (&git, plain_files[i]);
  for (guint i = 0; i < findings->files->len; i++)
    take_file (&git, g_ptr_array_index (findings->files, i));
  copy->filter = NULL;
  tell (&git);
}
