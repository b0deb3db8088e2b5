/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-mount-table-private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"

#define MAX_MOUNTS 20000

static void
mount_free (gpointer data)
{
  OwMount *mount = data;

  ow_place_clear (&mount->place);
  g_free (mount->point);
  g_free (mount->type);
  g_free (mount);
}

/* The kernel writes space, tab, newline and backslash as three octal digits. */
static char *
unescape (const char *text)
{
  char *out = g_malloc (strlen (text) + 1);
  char *to = out;

  while (*text != '\0')
    {
      if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
          text[2] <= '7' && text[3] >= '0' && text[3] <= '7')
        {
          *to++ = (char) ((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
          text += 4;
        }
      else
        {
          *to++ = *text++;
        }
    }
  *to = '\0';
  return out;
}

static gboolean
parse_device (const char *text,
              OwPlace    *place)
{
  g_auto (GStrv) parts = g_strsplit (text, ":", 3);
  guint64 major = 0;
  guint64 minor = 0;

  if (g_strv_length (parts) != 2 ||
      !g_ascii_string_to_unsigned (parts[0], 10, 0, G_MAXUINT, &major, NULL) ||
      !g_ascii_string_to_unsigned (parts[1], 10, 0, G_MAXUINT, &minor, NULL))
    return FALSE;
  place->major = (guint) major;
  place->minor = (guint) minor;
  return TRUE;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw" */
static OwMount *
parse_line (const char *line)
{
  g_auto (GStrv) fields = g_strsplit (line, " ", -1);
  guint n = g_strv_length (fields);
  guint64 id = 0;
  guint dash = 6;
  OwPlace place = { 0 };
  OwMount *mount;

  while (dash < n && strcmp (fields[dash], "-") != 0)
    dash++;
  if (dash + 1 >= n || !g_ascii_string_to_unsigned (fields[0], 10, 0, G_MAXINT, &id, NULL) ||
      !parse_device (fields[2], &place))
    return NULL;

  mount = g_new0 (OwMount, 1);
  mount->id = (int) id;
  mount->place = place;
  mount->place.path = unescape (fields[3]);
  mount->point = unescape (fields[4]);
  mount->type = g_strdup (fields[dash + 1]);
  return mount;
}

GPtrArray *
ow_mount_table_parse (const char *text,
                      GError    **error)
{
  g_autoptr (GPtrArray) table = g_ptr_array_new_with_free_func (mount_free);
  g_auto (GStrv) lines = g_strsplit (text, "\n", MAX_MOUNTS + 1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      OwMount *mount;

      if (lines[i][0] == '\0')
        continue;
      mount = i < MAX_MOUNTS ? parse_line (lines[i]) : NULL;
      if (mount == NULL)
        {
          ow_error_set (error, OW_ERROR_DATA, "The list of mounts cannot be understood",
                        "a line of /proc/self/mountinfo is not as expected", NULL);
          return NULL;
        }
      g_ptr_array_add (table, mount);
    }
  return g_steal_pointer (&table);
}

GPtrArray *
ow_mount_table_load (GError **error)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents ("/proc/self/mountinfo", &text, NULL, error))
    return NULL;
  return ow_mount_table_parse (text, error);
}

const OwMount *
ow_mount_table_of_fd (GPtrArray *table,
                      int        fd)
{
  g_autofree char *name = g_strdup_printf ("/proc/self/fdinfo/%d", fd);
  g_autofree char *text = NULL;
  const char *at;
  int id;

  if (!g_file_get_contents (name, &text, NULL, NULL))
    return NULL;
  at = strstr (text, "mnt_id:");
  if (at == NULL)
    return NULL;
  id = atoi (at + strlen ("mnt_id:"));
  for (guint i = 0; i < table->len; i++)
    {
      const OwMount *mount = g_ptr_array_index (table, i);

      if (mount->id == id)
        return mount;
    }
  return NULL;
}

gboolean
ow_mount_table_place (GPtrArray  *table,
                      int         fd,
                      const char *path,
                      OwPlace    *place)
{
  const OwMount *mount = ow_mount_table_of_fd (table, fd);
  const char *rest;

  if (mount == NULL || !ow_path_contains (mount->point, path))
    return FALSE;
  rest = strcmp (mount->point, "/") == 0 ? path : path + strlen (mount->point);
  while (*rest == '/')
    rest++;
  place->major = mount->place.major;
  place->minor = mount->place.minor;
  place->path = *rest == '\0' ? g_strdup (mount->place.path)
                              : g_build_filename (mount->place.path, rest, NULL);
  return TRUE;
}

gboolean
ow_path_contains (const char *outer,
                  const char *inner)
{
  gsize length = strlen (outer);

  while (length > 0 && outer[length - 1] == '/')
    length--;
  return strncmp (outer, inner, length) == 0 && (inner[length] == '\0' || inner[length] == '/');
}

gboolean
ow_place_contains (const OwPlace *outer,
                   const OwPlace *inner)
{
  return outer->major == inner->major && outer->minor == inner->minor &&
         ow_path_contains (outer->path, inner->path);
}

void
ow_place_clear (OwPlace *place)
{
  g_clear_pointer (&place->path, g_free);
}
