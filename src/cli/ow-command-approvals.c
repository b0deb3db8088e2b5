/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-text.h"
#include "events/ow-event-words.h"
#include "ow-face-private.h"
#include "ow-output-private.h"
#include "ow-terminal-private.h"

/* Shorter beginnings of a request's id are too easily another one's. */
#define MIN_PREFIX 6

/* As long as the program lives. */
static struct
{
  gboolean  json;
  gboolean  session;
  gboolean  always;
  char     *decision; /* (owned) (nullable) "deny", "once", … */
  char     *id;       /* (owned) (nullable) an id, or how one begins */
  char     *reason;   /* (owned) (nullable) */
} options;

static char *
describe_time (const json_t *request)
{
  if (ow_json_get_bool (request, "parked", FALSE))
    return g_strdup ("waits until somebody is there");
  return g_strdup_printf ("denied in %" JSON_INTEGER_FORMAT " s without an answer",
                          ow_json_get_int (request, "remaining_s", 0));
}

static void
print_lines (const char *text)
{
  g_autofree char *exact = ow_output_escape (text);
  g_auto (GStrv) lines = g_strsplit (exact, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    if (*lines[i] != '\0' || lines[i + 1] != NULL)
      g_print ("  %s\n", lines[i]);
}

static void
print_request (const json_t *request)
{
  const char *level = ow_json_get_string (request, "level", "?");
  const char *always = ow_json_get_string (request, "always", NULL);
  g_autofree char *title = ow_text_visible (ow_json_get_string (request, "title", "?"));
  gboolean hidden = FALSE;
  g_autofree char *subject = ow_event_words_request (request, &hidden);
  g_autofree char *time = describe_time (request);
  g_autofree char *mark = g_strdup_printf ("[%s]", level);
  g_autofree char *styled = ow_terminal_style (g_strcmp0 (level, "direct") == 0 ? OW_STYLE_RED
                                                                             : OW_STYLE_GREEN,
                                               mark);

  ow_terminal_print (OW_STYLE_BOLD, "%s", ow_json_get_string (request, "request", "?"));
  g_print ("  %s %s\n  session %s, %s\n", title, styled,
           ow_json_get_string (request, "session", "?"), time);
  print_lines (subject);
  if (hidden)
    g_print ("  (It holds characters that cannot be seen; they are shown escaped.)\n");
  if (always != NULL)
    {
      g_autofree char *visible = ow_text_visible (always);
      g_autofree char *exact = ow_output_escape (visible);

      g_print ("  --always would allow: %s\n", exact);
    }
}

static void
show_list (OwFace       *face,
           const json_t *result,
           gpointer      user_data)
{
  const json_t *requests = json_object_get (result, "requests");

  for (size_t i = 0; i < json_array_size (requests); i++)
    {
      if (options.json)
        ow_face_print_json (json_array_get (requests, i));
      else
        print_request (json_array_get (requests, i));
    }
  if (!options.json && json_array_size (requests) == 0)
    g_print (ow_face_is_alone (face) ? "No engine runs on this machine, so nothing waits for an "
             "answer.\n" : "Nothing waits for an answer.\n");
  ow_face_finish (face, 0);
}

/* The one request whose id is, or begins with, what was given; (nullable) borrowed. */
static const json_t *
find_request (OwFace       *face,
              const json_t *requests)
{
  const json_t *found = NULL;
  guint n = 0;

  for (size_t i = 0; i < json_array_size (requests); i++)
    {
      const json_t *request = json_array_get (requests, i);
      const char *id = ow_json_get_string (request, "request", "");

      if (g_str_equal (id, options.id))
        return request;
      if (strlen (options.id) >= MIN_PREFIX && g_str_has_prefix (id, options.id))
        {
          found = request;
          n++;
        }
    }
  if (n == 1)
    return found;
  if (n > 1)
    ow_face_usage (face, "%u requests begin with “%s”: give more of its digits.", n, options.id);
  else if (strlen (options.id) < MIN_PREFIX)
    ow_face_usage (face, "“%s” is too short: give at least %d digits of the request.", options.id,
                   MIN_PREFIX);
  else
    {
      g_autofree char *shown = ow_text_shorten (options.id, 60, TRUE);

      ow_face_usage (face, "No request “%s” waits for an answer: see “openworker approvals”.",
                     shown);
    }
  return NULL;
}

static void
on_answered (OwFace       *face,
             const json_t *result,
             gpointer      user_data)
{
  json_t *request = user_data;

  if (ow_json_get_bool (result, "taken", FALSE))
    {
      g_print ("%s:\n", g_str_equal (options.decision, "deny") ? "Denied" : "Allowed");
      print_request (request);
      ow_face_finish (face, 0);
    }
  else
    {
      g_printerr ("openworker: Request %s was answered or closed meanwhile: nothing was decided "
                  "here.\n", ow_json_get_string (request, "request", "?"));
      ow_face_finish (face, 1);
    }
  json_decref (request);
}

static void
answer (OwFace       *face,
        const json_t *result,
        gpointer      user_data)
{
  const json_t *request = find_request (face, json_object_get (result, "requests"));
  json_t *params;

  if (request == NULL)
    return;
  if (options.always && ow_json_get_string (request, "always", NULL) == NULL)
    {
      ow_face_usage (face, "“always” is not offered for this request: it is no single simple "
                     "command.");
      return;
    }
  params = json_pack ("{s:s, s:s}", "request", ow_json_get_string (request, "request", ""),
                      "decision", options.decision);
  if (options.reason != NULL)
    json_object_set_new (params, "reason", json_string (options.reason));
  ow_face_command (face, "consent.answer", params, on_answered, json_deep_copy (request));
}

/* What waits for an answer waits in an engine, and only there. */
static void
on_open (OwFace   *face,
         gpointer  user_data)
{
  if (ow_face_is_alone (face))
    {
      g_printerr ("openworker: No engine runs on this machine, so nothing waits for an answer.\n");
      ow_face_finish (face, 69);
      return;
    }
  ow_face_command (face, "consent.list", NULL, answer, NULL);
}

static void
decide (OwFace      *face,
        const char  *decision,
        const char  *id,
        const char  *reason)
{
  options.decision = g_strdup (decision);
  options.id = g_strdup (id);
  options.reason = g_strdup (reason);
  ow_face_open (face, on_open, NULL);
}

void
ow_command_approvals (OwFace  *face,
                      int      argc,
                      char   **argv)
{
  const GOptionEntry entries[] = {
    { "session", 0, 0, G_OPTION_ARG_NONE, &options.session,
      "Allow: the same again in this session without asking", NULL },
    { "always", 0, 0, G_OPTION_ARG_NONE, &options.always,
      "Allow: this exact command in this folder from now on", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "List: print JSON lines", NULL },
    { NULL }
  };
  const char *verb = ow_face_take_verb (&argc, &argv);
  gboolean kept = FALSE;

  if (!ow_face_parse (face, "[list] | allow REQUEST [--session|--always] | deny REQUEST [REASON]",
                      "Shows what agents ask for, and answers. A request may be given by its first "
                      "six digits or more.", entries, FALSE, &argc, &argv))
    return;
  kept = options.session || options.always;
  if ((verb == NULL || g_str_equal (verb, "list")) && argc == 1 && !kept)
    ow_face_command (face, "consent.list", NULL, show_list, NULL);
  else if (options.session && options.always)
    ow_face_usage (face, "--session and --always do not go together.");
  else if (g_strcmp0 (verb, "allow") == 0 && argc == 2)
    decide (face, options.always ? "always" : options.session ? "session" : "once", argv[1], NULL);
  else if (g_strcmp0 (verb, "deny") == 0 && (argc == 2 || argc == 3) && !kept)
    decide (face, "deny", argv[1], argc == 3 ? argv[2] : NULL);
  else
    ow_face_usage (face, "“approvals” takes “list”, “allow REQUEST” or “deny REQUEST [REASON]”.");
}
