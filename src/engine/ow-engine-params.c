/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-params-private.h"

#include "base/ow-error.h"

/* More folders or words than this is a mistake, not a wish. */
#define MAX_FOLDERS 64
#define MAX_WORDS 4096

/* A member has one type, whichever command it belongs to. */
static const struct
{
  const char *name;
  json_type   type; /* JSON_TRUE: a truth value */
  const char *word;
} MEMBERS[] = {
  { "add", JSON_ARRAY, "a list" },
  { "all", JSON_TRUE, "true or false" },
  { "answers", JSON_TRUE, "true or false" },
  { "approve", JSON_STRING, "a text" },
  { "argv", JSON_ARRAY, "a list" },
  { "base_url", JSON_STRING, "a text" },
  { "ca_file", JSON_STRING, "a text" },
  { "call", JSON_STRING, "a text" },
  { "decision", JSON_STRING, "a text" },
  { "enabled", JSON_TRUE, "true or false" },
  { "folders", JSON_ARRAY, "a list" },
  { "from", JSON_INTEGER, "a number" },
  { "host", JSON_STRING, "a text" },
  { "hosts", JSON_ARRAY, "a list" },
  { "interactive", JSON_TRUE, "true or false" },
  { "keep", JSON_TRUE, "true or false" },
  { "key", JSON_STRING, "a text" },
  { "last", JSON_TRUE, "true or false" },
  { "lines", JSON_INTEGER, "a number" },
  { "machine", JSON_TRUE, "true or false" },
  { "model", JSON_STRING, "a text" },
  { "name", JSON_STRING, "a text" },
  { "path", JSON_STRING, "a text" },
  { "preview", JSON_STRING, "a text" },
  { "private", JSON_TRUE, "true or false" },
  { "private_hosts", JSON_ARRAY, "a list" },
  { "provider", JSON_STRING, "a text" },
  { "proxy", JSON_STRING, "a text" },
  { "reason", JSON_STRING, "a text" },
  { "record", JSON_STRING, "a text" },
  { "refused", JSON_TRUE, "true or false" },
  { "remove", JSON_ARRAY, "a list" },
  { "request", JSON_STRING, "a text" },
  { "sandbox", JSON_STRING, "a text" },
  { "session", JSON_STRING, "a text" },
  { "share", JSON_STRING, "a text" },
  { "task", JSON_STRING, "a text" },
  { "text", JSON_STRING, "a text" },
  { "turn", JSON_INTEGER, "a number" },
  { "unset", JSON_TRUE, "true or false" },
  { "unshare", JSON_STRING, "a text" },
  { "value", JSON_STRING, "a text" },
  { "what", JSON_ARRAY, "a list" },
};

void
ow_engine_params_free (OwEngineParams *params)
{
  g_strfreev (params->folders);
  g_strfreev (params->argv);
  g_free (params->model);
  g_free (params->base_url);
  g_free (params->record);
  g_free (params->task);
  g_free (params);
}

const char *
ow_engine_params_need (const json_t  *params,
                       const char    *key,
                       GError       **error)
{
  const char *text = ow_json_get_string (params, key, NULL);

  if (text == NULL || *text == '\0')
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL, "The command needs “%s” as a text", key);
      return NULL;
    }
  return text;
}

static gboolean
check_type (const char    *key,
            const json_t  *value,
            GError       **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (MEMBERS); i++)
    {
      if (!g_str_equal (MEMBERS[i].name, key))
        continue;
      if (json_typeof (value) == MEMBERS[i].type ||
          (MEMBERS[i].type == JSON_TRUE && json_is_boolean (value)))
        return TRUE;
      ow_error_setf (error, OW_ERROR_USAGE, NULL, "“%s” has to be %s", key, MEMBERS[i].word);
      return FALSE;
    }
  g_return_val_if_reached (FALSE);
}

gboolean
ow_engine_params_check (const json_t        *params,
                        const char * const  *known,
                        GError             **error)
{
  const char *key;
  json_t *value;

  if (!json_is_object (params))
    {
      ow_error_set (error, OW_ERROR_USAGE, "A command's parameters have to be an object", NULL,
                    NULL);
      return FALSE;
    }
  json_object_foreach ((json_t *) params, key, value)
    {
      if (!g_strv_contains (known, key))
        {
          ow_error_setf (error, OW_ERROR_USAGE, NULL, "The command has no member “%s”", key);
          return FALSE;
        }
      if (!check_type (key, value, error))
        return FALSE;
    }
  return TRUE;
}

