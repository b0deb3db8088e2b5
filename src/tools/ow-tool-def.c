/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "tools/ow-tool-def.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-error.h"

/* Arguments travel in one frame of at most 8 MiB (wire/ow-frame.h); this leaves room
 * for what stands around them. */
#define MAX_ARGUMENTS_BYTES (7u * 1024u * 1024u)

#define PATH_PROPERTY(what) \
  "{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,\"description\":\"" what "\"}"
#define TEXT_PROPERTY(what) \
  "{\"type\":\"string\",\"maxLength\":4194304,\"description\":\"" what "\"}"
#define FULL_TEXT_PROPERTY(what) \
  "{\"type\":\"string\",\"minLength\":1,\"maxLength\":4194304,\"description\":\"" what "\"}"
#define INTEGER_PROPERTY(min, max, what) \
  "{\"type\":\"integer\",\"minimum\":" min ",\"maximum\":" max ",\"description\":\"" what "\"}"
#define BOOLEAN_PROPERTY(what) "{\"type\":\"boolean\",\"description\":\"" what "\"}"
#define SCHEMA(properties, required) \
  "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]," \
  "\"additionalProperties\":false}"

/* SHA-256 of a content. */
#define A_HASH "{\"type\":\"string\",\"minLength\":64,\"maxLength\":64}"
#define A_HASH_OR_NULL(name) \
  "\"" name "\":{\"type\":[\"string\",\"null\"],\"minLength\":64,\"maxLength\":64}"
#define CHANGES_PROPERTY(properties, required) \
  "\"changes\":{\"type\":\"array\",\"maxItems\":10000,\"description\":\"Oldest first.\"," \
  "\"items\":" SCHEMA ("\"path\":" PATH_PROPERTY ("Absolute.") "," properties, \
                       "\"path\",\"before\"" required) "}"

#define TASK_PROPERTY \
  "{\"type\":\"string\",\"minLength\":1,\"maxLength\":16,\"description\":\"The task's id.\"}"

#define A_PATH "Absolute, or relative to the session's first folder."

