/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "events/ow-event-words.h"

#include "base/ow-text.h"

#define PATH_CHARS 300
#define WHY_CHARS 200

gboolean
ow_event_words_is_look (const OwEvent *asked)
{
  static const char * const looks[] = { "project", "settings", NULL };
  const char *purpose = ow_event_get_string (asked, "purpose");

  return purpose != NULL && g_strv_contains (looks, purpose);
}

static void
append_entry (GString      *text,
              const json_t *entry)
{
  g_autofree char *visible = ow_text_visible (ow_json_get_string (entry, "path", ""));
  g_autofree char *path = ow_text_shorten (visible, PATH_CHARS, TRUE);
  g_autofree char *why = ow_text_shorten (ow_json_get_string (entry, "why", ""), WHY_CHARS, TRUE);

  g_string_append_printf (text, "\n  %s %s: %s", ow_json_get_string (entry, "what", ""), path, why);
}

char *
ow_event_words_settings_of (const json_t *settings,
                            gint64        total,
                            gboolean      cut,
                            gboolean      late,
                            guint         max)
{
  size_t   n = MIN (json_array_size (settings), max);
  GString *text = g_string_new (NULL);

  if (json_array_size (settings) == 0)
    g_string_append (text, "Of what other programs would run later nothing new was seen, but the "
                     "folders hold more than was looked at.");
  else
    g_string_append_printf (text, "%s, and run later by other programs. Look at it before they do:",
                            late ? "Made or changed since the session began"
                            : "Made or changed in this session");
  for (size_t i = 0; i < n; i++)
    append_entry (text, json_array_get (settings, i));
  if (total > (gint64) n)
    g_string_append_printf (text, "\n  … and %" G_GINT64_FORMAT " more", total - (gint64) n);
  else if (cut && n > 0)
    g_string_append (text, "\n  … and perhaps more: the folders hold more than was looked at");
  return g_string_free (text, FALSE);
}

char *
ow_event_words_settings (const OwEvent *event,
                         guint          max)
{
  const json_t *members = ow_event_get_members (event);

  return ow_event_words_settings_of (json_object_get (members, "settings"),
                                     ow_event_get_int (event, "total", 0),
                                     ow_json_get_bool (members, "cut", FALSE),
                                     ow_json_get_bool (members, "late", FALSE), max);
}
