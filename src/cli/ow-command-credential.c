/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-text.h"
#include "ow-face-private.h"
#include "ow-terminal-private.h"

/* As long as the program lives. */
static struct
{
  OwFace    *face;          /* borrowed */
  char      *name;          /* (owned) (nullable) */
  char      *path;          /* (owned) (nullable) */
  char     **hosts;         /* (owned) (nullable) */
  char     **private_hosts; /* (owned) (nullable) */
  gboolean   yes;
  gboolean   off;
  gboolean   json;
  json_t    *agreed;        /* (owned) texts of private addresses */
  json_t    *open;          /* (owned) those that are still to be asked about */
} options;

static void ask_next (void);

static void
print_texts (const json_t *list,
             const char   *before)
{
  GString *out = g_string_new (NULL);
  g_autofree char *shown = NULL;

  for (size_t i = 0; i < json_array_size (list); i++)
    g_string_append_printf (out, "%s%s", i > 0 ? ", " : "",
                            json_string_value (json_array_get (list, i)));
  shown = ow_text_visible (out->str);
  if (out->len > 0)
    g_print ("        %s%s\n", before, shown);
  g_string_free (out, TRUE);
}

static gboolean
is_usable (const json_t *entry)
{
  return g_strcmp0 (ow_json_get_string (entry, "state", NULL), "usable") == 0;
}

/* What of @consent was not agreed to by --private. (transfer full) */
static json_t *
find_open (const json_t *consent)
{
  json_t *open = json_array ();

  for (size_t i = 0; i < json_array_size (consent); i++)
    {
      json_t *host = json_array_get (consent, i);
      gboolean agreed = FALSE;

      for (size_t j = 0; j < json_array_size (options.agreed); j++)
        agreed = agreed || json_equal (host, json_array_get (options.agreed, j));
      if (!agreed)
        json_array_append (open, host);
    }
  return open;
}

/* @meaning: what the agent can then do, which the rest does not always say. What is said of the
 * files is left out where --private changes it. */
static void
print_one (const json_t *entry,
           gboolean      meaning)
{
  json_t *open = find_open (json_object_get (entry, "consent"));
  gboolean changes = json_array_size (open) <
                     json_array_size (json_object_get (entry, "consent"));
  g_autofree char *name = ow_text_visible (ow_json_get_string (entry, "name", "?"));
  g_autofree char *path = ow_text_visible (ow_json_get_string (entry, "path", "?"));
  g_autofree char *says = ow_text_visible (ow_json_get_string (entry, "says", ""));
  g_autofree char *means = ow_text_visible (ow_json_get_string (entry, "means", ""));

  g_print ("%-7s %s (%s)\n", ow_json_get_bool (entry, "enabled", FALSE) ? "shared" : "off", name,
           path);
  if (meaning)
    g_print ("        %s\n", means);
  if (!meaning || (!is_usable (entry) && !changes))
    g_print ("        %s\n", says);
  print_texts (json_object_get (entry, "hosts"), "opens: ");
  if (meaning)
    print_texts (options.agreed, "opens, at private addresses: ");
  print_texts (open, "needs your consent, at private addresses: ");
  json_decref (open);
}

/* (nullable) */
static const json_t *
find (const json_t *result,
      const char   *name)
{
  const json_t *list = json_object_get (result, "credentials");

  for (size_t i = 0; i < json_array_size (list); i++)
    if (g_strcmp0 (ow_json_get_string (json_array_get (list, i), "name", NULL), name) == 0)
      return json_array_get (list, i);
  return NULL;
}

static void
show_list (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  const json_t *list = json_object_get (result, "credentials");

  for (size_t i = 0; i < json_array_size (list); i++)
    {
      if (options.json)
        ow_face_print_json (json_array_get (list, i));
      else
        print_one (json_array_get (list, i), FALSE);
    }
  ow_face_finish (face, 0);
}

/* What is on and cannot be used is no copy that a session gets. */
static void
print_enabled (const json_t *entry)
{
  g_autofree char *says = ow_text_visible (ow_json_get_string (entry, "says", ""));
  const char *state = ow_json_get_string (entry, "state", "");

  if (g_str_equal (state, "missing") || g_str_equal (state, "nothing"))
    g_print ("%s is on, but new sessions get no copy of it as it is now. %s\n", options.name, says);
  else
    g_print ("New sessions get a copy of %s (%s), owner-only, which goes with them.\n",
             options.name, ow_json_get_string (entry, "path", "?"));
}

static void
show_done (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  const json_t *entry = find (result, options.name);

  if (options.json && entry != NULL)
    ow_face_print_json (entry);
  else if (entry == NULL)
    g_print ("The login %s is removed. Sessions that run keep their copy until they end.\n",
             options.name);
  else if (ow_json_get_bool (entry, "enabled", FALSE))
    print_enabled (entry);
  else
    g_print ("New sessions get nothing of %s. Sessions that run keep their copy until they end.\n",
             options.name);
  ow_face_finish (face, 0);
}

