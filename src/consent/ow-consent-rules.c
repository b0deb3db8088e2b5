/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-consent-rules-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "ow-simple-command-private.h"

#define VERSION   1
#define MAX_BYTES (4 * 1024 * 1024)
#define MAX_RULES 1000

/* The file is read anew at each use: a rule that a person takes out of it, or a file that is
 * removed, counts at once. */
struct _OwConsentRules
{
  GObject parent_instance;

  char *path;  /* (owned) */
};

G_DEFINE_FINAL_TYPE (OwConsentRules, ow_consent_rules, G_TYPE_OBJECT)

static void
ow_consent_rules_finalize (GObject *object)
{
  g_free (OW_CONSENT_RULES (object)->path);

  G_OBJECT_CLASS (ow_consent_rules_parent_class)->finalize (object);
}

static void
ow_consent_rules_class_init (OwConsentRulesClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_consent_rules_finalize;
}

static void
ow_consent_rules_init (OwConsentRules *self)
{
}

static gboolean
fail (OwConsentRules  *self,
      const char      *why,
      GError         **error)
{
  ow_error_setf (error, OW_ERROR_DATA, "Repair the file or remove it; removing it takes back "
                 "everything that was allowed for always.",
                 "The commands that were allowed for always cannot be used, so each is asked for "
                 "again (%s): %s", self->path, why);
  return FALSE;
}

/* The words of a rule; NULL: it is none. */
static char **
read_words (const json_t *list)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);

  for (size_t i = 0; i < json_array_size (list); i++)
    {
      const char *word = json_string_value (json_array_get (list, i));

      if (word == NULL)
        return NULL;
      g_ptr_array_add (words, g_strdup (word));
    }
  g_ptr_array_add (words, NULL);
  if (!ow_simple_command_can_be_rule ((const char * const *) words->pdata))
    return NULL;
  return (char **) g_ptr_array_free (g_steal_pointer (&words), FALSE);
}

static gboolean
is_rule (const json_t *rule)
{
  g_auto (GStrv) words = read_words (json_object_get (rule, "words"));
  const char *place = ow_json_get_string (rule, "place", "");
  OwLevel level;

  return json_object_size (rule) == 3 && words != NULL && g_path_is_absolute (place) &&
         ow_level_from_string (ow_json_get_string (rule, "level", NULL), &level);
}

static const char *
find_fault (const json_t *content)
{
  const json_t *rules = json_object_get (content, "rules");

  if (json_object_size (content) != 2 || ow_json_get_int (content, "version", 0) != VERSION ||
      !json_is_array (rules))
    return "it is not formed as this version of the program writes it";
  if (json_array_size (rules) > MAX_RULES)
    return "it holds too many";
  for (size_t i = 0; i < json_array_size (rules); i++)
    if (!is_rule (json_array_get (rules, i)))
      return "one of its rules is not formed as it should be";
  return NULL;
}

/* What others can write says nothing about what this person allowed. FALSE: it cannot be used;
 * @missing: there is no such file. */
static gboolean
check_owner (OwConsentRules  *self,
             gboolean        *missing,
             GError         **error)
{
  struct stat info;

  *missing = FALSE;
  if (stat (self->path, &info) != 0)
    {
      *missing = errno == ENOENT;
      return *missing || fail (self, g_strerror (errno), error);
    }
  if (info.st_uid != geteuid () || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail (self, "others can write it", error);
  return TRUE;
}

/* New reference; NULL: the file is there and cannot be used. */
static json_t *
load (OwConsentRules  *self,
      GError         **error)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) cause = NULL;
  char message[OW_WIRE_ERROR_SIZE];
  const char *fault = NULL;
  gboolean missing;
  json_t *content;
  const char *data;
  gsize length;

  if (!check_owner (self, &missing, error))
    return NULL;
  if (missing)
    return json_pack ("{s:i, s:[]}", "version", VERSION, "rules");
  bytes = ow_file_read (self->path, MAX_BYTES, &cause);
  if (bytes == NULL)
    {
      fail (self, cause->message, error);
      return NULL;
    }
  data = g_bytes_get_data (bytes, &length);
  content = ow_json_parse (data != NULL ? data : "", length, message);
  fault = content == NULL ? message : find_fault (content);
  if (fault == NULL)
    return content;
  fail (self, fault, error);
  json_decref (content);
  return NULL;
}