static const OwToolDef tool_defs[] = {
  {
    .name = "shell",
    .description =
      "Runs a command in the session's bash and returns its output and exit status. The shell "
      "stays between calls: directory, variables and functions are kept. There is no terminal "
      "and no standard input. What takes longer than ten minutes, or has to go on running (a "
      "server), is for task_start.",
    .schema = SCHEMA (
      "\"command\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1048576,"
      "\"description\":\"Bash source to run.\"},"
      "\"timeout_s\":" INTEGER_PROPERTY ("1", "600",
                                         "Seconds after which it is stopped; 120 when absent."),
      "\"command\""),
    .read_only = FALSE,
    .for_model = TRUE,
  },
  {
    .name = "list",
    .description = "Lists a directory of the session's folders.",
    .schema = SCHEMA ("\"path\":" PATH_PROPERTY (A_PATH), "\"path\""),
    .read_only = TRUE,
    .for_model = TRUE,
  },
  {
    .name = "read",
    .description =
      "Reads a text file of the session's folders. Use offset and limit for parts of a long one.",
    .schema = SCHEMA (
      "\"path\":" PATH_PROPERTY (A_PATH) ","
      "\"offset\":" INTEGER_PROPERTY ("1", "2147483647", "First line, counted from 1.") ","
      "\"limit\":" INTEGER_PROPERTY ("1", "1000000", "How many lines at most."),
      "\"path\""),
    .read_only = TRUE,
    .for_model = TRUE,
  },
  {
    .name = "write",
    .description = "Writes a whole file: makes it, or replaces what it held.",
    .schema = SCHEMA (
      "\"path\":" PATH_PROPERTY (A_PATH) ","
      "\"content\":" TEXT_PROPERTY ("The whole new content."),
      "\"path\",\"content\""),
    .read_only = FALSE,
    .for_model = TRUE,
  },
  {
    .name = "edit",
    .description =
      "Replaces text in a file. old_text must stand in it exactly once, or replace_all is true.",
    .schema = SCHEMA (
      "\"path\":" PATH_PROPERTY (A_PATH) ","
      "\"old_text\":" FULL_TEXT_PROPERTY ("The exact text that is there now.") ","
      "\"new_text\":" TEXT_PROPERTY ("The text to put in its place.") ","
      "\"replace_all\":" BOOLEAN_PROPERTY ("Replace every place where old_text stands."),
      "\"path\",\"old_text\",\"new_text\""),
    .read_only = FALSE,
    .for_model = TRUE,
  },
  {
    .name = "grep",
    .description = "Searches the text of files below a directory with a regular expression.",
    .schema = SCHEMA (
      "\"pattern\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":65536,"
      "\"description\":\"The expression.\"},"
      "\"path\":" PATH_PROPERTY ("Where to search. " A_PATH) ","
      "\"glob\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,"
      "\"description\":\"Only files whose name matches, such as *.c.\"},"
      "\"ignore_case\":" BOOLEAN_PROPERTY ("Upper and lower case count as the same.") ","
      "\"context\":" INTEGER_PROPERTY ("0", "100", "Lines to show around each match."),
      "\"pattern\""),
    .read_only = TRUE,
    .for_model = TRUE,
  },
  {
    .name = "glob",
    .description = "Finds files by name pattern, such as src/**/*.c.",
    .schema = SCHEMA (
      "\"pattern\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,"
      "\"description\":\"The pattern.\"},"
      "\"path\":" PATH_PROPERTY ("Where to search. " A_PATH),
      "\"pattern\""),
    .read_only = TRUE,
    .for_model = TRUE,
  },
  {
    .name = "task_start",
    .description =
      "Starts a command in the background and returns its id, such as t1. It runs in a bash of "
      "its own that begins in the shell's directory with the variables that the shell exports, "
      "without standard input. At most 16 run at once; all end with the sandbox.",
    .schema = SCHEMA (
      "\"command\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1048576,"
      "\"description\":\"Bash source to run. No & at its end.\"},"
      "\"pty\":" BOOLEAN_PROPERTY ("Give it a terminal, for a program that wants one. Nobody "
                                   "can type into it."),
      "\"command\""),
    .read_only = FALSE,
    .for_model = TRUE,
  },
  {
    .name = "task_read",
    .description =
      "Returns what a task has written since it was last read, and whether it runs or how it "
      "ended.",
    .schema = SCHEMA (
      "\"task\":" TASK_PROPERTY ","
      "\"wait_s\":" INTEGER_PROPERTY ("0", "600", "Wait at most this long for something new; 0 "
                                      "when absent."),
      "\"task\""),
    .read_only = TRUE,
    .for_model = TRUE,
  },
  {
    .name = "task_wait",
    .description =
      "Waits until a task has ended, then returns what task_read does. When the time is over the "
      "task goes on.",
    .schema = SCHEMA (
      "\"task\":" TASK_PROPERTY ","
      "\"timeout_s\":" INTEGER_PROPERTY ("1", "600", "Wait at most this long; 120 when absent."),
      "\"task\""),
    .read_only = TRUE,
    .for_model = TRUE,
  },
  {
    .name = "task_stop",
    .description = "Ends a task and all that it has started, and returns what task_read does.",
    .schema = SCHEMA ("\"task\":" TASK_PROPERTY, "\"task\""),
    .read_only = FALSE,
    .for_model = TRUE,
  },
  {
    .name = "task_list",
    .description = "Lists the tasks: id, state, duration, directory, command, unread bytes.",
    .schema = SCHEMA ("", ""),
    .read_only = TRUE,
    .for_model = TRUE,
  },
  {
    .name = "exec",
    .description = "Runs one program with exact arguments.",
    .schema = SCHEMA (
      "\"argv\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":65536,"
      "\"items\":{\"type\":\"string\",\"maxLength\":131071},\"description\":\"Program and "
      "arguments.\"},"
      "\"cwd\":" PATH_PROPERTY (A_PATH) ","
      "\"timeout_s\":" INTEGER_PROPERTY ("0", "86400", "Seconds; 0: no limit."),
      "\"argv\""),
    .read_only = FALSE,
    .for_model = FALSE,
  },
  {
    .name = "undo",
    .description = "Puts files back as they were before changes of write and edit, or shows what "
                   "it would do.",
    .schema = SCHEMA (
      CHANGES_PROPERTY (A_HASH_OR_NULL ("before") ",\"after\":" A_HASH ","
                        "\"mode\":" INTEGER_PROPERTY ("0", "4095", "Of the file before."),
                        ",\"after\",\"mode\"") ","
      "\"apply\":" BOOLEAN_PROPERTY ("Do it; false: only show it."),
      "\"changes\",\"apply\""),
    .read_only = FALSE,
    .for_model = FALSE,
  },
  {
    .name = "changes",
    .description = "One diff from what files held before changes of write and edit to what they "
                   "hold now.",
    .schema = SCHEMA (CHANGES_PROPERTY (A_HASH_OR_NULL ("before"), ""), "\"changes\""),
    .read_only = TRUE,
    .for_model = FALSE,
  },
  {
    .name = "settings",
    .description = "Files that programs outside run later, or take programs to run from, and that "
                   "are new or changed.",
    .schema = SCHEMA (
      "\"since\":" INTEGER_PROPERTY ("1", "9223372036854775807",
                                     "Also what changed since then, in nanoseconds."), ""),
    .read_only = TRUE,
    .for_model = FALSE,
  },
};

