/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-credential-ssh-private.h"

#include <fnmatch.h>
#include <string.h>

#include "ow-account-private.h"
#include "ow-credential-finding-private.h"
#include "ow-ssh-config-private.h"

#define BIN       ".openworker/bin"
#define ACCOUNT   ".openworker/lib/account.so"
/* As deep as ssh itself follows. */
#define MAX_DEPTH 16
#define MAX_FILES 256
#define KEY_BYTES 65536
#define MAX_NAMED 8

/* The names that ssh tries where nothing is configured, in its order. */
static const char * const usual_keys[] = {
  "id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss", "id_dsa",
};

typedef struct {
  OwCredentialCopy *copy;
  OwSshPlaces       places;
  OwSshFindings    *findings; /* (owned) */
  GHashTable       *seen;     /* (owned) paths of files that have been rewritten */
} Ssh;

static void rewrite_file (Ssh        *ssh,
                          const char *path,
                          gboolean    main_file,
                          guint       depth,
                          const char *before,
                          const char *behind);

/* --- includes --- */

/* All files of the person's that @words[@at…] mean below @folder. */
static void
expand (Ssh        *ssh,
        const char *folder,
        char      **words,
        guint       depth)
{
  g_autofree char *path = NULL;
  g_autoptr (GPtrArray) names = NULL;

  if (ow_credential_copy_is_over (ssh->copy))
    return;
  if (words[0] == NULL)
    {
      rewrite_file (ssh, folder, FALSE, depth, "", "");
      return;
    }
  if (strpbrk (words[0], "*?[") == NULL)
    {
      path = *folder != '\0' ? g_strconcat (folder, "/", words[0], NULL) : g_strdup (words[0]);
      expand (ssh, path, words + 1, depth);
      return;
    }
  names = ow_credential_copy_list (ssh->copy, folder);
  for (guint i = 0; i < names->len; i++)
    {
      const char *name = g_ptr_array_index (names, i);
      g_autofree char *below = g_strconcat (folder, "/", name, NULL);

      if (fnmatch (words[0], name, FNM_PERIOD) == 0)
        expand (ssh, below, words + 1, depth);
    }
}

static void
follow_includes (Ssh       *ssh,
                 GPtrArray *includes,
                 guint      depth)
{
  for (guint i = 0; i < includes->len && depth < MAX_DEPTH; i++)
    {
      g_auto (GStrv) words = g_strsplit (g_ptr_array_index (includes, i), "/", -1);

      expand (ssh, "", words, depth + 1);
    }
}

static void
rewrite_file (Ssh        *ssh,
              const char *path,
              gboolean    main_file,
              guint       depth,
              const char *before,
              const char *behind)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GPtrArray) includes = NULL;
  g_autofree char *lines = NULL;
  g_autofree char *text = NULL;
  gsize length = 0;
  const char *data = "";

  if (g_hash_table_contains (ssh->seen, path) || g_hash_table_size (ssh->seen) >= MAX_FILES)
    return;
  if (main_file || ow_credential_copy_look (ssh->copy, path) == OW_CREDENTIAL_FILE)
    bytes = ow_credential_copy_read (ssh->copy, path, OW_SSH_CONFIG_BYTES);
  if (bytes == NULL && !main_file)
    return;
  g_hash_table_add (ssh->seen, g_strdup (path));
  if (bytes != NULL)
    data = g_bytes_get_data (bytes, &length);
  lines = ow_ssh_config_rewrite (&ssh->places, length > 0 ? data : "", length, ssh->findings);
  text = g_strconcat (before, lines, behind, NULL);
  ow_credential_copy_write (ssh->copy, path, text, strlen (text), 0600);
  includes = g_steal_pointer (&ssh->findings->includes);
  ssh->findings->includes = g_ptr_array_new_with_free_func (g_free);
  follow_includes (ssh, includes, depth);
}

/* --- keys --- */

/* Both forms of a private key say in plain text whether they are encrypted: the older one in a
 * line of its own, the newer by the name of a cipher (PROTOCOL.key of OpenSSH). */
gboolean
ow_credential_ssh_has_passphrase (GBytes *bytes)
{
  static const char begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----";
  gsize length = 0;
  const char *data = g_bytes_get_data (bytes, &length);
  g_autofree char *text = g_strndup (length > 0 ? data : "", length);
  const char *start = strstr (text, begin);
  g_autofree guchar *key = NULL;
  g_autofree char *encoded = NULL;
  gsize size = 0;

  if (start == NULL)
    return strstr (text, "PRIVATE KEY-----") != NULL && strstr (text, "ENCRYPTED") != NULL;
  encoded = g_strndup (start + strlen (begin), 64);
  g_strdelimit (encoded, "\r\n", ' ');
  key = g_base64_decode (encoded, &size);
  /* "openssh-key-v1", a NUL, the length of the cipher's name in four bytes, its name. */
  return size > 23 && memcmp (key, "openssh-key-v1", 15) == 0 &&
         !(key[18] == 4 && memcmp (key + 19, "none", 4) == 0);
}