OwConsentRules *
ow_consent_rules_open (const char  *path,
                       GError     **error)
{
  OwConsentRules *self;

  g_return_val_if_fail (path != NULL, NULL);

  self = g_object_new (OW_TYPE_CONSENT_RULES, NULL);
  self->path = g_strdup (path);
  json_decref (load (self, error));
  return self;
}

gboolean
ow_consent_rules_is_usable (OwConsentRules *self)
{
  json_t *content = load (self, NULL);
  gboolean usable = content != NULL;

  json_decref (content);
  return usable;
}

static gboolean
find_rule (const json_t *content,
           json_t       *rule,
           size_t       *at)
{
  const json_t *rules = json_object_get (content, "rules");

  for (*at = 0; *at < json_array_size (rules); (*at)++)
    if (json_equal (json_array_get (rules, *at), rule))
      return TRUE;
  return FALSE;
}

/* New reference; NULL: it cannot be a rule. */
static json_t *
make_rule (OwLevel             level,
           const char         *place,
           const char * const *words)
{
  json_t *list = json_array ();
  json_t *rule;

  for (guint i = 0; words[i] != NULL; i++)
    json_array_append_new (list, json_string (words[i]));
  rule = json_object ();
  json_object_set_new (rule, "level", json_string (ow_level_to_string (level)));
  json_object_set_new (rule, "place", json_string (place));
  json_object_set_new (rule, "words", list);
  if (is_rule (rule))
    return rule;
  json_decref (rule);
  return NULL;
}

gboolean
ow_consent_rules_contains (OwConsentRules     *self,
                           OwLevel             level,
                           const char         *place,
                           const char * const *words)
{
  json_t *content, *rule;
  gboolean found;
  size_t at;

  g_return_val_if_fail (OW_IS_CONSENT_RULES (self), FALSE);

  content = load (self, NULL);
  rule = make_rule (level, place, words);
  found = content != NULL && rule != NULL && find_rule (content, rule, &at);
  json_decref (content);
  json_decref (rule);
  return found;
}

static gboolean
store (OwConsentRules  *self,
       const json_t    *content,
       GError         **error)
{
  g_autofree char *directory = g_path_get_dirname (self->path);
  g_autoptr (GBytes) bytes = NULL;
  size_t length = 0;
  char *text = ow_json_dump (content, &length);

  if (text == NULL || length >= MAX_BYTES)
    {
      free (text);
      return fail (self, "the file would be too long", error);
    }
  bytes = g_bytes_new_with_free_func (text, length, free, text);
  return ow_paths_ensure (directory, error) &&
         ow_file_write_atomic (self->path, bytes, 0600, error);
}

gboolean
ow_consent_rules_add (OwConsentRules      *self,
                      OwLevel              level,
                      const char          *place,
                      const char * const  *words,
                      GError             **error)
{
  json_t *content, *rule;
  gboolean added;
  size_t at;

  g_return_val_if_fail (OW_IS_CONSENT_RULES (self), FALSE);

  content = load (self, error);
  if (content == NULL)
    return FALSE;
  rule = make_rule (level, place, words);
  if (rule == NULL)
    {
      ow_error_set (error, OW_ERROR_USAGE, "This cannot be allowed for always",
                    "it is no command that does the same each time", "Allow it once.");
      added = FALSE;
    }
  else if (find_rule (content, rule, &at))
    {
      added = TRUE;
    }
  else if (json_array_size (json_object_get (content, "rules")) >= MAX_RULES)
    {
      added = fail (self, "it holds as many as it may", error);
    }
  else
    {
      json_array_append (json_object_get (content, "rules"), rule);
      added = store (self, content, error);
    }
  json_decref (rule);
  json_decref (content);
  return added;
}

void
ow_consent_rules_remove (OwConsentRules     *self,
                         OwLevel             level,
                         const char         *place,
                         const char * const *words)
{
  json_t *content, *rule;
  size_t at;

  g_return_if_fail (OW_IS_CONSENT_RULES (self));

  content = load (self, NULL);
  rule = make_rule (level, place, words);
  if (content != NULL && rule != NULL && find_rule (content, rule, &at))
    {
      json_array_remove (json_object_get (content, "rules"), at);
      store (self, content, NULL);
    }
  json_decref (content);
  json_decref (rule);
}
