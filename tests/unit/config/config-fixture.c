/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config-fixture.h"

#include "base/ow-file.h"

void
config_set_up (Fixture       *f,
               gconstpointer  data)
{
  f->dir = g_dir_make_tmp ("ow-config-XXXXXX", NULL);
  g_assert_nonnull (f->dir);
  f->path = g_build_filename (f->dir, "config.toml", NULL);
  f->backup = g_strconcat (f->path, ".bak", NULL);
}

void
config_tear_down (Fixture       *f,
                  gconstpointer  data)
{
  g_assert_true (ow_file_remove_tree (f->dir, NULL));
  g_free (f->backup);
  g_free (f->path);
  g_free (f->dir);
}

void
config_put (const char *path,
            const char *content,
            gssize      length)
{
  g_assert_true (g_file_set_contents (path, content, length, NULL));
}
