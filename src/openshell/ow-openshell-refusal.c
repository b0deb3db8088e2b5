/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell-logs.h"

#include <string.h>

#include "base/ow-text.h"

/* A line of the proxy, as OpenShell's short form of OCSF prints it (one line):
 *
 *   [SECONDS.MILLIS] [sandbox] [OCSF ] [ocsf] NET:OPEN [MED] DENIED PROGRAM(PID) -> HOST:PORT
 *   [policy:NAME engine:KIND] [reason:TEXT]
 *
 * PROGRAM is "-" and PID 0 where the proxy does not know who asked. A request that was seen
 * inside TLS has HTTP:METHOD and "METHOD URL" in place of NET:OPEN and HOST:PORT. */

#define TARGET_OCSF " [ocsf] "
#define DENIED      " DENIED "
#define ARROW       " -> "
#define REASON      "[reason:"
#define HOST_MAX    253
#define PROGRAM_MAX 4096

void
ow_openshell_refusal_free (OwOpenshellRefusal *refusal)
{
  if (refusal == NULL)
    return;

  g_free (refusal->host);
  g_free (refusal->program);
  g_free (refusal->reason);
  g_free (refusal);
}

/* "[SECONDS.MILLIS] " at the beginning; FALSE when it is not there. */
static gboolean
read_time (const char **line,
           gint64      *time_ms)
{
  const char *p = *line;
  char *end;
  guint64 seconds, millis;

  if (*p != '[' || !g_ascii_isdigit (p[1]))
    return FALSE;
  seconds = g_ascii_strtoull (p + 1, &end, 10);
  if (*end != '.' || !g_ascii_isdigit (end[1]) || seconds > G_MAXINT64 / 1000 - 1)
    return FALSE;
  p = end + 1;
  millis = g_ascii_strtoull (p, &end, 10);
  if (*end != ']' || end - p != 3)
    return FALSE;
  *line = end + 1;
  *time_ms = (gint64) (seconds * 1000 + millis);
  return TRUE;
}

static gboolean
is_host (const char *host)
{
  gsize length = strlen (host);

  if (length == 0 || length > HOST_MAX)
    return FALSE;
  for (gsize i = 0; i < length; i++)
    if (!g_ascii_isalnum (host[i]) && strchr ("-._:[]", host[i]) == NULL)
      return FALSE;
  return TRUE;
}

/* "HOST:PORT" or "HOST:PORT/PROTOCOL", ended by a space or the end. */
static gboolean
read_target (OwOpenshellRefusal *refusal,
             const char         *text)
{
  g_autofree char *target = g_strndup (text, strcspn (text, " "));
  char *colon = strrchr (target, ':');
  char *end;
  guint64 port;

  if (colon == NULL || !g_ascii_isdigit (colon[1]))
    return FALSE;
  port = g_ascii_strtoull (colon + 1, &end, 10);
  if ((*end != '\0' && *end != '/') || port == 0 || port > G_MAXUINT16)
    return FALSE;
  *colon = '\0';
  if (!is_host (target))
    return FALSE;
  refusal->host = g_strdup (target);
  refusal->port = (guint16) port;
  return TRUE;
}

/* "PROGRAM(PID)": NULL where it says that nobody knows. */
static char *
read_program (const char *text,
              gsize       length)
{
  g_autofree char *actor = g_strndup (text, length);
  char *paren = strrchr (actor, '(');

  if (paren == NULL || length > PROGRAM_MAX)
    return NULL;
  *paren = '\0';
  if (*actor == '\0' || strcmp (actor, "-") == 0)
    return NULL;
  return ow_text_visible (actor);
}

static char *
read_reason (const char *text)
{
  const char *begin = strstr (text, REASON);
  gsize length;

  if (begin == NULL)
    return NULL;
  begin += strlen (REASON);
  length = strlen (begin);
  if (length > 0 && begin[length - 1] == ']')
    length--;
  return g_strndup (begin, length);
}

OwOpenshellRefusal *
ow_openshell_refusal_from_line (const char *line)
{
  g_autoptr (OwOpenshellRefusal) refusal = g_new0 (OwOpenshellRefusal, 1);
  const char *p = line;
  const char *denied, *arrow;

  if (!read_time (&p, &refusal->time_ms) || !g_str_has_prefix (p, " [sandbox] [OCSF ]" TARGET_OCSF))
    return NULL;
  p += strlen (" [sandbox] [OCSF ]" TARGET_OCSF);
  if (!g_str_has_prefix (p, "NET:"))
    return NULL;
  denied = strstr (p, DENIED);
  if (denied == NULL)
    return NULL;
  denied += strlen (DENIED);
  arrow = strstr (denied, ARROW);
  if (!read_target (refusal, arrow != NULL ? arrow + strlen (ARROW) : denied))
    return NULL;
  if (arrow != NULL)
    refusal->program = read_program (denied, arrow - denied);
  refusal->reason = read_reason (arrow != NULL ? arrow : denied);
  return g_steal_pointer (&refusal);
}
