/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "ow-face-private.h"

/* As long as the program lives. */
static gboolean as_json;
static char *wanted; /* (owned) (nullable) the one key that is shown */

static void
print_setting (const json_t *setting)
{
  const char *key = ow_json_get_string (setting, "key", "?");
  const char *value = ow_json_get_string (setting, "value", NULL);
  g_autofree char *shown = ow_text_visible (value != NULL ? value : "");

  if (value != NULL)
    g_print ("%-30s %s\n", key, shown);
  else
    g_print ("%-30s (not set: %s)\n", key, ow_json_get_string (setting, "otherwise", "?"));
}

static void
show (OwFace       *face,
      const json_t *result,
      gpointer      user_data)
{
  const json_t *settings = json_object_get (result, "settings");
  gboolean found = FALSE;

  for (size_t i = 0; i < json_array_size (settings); i++)
    {
      const json_t *setting = json_array_get (settings, i);

      if (wanted != NULL && !g_str_equal (ow_json_get_string (setting, "key", ""), wanted))
        continue;
      found = TRUE;
      if (as_json)
        ow_face_print_json (setting);
      else
        print_setting (setting);
    }
  if (found || wanted == NULL)
    ow_face_finish (face, 0);
  else
    ow_face_usage (face, "There is no setting “%s” of the sandbox.", wanted);
}

static void
set (OwFace     *face,
     const char *key,
     const char *value) /* (nullable) it is taken out */
{
  json_t *params = json_pack ("{s:s}", "key", key);

  wanted = g_strdup (key);
  if (value != NULL)
    json_object_set_new (params, "value", json_string (value));
  else
    json_object_set_new (params, "unset", json_true ());
  ow_face_command (face, "settings.set", params, show, NULL);
}

void
ow_command_machine_sandbox (OwFace  *face,
                            int      argc,
                            char   **argv)
{
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the settings as JSON", NULL },
    { NULL }
  };
  const char *verb = ow_face_take_verb (&argc, &argv);

  if (!ow_face_parse (face, "get [KEY] | set KEY VALUE | unset KEY",
                      "The settings of the sandbox on this machine, in config.toml. New sessions "
                      "have what is set; one that runs keeps what it has. The keys are those that "
                      "“get” shows; a list is given whole, with commas between its entries.",
                      entries, FALSE, &argc, &argv))
    return;
  if (g_strcmp0 (verb, "get") == 0 && argc <= 2)
    {
      wanted = g_strdup (argc == 2 ? argv[1] : NULL);
      ow_face_command (face, "settings.get", NULL, show, NULL);
    }
  else if (g_strcmp0 (verb, "set") == 0 && argc == 3)
    {
      set (face, argv[1], argv[2]);
    }
  else if (g_strcmp0 (verb, "unset") == 0 && argc == 2)
    {
      set (face, argv[1], NULL);
    }
  else
    {
      ow_face_usage (face, "“machine sandbox” takes “get”, “get KEY”, “set KEY VALUE” or “unset "
                     "KEY”.");
    }
}
