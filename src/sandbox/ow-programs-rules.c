/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-programs-rules-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-file.h"
#include "ow-mount-table-private.h"

/* The files in which managers keep a version are one line or a few. */
#define MAX_SETTING 65536

char *
ow_programs_rules_resolve (const char *path)
{
  char *real = realpath (path, NULL);
  char *copy = g_strdup (real);

  free (real);
  return copy;
}

static gboolean
has_folder (const char *path,
            const char *name)
{
  g_autofree char *below = g_build_filename (path, name, NULL);

  return g_file_test (below, G_FILE_TEST_IS_DIR);
}

void
ow_programs_rules_add (GPtrArray  *paths,
                       const char *path)
{
  for (guint i = 0; i < paths->len; i++)
    if (ow_path_contains (g_ptr_array_index (paths, i), path))
      return;
  for (guint i = paths->len; i > 0; i--)
    if (ow_path_contains (path, g_ptr_array_index (paths, i - 1)))
      g_ptr_array_remove_index (paths, i - 1);
  g_ptr_array_add (paths, g_strdup (path));
}

static void
add_bin (GPtrArray  *bins,
         const char *path)
{
  for (guint i = 0; i < bins->len; i++)
    if (strcmp (g_ptr_array_index (bins, i), path) == 0)
      return;
  g_ptr_array_add (bins, g_strdup (path));
}

/* How many names @path has below @home. */
static guint
depth_below (const char *home,
             const char *path)
{
  guint n = 0;

  for (const char *p = path + strlen (home); *p != '\0'; p++)
    n += *p == '/';
  return n;
}

/* The folder that a program in its "bin" takes its libraries from. */
static gboolean
is_prefix (const char *home,
           const char *path)
{
  return ow_path_contains (home, path) && depth_below (home, path) >= 2 &&
         !g_str_has_suffix (path, "/.local") &&
         (has_folder (path, "lib") || has_folder (path, "libexec") || has_folder (path, "lib64") ||
          has_folder (path, "share") || has_folder (path, "include"));
}

static gboolean
add_prefix (const char *home,
            const char *path,
            GPtrArray  *folders,
            GPtrArray  *bins)
{
  g_autofree char *real = ow_programs_rules_resolve (path);
  g_autofree char *bin = real != NULL ? g_build_filename (real, "bin", NULL) : NULL;

  if (bin == NULL || !ow_path_contains (home, real) || !g_file_test (bin, G_FILE_TEST_IS_DIR))
    return FALSE;
  ow_programs_rules_add (folders, real);
  add_bin (bins, bin);
  return TRUE;
}

static char *
read_setting (const char *path)
{
  g_autoptr (GBytes) bytes = ow_file_read (path, MAX_SETTING, NULL);
  gsize length = bytes != NULL ? g_bytes_get_size (bytes) : 0;

  return g_strndup (length > 0 ? g_bytes_get_data (bytes, NULL) : "", length);
}

/* pyenv, rbenv and their kind: the versions that are chosen for the whole account. */
static char *
lay_out_shims (const char *home,
               const char *root,
               GPtrArray  *folders,
               GPtrArray  *bins)
{
  g_autofree char *file = g_build_filename (root, "version", NULL);
  g_autofree char *text = read_setting (file);
  g_auto (GStrv) lines = g_strsplit_set (text, " \n", -1);

  if (!has_folder (root, "versions"))
    return g_strdup ("its programs are looked for when they are run; share the folder of one "
                     "version in its place");
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autofree char *version = NULL;

      if (*g_strstrip (lines[i]) == '\0' || strchr (lines[i], '/') != NULL || lines[i][0] == '.')
        continue;
      version = g_build_filename (root, "versions", lines[i], NULL);
      add_prefix (home, version, folders, bins);
    }
  return bins->len > 0 ? NULL : g_strdup_printf ("%s names no version that is there; choose one "
                                                 "(\"global\"), or share the folder of one", file);
}

/* Whether @line sets the toolchain; the value in quotes, (transfer full). */
static char *
read_toolchain (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) parts = NULL;

      if (!g_str_has_prefix (g_strstrip (lines[i]), "default_toolchain"))
        continue;
      parts = g_strsplit (lines[i], "\"", 3);
      if (g_strv_length (parts) == 3 && strchr (parts[1], '/') == NULL && parts[1][0] != '.')
        return g_strdup (parts[1]);
    }
  return NULL;
}

/* rustup's programs are proxies: those of the toolchain itself come before them. */
static void
lay_out_rust (const char *home,
              GPtrArray  *folders,
              GPtrArray  *bins)
{
  g_autofree char *root = g_build_filename (home, ".rustup", NULL);
  g_autofree char *settings = g_build_filename (root, "settings.toml", NULL);
  g_autofree char *text = read_setting (settings);
  g_autofree char *name = read_toolchain (text);
  g_autofree char *toolchain = name != NULL ? g_build_filename (root, "toolchains", name, NULL)
                                            : NULL;

  if (toolchain != NULL)
    add_prefix (home, toolchain, folders, bins);
}

char *
ow_programs_rules_layout (const char *home,
                          const char *bin,
                          GPtrArray  *folders,
                          GPtrArray  *bins)
{
  g_autofree char *name = g_path_get_basename (bin);
  g_autofree char *parent = g_path_get_dirname (bin);

  if (strcmp (name, "shims") == 0)
    return lay_out_shims (home, parent, folders, bins);
  if (strcmp (name, "bin") == 0 && g_str_has_suffix (parent, "/.cargo"))
    lay_out_rust (home, folders, bins);
  ow_programs_rules_add (folders, strcmp (name, "bin") == 0 && is_prefix (home, parent) ? parent
                                                                                         : bin);
  add_bin (bins, bin);
  return NULL;
}

char *
ow_programs_rules_root (const char *home,
                        const char *target)
{
  g_autofree char *folder = g_path_get_dirname (target);
  g_autofree char *name = g_path_get_basename (folder);
  g_autofree char *parent = g_path_get_dirname (folder);
  const char *rest;

  if (!ow_path_contains (home, folder) || strcmp (home, folder) == 0)
    return NULL;
  /* Places of programs are hidden; what is not is the person's work. */
  rest = folder + strlen (home) + 1;
  if (rest[0] != '.' || depth_below (home, folder) < 2)
    return NULL;
  if (strcmp (name, "bin") == 0 && is_prefix (home, parent))
    return g_steal_pointer (&parent);
  /* "~/.local/share/NAME/…" is one program's, and "~/.local/share" everybody's. */
  if (g_str_has_prefix (rest, ".local/share") && depth_below (home, folder) < 3)
    return NULL;
  return g_steal_pointer (&folder);
}
