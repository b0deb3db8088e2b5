/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-ssh-config-private.h"

#include <string.h>

#include "base/ow-text.h"
#include "ow-credential-path-private.h"

#define MAX_DROPPED 100
#define SHOWN_CHARS 120

typedef enum {
  KEEP,
  SILENT,  /* left out: it can mean nothing inside, or the beginning says it */
  PROGRAM, /* left out and said: it names a program or library of the machine */
  PATHS,   /* its arguments are paths */
  HOST,
  MATCH,
  INCLUDE,
  COMMAND, /* ProxyCommand */
  JUMP,
} Kind;

static const struct {
  const char *keyword;
  Kind        kind;
} keywords[] = {
  { "host", HOST },
  { "match", MATCH },
  { "include", INCLUDE },
  { "proxycommand", COMMAND },
  { "proxyjump", JUMP },
  { "identityfile", PATHS },
  { "certificatefile", PATHS },
  { "userknownhostsfile", PATHS },
  { "revokedhostkeys", PATHS },
  { "globalknownhostsfile", PATHS },
  { "identityagent", SILENT },
  { "addkeystoagent", SILENT },
  { "forwardagent", SILENT },
  { "usekeychain", SILENT },
  { "keychainintegration", SILENT },
  { "controlmaster", SILENT },
  { "controlpath", SILENT },
  { "controlpersist", SILENT },
  { "ignoreunknown", SILENT },
  { "permitlocalcommand", SILENT },
  { "proxyusefdpass", SILENT },
  { "xauthlocation", SILENT },
  { "localcommand", PROGRAM },
  { "knownhostscommand", PROGRAM },
  { "pkcs11provider", PROGRAM },
  { "smartcarddevice", PROGRAM },
  { "securitykeyprovider", PROGRAM },
};

typedef struct {
  const OwSshPlaces *places;
  OwSshFindings     *findings;
  GString           *out;
  gboolean           dropping; /* in a block that is left out */
} Rewrite;

OwSshFindings *
ow_ssh_findings_new (void)
{
  OwSshFindings *findings = g_new0 (OwSshFindings, 1);

  findings->includes = g_ptr_array_new_with_free_func (g_free);
  findings->dropped = g_ptr_array_new_with_free_func (g_free);
  return findings;
}

void
ow_ssh_findings_free (OwSshFindings *findings)
{
  if (findings == NULL)
    return;
  g_ptr_array_unref (findings->includes);
  g_ptr_array_unref (findings->dropped);
  g_free (findings);
}

/* --- words --- */

static gboolean
is_blank (char c)
{
  return c == ' ' || c == '\t' || c == '\f' || c == '\r';
}

/* Parts @text as ssh does: blanks between, either quote around, a backslash before a quote, a
 * backslash or (outside of quotes) a blank; a "#" begins a comment. NULL: a quote is open. */
static GPtrArray *
split_words (const char *text)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);

  for (;;)
    {
      g_autoptr (GString) word = g_string_new (NULL);
      char quote = '\0';

      while (is_blank (*text))
        text++;
      if (*text == '\0' || *text == '#')
        return g_steal_pointer (&words);
      for (; *text != '\0' && (quote != '\0' || !is_blank (*text)); text++)
        {
          if (*text == '\\' && text[1] != '\0' &&
              (strchr ("'\"\\", text[1]) != NULL || (quote == '\0' && text[1] == ' ')))
            g_string_append_c (word, *++text);
          else if (quote == '\0' && (*text == '"' || *text == '\''))
            quote = *text;
          else if (quote != '\0' && *text == quote)
            quote = '\0';
          else
            g_string_append_c (word, *text);
        }
      if (quote != '\0')
        return NULL;
      g_ptr_array_add (words, g_strdup (word->str));
    }
}

static const char *
word_at (GPtrArray *words,
         guint      i)
{
  return words != NULL && i < words->len ? g_ptr_array_index (words, i) : "";
}

/* The keyword of @line in lower case; @rest is what stands behind it and its "=". */
static char *
take_keyword (const char  *line,
              const char **rest)
{
  const char *start = line;
  gboolean quoted = *start == '"';
  char *keyword;

  start += quoted ? 1 : 0;
  for (line = start; *line != '\0' && (quoted ? *line != '"' : !is_blank (*line) && *line != '=');)
    line++;
  keyword = g_ascii_strdown (start, line - start);
  line += quoted && *line == '"' ? 1 : 0;
  while (is_blank (*line))
    line++;
  if (*line == '=')
    for (line++; is_blank (*line);)
      line++;
  *rest = line;
  return keyword;
}

