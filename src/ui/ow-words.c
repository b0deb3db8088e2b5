/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-words-private.h"

#include <string.h>

#include <glib/gi18n.h>

#include "base/ow-http.h"
#include "base/ow-text.h"
#include "events/ow-level.h"

#define PATH_CHARS 200
#define MODEL_CHARS 60

const char *
ow_words_level (const char *text)
{
  OwLevel level;

  if (text == NULL || !ow_level_from_string (text, &level))
    return _ ("Not known");
  switch (level)
    {
    case OW_LEVEL_OPENSHELL:
      return _ ("OpenShell");
    case OW_LEVEL_BUBBLEWRAP:
      return _ ("Built-in");
    case OW_LEVEL_CONNECTOR:
      return _ ("Connector");
    case OW_LEVEL_DIRECT:
    default:
      return _ ("Not protected");
    }
}

static gboolean
is_walled (const char *text)
{
  OwLevel level;

  return text != NULL && ow_level_from_string (text, &level) && ow_level_is_walled (level);
}

const char *
ow_words_level_class (const char *level)
{
  if (is_walled (level))
    return "level-walled";
  return g_strcmp0 (level, "connector") == 0 ? "level-connector" : "level-open";
}

const char *
ow_words_level_icon (const char *level)
{
  return is_walled (level) ? "ow-shield-symbolic" : "ow-shield-off-symbolic";
}

const char *
ow_words_level_means (const char *level)
{
  if (g_strcmp0 (level, "bubblewrap") == 0)
    return _ ("Commands run in a sandbox that holds the session’s folders. It shares this "
              "machine’s kernel and its /usr.");
  if (g_strcmp0 (level, "openshell") == 0)
    return _ ("Commands run in a container that holds the session’s folders.");
  if (g_strcmp0 (level, "direct") == 0)
    return _ ("No sandbox: commands run directly on this machine, with the same access as your "
              "user account.");
  if (g_strcmp0 (level, "connector") == 0)
    return _ ("Calls go to a connector, which runs outside every sandbox.");
  return _ ("It is not known how commands run.");
}

char *
ow_words_duration (gint64 ms)
{
  gint64 seconds = (ms + 500) / 1000;

  if (ms < 100)
    return g_strdup_printf (_ ("%u ms"), (guint) MAX (ms, 0));
  if (ms < 9950)
    return g_strdup_printf (_ ("%.1f s"), (double) ms / 1000);
  if (seconds < 60)
    return g_strdup_printf (_ ("%u s"), (guint) seconds);
  return g_strdup_printf (_ ("%u min %u s"), (guint) (seconds / 60), (guint) (seconds % 60));
}

static gint64
day_of (GDateTime *time)
{
  GDate date;

  g_date_clear (&date, 1);
  g_date_set_dmy (&date, (GDateDay) g_date_time_get_day_of_month (time),
                  (GDateMonth) g_date_time_get_month (time),
                  (GDateYear) g_date_time_get_year (time));
  return g_date_get_julian (&date);
}

char *
ow_words_day (const char *text,
              GDateTime  *now)
{
  g_autoptr (GTimeZone) utc = g_time_zone_new_utc ();
  g_autoptr (GDateTime) time = text == NULL ? NULL : g_date_time_new_from_iso8601 (text, utc);
  g_autoptr (GDateTime) local = NULL;
  gint64 days;

  if (time == NULL)
    return g_strdup ("");
  local = g_date_time_to_timezone (time, g_date_time_get_timezone (now));
  days = day_of (now) - day_of (local);
  if (days == 0)
    return g_strdup (_ ("Today"));
  if (days == 1)
    return g_strdup (_ ("Yesterday"));
  if (days > 1 && days < 7)
    return g_date_time_format (local, "%A");
  /* The form that the person's language has for a date. */
  return g_date_time_format (local, "%x");
}