static void
enable (void)
{
  ow_face_command (options.face, "credentials.enable",
                   json_pack ("{s:s, s:O}", "name", options.name, "private_hosts",
                              options.agreed), show_done, NULL);
}

static gboolean
is_yes (const char *line)
{
  return line != NULL && (g_ascii_strcasecmp (line, "y") == 0 ||
                          g_ascii_strcasecmp (line, "yes") == 0);
}

static void
on_private (const char *line,
            gpointer    user_data)
{
  if (is_yes (line))
    json_array_append (options.agreed, json_array_get (options.open, 0));
  json_array_remove (options.open, 0);
  ask_next ();
}

/* One private address after the other. */
static void
ask_next (void)
{
  g_autofree char *host = NULL;
  g_autofree char *question = NULL;

  if (json_array_size (options.open) == 0)
    {
      enable ();
      return;
    }
  host = ow_text_visible (json_string_value (json_array_get (options.open, 0)));
  question = g_strdup_printf ("%s may be at a private address of your network. May sessions reach "
                              "it? [y/N] ", host);
  ow_terminal_ask (question, on_private, NULL);
}

static void
on_agreed (const char *line,
           gpointer    user_data)
{
  if (is_yes (line))
    {
      ask_next ();
      return;
    }
  g_printerr ("Nothing is changed.\n");
  ow_face_finish (options.face, 130);
}

/* Says what turning it on means, and asks. */
static void
show_meaning (OwFace       *face,
              const json_t *result,
              gpointer      user_data)
{
  const json_t *entry = find (result, options.name);

  if (entry == NULL)
    {
      enable ();
      return;
    }
  if (!options.json)
    print_one (entry, TRUE);
  if (options.yes)
    {
      enable ();
      return;
    }
  if (!ow_terminal_is_interactive ())
    {
      ow_face_usage (face, "There is nobody to ask here. --yes shares it.");
      return;
    }
  options.open = find_open (json_object_get (entry, "consent"));
  ow_terminal_ask ("Share it with new sessions? [y/N] ", on_agreed, NULL);
}

static json_t *
texts_to_json (char **texts)
{
  json_t *list = json_array ();

  for (; texts != NULL && *texts != NULL; texts++)
    json_array_append_new (list, json_string (*texts));
  return list;
}

static void
add (OwFace *face)
{
  if (options.path == NULL || *options.path == '\0')
    {
      ow_face_usage (face, "“credential add” needs a --path, such as ~/.npmrc.");
      return;
    }
  ow_face_command (face, "credentials.add",
                   json_pack ("{s:s, s:s, s:o, s:O, s:b}", "name", options.name, "path",
                              options.path, "hosts", texts_to_json (options.hosts),
                              "private_hosts", options.agreed, "enabled", !options.off),
                   show_done, NULL);
}

static void
run (OwFace     *face,
     const char *verb)
{
  if (g_str_equal (verb, "add"))
    add (face);
  else if (g_str_equal (verb, "enable"))
    ow_face_command (face, "credentials.list", NULL, show_meaning, NULL);
  else
    ow_face_command (face, g_str_equal (verb, "disable") ? "credentials.disable"
                                                         : "credentials.remove",
                     json_pack ("{s:s}", "name", options.name), show_done, NULL);
}

void
ow_command_credential (OwFace  *face,
                       int      argc,
                       char   **argv)
{
  static const char * const verbs[] = { "enable", "disable", "add", "remove", NULL };
  const GOptionEntry entries[] = {
    { "path", 0, 0, G_OPTION_ARG_STRING, &options.path,
      "Add: the file or folder in your home, such as ~/.npmrc", "PATH" },
    { "host", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.hosts,
      "Add: a host it is for (repeatable)", "HOST[:PORT]" },
    { "private", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.private_hosts,
      "Add, enable: a host that may be at a private address (repeatable)", "HOST[:PORT]" },
    { "off", 0, 0, G_OPTION_ARG_NONE, &options.off, "Add: do not share it yet", NULL },
    { "yes", 'y', 0, G_OPTION_ARG_NONE, &options.yes, "Enable: do not ask", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print the result as JSON", NULL },
    { NULL }
  };
  const char *verb = ow_face_take_verb (&argc, &argv);

  if (!ow_face_parse (face, "list | enable NAME | disable NAME | add NAME --path PATH --host HOST "
                      "| remove NAME",
                      "The logins that sandboxes get a copy of. None is shared until you turn it "
                      "on: ssh, gh, aws, kube, and those that you add.", entries, FALSE, &argc,
                      &argv))
    return;
  options.face = face;
  options.agreed = texts_to_json (options.private_hosts);
  options.name = g_strdup (argc == 2 ? argv[1] : NULL);
  if (g_strcmp0 (verb, "list") == 0 && argc == 1)
    ow_face_command (face, "credentials.list", NULL, show_list, NULL);
  else if (verb != NULL && g_strv_contains (verbs, verb) && argc == 2)
    run (face, verb);
  else
    ow_face_usage (face, "“credential” takes “list”, “enable NAME”, “disable NAME”, “add NAME” or "
                   "“remove NAME”.");
}
