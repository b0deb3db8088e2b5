/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "fake-command.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ow-file.h"

void
fake_command_change (FakeCommand *fake,
                     const char  *script)
{
  g_autofree char *text = g_strdup_printf ("#!/bin/sh\nFOLDER='%s'\n%s\n", fake->folder, script);
  g_autofree char *beside = g_strconcat (fake->program, ".new", NULL);

  /* Renamed over: a script that is being run must not be written to. */
  g_assert_true (g_file_set_contents (beside, text, -1, NULL));
  g_assert_cmpint (g_chmod (beside, 0755), ==, 0);
  g_assert_cmpint (g_rename (beside, fake->program), ==, 0);
}

FakeCommand *
fake_command_new (const char *script)
{
  FakeCommand *fake = g_new0 (FakeCommand, 1);

  fake->folder = g_dir_make_tmp ("ow-openshell-XXXXXX", NULL);
  g_assert_nonnull (fake->folder);
  fake->program = g_build_filename (fake->folder, "openshell", NULL);
  fake_command_change (fake, script);
  fake->openshell = ow_openshell_new (fake->program);
  return fake;
}

void
fake_command_free (FakeCommand *fake)
{
  g_clear_object (&fake->openshell);
  g_assert_true (ow_file_remove_tree (fake->folder, NULL));
  g_free (fake->folder);
  g_free (fake->program);
  g_free (fake);
}

char *
fake_command_read (FakeCommand *fake,
                   const char  *name)
{
  g_autofree char *path = g_build_filename (fake->folder, name, NULL);
  char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? text : g_strdup ("");
}

void
fake_command_write (FakeCommand *fake,
                    const char  *name,
                    const char  *text)
{
  g_autofree char *path = g_build_filename (fake->folder, name, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

void
fake_command_keep (GObject      *object,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  *(GAsyncResult **) user_data = g_object_ref (result);
}

void
fake_command_wait (GAsyncResult **result)
{
  while (*result == NULL)
    g_main_context_iteration (NULL, TRUE);
}

guint
fake_command_scaled (guint ms)
{
  const char *scale = g_getenv ("OPENWORKER_TEST_TIME_SCALE");
  double factor = scale != NULL ? g_ascii_strtod (scale, NULL) : 1;

  return factor > 1 ? (guint) (ms * factor) : ms;
}