char *
ow_words_state (const char *state,
                const char *level,
                gboolean    working,
                gboolean    waiting,
                const char *started,
                GDateTime  *now)
{
  g_autofree char *day = NULL;

  if (waiting)
    return g_strdup (_ ("Needs your approval"));
  if (working)
    /* Translators: the state of a session and the level of its protection */
    return g_strdup_printf (_ ("Running · %s"), ow_words_level (level));
  day = ow_words_day (started, now);
  if (g_strcmp0 (state, "failed") == 0 || g_strcmp0 (state, "refused") == 0)
    return *day != '\0' ? g_strdup_printf (_ ("%s · failed"), day) : g_strdup (_ ("Failed"));
  if (g_strcmp0 (state, "parked") == 0)
    return *day != '\0' ? g_strdup_printf (_ ("%s · waits"), day) : g_strdup (_ ("Waits"));
  if (g_strcmp0 (state, "interrupted") == 0)
    return *day != '\0' ? g_strdup_printf (_ ("%s · interrupted"), day)
                        : g_strdup (_ ("Interrupted"));
  return g_steal_pointer (&day);
}

char *
ow_words_key (const char *model,
              const char *base_url,
              const char *key)
{
  g_autofree char *name = NULL;

  if (ow_http_url_is_loopback (base_url))
    return NULL;
  name = ow_words_line (model, MODEL_CHARS);
  if (g_strcmp0 (key, "locked") == 0)
    return g_strdup_printf (_ ("The key of the model “%s” cannot be read: the keyring is "
                               "locked. Unlock it, then try again."), name);
  if (g_strcmp0 (key, "silent") == 0)
    return g_strdup_printf (_ ("The key of the model “%s” cannot be read: the keyring does not "
                               "answer."), name);
  if (g_strcmp0 (key, "absent") == 0)
    return g_strdup_printf (_ ("The key of the model “%s” cannot be read: this session has no "
                               "keyring."), name);
  return NULL;
}

char *
ow_words_line (const char *text,
               gsize       max_chars)
{
  g_autofree char *short_text = NULL;
  g_autofree char *visible = NULL;
  char *line;

  if (text == NULL)
    return g_strdup ("");
  /* First, so that an endless title costs nothing. */
  short_text = ow_text_shorten (text, max_chars + 1, TRUE);
  visible = ow_text_visible (short_text);
  line = ow_text_shorten (visible, max_chars, TRUE);
  return g_strdelimit (line, "\t", ' ');
}

char *
ow_words_folder (const char *path,
                 gboolean    read_only)
{
  const char *home = g_get_home_dir ();
  gsize length = strlen (home);
  g_autofree char *line = NULL;
  g_autofree char *below = NULL;

  if (length > 1 && g_str_has_prefix (path, home) &&
      (path[length] == '/' || path[length] == '\0'))
    below = g_strconcat ("~", path + length, NULL);
  line = ow_words_line (below != NULL ? below : path, PATH_CHARS);
  return g_strdup_printf (read_only ? _ ("%s (read-only)") : _ ("%s (read-write)"), line);
}

char *
ow_words_tokens (gint64 tokens)
{
  return g_strdup_printf (ngettext ("%'lu token", "%'lu tokens", (gulong) tokens),
                          (gulong) tokens);
}

char *
ow_words_outcome (const char *outcome,
                  gint64      exit_status,
                  gint64      signal)
{
  if (g_strcmp0 (outcome, "ok") == 0 && signal != 0)
    return g_strdup_printf (_ ("signal %d"), (int) signal);
  if (g_strcmp0 (outcome, "ok") == 0 && exit_status != 0)
    return g_strdup_printf (_ ("exit %d"), (int) exit_status);
  if (g_strcmp0 (outcome, "failed") == 0)
    return g_strdup (_ ("failed"));
  if (g_strcmp0 (outcome, "cancelled") == 0)
    return g_strdup (_ ("stopped"));
  if (g_strcmp0 (outcome, "interrupted") == 0)
    return g_strdup (_ ("interrupted"));
  if (g_strcmp0 (outcome, "denied") == 0)
    return g_strdup (_ ("denied"));
  return NULL;
}

void
ow_words_set (char       **member,
              const char  *text)
{
  char *copy = g_strdup (text);

  g_free (*member);
  *member = copy;
}
