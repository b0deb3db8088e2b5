/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-error.h"
#include "tools/ow-tool-def.h"

static json_t *
parse (const char *text)
{
  char    message[OW_WIRE_ERROR_SIZE];
  json_t *json = ow_json_parse (text, strlen (text), message);

  g_assert_nonnull (json);
  return json;
}

#define HASH "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void
test_list (void)
{
  static const char * const names[] = { "shell", "list", "read", "write", "edit", "grep", "glob",
                                        "task_start", "task_read", "task_wait", "task_stop",
                                        "task_list", "exec", "undo", "changes",
                                        "settings" };
  static const char * const changing[] = { "shell", "write", "edit", "exec", "undo", "task_start",
                                           "task_stop", NULL };
  const OwToolDef *defs;
  guint n = 0;

  defs = ow_tool_def_list (&n);
  g_assert_cmpuint (n, ==, G_N_ELEMENTS (names));
  for (guint i = 0; i < n; i++)
    {
      json_t *schema = parse (defs[i].schema);

      g_assert_true (ow_tool_def_lookup (names[i]) != NULL);
      g_assert_cmpstr (ow_json_get_string (schema, "type", NULL), ==, "object");
      g_assert_true (json_is_false (json_object_get (schema, "additionalProperties")));
      g_assert_cmpint (defs[i].read_only, ==, !g_strv_contains (changing, defs[i].name));
      json_decref (schema);
    }
  g_assert_null (ow_tool_def_lookup ("Shell"));
  g_assert_null (ow_tool_def_lookup (""));
}

static void
test_for_model (void)
{
  json_t *tools = ow_tool_def_for_model ();

  g_assert_cmpuint (json_array_size (tools), ==, 12);
  for (size_t i = 0; i < json_array_size (tools); i++)
    {
      const json_t *tool = json_array_get (tools, i);

      g_assert_cmpstr (ow_json_get_string (tool, "name", "exec"), !=, "exec");
      g_assert_nonnull (ow_json_get_string (tool, "description", NULL));
      g_assert_true (json_is_object (json_object_get (tool, "schema")));
    }
  json_decref (tools);
}

typedef struct {
  const char *tool;
  const char *arguments;
  const char *says;  /* NULL: good */
} Case;

static const Case cases[] = {
  { "shell", "{\"command\":\"ls\"}", NULL },
  { "shell", "{\"command\":\"ls\",\"timeout_s\":600}", NULL },
  { "shell", "{\"command\":\"ls\",\"timeout_s\":601}", "from 1 to 600" },
  { "shell", "{\"command\":\"ls\",\"timeout_s\":0}", "from 1 to 600" },
  { "shell", "{\"command\":\"ls\",\"timeout_s\":\"9\"}", "type integer" },
  { "shell", "{\"command\":\"ls\",\"timeout_s\":1.5}", "type integer" },
  { "shell", "{\"command\":\"\"}", "is empty" },
  { "shell", "{\"command\":null}", "type string" },
  { "shell", "{\"command\":[\"ls\"]}", "type string" },
  { "task_start", "{\"command\":\"ls\"}", NULL },
  { "task_start", "{\"command\":\"ls\",\"pty\":true}", NULL },
  { "task_start", "{\"command\":\"ls\",\"pty\":1}", "type boolean" },
  { "task_start", "{\"command\":\"ls\",\"timeout_s\":1}", "no argument named" },
  { "task_start", "{\"command\":\"\"}", "is empty" },
  { "task_read", "{\"task\":\"t1\",\"wait_s\":600}", NULL },
  { "task_read", "{\"task\":\"t1\",\"wait_s\":601}", "from 0 to 600" },
  { "task_read", "{\"task\":1}", "type string" },
  { "task_read", "{}", "needs the argument task" },
  { "task_wait", "{\"task\":\"t1\",\"timeout_s\":600}", NULL },
  { "task_wait", "{\"task\":\"t1\",\"timeout_s\":0}", "from 1 to 600" },
  { "task_stop", "{\"task\":\"t1\"}", NULL },
  { "task_stop", "{\"task\":\"12345678901234567\"}", "at most 16" },
  { "task_list", "{}", NULL },
  { "task_list", "{\"task\":\"t1\"}", "no argument named" },
  { "shell", "{}", "needs the argument command" },
  { "shell", "{\"cmd\":\"ls\",\"command\":\"ls\"}", "no argument named \"cmd\"" },
  { "shell", "[]", "must be a JSON object" },
  { "shell", "\"ls\"", "must be a JSON object" },
  { "list", "{\"path\":\".\"}", NULL },
  { "list", "{\"path\":7}", "type string" },
  { "list", "{}", "needs the argument path" },
  { "read", "{\"path\":\"a\",\"offset\":1,\"limit\":10}", NULL },
  { "read", "{\"path\":\"a\",\"offset\":0}", "from 1 to" },
  { "read", "{\"path\":\"a\",\"offset\":-9223372036854775808}", "from 1 to" },
  { "read", "{\"path\":\"a\",\"limit\":true}", "type integer" },
  { "write", "{\"path\":\"a\",\"content\":\"\"}", NULL },
  { "write", "{\"path\":\"a\"}", "needs the argument content" },
  { "write", "{\"path\":\"\",\"content\":\"x\"}", "path is empty" },
  { "edit", "{\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"\"}", NULL },
  { "edit", "{\"path\":\"a\",\"old_text\":\"\",\"new_text\":\"x\"}", "old_text is empty" },
  { "edit", "{\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"y\",\"replace_all\":1}",
    "type boolean" },
  { "grep", "{\"pattern\":\"x\",\"glob\":\"*.c\",\"ignore_case\":true,\"context\":2}", NULL },
  { "grep", "{\"path\":\"a\"}", "needs the argument pattern" },
  { "glob", "{\"pattern\":\"**/*.c\",\"path\":\"src\"}", NULL },
  { "glob", "{\"pattern\":\"x\",\"context\":1}", "no argument named" },
  { "exec", "{\"argv\":[\"sh\",\"-c\",\"\"],\"timeout_s\":0}", NULL },
  { "exec", "{\"argv\":[]}", "has 0 items" },
  { "changes", "{\"changes\":[]}", NULL },
  { "changes", "{\"changes\":[{\"path\":\"/f\",\"before\":null}]}", NULL },
  { "changes", "{\"changes\":[{\"path\":\"/f\"}]}", "changes[0].before is missing" },
  { "changes", "{\"changes\":[{\"path\":\"/f\",\"before\":5}]}", "changes[0].before must be" },
  { "changes", "{\"changes\":[{\"path\":\"/f\",\"before\":\"aa\"}]}", "is 2 bytes long, and it must have 64" },
  { "changes", "{\"changes\":[{\"path\":\"/f\",\"before\":null,\"x\":1}]}", "changes[0].x is not known" },
  { "changes", "{\"changes\":[\"/f\"]}", "type object" },
  { "undo", "{\"changes\":[]}", "needs the argument apply" },
  { "undo", "{\"changes\":[{\"path\":\"/f\",\"before\":null,\"after\":\"" HASH "\",\"mode\":420}],"
    "\"apply\":true}", NULL },
  { "undo", "{\"changes\":[{\"path\":\"/f\",\"before\":null,\"after\":null,\"mode\":420}],\"apply\":true}",
    "changes[0].after must be" },
  { "undo", "{\"changes\":[{\"path\":\"/f\",\"before\":null,\"after\":\"" HASH "\",\"mode\":4096}],"
    "\"apply\":true}", "from 0 to 4095" },
  { "exec", "{\"argv\":\"ls\"}", "type array" },
  { "exec", "{\"argv\":[\"ls\",1]}", "argv[1] must be of the type string" },
};

