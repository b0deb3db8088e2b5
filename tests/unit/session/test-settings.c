/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "session/ow-settings.h"

/* New executable settings, out of what a runner said. */

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define FOLDERS "[{\"path\":\"/w\",\"read_only\":false},{\"path\":\"/w/r\",\"read_only\":true}]"
#define ONE(path, kind, what, hash) \
  "{\"path\":" path ",\"kind\":" kind ",\"what\":" what ",\"sha256\":" hash "}"
#define GOOD ONE ("\"/w/.envrc\"", "\"environment\"", "\"created\"", "\"" A "\"")

static json_t *
parse (const char *text)
{
  char    message[OW_WIRE_ERROR_SIZE];
  json_t *json = ow_json_parse (text, strlen (text), message);

  if (json == NULL)
    g_error ("%s: %s", message, text);
  return json;
}

static void
append (OwEventList *events,
        OwEventType  type,
        json_t      *members)
{
  g_autoptr (OwEvent) event = ow_event_list_append (events, type, members, NULL);

  g_assert_nonnull (event);
}

/* (owned) "what path kind" of each that is told, NULL: no event. What is told becomes one. */
static char *
look (OwEventList *events,
      const char  *said)
{
  json_t  *structured = parse (said);
  json_t  *folders = parse (FOLDERS);
  json_t  *members = ow_settings_read (events, structured, folders, OW_LEVEL_BUBBLEWRAP, FALSE);
  GString *text = g_string_new (NULL);

  json_decref (structured);
  json_decref (folders);
  if (members == NULL)
    {
      g_string_free (text, TRUE);
      return NULL;
    }
  for (size_t i = 0; i < json_array_size (json_object_get (members, "settings")); i++)
    {
      const json_t *entry = json_array_get (json_object_get (members, "settings"), i);

      g_string_append_printf (text, "%s %s %s;", ow_json_get_string (entry, "what", "?"),
                              ow_json_get_string (entry, "path", "?"),
                              ow_json_get_string (entry, "kind", "?"));
      g_assert_cmpuint (strlen (ow_json_get_string (entry, "why", "")), >, 10);
    }
  if (ow_json_get_bool (members, "cut", FALSE))
    g_string_append (text, "cut");
  append (events, OW_EVENT_EXECUTABLE_SETTINGS, members);
  return g_string_free (text, FALSE);
}

/* What a runner may say, honest or not, and what is told of it. */
static const struct {
  const char *name;
  const char *said;
  const char *told; /* (nullable) */
} SAID[] = {
  { "good", "{\"settings\":[" GOOD "],\"total\":1,\"cut\":false}",
    "created /w/.envrc environment;" },
  { "nothing", "{\"settings\":[],\"total\":0,\"cut\":false}", NULL },
  { "cut", "{\"settings\":[],\"total\":0,\"cut\":true}", "cut" },
  { "no-list", "{}", "cut" },
  { "list-of-another-type", "{\"settings\":{\"path\":\"/w/x\"},\"total\":1}", "cut" },
  { "more-than-listed", "{\"settings\":[" GOOD "],\"total\":7,\"cut\":false}",
    "created /w/.envrc environment;cut" },
  { "total-below-zero", "{\"settings\":[" GOOD "],\"total\":-7,\"cut\":false}",
    "created /w/.envrc environment;" },
  { "outside", "{\"settings\":[" ONE ("\"/etc/passwd\"", "\"agent\"", "\"created\"", "\"" A "\"")
    "],\"total\":1}", NULL },
  { "dots", "{\"settings\":[" ONE ("\"/w/../etc/x\"", "\"agent\"", "\"created\"", "\"" A "\"")
    "],\"total\":1}", NULL },
  { "relative", "{\"settings\":[" ONE ("\"w/x\"", "\"agent\"", "\"created\"", "\"" A "\"")
    "],\"total\":1}", NULL },
  { "read-only", "{\"settings\":[" ONE ("\"/w/r/x\"", "\"agent\"", "\"created\"", "\"" A "\"")
    "],\"total\":1}", NULL },
  { "path-of-another-type", "{\"settings\":[" ONE ("7", "\"agent\"", "\"created\"", "\"" A "\"")
    "],\"total\":1}", NULL },
  { "what", "{\"settings\":[" ONE ("\"/w/x\"", "\"agent\"", "\"<b>\"", "\"" A "\"")
    "],\"total\":1}", NULL },
  { "kind", "{\"settings\":[" ONE ("\"/w/x\"", "\"new one\"", "\"changed\"", "\"" A "\"")
    "],\"total\":1}", "changed /w/x other;" },
  { "hash", "{\"settings\":[" ONE ("\"/w/x\"", "\"agent\"", "\"changed\"", "\"zz\"")
    "],\"total\":1}", "changed /w/x agent;" },
  { "folder-itself", "{\"settings\":[" ONE ("\"/w\"", "\"git-repository\"", "\"created\"", "null")
    "],\"total\":1}", "created /w git-repository;" },
  { "entry-of-another-type", "{\"settings\":[7,null,\"x\"],\"total\":3}", NULL },
};