static Kind
kind_of (const char *keyword)
{
  for (gsize i = 0; i < G_N_ELEMENTS (keywords); i++)
    if (strcmp (keyword, keywords[i].keyword) == 0)
      return keywords[i].kind;
  return KEEP;
}

/* --- what is told --- */

static void
drop (Rewrite    *rewrite,
      const char *what,
      const char *why)
{
  GPtrArray *dropped = rewrite->findings->dropped;
  g_autofree char *text = ow_text_from_bytes (what, -1);
  g_autofree char *visible = ow_text_visible (text);
  g_autofree char *shown = ow_text_shorten (visible, SHOWN_CHARS, TRUE);
  g_autofree char *sentence = why != NULL ? g_strdup_printf ("%s (%s)", shown, why)
                                          : g_strdup (shown);

  for (guint i = 0; i < dropped->len; i++)
    if (strcmp (g_ptr_array_index (dropped, i), sentence) == 0)
      return;
  if (dropped->len < MAX_DROPPED)
    g_ptr_array_add (dropped, g_steal_pointer (&sentence));
}

/* Of a line that runs a program only which one: its arguments can be a password, and what is told
 * goes to the model and into the record. */
static void
drop_program (Rewrite    *rewrite,
              const char *keyword,
              GPtrArray  *words)
{
  const char *program = word_at (words, g_ascii_strcasecmp (word_at (words, 0), "exec") == 0);
  g_autofree char *name = strchr (program, '=') == NULL && *program != '\0'
                          ? g_path_get_basename (program) : g_strdup ("");
  g_autofree char *what = g_strdup_printf ("%s%s%s", keyword, *name != '\0' ? " " : "", name);

  drop (rewrite, what, "it runs a program");
}

/* --- paths --- */

/* @path as one below the home; NULL: it does not lie there. @relative_to: what a path without a
 * beginning is meant by, NULL: it is not known. */
static char *
find_below (const OwSshPlaces *places,
            const char        *path,
            const char        *relative_to)
{
  const char *below = ow_credential_path_skip (path, places->person);
  g_autofree char *joined = NULL;
  g_autofree char *canonical = NULL;

  if (below == NULL)
    below = ow_credential_path_skip (path, places->named);
  if (below == NULL)
    below = ow_credential_path_skip (path, "~");
  if (below == NULL)
    below = ow_credential_path_skip (path, "%d");
  if (below == NULL)
    below = ow_credential_path_skip (path, "${HOME}");
  if (below == NULL)
    {
      if (relative_to == NULL || *path == '/' || *path == '~' || *path == '%' || *path == '$')
        return NULL;
      joined = g_strconcat (relative_to, "/", path, NULL);
      below = joined;
    }
  /* "/" is the home here: nothing leads out of it. */
  canonical = g_canonicalize_filename (below, "/");
  return canonical[1] != '\0' ? g_strdup (canonical + 1) : NULL;
}

static gboolean
is_in_place (const OwSshPlaces *places,
             const char        *below)
{
  return ow_credential_path_skip (below, places->place) != NULL;
}

/* @path below the private home, in quotes. Of the home's own path nothing is a sign: @signs are
 * what means something there, "%" is doubled and the others get a backslash. */
static void
append_path (GString           *out,
             const OwSshPlaces *places,
             const char        *path,
             const char        *signs)
{
  g_string_append_c (out, '"');
  for (const char *p = places->home; *p != '\0'; p++)
    {
      if (*p == '%' && strchr (signs, '%') != NULL)
        g_string_append_c (out, '%');
      else if (*p == '"' || *p == '\\' || strchr (signs, *p) != NULL)
        g_string_append_c (out, '\\');
      g_string_append_c (out, *p);
    }
  g_string_append_c (out, '/');
  for (const char *p = path; *p != '\0'; p++)
    {
      if (*p == '"')
        g_string_append_c (out, '\\');
      g_string_append_c (out, *p);
    }
  g_string_append_c (out, '"');
}

/* --- lines --- */

static void
keep (Rewrite    *rewrite,
      const char *line)
{
  g_string_append (rewrite->out, line);
  g_string_append_c (rewrite->out, '\n');
}

static void
append_own_command (Rewrite *rewrite)
{
  g_string_append_printf (rewrite->out, "ProxyCommand %s connect %%h %%p\n",
                          rewrite->places->runner);
}