const OwToolDef *
ow_tool_def_list (guint *n)
{
  *n = G_N_ELEMENTS (tool_defs);
  return tool_defs;
}

const OwToolDef *
ow_tool_def_lookup (const char *name)
{
  g_return_val_if_fail (name != NULL, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (tool_defs); i++)
    {
      if (strcmp (tool_defs[i].name, name) == 0)
        return &tool_defs[i];
    }
  return NULL;
}

static json_t *
parse_schema (const OwToolDef *def)
{
  char message[OW_WIRE_ERROR_SIZE];

  return ow_json_parse (def->schema, strlen (def->schema), message);
}

json_t *
ow_tool_def_for_model (void)
{
  json_t *tools = json_array ();

  for (guint i = 0; i < G_N_ELEMENTS (tool_defs); i++)
    {
      json_t *tool;

      if (!tool_defs[i].for_model)
        continue;
      tool = json_object ();
      json_object_set_new (tool, "name", json_string (tool_defs[i].name));
      json_object_set_new (tool, "description", json_string (tool_defs[i].description));
      json_object_set_new (tool, "schema", parse_schema (&tool_defs[i]));
      json_array_append_new (tools, tool);
    }
  return tools;
}

static gboolean
check_string (const json_t *schema,
              const char   *label,
              const json_t *value,
              GError      **error)
{
  /* Bytes, not characters: what stands behind the limits (a path, a frame) counts
   * bytes, and for ASCII the two are the same. */
  size_t     length = json_string_length (value);
  json_int_t min = ow_json_get_int (schema, "minLength", 0);
  json_int_t max = ow_json_get_int (schema, "maxLength", G_MAXINT32);

  if (length < (size_t) min)
    {
      if (length == 0)
        ow_error_setf (error, OW_ERROR_USAGE, NULL, "The argument %s is empty", label);
      else
        ow_error_setf (error, OW_ERROR_USAGE, NULL, "The argument %s is %zu bytes long, and it "
                       "must have %" JSON_INTEGER_FORMAT, label, length, min);
      return FALSE;
    }
  if (length > (size_t) max)
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL,
                     "The argument %s is %zu bytes long, and at most %" JSON_INTEGER_FORMAT
                     " are taken", label, length, max);
      return FALSE;
    }
  if (memchr (json_string_value (value), '\0', length) != NULL)
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL, "The argument %s holds a NUL character", label);
      return FALSE;
    }
  return TRUE;
}

static gboolean
check_integer (const json_t *schema,
               const char   *label,
               const json_t *value,
               GError      **error)
{
  json_int_t number = json_integer_value (value);
  json_int_t min = ow_json_get_int (schema, "minimum", G_MININT64);
  json_int_t max = ow_json_get_int (schema, "maximum", G_MAXINT64);

  if (number >= min && number <= max)
    return TRUE;
  ow_error_setf (error, OW_ERROR_USAGE, NULL,
                 "The argument %s is %" JSON_INTEGER_FORMAT ", and it must be from %"
                 JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT, label, number, min, max);
  return FALSE;
}

static gboolean
type_is (const json_t *type,
         const json_t *value)
{
  const char *name = json_string_value (type);

  /* One of several. */
  for (size_t i = 0; i < json_array_size (type); i++)
    if (type_is (json_array_get (type, i), value))
      return TRUE;
  if (g_strcmp0 (name, "string") == 0)
    return json_is_string (value);
  if (g_strcmp0 (name, "integer") == 0)
    return json_is_integer (value);
  if (g_strcmp0 (name, "boolean") == 0)
    return json_is_boolean (value);
  if (g_strcmp0 (name, "array") == 0)
    return json_is_array (value);
  if (g_strcmp0 (name, "object") == 0)
    return json_is_object (value);
  if (g_strcmp0 (name, "null") == 0)
    return json_is_null (value);
  return FALSE;
}

static gboolean
check_value (const json_t *schema,
             const char   *label,
             const json_t *value,
             GError      **error)
{
  const json_t *type = json_object_get (schema, "type");

  if (!type_is (type, value))
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL, "The argument %s must be of the type %s", label,
                     json_is_string (type) ? json_string_value (type)
                     : ow_json_get_string (schema, "description", "that its schema tells"));
      return FALSE;
    }
  if (json_is_string (value))
    return check_string (schema, label, value, error);
  if (json_is_integer (value))
    return check_integer (schema, label, value, error);
  return TRUE;
}

