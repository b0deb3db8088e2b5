/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "undo-fixture.h"

#include <string.h>

Undo *
undo_new (void)
{
  Undo *self = g_new0 (Undo, 1);

  self->files = files_new ();
  files_keep (self->files);
  self->changes = json_array ();
  return self;
}

void
undo_free (Undo *self)
{
  files_free (self->files);
  json_decref (self->changes);
  g_free (self);
}

void
undo_remember (Undo *self)
{
  json_t *change = json_object_get (self->files->result.structured, "change");

  files_assert_done (self->files);
  g_assert_true (json_is_object (change));
  json_array_append (self->changes, change);
}

void
undo_write (Undo       *self,
            const char *path,
            const char *content)
{
  json_t *arguments = json_object ();

  json_object_set_new (arguments, "path", json_string (path));
  json_object_set_new (arguments, "content", json_string (content));
  files_call_json (self->files, "write", arguments);
  undo_remember (self);
}

void
undo_edit (Undo       *self,
           const char *path,
           const char *old_text,
           const char *new_text)
{
  json_t *arguments = json_object ();

  json_object_set_new (arguments, "path", json_string (path));
  json_object_set_new (arguments, "old_text", json_string (old_text));
  json_object_set_new (arguments, "new_text", json_string (new_text));
  files_call_json (self->files, "edit", arguments);
  undo_remember (self);
}

static const char *
call (Undo       *self,
      const char *tool,
      json_t     *apply)
{
  json_t *arguments = json_object ();

  json_object_set (arguments, "changes", self->changes);
  if (apply != NULL)
    json_object_set_new (arguments, "apply", apply);
  return files_call_json (self->files, tool, arguments);
}

const char *
undo_show (Undo *self)
{
  return call (self, "undo", json_false ());
}

const char *
undo_apply (Undo *self)
{
  return call (self, "undo", json_true ());
}

const char *
undo_changes (Undo *self)
{
  return call (self, "changes", NULL);
}

static const json_t *
find (Undo       *self,
      const char *path)
{
  const json_t *files = json_object_get (self->files->result.structured, "files");
  const char *whole = files_path (self->files, "%s", path);

  for (size_t i = 0; i < json_array_size (files); i++)
    {
      const json_t *file = json_array_get (files, i);

      if (g_str_equal (ow_json_get_string (file, "path", ""), whole))
        return file;
    }
  return NULL;
}

const char *
undo_state (Undo       *self,
            const char *path)
{
  return ow_json_get_string (find (self, path), "state", "");
}

const char *
undo_reason (Undo       *self,
             const char *path)
{
  return ow_json_get_string (find (self, path), "reason", "");
}

void
undo_take_back (Undo *self)
{
  json_t *files = json_object_get (self->files->result.structured, "files");
  json_t *changes = json_array ();

  for (size_t i = 0; i < json_array_size (files); i++)
    {
      json_t *file = json_array_get (files, i);
      json_t *change = json_object_get (file, "change");

      if (change == NULL)
        continue;
      json_object_set (change, "path", json_object_get (file, "path"));
      json_array_append (changes, change);
    }
  json_decref (self->changes);
  self->changes = changes;
}

char *
undo_hash (const char *content)
{
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, content, -1);
}