static void
take_paths (Rewrite    *rewrite,
            const char *line,
            const char *keyword,
            GPtrArray  *words)
{
  g_autoptr (GString) out = g_string_new (keyword);
  guint left = 0;

  for (guint i = 0; words != NULL && i < words->len; i++)
    {
      const char *word = g_ptr_array_index (words, i);
      g_autofree char *below = find_below (rewrite->places, word, NULL);

      if (below != NULL && is_in_place (rewrite->places, below))
        {
          g_string_append_c (out, ' ');
          append_path (out, rewrite->places, below, "%");
          left++;
        }
      else if (below == NULL && (g_ascii_strcasecmp (word, "none") == 0 ||
                                 g_str_has_prefix (word, "/dev/") ||
                                 g_str_has_prefix (word, "/etc/")))
        {
          g_string_append_printf (out, " \"%s\"", word);
          left++;
        }
      else
        {
          drop (rewrite, word, "not in ~/.ssh");
        }
    }
  if (words == NULL)
    keep (rewrite, line);
  else if (left > 0)
    keep (rewrite, out->str);
}

static void
take_include (Rewrite   *rewrite,
              GPtrArray *words)
{
  for (guint i = 0; words != NULL && i < words->len; i++)
    {
      const char *word = g_ptr_array_index (words, i);
      /* Whatever the place, that is what ssh means by a name alone. */
      g_autofree char *below = find_below (rewrite->places, word, rewrite->places->place);
      g_autofree char *what = g_strconcat ("Include ", word, NULL);

      if (below == NULL || !is_in_place (rewrite->places, below))
        {
          drop (rewrite, what, "not in ~/.ssh");
          continue;
        }
      g_string_append (rewrite->out, "Include ");
      append_path (rewrite->out, rewrite->places, below, "*?[]{}");
      g_string_append_c (rewrite->out, '\n');
      g_ptr_array_add (rewrite->findings->includes, g_steal_pointer (&below));
    }
}

/* Criteria of another release would end ssh, and one runs a program. *@what (transfer full) is
 * then the criterion, without what it is compared with. */
static gboolean
is_match_usable (GPtrArray   *words,
                 char       **what,
                 const char **why)
{
  static const char * const alone[] = { "all", "canonical", "final", NULL };
  static const char * const valued[] = { "host", "originalhost", "user", "localuser", NULL };

  *why = "it cannot be read";
  for (guint i = 0; words != NULL && i < words->len; i++)
    {
      const char *word = word_at (words, i);
      const char *equal = strchr (word, '=');
      g_autofree char *name = equal != NULL ? g_strndup (word, (gsize) (equal - word))
                                            : g_strdup (word);
      g_autofree char *lower = g_ascii_strdown (name + (*name == '!' ? 1 : 0), -1);

      *why = strcmp (lower, "exec") == 0 ? "it runs a program" : "not every ssh knows it";
      if (g_strv_contains (alone, lower))
        continue;
      if (!g_strv_contains (valued, lower))
        {
          *what = g_strdup_printf ("Match %s", lower);
          return FALSE;
        }
      i += equal != NULL ? 0 : 1;
    }
  return words != NULL && words->len > 0;
}

static void
take_match (Rewrite    *rewrite,
            const char *line,
            GPtrArray  *words)
{
  g_autofree char *what = NULL;
  const char *why = NULL;

  rewrite->dropping = !is_match_usable (words, &what, &why);
  if (rewrite->dropping)
    drop (rewrite, what != NULL ? what : "Match", why);
  else
    keep (rewrite, line);
}

/* "ssh -W %h:%p HOST", as it was written before there was ProxyJump. */
static const char *
find_jump (GPtrArray *words)
{
  const char *host = NULL;
  gboolean forwards = FALSE;
  g_autofree char *program = g_path_get_basename (word_at (words, 0));

  if (strcmp (program, "ssh") != 0)
    return NULL;
  for (guint i = 1; i < words->len; i++)
    {
      const char *word = word_at (words, i);

      if (strcmp (word, "-W") == 0)
        {
          const char *to = word_at (words, ++i);

          forwards = strcmp (to, "%h:%p") == 0 || strcmp (to, "[%h]:%p") == 0;
        }
      else if (strcmp (word, "-W%h:%p") == 0 || strcmp (word, "-W[%h]:%p") == 0)
        forwards = TRUE;
      else if (strcmp (word, "-q") == 0 || strcmp (word, "-a") == 0 || strcmp (word, "-x") == 0 ||
               strcmp (word, "-T") == 0)
        continue;
      else if (*word == '-' || host != NULL || strpbrk (word, "|&;<>$`()%") != NULL)
        return NULL;
      else
        host = word;
    }
  return forwards ? host : NULL;
}