/* An item of a list: all of its members, and no other. */
static gboolean
check_item (const json_t *schema,
            const char   *label,
            const json_t *value,
            GError      **error)
{
  const json_t *properties = json_object_get (schema, "properties");
  const json_t *required = json_object_get (schema, "required");
  const char   *key;
  json_t       *member;

  if (!check_value (schema, label, value, error))
    return FALSE;
  json_object_foreach ((json_t *) value, key, member)
    {
      g_autofree char *name = g_strdup_printf ("%s.%.64s", label, key);
      const json_t    *property = json_object_get (properties, key);

      if (property != NULL && !check_value (property, name, member, error))
        return FALSE;
      if (property != NULL)
        continue;
      ow_error_setf (error, OW_ERROR_USAGE, NULL, "The argument %s is not known", name);
      return FALSE;
    }
  for (size_t i = 0; i < json_array_size (required); i++)
    {
      const char *name = json_string_value (json_array_get (required, i));

      if (json_object_get (value, name) != NULL)
        continue;
      ow_error_setf (error, OW_ERROR_USAGE, NULL, "The argument %s.%s is missing", label, name);
      return FALSE;
    }
  return TRUE;
}

static gboolean
check_array (const json_t *schema,
             const char   *label,
             const json_t *value,
             GError      **error)
{
  const json_t *items = json_object_get (schema, "items");
  size_t        n = json_array_size (value);

  if (n < (size_t) ow_json_get_int (schema, "minItems", 0) ||
      n > (size_t) ow_json_get_int (schema, "maxItems", G_MAXINT32))
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL,
                     "The argument %s has %zu items, and it must have from %" JSON_INTEGER_FORMAT
                     " to %" JSON_INTEGER_FORMAT, label, n,
                     ow_json_get_int (schema, "minItems", 0),
                     ow_json_get_int (schema, "maxItems", G_MAXINT32));
      return FALSE;
    }
  for (size_t i = 0; i < n; i++)
    {
      g_autofree char *item = g_strdup_printf ("%s[%zu]", label, i);

      if (!check_item (items, item, json_array_get (value, i), error))
        return FALSE;
    }
  return TRUE;
}

static char *
member_names (const json_t *properties)
{
  g_autoptr (GString) names = g_string_new (NULL);
  const char *key;
  json_t *value;

  json_object_foreach ((json_t *) properties, key, value)
    {
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", key);
    }
  return g_string_free (g_steal_pointer (&names), FALSE);
}

static gboolean
check_members (const OwToolDef *def,
               const json_t    *schema,
               const json_t    *arguments,
               GError         **error)
{
  const json_t *properties = json_object_get (schema, "properties");
  const char *key;
  json_t *value;

  json_object_foreach ((json_t *) arguments, key, value)
    {
      const json_t *property = json_object_get (properties, key);

      if (property == NULL)
        {
          g_autofree char *names = member_names (properties);

          ow_error_setf (error, OW_ERROR_USAGE, NULL,
                         "The tool %s has no argument named \"%.64s\"; it takes %s", def->name,
                         key, names);
          return FALSE;
        }
      if (!check_value (property, key, value, error))
        return FALSE;
      if (json_is_array (value) && !check_array (property, key, value, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
check_size (const json_t *arguments,
            GError      **error)
{
  size_t  length = 0;
  char   *text = ow_json_dump (arguments, &length);

  free (text);
  if (text != NULL && length <= MAX_ARGUMENTS_BYTES)
    return TRUE;
  ow_error_set (error, OW_ERROR_USAGE, "The arguments are too large together",
                "at most 7 MiB are taken", "Do it in several smaller calls.");
  return FALSE;
}

gboolean
ow_tool_def_check (const OwToolDef *def,
                   const json_t    *arguments,
                   GError         **error)
{
  json_t       *schema;
  const json_t *required;
  gboolean      good;

  g_return_val_if_fail (def != NULL, FALSE);

  if (!json_is_object (arguments))
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL,
                     "The arguments of %s must be a JSON object", def->name);
      return FALSE;
    }
  schema = parse_schema (def);
  if (schema == NULL)
    {
      ow_error_setf (error, OW_ERROR_FAILED, NULL, "The tool %s has no usable schema", def->name);
      return FALSE;
    }
  required = json_object_get (schema, "required");
  good = TRUE;
  for (size_t i = 0; good && i < json_array_size (required); i++)
    {
      const char *name = json_string_value (json_array_get (required, i));

      good = json_object_get (arguments, name) != NULL;
      if (!good)
        ow_error_setf (error, OW_ERROR_USAGE, NULL, "The tool %s needs the argument %s", def->name,
                       name);
    }
  good = good && check_members (def, schema, arguments, error) && check_size (arguments, error);
  json_decref (schema);
  return good;
}
