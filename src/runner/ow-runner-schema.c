/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "ow-runner-private.h"

/* What tools/list answers. The host has definitions of its own and does not read
 * these; they are for any other MCP client. */

#define TEXT "{\"type\":\"string\"}"
#define PATH "{\"type\":\"string\",\"description\":\"absolute, or relative to the first folder\"}"
#define FLAG "{\"type\":\"boolean\"}"
#define CHANGES "{\"type\":\"array\",\"minItems\":1,\"maxItems\":20000," \
  "\"items\":{\"type\":\"object\",\"required\":[\"path\"]}}"
#define WAIT(default) "{\"type\":\"number\",\"minimum\":0,\"maximum\":600,\"default\":" \
  default "}"
#define COUNT "{\"type\":\"integer\",\"minimum\":1}"

static const struct {
  const char *name;
  const char *description;
  const char *properties;
  const char *required;
  bool        read_only;
} tools[] = {
  { "shell", "Run a command in a bash that keeps its directory, variables and functions between "
    "calls. stdin is empty. Start what should go on running with task_start.",
    "{\"command\":" TEXT ",\"timeout_s\":{\"type\":\"number\",\"exclusiveMinimum\":0,"
    "\"maximum\":600,\"default\":120}}", "[\"command\"]", false },
  { "task_start", "Start a command in the background, in a bash of its own that begins where the "
    "shell is now. With pty it has a terminal.",
    "{\"command\":" TEXT ",\"pty\":" FLAG "}", "[\"command\"]", false },
  { "task_read", "What a background task has written since it was last read, waiting for it at "
    "most wait_s.", "{\"task\":" TEXT ",\"wait_s\":" WAIT ("0") "}", "[\"task\"]", true },
  { "task_wait", "Wait until a background task ends, and read what it has written.",
    "{\"task\":" TEXT ",\"timeout_s\":" WAIT ("120") "}", "[\"task\"]", true },
  { "task_stop", "End a background task and all that it has started.",
    "{\"task\":" TEXT "}", "[\"task\"]", false },
  { "task_list", "List the background tasks.", "{}", "[]", true },
  { "exec", "Run one program without a shell.",
    "{\"argv\":{\"type\":\"array\",\"items\":" TEXT ",\"minItems\":1},\"cwd\":" PATH ","
    "\"timeout_s\":{\"type\":\"number\",\"minimum\":0,\"default\":0}}", "[\"argv\"]", false },
  { "list", "List a folder.", "{\"path\":" PATH "}", "[]", true },
  { "read", "Read lines of a text file.",
    "{\"path\":" PATH ",\"offset\":" COUNT ",\"limit\":" COUNT "}", "[\"path\"]", true },
  { "write", "Write a whole file.", "{\"path\":" PATH ",\"content\":" TEXT "}",
    "[\"path\",\"content\"]", false },
  { "edit", "Replace a text in a file by another one. The old text must stand there exactly "
    "once, or replace_all must be set.",
    "{\"path\":" PATH ",\"old_text\":" TEXT ",\"new_text\":" TEXT ",\"replace_all\":" FLAG "}",
    "[\"path\",\"old_text\",\"new_text\"]", false },
  { "grep", "Search files below a folder for a PCRE2 pattern.",
    "{\"pattern\":" TEXT ",\"path\":" PATH ",\"glob\":" TEXT ",\"ignore_case\":" FLAG ","
    "\"context\":{\"type\":\"integer\",\"minimum\":0}}", "[\"pattern\"]", true },
  { "glob", "Find files by a name pattern such as **/*.c.",
    "{\"pattern\":" TEXT ",\"path\":" PATH "}", "[\"pattern\"]", true },
  { "undo", "Take changes of write and edit back. They are what those answered, oldest first; "
    "without apply it is only said what would be done.",
    "{\"changes\":" CHANGES ",\"apply\":" FLAG "}", "[\"changes\"]", false },
  { "changes", "Compare files with what they held before changes of write and edit.",
    "{\"changes\":" CHANGES "}", "[\"changes\"]", true },
  { "settings", "List files that a program outside would run by itself, or take programs to run "
    "from, and that are new or changed since the start, or since a time (nanoseconds).",
    "{\"since\":{\"type\":\"integer\",\"minimum\":0}}", "[]", true },
};

static json_t *
parse (const char *text)
{
  char error[OW_WIRE_ERROR_SIZE];

  return ow_json_parse (text, strlen (text), error);
}

json_t *
ow_runner_schema_new (void)
{
  json_t *list = json_array ();

  for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
    {
      json_t *tool = json_object ();
      json_t *schema = json_object ();
      json_t *annotations = json_object ();

      json_object_set_new (schema, "type", json_string ("object"));
      json_object_set_new (schema, "properties", parse (tools[i].properties));
      json_object_set_new (schema, "required", parse (tools[i].required));
      json_object_set_new (annotations, "readOnlyHint", json_boolean (tools[i].read_only));
      json_object_set_new (tool, "name", json_string (tools[i].name));
      json_object_set_new (tool, "description", json_string (tools[i].description));
      json_object_set_new (tool, "inputSchema", schema);
      json_object_set_new (tool, "annotations", annotations);
      json_array_append_new (list, tool);
    }
  return list;
}
