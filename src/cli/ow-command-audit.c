/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"
#include "ow-face-private.h"
#include "ow-terminal-private.h"

static gboolean as_json;
static const char *session; /* (nullable) borrowed from the command line */

static void
show_report (OwFace       *face,
             const json_t *result,
             gpointer      user_data)
{
  const json_t *open_calls = json_object_get (result, "open");
  gboolean clean = ow_json_get_bool (result, "clean", FALSE);

  if (as_json)
    {
      ow_face_print_json (result);
      ow_face_finish (face, clean ? 0 : 1);
      return;
    }
  g_print ("%s\n%" JSON_INTEGER_FORMAT " records, %" JSON_INTEGER_FORMAT
           " of them anchored in the system journal (docs/security.md)\n",
           ow_json_get_string (result, "file", "?"), ow_json_get_int (result, "records", 0),
           ow_json_get_int (result, "anchored", 0));
  for (size_t i = 0; i < json_array_size (open_calls); i++)
    {
      g_autofree char *call = ow_text_visible (json_string_value (json_array_get (open_calls, i)));

      g_print ("begun and not ended: %s\n", call);
    }
  if (clean)
    g_print ("The audit record is verified: nothing is missing or changed.\n");
  else
    g_print ("The audit record is DAMAGED: %" JSON_INTEGER_FORMAT " unreadable lines, %"
             JSON_INTEGER_FORMAT " records that do not follow from the ones before; the first is "
             "line %" JSON_INTEGER_FORMAT ".\n",
             ow_json_get_int (result, "damaged", 0), ow_json_get_int (result, "broken", 0),
             ow_json_get_int (result, "first_bad_line", 0));
  ow_face_finish (face, clean ? 0 : 1);
}

static void
print_record (const json_t *record)
{
  const json_t *event = json_object_get (record, "event");
  const char *subject = ow_json_get_string (event, "tool", ow_json_get_string (event, "host", ""));
  g_autofree char *visible = ow_text_visible (subject);

  g_print ("%6" JSON_INTEGER_FORMAT "  %s  %s  %-17s %-10s %s %s\n",
           ow_json_get_int (record, "n", 0), ow_json_get_string (event, "time", "?"),
           ow_json_get_string (event, "session", "?"), ow_json_get_string (event, "type", "?"),
           ow_json_get_string (event, "level", ""), visible,
           ow_json_get_string (event, "outcome",
                               ow_json_get_string (event, "decision",
                                                   ow_json_get_string (event, "approval", ""))));
}

static json_int_t shown_from;

static void ask_for_records (OwFace *face);

static void
show_records (OwFace       *face,
              const json_t *result,
              gpointer      user_data)
{
  const json_t *records = json_object_get (result, "records");

  for (size_t i = 0; i < json_array_size (records); i++)
    {
      if (as_json)
        ow_face_print_json (json_array_get (records, i));
      else
        print_record (json_array_get (records, i));
    }
  if (ow_face_has_more (face, result, &shown_from))
    ask_for_records (face);
  else
    ow_face_finish (face, 0);
}

static void
ask_for_records (OwFace *face)
{
  ow_face_command (face, "audit.show",
                   json_pack ("{s:s*, s:I}", "session", session, "from", shown_from), show_records,
                   NULL);
}

void
ow_command_audit (OwFace  *face,
                  int      argc,
                  char   **argv)
{
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print JSON lines", NULL },
    { NULL }
  };
  const char *verb = ow_face_take_verb (&argc, &argv);

  if (!ow_face_parse (face, "show [SESSION] | verify",
                      "Shows the record of what agents did, or checks that it is whole.", entries,
                      FALSE, &argc, &argv))
    return;
  if (g_strcmp0 (verb, "verify") == 0 && argc == 1)
    ow_face_command (face, "audit.verify", NULL, show_report, NULL);
  else if (g_strcmp0 (verb, "show") == 0 && argc <= 2)
    {
      session = argc == 2 ? argv[1] : NULL;
      ask_for_records (face);
    }
  else
    ow_face_usage (face, "“audit” takes “show [SESSION]” or “verify”.");
}
