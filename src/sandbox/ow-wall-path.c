/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-wall-path-private.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ow-mount-table-private.h"

/* As the kernel's. */
#define MAX_LINKS 40

void
ow_wall_spot_clear (OwWallSpot *spot)
{
  g_clear_pointer (&spot->path, g_free);
}

/* --- the view --- */

static const OwWallPlace *
get_place (const GArray *view,
           guint         i)
{
  return &g_array_index (view, OwWallPlace, i);
}

/* The mount that shows @path, and what Landlock's rules together let a command do there. */
static const OwWallPlace *
find_place (const GArray *view,
            const char   *path,
            OwWallRights *rights)
{
  const OwWallPlace *found = NULL;
  gboolean server = FALSE;

  *rights = OW_WALL_NOTHING;
  for (guint i = 0; i < view->len; i++)
    {
      const OwWallPlace *place = get_place (view, i);

      if (!ow_path_contains (place->path, path))
        continue;
      *rights |= place->rights;
      server = server || place->rights == OW_WALL_SERVER;
      if (found == NULL || strlen (place->path) >= strlen (found->path))
        found = place;
    }
  if (server)
    *rights &= OW_WALL_LIST;
  return found;
}

static gboolean
is_made (const OwWallPlace *place)
{
  return place->kind != OW_WALL_BIND_TRY || access (place->path, F_OK) == 0;
}

static gboolean
leads_somewhere (const GArray *view,
                 const char   *path)
{
  for (guint i = 0; i < view->len; i++)
    if (ow_path_contains (path, get_place (view, i)->path) && is_made (get_place (view, i)))
      return TRUE;
  return FALSE;
}

/* --- the walk --- */

typedef struct {
  const GArray *view;
  GQueue        names;   /* (owned) of char: what is still to be walked */
  char         *at;      /* (owned) "" for / */
  guint         n_links;
  OwWallSpot   *spot;
} Walk;

static void
push_names (Walk       *walk,
            const char *path)
{
  g_auto (GStrv) names = g_strsplit (path, "/", -1);

  for (guint i = g_strv_length (names); i > 0; i--)
    g_queue_push_head (&walk->names, g_steal_pointer (&names[i - 1]));
}

/* @target is what the link whose folder is walk->at holds. */
static gboolean
follow (Walk       *walk,
        const char *target)
{
  if (++walk->n_links > MAX_LINKS)
    return FALSE;
  push_names (walk, target);
  if (target[0] == '/')
    walk->at[0] = '\0';
  return TRUE;
}

static void
step_up (Walk *walk)
{
  char *slash = strrchr (walk->at, '/');

  if (slash != NULL)
    *slash = '\0';
}

static gboolean
is_shared_with_machine (const OwWallPlace *place)
{
  return place->kind == OW_WALL_BIND || place->kind == OW_WALL_BIND_TRY ||
         place->rule == OW_WALL_RULE_PROGRAM;
}

/* One name further, on this machine. */
static gboolean
step_machine (Walk              *walk,
              const OwWallPlace *place,
              char              *next)
{
  g_autofree char *owned = next;
  g_autofree char *target = NULL;
  struct stat st;
  int got = strcmp (next, place->path) == 0 ? stat (next, &st) : lstat (next, &st);

  if (got != 0)
    {
      walk->spot->absent = TRUE;
    }
  else if (S_ISLNK (st.st_mode))
    {
      target = g_file_read_link (next, NULL);
      return target != NULL && follow (walk, target);
    }
  g_free (walk->at);
  walk->at = g_steal_pointer (&owned);
  return !walk->spot->absent;
}

