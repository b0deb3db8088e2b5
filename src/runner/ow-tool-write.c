/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdlib.h>
#include <string.h>

#include "ow-runner-args-private.h"
#include "ow-runner-change-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-path-private.h"
#include "ow-runner-place-private.h"
#include "ow-runner-tool-private.h"

static void
answer (const OwRunnerPath   *path,
        const OwRunnerRoots  *roots,
        const OwRunnerPlace  *place,
        const OwRunnerChange *change,
        size_t                length,
        OwRunnerToolResult   *result)
{
  json_t *structured = json_object ();
  OwRunnerBuffer text;

  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  ow_runner_buffer_printf (&text, "%s %s (%zu byte%s).", place->exists ? "Replaced" : "Created",
                           path->shown, length, length == 1 ? "" : "s");
  if (place->exists && place->status.st_nlink > 1)
    ow_runner_buffer_printf (&text, " The file had %lu names (hard links); the others keep what "
                             "they had.", (unsigned long) place->status.st_nlink);
  ow_runner_change_note (change, roots, &text);
  json_object_set_new (structured, "change", ow_runner_change_json (change));
  json_object_set_new (structured, "bytes", json_integer ((json_int_t) length));
  json_object_set_new (structured, "created", json_boolean (!place->exists));
  ow_runner_args_answer (result, &text, structured);
}

void
ow_tool_write (const OwRunnerRoots *roots,
               const json_t        *arguments,
               OwRunnerToolResult  *result)
{
  const char *name;
  const char *content;
  size_t name_length;
  size_t length;
  OwRunnerPath path;
  OwRunnerPlace place;

  if (!ow_runner_args_string (arguments, "path", &name, &name_length, result) ||
      !ow_runner_args_string (arguments, "content", &content, &length, result) ||
      !ow_runner_path_parse (&path, roots, name, name_length, result))
    return;
  if (ow_runner_place_locate (&path, roots, &place, result))
    {
      OwRunnerChange change;

      if (ow_runner_change_replace (&change, roots, &path, &place, NULL, content, length, result))
        answer (&path, roots, &place, &change, length, result);
      ow_runner_change_clear (&change);
      ow_runner_place_release (&place);
    }
  ow_runner_path_clear (&path);
}