/* In the place of what is left out stands our own: a later line that the person has kept from
 * this host must not reach it now. */
static void
take_command (Rewrite    *rewrite,
              const char *line,
              const char *keyword,
              const char *rest)
{
  g_autoptr (GPtrArray) words = split_words (rest);
  const char *jump;

  if (words == NULL || words->len == 0)
    {
      keep (rewrite, line);
      return;
    }
  if (g_ascii_strcasecmp (word_at (words, 0), "exec") == 0)
    g_ptr_array_remove_index (words, 0);
  jump = find_jump (words);
  if (jump != NULL)
    {
      g_string_append_printf (rewrite->out, "ProxyJump %s\n", jump);
      return;
    }
  if (g_ascii_strcasecmp (word_at (words, 0), "none") != 0)
    drop_program (rewrite, keyword, words);
  append_own_command (rewrite);
}

static void
take_line (Rewrite    *rewrite,
           const char *line)
{
  const char *rest = NULL;
  g_autofree char *keyword = take_keyword (line, &rest);
  Kind kind = kind_of (keyword);
  g_autoptr (GPtrArray) words = split_words (rest);

  if (kind == HOST || kind == MATCH)
    rewrite->dropping = FALSE;
  if (rewrite->dropping)
    return;
  switch (kind)
    {
    case SILENT:
      break;
    case PROGRAM:
      drop_program (rewrite, keyword, words);
      break;
    case PATHS:
      take_paths (rewrite, line, keyword, words);
      break;
    case MATCH:
      take_match (rewrite, line, words);
      break;
    case INCLUDE:
      take_include (rewrite, words);
      break;
    case COMMAND:
      take_command (rewrite, line, keyword, rest);
      break;
    case JUMP:
      if (g_ascii_strcasecmp (word_at (words, 0), "none") == 0)
        append_own_command (rewrite);
      else
        keep (rewrite, line);
      break;
    case HOST:
    case KEEP:
    default:
      keep (rewrite, line);
      break;
    }
}

char *
ow_ssh_config_rewrite (const OwSshPlaces *places,
                       const char        *text,
                       gsize              length,
                       OwSshFindings     *findings)
{
  Rewrite rewrite = { .places = places, .findings = findings, .out = g_string_new (NULL) };
  const char *end = text + length;

  if (length >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0)
    text += 3;
  while (text < end)
    {
      const char *stop = memchr (text, '\n', (gsize) (end - text));
      gsize size = (gsize) ((stop != NULL ? stop : end) - text);
      /* Ends at a NUL, as it does for ssh. */
      g_autofree char *line = g_strndup (text, size);
      char *start = line;

      g_strchomp (line);
      while (is_blank (*start))
        start++;
      if (*start != '\0' && *start != '#')
        take_line (&rewrite, start);
      text += size + 1;
    }
  return g_string_free (rewrite.out, FALSE);
}

char *
ow_ssh_config_begin (void)
{
  /* What is said first counts. */
  return g_strdup ("# Made for this sandbox from the person's own, which is as it was.\n"
                   "IgnoreUnknown *\n"
                   "IdentityAgent none\n"
                   "ForwardAgent no\n"
                   "ControlMaster no\n"
                   "ControlPath none\n"
                   "PermitLocalCommand no\n"
                   "ProxyUseFdpass no\n");
}

char *
ow_ssh_config_end (const OwSshPlaces  *places,
                   const char * const *keys,
                   const char         *user)
{
  Rewrite rewrite = { .places = places, .out = g_string_new (NULL) };

  g_string_append (rewrite.out, "Host *\n");
  if (user != NULL && *user != '\0' && strpbrk (user, " \t\"'\\#%\n\r") == NULL)
    g_string_append_printf (rewrite.out, "User %s\n", user);
  g_string_append (rewrite.out, "UserKnownHostsFile");
  for (gsize i = 0; i < 2; i++)
    {
      g_autofree char *path = g_strconcat (places->place,
                                           i == 0 ? "/known_hosts" : "/known_hosts2", NULL);

      g_string_append_c (rewrite.out, ' ');
      append_path (rewrite.out, places, path, "%");
    }
  g_string_append_c (rewrite.out, '\n');
  for (gsize i = 0; keys[i] != NULL; i++)
    {
      g_autofree char *path = g_strconcat (places->place, "/", keys[i], NULL);

      g_string_append (rewrite.out, "IdentityFile ");
      append_path (rewrite.out, places, path, "%");
      g_string_append_c (rewrite.out, '\n');
    }
  append_own_command (&rewrite);
  return g_string_free (rewrite.out, FALSE);
}
