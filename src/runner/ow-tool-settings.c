/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdlib.h>
#include <string.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-settings-private.h"
#include "ow-runner-tool-private.h"
#include "ow-runner-utf8-private.h"

/* What the folders hold that a program outside runs by itself, and that is not what it was when
 * the runner started. Nothing is written. */

/* Of the answer. */
#define LISTED_MAX 500u
#define PATHS_MAX  (256u * 1024)
#define NAMES_MAX  250000u
#define READ_MAX   (32u * 1024 * 1024)
#define WALL_MS    400
#define CPU_MS     200

typedef struct {
  const OwRunnerSettings *before; /* (nullable) */
  int64_t                 since;  /* what the file system changed then or later counts */
  json_t                 *list;   /* (owned) */
  size_t                  bytes;
  size_t                  total;
} Answer;

static int
compare_paths (const void *one,
               const void *other)
{
  const OwRunnerSetting *a = one;
  const OwRunnerSetting *b = other;

  return strcmp (a->path, b->path);
}

/* NULL: it is as it was. */
static const char *
what_of (const Answer          *self,
         const OwRunnerSetting *now)
{
  const OwRunnerSetting *was = NULL;

  if (self->before != NULL && self->before->n > 0)
    was = bsearch (now, self->before->list, self->before->n, sizeof *now, compare_paths);
  if (was == NULL)
    {
      /* Of what the first look did not reach only the time tells. */
      if (self->before != NULL && self->before->whole)
        return "created";
      return now->ctime >= self->since ? "changed" : NULL;
    }
  if (strcmp (now->hash, was->hash) != 0 || now->executable != was->executable)
    return "changed";
  /* A folder has no content that counts: what is in it does. The first look may have come late. */
  if (*now->hash != '\0' && was->ctime >= self->since)
    return "changed";
  return NULL;
}

static void
add (Answer                *self,
     const OwRunnerSetting *now,
     const char            *what)
{
  size_t length = strlen (now->path);
  bool plain = ow_runner_utf8_is_valid (now->path, length);
  char *shown = plain ? ow_runner_buffer_copy (now->path, length)
                      : ow_runner_buffer_name (now->path, length);
  json_t *entry;

  self->total++;
  self->bytes += ow_json_string_size (shown, strlen (shown));
  if (json_array_size (self->list) < LISTED_MAX && self->bytes <= PATHS_MAX)
    {
      entry = json_object ();
      json_object_set_new (entry, "path", json_string (shown));
      json_object_set_new (entry, "kind", json_string (ow_runner_setting_name (now->kind)));
      json_object_set_new (entry, "what", json_string (what));
      if (*now->hash != '\0')
        json_object_set_new (entry, "sha256", json_string (now->hash));
      if (now->executable)
        json_object_set_new (entry, "executable", json_true ());
      if (!plain)
        json_object_set_new (entry, "escaped", json_true ());
      json_array_append_new (self->list, entry);
    }
  free (shown);
}

void
ow_tool_settings (const OwRunnerRoots *roots,
                  const json_t        *arguments,
                  OwRunnerToolResult  *result)
{
  const OwRunnerSettingsBounds bounds = { NAMES_MAX, READ_MAX, WALL_MS, CPU_MS };
  json_int_t since = ow_json_get_int (arguments, "since", 0);
  OwRunnerSettings before;
  OwRunnerSettings now;
  bool known = ow_runner_settings_start_read (roots, &before);
  Answer answer = { .before = known ? &before : NULL, .list = json_array () };

  answer.since = roots->start != NULL ? roots->start->began : 0;
  if (since > 0 && since < answer.since)
    answer.since = since;
  ow_runner_settings_take (&now, roots, bounds);
  for (size_t i = 0; i < now.n; i++)
    {
      const char *what = what_of (&answer, &now.list[i]);

      if (what != NULL)
        add (&answer, &now.list[i], what);
    }
  result->structured = json_object ();
  json_object_set_new (result->structured, "settings", answer.list);
  json_object_set_new (result->structured, "total", json_integer ((json_int_t) answer.total));
  json_object_set_new (result->structured, "looked", json_integer ((json_int_t) now.n));
  json_object_set_new (result->structured, "cut",
                       json_boolean (!now.whole || !known || !before.whole));
  result->text = ow_runner_buffer_copy ("", 0);
  ow_runner_settings_clear (&now);
  ow_runner_settings_clear (&before);
}