static void
test_check (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      json_t  *arguments = parse (cases[i].arguments);
      gboolean good = ow_tool_def_check (ow_tool_def_lookup (cases[i].tool), arguments, &error);

      g_test_message ("%s %s", cases[i].tool, cases[i].arguments);
      g_assert_cmpint (good, ==, cases[i].says == NULL);
      if (cases[i].says != NULL)
        {
          g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
          g_assert_nonnull (strstr (error->message, cases[i].says));
        }
      json_decref (arguments);
    }
}

/* Sizes at their limit and one over. */
static void
check_size (const char *tool,
            const char *member,
            size_t      size,
            gboolean    good)
{
  g_autofree char *text = g_strnfill (size, 'x');
  g_autoptr (GError) error = NULL;
  json_t *arguments = json_object ();

  json_object_set_new (arguments, "path", json_string ("a"));
  if (g_str_equal (tool, "write"))
    json_object_set_new (arguments, "content", json_string ("a"));
  json_object_set_new (arguments, member, json_string (text));
  g_assert_cmpint (ow_tool_def_check (ow_tool_def_lookup (tool), arguments, &error), ==, good);
  json_decref (arguments);
}

static void
test_sizes (void)
{
  g_autofree char *half = g_strnfill (3700 * 1024, '\n');
  g_autoptr (GError) error = NULL;
  json_t *arguments = json_object ();

  check_size ("read", "path", 4096, TRUE);
  check_size ("read", "path", 4097, FALSE);
  check_size ("write", "content", 4194304, TRUE);
  check_size ("write", "content", 4194305, FALSE);

  /* Each within its own limit, too large together once written as JSON. */
  json_object_set_new (arguments, "path", json_string ("a"));
  json_object_set_new (arguments, "old_text", json_string (half));
  json_object_set_new (arguments, "new_text", json_string (half));
  g_assert_false (ow_tool_def_check (ow_tool_def_lookup ("edit"), arguments, &error));
  g_assert_nonnull (strstr (error->message, "too large together"));
  json_decref (arguments);
}

static void
test_nul (void)
{
  g_autoptr (GError) error = NULL;
  json_t *arguments = json_object ();

  json_object_set_new (arguments, "path", json_stringn ("a\0b", 3));
  g_assert_false (ow_tool_def_check (ow_tool_def_lookup ("read"), arguments, &error));
  g_assert_nonnull (strstr (error->message, "NUL"));
  json_decref (arguments);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tool-def/list", test_list);
  g_test_add_func ("/tool-def/for-model", test_for_model);
  g_test_add_func ("/tool-def/check", test_check);
  g_test_add_func ("/tool-def/sizes", test_sizes);
  g_test_add_func ("/tool-def/nul", test_nul);
  return g_test_run ();
}