static void
test_said (gconstpointer data)
{
  gsize i = GPOINTER_TO_SIZE (data);
  g_autoptr (OwEventList) events = ow_event_list_new ("s");
  g_autofree char *told = look (events, SAID[i].said);

  g_assert_cmpstr (told, ==, SAID[i].told);
}

static void
test_once (void)
{
  g_autoptr (OwEventList) events = ow_event_list_new ("s");
  g_autofree char *first = look (events, SAID[0].said);
  g_autofree char *again = look (events, SAID[0].said);
  g_autofree char *other = NULL;
  gboolean cut = TRUE;
  json_t *all;

  g_assert_nonnull (first);
  g_assert_null (again);
  other = look (events, "{\"settings\":[" ONE ("\"/w/.envrc\"", "\"environment\"", "\"changed\"",
                                               "\"" B "\"") "],\"total\":1,\"cut\":false}");
  g_assert_cmpstr (other, ==, "changed /w/.envrc environment;");
  all = ow_settings_collect (events, &cut);
  g_assert_cmpuint (json_array_size (all), ==, 1);
  g_assert_cmpstr (ow_json_get_string (json_array_get (all, 0), "sha256", NULL), ==, B);
  g_assert_false (cut);
  json_decref (all);
}

static void
test_many (void)
{
  g_autoptr (OwEventList) events = ow_event_list_new ("s");
  g_autoptr (GString) said = g_string_new ("{\"settings\":[");
  g_autofree char *told = NULL;
  gboolean cut = FALSE;
  json_t *all;

  for (guint i = 0; i < 20000; i++)
    g_string_append_printf (said, "%s{\"path\":\"/w/%u\",\"kind\":\"agent\",\"what\":\"created\"}",
                            i == 0 ? "" : ",", i);
  g_string_append (said, "],\"total\":20000}");
  told = look (events, said->str);
  g_assert_true (g_str_has_suffix (told, "cut"));
  all = ow_settings_collect (events, &cut);
  g_assert_cmpuint (json_array_size (all), ==, OW_SETTINGS_MAX);
  g_assert_true (cut);
  json_decref (all);
}

static void
begin (OwEventList *events)
{
  json_t *members = json_pack ("{s:s,s:s,s:s,s:[],s:s,s:s,s:i,s:i,s:s}", "provider", "bubblewrap",
                               "level", "bubblewrap", "profile", "standard", "hosts", "approve",
                               "ask", "version", "1", "pid", 1, "pid_start", 1, "boot_id", "b");

  append (events, OW_EVENT_SESSION_RESUMED, members);
}

static void
call (OwEventList *events,
      const char  *tool,
      gboolean     ended)
{
  append (events, OW_EVENT_TOOL_STARTED,
          json_pack ("{s:s,s:s,s:{},s:s,s:s}", "call", "c", "tool", tool, "arguments", "level",
                     "bubblewrap", "approval", "policy:sandboxed"));
  if (ended)
    append (events, OW_EVENT_TOOL_ENDED,
            json_pack ("{s:s,s:s,s:s,s:s,s:s,s:i,s:i}", "call", "c", "tool", tool, "level",
                       "bubblewrap", "outcome", "ok", "result", "", "duration_ms", 1, "bytes", 1));
}

static void
test_due (void)
{
  g_autoptr (OwEventList) events = ow_event_list_new ("s");
  OwSettingsDue due;

  begin (events);
  call (events, "read", TRUE);
  g_assert_false (ow_settings_get_due (events).due);
  call (events, "shell", FALSE);
  due = ow_settings_get_due (events);
  g_assert_true (due.due && !due.late && due.since == 0);
  /* Killed before its end: the next run's look is one at this run too. */
  begin (events);
  due = ow_settings_get_due (events);
  g_assert_true (due.due && due.late && due.since > 0);
  call (events, "settings", TRUE);
  g_assert_false (ow_settings_get_due (events).due);
  call (events, "write", TRUE);
  due = ow_settings_get_due (events);
  g_assert_true (due.due && !due.late && due.since == 0);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (SAID); i++)
    {
      g_autofree char *path = g_strconcat ("/settings/S08/said/", SAID[i].name, NULL);

      g_test_add_data_func (path, GSIZE_TO_POINTER (i), test_said);
    }
  g_test_add_func ("/settings/S08/once", test_once);
  g_test_add_func ("/settings/S05/many", test_many);
  g_test_add_func ("/settings/S08/due", test_due);
  return g_test_run ();
}
