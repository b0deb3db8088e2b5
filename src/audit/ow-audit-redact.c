/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "audit/ow-audit.h"

#include <string.h>

#define REDACTED  "[redacted]"
#define MAX_DEPTH 128

/* A value after a name: in quotes, or up to where a shell word or a JSON value ends. */
#define VALUE   "(?:\"(?:[^\"\\\\]|\\\\.)*+\"?|'[^']*+'?|[^\\s\"'&;|<>(),]++)"
#define NAMES   "(?:passw(?:or)?d|passphrase|secret|token(?![a-z])|api[_-]?key|access[_-]?key" \
                "|private[_-]?key|credential|authorization|cookie)"

static const struct {
  const char *pattern;
  const char *replacement;
} rules[] = {
  { "-----BEGIN (?:[A-Z0-9]++ ){0,3}?PRIVATE KEY(?: BLOCK)?-----.*?"
    "(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\\z)", REDACTED },
  { "(?-i)\\b(?=[gsASxnhpye])(?:gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_\\w{20,}+|glpat-[\\w-]{20,}+"
    "|sk-[\\w-]{20,}+|(?:AKIA|ASIA)[A-Z0-9]{16}\\b|xox[a-z]-[\\w-]{10,}+|AIza[\\w-]{30,}+"
    "|npm_[A-Za-z0-9]{30,}+|hf_[A-Za-z0-9]{30,}+|pypi-[\\w-]{40,}+|ya29\\.[\\w-]{20,}+"
    "|SG\\.[\\w-]{16,}+\\.[\\w-]{16,}+|eyJ[\\w-]{8,}+\\.eyJ[\\w-]{8,}+\\.[\\w-]*+)", REDACTED },
  { "(" NAMES "[\\w-]{0,40}[\"']?\\s{0,4}[=:]\\s{0,4}(?:[\"']?(?:bearer|basic|token)\\s{1,4})?)"
    VALUE, "\\1" REDACTED },
  { "(--?[\\w-]{0,40}" NAMES "[\\w-]{0,20}\\s{1,4})" VALUE, "\\1" REDACTED },
  { "(\\bbearer\\s{1,4})[\\w.~+/=-]{8,}+", "\\1" REDACTED },
  { "(://[^\\s/:@]{0,256}:)[^\\s/@]{1,512}@", "\\1" REDACTED "@" },
};

static const GRegex *
get_rule (guint i)
{
  static GRegex *compiled[G_N_ELEMENTS (rules)];
  static gsize done = 0;

  if (g_once_init_enter (&done))
    {
      for (guint k = 0; k < G_N_ELEMENTS (rules); k++)
        compiled[k] = g_regex_new (rules[k].pattern,
                                   G_REGEX_CASELESS | G_REGEX_DOTALL | G_REGEX_OPTIMIZE, 0, NULL);
      g_once_init_leave (&done, 1);
    }

  return compiled[i];
}

/* Letters and digits only, so that api_key, API-Key and apiKey are one name. */
static gboolean
names_secret (const char *name)
{
  static const char * const parts[] = {
    "password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey",
    "authorization", "credential", "cookie",
  };
  static const char * const exact[] = { "auth", "pwd", "pass", "bearer", "jwt" };
  GString *plain = g_string_new (NULL);
  g_autofree char *text = NULL;

  for (const char *p = name; *p != '\0'; p++)
    if (g_ascii_isalnum (*p))
      g_string_append_c (plain, g_ascii_tolower (*p));
  text = g_string_free (plain, FALSE);

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (strstr (text, parts[i]) != NULL)
      return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (exact); i++)
    if (strcmp (text, exact[i]) == 0)
      return TRUE;

  return g_str_has_suffix (text, "token");
}

/* A text that a rule cannot get through is not shown at all. */
static json_t *
redact_text (const char *text)
{
  g_autofree char *clean = g_strdup (text);

  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    {
      const GRegex *rule = get_rule (i);
      char *next = rule != NULL ? g_regex_replace (rule, clean, -1, 0, rules[i].replacement, 0,
                                                   NULL) : NULL;

      if (next == NULL)
        return json_string (REDACTED);
      g_free (clean);
      clean = next;
    }

  return json_string (clean);
}

static json_t *redact (const json_t *value,
                       guint         depth);

static json_t *
redact_object (const json_t *value,
               guint         depth)
{
  json_t *clean = json_object ();
  const char *name;
  json_t *member;

  json_object_foreach ((json_t *) value, name, member)
    {
      gboolean hide = names_secret (name) && !json_is_null (member) && !json_is_boolean (member);

      json_object_set_new (clean, name, hide ? json_string (REDACTED)
                                             : redact (member, depth + 1));
    }

  return clean;
}

/* In an argument vector the secret is the word after its option. */
static json_t *
redact_array (const json_t *value,
              guint         depth)
{
  json_t *clean = json_array ();
  gboolean hide = FALSE;

  for (size_t i = 0; i < json_array_size (value); i++)
    {
      const json_t *item = json_array_get (value, i);
      const char *text = json_string_value (item);

      json_array_append_new (clean, hide && text != NULL ? json_string (REDACTED)
                                                         : redact (item, depth + 1));
      hide = text != NULL && *text == '-' && strpbrk (text, "= \n") == NULL &&
             strlen (text) < 80 && names_secret (text);
    }

  return clean;
}

static json_t *
redact (const json_t *value,
        guint         depth)
{
  if (depth > MAX_DEPTH)
    return json_string (REDACTED);

  switch (json_typeof (value))
    {
    case JSON_OBJECT:
      return redact_object (value, depth);
    case JSON_ARRAY:
      return redact_array (value, depth);
    case JSON_STRING:
      return redact_text (json_string_value (value));
    case JSON_INTEGER:
    case JSON_REAL:
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
      break;
    }

  return json_incref ((json_t *) value);
}

json_t *
ow_audit_redact (const json_t *value)
{
  return redact (value, 0);
}
