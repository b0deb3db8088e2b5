/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-http.h"
#include "base/ow-text.h"
#include "ow-face-private.h"
#include "ow-key-input-private.h"

/* As long as the program lives. */
static struct
{
  char     *base_url; /* all owned (nullable) */
  char     *model;
  char     *ca_file;
  char     *proxy;
  char     *name;
  gboolean  key_stdin;
  gboolean  json;
  gboolean  needs_no_key; /* the model that is removed is served on this machine */
} options;

static const char *
key_words (const char *state)
{
  static const struct { const char *state; const char *words; } WORDS[] = {
    { "keyring", "key in the keyring" },
    { "environment", "key from OPENWORKER_API_KEY" },
    { "none", "no key" },
    { "locked", "keyring is locked: unlock it to use its key" },
    { "absent", "no keyring runs here, no key" },
    { "silent", "keyring does not answer" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (WORDS); i++)
    if (g_strcmp0 (WORDS[i].state, state) == 0)
      return WORDS[i].words;
  return "?";
}

static void
print_model (const json_t *model)
{
  g_autofree char *name = ow_text_visible (ow_json_get_string (model, "name", "?"));
  g_autofree char *at = ow_text_visible (ow_json_get_string (model, "base_url", "?"));
  g_autofree char *its = ow_text_visible (ow_json_get_string (model, "model", "?"));

  g_print ("%-16s %s at %s, %s%s\n", name, its, at,
           key_words (ow_json_get_string (model, "key", NULL)),
           ow_json_get_bool (model, "default", FALSE) ? " (default)" : "");
}

static void
show_list (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  const json_t *models = json_object_get (result, "models");

  for (size_t i = 0; i < json_array_size (models); i++)
    {
      if (options.json)
        ow_face_print_json (json_array_get (models, i));
      else
        print_model (json_array_get (models, i));
    }
  if (!options.json && json_array_size (models) == 0)
    g_print ("No models yet. “openworker model add” adds one.\n");
  ow_face_finish (face, 0);
}

static void
show_added (OwFace       *face,
            const json_t *result,
            gpointer      user_data)
{
  gboolean stored = g_strcmp0 (ow_json_get_string (result, "keyring", NULL), "stored") == 0;

  g_print ("Model %s is added%s. “openworker model test %s” tries it.\n", options.name,
           stored ? ", its key is in the keyring" : ", without a key", options.name);
  ow_face_finish (face, 0);
}

static void
show_removed (OwFace       *face,
              const json_t *result,
              gpointer      user_data)
{
  const char *keyring = ow_json_get_string (result, "keyring", "");

  if (g_str_equal (keyring, "removed"))
    g_print ("Model %s is removed, and its key from the keyring.\n", options.name);
  else if (g_str_equal (keyring, "kept"))
    g_print ("Model %s is removed. The key stays: another model is at that address.\n",
             options.name);
  else if (options.needs_no_key)
    g_print ("Model %s is removed.\n", options.name);
  else
    g_print ("Model %s is removed. Its key, if one was stored, is still in the keyring.\n",
             options.name);
  ow_face_finish (face, 0);
}

static void
show_test (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  g_autofree char *visible = NULL;
  g_autofree char *answer = NULL;

  if (options.json)
    {
      ow_face_print_json (result);
      ow_face_finish (face, 0);
      return;
    }
  visible = ow_text_visible (ow_json_get_string (result, "answer", ""));
  answer = ow_text_shorten (visible, 200, TRUE);
  g_print ("Model %s answers: %s\n(first byte after %" JSON_INTEGER_FORMAT " ms, whole after %"
           JSON_INTEGER_FORMAT " ms)\n", options.name, answer,
           ow_json_get_int (result, "first_byte_ms", 0), ow_json_get_int (result, "total_ms", 0));
  ow_face_finish (face, 0);
}

static void
add (OwFace     *face,
     const char *key,
     gpointer    user_data)
{
  json_t *params = json_pack ("{s:s, s:s, s:s}", "name", options.name, "base_url",
                              options.base_url, "model", options.model);

  if (key != NULL)
    json_object_set_new (params, "key", json_string (key));
  if (options.ca_file != NULL)
    {
      g_autofree char *path = ow_face_path (options.ca_file);

      json_object_set_new (params, "ca_file", json_string (path));
    }
  if (options.proxy != NULL)
    json_object_set_new (params, "proxy", json_string (options.proxy));
  ow_face_command (face, "model.add", params, show_added, NULL);
}

static void
start_add (OwFace *face)
{
  if (options.base_url == NULL || *options.base_url == '\0')
    ow_face_usage (face, "“model add” needs a --base-url.");
  else if (options.model == NULL || *options.model == '\0')
    ow_face_usage (face, "“model add” needs a --model: its name at that address.");
  else if (options.ca_file != NULL && *options.ca_file == '\0')
    ow_face_usage (face, "--ca-file needs a file.");
  else
    ow_key_input_read (face, options.key_stdin, add, NULL);
}

static json_t *
name_params (void)
{
  return json_pack ("{s:s}", "name", options.name);
}

/* The engine tells where the model is served only while it knows it. */
static void
remove_known (OwFace       *face,
              const json_t *result,
              gpointer      user_data)
{
  const json_t *models = json_object_get (result, "models");

  for (size_t i = 0; i < json_array_size (models); i++)
    {
      const json_t *model = json_array_get (models, i);

      if (g_strcmp0 (ow_json_get_string (model, "name", NULL), options.name) == 0)
        options.needs_no_key = ow_http_url_is_loopback (ow_json_get_string (model, "base_url", ""));
    }
  ow_face_command (face, "model.remove", name_params (), show_removed, NULL);
}

void
ow_command_model (OwFace  *face,
                  int      argc,
                  char   **argv)
{
  const GOptionEntry entries[] = {
    { "base-url", 'u', 0, G_OPTION_ARG_STRING, &options.base_url,
      "Add: where it is served, such as http://127.0.0.1:8080/v1", "URL" },
    { "model", 'm', 0, G_OPTION_ARG_STRING, &options.model,
      "Add: what it is called there", "MODEL" },
    { "key-stdin", 0, 0, G_OPTION_ARG_NONE, &options.key_stdin,
      "Add: read its key from standard input", NULL },
    { "ca-file", 0, 0, G_OPTION_ARG_FILENAME, &options.ca_file,
      "Add: the only authorities that are believed there (PEM)", "FILE" },
    { "proxy", 0, 0, G_OPTION_ARG_STRING, &options.proxy,
      "Add: the proxy that leads there", "URL" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "List, test: print JSON", NULL },
    { NULL }
  };
  const char *verb = ow_face_take_verb (&argc, &argv);

  if (!ow_face_parse (face, "add NAME --base-url URL --model MODEL | list | test NAME "
                      "| remove NAME",
                      "The models that “run --model NAME” knows. A key is asked for without "
                      "showing it, or read from standard input; it is kept in the keyring and is "
                      "never an argument.", entries, FALSE, &argc, &argv))
    return;
  options.name = g_strdup (argc == 2 ? argv[1] : NULL);
  if (verb != NULL && !g_str_equal (verb, "add") &&
      (options.base_url != NULL || options.model != NULL || options.key_stdin ||
       options.ca_file != NULL || options.proxy != NULL))
    ow_face_usage (face, "These options belong to “model add”.");
  else if (g_strcmp0 (verb, "list") == 0 && argc == 1)
    ow_face_command (face, "model.list", NULL, show_list, NULL);
  else if (g_strcmp0 (verb, "add") == 0 && argc == 2)
    start_add (face);
  else if (g_strcmp0 (verb, "test") == 0 && argc == 2)
    ow_face_command (face, "model.test", name_params (), show_test, NULL);
  else if (g_strcmp0 (verb, "remove") == 0 && argc == 2)
    ow_face_command (face, "config.get", NULL, remove_known, NULL);
  else
    ow_face_usage (face, "“model” takes “add NAME”, “list”, “test NAME” or “remove NAME”.");
}