/* The usual keys that are there; tells of keys that nobody can type the passphrase of. */
static char **
look_at_keys (Ssh           *ssh,
              OwCredentials *self)
{
  g_autoptr (GPtrArray) names = ow_credential_copy_list (ssh->copy, ssh->places.place);
  g_autoptr (GStrvBuilder) usual = g_strv_builder_new ();
  g_autoptr (GString) locked = g_string_new (NULL);

  for (guint i = 0; i < names->len; i++)
    {
      const char *name = g_ptr_array_index (names, i);
      g_autofree char *path = g_strconcat (ssh->places.place, "/", name, NULL);
      g_autofree char *shown = ow_credential_copy_show (path);
      guint noted = ssh->copy->left_out->len;
      g_autoptr (GBytes) bytes = NULL;

      if (ow_credential_copy_look (ssh->copy, path) == OW_CREDENTIAL_FILE)
        bytes = ow_credential_copy_read (ssh->copy, path, KEY_BYTES);
      /* Copying it tells why not. */
      g_ptr_array_set_size (ssh->copy->left_out, (gint) noted);
      if (bytes != NULL && ow_credential_ssh_has_passphrase (bytes))
        g_string_append_printf (locked, "%s%s", locked->len > 0 ? ", " : "", shown);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (usual_keys); i++)
    for (guint j = 0; j < names->len; j++)
      if (strcmp (usual_keys[i], g_ptr_array_index (names, j)) == 0)
        g_strv_builder_add (usual, usual_keys[i]);
  if (locked->len > 0)
    g_ptr_array_add (self->sentences,
                     g_strdup_printf ("No agent is shared, so a key with a passphrase cannot be "
                                      "used inside: %s.", locked->str));
  return g_strv_builder_end (usual);
}

/* --- the programs --- */

/* The first program of that name on the PATH that is not this one. */
static char *
make_wrapper (const char *program,
              const char *home,
              const char *config)
{
  g_autofree char *own = g_strconcat (home, "/" BIN "/", program, NULL);
  g_autofree char *own_word = g_shell_quote (own);
  g_autofree char *config_word = g_shell_quote (config);
  g_autofree char *account = g_strconcat (home, "/" ACCOUNT, NULL);
  g_autofree char *account_word = g_shell_quote (account);

  return g_strdup_printf ("#!/bin/sh\n"
                          "# %s looks for its settings in the home of the account, which need "
                          "not be HOME here,\n"
                          "# and ends where the account has no name.\n"
                          "id -un >/dev/null 2>&1 || export LD_PRELOAD=%s\n"
                          "IFS=:\n"
                          "for folder in $PATH; do\n"
                          "  if [ -x \"$folder/%s\" ] && ! [ \"$folder/%s\" -ef %s ]; then\n"
                          "    exec \"$folder/%s\" -F %s \"$@\"\n"
                          "  fi\n"
                          "done\n"
                          "echo \"%s is not installed in this sandbox.\" >&2\n"
                          "exit 127\n", program, account_word, program, program, own_word,
                          program, config_word, program);
}

static void
add_programs (Ssh           *ssh,
              OwCredentials *self)
{
  static const char * const programs[] = { "ssh", "scp", "sftp" };
  const char *home = ssh->places.home;
  g_autofree char *config = g_strconcat (home, "/", ssh->places.place, "/config", NULL);
  g_autofree char *wrapper = g_strconcat (home, "/" BIN "/ssh", NULL);
  g_autofree char *word = g_shell_quote (wrapper);
  gsize length = 0;
  const char *module = ow_account_get_module (&length);

  ow_credential_copy_write (ssh->copy, ACCOUNT, module, length, 0600);
  for (gsize i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      g_autofree char *path = g_strconcat (BIN "/", programs[i], NULL);
      g_autofree char *text = make_wrapper (programs[i], home, config);

      ow_credential_copy_write (ssh->copy, path, text, strlen (text), 0700);
    }
  g_ptr_array_add (self->environment, g_strconcat ("GIT_SSH_COMMAND=", word, NULL));
  g_free (self->bin);
  self->bin = g_strconcat (home, "/" BIN, NULL);
}

static void
tell_dropped (Ssh           *ssh,
              OwCredentials *self)
{
  GPtrArray *dropped = ssh->findings->dropped;
  g_autofree char *list = ow_credential_finding_join (dropped, ", ", MAX_NAMED);

  if (dropped->len > 0)
    g_ptr_array_add (self->sentences,
                     g_strdup_printf ("Left out of the settings of ssh: %s.", list));
}

guint
ow_credential_ssh_take (OwCredentials              *self,
                        OwCredentialCopy           *copy,
                        const OwConfigCredential   *entry,
                        const OwCredentialsRequest *request)
{
  g_autoptr (OwSshFindings) findings = ow_ssh_findings_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Ssh ssh = {
    .copy = copy, .findings = findings, .seen = seen,
    .places = {
      .person = copy->person, .named = copy->named, .home = copy->home, .place = entry->path,
      .runner = request->runner,
    },
  };
  g_autofree char *config = g_strconcat (entry->path, "/config", NULL);
  g_autofree char *begin = ow_ssh_config_begin ();
  g_autofree char *end = NULL;
  g_auto (GStrv) keys = NULL;
  guint count;

  if (ow_credential_copy_look (copy, entry->path) != OW_CREDENTIAL_FOLDER)
    return 0;
  keys = look_at_keys (&ssh, self);
  end = ow_ssh_config_end (&ssh.places, (const char * const *) keys, g_get_user_name ());
  rewrite_file (&ssh, config, TRUE, 0, begin, end);
  /* What has been written stays. */
  count = ow_credential_copy_add (copy, entry->path);
  if (count == 0)
    return 0;
  add_programs (&ssh, self);
  tell_dropped (&ssh, self);
  return count;
}
