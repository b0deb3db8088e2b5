/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-credential-finding-private.h"

#include <string.h>

#include "base/ow-text.h"

#define SHOWN_CHARS 80
#define MAX_NOTES   64
#define MAX_HOSTS   256

static void
free_host (gpointer host)
{
  ow_host_free (host);
}

OwCredentialFinding *
ow_credential_finding_new (const OwConfigCredential *entry,
                           const char               *home)
{
  OwCredentialFinding *finding = g_new0 (OwCredentialFinding, 1);

  finding->entry = entry;
  finding->home = home;
  finding->hosts = g_ptr_array_new_with_free_func (free_host);
  finding->consent = g_ptr_array_new_with_free_func (free_host);
  finding->works = g_ptr_array_new_with_free_func (g_free);
  finding->notes = g_ptr_array_new_with_free_func (g_free);
  return finding;
}

void
ow_credential_finding_free (OwCredentialFinding *finding)
{
  if (finding == NULL)
    return;
  g_clear_pointer (&finding->hosts, g_ptr_array_unref);
  g_clear_pointer (&finding->consent, g_ptr_array_unref);
  g_clear_pointer (&finding->works, g_ptr_array_unref);
  g_clear_pointer (&finding->notes, g_ptr_array_unref);
  g_free (finding);
}

static void
add_text (GPtrArray *texts,
          char      *text)
{
  if (texts->len >= MAX_NOTES ||
      g_ptr_array_find_with_equal_func (texts, text, g_str_equal, NULL))
    g_free (text);
  else
    g_ptr_array_add (texts, text);
}

void
ow_credential_finding_add_work (OwCredentialFinding *finding,
                                const char          *format,
                                ...)
{
  va_list args;

  va_start (args, format);
  add_text (finding->works, g_strdup_vprintf (format, args));
  va_end (args);
}

void
ow_credential_finding_add_note (OwCredentialFinding *finding,
                                const char          *format,
                                ...)
{
  va_list args;

  va_start (args, format);
  add_text (finding->notes, g_strdup_vprintf (format, args));
  va_end (args);
}

gboolean
ow_credential_finding_add_host (GPtrArray *hosts,
                                OwHost    *host)
{
  gboolean known = FALSE;

  for (guint i = 0; i < hosts->len && !known; i++)
    known = ow_host_equal (g_ptr_array_index (hosts, i), host);
  if (!known && hosts->len < MAX_HOSTS)
    {
      g_ptr_array_add (hosts, host);
      return TRUE;
    }
  ow_host_free (host);
  return known;
}

char *
ow_credential_finding_join (GPtrArray  *texts,
                            const char *separator,
                            guint       most)
{
  GString *joined = g_string_new (NULL);

  for (guint i = 0; i < texts->len && i < most; i++)
    g_string_append_printf (joined, "%s%s", i == 0 ? "" : separator,
                            (const char *) g_ptr_array_index (texts, i));
  if (texts->len > most)
    g_string_append_printf (joined, "%sand %u more", separator, texts->len - most);
  return g_string_free (joined, FALSE);
}

/* Without the user of an address, whose password would go to the model and into the record. */
static char *
without_user (const char *text)
{
  GString *out = g_string_new (text);
  gsize at = 0;

  for (const char *mark; (mark = strstr (out->str + at, "://")) != NULL;)
    {
      const char *place = mark + 3;
      gsize length = strcspn (place, " ");
      const char *user_end = g_strrstr_len (place, (gssize) length, "@");

      at = (gsize) (place - out->str);
      if (user_end != NULL)
        {
          g_string_erase (out, (gssize) at, user_end - place + 1);
          g_string_insert (out, (gssize) at, "…");
        }
    }
  return g_string_free (out, FALSE);
}

char *
ow_credential_finding_show (const char *text)
{
  g_autofree char *plain = without_user (text);
  g_autofree char *valid = ow_text_from_bytes (plain, -1);
  g_autofree char *visible = ow_text_visible (valid);

  return ow_text_shorten (visible, SHOWN_CHARS, TRUE);
}

char *
ow_credential_finding_show_path (const char *path,
                                 const char *home)
{
  gsize length = strlen (home);
  g_autofree char *short_path = NULL;

  if (strncmp (path, home, length) == 0 && path[length] == '/')
    short_path = g_strconcat ("~", path + length, NULL);
  return ow_credential_finding_show (short_path != NULL ? short_path : path);
}