/* FALSE: the rest of the names does not matter. */
static gboolean
step (Walk       *walk,
      const char *name)
{
  char *next = g_strconcat (walk->at, "/", name, NULL);
  OwWallRights rights;
  const OwWallPlace *place = find_place (walk->view, next, &rights);
  gboolean below = place != NULL && strcmp (place->path, next) != 0;

  if (place != NULL && is_shared_with_machine (place))
    return step_machine (walk, place, next);
  if (place != NULL && place->kind == OW_WALL_LINK && !below)
    {
      g_free (next);
      return follow (walk, place->detail);
    }
  g_free (walk->at);
  walk->at = next;
  if (place == NULL)
    return FALSE;
  if (below && (place->kind == OW_WALL_WAY || place->kind == OW_WALL_DIR ||
                place->kind == OW_WALL_EMPTY))
    return leads_somewhere (walk->view, next);
  /* What has the place's own name may be a link too in an image, as /lib is in most. */
  walk->spot->unknown = walk->spot->unknown || place->kind == OW_WALL_IMAGE ||
                        (below && place->kind != OW_WALL_FILE);
  return TRUE;
}

/* What is left of the names is below what is walked, whatever that is. */
static void
walk_rest (Walk *walk)
{
  char *name;

  while ((name = g_queue_pop_head (&walk->names)) != NULL)
    {
      if (name[0] != '\0' && strcmp (name, ".") != 0)
        {
          char *longer = g_strconcat (walk->at, "/", name, NULL);

          g_free (walk->at);
          walk->at = longer;
        }
      g_free (name);
    }
}

static void
conclude (Walk *walk)
{
  OwWallSpot *spot = walk->spot;
  const OwWallPlace *place;
  gboolean below;

  spot->path = walk->at[0] != '\0' ? g_strdup (walk->at) : g_strdup ("/");
  place = find_place (walk->view, spot->path, &spot->rights);
  below = place != NULL && strcmp (place->path, spot->path) != 0;
  spot->place = place;
  if (place == NULL)
    return;
  if (place->kind == OW_WALL_FILE && below)
    spot->absent = TRUE;
  if (place->kind == OW_WALL_WAY || place->kind == OW_WALL_DIR)
    {
      spot->way = leads_somewhere (walk->view, spot->path);
      if (!spot->way)
        spot->place = NULL;
    }
  else if (place->kind == OW_WALL_EMPTY && below)
    {
      spot->way = leads_somewhere (walk->view, spot->path);
    }
}

void
ow_wall_path_find (const GArray *view,
                   const char   *path,
                   OwWallSpot   *spot)
{
  Walk walk = { .view = view, .at = g_strdup (""), .spot = spot };
  char *name;
  gboolean on = TRUE;

  memset (spot, 0, sizeof *spot);
  push_names (&walk, path);
  while (on && (name = g_queue_pop_head (&walk.names)) != NULL)
    {
      if (strcmp (name, "..") == 0)
        step_up (&walk);
      else if (name[0] != '\0' && strcmp (name, ".") != 0)
        on = step (&walk, name);
      g_free (name);
    }
  walk_rest (&walk);
  conclude (&walk);
  g_free (walk.at);
}

/* --- modes --- */

/* By the mode alone: no account inside has a capability that stands over it. */
static gboolean
mode_lets (const struct stat *st,
           uid_t              uid,
           gid_t              gid,
           int                want)
{
  guint bits = st->st_mode & 07;

  if (st->st_uid == uid)
    bits = (st->st_mode >> 6) & 07;
  else if (st->st_gid == gid)
    bits = (st->st_mode >> 3) & 07;
  return (bits & (guint) want) == (guint) want;
}

gboolean
ow_wall_path_may (const char *path,
                  uid_t       uid,
                  gid_t       gid,
                  int         want)
{
  g_autofree char *at = g_strdup (path);
  struct stat st;

  /* This account's further groups are its own inside too. */
  if (uid != 0 && uid == geteuid ())
    return faccessat (AT_FDCWD, path, want, AT_EACCESS) == 0;
  if (stat (path, &st) != 0 || !mode_lets (&st, uid, gid, want))
    return FALSE;
  for (char *slash = strrchr (at, '/'); slash != NULL && slash != at; slash = strrchr (at, '/'))
    {
      *slash = '\0';
      if (stat (at, &st) != 0 || !mode_lets (&st, uid, gid, X_OK))
        return FALSE;
    }
  return TRUE;
}