static char **
read_words (const json_t  *params,
            const char    *key,
            gsize          max,
            GError       **error)
{
  json_t *array = json_object_get (params, key);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  if (!json_is_array (array) || json_array_size (array) == 0 || json_array_size (array) > max)
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL,
                     "“%s” has to be a list of 1 to %" G_GSIZE_FORMAT " texts", key, max);
      return NULL;
    }
  for (size_t i = 0; i < json_array_size (array); i++)
    {
      const char *word = json_string_value (json_array_get (array, i));

      if (word == NULL)
        {
          ow_error_setf (error, OW_ERROR_USAGE, NULL, "“%s” may hold texts only", key);
          return NULL;
        }
      g_strv_builder_add (builder, word);
    }
  return g_strv_builder_end (builder);
}

/* Said in a person's words: who names folders by a shell's pattern may well name more. */
static char **
read_folders (const json_t *params,
              const char   *key,
              GError      **error)
{
  size_t n = json_array_size (json_object_get (params, key));

  if (n <= MAX_FOLDERS)
    return read_words (params, key, MAX_FOLDERS, error);
  ow_error_setf (error, OW_ERROR_USAGE, "Name a folder that holds them instead.",
                 "A session can have %d folders, and %zu were named", MAX_FOLDERS, n);
  return NULL;
}

gboolean
ow_engine_params_read_folders (const json_t   *params,
                               const char     *key,
                               char         ***folders,
                               GError        **error)
{
  if (json_array_size (json_object_get (params, key)) == 0)
    return TRUE;
  *folders = read_folders (params, key, error);
  return *folders != NULL;
}

gboolean
ow_engine_params_read_words (const json_t   *params,
                             const char     *key,
                             char         ***words,
                             GError        **error)
{
  *words = read_words (params, key, MAX_WORDS, error);
  return *words != NULL;
}

static gboolean
read_approve (OwEngineParams  *self,
              const json_t    *params,
              GError         **error)
{
  const char *approve = ow_json_get_string (params, "approve", "ask");

  if (g_str_equal (approve, "ask"))
    self->approve = OW_APPROVE_ASK;
  else if (g_str_equal (approve, "sandboxed"))
    self->approve = OW_APPROVE_SANDBOXED;
  else if (g_str_equal (approve, "deny"))
    self->approve = OW_APPROVE_DENY;
  else
    {
      ow_error_setf (error, OW_ERROR_USAGE, "Choose one of: ask, sandboxed, deny.",
                     "There is no way to approve called “%s”", approve);
      return FALSE;
    }
  return TRUE;
}

gboolean
ow_engine_params_read_provider (const json_t    *params,
                                OwProviderKind  *kind,
                                GError         **error)
{
  const char *name = ow_json_get_string (params, "provider", NULL);

  *kind = OW_PROVIDER_UNSET;
  if (name == NULL ||
      (ow_provider_kind_from_string (name, kind) && *kind != OW_PROVIDER_UNSET))
    return TRUE;
  ow_error_setf (error, OW_ERROR_USAGE, "Choose one of: openshell, bubblewrap, direct.",
                 "There is no provider called “%s”", name);
  return FALSE;
}

OwEngineParams *
ow_engine_params_new (const json_t  *params,
                      gboolean       exec,
                      GError       **error)
{
  g_autoptr (OwEngineParams) self = g_new0 (OwEngineParams, 1);
  const char *task;

  if (!ow_engine_params_read_provider (params, &self->provider, error) ||
      !read_approve (self, params, error))
    return NULL;

  self->folders = read_folders (params, "folders", error);
  if (self->folders == NULL)
    return NULL;
  self->interactive = ow_json_get_bool (params, "interactive", FALSE);

  if (exec)
    {
      self->approve = OW_APPROVE_SANDBOXED;
      self->argv = read_words (params, "argv", MAX_WORDS, error);
      return self->argv == NULL ? NULL : g_steal_pointer (&self);
    }

  task = ow_engine_params_need (params, "task", error);
  if (task == NULL)
    return NULL;
  self->task = g_strdup (task);
  self->model = g_strdup (ow_json_get_string (params, "model", NULL));
  self->base_url = g_strdup (ow_json_get_string (params, "base_url", NULL));
  self->keep = ow_json_get_bool (params, "keep", FALSE);
  self->record = g_strdup (ow_json_get_string (params, "record", NULL));
  return g_steal_pointer (&self);
}
