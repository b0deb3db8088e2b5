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
 * PROGRAM is "-" and PID 0 where the proxy does not know who asked, and both and the arrow are
 * missing where nobody did. A request in plain HTTP has HTTP:METHOD, "METHOD URL" in place of
 * HOST:PORT, and its reason in a list. PROGRAM is a path that the inside chose: what counts is
 * found from the end of the line. A line break in it is printed as one: what is left of the line
 * then begins with whatever the inside wants, and ends as every refusal does. */

#define PREFIX      " [sandbox] [OCSF ] [ocsf] "
#define DENIED      "] DENIED "
#define ALLOWED     "] ALLOWED "
#define ARROW       " -> "
#define RULE        " [policy:"
#define ENGINE      " engine:"
#define REASON      "reason:"
#define NO_RULE     " [policy:- engine:"
#define NO_REASON   "] [reason:"
#define HOST_MAX    253
#define PROGRAM_MAX 4096

void
ow_openshell_refusal_free (OwOpenshellRefusal *refusal)
{
  if (refusal == NULL)
    return;

  g_free (refusal->host);
  g_free (refusal->program);
  g_free (refusal->engine);
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

/* "HOST:PORT" or "HOST:PORT/PROTOCOL". */
static gboolean
read_target (OwOpenshellRefusal *refusal,
             const char         *text)
{
  g_autofree char *target = g_strdup (text);
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

/* "METHOD http://HOST[:PORT]/PATH". */
static gboolean
read_url (OwOpenshellRefusal *refusal,
          const char         *text)
{
  static const char scheme[] = "://";
  const char *begin = strstr (text, scheme);
  g_autofree char *authority = NULL;
  g_autofree char *target = NULL;

  if (begin == NULL)
    return FALSE;
  begin += strlen (scheme);
  authority = g_strndup (begin, strcspn (begin, "/ "));
  if (read_target (refusal, authority))
    return TRUE;
  target = g_strdup_printf ("%s:%d", authority, strstr (text, " https://") != NULL ? 443 : 80);
  return read_target (refusal, target);
}

/* "PROGRAM(PID)": NULL where it says that nobody knows. */
static char *
read_program (const char *text)
{
  g_autofree char *actor = g_strdup (text);
  char *paren = strrchr (actor, '(');

  if (paren == NULL || strlen (actor) > PROGRAM_MAX)
    return NULL;
  *paren = '\0';
  if (*actor == '\0' || strcmp (actor, "-") == 0)
    return NULL;
  return g_steal_pointer (&actor);
}

/* @rule: from " [policy:" to the end of the line. */
static void
read_rule (OwOpenshellRefusal *refusal,
           const char         *rule)
{
  const char *engine = strstr (rule, ENGINE);
  const char *reason = strstr (rule, REASON);
  gsize length;

  if (engine != NULL)
    refusal->engine = g_strndup (engine + strlen (ENGINE),
                                 strcspn (engine + strlen (ENGINE), "] "));
  if (reason == NULL)
    return;
  reason += strlen (REASON);
  length = strlen (reason);
  if (length > 0 && reason[length - 1] == ']')
    length--;
  refusal->reason = g_strndup (reason, length);
}

/* Behind "NET:OPEN [MED] DENIED " or "HTTP:GET [MED] DENIED ", where that is the @verb; NULL when
 * it is another line. */
static const char *
skip_verb (const char *text,
           const char *verb,
           gboolean   *plain_http)
{
  const char *p = strchr (text, ' ');

  *plain_http = g_str_has_prefix (text, "HTTP:");
  if (p == NULL || (!*plain_http && !g_str_has_prefix (text, "NET:OPEN ")) || p[1] != '[')
    return NULL;
  p += 2;
  while (g_ascii_isupper (*p))
    p++;
  return g_str_has_prefix (p, verb) ? p + strlen (verb) : NULL;
}

/* "(PID) -> HOST:PORT [policy:- engine:KIND] [reason:TEXT]" at the end: a refused host whose
 * program is not known, because its name broke the line. */
static gboolean
read_tail (OwOpenshellRefusal *refusal,
           const char         *line)
{
  g_autofree char *body = g_strdup (line);
  char *rule = g_strrstr (body, NO_RULE);
  char *arrow;
  const char *target;

  if (rule == NULL || strstr (rule, NO_REASON) == NULL)
    return FALSE;
  read_rule (refusal, rule);
  *rule = '\0';
  arrow = g_strrstr (body, ARROW);
  if (arrow == NULL || arrow - body < 3 || arrow[-1] != ')' || !g_ascii_isdigit (arrow[-2]))
    return FALSE;
  target = arrow + strlen (ARROW);
  return strchr (target, ' ') != NULL ? read_url (refusal, target)
                                      : read_target (refusal, target);
}

/* @p: behind DENIED. */
static gboolean
read_body (OwOpenshellRefusal *refusal,
           const char         *p,
           gboolean            plain_http)
{
  g_autofree char *body = g_strdup (p);
  char *rule = g_strrstr (body, RULE);
  char *arrow, *target;

  if (rule != NULL)
    {
      read_rule (refusal, rule);
      *rule = '\0';
    }
  arrow = g_strrstr (body, ARROW);
  target = arrow != NULL ? arrow + strlen (ARROW) : body;
  if (arrow != NULL)
    *arrow = '\0';
  if (rule == NULL && !plain_http)
    target[strcspn (target, " ")] = '\0';
  if (plain_http ? !read_url (refusal, target) : !read_target (refusal, target))
    return FALSE;
  if (arrow != NULL)
    refusal->program = read_program (body);
  return TRUE;
}

OwOpenshellRefusal *
ow_openshell_refusal_from_line (const char *line)
{
  g_autoptr (OwOpenshellRefusal) refusal = g_new0 (OwOpenshellRefusal, 1);
  g_autoptr (OwOpenshellRefusal) broken = g_new0 (OwOpenshellRefusal, 1);
  g_autofree char *valid = ow_text_visible (line);
  const char *p = valid;
  gboolean plain_http = FALSE;

  if (read_time (&p, &refusal->time_ms) && g_str_has_prefix (p, PREFIX))
    p = skip_verb (p + strlen (PREFIX), DENIED, &plain_http);
  else
    p = NULL;
  if (p == NULL || !read_body (refusal, p, plain_http))
    {
      if (!read_tail (broken, valid))
        return NULL;
      ow_openshell_refusal_free (refusal);
      refusal = g_steal_pointer (&broken);
    }
  /* A rule about what is said to an allowed host. */
  if (refusal->engine != NULL && g_str_has_prefix (refusal->engine, "l7"))
    return NULL;
  return g_steal_pointer (&refusal);
}

OwOpenshellRefusal *
ow_openshell_refusal_from_allowed (const char *line)
{
  g_autoptr (OwOpenshellRefusal) allowed = g_new0 (OwOpenshellRefusal, 1);
  g_autofree char *valid = ow_text_visible (line);
  const char *p = valid;
  gboolean plain_http = FALSE;

  if (!read_time (&p, &allowed->time_ms) || !g_str_has_prefix (p, PREFIX))
    return NULL;
  p = skip_verb (p + strlen (PREFIX), ALLOWED, &plain_http);
  if (p == NULL || strstr (p, RULE) == NULL || !read_body (allowed, p, plain_http))
    return NULL;
  g_clear_pointer (&allowed->reason, g_free);
  return g_steal_pointer (&allowed);
}
