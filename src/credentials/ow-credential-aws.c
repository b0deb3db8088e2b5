/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-credential-aws-private.h"

#include <string.h>

#include "base/ow-error.h"

#define MAX_LINES 20000

/* A section is called [default], [NAME] in credentials, [profile NAME] and [sso-session NAME] in
 * config. */
static char *
read_section (const char *line)
{
  const char *end = strchr (line, ']');
  g_autofree char *name = end == NULL ? NULL : g_strndup (line + 1, (gsize) (end - line - 1));

  if (name == NULL)
    return NULL;
  g_strstrip (name);
  if (g_str_has_prefix (name, "profile "))
    memmove (name, name + strlen ("profile "), strlen (name) - strlen ("profile ") + 1);
  return g_steal_pointer (&name);
}

static void
note_helper (OwCredentialAws *aws,
             const char      *profile,
             const char      *command)
{
  g_auto (GStrv) words = g_strsplit_set (command, " \t", 2);
  g_autofree char *program = ow_credential_finding_show (words[0] == NULL ? "" : words[0]);

  aws->helper = TRUE;
  ow_credential_finding_add_note (aws->finding, "profile \"%s\" asks \"%s\": its helper program is "
                                  "not inside", profile, program);
}

/* A file that the profile names, unless it is below the entry's folder. Whole paths of the
 * person's home are another home inside. */
static void
note_file (OwCredentialAws *aws,
           const char      *profile,
           const char      *path)
{
  g_autofree char *shown = ow_credential_finding_show_path (path, aws->finding->home);
  g_autofree char *below = g_strdup_printf ("~/%s/", aws->finding->entry->path);

  if (!g_str_has_prefix (path, below) && !g_str_has_prefix (path, "/etc/ssl/certs/"))
    ow_credential_finding_add_note (aws->finding, "profile \"%s\" names %s, which is not shared "
                                    "or not found there", profile, shown);
}

static void
take_setting (OwCredentialAws *aws,
              const char      *section,
              const char      *key,
              const char      *value)
{
  g_autofree char *profile = ow_credential_finding_show (section);
  g_autofree char *shown = ow_credential_finding_show (value);

  if (strcmp (key, "aws_access_key_id") == 0)
    aws->keys = TRUE;
  else if (strcmp (key, "credential_process") == 0)
    note_helper (aws, profile, value);
  else if (strcmp (key, "sso_session") == 0 || strcmp (key, "sso_start_url") == 0)
    aws->sso = TRUE;
  else if (strcmp (key, "credential_source") == 0)
    ow_credential_finding_add_note (aws->finding, "profile \"%s\" logs in by %s, which a sandbox "
                                    "does not have", profile, shown);
  else if (strcmp (key, "web_identity_token_file") == 0 || strcmp (key, "ca_bundle") == 0)
    note_file (aws, profile, value);
  else if (strcmp (key, "endpoint_url") == 0)
    ow_credential_finding_add_note (aws->finding, "profile \"%s\" asks %s, which is not opened",
                                    profile, shown);
  else if (strcmp (key, "region") == 0 && g_str_has_prefix (value, "cn-"))
    ow_credential_finding_add_note (aws->finding, "profile \"%s\" is in %s, whose hosts "
                                    "(*.amazonaws.com.cn) are not opened", profile, shown);
}

/* *@section is the one that the line stands in. */
static gboolean
take_line (OwCredentialAws *aws,
           char            *line,
           char           **section)
{
  /* What is indented belongs to the setting above. */
  gboolean nested = *line == ' ' || *line == '\t';
  g_autofree char *key = NULL;
  char *equals;

  g_strstrip (line);
  if (*line == '\0' || *line == '#' || *line == ';' || nested)
    return TRUE;
  if (*line == '[')
    {
      g_free (*section);
      *section = read_section (line);
      return *section != NULL;
    }
  equals = strchr (line, '=');
  if (equals == NULL || *section == NULL)
    return FALSE;
  *equals = '\0';
  key = g_ascii_strdown (g_strchomp (line), -1);
  take_setting (aws, *section, key, g_strchug (equals + 1));
  return TRUE;
}

gboolean
ow_credential_aws_read (OwCredentialAws *aws,
                        GBytes          *bytes,
                        GError         **error)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);
  g_autofree char *text = g_strndup (data == NULL ? "" : data, length);
  g_auto (GStrv) lines = NULL;
  g_autofree char *section = NULL;

  if (!g_utf8_validate (text, -1, NULL) || strlen (text) != length)
    {
      ow_error_set (error, OW_ERROR_DATA, "line 1: it is no text in UTF-8", NULL, NULL);
      return FALSE;
    }
  lines = g_strsplit (text, "\n", MAX_LINES);
  for (guint i = 0; lines[i] != NULL; i++)
    if (!take_line (aws, lines[i], &section))
      {
        ow_error_setf (error, OW_ERROR_DATA, NULL, "line %u: neither a profile nor one of its "
                       "settings", i + 1);
        return FALSE;
      }

  return TRUE;
}

void
ow_credential_aws_finish (OwCredentialAws *aws)
{
  if (aws->keys || aws->signed_in || aws->helper)
    ow_credential_finding_add_work (aws->finding, "aws with your profiles");
  if (aws->sso && !aws->signed_in)
    ow_credential_finding_add_note (aws->finding, "you are not signed in: run \"aws sso login\" "
                                    "first, which needs a browser and does not work inside");
  else if (aws->sso)
    ow_credential_finding_add_note (aws->finding, "what \"aws sso login\" left works until it "
                                    "expires, and a browser is not inside");
}
